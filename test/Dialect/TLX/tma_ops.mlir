// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

!plain = !tlx.tensormap<[64, 64], bf16>
!ragged = !tlx.tensormap<[64, 1, 64], bf16, ragged>
!tile = !tlx.memdesc<[64, 64], bf16>

// CHECK-LABEL: tlx.kernel @copies(
// CHECK-SAME:      %plain: !tlx.tensormap<[64, 64], bf16>, %ragged: !tlx.tensormap<[64, 1, 64], bf16, ragged>, %i: i32) {
tlx.kernel @copies(%plain: !plain, %ragged: !ragged, %i: i32) {
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  %one = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  // CHECK: %[[B:.+]] = tlx.local_alloc
  %b = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.async_descriptor_load %plain[%i, %i], %[[B]] signal %{{.+}} : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
      tlx.async_descriptor_load %plain[%i, %i], %b signal %one : !plain, !tile, !tlx.mbarrier<[1]>
      // CHECK: tlx.async_descriptor_load %ragged[%i, %i, %i] segment(%i, %i), %[[B]] signal %{{.+}}[%i] : !tlx.tensormap<[64, 1, 64], bf16, ragged>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[2]>
      tlx.async_descriptor_load %ragged[%i, %i, %i] segment(%i, %i), %b signal %full[%i] : !ragged, !tile, !tlx.mbarrier<[2]>
      // CHECK: tlx.async_descriptor_load %plain[%i, %i], %[[B]] signal %{{.+}} cache(evict_last) : !tlx
      tlx.async_descriptor_load %plain[%i, %i], %b signal %one cache(evict_last) : !plain, !tile, !tlx.mbarrier<[1]>
      // CHECK: tlx.async_descriptor_store %plain[%i, %i], %[[B]] : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
      tlx.async_descriptor_store %plain[%i, %i], %b : !plain, !tile
      // CHECK: tlx.async_descriptor_store %ragged[%i, %i, %i] segment(%i, %i), %[[B]]
      tlx.async_descriptor_store %ragged[%i, %i, %i] segment(%i, %i), %b : !ragged, !tile
      // CHECK: tlx.async_descriptor_store %plain[%i, %i], %[[B]] cache(evict_first) : !tlx
      tlx.async_descriptor_store %plain[%i, %i], %b cache(evict_first) : !plain, !tile
      // CHECK: tlx.async_descriptor_reduce %plain[%i, %i], %[[B]] cache(evict_last) : !tlx
      tlx.async_descriptor_reduce %plain[%i, %i], %b cache(evict_last) : !plain, !tile
      // CHECK: tlx.async_descriptor_reduce %plain[%i, %i], %[[B]] : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
      tlx.async_descriptor_reduce %plain[%i, %i], %b : !plain, !tile
      // CHECK: tlx.async_descriptor_store_wait pending(0)
      tlx.async_descriptor_store_wait pending(0)
      // CHECK: tlx.async_descriptor_store_wait pending(3) written
      tlx.async_descriptor_store_wait pending(3) written
      // CHECK: tlx.async_descriptor_prefetch %plain[%i, %i] : !tlx.tensormap<[64, 64], bf16>
      tlx.async_descriptor_prefetch %plain[%i, %i] : !plain
      // CHECK: tlx.async_descriptor_prefetch %ragged[%i, %i, %i] segment(%i, %i) : !tlx.tensormap<[64, 1, 64], bf16, ragged>
      tlx.async_descriptor_prefetch %ragged[%i, %i, %i] segment(%i, %i) : !ragged
    }
  }
}

// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// What two CTAs do together, and what a parameter decides.

!map = !tlx.tensormap<[64, 64], bf16>
!a = !tlx.memdesc<[128, 64], bf16>
!few = !tlx.memdesc<[64, 64], bf16>
!b = !tlx.memdesc<[64, 64], bf16>
!p = !tlx.memdesc<[128, 64], bf16, tensor>
!sums = !tlx.memdesc<[128, 128], f32, tensor>
!few_sums = !tlx.memdesc<[128, 64], f32, tensor>
!bars = !tlx.mbarrier<[2]>

// CHECK-LABEL: tlx.kernel @pair(%x: !tlx.tensormap<[64, 64], bf16>, %i: i32, %mask: i32) cluster(CTAS) {
tlx.kernel @pair(%x: !map, %i: i32, %mask: i32) cluster(CTAS) {
  tlx.param CTAS = 2 in [1, 2] : i32
  %more = arith.constant true
  %a = tlx.local_alloc : !a
  %few = tlx.local_alloc : !few
  %b = tlx.local_alloc : !b
  %p = tlx.local_alloc : !p
  %sums = tlx.local_alloc : !sums
  %few_sums = tlx.local_alloc : !few_sums
  %full = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.barrier_expect_bytes %[[FULL:.+]][%i], %[[B:.+]] cta_group(CTAS) : !tlx.mbarrier<[2]>, !tlx.memdesc<[64, 64], bf16>
      tlx.barrier_expect_bytes %full[%i], %b cta_group(CTAS) : !bars, !b
      // CHECK: tlx.async_descriptor_load %x[%i, %i], %[[B]] signal %[[FULL]][%i] cta_group(CTAS) : !tlx
      tlx.async_descriptor_load %x[%i, %i], %b signal %full[%i] cta_group(CTAS)
          : !map, !b, !bars
      // CHECK: tlx.async_descriptor_load %x[%i, %i], %[[B]] signal %[[FULL]][%i] cta_group(2) cache(evict_last) {note = "kept"} : !tlx
      tlx.async_descriptor_load %x[%i, %i], %b signal %full[%i] cta_group(2)
          cache(evict_last) {note = "kept"} : !map, !b, !bars
      // CHECK: tlx.async_dot %[[A:.+]], %[[B]], %[[SUMS:.+]] cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      tlx.async_dot %a, %b, %sums cta_group(2) : !a, !b, !sums
      // CHECK: tlx.async_dot %{{.+}}, %[[B]], %[[SUMS]] accumulate(%{{.+}}) cta_group(CTAS) {note = "kept"} : !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      tlx.async_dot %p, %b, %sums accumulate(%more) cta_group(CTAS) {note = "kept"}
          : !p, !b, !sums
      // CHECK: tlx.async_dot %{{.+}}, %[[B]], %{{.+}} cta_group(2) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32, tensor>
      tlx.async_dot %few, %b, %few_sums cta_group(2) : !few, !b, !few_sums
      // CHECK: tlx.tcgen05_commit %[[FULL]][%i] multicast(%mask) : !tlx.mbarrier<[2]>
      tlx.tcgen05_commit %full[%i] multicast(%mask) : !bars
    }
  }
}

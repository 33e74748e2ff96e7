// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @barriers(%i: i32, %phase: i32) {
tlx.kernel @barriers(%i: i32, %phase: i32) {
  // CHECK: %[[FULL:.+]] = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  // CHECK: %[[ONE:.+]] = tlx.alloc_barriers arrivals(2) at 64 : !tlx.mbarrier<[1]>
  %one = tlx.alloc_barriers arrivals(2) at 64 : !tlx.mbarrier<[1]>
  // CHECK: %[[B:.+]] = tlx.local_alloc
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.barrier_expect_bytes %[[FULL]][%i], %[[B]], %[[B]] : !tlx.mbarrier<[2]>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
      tlx.barrier_expect_bytes %full[%i], %b, %b : !tlx.mbarrier<[2]>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
      // CHECK: tlx.barrier_expect_bytes %[[ONE]] bytes(512) : !tlx.mbarrier<[1]>
      tlx.barrier_expect_bytes %one bytes(512) : !tlx.mbarrier<[1]>
      // CHECK: tlx.barrier_wait %[[FULL]][%i], %phase : !tlx.mbarrier<[2]>
      tlx.barrier_wait %full[%i], %phase : !tlx.mbarrier<[2]>
      // CHECK: tlx.barrier_wait %[[ONE]], %phase producer : !tlx.mbarrier<[1]>
      tlx.barrier_wait %one, %phase producer : !tlx.mbarrier<[1]>
      // CHECK: tlx.barrier_arrive %[[FULL]][%i] : !tlx.mbarrier<[2]>
      tlx.barrier_arrive %full[%i] : !tlx.mbarrier<[2]>
      // CHECK: tlx.barrier_arrive %[[ONE]] : !tlx.mbarrier<[1]>
      tlx.barrier_arrive %one : !tlx.mbarrier<[1]>
      // CHECK: tlx.named_barrier_wait %i threads(256)
      tlx.named_barrier_wait %i threads(256)
      // CHECK: tlx.named_barrier_arrive %i threads(64)
      tlx.named_barrier_arrive %i threads(64)
      // CHECK: %{{.+}}, %{{.+}} = tlx.ring %i stages(2) : i32
      %slot, %turn = tlx.ring %i stages(2) : i32
    }
  }
}

// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>

// CHECK-LABEL: tlx.kernel @cluster(
// CHECK-SAME:      %mask: i32, %i: i32) cluster(2) {
tlx.kernel @cluster(%x: !map, %mask: i32, %i: i32) cluster(2) {
  // CHECK: %[[RANK:.+]] = tlx.cluster_rank : i32
  %rank = tlx.cluster_rank : i32
  // CHECK: %[[B:.+]] = tlx.local_alloc
  %b = tlx.local_alloc : !tile
  // CHECK: %[[BARS:.+]] = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[2]>
  %bars = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[2]>
  // CHECK: %[[ONE:.+]] = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %one = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  // CHECK: tlx.cluster_arrive
  tlx.cluster_arrive
  // CHECK: tlx.cluster_wait
  tlx.cluster_wait
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.async_descriptor_load %x[%i, %i], %[[B]] signal %[[BARS]][%[[RANK]]] multicast(%mask) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[2]>
      tlx.async_descriptor_load %x[%i, %i], %b signal %bars[%rank] multicast(%mask)
          : !map, !tile, !tlx.mbarrier<[2]>
      // CHECK: tlx.async_descriptor_load %x[%i, %i], %[[B]] signal %[[ONE]] multicast(%mask) :
      tlx.async_descriptor_load %x[%i, %i], %b signal %one multicast(%mask)
          : !map, !tile, !tlx.mbarrier<[1]>
      // CHECK: tlx.remote_barrier_arrive %[[BARS]][%i] mask(%mask) : !tlx.mbarrier<[2]>
      tlx.remote_barrier_arrive %bars[%i] mask(%mask) : !tlx.mbarrier<[2]>
      // CHECK: tlx.remote_barrier_arrive %[[ONE]] mask(%mask) : !tlx.mbarrier<[1]>
      tlx.remote_barrier_arrive %one mask(%mask) : !tlx.mbarrier<[1]>
      // CHECK: tlx.async_remote_copy %[[B]], %[[B]] rank(%[[RANK]]) signal %[[BARS]][%i] : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[2]>
      tlx.async_remote_copy %b, %b rank(%rank) signal %bars[%i]
          : !tile, !tile, !tlx.mbarrier<[2]>
      // CHECK: tlx.async_remote_copy %[[B]], %[[B]] rank(%i) signal %[[ONE]] {note = "kept"} : !tlx
      tlx.async_remote_copy %b, %b rank(%i) signal %one {note = "kept"}
          : !tile, !tile, !tlx.mbarrier<[1]>
      // CHECK: tlx.cluster_arrive
      tlx.cluster_arrive
      // CHECK: tlx.cluster_wait
      tlx.cluster_wait
    }
  }
}

// Helpers take the cluster of the kernel that calls them, and a size may be open.
// CHECK-LABEL: func.func private @rank() -> i32
// CHECK:         tlx.cluster_rank : i32
func.func private @rank() -> i32 {
  %rank = tlx.cluster_rank : i32
  return %rank : i32
}

// CHECK-LABEL: tlx.kernel @symbolic(
// CHECK-SAME:      cluster(CLUSTER) {
tlx.kernel @symbolic(%x: !map) cluster(CLUSTER) {
  tlx.param CLUSTER = 2 in [1, 2] : i32
  %many = arith.constant 255 : i32
  // CHECK: tlx.alloc_barriers arrivals(CLUSTER * 2)
  %one = tlx.alloc_barriers arrivals(CLUSTER * 2) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.remote_barrier_arrive
      tlx.remote_barrier_arrive %one mask(%many) : !tlx.mbarrier<[1]>
    }
  }
}

// CHECK-LABEL: tlx.kernel @launch_control(
tlx.kernel @launch_control(%i: i32) cluster(2) {
  // CHECK: %[[R:.+]] = tlx.local_alloc
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %bars = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  %one = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.clc_try_cancel %[[R]] signal %{{.+}} : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
      tlx.clc_try_cancel %r signal %one : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
      // CHECK: tlx.clc_try_cancel %[[R]] signal %{{.+}}[%i] multicast {note = "kept"} : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[2]>
      tlx.clc_try_cancel %r signal %bars[%i] multicast {note = "kept"} : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[2]>
      // CHECK: %{{.+}}, %{{.+}} = tlx.clc_query %[[R]] : !tlx.memdesc<[4], i32>
      %is_canceled, %cta = tlx.clc_query %r : !tlx.memdesc<[4], i32>
    }
  }
}

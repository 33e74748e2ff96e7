// RUN: jfa-opt %s --canonicalize | FileCheck %s

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bar = !tlx.mbarrier<[1]>

// Alone in its cluster, a CTA has rank 0 and reaches itself.
// CHECK-LABEL: tlx.kernel @alone(
// CHECK-NOT:     cluster_rank
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK:         tlx.async_descriptor_load %x[%[[ZERO]], %[[ZERO]]], %{{.+}} signal %{{.+}} : !tlx
// CHECK-NEXT:    tlx.barrier_arrive %{{.+}} : !tlx.mbarrier<[1]>
// CHECK-NEXT:    tlx.tcgen05_commit %{{.+}} : !tlx.mbarrier<[1]>
// Whom a mask names that is not known, nobody knows. A barrier of the cluster
// still is one of the CTA's threads.
// CHECK-NEXT:    tlx.remote_barrier_arrive %{{.+}} mask(%mask)
// CHECK-NEXT:    tlx.async_descriptor_load {{.*}} multicast(%mask)
// CHECK-NEXT:    tlx.tcgen05_commit %{{.+}} multicast(%mask)
// CHECK-NEXT:    tlx.cluster_arrive
// CHECK-NEXT:    tlx.cluster_wait
tlx.kernel @alone(%x: !map, %mask: i32) cluster(1) {
  %rank = tlx.cluster_rank : i32
  %own = arith.constant 1 : i32
  %tile = tlx.local_alloc : !tile
  %bar = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_descriptor_load %x[%rank, %rank], %tile signal %bar multicast(%own)
          : !map, !tile, !bar
      tlx.remote_barrier_arrive %bar mask(%own) : !bar
      tlx.tcgen05_commit %bar multicast(%own) : !bar
      tlx.remote_barrier_arrive %bar mask(%mask) : !bar
      tlx.async_descriptor_load %x[%rank, %rank], %tile signal %bar multicast(%mask)
          : !map, !tile, !bar
      tlx.tcgen05_commit %bar multicast(%mask) : !bar
      tlx.cluster_arrive
      tlx.cluster_wait
    }
  }
}

// In company, or while the size is open, nothing folds.
// CHECK-LABEL: tlx.kernel @pair(
// CHECK:         tlx.cluster_rank
// CHECK:         tlx.async_descriptor_load {{.*}} multicast(
// CHECK:         tlx.tcgen05_commit {{.*}} multicast(
// CHECK:         tlx.remote_barrier_arrive
tlx.kernel @pair(%x: !map) cluster(2) {
  %rank = tlx.cluster_rank : i32
  %own = arith.constant 1 : i32
  %tile = tlx.local_alloc : !tile
  %bar = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_descriptor_load %x[%rank, %rank], %tile signal %bar multicast(%own)
          : !map, !tile, !bar
      tlx.tcgen05_commit %bar multicast(%own) : !bar
      tlx.remote_barrier_arrive %bar mask(%own) : !bar
    }
  }
}

// CHECK-LABEL: tlx.kernel @open(
// CHECK:         tlx.cluster_rank
// CHECK:         tlx.remote_barrier_arrive
tlx.kernel @open(%y: !tlx.ptr<i32>) cluster(N) {
  tlx.param N = 1 : i32
  %rank = tlx.cluster_rank : i32
  %own = arith.constant 1 : i32
  %bar = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.remote_barrier_arrive %bar mask(%own) : !bar
      tlx.global_store %rank, %y[%rank] : i32, !tlx.ptr<i32>, i32
    }
  }
}

// Nobody else hears of a request in a cluster of one.
// CHECK-LABEL: tlx.kernel @asks_alone(
// CHECK:         tlx.clc_try_cancel %{{.+}} signal %{{.+}} : !tlx.memdesc<[4], i32>
tlx.kernel @asks_alone() cluster(1) {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %bar = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.clc_try_cancel %r signal %bar multicast : !tlx.memdesc<[4], i32>, !bar
    }
  }
}

// CHECK-LABEL: tlx.kernel @asks_for_both(
// CHECK:         tlx.clc_try_cancel %{{.+}} signal %{{.+}} multicast :
tlx.kernel @asks_for_both() cluster(2) {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %bar = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.clc_try_cancel %r signal %bar multicast : !tlx.memdesc<[4], i32>, !bar
    }
  }
}

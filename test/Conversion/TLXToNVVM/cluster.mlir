// RUN: jfa-opt %s --convert-tlx-to-nvvm --cse | FileCheck %s

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>

// CHECK-LABEL: llvm.func @cluster(
// CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>
tlx.kernel @cluster(%x: !map, %y: !tlx.ptr<i32>, %mask: i32) cluster(2) {
  // CHECK: %[[RANK:.+]] = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %rank = tlx.cluster_rank : i32
  %tile = tlx.local_alloc at 0 : !tile
  // Each of the two replicas' four warps arrives, in each of the two CTAs.
  // CHECK: %[[C16:.+]] = arith.constant 16 : i32
  // CHECK: nvvm.mbarrier.init %{{.+}}, %[[C16]]
  %empty = tlx.alloc_barriers arrivals(4) at 8192 : !tlx.mbarrier<[1]>
  // Barriers are known to the cluster before it is known that they are.
  // CHECK: scf.if
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK: nvvm.cluster.arrive {aligned}
  tlx.cluster_arrive
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  tlx.cluster_wait
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      // CHECK: %[[MASK:.+]] = arith.trunci %{{.+}} : i32 to i16
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask = %[[MASK]]
      tlx.async_descriptor_load %x[%rank, %rank], %tile signal %empty multicast(%mask)
          : !map, !tile, !tlx.mbarrier<[1]>
      // Both the buffer and the barrier of the other CTA.
      // CHECK: %[[SIGNAL:.+]] = nvvm.mapa %{{.+}}, %[[RANK]] : !llvm.ptr<3> -> !llvm.ptr<7>
      // CHECK: llvm.ptrtoint %[[SIGNAL]] : !llvm.ptr<7> to i32
      // CHECK: %[[TO:.+]] = nvvm.mapa %{{.+}}, %[[RANK]] : !llvm.ptr<3> -> !llvm.ptr<7>
      // CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[TO]], %{{.+}}, %{{.+}}, %{{.+}} : <7>, <3>
      tlx.async_remote_copy %tile, %tile rank(%rank) signal %empty
          : !tile, !tile, !tlx.mbarrier<[1]>
    }
    tlx.async_task @use warps(4) replicate(2) {
      // Lane r of each warp arrives at rank r.
      // CHECK: nvvm.bar.warp.sync
      // CHECK: %[[LANE:.+]] = arith.remui %{{.+}}, %{{.+}} : i32
      // CHECK: %[[EXISTS:.+]] = arith.cmpi ult, %[[LANE]], %{{.+}} : i32
      // CHECK: %[[BIT:.+]] = arith.shrui %{{.+}}, %{{.+}} : i32
      // CHECK: %[[NAMED:.+]] = arith.trunci %[[BIT]] : i32 to i1
      // CHECK: %[[BOTH:.+]] = arith.andi %[[EXISTS]], %[[NAMED]] : i1
      // CHECK: scf.if %[[BOTH]]
      // CHECK: %[[REMOTE:.+]] = nvvm.mapa %{{.+}}, %[[LANE]] : !llvm.ptr<3> -> !llvm.ptr<7>
      // CHECK-NEXT: nvvm.mbarrier.arrive %[[REMOTE]] : !llvm.ptr<7>
      tlx.remote_barrier_arrive %empty mask(%mask) : !tlx.mbarrier<[1]>
      // In a task there is nothing left to initialise.
      // CHECK-NOT: fence.mbarrier
      // CHECK: nvvm.cluster.arrive {aligned}
      tlx.cluster_arrive
      // CHECK-NEXT: nvvm.cluster.wait {aligned}
      tlx.cluster_wait
    }
  }
}

// A cluster of one is none.
// CHECK-LABEL: llvm.func @alone(
// CHECK-NOT:     nvvm.cluster_dim
tlx.kernel @alone() cluster(1) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
    }
  }
}

// One thread asks; everybody reads, and looks for a CTA only if there is one.
// CHECK-LABEL: llvm.func @launch_control(
tlx.kernel @launch_control(%y: !tlx.ptr<i32>) cluster(2) {
  %response = tlx.local_alloc at 0 : !tlx.memdesc<[4], i32>
  %full = tlx.alloc_barriers arrivals(1) at 16 : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: nvvm.elect.sync
      // CHECK: nvvm.clusterlaunchcontrol.try.cancel multicast, %{{.+}}, %{{.+}}
      tlx.clc_try_cancel %response signal %full multicast : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
      // CHECK: %[[WORDS:.+]] = llvm.load volatile %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> i128
      // CHECK: nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %[[WORDS]] : i1
      // CHECK: llvm.inline_asm {{.*}}@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 $0, response; }", "=&r,l,l" %{{.+}}, %{{.+}} : (i64, i64) -> i32
      %is_canceled, %cta = tlx.clc_query %response : !tlx.memdesc<[4], i32>
      tlx.global_store %cta, %y[%cta] mask %is_canceled : i32, !tlx.ptr<i32>, i32 mask i1
    }
  }
}

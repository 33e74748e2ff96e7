// Clusters of two CTAs that take over others: one CTA asks for both, and each hears of
// it. Every element of y is 1 in the end, whoever has added it. Parameters break it, for
// the pairs of Faults/clc-cluster-*.mlir.
//
// RUN: jfa-sim %s --arg y=zeros:768 --grid=6 --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:768 --grid=6 --schedule=late --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:1024 --grid=8 --schedule=random:5 --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --verify --strict
//
// CHECK: 1 everywhere

!response = !tlx.memdesc<[4], i32>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%y: !tlx.ptr<f32>) cluster(2) {
  // Whether every CTA expects its response, or only the one that asks; and whether
  // readers say so after the last response too.
  %all_expect = tlx.param ALL_EXPECT = true : i1
  %tell_always = tlx.param TELL_ALWAYS = false : i1
  // Whether all CTAs hear of it.
  %multicast = tlx.param MULTICAST = true : i1

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %own = tlx.cta_id : i32
  %rank = tlx.cluster_rank : i32
  %asks = arith.cmpi eq, %rank, %c0 : i32
  %expects = arith.ori %asks, %all_expect : i1
  %response = tlx.local_alloc : !response
  %full = tlx.alloc_barriers arrivals(1) : !bar
  // Of rank 0: two tasks in each CTA have read the response.
  %empty = tlx.alloc_barriers arrivals(4) : !bar
  tlx.cluster_arrive
  tlx.cluster_wait
  tlx.async_tasks {
    tlx.async_task @schedule warps(1) {
      %last = scf.while (%n = %c0) : (i32) -> (i32) {
        %slot, %phase = tlx.ring %n stages(1) : i32
        scf.if %expects {
          tlx.barrier_expect_bytes %full, %response : !bar, !response
        }
        scf.if %asks {
          tlx.barrier_wait %empty, %phase producer : !bar
          scf.if %multicast {
            tlx.clc_try_cancel %response signal %full multicast : !response, !bar
          } else {
            tlx.clc_try_cancel %response signal %full : !response, !bar
          }
        }
        tlx.barrier_wait %full, %phase : !bar
        %is_canceled, %cta = tlx.clc_query %response : !response
        %tells = arith.ori %is_canceled, %tell_always : i1
        scf.if %tells {
          tlx.remote_barrier_arrive %empty mask(%c1) : !bar
        }
        %n1 = arith.addi %n, %c1 : i32
        scf.condition(%is_canceled) %n1 : i32
      } do {
      ^bb0(%n: i32):
        scf.yield %n : i32
      }
    }
    tlx.async_task @add warps(4) {
      %one = arith.constant dense<1.0> : tensor<128xf32>
      %lane = tlx.iota dim 0 : tensor<128xi32>
      %last:2 = scf.while (%n = %c0, %cta = %own) : (i32, i32) -> (i32, i32) {
        %first = arith.muli %cta, %c128 : i32
        %firsts = tlx.splat %first : i32 -> tensor<128xi32>
        %at = arith.addi %firsts, %lane : tensor<128xi32>
        %old = tlx.global_load %y[%at] : !tlx.ptr<f32>, tensor<128xi32> -> tensor<128xf32>
        %new = arith.addf %old, %one : tensor<128xf32>
        tlx.global_store %new, %y[%at] : tensor<128xf32>, !tlx.ptr<f32>, tensor<128xi32>
        %slot, %phase = tlx.ring %n stages(1) : i32
        tlx.barrier_wait %full, %phase : !bar
        %is_canceled, %next = tlx.clc_query %response : !response
        %tells = arith.ori %is_canceled, %tell_always : i1
        scf.if %tells {
          tlx.remote_barrier_arrive %empty mask(%c1) : !bar
        }
        %next_own = arith.addi %next, %rank : i32
        %n1 = arith.addi %n, %c1 : i32
        scf.condition(%is_canceled) %n1, %next_own : i32, i32
      } do {
      ^bb0(%n: i32, %cta: i32):
        scf.yield %n, %cta : i32, i32
      }
    }
  }
}

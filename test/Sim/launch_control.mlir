// Each CTA adds 1 to its own part of y, then to those of CTAs that it cancels: every
// element is 1, whoever has added it, and how often. Parameters break it in one
// place each, for the pairs of Faults/clc-*.mlir.
//
// RUN: jfa-sim %s --arg y=zeros:640 --grid=5 --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:640 --grid=5 --schedule=late --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:640 --grid=5 --schedule=random:7 --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:384 --grid=3 --schedule=pct:3 --out y=%t.npy
// RUN: %python %S/Inputs/check_ones.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg y=zeros:256 --grid=2 --schedule=all:3000
// RUN: jfa-sim %s --arg y=zeros:128
// RUN: jfa-sim %s --verify --strict
//
// CHECK: 1 everywhere

!response = !tlx.memdesc<[4], i32>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%y: !tlx.ptr<f32>) {
  // Whether readers say that they have read a response, and wait for it.
  %release = tlx.param RELEASE = true : i1
  %wait = tlx.param WAIT = true : i1
  // Whether requests end with the first that has failed, and what one delivers.
  %ends = tlx.param ENDS = true : i1
  tlx.param BYTES = 16 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %own = tlx.cta_id : i32
  %response = tlx.local_alloc : !response
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @schedule warps(1) {
      %last = scf.while (%n = %c0) : (i32) -> (i32) {
        %slot, %phase = tlx.ring %n stages(1) : i32
        tlx.barrier_wait %empty, %phase producer : !bar
        tlx.barrier_expect_bytes %full bytes(BYTES) : !bar
        tlx.clc_try_cancel %response signal %full : !response, !bar
        tlx.barrier_wait %full, %phase : !bar
        %is_canceled, %cta = tlx.clc_query %response : !response
        %n1 = arith.addi %n, %c1 : i32
        scf.condition(%is_canceled) %n1 : i32
      } do {
      ^bb0(%n: i32):
        scf.yield %n : i32
      }
      scf.if %ends {
      } else {
        tlx.clc_try_cancel %response signal %full : !response, !bar
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
        scf.if %wait {
          tlx.barrier_wait %full, %phase : !bar
        }
        %is_canceled, %next = tlx.clc_query %response : !response
        scf.if %release {
          tlx.barrier_arrive %empty : !bar
        }
        %n1 = arith.addi %n, %c1 : i32
        scf.condition(%is_canceled) %n1, %next : i32, i32
      } do {
      ^bb0(%n: i32, %cta: i32):
        scf.yield %n, %cta : i32, i32
      }
    }
  }
}

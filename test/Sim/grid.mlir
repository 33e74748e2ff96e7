// CTA i is the i-th to add its tile to the same sums, so that they have the same
// bits in every schedule. Parameters break it in one place each, for the pairs of
// Faults/semaphore-*.mlir.
//
// RUN: jfa-sim %s --arg y=zeros:64x32 --arg turns=zeros:2 --grid=4 --schedule=random:3
// RUN: jfa-sim %s --arg y=zeros:64x32 --arg turns=zeros:2 --grid=3 --schedule=late
// RUN: jfa-sim %s --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 --schedule=all:2000 | FileCheck %s
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=PTX
//
// CHECK: no violation under schedule
//
// PTX:      griddepcontrol.wait;
// PTX:      [[WAIT:WAIT_[0-9]+]]: ld.acquire.gpu.global.s32 [[COUNT:counter]], [%{{.+}}]; setp.ge.s32 [[REACHED:reached]], [[COUNT]], %{{.+}}; @[[REACHED]] bra [[DONE:DONE_[0-9]+]]; bra [[WAIT]]; [[DONE]]: fence.proxy.async.global;
// PTX:      cp.reduce.async.bulk.tensor
// PTX:      cp.async.bulk.wait_group 0;
// PTX:      red.release.gpu.global.add.s32 [%{{.+}}], 1;
// PTX:      griddepcontrol.launch_dependents;

!sums = !tlx.tensormap<[64, 32], f32>
!tile = !tlx.memdesc<[64, 32], f32>

tlx.kernel @k(%y: !sums, %turns: !tlx.ptr<i32>) {
  %waits = tlx.param WAITS = true : i1
  %waits_for_writes = tlx.param WAITS_FOR_WRITES = true : i1
  %posts = tlx.param POSTS = true : i1
  %posts_twice = tlx.param POSTS_TWICE = false : i1
  %last_first = tlx.param LAST_FIRST = false : i1
  %semaphore = tlx.param INDEX = 1 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %cta = tlx.cta_id : i32
  %after = arith.addi %cta, %c1 : i32
  %turn = arith.select %last_first, %after, %cta : i32
  %part = tlx.local_alloc : !tile
  tlx.grid_dependency_wait
  tlx.async_tasks {
    tlx.async_task @add warps(4) {
      %real = arith.sitofp %after : i32 to f32
      %tile = tlx.splat %real : f32 -> tensor<64x32xf32>
      tlx.local_store %tile, %part : tensor<64x32xf32>, !tile
      scf.if %waits {
        tlx.semaphore_wait %turns[%semaphore], %turn : !tlx.ptr<i32>, i32
      }
      tlx.async_descriptor_reduce %y[%c0, %c0], %part {ordered} : !sums, !tile
      scf.if %waits_for_writes {
        tlx.async_descriptor_store_wait pending(0) written
      } else {
        tlx.async_descriptor_store_wait pending(0)
      }
      scf.if %posts {
        tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32
      }
      %is_first = arith.cmpi eq, %cta, %c0 : i32
      %posts_again = arith.andi %posts_twice, %is_first : i1
      scf.if %posts_again {
        tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32
      }
      tlx.grid_launch_dependents
    }
  }
}

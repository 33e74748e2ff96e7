// RUN: jfa-opt %s --convert-tlx-to-nvvm --cse | FileCheck %s
// RUN: not jfa-opt %S/Inputs/semaphore_outside.mlir --convert-tlx-to-nvvm 2>&1 | FileCheck %s --check-prefix=OUTSIDE

// CHECK-LABEL: llvm.func @grid(
// CHECK-SAME:    %[[TURNS:[a-z0-9]+]]: !llvm.ptr<1>
tlx.kernel @grid(%turns: !tlx.ptr<i32>, %i: i32, %l: i64, %turn: i32) {
  // Before the tasks, by every thread.
  // CHECK: nvvm.griddepcontrol{{ +}}wait
  tlx.grid_dependency_wait
  tlx.async_tasks {
    tlx.async_task @one warps(1) {
      // Every thread waits, one posts.
      // CHECK: %[[WIDE:.+]] = arith.extui %{{.+}} : i32 to i64
      // CHECK: %[[AT:.+]] = llvm.getelementptr %[[TURNS]][%[[WIDE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      // CHECK: llvm.inline_asm has_side_effects {{.*}}ld.acquire.gpu.global.s32{{.*}}fence.proxy.async.global{{.*}} %[[AT]], %{{.+}} : (!llvm.ptr<1>, i32) -> ()
      tlx.semaphore_wait %turns[%i], %turn : !tlx.ptr<i32>, i32
      // CHECK: %[[FAR:.+]] = llvm.getelementptr %[[TURNS]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      // CHECK: nvvm.bar.warp.sync
      // CHECK: nvvm.elect.sync
      // CHECK: scf.if
      // CHECK-NEXT: llvm.inline_asm has_side_effects {{.*}}"red.release.gpu.global.add.s32 [$0], 1;", "l,~{memory}" %[[FAR]] : (!llvm.ptr<1>) -> ()
      tlx.semaphore_post %turns[%l] : !tlx.ptr<i32>, i64
      // CHECK: nvvm.griddepcontrol{{ +}}launch_dependents
      tlx.grid_launch_dependents
    }
  }
}

// OUTSIDE: 'tlx.semaphore_post' op expected to be inside a 'tlx.async_task'

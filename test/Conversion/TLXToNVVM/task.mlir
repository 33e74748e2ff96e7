// RUN: jfa-opt %s --convert-tlx-to-nvvm --cse | FileCheck %s

// CHECK: llvm.mlir.global external @tlx_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global

// CHECK-LABEL: llvm.func @dispatch(
// CHECK-SAME:    %[[P:.+]]: !llvm.ptr<1>, %[[N:.+]]: i32)
// CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME:    nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384>
// CHECK-SAME:    tlx.parameters = {D = 64 : i64}
// CHECK-SAME:    tlx.shared_memory_bytes = 1024 : i64
tlx.kernel @dispatch(%p: !tlx.ptr<i32>, %n: i32) cluster(2) parameters {D = 64 : i64}
    attributes {tlx.shared_memory_bytes = 1024 : i64} {
  // CHECK: %[[CTA:.+]] = nvvm.read.ptx.sreg.ctaid.x
  %cta = tlx.cta_id : i32
  // CHECK: %[[CTAS:.+]] = nvvm.read.ptx.sreg.nctaid.x
  %ctas = tlx.cta_count : i32
  // CHECK: %[[SUM:.+]] = arith.addi %[[CTA]], %[[CTAS]]
  %sum = arith.addi %cta, %ctas : i32
  // Every thread waits for the barriers that thread 0 initialises.
  // CHECK: %[[THREAD:.+]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[THREAD]], %{{.+}}
  // CHECK: scf.if %[[FIRST]] {
  // CHECK:   nvvm.fence.mbarrier.init
  // CHECK: nvvm.barrier0
  // One warp decides, so that the branch is uniform.
  // CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %{{.+}}
  // CHECK: %[[UNIFORM:.+]] = nvvm.shfl.sync {{ ?}}idx %{{.+}}, %[[WARP]],
  // CHECK: %[[FOUR:.+]] = arith.constant 4 : i32
  // CHECK: %[[IS_LOAD:.+]] = arith.cmpi ult, %[[UNIFORM]], %[[FOUR]]
  tlx.async_tasks {
    // A budget is a whole warpgroup's; the task is its first warp's.
    // CHECK: scf.if %[[IS_LOAD]] {
    // CHECK:   nvvm.setmaxregister {{ ?}}decrease 24
    // CHECK:   %[[ACTIVE:.+]] = arith.cmpi ult, %[[UNIFORM]], %{{.+}}
    // CHECK:   scf.if %[[ACTIVE]] {
    tlx.async_task @load warps(1) registers(24) {
      // CHECK: nvvm.bar.warp.sync
      tlx.task_barrier
      // CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %{{.+}}
      // CHECK: %[[LEADS:.+]] = arith.cmpi eq, %[[LANE]],
      // CHECK: scf.if %[[LEADS]] {
      // CHECK:   llvm.store %[[SUM]], %{{.+}} : i32, !llvm.ptr<1>
      tlx.global_store %sum, %p[%n] : i32, !tlx.ptr<i32>, i32
    }
    // CHECK: } else {
    // CHECK:   nvvm.setmaxregister {{ ?}}increase 240
    tlx.async_task @compute warps(4) registers(240) replicate(2) {
      // CHECK: %[[HERE:.+]] = nvvm.shfl.sync {{ ?}}idx
      // CHECK: %[[OWN:.+]] = arith.addi %[[HERE]], %{{.+}}
      // CHECK: %[[REPLICA:.+]] = arith.divui %[[OWN]], %[[FOUR]]
      %id = tlx.async_task_replica_id : i32
      // Each replica has a barrier of its own.
      // CHECK: %[[LAST:.+]] = arith.constant 15 : i32
      // CHECK: %[[INDEX:.+]] = arith.divui
      // CHECK: %[[BARRIER:.+]] = arith.subi %[[LAST]], %[[INDEX]]
      // CHECK: %[[SIZE:.+]] = arith.constant 128 : i32
      // CHECK: nvvm.barrier id = %[[BARRIER]] number_of_threads = %[[SIZE]]
      tlx.task_barrier
      // CHECK: llvm.store %[[REPLICA]], %{{.+}} : i32, !llvm.ptr<1>
      tlx.global_store %id, %p[%n] : i32, !tlx.ptr<i32>, i32
    }
  }
  // CHECK: llvm.return
}

// Without budgets tasks follow each other as closely as they may: a task of
// whole warpgroups starts at one, and warps between are idle.
// CHECK-LABEL: llvm.func @unbudgeted(
// CHECK-SAME:    nvvm.reqntid = array<i32: 256>
// CHECK-NOT:   nvvm.setmaxregister
tlx.kernel @unbudgeted(%p: !tlx.ptr<i32>, %n: i32) {
  tlx.async_tasks {
    // CHECK: %[[C2:.+]] = arith.constant 2 : i32
    // CHECK: arith.cmpi ult, %{{.+}}, %[[C2]]
    tlx.async_task @two warps(2) {
      // CHECK: %[[ID:.+]] = arith.constant 15 : i32
      // CHECK: %[[SIZE:.+]] = arith.constant 64 : i32
      // CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %[[SIZE]]
      tlx.task_barrier
    }
    tlx.async_task @four warps(4) {
      // CHECK: %[[ID:.+]] = arith.constant 14 : i32
      // CHECK: %[[SIZE:.+]] = arith.constant 128 : i32
      // CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %[[SIZE]]
      tlx.task_barrier
    }
  }
}

// What the host binds by name, and how it builds tensor maps.
// CHECK-LABEL: llvm.func @arguments(
// CHECK-SAME:    %[[MAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME:    !llvm.ptr<1>, %{{[^:]+}}: i64, %{{[^:]+}}: f16)
// CHECK-SAME:    tlx.arguments = [
// CHECK-SAME:    {dims = [{axis = 2 : i64, box = 64 : i64, extent = 64 : i64, step = 1 : i64},
// CHECK-SAME:    {axis = 0 : i64, box = 64 : i64, extent = "segment", step = 1 : i64},
// CHECK-SAME:    {axis = 2 : i64, box = 2 : i64, extent = "axis", step = 64 : i64},
// CHECK-SAME:    {axis = 1 : i64, box = 1 : i64, extent = "axis", step = 1 : i64},
// CHECK-SAME:    {axis = 0 : i64, box = 1 : i64, extent = "position", step = 1 : i64}],
// CHECK-SAME:    element = "bf16", kind = "tensormap", name = "map", ragged = true, swizzle_bytes = 128 : i64, tile = [64, 1, 128]},
// CHECK-SAME:    {element = "f32", kind = "pointer", name = "p"},
// CHECK-SAME:    {kind = "scalar", name = "n", type = "i64"},
// CHECK-SAME:    {kind = "scalar", name = "x", type = "f16"}]
// CHECK:         "prefetch.tensormap [$0];", "l,~{memory}" %[[MAP]]
tlx.kernel @arguments(%map: !tlx.tensormap<[64, 1, 128], bf16, ragged>, %p: !tlx.ptr<f32>, %n: i64, %x: f16) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.task_barrier
    }
  }
}

// Tasks of a few warps with one budget share a warpgroup, whose registers change
// once.
// CHECK-LABEL: llvm.func @shared_warpgroup(
// CHECK-SAME:    nvvm.reqntid = array<i32: 384>
tlx.kernel @shared_warpgroup(%p: !tlx.ptr<i32>, %n: i32) {
  tlx.async_tasks {
    // CHECK: nvvm.setmaxregister {{ ?}}decrease 24
    // CHECK-NOT: nvvm.setmaxregister
    // CHECK: arith.cmpi ult
    tlx.async_task @load warps(1) registers(24) {
      // CHECK: nvvm.bar.warp.sync
      tlx.task_barrier
    }
    // CHECK: else
    // CHECK-NOT: nvvm.setmaxregister
    tlx.async_task @store warps(1) registers(24) replicate(2) {
      // CHECK: llvm.store
      %id = tlx.async_task_replica_id : i32
      tlx.global_store %id, %p[%n] : i32, !tlx.ptr<i32>, i32
    }
    // CHECK: else
    // CHECK: nvvm.setmaxregister {{ ?}}increase 240
    tlx.async_task @compute warps(4) registers(240) replicate(2) {
    }
  }
}

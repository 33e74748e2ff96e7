// RUN: jfa-opt %s --convert-tlx-to-nvvm --canonicalize --cse | FileCheck %s

// One warp, a quad of threads on each of 8 rows, two neighbouring columns each.
#quads = #tlx.layout<threads = [4 : 1 * 2, 8 : 0 * 1], registers = [2 : 1 * 1]>
#rows = #tlx.layout<threads = [4 : *, 8 : 0 * 1], registers = []>
#parts = #tlx.layout<threads = [4 : 1 * 1, 8 : 0 * 1], registers = []>
#line = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
#jump = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#turned = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1, 1 : 0 * 64]>

// A row is two registers of four threads: one addition, two exchanges. Copies
// are written once, by the quad's first thread, where the mask says so.
// CHECK-LABEL: llvm.func @reduce(
// CHECK-SAME:    %[[P:.+]]: !llvm.ptr<1>, %[[N:.+]]: i32)
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : i32
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : i32
// CHECK-DAG:     %[[ALL:.+]] = arith.constant -1 : i32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
tlx.kernel @reduce(%p: !tlx.ptr<f32>, %n: i32) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %columns = tlx.iota dim 1 : tensor<8x8xi32, #quads>
      %s = arith.sitofp %columns : tensor<8x8xi32, #quads> to tensor<8x8xf32, #quads>
      // CHECK: %[[M0:.+]] = arith.maxnumf %{{.+}}, %{{.+}} : f32
      // CHECK: %[[S1:.+]] = nvvm.shfl.sync {{ ?}}bfly %[[ALL]], %[[M0]], %[[C1]], %{{.+}} : f32 -> f32
      // CHECK: %[[M1:.+]] = arith.maxnumf %[[M0]], %[[S1]] : f32
      // CHECK: %[[S2:.+]] = nvvm.shfl.sync {{ ?}}bfly %[[ALL]], %[[M1]], %[[C2]], %{{.+}} : f32 -> f32
      // CHECK: %[[M2:.+]] = arith.maxnumf %[[M1]], %[[S2]] : f32
      %m = tlx.reduce max %s dim 1 : tensor<8x8xf32, #quads> -> tensor<8xf32, #rows>
      // CHECK: %[[ROW:.+]] = arith.divui %{{.+}}, %[[C4]]
      %i = tlx.iota dim 0 : tensor<8xi32, #rows>
      %limit = tlx.splat %n : i32 -> tensor<8xi32, #rows>
      // CHECK: %[[IN:.+]] = arith.cmpi slt, %[[ROW]], %[[N]]
      %in = arith.cmpi slt, %i, %limit : tensor<8xi32, #rows>
      // CHECK: %[[OWNS:.+]] = arith.cmpi eq, %{{.+}}, %[[ZERO]]
      // CHECK: %[[GUARD:.+]] = arith.andi %[[OWNS]], %[[IN]]
      // CHECK: scf.if %[[GUARD]] {
      // CHECK-NEXT: llvm.store %[[M2]], %{{.+}} : f32, !llvm.ptr<1>
      tlx.global_store %m, %p[%i] mask %in : tensor<8xf32, #rows>, !tlx.ptr<f32>, tensor<8xi32, #rows> mask tensor<8xi1, #rows>
    }
  }
}

// Groups that are threads need no exchange.
// CHECK-LABEL: llvm.func @partial(
// CHECK:         %[[SUM:.+]] = arith.addf %{{.+}}, %{{.+}} : f32
// CHECK-NOT:     nvvm.shfl.sync {{ ?}}bfly
// CHECK-COUNT-2: llvm.store
// CHECK-NOT:     llvm.store
tlx.kernel @partial(%p: !tlx.ptr<f32>, %x: f32) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %s = tlx.splat %x : f32 -> tensor<8x8xf32, #quads>
      %l = tlx.partial_reduce add %s dim 1 groups(4) run(2) : tensor<8x8xf32, #quads> -> tensor<8x4xf32, #parts>
      %i = tlx.iota dim 1 : tensor<8x4xi32, #parts>
      tlx.global_store %l, %p[%i] : tensor<8x4xf32, #parts>, !tlx.ptr<f32>, tensor<8x4xi32, #parts>
      %r = tlx.iota dim 0 : tensor<8xi32, #rows>
      %f = arith.sitofp %r : tensor<8xi32, #rows> to tensor<8xf32, #rows>
      tlx.global_store %f, %p[%r] : tensor<8xf32, #rows>, !tlx.ptr<f32>, tensor<8xi32, #rows>
    }
  }
}

// Elements that change threads go through the task's scratch memory, between
// two barriers; those that stay are only renumbered.
// CHECK-LABEL: llvm.func @convert(
// CHECK-DAG:     %[[SCRATCH:.+]] = arith.constant 256 : i32
tlx.kernel @convert(%p: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %i = tlx.iota dim 0 : tensor<64xi32, #line>
      // CHECK: arith.addi %{{.+}}, %[[SCRATCH]]
      // CHECK: nvvm.bar.warp.sync
      // CHECK-COUNT-2: llvm.store %{{.+}}, %{{.+}} : i32, !llvm.ptr<3>
      // CHECK: nvvm.bar.warp.sync
      // CHECK-COUNT-2: llvm.load %{{.+}} : !llvm.ptr<3> -> i32
      %j = tlx.convert_layout %i at 256 : tensor<64xi32, #line> -> tensor<64xi32, #jump>
      // CHECK-NOT: nvvm.bar.warp.sync
      // CHECK-COUNT-2: llvm.load %{{.+}} : !llvm.ptr<1> -> f32
      %x = tlx.global_load %p[%j] : !tlx.ptr<f32>, tensor<64xi32, #jump> -> tensor<64xf32, #jump>
      // CHECK-COUNT-2: llvm.store %{{.+}} : f32, !llvm.ptr<1>
      tlx.global_store %x, %p[%j] : tensor<64xf32, #jump>, !tlx.ptr<f32>, tensor<64xi32, #jump>
      %same = tlx.convert_layout %i : tensor<64xi32, #line> -> tensor<64xi32, #turned>
    }
  }
}

// CHECK-LABEL: llvm.func @scalars(
// CHECK-SAME:    %[[P:[^:]+]]: !llvm.ptr<1>, %[[I:[^:]+]]: i64, %[[OTHER:[^:]+]]: f32, %[[N:[^:]+]]: i32)
tlx.kernel @scalars(%p: !tlx.ptr<f32>, %i: i64, %other: f32, %n: i32) {
  %c7 = arith.constant 7 : i32
  // CHECK: %[[AT:.+]] = llvm.getelementptr %[[P]][%[[I]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  // CHECK: %[[A:.+]] = llvm.load %[[AT]] : !llvm.ptr<1> -> f32
  %a = tlx.global_load %p[%i] : !tlx.ptr<f32>, i64 -> f32
  // CHECK: %[[TAIL:.+]] = arith.cmpi sge, %[[N]], %{{.+}}
  %tail = tlx.in_masked_tail %n from %c7 : i32
  // CHECK: %[[B:.+]] = scf.if %[[TAIL]] -> (f32) {
  // CHECK:   llvm.load
  // CHECK: } else {
  // CHECK:   scf.yield %[[OTHER]]
  %b = tlx.global_load %p[%i] mask %tail other %other : !tlx.ptr<f32>, i64 -> f32 mask i1 other f32
  // CHECK: %[[SUM:.+]] = arith.addf %[[A]], %[[B]]
  %sum = arith.addf %a, %b : f32
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // One thread writes.
      // CHECK: %[[LEADS:.+]] = arith.cmpi eq
      // CHECK: scf.if %[[LEADS]] {
      // CHECK: llvm.store %[[SUM]], %[[AT]]
      tlx.global_store %sum, %p[%i] : f32, !tlx.ptr<f32>, i64
    }
  }
}

// Fields of a record share its address: what is added to a multiple of a power
// of two, and is less than it, cannot carry. What may carry is added first.
// CHECK-LABEL: llvm.func @records(
// CHECK-SAME:    %[[P:[^:]+]]: !llvm.ptr<1>, %[[I:[^:]+]]: i32)
tlx.kernel @records(%p: !tlx.ptr<i32>, %i: i32) {
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %at = arith.muli %i, %c4 : i32
  %at3 = arith.addi %at, %c3 : i32
  %at4 = arith.addi %at, %c4 : i32
  %next = arith.addi %i, %c1 : i32
  // CHECK-DAG: %[[RECORD:.+]] = llvm.getelementptr %[[P]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  // CHECK-DAG: %[[FIELD:.+]] = llvm.getelementptr %[[RECORD]][3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  // CHECK-DAG: llvm.load %[[RECORD]]
  // CHECK-DAG: llvm.load %[[FIELD]]
  %a = tlx.global_load %p[%at] : !tlx.ptr<i32>, i32 -> i32
  %b = tlx.global_load %p[%at3] : !tlx.ptr<i32>, i32 -> i32
  // CHECK-NOT: llvm.getelementptr %{{.+}}[{{[0-9]+}}]
  %c = tlx.global_load %p[%at4] : !tlx.ptr<i32>, i32 -> i32
  %d = tlx.global_load %p[%next] : !tlx.ptr<i32>, i32 -> i32
  %ab = arith.addi %a, %b : i32
  %cd = arith.addi %c, %d : i32
  %abcd = arith.addi %ab, %cd : i32
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      tlx.global_store %abcd, %p[%at] : i32, !tlx.ptr<i32>, i32
    }
  }
}

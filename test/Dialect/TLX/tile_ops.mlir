// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-DAG: #[[ROWS:.+]] = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
// CHECK-DAG: #[[COPIES:.+]] = #tlx.layout<threads = [4 : *, 8 : 0 * 8], registers = [8 : 0 * 1]>
#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#copies = #tlx.layout<threads = [4 : *, 8 : 0 * 8], registers = [8 : 0 * 1]>

// CHECK-LABEL: tlx.kernel @tiles(%p: !tlx.ptr<f32>, %i: i64, %x: f32, %n: i32) {
tlx.kernel @tiles(%p: !tlx.ptr<f32>, %i: i64, %x: f32, %n: i32) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: %[[S:.+]] = tlx.splat %x : f32 -> tensor<64x128xf32>
      %s = tlx.splat %x : f32 -> tensor<64x128xf32>
      // CHECK: %[[M:.+]] = tlx.reduce max %[[S]] dim 1 : tensor<64x128xf32> -> tensor<64xf32>
      %m = tlx.reduce max %s dim 1 : tensor<64x128xf32> -> tensor<64xf32>
      // CHECK: tlx.reduce min %[[S]] dim 0 : tensor<64x128xf32> -> tensor<128xf32>
      %min = tlx.reduce min %s dim 0 : tensor<64x128xf32> -> tensor<128xf32>
      // CHECK: tlx.reduce add %[[M]] dim 0 : tensor<64xf32> -> tensor<f32>
      %sum = tlx.reduce add %m dim 0 : tensor<64xf32> -> tensor<f32>
      // CHECK: tlx.partial_reduce add %[[S]] dim 1 groups(4) run(2) : tensor<64x128xf32> -> tensor<64x4xf32>
      %l = tlx.partial_reduce add %s dim 1 groups(4) run(2) : tensor<64x128xf32> -> tensor<64x4xf32>
      // CHECK: %[[C:.+]] = tlx.expand_dims %[[M]] dim 1 : tensor<64xf32> -> tensor<64x1xf32>
      %c = tlx.expand_dims %m dim 1 : tensor<64xf32> -> tensor<64x1xf32>
      // CHECK: tlx.broadcast %[[C]] : tensor<64x1xf32> -> tensor<64x128xf32>
      %b = tlx.broadcast %c : tensor<64x1xf32> -> tensor<64x128xf32>
      // CHECK: %[[I:.+]] = tlx.iota dim 0 : tensor<64xi32>
      %rows = tlx.iota dim 0 : tensor<64xi32>
      %limit = tlx.splat %n : i32 -> tensor<64xi32>
      // CHECK: %[[IN:.+]] = arith.cmpi
      %in = arith.cmpi slt, %rows, %limit : tensor<64xi32>
      // CHECK: tlx.global_load %p[%i] : !tlx.ptr<f32>, i64 -> f32
      %scalar = tlx.global_load %p[%i] : !tlx.ptr<f32>, i64 -> f32
      // CHECK: tlx.global_load %p[%[[I]]] mask %[[IN]] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32> mask tensor<64xi1>
      %masked = tlx.global_load %p[%rows] mask %in : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32> mask tensor<64xi1>
      // CHECK: tlx.global_load %p[%[[I]]] mask %[[IN]] other %[[M]] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32> mask tensor<64xi1> other tensor<64xf32>
      %other = tlx.global_load %p[%rows] mask %in other %m : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32> mask tensor<64xi1> other tensor<64xf32>
      // CHECK: tlx.global_store %x, %p[%i] : f32, !tlx.ptr<f32>, i64
      tlx.global_store %x, %p[%i] : f32, !tlx.ptr<f32>, i64
      // CHECK: tlx.global_store %[[M]], %p[%[[I]]] mask %[[IN]] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32> mask tensor<64xi1>
      tlx.global_store %m, %p[%rows] mask %in : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32> mask tensor<64xi1>
      // CHECK: tlx.in_masked_tail %n from %{{.+}} : i32
      %c7 = arith.constant 7 : i32
      %tail = tlx.in_masked_tail %n from %c7 : i32
      // CHECK: %[[Y:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32, #[[ROWS]]>
      %y = arith.constant dense<1.0> : tensor<64xf32, #rows>
      // CHECK: tlx.convert_layout %[[Y]] : tensor<64xf32, #[[ROWS]]> -> tensor<64xf32, #[[COPIES]]>
      %z = tlx.convert_layout %y : tensor<64xf32, #rows> -> tensor<64xf32, #copies>
      // CHECK: tlx.convert_layout %[[Y]] at 256 : tensor<64xf32, #[[ROWS]]> -> tensor<64xf32, #[[COPIES]]>
      %w = tlx.convert_layout %y at 256 : tensor<64xf32, #rows> -> tensor<64xf32, #copies>
    }
  }
}

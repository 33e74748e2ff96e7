// RUN: jfa-opt %s --convert-tlx-to-nvvm=packed-f32=true | FileCheck %s
// RUN: jfa-opt %s --convert-tlx-to-nvvm | FileCheck %s --check-prefix=SCALAR

#four = #tlx.layout<threads = [128 : 0 * 1], registers = [4 : 1 * 1]>
#one = #tlx.layout<threads = [128 : 0 * 1], registers = []>

// Two neighbouring registers at a time; what there is no instruction for, what is
// not f32, and a row of one element stay scalars.
// CHECK-LABEL: llvm.func @packed(
// CHECK-COUNT-2: arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : vector<2xf32>
// CHECK-NOT:     arith.mulf
// CHECK-COUNT-2: arith.addf %{{.+}}, %{{.+}} fastmath<contract> : vector<2xf32>
// CHECK-COUNT-2: arith.subf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK-COUNT-2: math.fma %{{.+}}, %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK-COUNT-4: arith.divf %{{.+}}, %{{.+}} : f32
// CHECK:         arith.addf %{{.+}}, %{{.+}} : f32
// CHECK-COUNT-4: arith.addi %{{.+}}, %{{.+}} : i32
// SCALAR-LABEL: llvm.func @packed(
// SCALAR-NOT:     vector<2xf32>
tlx.kernel @packed(%y: !tlx.ptr<f32>, %z: !tlx.ptr<i32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %index = tlx.iota dim 1 : tensor<128x4xi32, #four>
      %x = tlx.global_load %y[%index] : !tlx.ptr<f32>, tensor<128x4xi32, #four> -> tensor<128x4xf32, #four>
      %a = arith.mulf %x, %x fastmath<contract> : tensor<128x4xf32, #four>
      %b = arith.addf %a, %x fastmath<contract> : tensor<128x4xf32, #four>
      %c = arith.subf %b, %x : tensor<128x4xf32, #four>
      %d = math.fma %c, %b, %b : tensor<128x4xf32, #four>
      %e = arith.divf %d, %x : tensor<128x4xf32, #four>
      %rows = tlx.iota dim 0 : tensor<128xi32, #one>
      %r = tlx.global_load %y[%rows] : !tlx.ptr<f32>, tensor<128xi32, #one> -> tensor<128xf32, #one>
      %s = arith.addf %r, %r : tensor<128xf32, #one>
      %i = arith.addi %index, %index : tensor<128x4xi32, #four>
      tlx.global_store %e, %y[%i] : tensor<128x4xf32, #four>, !tlx.ptr<f32>, tensor<128x4xi32, #four>
      tlx.global_store %s, %y[%rows] : tensor<128xf32, #one>, !tlx.ptr<f32>, tensor<128xi32, #one>
    }
  }
}

// A product that has to be rounded before it is added stays one of scalars: of pairs
// ptxas would make one instruction of both.
// CHECK-LABEL: llvm.func @rounded(
// CHECK-COUNT-4: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK-COUNT-2: arith.addf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK-COUNT-2: arith.mulf %{{.+}}, %{{.+}} : vector<2xf32>
tlx.kernel @rounded(%y: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %index = tlx.iota dim 1 : tensor<128x4xi32, #four>
      %x = tlx.global_load %y[%index] : !tlx.ptr<f32>, tensor<128x4xi32, #four> -> tensor<128x4xf32, #four>
      %a = arith.mulf %x, %x : tensor<128x4xf32, #four>
      %b = arith.addf %a, %x : tensor<128x4xf32, #four>
      %c = arith.mulf %b, %x : tensor<128x4xf32, #four>
      tlx.global_store %c, %y[%index] : tensor<128x4xf32, #four>, !tlx.ptr<f32>, tensor<128x4xi32, #four>
    }
  }
}

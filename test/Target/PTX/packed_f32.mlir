// RUN: jfa-opt %s --arch=sm_100a --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=HOPPER

// Four elements of a thread are two pairs; a product and a sum that may be contracted
// are one instruction for each. Hopper has none for pairs.
// CHECK-COUNT-2: fma.rn.ftz.f32x2
// CHECK-COUNT-2: add.rn.ftz.f32x2
// CHECK-COUNT-2: mul.rn.ftz.f32x2
// HOPPER-NOT: f32x2
// HOPPER-COUNT-4: fma.rn.ftz.f32
// HOPPER-NOT: f32x2
tlx.kernel @packed(%y: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %rows = tlx.iota dim 0 : tensor<128x4xi32>
      %columns = tlx.iota dim 1 : tensor<128x4xi32>
      %width = arith.constant dense<4> : tensor<128x4xi32>
      %begins = arith.muli %rows, %width : tensor<128x4xi32>
      %index = arith.addi %begins, %columns : tensor<128x4xi32>
      %x = tlx.global_load %y[%index] : !tlx.ptr<f32>, tensor<128x4xi32> -> tensor<128x4xf32>
      %a = arith.mulf %x, %x fastmath<contract> : tensor<128x4xf32>
      %b = arith.addf %a, %x fastmath<contract> : tensor<128x4xf32>
      %c = arith.addf %b, %x : tensor<128x4xf32>
      %d = arith.mulf %c, %x : tensor<128x4xf32>
      tlx.global_store %d, %y[%index] : tensor<128x4xf32>, !tlx.ptr<f32>, tensor<128x4xi32>
    }
  }
}

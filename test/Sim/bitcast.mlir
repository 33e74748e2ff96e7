// Bits as numbers, and numbers as bits.
//
// RUN: jfa-sim %s --arg bits=iota:4 --arg y=none:4 --arg z=none:4 --out y=%t.y.npy --out z=%t.z.npy
// RUN: %python -c "import struct, sys; print(*(struct.unpack('<4f', open(f, 'rb').read()[-16:]) for f in sys.argv[1:]))" %t.y.npy %t.z.npy | FileCheck %s
//
// CHECK: (1.0, 2.0, 4.0, 8.0) (16256.0, 16384.0, 16512.0, 16640.0)

tlx.kernel @bitcast(%bits: !tlx.ptr<i32>, %y: !tlx.ptr<f32>, %z: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %i = tlx.iota dim 0 : tensor<4xi32>
      %n = tlx.global_load %bits[%i] : !tlx.ptr<i32>, tensor<4xi32> -> tensor<4xi32>
      // 1.0 with the exponent raised by 0, 1, 2, 3.
      %one = arith.constant dense<0x3F800000> : tensor<4xi32>
      %by = arith.constant dense<23> : tensor<4xi32>
      %exponent = arith.shli %n, %by : tensor<4xi32>
      %word = arith.addi %one, %exponent : tensor<4xi32>
      %x = arith.bitcast %word : tensor<4xi32> to tensor<4xf32>
      tlx.global_store %x, %y[%i] : tensor<4xf32>, !tlx.ptr<f32>, tensor<4xi32>
      %narrow = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
      %half = arith.bitcast %narrow : tensor<4xbf16> to tensor<4xi16>
      %wide = arith.extui %half : tensor<4xi16> to tensor<4xi32>
      %number = arith.sitofp %wide : tensor<4xi32> to tensor<4xf32>
      tlx.global_store %number, %z[%i] : tensor<4xf32>, !tlx.ptr<f32>, tensor<4xi32>
    }
  }
}

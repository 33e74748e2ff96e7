// RUN: jfa-opt %s --canonicalize | FileCheck %s

#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>

// CHECK-LABEL: func.func @identities(%arg0: tensor<64x8xf32>, %arg1: tensor<64xf32, #{{.+}}>)
// CHECK-NEXT:    return %arg0, %arg1
func.func @identities(%x: tensor<64x8xf32>, %y: tensor<64xf32, #rows>) -> (tensor<64x8xf32>, tensor<64xf32, #rows>) {
  %b = tlx.broadcast %x : tensor<64x8xf32> -> tensor<64x8xf32>
  %c = tlx.convert_layout %y : tensor<64xf32, #rows> -> tensor<64xf32, #rows>
  return %b, %c : tensor<64x8xf32>, tensor<64xf32, #rows>
}

// CHECK-LABEL: func.func @in_masked_tail(%arg0: i32)
// CHECK-DAG:     %[[TRUE:.+]] = arith.constant true
// CHECK-DAG:     %[[FALSE:.+]] = arith.constant false
// CHECK:         %[[ANY:.+]] = tlx.in_masked_tail %arg0 from %{{.+}} : i32
// CHECK-NEXT:    return %[[FALSE]], %[[TRUE]], %[[TRUE]], %[[ANY]]
func.func @in_masked_tail(%n: i32) -> (i1, i1, i1, i1) {
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %minus = arith.constant -1 : i32
  %before = tlx.in_masked_tail %c7 from %c8 : i32
  %at = tlx.in_masked_tail %c7 from %c7 : i32
  %signed = tlx.in_masked_tail %c7 from %minus : i32
  %any = tlx.in_masked_tail %n from %c7 : i32
  return %before, %at, %signed, %any : i1, i1, i1, i1
}

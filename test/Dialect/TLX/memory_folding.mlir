// RUN: jfa-opt %s --canonicalize | FileCheck %s

// Twice transposed is the tile itself.
// CHECK-LABEL: func.func @trans(%arg0: !tlx.memdesc<[128, 64], bf16>)
// CHECK-NEXT:    return %arg0
func.func @trans(%a: !tlx.memdesc<[128, 64], bf16>) -> !tlx.memdesc<[128, 64], bf16> {
  %t = tlx.local_trans %a : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
  %b = tlx.local_trans %t : !tlx.memdesc<[64, 128], bf16, transposed> -> !tlx.memdesc<[128, 64], bf16>
  return %b : !tlx.memdesc<[128, 64], bf16>
}

// CHECK-LABEL: func.func @reinterpret(%arg0: !tlx.memdesc<[64], f32>)
// CHECK-NEXT:    %[[OTHER:.+]] = tlx.local_reinterpret %arg0
// CHECK-NEXT:    return %arg0, %[[OTHER]]
func.func @reinterpret(%a: !tlx.memdesc<[64], f32>) -> (!tlx.memdesc<[64], f32>, !tlx.memdesc<[128], bf16>) {
  %same = tlx.local_reinterpret %a : !tlx.memdesc<[64], f32> -> !tlx.memdesc<[64], f32>
  %other = tlx.local_reinterpret %a : !tlx.memdesc<[64], f32> -> !tlx.memdesc<[128], bf16>
  return %same, %other : !tlx.memdesc<[64], f32>, !tlx.memdesc<[128], bf16>
}

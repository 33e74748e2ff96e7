// The parameters of a kernel, for people.

// RUN: jfa-opt %s --list-params | FileCheck %s

// CHECK:      HEAD_DIM = 128, legal: {{.*}}64, 128
// CHECK-NEXT: BLOCK_N = 128, legal: {{.*}}16 to 256 step 16
// CHECK-NEXT: ELEMENT = bf16, legal: {{.*}}bf16, f16
tlx.kernel @k() {
  %d = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  %n = tlx.param BLOCK_N = 128 from 16 to 256 step 16 : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
}

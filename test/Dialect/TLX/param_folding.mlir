// RUN: jfa-opt %s --canonicalize --cse | FileCheck %s

// Types use a parameter where no operand does, so no declaration is dead, and
// neither is what the author demands of it.
// CHECK-LABEL: tlx.kernel @declarations(
// CHECK-NEXT:    tlx.param ELEMENT = bf16
// CHECK-NEXT:    %{{.+}} = tlx.param N = 64 : i32
// CHECK-NEXT:    tlx.constraint N le 64
// CHECK-NEXT:    tlx.constraint N le 64
tlx.kernel @declarations(%p: !tlx.ptr<ELEMENT>) {
  tlx.param ELEMENT = bf16
  %n = tlx.param N = 64 : i32
  tlx.constraint N le 64
  tlx.constraint N le 64
}

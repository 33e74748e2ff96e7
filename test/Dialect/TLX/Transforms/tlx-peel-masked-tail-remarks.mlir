// RUN: jfa-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(any(tlx-peel-masked-tail))' | FileCheck %s
// RUN: jfa-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(any(tlx-peel-masked-tail))' -remarks-filter-missed=tile -remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// What no loop can be split at is compared in every iteration, with a remark.
// REMARK-COUNT-5: remark: [Missed] PeelMaskedTail | Category:tile | {{.+}}every iteration compares for its mask

// CHECK-LABEL: func.func @no_loop(
// CHECK-NEXT:    %[[X:.+]] = arith.cmpi sge, %arg0, %arg1 : i32
// CHECK-NEXT:    return %[[X]]
func.func @no_loop(%i: i32, %first: i32) -> i1 {
  %masked = tlx.in_masked_tail %i from %first : i32
  return %masked : i1
}

// CHECK-LABEL: func.func @varying(
// CHECK-COUNT-1: scf.for
// CHECK:           arith.cmpi sge
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @varying(%ub: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %first = "test.first"() : () -> i32
    %masked = tlx.in_masked_tail %j from %first : i32
    "test.use"(%masked) : (i1) -> ()
  }
  return
}

// CHECK-LABEL: func.func @derived(
// CHECK:           arith.cmpi sge
func.func @derived(%ub: i32, %first: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %next = arith.addi %j, %c1 : i32
    %masked = tlx.in_masked_tail %next from %first : i32
    "test.use"(%masked) : (i1) -> ()
  }
  return
}

// CHECK-LABEL: func.func @unsigned_bounds(
// CHECK:           arith.cmpi sge
func.func @unsigned_bounds(%ub: i32, %first: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for unsigned %j = %c0 to %ub step %c1 : i32 {
    %masked = tlx.in_masked_tail %j from %first : i32
    "test.use"(%masked) : (i1) -> ()
  }
  return
}

// CHECK-LABEL: func.func @while_loop(
// CHECK:           arith.cmpi sge
func.func @while_loop(%ub: i32, %first: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%i = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %ub : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %masked = tlx.in_masked_tail %i from %first : i32
    "test.use"(%masked) : (i1) -> ()
    %next = arith.addi %i, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// More than three different firsts: eight loops, and a comparison in each.
// CHECK-LABEL: func.func @four(
// CHECK-COUNT-8: arith.cmpi sge
func.func @four(%ub: i32, %p: i32, %q: i32, %r: i32, %s: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %a = tlx.in_masked_tail %j from %p : i32
    %b = tlx.in_masked_tail %j from %q : i32
    %c = tlx.in_masked_tail %j from %r : i32
    %d = tlx.in_masked_tail %j from %s : i32
    "test.use"(%a, %b, %c, %d) : (i1, i1, i1, i1) -> ()
  }
  return
}

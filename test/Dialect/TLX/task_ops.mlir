// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @empty() {
// CHECK-NEXT:  }
tlx.kernel @empty() {
}

// CHECK-LABEL: tlx.kernel @everything(
// CHECK-SAME:      %a: i32, %b: f32 {tlx.note = 1 : i64}, %c: !tlx.ptr<f32>) cluster(2)
// CHECK-SAME:      attributes {tlx.shared_memory_bytes = 16 : i64} {
tlx.kernel @everything(%a: i32, %b: f32 {tlx.note = 1 : i64}, %c: !tlx.ptr<f32>) cluster(2)
    attributes {tlx.shared_memory_bytes = 16 : i64} {
  // CHECK-NEXT: %{{.+}} = tlx.cta_id : i32
  %cta = tlx.cta_id : i32
  // CHECK-NEXT: %{{.+}} = tlx.cta_count : i32
  %ctas = tlx.cta_count : i32
  // CHECK-NEXT: tlx.async_tasks {
  tlx.async_tasks {
    // CHECK-NEXT: tlx.async_task @load warps(1) registers(24) {
    tlx.async_task @load warps(1) registers(24) {
      // CHECK-NEXT: tlx.task_barrier
      tlx.task_barrier
    // CHECK-NEXT: }
    }
    // CHECK-NEXT: tlx.async_task @compute warps(4) registers(240) replicate(2) {
    tlx.async_task @compute warps(4) registers(240) replicate(2) {
      // CHECK-NEXT: %{{.+}} = tlx.async_task_replica_id : i32
      %id = tlx.async_task_replica_id : i32
      // Ops of other dialects keep their prefix too.
      // CHECK-NEXT: %{{.+}} = arith.addi %{{.+}}, %a : i32
      %sum = arith.addi %id, %a : i32
    // CHECK-NEXT: }
    }
  // CHECK-NEXT: }
  }
// CHECK-NEXT: }
}

// Names of arguments are kept, also where another kernel has the same.
// CHECK-LABEL: tlx.kernel @names(%a: i64, %c: f16) {
tlx.kernel @names(%a: i64, %c: f16) {
}

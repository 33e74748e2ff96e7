// The dialect and its passes in a stock mlir-opt.

// RUN: %mlir-opt %load_jfa --show-dialects | FileCheck %s --check-prefix=DIALECTS
// DIALECTS: tlx

// RUN: %mlir-opt %load_jfa %kernels/attention/sm90/fwd.mlir --verify-roundtrip \
// RUN:   -o /dev/null

// RUN: %mlir-opt %load_jfa %s -o - \
// RUN:   --pass-pipeline="builtin.module(tlx-specialize{bindings=BLOCK=64})" \
// RUN:   | FileCheck %s
// CHECK: tlx.kernel @store({{.*}}) parameters {BLOCK = 64 : i64}
// CHECK: arith.constant 64 : i32
// CHECK-NOT: tlx.param

// An error of the plugin's own.
// RUN: not %mlir-opt %load_jfa %s \
// RUN:   --pass-pipeline="builtin.module(tlx-specialize{bindings=BLOCK=96})" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR
// ERROR: error: {{.*}}96

tlx.kernel @store(%out: !tlx.ptr<i32>) {
  %block = tlx.param BLOCK = 128 in [64, 128] : i32
  %c0 = arith.constant 0 : i32
  tlx.async_tasks {
    tlx.async_task @only warps(1) {
      tlx.global_store %block, %out[%c0] : i32, !tlx.ptr<i32>, i32
    }
  }
}

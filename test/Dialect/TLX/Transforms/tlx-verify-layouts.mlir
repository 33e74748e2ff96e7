// RUN: jfa-opt %s --tlx-verify-layouts | FileCheck %s

// Conversions may have any layout; what is related agrees.
#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
// CHECK-LABEL: @ok
tlx.kernel @ok(%p: !tlx.ptr<i32>) {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      %i = tlx.iota dim 0 : tensor<64xi32, #rows>
      // CHECK: tlx.convert_layout
      %j = tlx.convert_layout %i : tensor<64xi32, #rows> -> tensor<64xi32, #pairs>
      tlx.global_store %j, %p[%j] : tensor<64xi32, #pairs>, !tlx.ptr<i32>, tensor<64xi32, #pairs>
    }
  }
}

// RUN: jfa-opt %s --tlx-verify-layouts --split-input-file --verify-diagnostics

tlx.kernel @missing() {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      // expected-error@+1 {{expected a tile with a layout, but got 'tensor<64xi32>'}}
      %i = tlx.iota dim 0 : tensor<64xi32>
    }
  }
}

// -----

#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
tlx.kernel @threads() {
  tlx.async_tasks {
    tlx.async_task @compute warps(2) {
      // expected-error@+1 {{expected a layout for the task's 64 threads, but got one for 32: #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>}}
      %i = tlx.iota dim 0 : tensor<64xi32, #rows>
    }
  }
}

// -----

#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
tlx.kernel @shared(%p: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      %i = tlx.iota dim 0 : tensor<64xi32, #rows>
      // expected-error@+1 {{'tlx.global_load' op expected operand 1 in layout #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>, but got #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>}}
      %x = tlx.global_load %p[%i] : !tlx.ptr<f32>, tensor<64xi32, #rows> -> tensor<64xf32, #pairs>
    }
  }
}

// -----

#tile = #tlx.layout<threads = [4 : 1 * 1, 8 : 0 * 1], registers = [8 : 0 * 8]>
#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
tlx.kernel @result(%x: f32) {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      %t = tlx.splat %x : f32 -> tensor<64x4xf32, #tile>
      // expected-error@+1 {{'tlx.reduce' op expected result 0 in layout #tlx.layout<threads = [4 : *, 8 : 0 * 1], registers = [8 : 0 * 8]>, but got #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>}}
      %s = tlx.reduce add %t dim 1 : tensor<64x4xf32, #tile> -> tensor<64xf32, #rows>
    }
  }
}

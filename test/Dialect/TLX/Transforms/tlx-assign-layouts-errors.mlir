// RUN: jfa-opt %s --tlx-assign-layouts --split-input-file --verify-diagnostics

tlx.kernel @outside(%out: !tlx.ptr<f32>) {
  %i = arith.constant 0 : i32
  %x = arith.constant 1.0 : f32
  // expected-error@+1 {{'tlx.iota' op expected tiles only inside a 'tlx.async_task', since a tile lives in the registers of a task's threads}}
  %rows = tlx.iota dim 0 : tensor<64xi32>
  %y = tlx.global_load %out[%rows] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
}

// -----

tlx.kernel @groups_across_threads(%in: !tlx.ptr<f32>) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 128], f32>
  %p = tlx.local_alloc : !tlx.memdesc<[64, 4], f32>
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      // expected-note@+1 {{the operand is made here}}
      %x = tlx.local_load %b : !tlx.memdesc<[64, 128], f32> -> tensor<64x128xf32>
      // expected-error@+1 {{'tlx.partial_reduce' op expected an operand in a layout from which that of the result follows, but got #tlx.layout<threads = [32 : 1 * 4, 4 : 0 * 1], registers = [4 : 1 * 1, 16 : 0 * 4]>}}
      %l = tlx.partial_reduce add %x dim 1 groups(4) run(2) : tensor<64x128xf32> -> tensor<64x4xf32>
      tlx.local_store %l, %p : tensor<64x4xf32>, !tlx.memdesc<[64, 4], f32>
    }
  }
}

// -----

tlx.kernel @symbolic() {
  tlx.param N = 64 : i32
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      // expected-error@+1 {{expected a tile of static extents of at least 1, but got 'tensor<?xi32, #tlx.dims<[N]>>'}}
      %i = tlx.iota dim 0 : tensor<?xi32, #tlx.dims<[N]>>
    }
  }
}

// -----

tlx.kernel @unknown_warps() {
  tlx.param WARPS = 4 : i32
  tlx.async_tasks {
    // expected-error@+1 {{'tlx.async_task' op expected a known number of warps; run tlx-specialize first}}
    tlx.async_task @compute warps(WARPS) {
    }
  }
}

// -----

tlx.kernel @foreign_op() {
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %x = arith.constant dense<1.0> : tensor<64xf32>
      // expected-error@+1 {{'tensor.cast' op expected tiles to be used only by elementwise ops, structured control flow and the tlx dialect}}
      %y = tensor.cast %x : tensor<64xf32> to tensor<?xf32>
    }
  }
}

// -----

tlx.kernel @huge(%x: f32) {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      // expected-error@+1 {{expected a tile of at most 4096 elements for each of the task's 32 threads, but got 'tensor<1024x1024xf32>'}}
      %y = tlx.splat %x : f32 -> tensor<1024x1024xf32>
    }
  }
}

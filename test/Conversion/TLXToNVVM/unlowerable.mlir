// RUN: jfa-opt %s --convert-tlx-to-nvvm --verify-diagnostics --split-input-file -o /dev/null

// What the lowering takes for granted, and which pass would have seen to it.

tlx.kernel @k() {
  // expected-error@+1 {{expected every parameter to be bound; run tlx-specialize first}}
  tlx.param D = 64
  tlx.async_tasks {
  }
}

// -----

// expected-error@+1 {{expected a 'tlx.async_tasks', which says how many threads run the kernel}}
tlx.kernel @k() {
}

// -----

// expected-error@+1 {{'tlx.kernel' op expected another name, since 'tlx_shared_memory' is that of the CTA's shared memory}}
tlx.kernel @tlx_shared_memory() {
  tlx.async_tasks {
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a tile with a layout, but got 'tensor<64xi32>'}}
      %i = tlx.iota dim 0 : tensor<64xi32>
    }
  }
}

// -----

#two = #tlx.layout<threads = [64 : 0 * 1], registers = []>
tlx.kernel @k() {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a layout for the task's 32 threads, but got one for 64}}
      %i = tlx.iota dim 0 : tensor<64xi32, #two>
    }
  }
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.local_alloc' op expected an offset; run tlx-allocate-memory first}}
  %b = tlx.local_alloc : !tlx.memdesc<[64], f32>
  tlx.async_tasks {
  }
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.local_alloc' op expected to end within the 232448 bytes of shared memory of a CTA}}
  %b = tlx.local_alloc at 232400 : !tlx.memdesc<[64], f32>
  tlx.async_tasks {
  }
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.alloc_barriers' op expected to end within the 232448 bytes of shared memory of a CTA}}
  %b = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[2147483647]>
  tlx.async_tasks {
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected to be directly in the kernel, since it lives as long as that}}
      %b = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.task_barrier' op expected to be inside a 'tlx.async_task', since it depends on the threads that run it}}
  tlx.task_barrier
  tlx.async_tasks {
  }
}

// -----

// The tasks of several warps take one named barrier for each replica.
tlx.kernel @k() {
  %c12 = arith.constant 12 : i32
  %c13 = arith.constant 13 : i32
  tlx.async_tasks {
    tlx.async_task @one warps(1) {
      tlx.named_barrier_arrive %c12 threads(64)
      // expected-error@+1 {{expected an id below 13, since the compiler takes 13 to 15 for the tasks of several warps, but got 13}}
      tlx.named_barrier_arrive %c13 threads(64)
    }
    tlx.async_task @two warps(2) {
    }
    tlx.async_task @four warps(4) replicate(2) {
    }
  }
}

// -----

#acc = #tlx.layout<threads = [4 : 1 * 2, 8 : 0 * 1, 4 : 0 * 16], registers = [2 : 1 * 1, 2 : 0 * 8, 8 : 1 * 8]>
tlx.kernel @k() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected a 'tlx.async_dot_wait' of it, since its registers are written until then}}
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32, #acc>
    }
  }
}

// -----

#acc = #tlx.layout<threads = [4 : 1 * 2, 8 : 0 * 1, 4 : 0 * 16], registers = [2 : 1 * 1, 2 : 0 * 8, 8 : 1 * 8]>
tlx.kernel @k(%n: i32) {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %c0 = arith.constant 0 : i32
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected only 'tlx.async_dot_wait' to use it}}
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32, #acc>
      // expected-note@+1 {{used here}}
      %r = scf.for %i = %c0 to %n step %n iter_args(%p = %s) -> (!tlx.pending<tensor<64x64xf32, #acc>>) : i32 {
        scf.yield %p : !tlx.pending<tensor<64x64xf32, #acc>>
      }
    }
  }
}

// -----

#pairs = #tlx.layout<threads = [32 : 1 * 1], registers = [8 : 0 * 1]>
#rows = #tlx.layout<threads = [32 : *], registers = [8 : 0 * 1]>
tlx.kernel @k() {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %x = arith.constant dense<1.0> : tensor<8x32xbf16, #pairs>
      // expected-error@+2 {{expected i32 or f32 elements where threads exchange them, but got 'bf16'}}
      // expected-error@+1 {{failed to legalize operation 'tlx.reduce'}}
      %r = tlx.reduce add %x dim 1 : tensor<8x32xbf16, #pairs> -> tensor<8xbf16, #rows>
    }
  }
}

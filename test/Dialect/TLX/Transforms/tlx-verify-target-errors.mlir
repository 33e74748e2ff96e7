// RUN: jfa-opt %s --pass-pipeline='builtin.module(tlx.kernel(tlx-verify-target))' --split-input-file --verify-diagnostics

tlx.kernel @buffer() {
  // expected-error@+1 {{'tlx.local_alloc' op expected an architecture with tensor memory (sm_100a, sm_103a, sm_110a), but got sm_90a; it has products with sums in registers and 'tlx.async_dot_wait'}}
  %c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
}

// -----

tlx.kernel @commit(%i: i32) {
  %done = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.tcgen05_commit' op expected an architecture with tensor memory}}
      tlx.tcgen05_commit %done : !tlx.mbarrier<[1]>
    }
  }
}

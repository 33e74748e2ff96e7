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

// -----

tlx.kernel @pair_copy(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_descriptor_load %m[%i, %i], %a signal %full cta_group(1) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
      // expected-error@+1 {{'tlx.async_descriptor_load' op expected an architecture with pairs of CTAs ('cta_group(2)') (sm_100a, sm_103a, sm_110a), but got sm_90a; it has products of one CTA, and copies with 'multicast'}}
      tlx.async_descriptor_load %m[%i, %i], %a signal %full cta_group(2) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @ask() {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.clc_try_cancel' op expected an architecture with cluster launch control (sm_100a, sm_103a, sm_110a), but got sm_90a; it has a grid of as many CTAs as multiprocessors, each with its share of the work, found by 'tlx.cta_id'}}
      tlx.clc_try_cancel %r signal %full : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// The sums' own allocation would be refused first.
tlx.kernel @pair_product() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = builtin.unrealized_conversion_cast to !tlx.memdesc<[128, 128], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.async_dot' op expected an architecture with pairs of CTAs ('cta_group(2)')}}
      tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    }
  }
}

// -----

tlx.kernel @query() {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.clc_query' op expected an architecture with cluster launch control}}
      %is_canceled, %cta = tlx.clc_query %r : !tlx.memdesc<[4], i32>
    }
  }
}

// RUN: jfa-opt %s --tlx-allocate-memory --split-input-file --verify-diagnostics

// expected-error@+1 {{'tlx.kernel' op expected at most 232448 bytes of shared memory, which a CTA may have, but got 262160}}
tlx.kernel @too_much() {
  // expected-note@+1 {{131072 bytes for this buffer}}
  %k = tlx.local_alloc : !tlx.memdesc<[4, 128, 128], bf16>
  // expected-note@+1 {{131072 bytes for this buffer}}
  %v = tlx.local_alloc : !tlx.memdesc<[4, 128, 128], bf16>
  // expected-note@+1 {{16 bytes for this array of mbarriers}}
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
}

// -----

tlx.kernel @no_swizzle() {
  // expected-error@+1 {{'tlx.local_alloc' op expected a tile whose rows are 32, 64 or a multiple of 128 bytes and whose number of rows is a multiple of 8 (PTX ISA 5.5.7), but got 64 rows of 96 bytes in '!tlx.memdesc<[64, 48], bf16>'}}
  %k = tlx.local_alloc : !tlx.memdesc<[64, 48], bf16>
}

// -----

tlx.kernel @rows() {
  // expected-error@+1 {{but got 12 rows of 128 bytes}}
  %k = tlx.local_alloc : !tlx.memdesc<[12, 64], bf16>
}

// -----

tlx.kernel @ring_of_arrays() {
  %i = arith.constant 1 : i32
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %k = tlx.local_alloc : !tlx.memdesc<[2, 5], f32>
  // expected-error@+1 {{'tlx.local_view' op expected every tile of a ring to take a multiple of 16 bytes, but got 20}}
  %v = tlx.local_view %k[%i] : !tlx.memdesc<[2, 5], f32> -> !tlx.memdesc<[5], f32>
  tlx.barrier_expect_bytes %full, %v : !tlx.mbarrier<[1]>, !tlx.memdesc<[5], f32>
}

// -----

tlx.kernel @symbolic() {
  tlx.param N = 64 : i32
  // expected-error@+1 {{'tlx.local_alloc' op expected a buffer without parameters, but got '!tlx.memdesc<[N, 64], bf16>'}}
  %k = tlx.local_alloc : !tlx.memdesc<[N, 64], bf16>
}

// -----

tlx.kernel @barriers() {
  tlx.param N = 2 : i32
  // expected-error@+1 {{'tlx.alloc_barriers' op expected a known number of mbarriers, but got '!tlx.mbarrier<[N]>'}}
  %k = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[N]>
}

// -----

tlx.kernel @in_task() {
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      // expected-error@+1 {{'tlx.local_alloc' op expected to be in the kernel's body, since a buffer belongs to the whole CTA}}
      %k = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    }
  }
}

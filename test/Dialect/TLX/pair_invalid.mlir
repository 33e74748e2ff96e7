// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic about what two CTAs do together.

tlx.kernel @k() cluster(4) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+1 {{expected 'cta_group' to be 1 or 2 (PTX ISA 9.7.16.5), but got 4}}
  tlx.async_dot %a, %b, %s cta_group(4) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+1 {{expected a kernel with clusters, since it is about the other CTAs of one}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k() cluster(1) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+1 {{expected a cluster of 2, 4 or 8 CTAs, since two whose ranks differ in the lowest bit make a pair (PTX ISA 9.7.16.5.1), but got 1}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  // expected-error@+1 {{expected 'cta_group' only with sums in tensor memory (PTX ISA 9.7.16.10)}}
  %s = tlx.async_dot %a, %a cta_group(2) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16, tensor>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  // expected-error@+1 {{expected A in shared memory, or of 128 rows, where a pair computes the product, but got '!tlx.memdesc<[64, 64], bf16, tensor>'}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[64, 64], bf16, tensor>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32, tensor>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[256, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+1 {{expected A to have 128 rows, half of a pair's 256, or 64, half of 128 (PTX ISA 9.7.16.10.1), but got 256}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[256, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 256], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 512], f32, tensor>
  // expected-error@+1 {{expected B to have a multiple of 8 columns from 8 to 128, half of a pair's (PTX ISA 9.7.16.10.1), but got 256}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 256], bf16>, !tlx.memdesc<[128, 512], f32, tensor>
}

// -----

// B is as for one CTA.
tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+4 {{expected each CTA of a pair to have [128, K], [K, N / 2] and [128, N], or [64, K], [K, N / 2] and [128, N / 2] (PTX ISA 9.7.16.10.5)}}
  // expected-note@+3 {{A is '!tlx.memdesc<[128, 64], bf16>'}}
  // expected-note@+2 {{B is '!tlx.memdesc<[64, 128], bf16>'}}
  // expected-note@+1 {{the result is '!tlx.memdesc<[128, 128], f32, tensor>'}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

// Of 64 rows the sums have half of the columns.
tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+4 {{expected each CTA of a pair to have}}
  // expected-note@+3 {{A is}}
  // expected-note@+2 {{B is}}
  // expected-note@+1 {{the result is}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 32], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+4 {{expected each CTA of a pair to have}}
  // expected-note@+3 {{A is}}
  // expected-note@+2 {{B is}}
  // expected-note@+1 {{the result is}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 32], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 8], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[8, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  // expected-error@+1 {{expected K to be a multiple of 16 from 16 to 65536 (PTX ISA 9.7.16.10.1), but got 8}}
  tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 8], bf16>, !tlx.memdesc<[8, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
}

// -----

tlx.kernel @k(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected either 'multicast' or the 'cta_group' of a pair, each CTA of which copies its own part}}
      tlx.async_descriptor_load %m[%i, %i], %a signal %b multicast(%i) cta_group(2) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a kernel with clusters}}
      tlx.async_descriptor_load %m[%i, %i], %a signal %b cta_group(2) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k() cluster(2) {
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected 'cta_group' only with buffers, which both CTAs of a pair have}}
      tlx.barrier_expect_bytes %b bytes(512) cta_group(2) : !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[8, 256, 256], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected from 1 to 1048575 bytes, but got 2097152}}
      tlx.barrier_expect_bytes %b, %a cta_group(2) : !tlx.mbarrier<[1]>, !tlx.memdesc<[8, 256, 256], bf16>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a kernel with clusters}}
      tlx.barrier_expect_bytes %b, %a cta_group(2) : !tlx.mbarrier<[1]>, !tlx.memdesc<[64, 64], bf16>
    }
  }
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k() cluster(2) {
  %four = arith.constant 4 : i32
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a mask from 1 to 3, a bit for each of the 2 CTAs of a cluster, but got 4}}
      tlx.tcgen05_commit %b multicast(%four) : !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%mask: i32) {
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a kernel with clusters}}
      tlx.tcgen05_commit %b multicast(%mask) : !tlx.mbarrier<[1]>
    }
  }
}

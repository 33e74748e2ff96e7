// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  // expected-error@+1 {{'tlx.cluster_rank' op expected a kernel with clusters, since it is about the other CTAs of one}}
  %rank = tlx.cluster_rank : i32
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  // expected-error@+1 {{'tlx.cluster_arrive' op expected a kernel with clusters}}
  tlx.cluster_arrive
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  // expected-error@+1 {{'tlx.cluster_wait' op expected a kernel with clusters}}
  tlx.cluster_wait
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%mask: i32) {
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.remote_barrier_arrive' op expected a kernel with clusters}}
      tlx.remote_barrier_arrive %b mask(%mask) : !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%x: !tlx.tensormap<[64, 64], bf16>, %i: i32, %mask: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.async_descriptor_load' op expected a kernel with clusters}}
      tlx.async_descriptor_load %x[%i, %i], %a signal %b multicast(%mask)
          : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k(%x: !tlx.tensormap<[64, 64], bf16>, %i: i32) cluster(2) {
  %mask = arith.constant 4 : i32
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a mask from 1 to 3, a bit for each of the 2 CTAs of a cluster, but got 4}}
      tlx.async_descriptor_load %x[%i, %i], %a signal %b multicast(%mask)
          : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k() cluster(4) {
  %mask = arith.constant 0 : i32
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a mask from 1 to 15, a bit for each of the 4 CTAs of a cluster, but got 0}}
      tlx.remote_barrier_arrive %b mask(%mask) : !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%mask: i32) cluster(2) {
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
      tlx.remote_barrier_arrive %b mask(%mask) : !tlx.mbarrier<[2]>
    }
  }
}

// -----

// expected-error@+1 {{expected a cluster of 1, 2, 4 or 8 CTAs (the portable limit), but got 3}}
tlx.kernel @k() cluster(3) {
}

// -----

tlx.kernel @k() {
  %r = tlx.local_alloc : !tlx.memdesc<[2], i32>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a response of 16 bytes, !tlx.memdesc<[4], i32> (PTX ISA 9.7.13.17), but got '!tlx.memdesc<[2], i32>'}}
      tlx.clc_try_cancel %r signal %b : !tlx.memdesc<[2], i32>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k() {
  %r = tlx.local_alloc : !tlx.memdesc<[4], f32>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a response of 16 bytes, !tlx.memdesc<[4], i32> (PTX ISA 9.7.13.17), but got '!tlx.memdesc<[4], f32>'}}
      %is_canceled, %cta = tlx.clc_query %r : !tlx.memdesc<[4], f32>
    }
  }
}

// -----

tlx.kernel @k() {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
      tlx.clc_try_cancel %r signal %b : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[2]>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k() {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a kernel with clusters, since it is about the other CTAs of one}}
      tlx.clc_try_cancel %r signal %b multicast : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%rank: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.async_remote_copy' op expected a kernel with clusters}}
      tlx.async_remote_copy %a, %b rank(%rank) signal %full : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%rank: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{'tlx.async_remote_copy' op expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
      tlx.async_remote_copy %a, %b rank(%rank) signal %full : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[2]>
    }
  }
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k(%rank: i32) cluster(2) {
  %two = arith.constant 2 : i32
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a rank from 0 to 1, of one of the 2 CTAs of a cluster, but got 2}}
      tlx.async_remote_copy %a, %b rank(%two) signal %full : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

// expected-note@+1 {{the cluster's size is given here}}
tlx.kernel @k(%rank: i32) cluster(4) {
  %minus = arith.constant -1 : i32
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a rank from 0 to 3, of one of the 4 CTAs of a cluster, but got -1}}
      tlx.async_remote_copy %a, %b rank(%minus) signal %full : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%rank: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  %b = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected buffers in shared memory, since tensor memory is a CTA's own, but got '!tlx.memdesc<[128, 64], f32, tensor>'}}
      tlx.async_remote_copy %a, %b rank(%rank) signal %full : !tlx.memdesc<[128, 64], f32, tensor>, !tlx.memdesc<[128, 64], f32, tensor>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%rank: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %at = tlx.local_trans %a : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, transposed>
      // expected-error@+1 {{expected whole tiles, whose bytes lie in a row, but got '!tlx.memdesc<[64, 64], bf16, transposed>'}}
      tlx.async_remote_copy %at, %b rank(%rank) signal %full : !tlx.memdesc<[64, 64], bf16, transposed>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%rank: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[2], f32>
  %b = tlx.local_alloc : !tlx.memdesc<[2], f32>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a multiple of 16 bytes (PTX ISA 9.7.9.25.5.2) of at most 1048575 (9.7.13.15.2), but got 8 of '!tlx.memdesc<[2], f32>'}}
      tlx.async_remote_copy %a, %b rank(%rank) signal %full : !tlx.memdesc<[2], f32>, !tlx.memdesc<[2], f32>, !tlx.mbarrier<[1]>
    }
  }
}

// -----

tlx.kernel @k(%rank: i32) cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], f16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error@+1 {{expected a source and a destination of one type, so that their bytes lie alike, but got '!tlx.memdesc<[64, 64], bf16>' and '!tlx.memdesc<[64, 64], f16>'}}
      tlx.async_remote_copy %a, %b rank(%rank) signal %full : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], f16>, !tlx.mbarrier<[1]>
    }
  }
}

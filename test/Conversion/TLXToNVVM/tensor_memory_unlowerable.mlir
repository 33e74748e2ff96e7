// RUN: jfa-opt %s --convert-tlx-to-nvvm --split-input-file --verify-diagnostics

// What a kernel with tensor memory needs before it is lowered.

tlx.kernel @not_allocated() {
  // expected-error@+1 {{'tlx.local_alloc' op expected columns of tensor memory; run tlx-allocate-memory first}}
  %s = tlx.local_alloc : !tlx.memdesc<[128, 32], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
    }
  }
}

// -----

// expected-error@+1 {{'tlx.kernel' op expected 'tlx.tensor_memory_columns' to be a power of two from 32 to 512, but got 48}}
tlx.kernel @columns() attributes {tlx.tensor_memory_columns = 48 : i64, tlx.tensor_memory_address = 0 : i64} {
  %s = tlx.local_alloc at 0 : !tlx.memdesc<[128, 32], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
    }
  }
}

// -----

tlx.kernel @too_far() attributes {tlx.tensor_memory_columns = 32 : i64, tlx.tensor_memory_address = 0 : i64} {
  // expected-error@+1 {{expected to end within the 32 columns of tensor memory that the kernel allocates}}
  %s = tlx.local_alloc at 16 : !tlx.memdesc<[128, 32], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
    }
  }
}

// -----

tlx.kernel @barrier_0() attributes {tlx.tensor_memory_columns = 32 : i64, tlx.tensor_memory_address = 0 : i64} {
  %s = tlx.local_alloc at 0 : !tlx.memdesc<[128, 32], f32, tensor>
  %c0 = arith.constant 0 : i32
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected an id from 1 on, since the compiler takes 0 to allocate and free tensor memory}}
      tlx.named_barrier_wait %c0 threads(128)
    }
  }
}

// -----

#rows = #tlx.layout<threads = [128 : 0 * 1], registers = []>
tlx.kernel @vote() {
  %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %t = arith.constant dense<true> : tensor<128xi1, #rows>
      // expected-note@+1 {{they vote here}}
      %any = tlx.vote_any %t : tensor<128xi1, #rows>
      scf.if %any {
        // expected-error@+1 {{expected nothing that synchronises where warps may differ}}
        tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
      }
    }
  }
}

// -----

#rows = #tlx.layout<threads = [128 : 0 * 1], registers = []>
tlx.kernel @vote_counts(%p: !tlx.ptr<i32>) {
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %t = arith.constant dense<true> : tensor<128xi1, #rows>
      // expected-error@+1 {{expected only 'scf.if' to use a vote, since warps may differ in it}}
      %any = tlx.vote_any %t : tensor<128xi1, #rows>
      %count = arith.extui %any : i1 to i32
    }
  }
}

// -----

// All threads meet the cluster at the end.
tlx.kernel @meets() cluster(2) attributes {tlx.tensor_memory_columns = 32 : i64, tlx.tensor_memory_address = 0 : i64} {
  %s = tlx.local_alloc at 0 : !tlx.memdesc<[128, 32], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected no task of a kernel with tensor memory to meet the cluster, since all threads do so at the end to free that}}
      tlx.cluster_arrive
      tlx.cluster_wait
    }
  }
}

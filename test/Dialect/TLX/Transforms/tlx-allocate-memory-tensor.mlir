// RUN: jfa-opt %s --tlx-allocate-memory --split-input-file --verify-diagnostics | FileCheck %s

// Side by side in the order of the program; what aliases is at one place, as
// wide as the widest. 320 columns make 512. The address of the first comes after
// the mbarriers in shared memory.
// CHECK-LABEL: tlx.kernel @columns()
// CHECK-SAME:    tlx.shared_memory_bytes = 16400 : i64
// CHECK-SAME:    tlx.tensor_memory_address = 16392 : i64
// CHECK-SAME:    tlx.tensor_memory_columns = 512 : i64
tlx.kernel @columns() {
  // CHECK: tlx.local_alloc at 0 : !tlx.memdesc<[128, 64], bf16>
  %x = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  // CHECK: %[[S:.+]] = tlx.local_alloc at 0 : !tlx.memdesc<[2, 128, 64], f32, tensor>
  %s = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], f32, tensor>
  // CHECK: tlx.local_alloc at 160 : !tlx.memdesc<[128, 160], f32, tensor>
  %o = tlx.local_alloc : !tlx.memdesc<[128, 160], f32, tensor>
  // CHECK: tlx.local_alloc alias(%[[S]]) at 0 : !tlx.memdesc<[128, 320], bf16, tensor>
  %p = tlx.local_alloc alias(%s) : !tlx.memdesc<[128, 320], bf16, tensor>, !tlx.memdesc<[2, 128, 64], f32, tensor>
  // CHECK: tlx.alloc_barriers arrivals(1) at 16384
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
}

// -----

// Two tiles of 64 rows have the same columns; of three, the last one has its own.
// CHECK-LABEL: tlx.kernel @half_tiles()
// CHECK-SAME:    tlx.tensor_memory_columns = 256 : i64
tlx.kernel @half_tiles() {
  // CHECK: tlx.local_alloc at 0 : !tlx.memdesc<[3, 64, 64], f32, tensor>
  %s = tlx.local_alloc : !tlx.memdesc<[3, 64, 64], f32, tensor>
  // CHECK: tlx.local_alloc at 128 : !tlx.memdesc<[64, 64], f32, tensor>
  %r = tlx.local_alloc : !tlx.memdesc<[64, 64], f32, tensor>
  // CHECK: tlx.local_alloc at 192 : !tlx.memdesc<[128, 32], f32, tensor>
  %o = tlx.local_alloc : !tlx.memdesc<[128, 32], f32, tensor>
}

// -----

// The fewest that can be allocated.
// CHECK-LABEL: tlx.kernel @one()
// CHECK-SAME:    tlx.tensor_memory_columns = 32 : i64
tlx.kernel @one() {
  %s = tlx.local_alloc : !tlx.memdesc<[128, 1], f32, tensor>
}

// -----

// CHECK-LABEL: tlx.kernel @none()
// CHECK-NOT:     tensor_memory
tlx.kernel @none() {
  %x = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
}

// -----

// expected-error@+1 {{'tlx.kernel' op expected buffers in tensor memory to take at most 512 columns of 128 lanes (PTX ISA 9.7.16.1), but got 576}}
tlx.kernel @too_many() {
  // expected-note@+1 {{this buffer takes 512 columns}}
  %s = tlx.local_alloc : !tlx.memdesc<[4, 128, 128], f32, tensor>
  // expected-note@+1 {{this buffer takes 64 columns}}
  %p = tlx.local_alloc : !tlx.memdesc<[128, 128], bf16, tensor>
  // expected-note@+1 {{this buffer takes 32 columns, which another buffer has too}}
  %r = tlx.local_alloc alias(%p) : !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[128, 128], bf16, tensor>
}

// -----

// Pairs of CTAs allocate together.
// CHECK-LABEL: tlx.kernel @pair() cluster(2)
// CHECK-SAME:    tlx.tensor_memory_pair
tlx.kernel @pair() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    }
  }
}

// -----

tlx.kernel @mixed() cluster(2) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %c = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-note@+1 {{and this one of two}}
      tlx.async_dot %a, %b, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      // expected-error@+1 {{expected all products of a kernel in tensor memory to be of one CTA or all of two (PTX ISA 9.7.16.5), but this one is of one}}
      tlx.async_dot %a, %c, %s : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    }
  }
}

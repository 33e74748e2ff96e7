// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

// expected-error@+1 {{expected 'arrivals' to be from 1 to 1048575, but got 0}}
%b = tlx.alloc_barriers arrivals(0) : !tlx.mbarrier<[2]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
// expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
tlx.barrier_arrive %b : !tlx.mbarrier<[2]>

// -----

%i = arith.constant 2 : i32
%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
// expected-error@+1 {{expected the index to be from 0 to 1, but got 2}}
tlx.barrier_arrive %b[%i] : !tlx.mbarrier<[2]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
// expected-error@+1 {{expected either buffers or 'bytes'}}
tlx.barrier_expect_bytes %b : !tlx.mbarrier<[1]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
%a = tlx.local_alloc : !tlx.memdesc<[64], f32>
// expected-error@+1 {{expected either buffers or 'bytes'}}
tlx.barrier_expect_bytes %b bytes(4), %a : !tlx.mbarrier<[1]>, !tlx.memdesc<[64], f32>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
// expected-error@+1 {{expected from 1 to 1048575 bytes, but got 0}}
tlx.barrier_expect_bytes %b bytes(0) : !tlx.mbarrier<[1]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
%a = tlx.local_alloc : !tlx.memdesc<[2147483647, 1073741824], f32>
// The sum overflows 64 bits.
// expected-error@+1 {{expected from 1 to 1048575 bytes, but got 9223372036854775807}}
tlx.barrier_expect_bytes %b, %a, %a : !tlx.mbarrier<[1]>, !tlx.memdesc<[2147483647, 1073741824], f32>, !tlx.memdesc<[2147483647, 1073741824], f32>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
// expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
tlx.barrier_expect_bytes %b bytes(4) : !tlx.mbarrier<[2]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
%p = arith.constant 2 : i32
// expected-error@+1 {{expected the phase to be 0 or 1, but got 2}}
tlx.barrier_wait %b, %p : !tlx.mbarrier<[1]>

// -----

%b = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
%p = arith.constant 1 : i32
// expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
tlx.barrier_wait %b, %p : !tlx.mbarrier<[2]>

// -----

%i = arith.constant 16 : i32
// expected-error@+1 {{expected the id to be from 0 to 15 (PTX ISA 9.7.13.1), but got 16}}
tlx.named_barrier_wait %i threads(64)

// -----

%i = arith.constant -1 : i32
// expected-error@+1 {{expected the id to be from 0 to 15 (PTX ISA 9.7.13.1), but got -1}}
tlx.named_barrier_arrive %i threads(64)

// -----

%i = arith.constant 1 : i32
// expected-error@+1 {{expected 'threads' to be a multiple of 32 from 32 to 1024, but got 48}}
tlx.named_barrier_arrive %i threads(48)

// -----

%i = arith.constant 1 : i32
// expected-error@+1 {{expected 'threads' to be a multiple of 32 from 32 to 1024, but got 2048}}
tlx.named_barrier_wait %i threads(2048)

// -----

%i = arith.constant 1 : i32
// expected-error@+1 {{expected 'stages' to be from 1 to 1024, but got 0}}
%slot, %phase = tlx.ring %i stages(0) : i32

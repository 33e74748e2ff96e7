// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  // expected-error@+1 {{expected one coordinate for each of the 2 axes of '!tlx.tensormap<[64, 64], bf16>', but got 1}}
  tlx.async_descriptor_store %m[%i], %b : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  // expected-error@+1 {{expected no segment, since '!tlx.tensormap<[64, 64], bf16>' is not ragged}}
  tlx.async_descriptor_reduce %m[%i, %i] segment(%i, %i), %b : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16, ragged>, %i: i32) {
  // expected-error@+1 {{expected a segment, since '!tlx.tensormap<[64, 64], bf16, ragged>' is ragged}}
  tlx.async_descriptor_prefetch %m[%i, %i] : !tlx.tensormap<[64, 64], bf16, ragged>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16, ragged>, %i: i32) {
  // expected-error@+1 {{expected a segment's start and length together}}
  "tlx.async_descriptor_prefetch"(%m, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tlx.tensormap<[64, 64], bf16, ragged>, i32, i32, i32) -> ()
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %k = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_trans %k : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, transposed>
  // expected-error@+1 {{expected a whole tile, since a copy writes it as one, but got '!tlx.memdesc<[64, 64], bf16, transposed>'}}
  tlx.async_descriptor_store %m[%i, %i], %b : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16, transposed>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 1, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 1, 64], bf16>
  // expected-error@+1 {{expected a buffer of the extents (other than 1) and element of '!tlx.tensormap<[64, 1, 64], bf16>', but got '!tlx.memdesc<[64, 1, 64], bf16>'}}
  tlx.async_descriptor_store %m[%i, %i, %i], %b : !tlx.tensormap<[64, 1, 64], bf16>, !tlx.memdesc<[64, 1, 64], bf16>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], f16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  // expected-error@+1 {{expected a buffer of the extents (other than 1) and element of '!tlx.tensormap<[64, 64], bf16>', but got '!tlx.memdesc<[64, 64], f16>'}}
  tlx.async_descriptor_load %m[%i, %i], %b signal %full : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], f16>, !tlx.mbarrier<[1]>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  // expected-error@+1 {{expected the barrier to have an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
  tlx.async_descriptor_load %m[%i, %i], %b signal %full : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[2]>
  return
}

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], i32>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], i32>
  // expected-error@+1 {{expected elements that TMA can add (f32, f16 or bf16, PTX ISA 9.7.9.27), but got 'i32'}}
  tlx.async_descriptor_reduce %m[%i, %i], %b : !tlx.tensormap<[64, 64], i32>, !tlx.memdesc<[64, 64], i32>
  return
}

// -----

// expected-error@+1 {{expected 'pending' to be from 0 to 63, but got 64}}
tlx.async_descriptor_store_wait pending(64)

// -----

// expected-error@+1 {{expected 'pending' to be from 0 to 63, but got -1}}
tlx.async_descriptor_store_wait pending(-1)

// -----

func.func @f(%m: !tlx.tensormap<[64, 64], bf16>, %i: i32) {
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  // expected-error@+1 {{expected one of [evict_first, evict_last] for how soon the L2 cache may drop what a copy touches, got: evict_never}}
  tlx.async_descriptor_store %m[%i, %i], %b cache(evict_never) : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
  return
}

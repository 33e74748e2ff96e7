// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

// expected-error@+1 {{expected tiles in tensor memory to have 128 rows, one for each lane, or 64 (PTX ISA 9.7.16.10.5), but got 32}}
%a = tlx.local_alloc : !tlx.memdesc<[32, 64], f32, tensor>

// -----

// expected-error@+1 {{expected a buffer in tensor memory to have 2 or 3 dimensions, but got 1}}
%a = tlx.local_alloc : !tlx.memdesc<[128], f32, tensor>

// -----

// expected-error@+1 {{expected a buffer in tensor memory to have neither 'of' nor 'transposed', since views of one are buffers like any other}}
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, transposed, tensor>

// -----

// expected-error@+1 {{expected elements of 16, 32 or 64 bits in tensor memory, but got 'i8'}}
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], i8, tensor>

// -----

// expected-error@+1 {{expected rows of whole columns of 32 bits in tensor memory, but got 63 elements of 'bf16'}}
%a = tlx.local_alloc : !tlx.memdesc<[128, 63], bf16, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32>
// expected-error@+1 {{expected 'alias' to name a buffer in the same memory, but got '!tlx.memdesc<[128, 64], f32>' for '!tlx.memdesc<[128, 64], f32, tensor>'}}
%b = tlx.local_alloc alias(%a) : !tlx.memdesc<[128, 64], f32, tensor>, !tlx.memdesc<[128, 64], f32>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
// expected-error@+1 {{expected a ring of tiles that is itself no view, but got '!tlx.memdesc<[128, 64], f32, tensor>'}}
%b = tlx.local_view %a[%i] : !tlx.memdesc<[128, 64], f32, tensor> -> !tlx.memdesc<[64], f32>

// -----

%i = arith.constant 0 : i32
%j = arith.constant 1 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
// expected-error@+1 {{expected the column offset to begin a column of 32 bits of tensor memory, but got 1 elements of 'bf16'}}
%b = tlx.local_slice %a[%i, %j] : !tlx.memdesc<[128, 64], bf16, tensor> -> !tlx.memdesc<[128, 32], bf16, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
// expected-error@+1 {{expected a tile in shared memory, but got '!tlx.memdesc<[128, 64], bf16, tensor>'}}
%b = tlx.local_trans %a : !tlx.memdesc<[128, 64], bf16, tensor> -> !tlx.memdesc<[64, 128], bf16, transposed>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
// expected-error@+1 {{expected a view in the same memory, but got '!tlx.memdesc<[128, 64], bf16>' of '!tlx.memdesc<[128, 64], bf16, tensor>'}}
%b = tlx.local_reinterpret %a : !tlx.memdesc<[128, 64], bf16, tensor> -> !tlx.memdesc<[128, 64], bf16>

// -----

tlx.kernel @warps() {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  tlx.async_tasks {
    // expected-note@+1 {{this task has 2 warps}}
    tlx.async_task @t warps(2) {
      // expected-error@+1 {{expected a task of whole warpgroups that share a row's 64 columns evenly, since each warp of a warpgroup reaches 32 lanes of tensor memory (PTX ISA 9.7.16.2.3)}}
      %x = tlx.local_load %a : !tlx.memdesc<[128, 64], f32, tensor> -> tensor<128x64xf32>
    }
  }
}

// -----

// Two threads share a row of 64, as do eight warps.
tlx.kernel @columns() {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 6], f32, tensor>
  tlx.async_tasks {
    // expected-note@+1 {{this task has 8 warps}}
    tlx.async_task @t warps(8) {
      // expected-error@+1 {{expected a multiple of 4 columns in a row of 64, which two threads of each warpgroup share (PTX ISA 9.7.16.2.3), but got 6}}
      %x = tlx.local_load %a : !tlx.memdesc<[64, 6], f32, tensor> -> tensor<64x6xf32>
    }
  }
}

// -----

tlx.kernel @columns_16() {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 2], bf16, tensor>
  tlx.async_tasks {
    // expected-note@+1 {{this task has 4 warps}}
    tlx.async_task @t warps(4) {
      %x = arith.constant dense<0.0> : tensor<64x2xbf16>
      // expected-error@+1 {{expected a multiple of 2 columns in a row of 64, which two threads of each warpgroup share (PTX ISA 9.7.16.2.3), but got 1}}
      tlx.local_store %x, %a : tensor<64x2xbf16>, !tlx.memdesc<[64, 2], bf16, tensor>
    }
  }
}

// -----

%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 20], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[64, 20], f32, tensor>
// expected-error@+1 {{expected N to be a multiple of 8 from 8 to 256 (PTX ISA 9.7.16.10.1), but got 20}}
tlx.async_dot %a, %b, %c : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 20], bf16>, !tlx.memdesc<[64, 20], f32, tensor>

// -----

// Scales are those of 128 rows.
%from = tlx.local_alloc : !tlx.memdesc<[128], i32>
%to = tlx.local_alloc : !tlx.memdesc<[64, 4], i32, tensor>
// expected-error@+1 {{expected to copy to a tile of 128 rows of i32 in tensor memory, but got '!tlx.memdesc<[64, 4], i32, tensor>'}}
tlx.tmem_copy %from, %to : !tlx.memdesc<[128], i32>, !tlx.memdesc<[64, 4], i32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32>
// expected-error@+1 {{expected the sums in tensor memory or in registers, but got '!tlx.memdesc<[128, 64], f32>'}}
tlx.async_dot %a, %b, %c : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32>

// -----

%a = arith.constant dense<0.0> : tensor<128x64xbf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
// expected-error@+1 {{expected A in shared or tensor memory where the sums are in tensor memory (PTX ISA 9.7.16.10), but got 'tensor<128x64xbf16>'}}
tlx.async_dot %a, %b, %c : tensor<128x64xbf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 128], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
%c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
// expected-error@+1 {{expected B in shared memory (PTX ISA 9.7.16.10), but got '!tlx.memdesc<[128, 64], bf16, tensor>'}}
tlx.async_dot %a, %b, %c : !tlx.memdesc<[128, 128], bf16>, !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[128, 64], f32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
%b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
// expected-error@+1 {{expected a factor in tensor memory only with sums in tensor memory, but got '!tlx.memdesc<[128, 64], bf16, tensor>'}}
%d = tlx.async_dot %a, %b : !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[64, 64], bf16> -> tensor<128x64xf32>

// -----

%more = arith.constant true
%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
// expected-error@+1 {{expected 'accumulate' only with sums in tensor memory; in registers, C is what is added to}}
%d = tlx.async_dot %a, %a accumulate(%more) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 24], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[128, 24], f32, tensor>
// expected-error@+1 {{expected N to be a multiple of 16 from 16 to 256 (PTX ISA 9.7.16.10.1), but got 24}}
tlx.async_dot %a, %b, %c : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 24], bf16>, !tlx.memdesc<[128, 24], f32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16, tensor>
// expected-error@+1 {{expected a result of f32, but got '!tlx.memdesc<[128, 64], bf16, tensor>'}}
tlx.async_dot %a, %b, %c : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], bf16, tensor>

// -----

%bars = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
// expected-error@+1 {{expected an index, since '!tlx.mbarrier<[2]>' may be more than one barrier}}
tlx.tcgen05_commit %bars : !tlx.mbarrier<[2]>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
%b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
// expected-error@+1 {{expected no result where the sums are a buffer}}
%d = "tlx.async_dot"(%a, %b, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32, tensor>) -> !tlx.pending<tensor<128x64xf32>>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
// expected-error@+1 {{expected a result where the sums are in registers}}
"tlx.async_dot"(%a, %a) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>) -> ()

// -----

tlx.kernel @k(%x: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  %b = tlx.local_reinterpret %a : !tlx.memdesc<[128, 64], f32, tensor> -> !tlx.memdesc<[128, 32], i64, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %pairs = tlx.local_load %b : !tlx.memdesc<[128, 32], i64, tensor> -> tensor<128x32xi64>
      // expected-error@+1 {{expected elements of at most 32 bits, a column of tensor memory, but got 'i64'}}
      tlx.local_store %pairs, %b : tensor<128x32xi64>, !tlx.memdesc<[128, 32], i64, tensor>
    }
  }
}

// -----

%a = tlx.local_alloc : !tlx.memdesc<[192], i32>
%b = tlx.local_alloc : !tlx.memdesc<[128, 6], i32, tensor>
// expected-error@+1 {{expected whole blocks of 128 cells of i32 in shared memory (PTX ISA 9.7.16.9), but got '!tlx.memdesc<[192], i32>'}}
tlx.tmem_copy %a, %b : !tlx.memdesc<[192], i32>, !tlx.memdesc<[128, 6], i32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128], i32>
%b = tlx.local_alloc : !tlx.memdesc<[128, 4], f32, tensor>
// expected-error@+1 {{expected to copy to a tile of 128 rows of i32 in tensor memory, but got '!tlx.memdesc<[128, 4], f32, tensor>'}}
tlx.tmem_copy %a, %b : !tlx.memdesc<[128], i32>, !tlx.memdesc<[128, 4], f32, tensor>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[256], i32>
%b = tlx.local_alloc : !tlx.memdesc<[128, 4], i32, tensor>
// expected-error@+1 {{expected 4 columns for each block of 128 cells, 8, but got 4}}
tlx.tmem_copy %a, %b : !tlx.memdesc<[256], i32>, !tlx.memdesc<[128, 4], i32, tensor>

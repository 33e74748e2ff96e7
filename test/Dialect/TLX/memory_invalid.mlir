// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

// expected-error@+1 {{expected a type that is no view, but got '!tlx.memdesc<[64, 64], bf16, transposed>'}}
%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16, transposed>

// -----

// expected-error@+1 {{expected a type that is no view, but got '!tlx.memdesc<[64, 64], bf16, of = [128, 64]>'}}
%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16, of = [128, 64]>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
%v = tlx.local_view %a[%i] : !tlx.memdesc<[2, 64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16>
// expected-error@+1 {{expected 'alias' to name a buffer that 'tlx.local_alloc' made}}
%b = tlx.local_alloc alias(%v) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[64], bf16>
// expected-error@+1 {{expected a ring of tiles that is itself no view, but got '!tlx.memdesc<[64], bf16>'}}
%v = tlx.local_view %a[%i] : !tlx.memdesc<[64], bf16> -> !tlx.memdesc<[64], bf16>

// -----

%i = arith.constant 2 : i32
%a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
// expected-error@+1 {{expected the index to be from 0 to 1, but got 2}}
%v = tlx.local_view %a[%i] : !tlx.memdesc<[2, 64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16>

// -----

%i = arith.constant -1 : i32
%a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
// expected-error@+1 {{expected the index to be from 0 to 1, but got -1}}
%v = tlx.local_view %a[%i] : !tlx.memdesc<[2, 64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16>

// -----

%i = arith.constant 1 : i32
%a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
// expected-error@+1 {{expected the view to have type '!tlx.memdesc<[64, 64], bf16>', but got '!tlx.memdesc<[64, 64], f16>'}}
%v = tlx.local_view %a[%i] : !tlx.memdesc<[2, 64, 64], bf16> -> !tlx.memdesc<[64, 64], f16>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[64], bf16>
// expected-error@+1 {{expected a tile that is not transposed, but got '!tlx.memdesc<[64], bf16>'}}
%v = tlx.local_slice %a[%i] : !tlx.memdesc<[64], bf16> -> !tlx.memdesc<[32], bf16, of = [64]>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected 2 offsets, but got 1}}
%v = tlx.local_slice %a[%i] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>

// -----

%i = arith.constant 0 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected the view to have type '!tlx.memdesc<[64, 64], bf16, of = [128, 64]>', but got '!tlx.memdesc<[64, 64], bf16>'}}
%v = tlx.local_slice %a[%i, %i] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16>

// -----

%i = arith.constant 0 : i32
%r = arith.constant 72 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected the part to lie within dimension 0 of extent 128, but it covers 72 to 135}}
%v = tlx.local_slice %a[%r, %i] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>

// -----

%i = arith.constant 0 : i32
%r = arith.constant 4 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected the row offset to be a multiple of 8, the rows of a swizzle pattern, but got 4}}
%v = tlx.local_slice %a[%r, %i] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>

// -----

%i = arith.constant 0 : i32
%c = arith.constant 32 : i32
%a = tlx.local_alloc : !tlx.memdesc<[128, 128], bf16>
// expected-error@+1 {{expected the column offset to be a multiple of 64, the columns of a panel of the tile, but got 32}}
%v = tlx.local_slice %a[%i, %c] : !tlx.memdesc<[128, 128], bf16> -> !tlx.memdesc<[128, 64], bf16, of = [128, 128]>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
// expected-error@+1 {{expected a tile of 2 dimensions, but got '!tlx.memdesc<[2, 64, 64], bf16>'}}
%v = tlx.local_trans %a : !tlx.memdesc<[2, 64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected the view to have type '!tlx.memdesc<[64, 128], bf16, transposed>', but got '!tlx.memdesc<[64, 128], bf16>'}}
%v = tlx.local_trans %a : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
%v = tlx.local_trans %a : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
// expected-error@+1 {{expected whole buffers, but got '!tlx.memdesc<[64, 128], bf16, transposed>'}}
%b = tlx.local_reinterpret %v : !tlx.memdesc<[64, 128], bf16, transposed> -> !tlx.memdesc<[64, 64], f32>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
// expected-error@+1 {{expected a type of 16384 bytes, but got '!tlx.memdesc<[64, 32], f32>' of 8192}}
%b = tlx.local_reinterpret %a : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 32], f32>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
// expected-error@+1 {{expected the tile and the buffer to agree in shape and element type, but got 'tensor<64x64xf32>' and '!tlx.memdesc<[64, 64], bf16>'}}
%x = tlx.local_load %a : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>

// -----

%a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
%x = arith.constant dense<1.0> : tensor<64xbf16>
// expected-error@+1 {{expected the tile and the buffer to agree in shape and element type, but got 'tensor<64xbf16>' and '!tlx.memdesc<[64, 64], bf16>'}}
tlx.local_store %x, %a : tensor<64xbf16>, !tlx.memdesc<[64, 64], bf16>

// -----

tlx.kernel @k() {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    // expected-note@+1 {{this task has 4 warps}}
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected sums in f32, in shared memory, of 64 rows for each warpgroup of the task and a multiple of 8 columns, which fragments are of, but got 'tensor<64x64xbf16>'}}
      %x = tlx.local_load %a fragments : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xbf16>
    }
  }
}

// -----

tlx.kernel @k(%i: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], f32>
  tlx.async_tasks {
    // expected-note@+1 {{this task has 8 warps}}
    tlx.async_task @t warps(8) {
      %x = arith.constant dense<1.0> : tensor<64x64xf32>
      // expected-error@+1 {{expected sums in f32, in shared memory, of 64 rows for each warpgroup of the task and a multiple of 8 columns, which fragments are of, but got 'tensor<64x64xf32>'}}
      tlx.local_store %x, %a fragments : tensor<64x64xf32>, !tlx.memdesc<[64, 64], f32>
    }
  }
}

// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

!a = !tlx.memdesc<[64], bf16>
!b = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected matrices of 2 dimensions}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 32], bf16>
!b = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+4 {{expected shapes [M, K], [K, N] and [M, N]}}
  // expected-note@+3 {{A is '!tlx.memdesc<[64, 32], bf16>'}}
  // expected-note@+2 {{B is '!tlx.memdesc<[64, 64], bf16>'}}
  // expected-note@+1 {{the result is 'tensor<64x64xf32>'}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[32, 64], bf16>
!b = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected M to be a multiple of 64 from 64 to 1024 (PTX ISA 9.7.15.2), but got 32}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<32x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
!b = !tlx.memdesc<[64, 512], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected N to be a multiple of 8 from 8 to 256 (PTX ISA 9.7.15.2), but got 512}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x512xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 24], bf16>
!b = !tlx.memdesc<[24, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected K to be a multiple of 16 from 16 to 65536 (PTX ISA 9.7.15.2), but got 24}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], f32>
!b = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected A to have bf16, f16, f8E4M3FN or f8E5M2 elements, but got 'f32'}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!b = !tlx.memdesc<[64, 64], i8>
func.func @f(%a: tensor<64x64xf16>, %b: !b) {
  // expected-error@+1 {{expected B to have bf16, f16, f8E4M3FN or f8E5M2 elements, but got 'i8'}}
  %s = tlx.async_dot %a, %b : tensor<64x64xf16>, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], f16>
!b = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected A and B to have the same element type, or both one of 8 bits, but got 'f16' and 'bf16'}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], f16>
!b = !tlx.memdesc<[64, 64], f8E4M3FN, transposed>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected A and B to have the same element type, or both one of 8 bits, but got 'f16' and 'f8E4M3FN'}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!b = !tlx.memdesc<[64, 64], f8E5M2, transposed>
func.func @f(%a: tensor<64x64xf8E4M3FN>, %b: !b) {
  // expected-error@+1 {{expected A in shared memory where its elements have 8 bits: in registers no result of a product lies as it would have to (PTX ISA 9.7.15.5.1), but got 'tensor<64x64xf8E4M3FN>'}}
  %s = tlx.async_dot %a, %b : tensor<64x64xf8E4M3FN>, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], f8E4M3FN, transposed>
!b = !tlx.memdesc<[64, 64], f8E4M3FN, transposed>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected A to lie in rows along K where its elements have 8 bits (PTX ISA 9.7.15.5.2), but got}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], f8E4M3FN>
func.func @f(%a: !a) {
  // expected-error@+1 {{expected B to lie in rows along K where its elements have 8 bits, as a tlx.local_trans of a buffer [N, K] does (PTX ISA 9.7.15.5.2), but got}}
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 48], f8E4M3FN>
!b = !tlx.memdesc<[48, 64], f8E4M3FN, transposed>
func.func @f(%a: !a, %b: !b) {
  // expected-error@+1 {{expected K to be a multiple of 32 from 32 to 65536 (PTX ISA 9.7.15.2), but got 48}}
  %s = tlx.async_dot %a, %b : !a, !b -> tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[128, 64], f8E4M3FN>
!b = !tlx.memdesc<[64, 64], f8E4M3FN, transposed>
!c = !tlx.memdesc<[128, 64], f32, tensor>
func.func @f(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{expected A to have bf16 or f16 elements where the sums are in tensor memory, but got 'f8E4M3FN'}}
  tlx.async_dot %a, %b, %c : !a, !b, !c
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  // expected-error@+1 {{expected a result of f32, but got 'tensor<64x64xbf16>'}}
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xbf16>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %c: tensor<1xf32>) {
  // expected-error@+1 {{expected C to be of the result's type 'tensor<64x64xf32>', but got 'tensor<1xf32>'}}
  %s = "tlx.async_dot"(%a, %a, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!a, !a, tensor<1xf32>) -> !tlx.pending<tensor<64x64xf32>>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
tlx.kernel @k() {
  %a = tlx.local_alloc : !a
  tlx.async_tasks {
    // expected-note@+1 {{this task has 2 warps}}
    tlx.async_task @t warps(2) {
      // expected-error@+1 {{expected a task of whole warpgroups, since 4 warps issue a product together (PTX ISA 9.7.15.1)}}
      %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
    }
  }
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
tlx.kernel @k() {
  %a = tlx.local_alloc : !a
  tlx.async_tasks {
    // expected-note@+1 {{this task has 8 warps}}
    tlx.async_task @t warps(8) {
      // expected-error@+1 {{expected M to be 64 for each warpgroup of the task, 128, but got 64}}
      %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
    }
  }
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-error@+1 {{expected 'pending' to be from 0 to 7 (PTX ISA 9.7.15.7.3), but got 8}}
  %d = tlx.async_dot_wait %s pending(8) : tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-error@+1 {{expected one tile for each product}}
  "tlx.async_dot_wait"(%s) <{pending = 0 : i32, operandSegmentSizes = array<i32: 1, 0>}> : (!tlx.pending<tensor<64x64xf32>>) -> ()
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-error@+1 {{expected a result of type 'tensor<64x64xf32>', but got 'tensor<64xf32>'}}
  %d = "tlx.async_dot_wait"(%s) <{pending = 0 : i32, operandSegmentSizes = array<i32: 1, 0>}> : (!tlx.pending<tensor<64x64xf32>>) -> tensor<64xf32>
  return
}

// -----

// expected-note@+1 {{the product comes from here}}
func.func @f(%s: !tlx.pending<tensor<64x64xf32>>) {
  // expected-error@+1 {{expected a product that was started in the same block, since ptxas serialises products in flight across a branch}}
  %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %c: i1) {
  // expected-note@+1 {{the product comes from here}}
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  scf.if %c {
    // expected-error@+1 {{expected a product that was started in the same block}}
    %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  }
  return
}

// -----

// Only a parameter, which is bound before there is code, may choose a product.
!a = !tlx.memdesc<[64, 64], bf16>
!pending = !tlx.pending<tensor<64x64xf32>>
func.func @f(%a: !a, %c: i1) {
  // expected-note@+1 {{the product comes from here}}
  %s = scf.if %c -> (!pending) {
    %x = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
    scf.yield %x : !pending
  } else {
    %y = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
    scf.yield %y : !pending
  }
  // expected-error@+1 {{expected a product that was started in the same block}}
  %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  return
}

// -----

// One side of the choice is a product from elsewhere.
!a = !tlx.memdesc<[64, 64], bf16>
!pending = !tlx.pending<tensor<64x64xf32>>
func.func @f(%a: !a) {
  %c = arith.constant true
  %x = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-note@+1 {{the product comes from here}}
  %s = scf.if %c -> (!pending) {
    scf.yield %x : !pending
  } else {
    %y = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
    scf.yield %y : !pending
  }
  // expected-error@+1 {{expected a product that was started in the same block}}
  %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  return
}

// -----

// The product was lost on the way.
!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a, %c: i1) {
  %x = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  %y = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-note@+1 {{the product comes from here}}
  %s = arith.select %c, %x, %y : !tlx.pending<tensor<64x64xf32>>
  // expected-error@+1 {{expected a product that was started in the same block}}
  %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  return
}

// -----

!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  %x = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-note@+1 {{the product was started here}}
  %y = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  // expected-error@+1 {{expected at least 1 products to have been started after the one waited for, but got 0}}
  %d:2 = tlx.async_dot_wait %x, %y pending(1) : tensor<64x64xf32>, tensor<64x64xf32>
  return
}

// -----

// The verifier meets the wait before dominance is checked.
!a = !tlx.memdesc<[64, 64], bf16>
func.func @f(%a: !a) {
  // expected-error@+1 {{operand #0 does not dominate this use}}
  %d = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
  // expected-note@+1 {{operand defined here}}
  %s = tlx.async_dot %a, %a : !a, !a -> tensor<64x64xf32>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], bf16>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected A to be a tile of f8E4M3FN or f8E5M2 in shared memory, but got '!tlx.memdesc<[128, 64], bf16>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected B to lie in rows along K, as a tlx.local_trans of a buffer [N, K] does, but got '!tlx.memdesc<[64, 32], f8E5M2>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E5M2, transposed>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected A to lie in rows along K, but got '!tlx.memdesc<[128, 64], f8E5M2, transposed>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32>) {
  // expected-error@+1 {{expected sums of f32 in tensor memory, but got '!tlx.memdesc<[128, 32], f32>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %s: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[32, 32], f8E5M2, transposed>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+4 {{expected shapes [M, K], [K, N] and [M, N]}}
  // expected-note@+3 {{A is '!tlx.memdesc<[128, 64], f8E4M3FN>'}}
  // expected-note@+2 {{B is '!tlx.memdesc<[32, 32], f8E5M2, transposed>'}}
  // expected-note@+1 {{the sums are '!tlx.memdesc<[128, 32], f32, tensor>'}}
  tlx.async_dot_scaled %a scale(%s), %b scale(%s), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[32, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 24], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 24], f32, tensor>) {
  // expected-error@+1 {{expected N to be a multiple of 16 from 16 to 256 (PTX ISA 9.7.16.10.1), but got 24}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 24], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 24], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 48], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[48, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected K to be a multiple of 32 from 32 to 65536 (PTX ISA 9.7.16.10.1), but got 48}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 48], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[48, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 8], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected the scales of A to be !tlx.memdesc<[128, 4], i32, tensor>, but got '!tlx.memdesc<[128, 8], i32, tensor>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 8], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], f32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected the scales of B to be !tlx.memdesc<[128, 4], i32, tensor>, but got '!tlx.memdesc<[128, 4], f32, tensor>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], f32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[128, 64], f8E4M3FN>, %sa: !tlx.memdesc<[64, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[128, 32], f32, tensor>) {
  // expected-error@+1 {{expected the scales of A to be !tlx.memdesc<[128, 4], i32, tensor>, but got '!tlx.memdesc<[64, 4], i32, tensor>'}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[64, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[128, 32], f32, tensor>
  return
}

// -----

func.func @f(%a: !tlx.memdesc<[64, 64], f8E4M3FN>, %sa: !tlx.memdesc<[128, 4], i32, tensor>, %b: !tlx.memdesc<[64, 32], f8E5M2, transposed>, %sb: !tlx.memdesc<[128, 4], i32, tensor>, %c: !tlx.memdesc<[64, 32], f32, tensor>) {
  // expected-error@+1 {{expected M to be 128 (PTX ISA 9.7.16.10.1), but got 64}}
  tlx.async_dot_scaled %a scale(%sa), %b scale(%sb), %c : !tlx.memdesc<[64, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f8E5M2, transposed>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 32], f32, tensor>
  return
}

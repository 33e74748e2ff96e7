// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @kinds(%x: !tlx.ptr<ELEMENT>) {
tlx.kernel @kinds(%x: !tlx.ptr<ELEMENT>) {
  // CHECK-NEXT: %{{.+}} = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  %d = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  // CHECK-NEXT: %{{.+}} = tlx.param BLOCK_N = 128 from 16 to 256 step 16 : i32
  %n = tlx.param BLOCK_N = 128 from 16 to 256 step 16 : i32
  // CHECK-NEXT: tlx.param NO_STEP from -4 to 4 step 1{{$}}
  tlx.param NO_STEP from -4 to 4
  // CHECK-NEXT: %{{.+}} = tlx.param CAUSAL = false : i1
  %causal = tlx.param CAUSAL = false : i1
  // CHECK-NEXT: tlx.param FAST in [true, false]{{$}}
  tlx.param FAST in [true, false]
  // CHECK-NEXT: %{{.+}} = tlx.param UNBOUND : i32
  %u = tlx.param UNBOUND : i32
  // CHECK-NEXT: tlx.param ELEMENT = bf16 in [bf16, f16]{{$}}
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // CHECK-NEXT: tlx.param NEGATIVE = -1{{$}}
  tlx.param NEGATIVE = -1
  // CHECK-NEXT: tlx.param NOTED = 1 {note = "kept"}
  tlx.param NOTED = 1 {note = "kept"}
}

// CHECK-LABEL: tlx.kernel @constraints() {
tlx.kernel @constraints() {
  tlx.param A = 128
  tlx.param B = 64
  // CHECK: tlx.constraint A eq B * 2
  tlx.constraint A eq B * 2
  // CHECK-NEXT: tlx.constraint A + (B * -1) le 64
  tlx.constraint A - B le 64
  // CHECK-NEXT: tlx.constraint A ceildiv 3 lt (B floordiv 2) + ((A mod 5) * 3)
  tlx.constraint A ceildiv 3 lt B floordiv 2 + 3 * (A mod 5)
  // What can be computed is.
  // CHECK-NEXT: tlx.constraint 15 eq 3
  tlx.constraint 1 + 2 * (3 + 4) eq -7 floordiv 2 + 7
  // A parameter that cancels is gone.
  // CHECK-NEXT: tlx.constraint B eq 0
  tlx.constraint B + (A - A) eq A * 0
}

// Every kind of type and attribute that can name a parameter.
// CHECK-LABEL: tlx.kernel @symbolic(
// CHECK-SAME:      %map: !tlx.tensormap<[M, 1, D * 2], T, ragged>, %p: !tlx.ptr<T>)
// CHECK-SAME:      cluster(S) {
tlx.kernel @symbolic(%map: !tlx.tensormap<[M, 1, D * 2], T, ragged>, %p: !tlx.ptr<T>) cluster(S) {
  tlx.param M = 64
  tlx.param D = 64
  tlx.param S = 2
  tlx.param W = 4
  tlx.param T = bf16
  // CHECK: tlx.local_alloc : !tlx.memdesc<[S, M, D], T>
  %b = tlx.local_alloc : !tlx.memdesc<[S, M, D], T>
  // CHECK: tlx.alloc_barriers arrivals(W floordiv 4) : !tlx.mbarrier<[S]>
  %full = tlx.alloc_barriers arrivals(W floordiv 4) : !tlx.mbarrier<[S]>
  tlx.async_tasks {
    // CHECK: tlx.async_task @t warps(W) registers(M + 64) replicate(S)
    tlx.async_task @t warps(W) registers(M + 64) replicate(S) {
      // CHECK: tlx.iota dim 0 : tensor<?xi32, #tlx.dims<[M]>>
      %i = tlx.iota dim 0 : tensor<?xi32, #tlx.dims<[M]>>
      // CHECK: tlx.iota dim 1 : tensor<?x8xi32, #tlx.dims<[M + D, 8], T>>
      %j = tlx.iota dim 1 : tensor<?x8xi32, #tlx.dims<[M + D, 8], T>>
    }
  }
}

// The values that tlx-specialize leaves.
// CHECK-LABEL: tlx.kernel @bound() parameters {CAUSAL = true, D = 64 : i64, T = bf16} {
tlx.kernel @bound() parameters {D = 64 : i64, CAUSAL = true, T = bf16} {
}

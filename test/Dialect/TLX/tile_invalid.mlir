// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected 'dim' to be from 0 to 1, but got 2}}
  %r = tlx.reduce add %x dim 2 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected 'dim' to be from 0 to 1, but got -1}}
  %r = tlx.reduce add %x dim -1 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error@+1 {{expected a tile of at least 1 dimension}}
  %r = tlx.reduce add %x dim 0 : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected a result of shape [64] and element type 'f32', but got 'tensor<8xf32>'}}
  %r = tlx.reduce add %x dim 1 : tensor<64x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected a result of shape [64] and element type 'f32', but got 'tensor<64xf16>'}}
  %r = tlx.reduce add %x dim 1 : tensor<64x8xf32> -> tensor<64xf16>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+2 {{expected one of [add, max, min] for how elements are combined, got: mul}}
  // expected-error@+1 {{failed to parse TLX_ReduceKindAttr parameter 'value'}}
  %r = tlx.reduce mul %x dim 1 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected 'dim' to be from 0 to 1, but got 7}}
  %r = tlx.partial_reduce add %x dim 7 groups(4) run(2) : tensor<64x8xf32> -> tensor<64x4xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected 'groups' and 'run' to be positive, but got 0 and -2}}
  %r = tlx.partial_reduce add %x dim 1 groups(0) run(-2) : tensor<64x8xf32> -> tensor<64x4xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected the extent of dimension 1 to be a multiple of groups * run = 12, but got 8}}
  %r = tlx.partial_reduce add %x dim 1 groups(4) run(3) : tensor<64x8xf32> -> tensor<64x4xf32>
  return
}

// -----

func.func @f(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{expected a result of shape [64, 4] and element type 'f32', but got 'tensor<64x8xf32>'}}
  %r = tlx.partial_reduce add %x dim 1 groups(4) run(2) : tensor<64x8xf32> -> tensor<64x8xf32>
  return
}

// -----

func.func @f(%x: tensor<64xf32>) {
  // expected-error@+1 {{expected 'dim' to be from 0 to 1, but got 2}}
  %r = tlx.expand_dims %x dim 2 : tensor<64xf32> -> tensor<64x1xf32>
  return
}

// -----

func.func @f(%x: tensor<64xf32>) {
  // expected-error@+1 {{expected a result of shape [64, 1] and element type 'f32', but got 'tensor<1x64xf32>'}}
  %r = tlx.expand_dims %x dim 1 : tensor<64xf32> -> tensor<1x64xf32>
  return
}

// -----

func.func @f(%x: tensor<64xf32>) {
  // expected-error@+1 {{expected the result to have 1 dimensions, but got 2}}
  %r = tlx.broadcast %x : tensor<64xf32> -> tensor<64x4xf32>
  return
}

// -----

func.func @f(%x: tensor<64x2xf32>) {
  // expected-error@+1 {{expected a result of shape [64, 2] and element type 'f32', but got 'tensor<64x4xf32>'}}
  %r = tlx.broadcast %x : tensor<64x2xf32> -> tensor<64x4xf32>
  return
}

// -----

// expected-error@+1 {{expected 'dim' to be from 0 to 0, but got 1}}
%i = tlx.iota dim 1 : tensor<64xi32>

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{expected a tile of 'f32', but got 'tensor<64xf16>'}}
  %t = tlx.splat %x : f32 -> tensor<64xf16>
  return
}

// -----

func.func @f(%x: tensor<64xf32>) {
  // expected-error@+1 {{expected a result of the shape and element type of 'tensor<64xf32>', but got 'tensor<32xf32>'}}
  %t = tlx.convert_layout %x : tensor<64xf32> -> tensor<32xf32>
  return
}

// -----

func.func @f(%p: !tlx.ptr<f32>, %i: i32, %m: i1, %o: i32) {
  // expected-error@+1 {{expected 'other' to have the type of the result, 'f32', but got 'i32'}}
  %x = tlx.global_load %p[%i] mask %m other %o : !tlx.ptr<f32>, i32 -> f32 mask i1 other i32
  return
}

// -----

func.func @f(%p: !tlx.ptr<f32>, %i: i32, %o: f32) {
  // expected-error@+1 {{expected a mask, since there is an 'other'}}
  %x = tlx.global_load %p[%i] other %o : !tlx.ptr<f32>, i32 -> f32 other f32
  return
}

// -----

func.func @f(%p: !tlx.ptr<f32>, %i: i32) {
  // expected-error@+1 {{expected value, index and mask to be scalars or tiles of one shape, but got 'tensor<64xf32>' and 'i32'}}
  %x = tlx.global_load %p[%i] : !tlx.ptr<f32>, i32 -> tensor<64xf32>
  return
}

// -----

func.func @f(%p: !tlx.ptr<f32>, %i: tensor<64xi32>, %x: tensor<64xf32>, %m: tensor<32xi1>) {
  // expected-error@+1 {{expected value, index and mask to be scalars or tiles of one shape, but got 'tensor<64xf32>' and 'tensor<32xi1>'}}
  tlx.global_store %x, %p[%i] mask %m : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32> mask tensor<32xi1>
  return
}

// -----

func.func @f(%p: !tlx.ptr<f32>, %i: i32, %x: f16) {
  // expected-error@+1 {{expected a value of 'f32', the element of '!tlx.ptr<f32>', but got 'f16'}}
  tlx.global_store %x, %p[%i] : f16, !tlx.ptr<f32>, i32
  return
}

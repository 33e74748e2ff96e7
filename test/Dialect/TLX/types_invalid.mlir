// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{expected a buffer of 1 to 4 dimensions, but got 0}}
func.func private @f(!tlx.memdesc<[], f32>)

// -----

// expected-error@+1 {{expected a buffer of 1 to 4 dimensions, but got 5}}
func.func private @f(!tlx.memdesc<[1, 1, 1, 1, 1], f32>)

// -----

// expected-error@+1 {{expected a transposed view to have 2 dimensions, but got 3}}
func.func private @f(!tlx.memdesc<[1, 2, 3], f32, transposed>)

// -----

// expected-error@+1 {{expected 'of' to have as many extents as the shape (2), but got 1}}
func.func private @f(!tlx.memdesc<[8, 8], f32, of = [8]>)

// -----

// expected-error@+1 {{expected the element to be an integer or float type of whole bytes or the name of a parameter, but got i1}}
func.func private @f(!tlx.memdesc<[8], i1>)

// -----

// expected-error@+1 {{expected the element to be an integer or float type of whole bytes or the name of a parameter, but got index}}
func.func private @f(!tlx.ptr<index>)

// -----

// expected-error@+1 {{expected the element to be an integer or float type of whole bytes or the name of a parameter, but got tensor<4xf32>}}
func.func private @f(!tlx.tensormap<[8], tensor<4xf32>>)

// -----

// expected-error@+1 {{expected every extent of 'shape' to be from 1 to 2147483647, but got 0}}
func.func private @f(!tlx.memdesc<[0], f32>)

// -----

// expected-error@+1 {{expected every extent of 'of' to be from 1 to 2147483647, but got 4294967296}}
func.func private @f(!tlx.memdesc<[8], f32, of = [4294967296]>)

// -----

// expected-error@+1 {{expected every extent of 'mbarrier' to be from 1 to 2147483647, but got -1}}
func.func private @f(!tlx.mbarrier<[-1]>)

// -----

// expected-error@+1 {{expected every extent of 'tile' to be from 1 to 2147483647, but got 0}}
func.func private @f(!tlx.tensormap<[64, 0], f32>)

// -----

// expected-error@+1 {{expected one extent, but got 2}}
func.func private @f(!tlx.mbarrier<[1, 2]>)

// -----

// expected-error@+1 {{expected a tensor map of 1 to 4 axes, but got 5}}
func.func private @f(!tlx.tensormap<[1, 1, 1, 1, 1], f32>)

// -----

// expected-error@+1 {{expected a ragged tensor map of 2 to 3 axes, but got 1}}
func.func private @f(!tlx.tensormap<[64], f32, ragged>)

// -----

// expected-error@+1 {{expected 'of', 'transposed' or a memory space once each, but got 'global'}}
func.func private @f(!tlx.memdesc<[8], f32, global>)

// -----

// expected-error@+1 {{expected 'of', 'transposed' or a memory space once each, but got 'transposed'}}
func.func private @f(!tlx.memdesc<[8, 8], f32, transposed, transposed>)

// -----

// expected-error@+1 {{expected 'ragged'}}
func.func private @f(!tlx.tensormap<[8, 8], f32, jagged>)

// -----

// expected-error@+1 {{expected '['}}
func.func private @f(!tlx.memdesc<8, f32>)

// -----

// expected-error@+1 {{expected '>'}}
func.func private @f(!tlx.ptr<f32, f32>)

// -----

// expected-error@+2 {{invalid kind of type specified: expected builtin.tensor, but found 'f32'}}
// expected-error@+1 {{failed to parse TLX_PendingType parameter 'tile'}}
func.func private @f(!tlx.pending<f32>)

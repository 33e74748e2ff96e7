// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{expected an integer or the name of a parameter}}
#e = #tlx.expr<>

// -----

// expected-error@+1 {{expected an integer or the name of a parameter}}
#e = #tlx.expr<A + >

// -----

// expected-error@+1 {{expected the divisor to be positive}}
#e = #tlx.expr<A ceildiv 0>

// -----

// expected-error@+1 {{expected the divisor to be positive}}
#e = #tlx.expr<A mod -8>

// -----

// expected-error@+1 {{unbalanced '(' character in pretty dialect name}}
#e = #tlx.expr<(A + 1>

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected ')'}}
  tlx.constraint (1 + 1 eq 2
}

// -----

// expected-error@+1 {{expected '>'}}
#e = #tlx.expr<A B>

// -----

// expected-error@+1 {{expected an expression whose value fits 64 bits}}
#e = #tlx.expr<9223372036854775807 * 2>

// -----

// expected-error@+1 {{expected at most 64 nested parentheses in an expression}}
#e = #tlx.expr<((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))>

// -----

// expected-error@+1 {{expected '['}}
func.func private @f(tensor<4xf32, #tlx.dims<4>>)

// -----

// expected-error@+1 {{expected 1 symbolic dimensions, one for each of the shape, but got 2}}
func.func private @f(tensor<4xf32, #tlx.dims<[4, 4]>>)

// -----

// expected-error@+1 {{expected the extent of dimension 'A' to be '?'}}
func.func private @f(tensor<4xf32, #tlx.dims<[A]>>)

// -----

// expected-error@+1 {{expected the extent of dimension '8' to be 8}}
func.func private @f(tensor<4xf32, #tlx.dims<[8]>>)

// -----

// expected-error@+1 {{expected 'threads'}}
#l = #tlx.layout<registers = [1 : 0 * 1]>

// -----

// expected-error@+1 {{expected ':'}}
#l = #tlx.layout<threads = [32], registers = []>

// -----

// expected-error@+1 {{expected the counts of 'threads' to be positive with a product of at most 1024}}
#l = #tlx.layout<threads = [0 : 0 * 1], registers = []>

// -----

// expected-error@+1 {{expected the counts of 'threads' to be positive with a product of at most 1024}}
#l = #tlx.layout<threads = [32 : 0 * 1, 64 : *], registers = []>

// -----

// expected-error@+1 {{expected the counts of 'registers' to be positive with a product of at most 4096}}
#l = #tlx.layout<threads = [32 : 0 * 1], registers = [8192 : 0 * 32]>

// -----

// expected-error@+1 {{expected modes of 'threads' to have a dimension and a stride from 1 to 1048576, but got 0 * 0}}
#l = #tlx.layout<threads = [32 : 0 * 0], registers = []>

// -----

// expected-error@+1 {{expected modes of 'registers' to have a dimension and a stride from 1 to 1048576, but got -2 * 1}}
#l = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : -2 * 1]>

// -----

// expected-error@+1 {{expected every mode of 'registers' to have a dimension, since a thread needs no copies}}
#l = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : *]>

// -----

// expected-error@+1 {{expected modes of dimensions below 1, but got dimension 1}}
func.func private @f(tensor<32xf32, #tlx.layout<threads = [32 : 1 * 1], registers = []>>)

// -----

// expected-error@+1 {{expected the layout to hold every element of dimension 0, of extent 64, exactly once}}
func.func private @f(tensor<64xf32, #tlx.layout<threads = [32 : 0 * 1], registers = []>>)

// -----

// expected-error@+1 {{expected the layout to hold every element of dimension 0, of extent 64, exactly once}}
func.func private @f(tensor<64xf32, #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 1]>>)

// -----

// expected-error@+1 {{expected at most 256 terms in an expression}}
#e = #tlx.expr<A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A>

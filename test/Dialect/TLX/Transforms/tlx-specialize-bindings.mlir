// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize)' 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=A=1,OTHER=2})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=A})' 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings==1})' 2>&1 | FileCheck %s --check-prefix=NAMELESS
// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=B=96,A=x,F=2,E=f32,R=17,N=3000000000})' 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// RUN: not jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=B=64,A=1,A=2,A=1})' 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=A=1,B=64,A=1,F=1,F=true})' | FileCheck %s --check-prefix=TWICE

// What bindings are refused, each with what is legal.

// UNBOUND:      error: 'tlx.param' op expected a value for 'B' ([64, 128]), since it has no default, but got none
// UNBOUND-NOT:  error
// UNKNOWN:      error: 'builtin.module' op expected the name of a declared parameter, but got 'OTHER'
// UNKNOWN:      note: @names declares [A, B, F, E, R, N]
// UNKNOWN:      note: @more declares [A]
// UNKNOWN-NOT:  error
// MALFORMED:    error: 'builtin.module' op expected a binding NAME=VALUE, but got 'A'
// NAMELESS:     error: 'builtin.module' op expected a binding NAME=VALUE, but got '=1'
// ILLEGAL:      error: 'tlx.kernel' op expected 'A' to be any 32-bit integer, but got 'x'
// ILLEGAL:      note: declared here
// ILLEGAL:      error: 'tlx.kernel' op expected 'B' to be one of [64, 128], but got '96'
// ILLEGAL:      error: 'tlx.kernel' op expected 'F' to be true or false, but got '2'
// ILLEGAL:      error: 'tlx.kernel' op expected 'E' to be one of [bf16, f16], but got 'f32'
// ILLEGAL:      error: 'tlx.kernel' op expected 'R' to be one of 0 to 32 step 8, but got '17'
// ILLEGAL:      error: 'tlx.kernel' op expected 'N' to be any 32-bit integer, but got '3000000000'
// CONFLICT:     error: 'tlx.kernel' op expected one value for 'A', but got 1 and 2
// CONFLICT:     note: declared here
// Twice the same value is no conflict; a name only has to be declared by one of
// the kernels.
// TWICE:        parameters {A = 1 : i64, B = 64 : i64, E = "bf16", F = true, N = 0 : i64, R = 16 : i64}
// TWICE:        parameters {A = 1 : i64}

tlx.kernel @names() {
  tlx.param A = 0 : i32
  tlx.param B in [64, 128] : i32
  tlx.param F = false : i1
  tlx.param E = bf16 in [bf16, f16]
  tlx.param R = 16 from 0 to 32 step 8 : i32
  tlx.param N = 0 : i32
}

tlx.kernel @more() {
  tlx.param A = 0 : i32
}

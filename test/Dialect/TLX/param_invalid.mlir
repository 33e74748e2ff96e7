// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

tlx.kernel @k() {
  // expected-error@+1 {{expected the name to be an identifier, but got '1 x'}}
  "tlx.param"() <{name = "1 x", initial_value = 1 : i64}> : () -> ()
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected a default, legal values or a result type that says what kind of value 'A' has}}
  tlx.param A
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected a range 'from FIRST to LAST step STEP' of integers with FIRST <= LAST and STEP >= 1}}
  tlx.param A from 4 to 1
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected a range 'from FIRST to LAST step STEP' of integers with FIRST <= LAST and STEP >= 1}}
  tlx.param A from 1 to 4 step 0
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected a range 'from FIRST to LAST step STEP' of integers with FIRST <= LAST and STEP >= 1}}
  %a = tlx.param A from 0 to 1 : i1
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected a range of 32-bit integers, but got 0 to 2147483648}}
  tlx.param A from 0 to 2147483648
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected at least one legal value}}
  tlx.param A = 1 in []
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected every legal value to be a 32-bit integer, but got true}}
  tlx.param A = 1 in [1, true]
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected every legal value to be an element type, but got 3}}
  tlx.param A in [f32, 3]
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be a 32-bit integer, but got bf16}}
  %a = tlx.param A = bf16 : i32
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be true or false, but got 2}}
  %a = tlx.param A = 2 : i1
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be a 32-bit integer, but got 4294967296}}
  tlx.param A = 4294967296
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be one of [64, 128], but got 32}}
  tlx.param A = 32 in [64, 128]
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be one of 16 to 256 step 16, but got 40}}
  tlx.param A = 40 from 16 to 256 step 16
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected the default to be one of any integer or float type, but got tensor<4xf32>}}
  tlx.param A = tensor<4xf32>
}

// -----

tlx.kernel @k() {
  // expected-note@+1 {{first declared here}}
  tlx.param A = 1
  // expected-error@+1 {{expected 'A' to be declared once in a kernel}}
  tlx.param A = 2
}

// -----

// expected-error@+1 {{'tlx.kernel' op expected 'T' to be declared by a 'tlx.param'}}
tlx.kernel @k(%p: !tlx.ptr<T>) {
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.local_alloc' op expected 'ROWS' to be declared by a 'tlx.param'}}
  %b = tlx.local_alloc : !tlx.memdesc<[ROWS, 64], bf16>
}

// -----

tlx.kernel @k() {
  tlx.param A = 1
  // expected-error@+1 {{'tlx.constraint' op expected 'B' to be declared by a 'tlx.param'}}
  tlx.constraint A eq B
}

// -----

// expected-error@+1 {{'tlx.param' op expects parent op 'tlx.kernel'}}
tlx.param A = 1

// -----

// expected-error@+1 {{'tlx.constraint' op expects parent op 'tlx.kernel'}}
tlx.constraint 1 eq 1

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected valid keyword}}
  tlx.param 1
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected 'to'}}
  tlx.param A from 1 2
}

// -----

tlx.kernel @k() {
  // expected-error@+2 {{expected one of [eq, le, lt] for a comparison of two expressions, got: ne}}
  // expected-error@+1 {{failed to parse TLX_ComparisonAttr parameter 'value'}}
  tlx.constraint 1 ne 1
}

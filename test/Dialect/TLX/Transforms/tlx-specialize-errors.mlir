// RUN: jfa-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tlx-specialize)'

// Constraints name both sides and every parameter in them.
tlx.kernel @constraint() {
  // expected-note @+1 {{'BLOCK_M' is 192}}
  tlx.param BLOCK_M = 192 : i32
  // expected-note @+1 {{'GROUPS' is 2}}
  tlx.param GROUPS = 2 : i32
  // expected-error @+1 {{'tlx.constraint' op expected BLOCK_M le GROUPS * 64, but got 192 and 128}}
  tlx.constraint BLOCK_M le GROUPS * 64
}

// -----

tlx.kernel @type_in_constraint() {
  // expected-note @+1 {{'ELEMENT' is bf16}}
  tlx.param ELEMENT = bf16
  // expected-error @+1 {{'tlx.constraint' op expected ELEMENT eq 1, but got a side that is not a 64-bit integer}}
  tlx.constraint ELEMENT eq 1
}

// -----

tlx.kernel @negative_buffer() {
  tlx.param BLOCK = 64 : i32
  // expected-error @+2 {{'tlx.local_alloc' op expected every extent of 'shape' to be from 1 to 2147483647, but got -64}}
  // expected-note @+1 {{in !tlx.memdesc<[BLOCK + -128, 64], bf16> with BLOCK = 64}}
  %x = tlx.local_alloc : !tlx.memdesc<[BLOCK - 128, 64], bf16>
}

// -----

// expected-error @+2 {{'tlx.kernel' op expected every extent of 'tile' to be from 1 to 2147483647, but got 0}}
// expected-note @+1 {{in !tlx.tensormap<[BLOCK mod 64, 64], ELEMENT> with BLOCK = 64, ELEMENT = bf16}}
tlx.kernel @empty_box(%map: !tlx.tensormap<[BLOCK mod 64, 64], ELEMENT>) {
  tlx.param BLOCK = 64 : i32
  tlx.param ELEMENT = bf16
}

// -----

tlx.kernel @no_barriers() {
  tlx.param STAGES = 0 : i32
  // expected-error @+2 {{'tlx.alloc_barriers' op expected every extent of 'mbarrier' to be from 1 to 2147483647, but got 0}}
  // expected-note @+1 {{in !tlx.mbarrier<[STAGES]> with STAGES = 0}}
  %x = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[STAGES]>
}

// -----

tlx.kernel @empty_tile() {
  tlx.param BLOCK = 0 : i32
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // expected-error @+2 {{'tlx.iota' op expected every extent of a tile to be from 1 to 2147483647, but got 0}}
      // expected-note @+1 {{with BLOCK = 0}}
      %x = tlx.iota dim 0 : tensor<?xi32, #tlx.dims<[BLOCK]>>
    }
  }
}

// -----

// expected-error @+2 {{'tlx.kernel' op expected the element to be an integer or float type of whole bytes or the name of a parameter, but got i1}}
// expected-note @+1 {{in !tlx.ptr<ELEMENT> with ELEMENT = i1}}
tlx.kernel @bits(%p: !tlx.ptr<ELEMENT>) {
  tlx.param ELEMENT = i1
}

// -----

// expected-error @+2 {{'tlx.kernel' op expected 'BLOCK' to be an element type, since a type uses it as one}}
// expected-note @+1 {{in !tlx.ptr<BLOCK> with BLOCK = 64}}
tlx.kernel @number_as_type(%p: !tlx.ptr<BLOCK>) {
  tlx.param BLOCK = 64 : i32
}

// -----

tlx.kernel @type_as_number() {
  tlx.param ELEMENT = bf16
  // expected-error @+2 {{'tlx.local_alloc' op expected 'ELEMENT' to be an integer, since an expression uses it}}
  // expected-note @+1 {{with ELEMENT = bf16}}
  %x = tlx.local_alloc : !tlx.memdesc<[ELEMENT * 2, 64], bf16>
}

// -----

tlx.kernel @division() {
  tlx.param PARTS = 0 : i32
  // expected-error @+2 {{'tlx.local_alloc' op expected '64 floordiv PARTS' to be a 64-bit integer, but it overflows or divides by zero}}
  // expected-note @+1 {{with PARTS = 0}}
  %x = tlx.local_alloc : !tlx.memdesc<[64 floordiv PARTS, 64], bf16>
}

// -----

tlx.kernel @overflow() {
  tlx.param BLOCK = 64 : i32
  // expected-error @+2 {{'tlx.local_alloc' op expected 'BLOCK * 9223372036854775807' to be a 64-bit integer, but it overflows}}
  // expected-note @+1 {{with BLOCK = 64}}
  %x = tlx.local_alloc : !tlx.memdesc<[BLOCK * 9223372036854775807, 64], bf16>
}

// -----

// What is written is an error of the op, not of the pass.
tlx.kernel @op_verifier() {
  tlx.param REGISTERS = 25 : i32
  tlx.async_tasks {
    // expected-error @+1 {{'tlx.async_task' op expected 'registers' to be a multiple of 8 from 24 to 256 (PTX ISA 9.7.19.5), but got 25}}
    tlx.async_task @a warps(4) registers(REGISTERS) {
    }
  }
}

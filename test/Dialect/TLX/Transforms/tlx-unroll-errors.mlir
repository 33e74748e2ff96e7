// RUN: jfa-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(any(tlx-unroll))'

func.func @zero(%lb: i32, %ub: i32, %step: i32) {
  // expected-error @+1 {{'scf.for' op expected 'tlx.unroll' to be an integer from 1 to 64, but got 0 : i64}}
  scf.for %i = %lb to %ub step %step : i32 {
  } {tlx.unroll = 0}
  return
}

// -----

func.func @many(%lb: i32, %ub: i32, %step: i32) {
  // expected-error @+1 {{expected 'tlx.unroll' to be an integer from 1 to 64, but got 65 : i64}}
  scf.for %i = %lb to %ub step %step : i32 {
  } {tlx.unroll = 65}
  return
}

// -----

func.func @text(%lb: i32, %ub: i32, %step: i32) {
  // expected-error @+1 {{expected 'tlx.unroll' to be an integer from 1 to 64, but got "all"}}
  scf.for %i = %lb to %ub step %step : i32 {
  } {tlx.unroll = "all"}
  return
}

// -----

tlx.kernel @unbound(%lb: i32, %ub: i32, %step: i32) {
  tlx.param UNROLL = 2 : i32
  // expected-error @+1 {{expected 'tlx.unroll' to be an integer from 1 to 64, but got #tlx.expr<UNROLL>}}
  scf.for %i = %lb to %ub step %step : i32 {
  } {tlx.unroll = #tlx.expr<UNROLL>}
}

// -----

func.func @no_loop(%c: i1) {
  // expected-error @+1 {{'scf.if' op expected 'tlx.unroll' to be on an 'scf.for'}}
  scf.if %c {
  } {tlx.unroll = 2}
  return
}

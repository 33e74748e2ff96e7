// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic.

tlx.kernel @k(%turns: !tlx.ptr<f32>, %i: i32) {
  // expected-error@+1 {{'tlx.semaphore_wait' op expected counters of type 'i32', but got 'f32'}}
  tlx.semaphore_wait %turns[%i], %i : !tlx.ptr<f32>, i32
}

// -----

tlx.kernel @k(%turns: !tlx.ptr<i64>, %i: i32) {
  // expected-error@+1 {{'tlx.semaphore_post' op expected counters of type 'i32', but got 'i64'}}
  tlx.semaphore_post %turns[%i] : !tlx.ptr<i64>, i32
}

// -----

tlx.kernel @k(%turns: !tlx.ptr<i32>, %i: i32) {
  %c = arith.constant -1 : i32
  // expected-error@+1 {{'tlx.semaphore_wait' op expected 'count' to be at least 0, but got -1}}
  tlx.semaphore_wait %turns[%i], %c : !tlx.ptr<i32>, i32
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%turns: !tlx.ptr<i32>, %i: i32) cluster(2) {
  // expected-error@+1 {{'tlx.semaphore_wait' op expected a kernel without clusters, since only CTAs of their own take turns}}
  tlx.semaphore_wait %turns[%i], %i : !tlx.ptr<i32>, i32
}

// -----

// expected-note@+1 {{'cluster(n)' after the arguments of 'k' makes them}}
tlx.kernel @k(%turns: !tlx.ptr<i32>, %i: i32) cluster(2) {
  // expected-error@+1 {{'tlx.semaphore_post' op expected a kernel without clusters}}
  tlx.semaphore_post %turns[%i] : !tlx.ptr<i32>, i32
}

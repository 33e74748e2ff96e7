// RUN: jfa-opt %s --verify-diagnostics --split-input-file

// One case for each diagnostic of kernels and tasks.

// expected-error@+1 {{expected no results, but got 1}}
"tlx.kernel"() <{sym_name = "k", function_type = () -> i32, argument_names = []}> ({
^bb0:
}) : () -> ()

// -----

// expected-error@+1 {{expected one name for each of the 1 arguments, but got 0}}
"tlx.kernel"() <{sym_name = "k", function_type = (i32) -> (), argument_names = []}> ({
^bb0(%a: i32):
}) : () -> ()

// -----

// expected-error@+1 {{expected arguments of distinct names, but 'a' occurs twice}}
"tlx.kernel"() <{sym_name = "k", function_type = (i32, i32) -> (), argument_names = ["a", "a"]}> ({
^bb0(%a: i32, %b: i32):
}) : () -> ()

// -----

// expected-error@+1 {{expected argument 'a' to be a tensor map, a pointer or a scalar of 8 to 64 bits, but got 'tensor<4xf32>'}}
tlx.kernel @k(%a: tensor<4xf32>) {
}

// -----

// expected-error@+1 {{expected argument 'a' to be a tensor map, a pointer or a scalar of 8 to 64 bits, but got 'i1'}}
tlx.kernel @k(%a: i1) {
}

// -----

// expected-error@+1 {{expected a cluster of 1, 2, 4 or 8 CTAs (the portable limit), but got 16}}
tlx.kernel @k() cluster(16) {
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{expected to be the last op of the kernel, since nothing runs after the tasks}}
  tlx.async_tasks {
  }
  %c = arith.constant 0 : i32
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.iota' op expected tiles only inside a 'tlx.async_task', since a tile lives in the registers of a task's threads}}
  %i = tlx.iota dim 0 : tensor<64xi32>
  tlx.async_tasks {
  }
}

// -----

tlx.kernel @k(%n: i32) {
  tlx.async_tasks {
    // expected-error@+1 {{expected 'warps' to be 1, 2 or a multiple of 4 up to 32, but got 3}}
    tlx.async_task @t warps(3) {
    }
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    // expected-error@+1 {{expected 'registers' to be a multiple of 8 from 24 to 256 (PTX ISA 9.7.19.5), but got 100}}
    tlx.async_task @t warps(4) registers(100) {
    }
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    // expected-error@+1 {{expected 'replicate' to be from 1 to 32, but got 0}}
    tlx.async_task @t warps(4) replicate(0) {
    }
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    // expected-error@+1 {{expected only 'tlx.async_task' inside 'tlx.async_tasks'}}
    %c = arith.constant 0 : i32
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    // expected-note@+1 {{first used here}}
    tlx.async_task @t warps(4) {
    }
    // expected-error@+1 {{expected tasks of distinct names, but 't' occurs twice}}
    tlx.async_task @t warps(4) {
    }
  }
}

// -----

tlx.kernel @k() {
  tlx.async_tasks {
    // expected-note@+1 {{this task has one}}
    tlx.async_task @a warps(4) registers(24) {
    }
    // expected-error@+1 {{expected either every task to have a register budget or none}}
    tlx.async_task @b warps(4) {
    }
  }
}

// -----

// expected-error@+1 {{'tlx.async_task_replica_id' op expected to be inside a 'tlx.async_task'}}
%id = tlx.async_task_replica_id : i32

// -----

// expected-error@+1 {{'tlx.async_tasks' op expects parent op 'tlx.kernel'}}
tlx.async_tasks {
}

// -----

tlx.kernel @k() {
  // expected-error@+1 {{'tlx.async_task' op expects parent op 'tlx.async_tasks'}}
  tlx.async_task @t warps(4) {
  }
}

// -----

tlx.kernel @k() {
  // expected-note@+1 {{the tile is made here}}
  %x = arith.constant dense<1.0> : tensor<64xf32>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // expected-error@+1 {{expected no tile from outside the task, since a tile lives in the registers of the threads that made it}}
      %y = arith.addf %x, %x : tensor<64xf32>
    }
  }
}

// What the NVPTX backend would end the process on is refused, where it is.

// RUN: split-file %s %t
// RUN: jfa-opt %t/log.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: jfa-opt %t/sin.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: jfa-opt %t/f64.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: jfa-opt %t/none.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: jfa-opt %t/arith.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: jfa-opt %t/fatal.mlir --arch=sm_90a --emit=ptx -o /dev/null --verify-diagnostics
// RUN: not jfa-opt %t/fatal.mlir --arch=sm_90a --emit=ptx -o %t/out.ptx
// RUN: not ls %t/out.ptx

//--- log.mlir
llvm.func @kernel(%x: f32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{expected an operation that the NVPTX backend can compile, but got one that needs a math library}}
  %y = llvm.intr.log(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}

//--- sin.mlir
llvm.func @kernel(%x: f32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{expected the fast-math flag 'afn', because only an approximate instruction exists}}
  %y = llvm.intr.sin(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}

//--- f64.mlir
llvm.func @kernel(%x: f64, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{expected an operand of at most 32 bits, because f64 needs a math library, but got 'f64'}}
  %y = llvm.intr.cos(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f64) -> f64
  llvm.store %y, %out : f64, !llvm.ptr<1>
  llvm.return
}

//--- none.mlir
// expected-error@below {{expected a kernel, a function with 'nvvm.kernel', but the module has none}}
module {
  llvm.func @helper() {
    llvm.return
  }
}

//--- arith.mlir
llvm.func @kernel() attributes {nvvm.kernel} {
  // expected-error@+1 {{cannot be converted to LLVM IR}}
  %c = arith.constant 1 : i32
  llvm.return
}

//--- fatal.mlir
// Nothing refuses this one beforehand: LLVM's fatal error has to be caught.
// expected-error@+1 {{expected the NVPTX backend to accept the kernel, but got: }}
llvm.func @kernel(%x: f64, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %y = llvm.intr.exp2(%x) : (f64) -> f64
  llvm.store %y, %out : f64, !llvm.ptr<1>
  llvm.return
}

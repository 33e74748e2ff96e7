//===- TLXParamOps.td - Param family: compile-time parameters -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXPARAMOPS
#define JFA_DIALECT_TLX_IR_TLXPARAMOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_ParamDocs : OpDocGroup {
  let summary = "Param: compile-time parameters";
  let description = [{
    One source serves every head dimension, tile size, stage count, mask and
    element type. These ops vanish in `tlx-specialize`.
  }];
}

let opDocGroup = TLX_ParamDocs in {

def TLX_ParamOp : TLX_Op<"param", [
    MemoryEffects<[MemWrite<TLX_Declarations>]>, HasParent<"KernelOp">,
    DeclareOpInterfaceMethods<TLX_ParameterOpInterface>]> {
  let summary = "Declare a parameter of the kernel";
  let description = [{
    Declares a name, optionally a default, and optionally what values are legal:
    a list (`in [64, 128]`) or a range (`from 16 to 256 step 16`). The value is
    an integer, a boolean or an element type. Integers and booleans can also be
    used as a value, which is a constant after `tlx-specialize`.

    Constraints:
    1. A name is declared once in a kernel.
    2. The default is of the declared type and is legal.
    3. A parameter without a default has to be bound.

    Example:

    ```mlir
    tlx.kernel @k(%x: !tlx.ptr<ELEMENT>) {
      %d = tlx.param HEAD_DIM = 128 in [64, 128] : i32
      %n = tlx.param BLOCK_N = 128 from 16 to 256 step 16 : i32
      %causal = tlx.param CAUSAL = false : i1
      tlx.param ELEMENT = bf16 in [bf16, f16]
    }
    ```
  }];
  let arguments = (ins
    StrAttr:$name, OptionalAttr<AnyAttr>:$initial_value,
    OptionalAttr<ArrayAttr>:$legal_values,
    OptionalAttr<DenseI64ArrayAttr>:$legal_range);
  let results = (outs Optional<AnyTypeOf<[I1, I32]>>:$value);
  let assemblyFormat = [{
    custom<ParamDeclaration>($name, $initial_value, $legal_values, $legal_range)
    attr-dict (`:` type($value)^)?
  }];
  let hasVerifier = 1;
}

def TLX_ConstraintOp : TLX_Op<"constraint", [
    MemoryEffects<[MemWrite<TLX_Declarations>]>, HasParent<"KernelOp">]> {
  let summary = "State a relation that bound parameters have to satisfy";
  let description = [{
    `tlx-specialize` refuses bindings that violate it, naming both sides and
    their values.

    Example:

    ```mlir
    tlx.kernel @k() {
      tlx.param BLOCK_M = 128 in [64, 128, 192] : i32
      tlx.param GROUPS = 2 in [1, 2, 3] : i32
      tlx.constraint BLOCK_M eq GROUPS * 64
    }
    ```
  }];
  let arguments = (ins TLX_ExprAttr:$lhs, TLX_ComparisonAttr:$comparison,
                       TLX_ExprAttr:$rhs);
  let assemblyFormat = [{
    custom<Expr>($lhs) `` $comparison custom<Expr>($rhs) attr-dict
  }];
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXPARAMOPS

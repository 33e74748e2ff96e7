//===- TLXAttrs.td - Attributes of the tlx dialect -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXATTRS
#define JFA_DIALECT_TLX_IR_TLXATTRS

include "mlir/IR/TensorEncoding.td"
include "jfa/Dialect/TLX/IR/TLXBase.td"

class TLX_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TLX_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def TLX_ExprAttr : TLX_Attr<"Expr", "expr"> {
  let summary = "An integer expression over parameters";
  let description = [{
    Integers, parameter names, `+`, `-`, `*`, `floordiv`, `ceildiv`, `mod` and
    parentheses. Divisors are positive. `tlx-specialize` replaces the names and
    leaves a constant.

    `names` holds the parameters in the order in which `expr` counts its
    symbols.

    Example: `#tlx.expr<BLOCK_M floordiv 2 + 8>`
  }];
  let parameters = (ins
    "::mlir::AffineExpr":$expr,
    ArrayRefParameter<"::mlir::StringAttr">:$names);
  let builders = [
    AttrBuilder<(ins "int64_t":$value), [{
      return $_get($_ctxt, ::mlir::getAffineConstantExpr(value, $_ctxt),
                   ::llvm::ArrayRef<::mlir::StringAttr>());
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The value, once no parameter is left in the expression.
    std::optional<int64_t> getConstant() const;
    /// Replaces each parameter for which `lookup` knows a value.
    ExprAttr
    substitute(llvm::function_ref<std::optional<int64_t>(StringRef)> lookup);
    /// Parses and prints the expression without the enclosing `#tlx.expr<>`.
    static FailureOr<ExprAttr> parseExpr(AsmParser &parser);
    void printExpr(AsmPrinter &printer) const;
    /// The text of the expression, for messages.
    std::string str() const;
  }];
}

def TLX_ParamRefAttr : TLX_Attr<"ParamRef", "param_ref"> {
  let summary = "Names a parameter whose value is an element type";
  let parameters = (ins "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $name `>`";
}

def TLX_DimsAttr : TLX_Attr<"Dims", "dims", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Symbolic dimensions of a tile";
  let description = [{
    The encoding of a tile type before specialisation: one expression for each
    dimension, with `?` in the shape where the expression is not a constant, and
    optionally an element-type parameter. A tile whose written element type is
    that parameter's default takes the parameter's value; other tiles, such as
    f32 ones, stay as written and carry it only so that `arith` finds both ends
    of a cast alike.

    Example: `tensor<?x?xbf16, #tlx.dims<[BLOCK_M, BLOCK_N], ELEMENT>>`
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::jfa::tlx::ExprAttr">:$dims,
    OptionalParameter<"::mlir::jfa::tlx::ParamRefAttr">:$element);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Register layouts
//===----------------------------------------------------------------------===//

def TLX_LayoutAttr : TLX_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Which thread holds which elements of a tile";
  let description = [{
    Two lists of modes, each `count : dimension * stride`. The coordinate of the
    element that thread `t` holds in its register `r` is the sum, over all
    modes, of `digit * stride` in the mode's dimension. The digits are those of
    `t` (thread modes) and of `r` (register modes) in the mixed radix of the
    counts, first mode fastest. A mode written `count : *` has no dimension: the
    threads along it hold copies.

    Threads are counted within their task's replica. The product of the thread
    counts is the number of its threads, 32 for each warp.

    Example, the accumulator of one warpgroup's `wgmma` with M = 64, N = 128
    (PTX ISA 9.7.15.5.1, "Register Fragments"): a quad of threads holds a row,
    each thread two neighbouring columns of every eight and rows r and r + 8:

    ```mlir
    #tlx.layout<threads = [4 : 1 * 2, 8 : 0 * 1, 4 : 0 * 16],
                registers = [2 : 1 * 1, 2 : 0 * 8, 16 : 1 * 8]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::jfa::tlx::LayoutMode">:$threads,
    ArrayRefParameter<"::mlir::jfa::tlx::LayoutMode">:$registers);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumThreads() const;
    int64_t getNumRegisters() const;
  }];
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class TLX_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::jfa::tlx";
}

def TLX_MemorySpace : TLX_Enum<"MemorySpace", "where a buffer lives", [
  I32EnumCase<"Shared", 0, "smem">,
  I32EnumCase<"Tensor", 1, "tensor">,
]>;

def TLX_Tcgen05FenceKind : TLX_Enum<"Tcgen05FenceKind",
    "which side of a synchronisation a fence of tensor memory stands on", [
  I32EnumCase<"Before", 0, "before">,
  I32EnumCase<"After", 1, "after">,
]>;
def TLX_Tcgen05FenceKindAttr
    : EnumAttr<TLX_Dialect, TLX_Tcgen05FenceKind, "tcgen05_fence_kind"> {
  let assemblyFormat = "$value";
}

def TLX_ReduceKind : TLX_Enum<"ReduceKind", "how elements are combined", [
  I32EnumCase<"Add", 0, "add">,
  I32EnumCase<"Max", 1, "max">,
  I32EnumCase<"Min", 2, "min">,
]>;
def TLX_ReduceKindAttr : EnumAttr<TLX_Dialect, TLX_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def TLX_CacheHint : TLX_Enum<"CacheHint",
    "how soon the L2 cache may drop what a copy touches", [
  I32EnumCase<"EvictFirst", 0, "evict_first">,
  I32EnumCase<"EvictLast", 1, "evict_last">,
]>;
def TLX_CacheHintAttr : EnumAttr<TLX_Dialect, TLX_CacheHint, "cache_hint"> {
  let assemblyFormat = "$value";
}

def TLX_Comparison : TLX_Enum<"Comparison", "a comparison of two expressions", [
  I32EnumCase<"Equal", 0, "eq">,
  I32EnumCase<"LessEqual", 1, "le">,
  I32EnumCase<"Less", 2, "lt">,
]>;
def TLX_ComparisonAttr : EnumAttr<TLX_Dialect, TLX_Comparison, "comparison"> {
  let assemblyFormat = "$value";
}

#endif // JFA_DIALECT_TLX_IR_TLXATTRS

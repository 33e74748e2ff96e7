//===- TLXInterfaces.td - What passes ask of the op families -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXINTERFACES
#define JFA_DIALECT_TLX_IR_TLXINTERFACES

include "mlir/IR/OpBase.td"

class TLX_OpInterface<string name> : OpInterface<name> {
  let cppNamespace = "::mlir::jfa::tlx";
}

// Param family.
def TLX_ParameterOpInterface : TLX_OpInterface<"ParameterOpInterface"> {
  let description = "Declares a compile-time parameter of a kernel.";
  let methods = [
    InterfaceMethod<"The name by which types and the command line refer to it",
      "::llvm::StringRef", "getParameterName">,
    InterfaceMethod<"The value used when none is bound; null if it must be bound",
      "::mlir::Attribute", "getDefaultValue">,
    InterfaceMethod<[{
        Turns the text of a binding (`128`, `true`, `bf16`) into a legal value,
        or reports what is legal through `emitError`.
      }], "::mlir::FailureOr<::mlir::Attribute>", "parseBinding",
      (ins "::llvm::StringRef":$text,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"What may be bound, in words: `[64, 128]`, `16 to 256 step 16`",
      "std::string", "describeLegalValues">,
  ];
}

// Task family.
def TLX_TaskOpInterface : TLX_OpInterface<"TaskOpInterface"> {
  let description = [{
    An op whose region is run by warps of its own. Threads are counted from 0
    within each replica.
  }];
  let methods = [
    InterfaceMethod<"Warps of one replica; 0 while a parameter decides",
      "int64_t", "getNumWarps">,
    InterfaceMethod<"Copies of the task that run side by side",
      "int64_t", "getNumReplicas">,
    InterfaceMethod<"Registers of each thread, if budgeted",
      "std::optional<int64_t>", "getRegisterBudget">,
    InterfaceMethod<"What the task is called in reports",
      "::llvm::StringRef", "getTaskName">,
  ];
}

// Memory family (and everything that touches a buffer).
def TLX_BufferAccessOpInterface : TLX_OpInterface<"BufferAccessOpInterface"> {
  let description = [{
    Says which buffers an op reads and writes, through which proxy (PTX ISA 8.6)
    and by which threads.
  }];
  let methods = [
    InterfaceMethod<"Appends one entry for each buffer operand it touches",
      "void", "getBufferAccesses",
      (ins "::llvm::SmallVectorImpl<::mlir::jfa::tlx::BufferAccess> &":$accesses)>,
  ];
}

// Barrier family (and everything that signals an mbarrier).
def TLX_BarrierOpInterface : TLX_OpInterface<"BarrierOpInterface"> {
  let description = "Says how an op uses mbarriers.";
  let methods = [
    InterfaceMethod<"Appends one entry for each mbarrier it uses",
      "void", "getBarrierUses",
      (ins "::llvm::SmallVectorImpl<::mlir::jfa::tlx::BarrierUse> &":$uses)>,
  ];
}

// TMA and MMA families.
def TLX_AsyncOpInterface : TLX_OpInterface<"AsyncOpInterface"> {
  let description = [{
    An op that starts work which goes on after it: which thread issues it and
    what its completion is seen by. Until then its sources may be read and its
    destination is undefined.
  }];
  let methods = [
    InterfaceMethod<"Which threads of the task issue it",
      "::mlir::jfa::tlx::AsyncIssuer", "getIssuer">,
    InterfaceMethod<"What is signalled when it is done",
      "::mlir::jfa::tlx::AsyncCompletion", "getCompletion">,
  ];
}

// Every op that not all architectures can execute.
def TLX_TargetOpInterface : TLX_OpInterface<"TargetOpInterface"> {
  let description = [{
    An op, or a form of one, that only some architectures have.
    `tlx-verify-target` asks for it.
  }];
  let methods = [
    InterfaceMethod<"What it needs; none if every architecture has it",
      "std::optional<::mlir::jfa::tlx::TargetFeature>", "getRequiredFeature">,
  ];
}

// Tile family (and every op that has tiles).
def TLX_TileOpInterface : TLX_OpInterface<"TileOpInterface"> {
  let description = [{
    Relates the register layouts of an op's tiles. `tlx-assign-layouts` asks
    until nothing changes. Elementwise ops need not implement it: all their
    tiles share one layout.
  }];
  let methods = [
    InterfaceMethod<[{
        The layout that result `result` has when operand `operand` has layout
        `layout`; null if that operand does not decide it.
      }], "::mlir::jfa::tlx::LayoutAttr", "inferResultLayout",
      (ins "unsigned":$operand, "::mlir::jfa::tlx::LayoutAttr":$layout,
           "unsigned":$result), "", "return {};">,
    InterfaceMethod<[{
        The layout that operand `operand` has when result `result` has layout
        `layout`; null if that result does not decide it.
      }], "::mlir::jfa::tlx::LayoutAttr", "inferOperandLayout",
      (ins "unsigned":$result, "::mlir::jfa::tlx::LayoutAttr":$layout,
           "unsigned":$operand), "", "return {};">,
    InterfaceMethod<[{
        The layout that the hardware demands of operand `operand`; null if any
        will do. `threads` is the number of threads of the task.
      }], "::mlir::jfa::tlx::LayoutAttr", "getRequiredOperandLayout",
      (ins "unsigned":$operand, "int64_t":$threads), "", "return {};">,
    InterfaceMethod<"The same for a result",
      "::mlir::jfa::tlx::LayoutAttr", "getRequiredResultLayout",
      (ins "unsigned":$result, "int64_t":$threads), "", "return {};">,
  ];
}

#endif // JFA_DIALECT_TLX_IR_TLXINTERFACES

//===- SimInterfaces.td - What ops mean to the simulator -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_SIMINTERFACES
#define JFA_SIM_SIMINTERFACES

include "mlir/IR/OpBase.td"

def Sim_SimulatableOpInterface : OpInterface<"SimulatableOpInterface"> {
  let cppNamespace = "::mlir::jfa::sim";
  let description = [{
    An op that can be simulated. External models attach it to the ops of tlx,
    arith, math and scf (`registerSimExtensions`); embedders attach it to their
    own.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends the instructions that execute the op, for the values or only for
        the order of things as `builder` asks. Ops whose results are only tiles
        append nothing where the order alone is wanted. Fails after a diagnostic.
      }], "::llvm::LogicalResult", "buildProgram",
      (ins "::mlir::jfa::sim::ProgramBuilder &":$builder)>,
  ];
}

#endif // JFA_SIM_SIMINTERFACES

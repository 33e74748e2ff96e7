//===- TLXOps.td - All op families of the tlx dialect -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXOPS
#define JFA_DIALECT_TLX_IR_TLXOPS

include "jfa/Dialect/TLX/IR/TLXParamOps.td"
include "jfa/Dialect/TLX/IR/TLXTaskOps.td"
include "jfa/Dialect/TLX/IR/TLXMemoryOps.td"
include "jfa/Dialect/TLX/IR/TLXBarrierOps.td"
include "jfa/Dialect/TLX/IR/TLXTMAOps.td"
include "jfa/Dialect/TLX/IR/TLXMMAOps.td"
include "jfa/Dialect/TLX/IR/TLXTensorMemoryOps.td"
include "jfa/Dialect/TLX/IR/TLXTileOps.td"
include "jfa/Dialect/TLX/IR/TLXClusterOps.td"
include "jfa/Dialect/TLX/IR/TLXGridOps.td"

#endif // JFA_DIALECT_TLX_IR_TLXOPS

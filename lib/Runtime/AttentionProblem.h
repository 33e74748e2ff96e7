//===- AttentionProblem.h - Checked descriptions of attention ---*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_ATTENTIONPROBLEM_H
#define JFA_LIB_RUNTIME_ATTENTIONPROBLEM_H

#include "Status.h"
#include "TensorMaps.h"
#include "WorkList.h"

namespace jfa::runtime {

/// A description that makes sense, with every default filled in.
struct AttentionProblem {
  jfaElementType elementType;
  jfaAttentionMode mode;
  bool causal;
  int32_t headDim;
  int32_t queryHeads;
  int32_t kvHeads;
  double scale;
  /// With the caller's offsets, which are not valid after the plan is made.
  Sequences sequences;
  TensorLayout q, k, v, o;
  int64_t lseHeadStride;
  WorkOrder workOrder;
};

/// Checks everything that can be known without a GPU or a kernel.
Status checkAttention(const jfaAttentionForwardDescription &description,
                      AttentionProblem &problem);

/// Checks the pointers of one execution.
Status checkBuffers(const AttentionProblem &problem,
                    const jfaAttentionForwardBuffers &buffers);

/// A forward with the tensors of its gradients.
struct AttentionGradients {
  AttentionProblem forward;
  TensorLayout dOut, dQ, dK, dV;
  bool deterministic;
};

Status checkGradients(const jfaAttentionBackwardDescription &description,
                      AttentionGradients &gradients);
Status checkBuffers(const AttentionGradients &gradients,
                    const jfaAttentionBackwardBuffers &buffers);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONPROBLEM_H

//===- AttentionProblem.cpp - Checked descriptions of attention -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"

#include <cmath>
#include <limits>

using namespace jfa::runtime;

static constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();
static constexpr int64_t kElementBytes = 2;
static constexpr int64_t kRowAlignment = 16;

/// Returns from the enclosing function if a status is a failure.
#define JFA_RETURN_IF_FAILED(expression)                                       \
  if (Status status_ = (expression); status_.failed()) {                       \
    return status_;                                                            \
  }

static Status checkKind(const jfaAttentionForwardDescription &description) {
  if (description.element_type != JFA_ELEMENT_TYPE_BF16 &&
      description.element_type != JFA_ELEMENT_TYPE_F16) {
    return invalid("element_type", "to be bf16 (0) or f16 (1), but got ",
                   description.element_type);
  }
  if (description.mode < JFA_ATTENTION_MODE_DENSE ||
      description.mode > JFA_ATTENTION_MODE_BROADCAST_QUERY) {
    return invalid("mode",
                   "to be dense (0), jagged (1) or broadcast query (2), but "
                   "got ",
                   description.mode);
  }
  if (description.head_dim != 64 && description.head_dim != 128) {
    Status status =
        invalid("head_dim", "to be 64 or 128, but got ", description.head_dim);
    status.code = JFA_STATUS_UNSUPPORTED;
    return status;
  }
  if (!std::isfinite(description.scale) || description.scale < 0) {
    return invalid("scale",
                   "to be positive, or 0 for 1/sqrt(head_dim), but got ",
                   description.scale);
  }
  if (description.work_order < JFA_WORK_ORDER_BALANCED ||
      description.work_order > JFA_WORK_ORDER_UNSECTIONED) {
    return invalid("work_order", "to be in ", int(JFA_WORK_ORDER_BALANCED),
                   " .. ", int(JFA_WORK_ORDER_UNSECTIONED), ", but got ",
                   description.work_order);
  }
  return success();
}

static Status checkHeads(const jfaAttentionForwardDescription &description) {
  if (description.num_query_heads < 1) {
    return invalid("num_query_heads", "to be at least 1, but got ",
                   description.num_query_heads);
  }
  if (description.num_kv_heads < 1 ||
      description.num_query_heads % description.num_kv_heads != 0) {
    return invalid("num_kv_heads", "to divide 'num_query_heads' = ",
                   description.num_query_heads, ", but got ",
                   description.num_kv_heads);
  }
  return success();
}

static Status checkOffsets(const char *name, const int32_t *offsets,
                           int64_t batch) {
  if (offsets[0] < 0) {
    return invalid(name, "to begin at 0 or later, but got ", name,
                   "[0] = ", offsets[0]);
  }
  // Whether anything is wrong; below, what it is. Of numbers that are not
  // negative, a negative difference is a large unsigned one.
  uint32_t wrong = 0;
  for (int64_t i = 0; i < batch; ++i) {
    uint32_t length = uint32_t(offsets[i + 1]) - uint32_t(offsets[i]);
    wrong |= uint32_t(length > uint32_t(kSegmentBound));
    wrong |= uint32_t(offsets[i + 1]) >> 31;
  }
  for (int64_t i = 0; wrong && i < batch; ++i) {
    int64_t length = int64_t(offsets[i + 1]) - offsets[i];
    if (length < 0) {
      return invalid(name, "to be non-decreasing, but got ", name, "[", i,
                     "] = ", offsets[i], " and ", name, "[", i + 1,
                     "] = ", offsets[i + 1]);
    }
    if (length > kSegmentBound) {
      return invalid(name, "to make sequences of at most ", kSegmentBound,
                     " rows, but sequence ", i, " has ", length);
    }
  }
  return success();
}

static Status checkOffsetsPresence(const char *name, const int32_t *offsets,
                                   bool wanted) {
  if ((offsets != nullptr) == wanted) {
    return success();
  }
  return invalid(name, wanted ? "to be given in this mode, but got null"
                              : "to be null in this mode, but got an array");
}

static Status checkLength(const char *name, int64_t length, bool wanted) {
  if (!wanted && length != 0) {
    return invalid(name, "to be 0 in this mode, but got ", length);
  }
  if (length < 0 || length > kSegmentBound) {
    return invalid(name, "to be in 0 .. ", kSegmentBound, ", but got ", length);
  }
  return success();
}

static Status
checkSequences(const jfaAttentionForwardDescription &description) {
  bool dense = description.mode == JFA_ATTENTION_MODE_DENSE;
  bool jagged = description.mode == JFA_ATTENTION_MODE_JAGGED;
  int64_t batch = description.batch_size;
  if (batch < 0 || batch >= kMaxRows) {
    return invalid("batch_size", "to be in 0 .. ", kMaxRows - 1, ", but got ",
                   batch);
  }
  JFA_RETURN_IF_FAILED(checkLength("q_length", description.q_length, !jagged));
  JFA_RETURN_IF_FAILED(checkLength("k_length", description.k_length, dense));
  JFA_RETURN_IF_FAILED(
      checkOffsetsPresence("q_offsets", description.q_offsets, jagged));
  JFA_RETURN_IF_FAILED(
      checkOffsetsPresence("k_offsets", description.k_offsets, !dense));
  if (jagged) {
    JFA_RETURN_IF_FAILED(
        checkOffsets("q_offsets", description.q_offsets, batch));
  }
  if (!dense) {
    JFA_RETURN_IF_FAILED(
        checkOffsets("k_offsets", description.k_offsets, batch));
  }
  // Lengths and batch are below 2^31, so these products fit 64 bits.
  if (!jagged && batch * description.q_length > kMaxRows) {
    return invalid("q_length", "times 'batch_size' to be at most ", kMaxRows,
                   " rows, but got ", description.q_length, " * ", batch);
  }
  if (dense && batch * description.k_length > kMaxRows) {
    return invalid("k_length", "times 'batch_size' to be at most ", kMaxRows,
                   " rows, but got ", description.k_length, " * ", batch);
  }
  return success();
}

/// Checks one of a tensor's strides, or fills in the default.
static Status checkStride(const std::string &name, int64_t stride,
                          int64_t packed, int64_t headDim, int64_t &result) {
  constexpr int64_t kMaxStride = (int64_t(1) << 40) / kElementBytes;
  result = stride == 0 ? packed : stride;
  if (result < headDim || result >= kMaxStride) {
    return invalid(name, "to be 0 or in ", headDim, " .. ", kMaxStride - 1,
                   " elements, but got ", stride);
  }
  if (result * kElementBytes % kRowAlignment != 0) {
    return invalid(name, "to be a multiple of ", kRowAlignment / kElementBytes,
                   " elements, so that rows start at ", kRowAlignment,
                   " bytes, but got ", stride);
  }
  return success();
}

static Status checkTensor(const std::string &name, int64_t rows, int64_t heads,
                          int64_t dim, int64_t rowStride, int64_t headStride,
                          TensorLayout &layout) {
  layout = {rows, heads, dim, 0, 0};
  JFA_RETURN_IF_FAILED(checkStride(name + "_head_stride", headStride, dim, dim,
                                   layout.headStride));
  JFA_RETURN_IF_FAILED(checkStride(name + "_row_stride", rowStride, heads * dim,
                                   dim, layout.rowStride));
  // Both products are below 2^31 * 2^39; only their sum in bytes can be more
  // than an address.
  double bytes = kElementBytes * (double(rows) * double(layout.rowStride) +
                                  double(heads) * double(layout.headStride));
  if (bytes >= std::ldexp(1.0, 56)) {
    return invalid(name + "_row_stride",
                   "to keep the tensor below 2^56 bytes, but got ",
                   layout.rowStride, " elements for ", rows, " rows");
  }
  return success();
}

static Status checkTensors(const jfaAttentionForwardDescription &description,
                           int64_t qRows, int64_t kRows, int64_t oRows,
                           AttentionProblem &problem) {
  int64_t dim = description.head_dim;
  int64_t qHeads = description.num_query_heads;
  int64_t kvHeads = description.num_kv_heads;
  JFA_RETURN_IF_FAILED(checkTensor("q", qRows, qHeads, dim,
                                   description.q_row_stride,
                                   description.q_head_stride, problem.q));
  JFA_RETURN_IF_FAILED(checkTensor("k", kRows, kvHeads, dim,
                                   description.k_row_stride,
                                   description.k_head_stride, problem.k));
  JFA_RETURN_IF_FAILED(checkTensor("v", kRows, kvHeads, dim,
                                   description.v_row_stride,
                                   description.v_head_stride, problem.v));
  JFA_RETURN_IF_FAILED(checkTensor("o", oRows, qHeads, dim,
                                   description.o_row_stride,
                                   description.o_head_stride, problem.o));
  problem.lseHeadStride = description.lse_head_stride;
  if (problem.lseHeadStride == 0) {
    problem.lseHeadStride = oRows;
  }
  constexpr int64_t kMaxStride = int64_t(1) << 40;
  if (problem.lseHeadStride < oRows || problem.lseHeadStride > kMaxStride) {
    return invalid("lse_head_stride", "to be 0 or at least the ", oRows,
                   " rows of o, but got ", description.lse_head_stride);
  }
  return success();
}

Status
jfa::runtime::checkAttention(const jfaAttentionForwardDescription &description,
                             AttentionProblem &problem) {
  if (description.struct_size != sizeof(description)) {
    return invalid("struct_size", "to be ", sizeof(description), ", but got ",
                   description.struct_size);
  }
  JFA_RETURN_IF_FAILED(checkKind(description));
  JFA_RETURN_IF_FAILED(checkHeads(description));
  JFA_RETURN_IF_FAILED(checkSequences(description));
  int64_t batch = description.batch_size;
  int64_t oRows = batch * description.q_length;
  int64_t qRows = oRows;
  int64_t kRows = batch * description.k_length;
  if (description.mode == JFA_ATTENTION_MODE_JAGGED) {
    qRows = oRows = description.q_offsets[batch];
  } else if (description.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY) {
    qRows = description.q_length;
  }
  if (description.k_offsets) {
    kRows = description.k_offsets[batch];
  }
  problem.elementType = static_cast<jfaElementType>(description.element_type);
  problem.mode = static_cast<jfaAttentionMode>(description.mode);
  problem.causal = description.causal != 0;
  problem.workOrder = static_cast<WorkOrder>(description.work_order);
  problem.headDim = description.head_dim;
  problem.queryHeads = description.num_query_heads;
  problem.kvHeads = description.num_kv_heads;
  problem.scale = description.scale != 0
                      ? description.scale
                      : 1.0 / std::sqrt(double(description.head_dim));
  problem.sequences = {batch, description.q_offsets, description.k_offsets,
                       description.q_length, description.k_length};
  return checkTensors(description, qRows, kRows, oRows, problem);
}

Status
jfa::runtime::checkGradients(const jfaAttentionBackwardDescription &description,
                             AttentionGradients &gradients) {
  if (description.struct_size != sizeof(description)) {
    return invalid("struct_size", "to be ", sizeof(description), ", but got ",
                   description.struct_size);
  }
  AttentionProblem &forward = gradients.forward;
  JFA_RETURN_IF_FAILED(checkAttention(description.forward, forward));
  auto check = [&](const char *name, const TensorLayout &like,
                   int64_t rowStride, int64_t headStride,
                   TensorLayout &layout) {
    return checkTensor(name, like.rows, like.heads, like.dim, rowStride,
                       headStride, layout);
  };
  JFA_RETURN_IF_FAILED(check("dout", forward.o, description.dout_row_stride,
                             description.dout_head_stride, gradients.dOut));
  JFA_RETURN_IF_FAILED(check("dq", forward.q, description.dq_row_stride,
                             description.dq_head_stride, gradients.dQ));
  JFA_RETURN_IF_FAILED(check("dk", forward.k, description.dk_row_stride,
                             description.dk_head_stride, gradients.dK));
  gradients.deterministic = description.deterministic != 0;
  return check("dv", forward.v, description.dv_row_stride,
               description.dv_head_stride, gradients.dV);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static Status checkPointer(const char *name, const void *pointer, bool wanted,
                           uintptr_t alignment) {
  if (!pointer) {
    return wanted ? invalid(name, "to be a device pointer, but got null")
                  : success();
  }
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) {
    return invalid(name, "to be aligned to ", alignment, " bytes, but got ",
                   pointer);
  }
  return success();
}

Status jfa::runtime::checkBuffers(const AttentionProblem &problem,
                                  const jfaAttentionForwardBuffers &buffers) {
  if (buffers.struct_size != sizeof(buffers)) {
    return invalid("struct_size", "to be ", sizeof(buffers), ", but got ",
                   buffers.struct_size);
  }
  bool anyOutput = problem.o.rows > 0;
  bool anyKeys = anyOutput && problem.k.rows > 0;
  JFA_RETURN_IF_FAILED(checkPointer("q", buffers.q, anyOutput, kRowAlignment));
  JFA_RETURN_IF_FAILED(checkPointer("k", buffers.k, anyKeys, kRowAlignment));
  JFA_RETURN_IF_FAILED(checkPointer("v", buffers.v, anyKeys, kRowAlignment));
  JFA_RETURN_IF_FAILED(checkPointer("o", buffers.o, anyOutput, kRowAlignment));
  JFA_RETURN_IF_FAILED(
      checkPointer("lse", buffers.lse, anyOutput, alignof(float)));
  bool jagged = problem.mode == JFA_ATTENTION_MODE_JAGGED;
  bool dense = problem.mode == JFA_ATTENTION_MODE_DENSE;
  JFA_RETURN_IF_FAILED(checkPointer("q_offsets", buffers.q_offsets,
                                    jagged && anyOutput, alignof(int32_t)));
  return checkPointer("k_offsets", buffers.k_offsets, !dense && anyOutput,
                      alignof(int32_t));
}

Status jfa::runtime::checkBuffers(const AttentionGradients &gradients,
                                  const jfaAttentionBackwardBuffers &buffers) {
  if (buffers.struct_size != sizeof(buffers)) {
    return invalid("struct_size", "to be ", sizeof(buffers), ", but got ",
                   buffers.struct_size);
  }
  const AttentionProblem &forward = gradients.forward;
  JFA_RETURN_IF_FAILED(checkBuffers(forward, buffers.forward));
  auto check = [](const char *name, const void *pointer,
                  const TensorLayout &layout) {
    return checkPointer(name, pointer, layout.rows > 0, kRowAlignment);
  };
  JFA_RETURN_IF_FAILED(check("dout", buffers.dout, gradients.dOut));
  JFA_RETURN_IF_FAILED(check("dq", buffers.dq, gradients.dQ));
  JFA_RETURN_IF_FAILED(check("dk", buffers.dk, gradients.dK));
  JFA_RETURN_IF_FAILED(check("dv", buffers.dv, gradients.dV));
  // Without queries too, the rows of dk and dv that are of sequences are found
  // by their offsets.
  bool dense = forward.mode == JFA_ATTENTION_MODE_DENSE;
  bool jagged = forward.mode == JFA_ATTENTION_MODE_JAGGED;
  bool any = forward.k.rows > 0;
  JFA_RETURN_IF_FAILED(checkPointer("q_offsets", buffers.forward.q_offsets,
                                    jagged && any, alignof(int32_t)));
  return checkPointer("k_offsets", buffers.forward.k_offsets, !dense && any,
                      alignof(int32_t));
}

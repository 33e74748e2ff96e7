/* jfa-c/Runtime.h - C interface of JFA's runtime
 *
 * Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs the attention kernels on a GPU. A plan is made once per shape from sizes
 * that are known on the host; executing it takes device pointers, allocates
 * nothing and waits for nothing.
 *
 * Every function returns a status. `error` may be null; otherwise it receives
 * the same status, the name of the refused argument (or an empty string) and
 * one sentence. A refused call launches nothing and writes to no buffer.
 */

#ifndef JFA_C_RUNTIME_H
#define JFA_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define JFA_EXPORTED
#else
#define JFA_EXPORTED __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*
 * Status
 *===----------------------------------------------------------------------===*/

typedef enum jfaStatus {
  JFA_STATUS_SUCCESS = 0,
  /** An argument is null, misaligned, contradictory or out of its range. */
  JFA_STATUS_INVALID_ARGUMENT = 1,
  /** The arguments make sense, but no kernel of JFA's does this. */
  JFA_STATUS_UNSUPPORTED = 2,
  /** The GPU driver's library is not installed. */
  JFA_STATUS_NO_DRIVER = 3,
  /** There is a driver, but not the GPU that was asked for. */
  JFA_STATUS_NO_DEVICE = 4,
  /** Neither the embedded nor the loaded bundles hold the kernel. */
  JFA_STATUS_NO_KERNEL = 5,
  /** A bundle of kernels could not be read. */
  JFA_STATUS_INVALID_BUNDLE = 6,
  JFA_STATUS_OUT_OF_MEMORY = 7,
  /** The driver refused a call; the message has its own words. */
  JFA_STATUS_DRIVER_ERROR = 8
} jfaStatus;

typedef struct jfaError {
  jfaStatus status;
  /** The argument or field that was refused, as this header spells it. */
  char argument[64];
  /** One sentence that names the value and the limit. */
  char message[512];
} jfaError;

/** The version of the runtime, such as "0.1.0". */
JFA_EXPORTED const char *jfaRuntimeGetVersion(void);

/** The name of a status, such as "invalid argument". */
JFA_EXPORTED const char *jfaStatusGetName(jfaStatus status);

/** The number of GPUs the driver offers. */
JFA_EXPORTED jfaStatus jfaGetDeviceCount(int32_t *count, jfaError *error);

/*===----------------------------------------------------------------------===*
 * Kernels
 *===----------------------------------------------------------------------===*/

/** Adds the kernels of a bundle that jfa-opt wrote. They take precedence over
 *  the embedded ones and over those loaded before; of those of one bundle that
 *  suit, the first is taken. Plans keep the kernel they were made with. */
JFA_EXPORTED jfaStatus jfaLoadKernels(const char *path, jfaError *error);

/** What is known of a compiled kernel. Set `struct_size` before a call. */
typedef struct jfaKernelFacts {
  size_t struct_size;
  char entry[64];
  char arch[16];
  /** The bundle's path, or "embedded". */
  char source[256];
  /** Compile-time parameters: "BLOCK_M=128 CAUSAL=false ...". */
  char parameters[512];
  char llvm_version[32];
  char ptxas_version[32];
  int32_t block_m;
  int32_t block_n;
  int32_t block[3];
  int32_t cluster[3];
  int32_t shared_memory_bytes;
  int32_t registers;
  int32_t spill_store_bytes;
  int32_t spill_load_bytes;
  int32_t stack_bytes;
  /** Only from a plan; zero otherwise. */
  int32_t grid[3];
  /** Query tiles of all sequences and heads. Only from a plan. */
  int64_t num_items;
} jfaKernelFacts;

/** The number of kernels that are embedded or loaded, and one of them: bundle
 *  after bundle as they were added, each in its own order. */
JFA_EXPORTED jfaStatus jfaKernelGetCount(int64_t *count, jfaError *error);
JFA_EXPORTED jfaStatus jfaKernelGetFacts(int64_t index, jfaKernelFacts *facts,
                                         jfaError *error);

/*===----------------------------------------------------------------------===*
 * Attention, forward
 *===----------------------------------------------------------------------===*/

typedef enum jfaElementType {
  JFA_ELEMENT_TYPE_BF16 = 0,
  JFA_ELEMENT_TYPE_F16 = 1
} jfaElementType;

typedef enum jfaAttentionMode {
  /** B sequences of `q_length` queries and `k_length` keys each. */
  JFA_ATTENTION_MODE_DENSE = 0,
  /** Sequences of any lengths, packed back to back. */
  JFA_ATTENTION_MODE_JAGGED = 1,
  /** One block of `q_length` queries against each sequence's keys. */
  JFA_ATTENTION_MODE_BROADCAST_QUERY = 2
} jfaAttentionMode;

/** How tiles are dealt to multiprocessors: balanced, or with one step of that
 * left out to measure what the step brings. Results are the same bits. */
typedef enum jfaWorkOrder {
  JFA_WORK_ORDER_BALANCED = 0,
  /** Back and forth only, without a search for who has least to do. */
  JFA_WORK_ORDER_DEALT = 1,
  /** Tile i to multiprocessor i modulo their number. */
  JFA_WORK_ORDER_STRIDED = 2,
  /** Neither sequences nor tiles sorted by their work. */
  JFA_WORK_ORDER_UNSORTED = 3,
  /** Without sections of tiles whose keys and values fit the L2 cache. */
  JFA_WORK_ORDER_UNSECTIONED = 4
} jfaWorkOrder;

/** Strides count elements. The last dimension is contiguous; every row must
 *  start at a multiple of 16 bytes. 0 stands for a packed `[rows, heads, D]`
 *  tensor: `row = heads * head_dim`, `head = head_dim`. */
typedef struct jfaAttentionForwardDescription {
  /** sizeof(jfaAttentionForwardDescription), so that fields can be added. */
  size_t struct_size;
  /** A jfaElementType and a jfaAttentionMode, as plain numbers so that others
   *  can be refused. */
  int32_t element_type;
  int32_t mode;
  int32_t head_dim;
  int32_t num_query_heads;
  /** Divides `num_query_heads`; query head h reads head h / (Hq / Hkv). */
  int32_t num_kv_heads;
  /** Not 0: query i of n_q sees key j of n_k iff j <= i + (n_k - n_q). */
  int32_t causal;
  /** 0 stands for 1 / sqrt(head_dim). */
  double scale;
  int64_t batch_size;
  /** Dense: queries per sequence. Broadcast query: rows of q. Jagged: 0. */
  int64_t q_length;
  /** Dense: keys per sequence. Otherwise 0. */
  int64_t k_length;
  /** Host arrays of batch_size + 1 row numbers, which are not kept. Sequence b
   *  owns rows offsets[b] .. offsets[b+1]. `q_offsets` is for jagged plans,
   *  `k_offsets` for jagged and broadcast-query ones; otherwise null. */
  const int32_t *q_offsets;
  const int32_t *k_offsets;
  int64_t q_row_stride, q_head_stride;
  int64_t k_row_stride, k_head_stride;
  int64_t v_row_stride, v_head_stride;
  int64_t o_row_stride, o_head_stride;
  /** Elements from one head of lse to the next; 0: the number of rows of o. */
  int64_t lse_head_stride;
  /** A jfaWorkOrder; only for measurements other than 0. */
  int32_t work_order;
} jfaAttentionForwardDescription;

typedef struct jfaAttentionForwardPlan jfaAttentionForwardPlan;

/** Checks a description, finds and loads its kernel for GPU `device`, and
 *  orders the work. The description is checked before a driver is needed. */
JFA_EXPORTED jfaStatus jfaAttentionForwardPlanCreate(
    const jfaAttentionForwardDescription *description, int32_t device,
    jfaAttentionForwardPlan **plan, jfaError *error);

/** Frees a plan (or null). Its launches may still be running. */
JFA_EXPORTED jfaStatus
jfaAttentionForwardPlanDestroy(jfaAttentionForwardPlan *plan, jfaError *error);

/** The bytes of device memory, aligned to 16, that the plan works with. */
JFA_EXPORTED jfaStatus jfaAttentionForwardPlanGetWorkspaceSize(
    const jfaAttentionForwardPlan *plan, size_t *bytes, jfaError *error);

/** What the plan will launch. */
JFA_EXPORTED jfaStatus
jfaAttentionForwardPlanGetFacts(const jfaAttentionForwardPlan *plan,
                                jfaKernelFacts *facts, jfaError *error);

/** Fills a workspace, in the order of `stream` (a CUstream; null is the default
 *  stream). It can then serve any number of executions of this plan, also
 *  concurrent ones: they only read it. */
JFA_EXPORTED jfaStatus jfaAttentionForwardPlanInitializeWorkspace(
    const jfaAttentionForwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/** Device pointers. A tensor without rows may be null. */
typedef struct jfaAttentionForwardBuffers {
  /** sizeof(jfaAttentionForwardBuffers). */
  size_t struct_size;
  const void *q;
  const void *k;
  const void *v;
  void *o;
  /** [num_query_heads, rows of o], natural logarithms. */
  float *lse;
  /** The arrays that the plan was made from, on the device; null where the
   *  plan has none. */
  const int32_t *q_offsets;
  const int32_t *k_offsets;
} jfaAttentionForwardBuffers;

/** Launches the plan's kernel on `stream`. Nothing is allocated, copied or
 *  waited for; any number of threads may execute one plan. */
JFA_EXPORTED jfaStatus jfaAttentionForwardExecute(
    const jfaAttentionForwardPlan *plan,
    const jfaAttentionForwardBuffers *buffers, const void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/*===----------------------------------------------------------------------===*
 * Attention, backward
 *===----------------------------------------------------------------------===*/

/** The gradients of a forward. `dout`, the gradient of o, has the shape of o;
 *  dq, dk and dv have those of q, k and v. Strides are as in the forward: in
 *  particular 0 stands for a packed tensor, so a gradient that is one row
 *  expanded to all has to be copied first. */
typedef struct jfaAttentionBackwardDescription {
  /** sizeof(jfaAttentionBackwardDescription). */
  size_t struct_size;
  /** The forward that is differentiated, with the strides of q, k, v, o and
   *  lse. */
  jfaAttentionForwardDescription forward;
  int64_t dout_row_stride, dout_head_stride;
  int64_t dq_row_stride, dq_head_stride;
  int64_t dk_row_stride, dk_head_stride;
  int64_t dv_row_stride, dv_head_stride;
  /** Not 0: the same inputs give the same bits of dq on every run; dk and dv
   *  always have them. */
  int32_t deterministic;
} jfaAttentionBackwardDescription;

typedef struct jfaAttentionBackwardPlan jfaAttentionBackwardPlan;

/** Checks a description, finds and loads its kernels for GPU `device`, and
 *  orders the work. The description is checked before a driver is needed. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanCreate(
    const jfaAttentionBackwardDescription *description, int32_t device,
    jfaAttentionBackwardPlan **plan, jfaError *error);

/** Frees a plan (or null). Its launches may still be running. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanDestroy(
    jfaAttentionBackwardPlan *plan, jfaError *error);

/** The bytes of device memory, aligned to 16, that the plan works with: the
 *  work lists, dq in 32 bits, and 8 bytes for each row of o and query head.
 *  With `deterministic` also a semaphore for each piece of dq, and of queries
 *  that all sequences share several dq. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanGetWorkspaceSize(
    const jfaAttentionBackwardPlan *plan, size_t *bytes, jfaError *error);

/** The kernels that an execution launches one after the other, and one of
 *  them. One whose grid is 0 has nothing to do and is not launched. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanGetLaunchCount(
    const jfaAttentionBackwardPlan *plan, int32_t *count, jfaError *error);
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanGetFacts(
    const jfaAttentionBackwardPlan *plan, int32_t launch, jfaKernelFacts *facts,
    jfaError *error);

/** Fills a workspace, in the order of `stream`. It can then serve any number of
 *  executions of this plan, one after the other: they write to it. Executions
 *  that may overlap need a workspace each. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardPlanInitializeWorkspace(
    const jfaAttentionBackwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/** Device pointers. A tensor without rows may be null. */
typedef struct jfaAttentionBackwardBuffers {
  /** sizeof(jfaAttentionBackwardBuffers). */
  size_t struct_size;
  /** What the forward got and gave; o and lse are read here. */
  jfaAttentionForwardBuffers forward;
  const void *dout;
  /** Rows of no sequence are not written. */
  void *dq;
  void *dk;
  void *dv;
} jfaAttentionBackwardBuffers;

/** Launches the plan's kernels on `stream`. Nothing is allocated, copied or
 *  waited for; any number of threads may execute one plan. */
JFA_EXPORTED jfaStatus jfaAttentionBackwardExecute(
    const jfaAttentionBackwardPlan *plan,
    const jfaAttentionBackwardBuffers *buffers, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/*===----------------------------------------------------------------------===*
 * Block attention, forward
 *===----------------------------------------------------------------------===*/

/** Which tensors are rotated: neighbouring elements 2i and 2i + 1 of a row are
 *  a point of a plane, turned by an angle whose sine and cosine are elements i
 *  and head_dim / 2 + i of the row of `sincos`. */
typedef enum jfaRotary {
  JFA_ROTARY_NONE = 0,
  JFA_ROTARY_QK = 1,
  JFA_ROTARY_QKV = 2
} jfaRotary;

/** Attention within blocks: each sequence is cut into blocks of 64 rows that
 *  restart at its first row, and a row attends to the rows of its own block.
 *  Tensors are [rows, heads, head_dim]; strides are as in the attention
 *  forward. */
typedef struct jfaBlockAttentionForwardDescription {
  /** sizeof(jfaBlockAttentionForwardDescription). */
  size_t struct_size;
  /** A jfaElementType. */
  int32_t element_type;
  int32_t head_dim;
  int32_t num_query_heads;
  /** As many as `num_query_heads`: no kernel shares heads of k and v. */
  int32_t num_kv_heads;
  /** 0 stands for 1 / sqrt(head_dim). */
  double scale;
  int64_t batch_size;
  /** Host array of batch_size + 1 row numbers, which is not kept. Sequence b
   *  owns rows offsets[b] .. offsets[b+1] of all tensors. */
  const int32_t *offsets;
  int64_t q_row_stride, q_head_stride;
  int64_t k_row_stride, k_head_stride;
  int64_t v_row_stride, v_head_stride;
  int64_t o_row_stride, o_head_stride;
  /** Of `sincos`, [rows, head_dim] of the tensors' type; 0: head_dim. */
  int64_t sincos_row_stride;
  /** A jfaRotary: which tensors the kernel rotates before it multiplies them,
   *  in fp32 and rounded once. */
  int32_t rotary;
} jfaBlockAttentionForwardDescription;

typedef struct jfaBlockAttentionForwardPlan jfaBlockAttentionForwardPlan;

/** Checks a description, finds and loads its kernel for GPU `device`, and
 *  counts the blocks. The description is checked before a driver is needed. */
JFA_EXPORTED jfaStatus jfaBlockAttentionForwardPlanCreate(
    const jfaBlockAttentionForwardDescription *description, int32_t device,
    jfaBlockAttentionForwardPlan **plan, jfaError *error);

/** Frees a plan (or null). Its launches may still be running. */
JFA_EXPORTED jfaStatus jfaBlockAttentionForwardPlanDestroy(
    jfaBlockAttentionForwardPlan *plan, jfaError *error);

/** The bytes of device memory, aligned to 16, that the plan works with. */
JFA_EXPORTED jfaStatus jfaBlockAttentionForwardPlanGetWorkspaceSize(
    const jfaBlockAttentionForwardPlan *plan, size_t *bytes, jfaError *error);

/** What the plan will launch; `num_items` counts the blocks of all sequences
 *  and heads. */
JFA_EXPORTED jfaStatus
jfaBlockAttentionForwardPlanGetFacts(const jfaBlockAttentionForwardPlan *plan,
                                     jfaKernelFacts *facts, jfaError *error);

/** Fills a workspace, in the order of `stream`. It can then serve any number of
 *  executions of this plan, also concurrent ones: they only read it. */
JFA_EXPORTED jfaStatus jfaBlockAttentionForwardPlanInitializeWorkspace(
    const jfaBlockAttentionForwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/** Device pointers. They may be null if there are no rows. */
typedef struct jfaBlockAttentionForwardBuffers {
  /** sizeof(jfaBlockAttentionForwardBuffers). */
  size_t struct_size;
  const void *q;
  const void *k;
  const void *v;
  /** Rows of no sequence are not written. */
  void *o;
  /** Null where the plan rotates nothing. */
  const void *sincos;
} jfaBlockAttentionForwardBuffers;

/** Launches the plan's kernel on `stream`. Nothing is allocated, copied or
 *  waited for; any number of threads may execute one plan. */
JFA_EXPORTED jfaStatus jfaBlockAttentionForwardExecute(
    const jfaBlockAttentionForwardPlan *plan,
    const jfaBlockAttentionForwardBuffers *buffers, const void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/*===----------------------------------------------------------------------===*
 * Block attention, backward
 *===----------------------------------------------------------------------===*/

/** The gradients of a forward, which needs to leave nothing for them. `dout`,
 *  the gradient of o, has the shape of q, and so have dq, dk and dv. */
typedef struct jfaBlockAttentionBackwardDescription {
  /** sizeof(jfaBlockAttentionBackwardDescription). */
  size_t struct_size;
  /** The forward that is differentiated. Strides of o mean nothing. What it
   *  rotates comes here as it was given to it, and is rotated again. */
  jfaBlockAttentionForwardDescription forward;
  int64_t dout_row_stride, dout_head_stride;
  int64_t dq_row_stride, dq_head_stride;
  int64_t dk_row_stride, dk_head_stride;
  int64_t dv_row_stride, dv_head_stride;
  /** A jfaRotary: which tensors the caller has rotated before the forward, so
   *  that they come here rotated. The gradients are those of the tensors before
   *  in either case. Not both this and that of the forward. */
  int32_t rotary;
} jfaBlockAttentionBackwardDescription;

typedef struct jfaBlockAttentionBackwardPlan jfaBlockAttentionBackwardPlan;

/** Checks a description, finds and loads its kernel for GPU `device`, and
 *  counts the blocks. The description is checked before a driver is needed. */
JFA_EXPORTED jfaStatus jfaBlockAttentionBackwardPlanCreate(
    const jfaBlockAttentionBackwardDescription *description, int32_t device,
    jfaBlockAttentionBackwardPlan **plan, jfaError *error);

/** Frees a plan (or null). Its launches may still be running. */
JFA_EXPORTED jfaStatus jfaBlockAttentionBackwardPlanDestroy(
    jfaBlockAttentionBackwardPlan *plan, jfaError *error);

/** The bytes of device memory, aligned to 16, that the plan works with. */
JFA_EXPORTED jfaStatus jfaBlockAttentionBackwardPlanGetWorkspaceSize(
    const jfaBlockAttentionBackwardPlan *plan, size_t *bytes, jfaError *error);

/** What the plan will launch; `num_items` counts the blocks of all sequences
 *  and heads. */
JFA_EXPORTED jfaStatus
jfaBlockAttentionBackwardPlanGetFacts(const jfaBlockAttentionBackwardPlan *plan,
                                      jfaKernelFacts *facts, jfaError *error);

/** Fills a workspace, in the order of `stream`. It can then serve any number of
 *  executions of this plan, also concurrent ones: they only read it. */
JFA_EXPORTED jfaStatus jfaBlockAttentionBackwardPlanInitializeWorkspace(
    const jfaBlockAttentionBackwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

/** Device pointers. They may be null if there are no rows. */
typedef struct jfaBlockAttentionBackwardBuffers {
  /** sizeof(jfaBlockAttentionBackwardBuffers). */
  size_t struct_size;
  /** As the forward got them. */
  const void *q;
  const void *k;
  const void *v;
  const void *dout;
  /** Rows of no sequence are not written. */
  void *dq;
  void *dk;
  void *dv;
  /** Null if nothing is rotated. */
  const void *sincos;
} jfaBlockAttentionBackwardBuffers;

/** Launches the plan's kernel on `stream`. Nothing is allocated, copied or
 *  waited for; any number of threads may execute one plan. */
JFA_EXPORTED jfaStatus jfaBlockAttentionBackwardExecute(
    const jfaBlockAttentionBackwardPlan *plan,
    const jfaBlockAttentionBackwardBuffers *buffers, const void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error);

#ifdef __cplusplus
}
#endif

#endif /* JFA_C_RUNTIME_H */

#include "jfa-c/Runtime.h"

#include <stdio.h>

/* Attention of 4 sequences of 4096 tokens, 16 heads of dimension 128. */
jfaStatus make_plan(jfaAttentionForwardPlan **plan, size_t *workspace_bytes,
                    jfaError *error) {
  jfaAttentionForwardDescription shape = {
      .struct_size = sizeof(shape),
      .element_type = JFA_ELEMENT_TYPE_BF16,
      .mode = JFA_ATTENTION_MODE_DENSE,
      .head_dim = 128,
      .num_query_heads = 16,
      .num_kv_heads = 16,
      .causal = 1,
      .batch_size = 4,
      .q_length = 4096,
      .k_length = 4096,
  };
  jfaStatus status = jfaAttentionForwardPlanCreate(&shape, 0, plan, error);
  if (status != JFA_STATUS_SUCCESS) {
    return status;
  }
  return jfaAttentionForwardPlanGetWorkspaceSize(*plan, workspace_bytes, error);
}

/* All pointers are to device memory, `stream` is a CUstream. The workspace is
   filled once by jfaAttentionForwardPlanInitializeWorkspace. */
jfaStatus launch(const jfaAttentionForwardPlan *plan, const void *q,
                 const void *k, const void *v, void *o, float *lse,
                 const void *workspace, size_t workspace_bytes, void *stream,
                 jfaError *error) {
  jfaAttentionForwardBuffers buffers = {.struct_size = sizeof(buffers),
                                        .q = q,
                                        .k = k,
                                        .v = v,
                                        .o = o,
                                        .lse = lse};
  return jfaAttentionForwardExecute(plan, &buffers, workspace, workspace_bytes,
                                    stream, error);
}

int main(void) {
  jfaAttentionForwardPlan *plan = NULL;
  size_t bytes = 0;
  jfaError error;
  if (make_plan(&plan, &bytes, &error) != JFA_STATUS_SUCCESS) {
    printf("%s: %s\n", jfaStatusGetName(error.status), error.message);
    return 0;
  }
  printf("the workspace takes %zu bytes\n", bytes);
  return jfaAttentionForwardPlanDestroy(plan, &error);
}

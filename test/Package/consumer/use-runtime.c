/*===- use-runtime.c - A program that launches kernels ----------*- C -*-===*\
|*
|* Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "jfa-c/Runtime.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  jfaAttentionForwardDescription description;
  jfaAttentionForwardPlan *plan = NULL;
  jfaAttentionBackwardDescription backward;
  jfaAttentionBackwardPlan *backward_plan = NULL;
  jfaError error;
  memset(&description, 0, sizeof(description));
  description.struct_size = sizeof(description);
  description.head_dim = 96;
  if (jfaAttentionForwardPlanCreate(&description, 0, &plan, &error) ==
      JFA_STATUS_SUCCESS) {
    return 1;
  }
  printf("%s: %s\n", error.argument, error.message);
  memset(&backward, 0, sizeof(backward));
  backward.struct_size = sizeof(backward);
  backward.forward = description;
  backward.deterministic = 1;
  if (jfaAttentionBackwardPlanCreate(&backward, 0, &backward_plan, &error) ==
      JFA_STATUS_SUCCESS) {
    return 1;
  }
  return 0;
}

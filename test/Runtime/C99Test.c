/* C99Test.c - The C interface from a C99 program
 *
 * Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */

#include "jfa-c/Runtime.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  jfaError error;
  jfaAttentionForwardPlan *plan = NULL;
  jfaAttentionForwardDescription description;
  memset(&description, 0, sizeof(description));
  description.struct_size = sizeof(description);
  description.head_dim = 96;
  if (jfaAttentionForwardPlanCreate(&description, 0, &plan, &error) !=
          JFA_STATUS_UNSUPPORTED ||
      strcmp(error.argument, "head_dim") != 0 || plan != NULL) {
    fprintf(stderr, "unexpected answer: %s\n", error.message);
    return 1;
  }
  return jfaAttentionForwardPlanDestroy(plan, NULL);
}

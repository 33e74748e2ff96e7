/*===- use-compiler.c - A program that compiles kernels ---------*- C -*-===*\
|*
|* Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "jfa-c/Compiler.h"

#include <stdio.h>

static char source[1 << 20];

static void print(const jfaDiagnostic *diagnostic, void *user_data) {
  (void)user_data;
  fprintf(stderr, "%s:%u:%u: %s\n", diagnostic->file, diagnostic->line,
          diagnostic->column, diagnostic->message);
}

int main(int argc, char **argv) {
  const jfaBinding bindings[] = {{"HEAD_DIM", "64"}, {"CAUSAL", "true"}};
  const jfaSpecialization specialization = {"sm_90a", bindings, 2};
  jfaCompileOptions options;
  jfaCompileResult *result;
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  size_t length = file ? fread(source, 1, sizeof(source), file) : 0;
  jfaCompileOptionsInitialize(&options);
  options.stage = JFA_COMPILE_STAGE_PTX;
  options.specializations = &specialization;
  options.num_specializations = 1;
  if (jfaCompile(source, length, &options, print, NULL, &result) !=
      JFA_COMPILE_STATUS_SUCCESS) {
    return 1;
  }
  fputs(jfaCompileResultGetOutput(result, NULL), stdout);
  jfaCompileResultDestroy(result);
  return 0;
}

/*===- CompilerTest.c - The compiler from a C99 program -------*- C -*-===*\
|*
|* Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "jfa-c/Compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "failed: %s\n", what);
    ++failures;
  }
}

/** The first diagnostic of a compilation, and how many there were. */
typedef struct Seen {
  int count;
  jfaSeverity severity;
  char file[64];
  unsigned line;
  char message[512];
} Seen;

static void remember(const jfaDiagnostic *diagnostic, void *user_data) {
  Seen *seen = user_data;
  if (seen->count++ == 0) {
    seen->severity = diagnostic->severity;
    seen->line = diagnostic->line;
    snprintf(seen->file, sizeof(seen->file), "%s", diagnostic->file);
    snprintf(seen->message, sizeof(seen->message), "%s", diagnostic->message);
  }
}

static char *readFile(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text;
  long length;
  if (!file) {
    fprintf(stderr, "cannot open %s\n", path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  length = ftell(file);
  rewind(file);
  text = malloc((size_t)length);
  *size = fread(text, 1, (size_t)length, file);
  fclose(file);
  return text;
}

/** Options for one kernel. */
static jfaCompileOptions optionsFor(const jfaSpecialization *specialization,
                                    jfaCompileStage stage) {
  jfaCompileOptions options;
  jfaCompileOptionsInitialize(&options);
  options.stage = stage;
  options.specializations = specialization;
  options.num_specializations = 1;
  options.source_name = "kernel.mlir";
  return options;
}

static void testPTX(const char *source, size_t length) {
  jfaBinding bindings[2] = {{"HEAD_DIM", "64"}, {"CAUSAL", "true"}};
  jfaSpecialization specialization = {"sm_90a", bindings, 2};
  jfaCompileOptions options =
      optionsFor(&specialization, JFA_COMPILE_STAGE_PTX);
  jfaCompileResult *result = NULL;
  Seen seen = {0};
  size_t size = 0;
  const char *ptx;
  jfaCompileStatus status =
      jfaCompile(source, length, &options, remember, &seen, &result);
  check(status == JFA_COMPILE_STATUS_SUCCESS, seen.message);
  ptx = jfaCompileResultGetOutput(result, &size);
  check(strlen(ptx) == size, "PTX is text of the size that is told");
  check(strstr(ptx, ".target sm_90a") != NULL, "PTX is for sm_90a");
  check(strstr(ptx, "wgmma") != NULL, "PTX has the kernel");
  jfaCompileResultGetManifest(result, &size);
  check(size == 0, "there is no manifest without a cubin");
  jfaCompileResultDestroy(result);
}

/** Two architectures in one call, assembled by what stands for ptxas. */
static void testBundle(const char *path, const char *ptxas) {
  size_t length, size;
  char *source = readFile(path, &length);
  jfaSpecialization specializations[2] = {{"sm_90a", NULL, 0},
                                          {"sm_100a", NULL, 0}};
  jfaCompileOptions options =
      optionsFor(specializations, JFA_COMPILE_STAGE_BUNDLE);
  jfaCompileResult *result = NULL;
  Seen seen = {0};
  const char *bytes;
  options.num_specializations = 2;
  options.ptxas_path = ptxas;
  check(jfaCompile(source, length, &options, remember, &seen, &result) ==
            JFA_COMPILE_STATUS_SUCCESS,
        seen.message);
  bytes = jfaCompileResultGetOutput(result, &size);
  check(size > 8 && memcmp(bytes, "JFABUNDL", 8) == 0, "there is a bundle");
  bytes = jfaCompileResultGetManifest(result, NULL);
  check(strstr(bytes, "sm_90a") && strstr(bytes, "sm_100a"),
        "the manifest has both architectures");
  jfaCompileResultDestroy(result);
  free(source);
}

/** Compiles and expects to be refused with words from the message. */
static void refuse(const char *source, const jfaCompileOptions *options,
                   jfaCompileStatus expected, const char *words, Seen *seen) {
  jfaCompileResult *result = (jfaCompileResult *)seen;
  jfaCompileStatus status;
  memset(seen, 0, sizeof(*seen));
  status = jfaCompile(source, source ? strlen(source) : 0, options, remember,
                      seen, &result);
  check(status == expected, words);
  check(result == NULL, "a refused call has no result");
  check(seen->count > 0 && seen->severity == JFA_SEVERITY_ERROR, words);
  if (!strstr(seen->message, words)) {
    fprintf(stderr, "expected '%s', but got: %s\n", words, seen->message);
    ++failures;
  }
}

static void testRefusals(void) {
  jfaBinding bindings[2] = {{"A", "1"}, {"A", "2"}};
  jfaSpecialization specialization = {"sm_90a", NULL, 0};
  jfaCompileOptions options =
      optionsFor(&specialization, JFA_COMPILE_STAGE_NVVM);
  Seen seen;

  refuse("\n  tlx.nonsense", &options, JFA_COMPILE_STATUS_FAILED, "nonsense",
         &seen);
  check(seen.line == 2 && strcmp(seen.file, "kernel.mlir") == 0,
        "an error has its place");
  refuse(NULL, &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT,
         "'source': expected a pointer, but got null", &seen);
  check(seen.line == 0 && seen.file[0] == 0, "an argument has no place");
  refuse("", NULL, JFA_COMPILE_STATUS_INVALID_ARGUMENT, "'options'", &seen);

  specialization.arch = "sm_1";
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT,
         "'arch': expected one of sm_90a", &seen);
  specialization.arch = "sm_90a";
  specialization.bindings = bindings;
  specialization.num_bindings = 2;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT,
         "'bindings': expected one value for the parameter 'A'", &seen);
  specialization.num_bindings = 0;
  options.stage = 6;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT, "'stage'", &seen);
  options.stage = JFA_COMPILE_STAGE_PTX;
  options.opt_level = 4;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT,
         "'opt_level': expected 0 to 3, but got 4", &seen);
  options.opt_level = 1;
  options.ptx_version = 79;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT, "'ptx_version'",
         &seen);
  options.ptx_version = 0;
  options.num_specializations = 2;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT,
         "'num_specializations': expected 1, but got 2", &seen);
  options.num_specializations = 1;
  options.struct_size = 1;
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT, "'struct_size'",
         &seen);
  options = optionsFor(&specialization, JFA_COMPILE_STAGE_CUBIN);
  options.ptxas_path = "/does/not/exist";
  refuse("", &options, JFA_COMPILE_STATUS_INVALID_ARGUMENT, "ptxas", &seen);
  /* Without a callback, nobody is told. */
  check(jfaCompile(NULL, 0, NULL, NULL, NULL, NULL) ==
            JFA_COMPILE_STATUS_INVALID_ARGUMENT,
        "a null result is refused");
}

int main(int argc, char **argv) {
  size_t length;
  char *source;
  if (argc != 4) {
    fprintf(stderr, "expected two sources and ptxas\n");
    return 1;
  }
  check(jfaCompilerGetVersion()[0] != 0, "there is a version");
  source = readFile(argv[1], &length);
  testPTX(source, length);
  testBundle(argv[2], argv[3]);
  testRefusals();
  jfaCompileResultDestroy(NULL);
  free(source);
  return failures != 0;
}

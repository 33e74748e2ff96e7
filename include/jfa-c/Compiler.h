/*===- jfa-c/Compiler.h - C interface of JFA's compiler -------*- C -*-===*\
|*
|* Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*
|*
|* Compiles kernels: the source of one goes in, PTX, a cubin or a bundle for
|* the runtime comes out. Nothing of MLIR or LLVM is visible here.
|*
|* The functions may be called from several threads at once. Nothing that a
|* caller passes is kept after a call returns.
|*
\*===----------------------------------------------------------------------===*/

#ifndef JFA_C_COMPILER_H
#define JFA_C_COMPILER_H

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

/** The version of the compiler, such as "0.1.0". */
JFA_EXPORTED const char *jfaCompilerGetVersion(void);

/*===----------------------------------------------------------------------===*
 * Diagnostics
 *===----------------------------------------------------------------------===*/

typedef enum jfaSeverity {
  JFA_SEVERITY_ERROR = 0,
  JFA_SEVERITY_WARNING = 1,
  JFA_SEVERITY_REMARK = 2,
  /** Belongs to the diagnostic before it. */
  JFA_SEVERITY_NOTE = 3
} jfaSeverity;

typedef struct jfaDiagnostic {
  jfaSeverity severity;
  /** The name that the source was given; empty if no place in it is meant. */
  const char *file;
  /** Both count from 1; 0 if no place is meant. */
  uint32_t line, column;
  const char *message;
} jfaDiagnostic;

/** Called on the thread that called jfaCompile(); the diagnostic lives until
 *  the callback returns. */
typedef void (*jfaDiagnosticCallback)(const jfaDiagnostic *diagnostic,
                                      void *user_data);

/*===----------------------------------------------------------------------===*
 * Compilation
 *===----------------------------------------------------------------------===*/

typedef enum jfaCompileStatus {
  JFA_COMPILE_STATUS_SUCCESS = 0,
  /** An argument is null or out of its range; nothing was compiled. */
  JFA_COMPILE_STATUS_INVALID_ARGUMENT = 1,
  /** The source, or the kernel that it gives, was refused. */
  JFA_COMPILE_STATUS_FAILED = 2
} jfaCompileStatus;

/** Where a compilation stops. */
typedef enum jfaCompileStage {
  /** The kernel with its parameters bound, as text. */
  JFA_COMPILE_STAGE_TLX = 0,
  /** MLIR's LLVM and NVVM dialects, as text. */
  JFA_COMPILE_STAGE_NVVM = 1,
  /** LLVM IR, as text. */
  JFA_COMPILE_STAGE_LLVM = 2,
  JFA_COMPILE_STAGE_PTX = 3,
  JFA_COMPILE_STAGE_CUBIN = 4,
  /** What the runtime loads: any number of kernels with their manifests. */
  JFA_COMPILE_STAGE_BUNDLE = 5
} jfaCompileStage;

/** A value for a parameter of the kernel, such as "HEAD_DIM" and "128". */
typedef struct jfaBinding {
  const char *name;
  const char *value;
} jfaBinding;

/** One kernel to make out of the source. */
typedef struct jfaSpecialization {
  /** Such as "sm_90a". */
  const char *arch;
  /** Parameters that are not bound take their defaults. */
  const jfaBinding *bindings;
  size_t num_bindings;
} jfaSpecialization;

/** Fill it with jfaCompileOptionsInitialize() first. */
typedef struct jfaCompileOptions {
  /** sizeof(jfaCompileOptions), so that fields can be added. */
  size_t struct_size;
  /** A jfaCompileStage, as a plain number so that others can be refused. */
  int32_t stage;
  /** Exactly one unless the stage is the bundle. */
  const jfaSpecialization *specializations;
  size_t num_specializations;
  /** What diagnostics call the source; null: "source". */
  const char *source_name;
  /** NVIDIA's assembler; null: looked up in JFA_PTXAS, PATH, CUDA_HOME/bin and
   *  CUDA_PATH/bin. */
  const char *ptxas_path;
  /** The limit for one run of ptxas. */
  uint32_t ptxas_timeout_seconds;
  /** LLVM's passes before code generation: 0 none, 1 a few cheap ones, 2 and 3
   *  LLVM's own pipelines. */
  int32_t opt_level;
  /** PTX version, 86 for 8.6; 0: the architecture's own. */
  uint32_t ptx_version;
  /** Not 0: keep source lines for profilers. */
  int32_t line_info;
  /** Not 0: register spills and stack frames are only warnings. */
  int32_t allow_spills;
  /** Not 0: serialised wgmma and ignored setmaxnreg are only warnings. */
  int32_t allow_performance_loss;
  /** Not 0: crashes and fatal errors of LLVM's code generator are diagnostics.
   *  That needs signal handlers of the whole process while it runs, and leaks
   *  what it held. */
  int32_t recover_from_fatal_errors;
} jfaCompileOptions;

/** Sets every option to its default: a cubin, and no specialization yet. Does
 *  nothing with null. */
JFA_EXPORTED void jfaCompileOptionsInitialize(jfaCompileOptions *options);

typedef struct jfaCompileResult jfaCompileResult;

/** Compiles `length` bytes of MLIR, text or bytecode. Whatever goes wrong is
 *  reported to `callback`, which may be null, and leaves null in `result`. */
JFA_EXPORTED jfaCompileStatus jfaCompile(const char *source, size_t length,
                                         const jfaCompileOptions *options,
                                         jfaDiagnosticCallback callback,
                                         void *user_data,
                                         jfaCompileResult **result);

/** The text or the bytes that the stage gives, followed by a 0 that `size` does
 *  not count. Lives as long as the result. */
JFA_EXPORTED const char *
jfaCompileResultGetOutput(const jfaCompileResult *result, size_t *size);

/** The manifest as JSON, empty if no cubin was made: see docs/Manifest.md. */
JFA_EXPORTED const char *
jfaCompileResultGetManifest(const jfaCompileResult *result, size_t *size);

/** Frees a result, or null. */
JFA_EXPORTED void jfaCompileResultDestroy(jfaCompileResult *result);

#ifdef __cplusplus
}
#endif

#endif /* JFA_C_COMPILER_H */

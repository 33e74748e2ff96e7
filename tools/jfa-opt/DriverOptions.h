//===- DriverOptions.h - The options of jfa-opt's driver --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command-line options, and what they ask for once they are checked.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_OPT_DRIVEROPTIONS_H
#define JFA_TOOLS_JFA_OPT_DRIVEROPTIONS_H

#include "jfa/Target/Driver/Compile.h"

#include "llvm/Support/CommandLine.h"

namespace mlir::jfa {

struct DriverOptions {
  llvm::cl::OptionCategory category{
      "JFA driver options",
      "With any of these, jfa-opt compiles a kernel instead of running passes"};

  llvm::cl::list<std::string> archs{
      "arch", llvm::cl::desc("Architecture to compile for; repeatable"),
      llvm::cl::value_desc("sm_NNa"), llvm::cl::CommaSeparated,
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> defines{
      "D", llvm::cl::desc("Value of a parameter; repeatable"),
      llvm::cl::value_desc("NAME=VALUE"), llvm::cl::Prefix,
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> specializations{
      "specialize",
      llvm::cl::desc("Values of one kernel of a bundle, on top of those given "
                     "with -D; repeatable"),
      llvm::cl::value_desc("NAME=VALUE,..."), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> emit{
      "emit",
      llvm::cl::desc("What to write: tlx, nvvm, llvm, ptx, cubin (the default "
                     "for one kernel) or bundle (the default for several)"),
      llvm::cl::value_desc("STAGE"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> listParams{
      "list-params", llvm::cl::desc("List the parameters of the kernels"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> manifest{
      "manifest",
      llvm::cl::desc("Where to write the manifest (default: beside the output, "
                     "with the extension .json)"),
      llvm::cl::value_desc("FILE"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> ptxas{
      "ptxas",
      llvm::cl::desc("NVIDIA's assembler (default: $JFA_PTXAS, else in PATH, "
                     "$CUDA_HOME/bin or $CUDA_PATH/bin)"),
      llvm::cl::value_desc("FILE"), llvm::cl::cat(category)};
  llvm::cl::opt<unsigned> ptxasTimeout{
      "ptxas-timeout", llvm::cl::desc("Limit for one run of ptxas"),
      llvm::cl::value_desc("SECONDS"), llvm::cl::init(300),
      llvm::cl::cat(category)};
  llvm::cl::opt<unsigned> ptxVersion{
      "ptx-version",
      llvm::cl::desc("PTX version, 86 for 8.6 (default: the architecture's)"),
      llvm::cl::value_desc("NN"), llvm::cl::init(0), llvm::cl::cat(category)};
  llvm::cl::opt<unsigned> optLevel{
      "opt-level",
      llvm::cl::desc("LLVM passes before code generation: 0 none, 1 a few "
                     "cheap ones (default), 2 and 3 LLVM's own pipelines"),
      llvm::cl::value_desc("N"), llvm::cl::init(1), llvm::cl::cat(category)};
  llvm::cl::opt<bool> lineInfo{
      "lineinfo", llvm::cl::desc("Keep source lines for profilers"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> allowSpills{
      "allow-spills",
      llvm::cl::desc("Register spills and stack frames are only warnings"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> allowPerformanceLoss{
      "allow-performance-loss",
      llvm::cl::desc("Serialised wgmma and ignored setmaxnreg are only "
                     "warnings"),
      llvm::cl::cat(category)};

  llvm::cl::opt<bool> emulate{
      "emulate",
      llvm::cl::desc("Execute the PTX on the CPU as jfa-emu does, with its "
                     "options after '--' and its exit codes; -o keeps the PTX"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> verifyProtocol{
      "verify-protocol",
      llvm::cl::desc("Whether to verify barriers, phases and accesses by "
                     "running the kernel: on (default); strict, where it is "
                     "an error if that cannot be done in full; or off, for "
                     "experiments. The manifest says what was done"),
      llvm::cl::value_desc("on|strict|off"), llvm::cl::init("on"),
      llvm::cl::cat(category)};

  /// The options, registered on the first call. They are not global variables,
  /// so that a tool which never asks for them does not have them.
  static DriverOptions &get();

  /// Checks the options and translates them. Returns what is wrong with them,
  /// or nothing.
  std::string translate(CompileOptions &options) const;

private:
  std::string translateSpecializations(CompileOptions &options) const;
  std::string translateStage(CompileOptions &options) const;
};

} // namespace mlir::jfa

#endif // JFA_TOOLS_JFA_OPT_DRIVEROPTIONS_H

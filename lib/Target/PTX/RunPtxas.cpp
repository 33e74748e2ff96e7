//===- RunPtxas.cpp - Running ptxas -----------------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs several ptxas at a time, each under a time limit. The children are
// polled from one thread: LLVM's own wait with a limit uses SIGALRM, of which
// a process has only one.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

using namespace mlir;
using namespace mlir::jfa;

namespace {
using Clock = std::chrono::steady_clock;

/// A file in the temporary directory that goes away with this object.
class ScratchFile {
public:
  std::string create(StringRef suffix) {
    SmallString<128> created;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("jfa", suffix, created)) {
      return "expected to create a temporary file, but got: " + error.message();
    }
    path = created.str().str();
    remover.setFile(path);
    return {};
  }

  std::string write(StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      os << text;
      os.close();
      error = os.error();
      os.clear_error();
    }
    return error
               ? "expected to write '" + path + "', but got: " + error.message()
               : std::string();
  }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

  std::string path;

private:
  llvm::FileRemover remover;
};

/// One child process whose output goes to a file.
class Child {
public:
  std::string start(StringRef program, ArrayRef<std::string> arguments) {
    if (std::string error = output.create("log"); !error.empty()) {
      return error;
    }
    SmallVector<StringRef> argv = {program};
    argv.append(arguments.begin(), arguments.end());
    std::optional<StringRef> redirects[] = {
        StringRef(""), StringRef(output.path), StringRef(output.path)};
    std::string message;
    bool failed = false;
    process = llvm::sys::ExecuteNoWait(program, argv, std::nullopt, redirects,
                                       0, &message, &failed);
    started = Clock::now();
    return failed || !process.Pid
               ? "expected to run '" + program.str() + "', but got: " + message
               : std::string();
  }

  /// Returns whether the child has ended, by itself or because its time is up.
  bool poll(unsigned timeoutSeconds) {
    std::string message;
    llvm::sys::ProcessInfo ended =
        llvm::sys::Wait(process, /*SecondsToWait=*/0u, &message);
    if (ended.Pid) {
      exitCode = ended.ReturnCode;
      return true;
    }
    if (Clock::now() - started < std::chrono::seconds(timeoutSeconds)) {
      return false;
    }
    ::kill(process.Pid, SIGKILL);
    (void)llvm::sys::Wait(process, std::nullopt);
    timedOut = true;
    return true;
  }

  ScratchFile output;
  int exitCode = -1;
  bool timedOut = false;

private:
  llvm::sys::ProcessInfo process;
  Clock::time_point started;
};

/// A job with the files of its run.
struct Run {
  PtxasJob *job;
  ScratchFile input, cubin;
  Child child;
};
} // namespace

static std::string startRun(Run &run, const PtxasOptions &options) {
  std::string error = run.input.create("ptx");
  if (error.empty()) {
    error = run.input.write(run.job->ptx);
  }
  if (error.empty()) {
    error = run.cubin.create("cubin");
  }
  if (!error.empty()) {
    return error;
  }
  SmallVector<std::string> arguments = {"-v", "-arch=" + run.job->arch};
  if (options.lineInfo) {
    arguments.push_back("-lineinfo");
  }
  arguments.append({run.input.path, "-o", run.cubin.path});
  return run.child.start(options.path, arguments);
}

static void finishRun(Run &run, const PtxasOptions &options) {
  PtxasJob &job = *run.job;
  std::string text = run.child.output.read();
  job.log = parsePtxasLog(text);
  if (run.child.timedOut) {
    job.failure = "expected ptxas to end within " +
                  std::to_string(options.timeoutSeconds) +
                  " s, but it was still running";
    return;
  }
  if (run.child.exitCode == 0) {
    job.cubin = run.cubin.read();
    job.succeeded = !job.cubin.empty();
  }
  if (!job.succeeded && job.log.errors.empty()) {
    job.failure = "expected ptxas to write a cubin, but it ended with code " +
                  std::to_string(run.child.exitCode) + ": " +
                  StringRef(text).trim().str();
  }
}

/// Ends the runs that are over and removes them from `active`.
static void reap(std::vector<std::unique_ptr<Run>> &active,
                 const PtxasOptions &options) {
  llvm::erase_if(active, [&](std::unique_ptr<Run> &run) {
    if (!run->child.poll(options.timeoutSeconds)) {
      return false;
    }
    finishRun(*run, options);
    return true;
  });
}

static std::string queryVersion(const PtxasOptions &options) {
  Child child;
  if (!child.start(options.path, {"--version"}).empty()) {
    return {};
  }
  while (!child.poll(options.timeoutSeconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return parsePtxasVersion(child.output.read());
}

std::string mlir::jfa::runPtxas(MutableArrayRef<PtxasJob> jobs,
                                const PtxasOptions &options) {
  unsigned limit = options.parallelism
                       ? options.parallelism
                       : llvm::hardware_concurrency().compute_thread_count();
  std::vector<std::unique_ptr<Run>> active;
  PtxasJob *next = jobs.begin();
  std::string version;
  bool versionKnown = false;
  while (next != jobs.end() || !active.empty()) {
    while (next != jobs.end() && active.size() < limit) {
      auto run = std::make_unique<Run>();
      run->job = next++;
      run->job->failure = startRun(*run, options);
      if (run->job->failure.empty()) {
        active.push_back(std::move(run));
      }
    }
    if (!versionKnown) {
      version = queryVersion(options);
      versionKnown = true;
    }
    reap(active, options);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return version;
}

//===- Launch.cpp - Runs the clusters of a grid -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Launch.h"
#include "jfa/Emu/ClusterQueue.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static uint64_t product(const std::array<uint32_t, 3> &extents) {
  return uint64_t(extents[0]) * extents[1] * extents[2];
}

std::string emu::checkLaunch(const Code &code, const LaunchShape &shape) {
  uint64_t threads = product(shape.block);
  if (threads == 0 || threads > 1024) {
    return "expected 1 to 1024 threads, but got " + std::to_string(threads);
  }
  const Function &function = *code.function;
  for (unsigned i = 0; i < 3 && function.isExactThreads; ++i) {
    if (function.threads[i] != shape.block[i]) {
      return "expected the threads that '.reqntid' names";
    }
  }
  if (product(shape.cluster) == 0 || product(shape.cluster) > 16) {
    return "expected 1 to 16 CTAs of a cluster";
  }
  for (unsigned i = 0; i < 3; ++i) {
    if (shape.grid[i] > (1u << 20) || shape.grid[i] % shape.cluster[i] != 0) {
      return "expected a grid of whole clusters";
    }
  }
  uint64_t bytes = code.sharedBytes - kSharedBase + shape.dynamicShared;
  if (bytes > 227 * 1024) {
    return "expected at most 232448 bytes of shared memory (" +
           code.module->target + "), but got " + std::to_string(bytes);
  }
  uint64_t registers =
      uint64_t(code.numRegisters) * 256 * threads * product(shape.cluster) / 32;
  return registers < (uint64_t(1) << 32) ? ""
                                         : "expected a kernel with fewer "
                                           "registers";
}

uint32_t emu::getLaunchRegisters(const Code &code, const LaunchShape &shape) {
  const Function &function = *code.function;
  uint64_t threads = product(shape.block);
  if (function.maxRegisters || !function.minCtas || !threads) {
    return function.maxRegisters;
  }
  // Of 64 K, in units of 8; an instruction can name 255.
  uint64_t share = 65536 / (threads * function.minCtas) / 8 * 8;
  return uint32_t(std::min<uint64_t>(share, 255));
}

uint64_t emu::launch(
    const Code &code, const LaunchShape &shape,
    std::vector<uint8_t> &parameters, GlobalMemory &global,
    const MachineOptions &options, sim::Schedule &schedule, sim::Report &report,
    llvm::function_ref<void(uint32_t cluster, uint32_t clusters)> progress) {
  ClusterQueue queue(options.residentClusters);
  for (uint32_t z = 0; z < shape.grid[2]; z += shape.cluster[2]) {
    for (uint32_t y = 0; y < shape.grid[1]; y += shape.cluster[1]) {
      for (uint32_t x = 0; x < shape.grid[0]; x += shape.cluster[0]) {
        queue.add({x, y, z});
      }
    }
  }
  MachineOptions all = options;
  all.queue = &queue;
  uint64_t steps = 0;
  for (size_t number = 0; number < queue.size() && report.empty(); ++number) {
    if (progress) {
      progress(uint32_t(number), uint32_t(queue.size()));
    }
    if (auto first = queue.launch(number)) {
      Machine machine(code, shape, *first, parameters, global, all, report);
      machine.run(schedule);
      steps += machine.getSteps();
    }
  }
  return steps;
}

/// Where in the source the instruction of a line comes from.
static std::string getSource(const Code &code, uint32_t line) {
  for (const Instruction &instruction : code.instructions) {
    if (instruction.line != line) {
      continue;
    }
    const Statement &statement =
        code.function->statements[instruction.statement];
    auto file = code.module->files.find(statement.file);
    if (statement.sourceLine == 0 || file == code.module->files.end()) {
      return "";
    }
    return " [" + file->second + ":" + std::to_string(statement.sourceLine) +
           ":" + std::to_string(statement.sourceColumn) + "]";
  }
  return "";
}

std::string emu::describe(const sim::Finding &finding, const Code &code,
                          const std::string &file) {
  auto place = [&](uint32_t line) {
    return file + ":" + std::to_string(line) + ": ";
  };
  std::string text = place(finding.site) +
                     "error: " + sim::getName(finding.fault) + ": " +
                     finding.text + getSource(code, finding.site) + "\n";
  for (const sim::Note &note : finding.notes) {
    text += place(note.site) + "note: " + note.text +
            getSource(code, note.site) + "\n";
  }
  return text;
}

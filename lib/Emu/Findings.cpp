//===- Findings.cpp - What is wrong when a cluster stops -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

void Machine::fault(Fault kind, uint32_t line, const std::string &text,
                    std::vector<Note> notes) {
  report.add({kind, line, text, std::move(notes)});
}

void Machine::reportDeadlock() {
  sim::Finding finding{Fault::Deadlock, code.function->line, "", {}};
  for (const auto &warp : warps) {
    for (const Fragment &fragment : warp->fragments) {
      std::string text = "warp " + std::to_string(warp->index);
      uint32_t line =
          code.instructions[std::min(fragment.pc, code.instructions.size() - 1)]
              .line;
      if (fragment.waiting) {
        line = fragment.waiting->line;
        text += " waits for " + fragment.waiting->describe();
      } else {
        text += " waits for lanes " + toHex(fragment.warpMask);
      }
      if (finding.text.empty()) {
        finding.site = line;
        finding.text = text + ", and nothing can go on";
      } else {
        finding.notes.push_back({line, text});
      }
    }
  }
  report.add(finding);
}

void Machine::checkEnd() {
  for (const auto &cta : ctas) {
    for (const auto &[offset, barrier] : cta->barriers) {
      if (barrier.pending != barrier.expected || barrier.bytes != 0) {
        std::vector<Note> notes;
        for (const sim::Arrival &arrival : barrier.arrivals) {
          notes.push_back(
              {arrival.site,
               "warp " + std::to_string(arrival.task) + " has arrived here"});
        }
        fault(Fault::Unbalanced, barrier.array,
              "the kernel ends while the mbarrier at " + toHex(offset) +
                  " is in the middle of a phase: " +
                  std::to_string(barrier.pending) + " arrivals and " +
                  std::to_string(barrier.bytes) + " bytes are missing",
              notes);
      }
    }
  }
  checkRemoteAtEnd();
  for (const AsyncWorkRef &copy : copies) {
    bool isKnown = llvm::any_of(warps, [&](const auto &warp) {
      return warp->knowledge.happened.covers(copy->epoch);
    });
    if (!isKnown) {
      fault(Fault::Unwaited, copy->line,
            "the kernel may end before this copy has: nobody waits for the "
            "phase in which its bytes are delivered");
    }
  }
  checkTensorEnd();
  for (const auto &warp : warps) {
    if (!warp->wgmmaGroups.empty() || !warp->openGroup.work.empty()) {
      AsyncWorkRef last = warp->lastProduct;
      fault(Fault::Unwaited, last ? last->line : code.function->line,
            "warp " + std::to_string(warp->index) +
                " ends while this product is in flight");
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::vector<AsyncWorkRef> left = warp->openStores[lane];
      for (const BulkGroup &group : warp->storeGroups[lane]) {
        left.insert(left.end(), group.work.begin(), group.work.end());
      }
      for (const AsyncWorkRef &store : left) {
        if (!warp->knowledge.happened.covers(store->epoch)) {
          fault(Fault::Unwaited, store->line,
                "warp " + std::to_string(warp->index) +
                    " ends before this store has read shared memory: "
                    "cp.async.bulk.wait_group.read is missing");
        }
      }
    }
  }
}

/// What a CTA allocates it has to free (PTX ISA 9.7.16.7.1).
void Machine::checkTensorEnd() {
  for (const auto &cta : ctas) {
    for (const auto &[first, line] : cta->tensor.lines) {
      fault(Fault::Leak, line,
            "the kernel ends, but nobody frees the tensor memory from column " +
                std::to_string(first) + " on that CTA " +
                std::to_string(cta->rank) + " allocates here");
    }
  }
  for (const auto &warp : warps) {
    for (const auto &work : {warp->tensorLoads, warp->tensorStores}) {
      if (!work.empty()) {
        fault(Fault::Unwaited, work.back()->line,
              "warp " + std::to_string(warp->index) +
                  " ends before it has waited for this access to tensor "
                  "memory");
      }
    }
  }
}

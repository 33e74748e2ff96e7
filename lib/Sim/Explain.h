//===- Explain.h - Findings in words -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns what the machine notices into findings: who did what where, what the
// two sides know of each other, and which edge is missing.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_SIM_EXPLAIN_H
#define JFA_LIB_SIM_EXPLAIN_H

#include "jfa/Sim/Machine.h"

namespace mlir::jfa::sim {

class Explain {
public:
  explicit Explain(const Machine &machine) : machine(machine) {}

  /// "%k_full[1]".
  std::string barrier(const MBarrier &barrier) const;
  /// "2 of 2 arrivals and 512 bytes outstanding".
  std::string state(const MBarrier &barrier) const;

  /// What a task waits for.
  std::string awaited(const Task &task) const;
  /// What the operations are called that complete in order with this one.
  std::string queue(const AsyncOp &op) const;

  Finding conflict(const Conflict &conflict, const Access &later,
                   const Knowledge &knowledge, const std::string &what) const;
  Finding deadlock() const;
  Finding lapped(const MBarrier &barrier, const Observer &observer,
                 Site site) const;
  Finding aliased(const MBarrier &barrier, const Task &waiter, Site site) const;
  /// An arrival before anyone has to have seen the phase before.
  Finding unseen(const MBarrier &barrier, uint32_t task, Site site) const;
  Finding neverWritten(const Access &access, const Buffer *buffer) const;
  /// A copy of whose end no task learns.
  Finding unwaited(const AsyncOp &copy) const;

  /// Where a task ends, and the CTA of a rank with the last of its tasks, for a
  /// finding at `site`.
  Note end(const Task &task, Site site) const;
  Note end(uint32_t rank, Site site) const;

private:
  static std::string plural(int64_t count, const std::string &noun);
  std::string task(uint32_t index) const { return machine.tasks[index].name; }
  std::string describe(const Access &access) const;
  void addChain(const Access &earlier, const Access &later,
                const Knowledge &knowledge, std::vector<Note> &notes) const;
  std::string waitFor(const Access &access) const;
  void addMissing(const Access &earlier, const Access &later,
                  std::vector<Note> &notes) const;
  void addCopyChain(const Access &earlier, std::vector<Note> &notes) const;

  // Deadlocks: Deadlock.cpp.
  /// A task that could end another's wait, and the op with which.
  struct Signaller {
    uint32_t task;
    Site site;
  };
  Note waiter(const Task &task) const;
  std::vector<Signaller> getSignallers(const Task &waiter) const;
  std::vector<sim::Signaller> getSignalOps(const Condition &condition) const;
  std::string nobody(const Task &waiter) const;
  void addNobody(const Task &waiter, std::vector<Note> &notes) const;
  void follow(const Task &waiter, std::vector<bool> &isFollowed,
              std::vector<Note> &notes) const;
  bool findCircle(uint32_t task, std::vector<uint32_t> &path) const;
  void addCircle(std::vector<Note> &notes) const;

  const Machine &machine;
};

} // namespace mlir::jfa::sim

#endif // JFA_LIB_SIM_EXPLAIN_H

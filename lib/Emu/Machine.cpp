//===- Machine.cpp - A cluster that runs a kernel -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Machine.h"

#include "jfa/Emu/Trace.h"
#include "jfa/Sim/Schedule.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

std::string emu::toHex(uint64_t value) {
  return "0x" + llvm::utohexstr(value, /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

// Warp w of W is agent w; its products, which complete in order, are agent
// W + w; its stores are agents 2 W + w where they read and 3 W + w where they
// write. Its loads from tensor memory are agents 4 W + w for accesses to that
// and 6 W + w for itself, its stores there 5 W + w and 7 W + w. What it does to
// initialise mbarriers is agent 8 W + w. Each copy into shared memory is an
// agent of its own, from 9 W on, which a later one may be again if it starts
// after the end of the former is known; so is each queue of the tensor cores,
// for good.

Epoch Machine::makeCopyEpoch(const AsyncWorkRef &work) {
  uint32_t first = 9 * getNumWarps();
  for (size_t i = 0; i < copies.size(); ++i) {
    Epoch epoch = copies[i]->epoch;
    if (!copies[i]->keepsAgent && work->knowledge.happened.covers(epoch)) {
      copies[i] = work;
      return {epoch.agent, epoch.time + 1};
    }
  }
  copies.push_back(work);
  return {first + uint32_t(copies.size()) - 1, 1};
}

Epoch Machine::continueChain(const AsyncWorkRef &work, Epoch last) {
  uint32_t first = 9 * getNumWarps();
  work->keepsAgent = true;
  if (last.time == 0) {
    copies.push_back(work);
    return {first + uint32_t(copies.size()) - 1, 1};
  }
  copies[last.agent - first] = work;
  return {last.agent, last.time + 1};
}

AsyncWorkRef Machine::issue(Warp &warp, unsigned lane,
                            llvm::ArrayRef<AsyncWork::Stage> stages) {
  auto work = std::make_shared<AsyncWork>();
  work->number = issued++;
  work->warp = warp.index;
  work->lane = lane;
  work->line = warp.getLine();
  work->knowledge = warp.know();
  work->issuedAt = steps;
  work->stages.assign(stages.begin(), stages.end());
  inFlight.push_back(work);
  warp.tick();
  return work;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static uint32_t product(const std::array<uint32_t, 3> &extents) {
  return extents[0] * extents[1] * extents[2];
}

Machine::Machine(const Code &code, const LaunchShape &shape,
                 std::array<uint32_t, 3> firstCta,
                 std::vector<uint8_t> &parameters, GlobalMemory &global,
                 const MachineOptions &options, sim::Report &report)
    : code(code), shape(shape), options(options), global(global),
      parameters(parameters), report(report) {
  for (const auto &buffer : global.buffers) {
    buffer->history.isStrict = options.fences == Fences::Strict;
  }
  uint32_t threads = product(shape.block);
  uint32_t warpsPerCta = (threads + 31) / 32;
  cluster =
      (firstCta[2] * shape.grid[1] + firstCta[1]) * shape.grid[0] + firstCta[0];
  if (options.trace) {
    options.trace->firstCta = cluster;
  }
  for (uint32_t rank = 0; rank < product(shape.cluster); ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->rank = rank;
    cta->bytes.resize(code.sharedBytes + shape.dynamicShared, 0);
    cta->history.isStrict = options.fences == Fences::Strict;
    cta->products.resize((warpsPerCta + 3) / 4);
    auto within = unflatten(rank, shape.cluster);
    for (unsigned i = 0; i < 3; ++i) {
      cta->id[i] = firstCta[i] + within[i];
    }
    ctas.push_back(std::move(cta));
  }
  for (auto &cta : ctas) {
    for (uint32_t w = 0; w < warpsPerCta; ++w) {
      auto warp =
          std::make_unique<Warp>(*this, *cta, uint32_t(warps.size()), w);
      uint32_t lanes = std::min(32u, threads - w * 32);
      warp->live = lanes == 32 ? ~0u : (1u << lanes) - 1;
      warp->ownRegisters = shape.registersPerThread;
      Fragment start;
      start.lanes = warp->live;
      warp->fragments.push_back(std::move(start));
      fillSpecials(*warp);
      warps.push_back(std::move(warp));
    }
  }
}

Machine::~Machine() = default;

/// Of the instruction at a line.
std::string Machine::getName(uint32_t line) const {
  for (const Instruction &instruction : code.instructions) {
    if (instruction.line == line) {
      return code.function->statements[instruction.statement].getName();
    }
  }
  return "";
}

void Machine::traceWait(const Warp &warp, uint32_t line, uint64_t since) {
  if (options.trace) {
    options.trace->wait(warp.cta.rank, warp.index, getName(line), since, steps);
  }
}

void Machine::step(size_t index) {
  AsyncWorkRef work = inFlight[index];
  work->stages[work->done](*work);
  ++work->done;
  if (work->isDone()) {
    if (options.trace) {
      options.trace->operate(warps[work->warp]->cta.rank, work->epoch.agent,
                             getName(work->line), work->issuedAt, steps);
    }
    work->previous = nullptr;
    inFlight.erase(inFlight.begin() + int64_t(index));
  }
}

void Machine::run(sim::Schedule &schedule) {
  std::vector<sim::Choice> choices;
  std::vector<size_t> places;
  while (true) {
    choices.clear();
    places.clear();
    for (const auto &warp : warps) {
      if (!warp->isFinished() && warp->isRunnable()) {
        choices.push_back({false, warp->index});
        places.push_back(warp->index);
      }
    }
    size_t numWarps = choices.size();
    for (size_t i = 0; i < inFlight.size(); ++i) {
      if (inFlight[i]->isReady()) {
        choices.push_back({true, inFlight[i]->number});
        places.push_back(i);
      }
    }
    if (choices.empty()) {
      break;
    }
    ++steps;
    if (++executed > options.maxInstructions) {
      fault(Fault::Endless, code.function->line,
            "the kernel takes more than " +
                std::to_string(options.maxInstructions) + " instructions");
      return;
    }
    // Polling must not keep others from what it waits for.
    size_t chosen = steps % 1024 == 0 ? steps / 1024 % choices.size()
                                      : schedule.choose(choices);
    if (chosen < numWarps) {
      warps[places[chosen]]->step();
    } else {
      step(places[chosen]);
    }
  }
  bool isStuck =
      llvm::any_of(warps, [](const auto &warp) { return !warp->isFinished(); });
  isStuck ? reportDeadlock() : checkEnd();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Place Machine::locate(uint64_t generic, uint64_t size) {
  Place place;
  uint64_t window = generic >> 40, low = generic & ((uint64_t(1) << 40) - 1);
  if (window == kSharedWindow >> 40) {
    uint64_t rank = low >> kRankShift;
    uint64_t offset = low & ((uint64_t(1) << kRankShift) - 1);
    if (rank < ctas.size() && offset >= kSharedBase &&
        offset + size <= ctas[rank]->bytes.size()) {
      place.kind = Place::Shared;
      place.rank = uint32_t(rank);
      place.bytes = ctas[rank]->bytes.data() + offset;
      place.history = &ctas[rank]->history;
      place.offset = int64_t(offset);
    }
  } else if (window == kParameterWindow >> 40) {
    if (low + size <= parameters.size()) {
      place.kind = Place::Parameter;
      place.bytes = parameters.data() + low;
      place.offset = int64_t(low);
    }
  } else if (GlobalBuffer *buffer = global.find(generic, size)) {
    place.kind = Place::Global;
    place.buffer = buffer;
    place.offset = int64_t(generic - buffer->base);
    place.bytes = buffer->array->bytes.data() + place.offset;
    place.history = &buffer->history;
  }
  return place;
}

static std::string describePlace(const Place &place, int64_t size) {
  if (place.kind == Place::Global) {
    return std::to_string(size) + " bytes at " + std::to_string(place.offset) +
           " of '" + place.buffer->array->name + "'";
  }
  return std::to_string(size) + " bytes of shared memory at " +
         toHex(uint64_t(place.offset));
}

static std::string describeAccess(const Access &access) {
  std::string who = access.isAsync ? "an operation of warp " : "warp ";
  return who + std::to_string(access.task) +
         (access.isReduction ? " adds to"
          : access.isWrite   ? " writes"
                             : " reads");
}

void Machine::record(const Access &access, const Knowledge &knowledge,
                     const Place &place, int64_t size) {
  if (!place.history) {
    return;
  }
  auto what = [&] { return describePlace(place, size); };
  if (place.kind == Place::Shared) {
    auto &barriers = ctas[place.rank]->barriers;
    auto next =
        barriers.lower_bound(uint32_t(std::max<int64_t>(0, place.offset - 7)));
    if (next != barriers.end() && next->first < place.offset + size) {
      fault(Fault::Illegal, access.site,
            describeAccess(access) + " " + what() +
                ", where there is an mbarrier (PTX ISA 9.7.13.15.2)");
    }
  }
  place.history->record(
      place.offset, place.offset + size, access, knowledge,
      [&](const sim::Conflict &conflict) {
        std::string text = describeAccess(access) + " " + what();
        text += conflict.fault == Fault::MissingFence
                    ? " through the async proxy, but no fence.proxy.async "
                      "follows the write"
                    : ", but nothing orders that after the other access";
        fault(conflict.fault, access.site, text,
              {{conflict.earlier.site,
                describeAccess(conflict.earlier) + " it here"}});
      },
      [&] {
        fault(Fault::NeverWritten, access.site,
              describeAccess(access) + " " + what() +
                  ", which nobody has written");
      });
}

bool Machine::access(Warp &warp, const Place &place, int64_t size, bool isWrite,
                     bool isReduction) {
  Access access;
  access.epoch = {warp.index, warp.time};
  access.site = warp.getLine();
  access.task = warp.index;
  access.cluster = cluster;
  access.rank = warp.cta.rank;
  access.isWrite = isWrite;
  access.isReduction = isReduction;
  record(access, warp.know(), place, size);
  if (place.kind == Place::Shared) {
    reach(warp, place.rank, access.epoch);
  }
  return true;
}

bool Machine::access(AsyncWork &work, const Place &place, int64_t size,
                     bool isWrite, bool isReduction) {
  Access access;
  access.epoch = place.kind == Place::Global && work.globalEpoch.time
                     ? work.globalEpoch
                     : work.epoch;
  access.site = work.line;
  access.task = work.warp;
  access.cluster = cluster;
  access.rank = warps[work.warp]->cta.rank;
  access.isWrite = isWrite;
  access.isReduction = isReduction;
  access.isAsync = true;
  record(access, work.knowledge, place, size);
  return true;
}

void Machine::markWritten(const Place &place, int64_t size) {
  if (place.kind != Place::Global) {
    return;
  }
  auto &written = place.buffer->array->written;
  int64_t element = sim::getBytes(place.buffer->array->kind);
  int64_t end = std::min<int64_t>((place.offset + size + element - 1) / element,
                                  int64_t(written.size()));
  for (int64_t i = place.offset / element; i < end; ++i) {
    written[size_t(i)] = true;
  }
}

LiveBarrier *Machine::findBarrier(uint64_t generic, uint32_t line,
                                  const Knowledge &knowledge) {
  Place place = locate(generic, 8);
  if (place.kind == Place::Shared) {
    auto &barriers = ctas[place.rank]->barriers;
    auto it = barriers.find(uint32_t(place.offset));
    if (it != barriers.end()) {
      if (!knowledge.happened.covers(it->second.init)) {
        fault(Fault::Race, line,
              "uses the mbarrier at " + toHex(generic) +
                  ", but nothing orders that after its initialisation",
              {{it->second.array, "it is initialised here"}});
      }
      return &it->second;
    }
  }
  fault(Fault::Illegal, line,
        "expects an mbarrier at " + toHex(generic) +
            ", but none has been initialised there");
  return nullptr;
}

/// A phase must not complete before everyone who has waited for the one before
/// it has seen that.
void Machine::completed(sim::MBarrier &barrier, uint32_t line) {
  barrier.setCompletedBy(line);
  for (const sim::Observer &observer : barrier.observersBefore) {
    if (!barrier.getCompleted().preceded.covers(observer.epoch)) {
      std::string phase = std::to_string(barrier.phase - 1);
      fault(Fault::PhaseLapped, line,
            "phase " + phase + " of the mbarrier at " + toHex(barrier.index) +
                " can complete before warp " + std::to_string(observer.task) +
                " has seen the phase before it",
            {{observer.site, "it waits here"}});
    }
  }
}

Cta *Machine::findPeer(const Cta &cta) {
  uint32_t rank = cta.rank ^ 1;
  return rank < ctas.size() ? ctas[rank].get() : nullptr;
}

void Machine::completeClusterBarrier() {
  uint32_t expected = 0;
  for (const auto &warp : warps) {
    expected += !warp->isFinished();
  }
  if (clusterArrivals > 0 && clusterArrivals >= expected) {
    clusterCompleted = std::move(clusterCurrent);
    clusterCurrent = {};
    clusterArrivals = 0;
    ++clusterPhase;
    for (const auto &warp : warps) {
      warp->clusterArrived = false;
    }
  }
}

//===- Attention.cpp - Inputs and references of attention kernels -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Attention.h"

#include "Runtime/BlockList.h"
#include "Runtime/WorkList.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;
namespace runtime = ::jfa::runtime;

/// The arrays, in this order.
static const char *const kArrays[] = {
    "q",         "k",         "v",     "o",           "lse",
    "q_offsets", "k_offsets", "items", "item_starts", "block_starts"};
static constexpr size_t kNumArrays = 10;

static std::vector<int64_t> getStarts(const std::vector<int64_t> &lengths) {
  std::vector<int64_t> starts(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

std::string Attention::checkProgram(const Program &program) {
  const Argument *q = nullptr;
  isBlocked = false;
  for (const Argument &argument : program.arguments) {
    if (argument.name == "q") {
      q = &argument;
    } else if (argument.name == "k" && !argument.box.empty()) {
      blockN = argument.box.front();
    }
    isBlocked |= argument.name == kArrays[kBlockStarts];
    hasLse |= argument.name == kArrays[kLse];
  }
  if (!q || q->kind != ArgumentKind::TensorMap || q->box.size() != 3) {
    return "expected a kernel with a tensor map 'q' of [rows, heads, "
           "HEAD_DIM], because '--lengths' was given";
  }
  blockM = q->box.front();
  dim = q->box.back();
  element = q->element;
  if (problem.heads % problem.kvHeads != 0) {
    return "expected '--heads' to be a multiple of '--kv-heads'";
  }
  if (isBlocked && (problem.causal || problem.broadcastQuery ||
                    problem.qLengths != problem.kLengths ||
                    problem.heads != problem.kvHeads)) {
    return "expected block attention to have neither '--causal' nor queries or "
           "heads of their own";
  }
  return "";
}

static void fillNormal(GlobalArray &array, std::mt19937_64 &random) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    encode(array.kind, normal(random), array.at(i));
  }
  array.setAllWritten();
}

void Attention::makeTensors(const Program &program) {
  Shape shapes[5] = {{qRows, problem.heads, dim},
                     {kRows, problem.kvHeads, dim},
                     {kRows, problem.kvHeads, dim},
                     {oRows, problem.heads, dim},
                     {problem.heads, oRows}};
  std::mt19937_64 random(problem.seed);
  for (size_t i = 0; i < 5; ++i) {
    ElementKind kind = i == kLse ? ElementKind::F32 : element;
    arrays->emplace_back(kArrays[i], kind, shapes[i]);
    if (i < kO && problem.values) {
      fillNormal(arrays->back(), random);
    } else if (i < kO) {
      arrays->back().setAllWritten();
    }
  }
  for (GlobalArray &array : *arrays) {
    for (const Argument &argument : program.arguments) {
      array.isOutput |= argument.name == array.name && argument.isOutput;
    }
  }
}

/// Adds an array of 32-bit integers.
static void addTable(std::vector<GlobalArray> &arrays, const char *name,
                     const std::vector<int64_t> &values) {
  arrays.emplace_back(name, ElementKind::I32, Shape{int64_t(values.size())});
  GlobalArray &array = arrays.back();
  for (size_t i = 0; i < values.size(); ++i) {
    encode(array.kind, values[i], array.at(int64_t(i)));
  }
  array.setAllWritten();
}

void Attention::makeTables() {
  bool hasQueries = !problem.broadcastQuery;
  addTable(*arrays, kArrays[kQOffsets],
           hasQueries ? qStarts : std::vector<int64_t>());
  addTable(*arrays, kArrays[kKOffsets], kStarts);
}

/// Each tile of each head once, in the order of the sequences, for one CTA.
static void listInOrder(const runtime::Sequences &sequences,
                        const runtime::WorkShape &shape,
                        runtime::WorkList &list) {
  for (int64_t head = 0; head < shape.heads; ++head) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      for (int64_t row = 0; row < sequences.getQueries(i);
           row += shape.blockM) {
        list.items.push_back(
            runtime::WorkItem{int32_t(i), int32_t(row), int32_t(head), 0});
      }
    }
  }
  list.starts = {0, int32_t(list.items.size())};
}

/// The work list, dealt to the CTAs as the runtime does it.
std::string Attention::makeItems() {
  std::vector<int32_t> queries(oStarts.begin(), oStarts.end());
  std::vector<int32_t> keys(kStarts.begin(), kStarts.end());
  runtime::Sequences sequences{int64_t(problem.kLengths.size()), queries.data(),
                               keys.data(), 0, 0};
  runtime::WorkShape shape{blockM,          blockN,
                           problem.causal,  problem.heads,
                           problem.kvHeads, 2 * dim * getBytes(element),
                           problem.maxCtas};
  runtime::WorkList work;
  if (problem.balances) {
    runtime::Status status = runtime::makeWorkList(sequences, shape, work);
    if (status.failed()) {
      return status.message;
    }
  } else {
    listInOrder(sequences, shape, work);
  }
  ctas = int64_t(work.starts.size()) - 1;
  std::vector<int64_t> list;
  for (const runtime::WorkItem &item : work.items) {
    list.insert(list.end(), {item.sequence, item.row, item.head, 0});
  }
  // Kernels read one item ahead.
  list.insert(list.end(), 4, 0);
  addTable(*arrays, kArrays[kItems], list);
  addTable(*arrays, kArrays[kItemStarts],
           {work.starts.begin(), work.starts.end()});
  return "";
}

/// Of block attention: where the sequences begin. From here on each block is a
/// sequence of its own, which is what the reference computes.
std::string Attention::makeBlocks() {
  std::vector<int32_t> offsets(kStarts.begin(), kStarts.end());
  runtime::BlockList blocks;
  runtime::Status status = runtime::makeBlockList(
      offsets.data(), int64_t(problem.kLengths.size()), problem.heads, blocks);
  if (status.failed()) {
    return status.message;
  }
  addTable(*arrays, kArrays[kBlockStarts],
           {blocks.starts.begin(), blocks.starts.end()});
  numSequences = blocks.numSequences;
  numItems = blocks.numBlocks * problem.heads;
  ctas = std::min(numItems, problem.maxCtas);
  std::vector<int64_t> lengths;
  for (int64_t length : problem.kLengths) {
    for (int64_t row = 0; row < length; row += runtime::kBlockRows) {
      lengths.push_back(std::min(runtime::kBlockRows, length - row));
    }
  }
  problem.qLengths = problem.kLengths = lengths;
  qStarts = kStarts = oStarts = getStarts(lengths);
  return "";
}

std::string Attention::bind(const AttentionProblem &newProblem,
                            const Program &program,
                            std::vector<GlobalArray> &newArrays,
                            std::vector<Value> &arguments) {
  problem = newProblem;
  arrays = &newArrays;
  // They are large, and growing the vector would copy them.
  arrays->reserve(kNumArrays);
  if (std::string error = checkProgram(program); !error.empty()) {
    return error;
  }
  oStarts = getStarts(problem.qLengths);
  kStarts = getStarts(problem.kLengths);
  qStarts = oStarts;
  oRows = oStarts.back();
  kRows = kStarts.back();
  qRows = oRows;
  if (problem.broadcastQuery) {
    qStarts.assign(oStarts.size(), 0);
    qRows = problem.qLengths.empty() ? 0 : problem.qLengths[0];
  }
  makeTensors(program);
  makeTables();
  if (std::string error = makeItems(); !error.empty()) {
    return error;
  }
  if (isBlocked) {
    if (std::string error = makeBlocks(); !error.empty()) {
      return error;
    }
  }
  auto lookUp = [&](const std::string &name, Value &value) {
    for (size_t i = 0; i < kNumArrays; ++i) {
      if (name == kArrays[i]) {
        value.integer = int64_t(i);
        return true;
      }
    }
    std::pair<const char *, int64_t> scalars[] = {
        {"heads_per_group", problem.heads / problem.kvHeads},
        {"q_length", problem.qLengths.empty() ? 0 : problem.qLengths[0]},
        {"k_length", problem.kLengths.empty() ? 0 : problem.kLengths[0]},
        {"lse_stride", oRows},
        {"num_sequences", numSequences},
        {"num_items", numItems},
        {"heads", problem.heads}};
    for (auto [scalar, number] : scalars) {
      if (name == scalar) {
        value.integer = number;
        return true;
      }
    }
    value.real = float(1.4426950408889634 / std::sqrt(double(dim)));
    return name == "scale_log2";
  };
  for (const Argument &argument : program.arguments) {
    Value value;
    if (!lookUp(argument.name, value)) {
      return "expected the arguments of an attention kernel, but got '" +
             argument.name + "'";
    }
    arguments.push_back(value);
  }
  return "";
}

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
static const char *const kArrays[] = {"q",
                                      "k",
                                      "v",
                                      "o",
                                      "lse",
                                      "q_offsets",
                                      "k_offsets",
                                      "items",
                                      "item_starts",
                                      "tile_counts",
                                      "do",
                                      "dq",
                                      "dk",
                                      "dv",
                                      "dq_acc",
                                      "lse_log2",
                                      "delta",
                                      "turns",
                                      "block_starts",
                                      "sincos"};
static constexpr size_t kNumArrays = 20;
/// As the runtime's, in lib/Runtime/AttentionBackward.h.
static constexpr int64_t kPaddedRows = 128;

static std::vector<int64_t> getStarts(const std::vector<int64_t> &lengths) {
  std::vector<int64_t> starts(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static const Argument *find(const Program &program, const std::string &name) {
  for (const Argument &argument : program.arguments) {
    if (argument.name == name) {
      return &argument;
    }
  }
  return nullptr;
}

/// A tensor map of [rows, heads, elements].
static const Argument *findTensor(const Program &program,
                                  const std::string &name) {
  const Argument *argument = find(program, name);
  bool isTensor = argument && argument->kind == ArgumentKind::TensorMap &&
                  argument->box.size() == 3;
  return isTensor ? argument : nullptr;
}

std::optional<AttentionPart> sim::getAttentionPart(const Program &program) {
  if (find(program, "block_starts")) {
    return !findTensor(program, "q") ? std::nullopt
           : find(program, "dk") ? std::optional(AttentionPart::BlockBackward)
                                 : std::optional(AttentionPart::BlockForward);
  }
  if (!find(program, "dq_acc")) {
    return findTensor(program, "q") ? std::optional(AttentionPart::Forward)
                                    : std::nullopt;
  }
  if (findTensor(program, "dq")) {
    return AttentionPart::BackwardPost;
  }
  bool isMain = findTensor(program, "q") && findTensor(program, "k") &&
                find(program, "dk");
  if (!isMain && !findTensor(program, "o")) {
    return std::nullopt;
  }
  if (!isMain) {
    return AttentionPart::BackwardPre;
  }
  return find(program, "heads_per_group") ? AttentionPart::Backward
                                          : AttentionPart::BackwardQuery;
}

std::string Attention::checkProgram() {
  std::optional<AttentionPart> found = getAttentionPart(*program);
  if (!found) {
    return "expected a kernel with a tensor map 'q' of [rows, heads, "
           "HEAD_DIM], or one of the backward, because '--lengths' was given";
  }
  part = *found;
  groupsHeads = find(*program, "tile_counts") != nullptr;
  // The tensors that tiles and steps are cut from.
  const char *tile = isForward() || isBlocked()           ? "q"
                     : isBackwardMain(part)               ? "k"
                     : part == AttentionPart::BackwardPre ? "o"
                                                          : "dq";
  const char *step = part == AttentionPart::Forward ? "v"
                     : isBackwardMain(part)         ? "q"
                                                    : "";
  const Argument *tiles = findTensor(*program, tile);
  blockM = tiles->box.front();
  // A box may have a part of the elements of a row.
  dim = problem.headDim ? problem.headDim : tiles->box.back();
  element = tiles->element;
  if (const Argument *steps = find(*program, step);
      steps && !steps->box.empty()) {
    blockN = steps->box.front();
  }
  if (part == AttentionPart::BackwardPost && problem.headDim == 0) {
    return "expected the parameter 'HEAD_DIM' of a kernel that takes rows in "
           "parts";
  }
  clusterSize = program->clusterSize;
  bool keepsQueries = part == AttentionPart::BackwardQuery;
  if (keepsQueries &&
      (!problem.broadcastQuery || problem.heads != problem.kvHeads ||
       (!problem.qLengths.empty() &&
        problem.qLengths[0] > tiles->box.front()))) {
    return "expected '--broadcast-q', at most " +
           std::to_string(tiles->box.front()) +
           " queries and as many '--kv-heads' as '--heads' for this kernel";
  }
  if (problem.heads % problem.kvHeads != 0) {
    return "expected '--heads' to be a multiple of '--kv-heads'";
  }
  if (isBlocked() && (problem.causal || problem.broadcastQuery ||
                      problem.qLengths != problem.kLengths ||
                      problem.heads != problem.kvHeads)) {
    return "expected block attention to have neither '--causal' nor queries or "
           "heads of their own";
  }
  return "";
}

void Attention::makeStarts() {
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
  auto count = int64_t(problem.qLengths.size());
  paddedRows = (oRows / kPaddedRows + count) * kPaddedRows;
  paddedStarts.clear();
  for (int64_t i = 0; i < count; ++i) {
    paddedStarts.push_back((oStarts[size_t(i)] / kPaddedRows + i) *
                           kPaddedRows);
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static void fillNormal(GlobalArray &array, std::mt19937_64 &random) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    encode(array.kind, normal(random), array.at(i));
  }
  array.setAllWritten();
}

/// Adds an array, which has to have this place.
void Attention::makeTensor(size_t place, ElementKind kind, const Shape &shape) {
  // Through a tensor map a kernel reads nothing that the order depends on.
  const Argument *argument = find(*program, kArrays[place]);
  bool isPointer = argument && argument->kind == ArgumentKind::Pointer;
  arrays->emplace_back(kArrays[place], kind, shape,
                       problem.values || isPointer);
}

void Attention::makeTensors() {
  makeTensor(kQ, element, {qRows, problem.heads, dim});
  makeTensor(kK, element, {kRows, problem.kvHeads, dim});
  makeTensor(kV, element, {kRows, problem.kvHeads, dim});
  makeTensor(kO, element, {oRows, problem.heads, dim});
  makeTensor(kLse, ElementKind::F32, {problem.heads, oRows});
  std::mt19937_64 random(problem.seed);
  for (size_t i = kQ; i <= kV && problem.values; ++i) {
    fillNormal((*arrays)[i], random);
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

void Attention::makeGradients() {
  Shape padded = {problem.heads, paddedRows};
  makeTensor(kDO, element, {oRows, problem.heads, dim});
  makeTensor(kDQ, element, {qRows, problem.heads, dim});
  makeTensor(kDK, element, {kRows, problem.kvHeads, dim});
  makeTensor(kDV, element, {kRows, problem.kvHeads, dim});
  makeTensor(kDQSums, ElementKind::F32,
             {countSums() * qRows, problem.heads, dim});
  makeTensor(kLseLog2, ElementKind::F32, padded);
  makeTensor(kDelta, ElementKind::F32, padded);
  std::mt19937_64 random(problem.seed + 1);
  if (problem.values) {
    fillNormal((*arrays)[kDO], random);
  }
  // Two for each block of at least 64 queries.
  addTable(*arrays, kArrays[kTurns],
           std::vector<int64_t>(
               size_t((paddedRows / 64 + countSums() * (qRows / 64 + 1)) * 2 *
                      problem.heads),
               0));
}

void Attention::makeTables() {
  bool hasQueries = !problem.broadcastQuery;
  addTable(*arrays, kArrays[kQOffsets],
           hasQueries ? qStarts : std::vector<int64_t>());
  addTable(*arrays, kArrays[kKOffsets], kStarts);
}

/// Each tile of each head once, in the order of the sequences, in as many runs
/// as clusters. If grouped, an item has all heads.
static void listInOrder(const runtime::Sequences &sequences,
                        const runtime::WorkShape &shape, int64_t clusters,
                        runtime::WorkList &list) {
  auto heads = int32_t(shape.groupAbove == 0 ? shape.heads : 1);
  for (int64_t head = 0; head < shape.heads; head += heads) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      int64_t rows = shape.rows == runtime::TileRows::Queries
                         ? sequences.getQueries(i)
                         : sequences.getKeys(i);
      int64_t tiles = (rows + shape.blockM - 1) / shape.blockM;
      for (int64_t j = 0; j < tiles; ++j) {
        // With a mask tiles in order wait for the one after them.
        bool isBackward = shape.inOrder && shape.causal;
        int64_t row = (isBackward ? tiles - 1 - j : j) * shape.blockM;
        list.items.push_back(
            runtime::WorkItem{int32_t(i), int32_t(row), int32_t(head), heads});
      }
    }
  }
  auto count = int64_t(list.items.size());
  clusters = std::clamp<int64_t>(count, 1, clusters);
  list.starts = {0};
  for (int64_t i = 1; i <= clusters; ++i) {
    list.starts.push_back(int32_t(count * i / clusters));
    list.tiles.push_back((list.starts[size_t(i)] - list.starts[size_t(i - 1)]) *
                         heads);
  }
}

/// The work list, dealt to the CTAs as the runtime does it.
std::string Attention::makeItems() {
  std::vector<int32_t> queries(oStarts.begin(), oStarts.end());
  std::vector<int32_t> keys(kStarts.begin(), kStarts.end());
  runtime::Sequences sequences{int64_t(problem.kLengths.size()), queries.data(),
                               keys.data(), 0, 0};
  // A cluster takes the tiles of its CTAs as one.
  runtime::WorkShape shape{blockM * clusterSize,
                           blockN,
                           problem.causal,
                           problem.heads,
                           problem.kvHeads,
                           2 * dim * getBytes(element),
                           std::max<int64_t>(1, problem.maxCtas / clusterSize)};
  if (isBackwardMain(part)) {
    shape.rows = runtime::TileRows::Keys;
    shape.bytesPerRow *= problem.heads / problem.kvHeads;
    shape.heads = problem.kvHeads;
    shape.overhead = 2;
  } else if (part != AttentionPart::Forward) {
    // All tiles cost the same.
    sequences.kOffsets = nullptr;
    shape.sharedHeads = shape.heads;
    shape.causal = false;
  }
  if (part == AttentionPart::BackwardPost && problem.broadcastQuery) {
    sequences.count = std::min<int64_t>(1, sequences.count);
  }
  if (groupsHeads) {
    shape.groupAbove = problem.balances ? runtime::kLongList : 0;
  }
  runtime::WorkList work;
  bool areRuns = part == AttentionPart::BackwardQuery;
  if (areRuns) {
    shape.workers = problem.balances ? shape.workers : 1;
  }
  bool isNumbered = problem.deterministic && problem.broadcastQuery &&
                    part == AttentionPart::Backward;
  shape.inOrder = problem.deterministic && !isNumbered;
  if (problem.balances || areRuns) {
    runtime::Status status =
        areRuns ? runtime::makeRunList(sequences, shape, work)
                : runtime::makeWorkList(sequences, shape, work);
    if (status.failed()) {
      return status.message;
    }
  } else {
    listInOrder(sequences, shape, problem.clustersInOrder, work);
  }
  if (problem.balances && program->asksForClusters) {
    runtime::splitTails(work);
  }
  if (isNumbered) {
    runtime::numberTiles(shape.heads, work);
  }
  ctas = (int64_t(work.starts.size()) - 1) * clusterSize;
  std::vector<int64_t> list;
  for (const runtime::WorkItem &item : work.items) {
    list.insert(list.end(), {item.sequence, item.row, item.head, item.count});
  }
  // Kernels read one item ahead.
  list.insert(list.end(), 4, 0);
  addTable(*arrays, kArrays[kItems], list);
  addTable(*arrays, kArrays[kItemStarts],
           {work.starts.begin(), work.starts.end()});
  addTable(*arrays, kArrays[kTileCounts],
           {work.tiles.begin(), work.tiles.end()});
  return "";
}

/// Of block attention: where the sequences begin. From here on each block is a
/// sequence of its own, which is what the reference computes.
std::string Attention::makeBlocks() {
  std::vector<int32_t> offsets(kStarts.begin(), kStarts.end());
  runtime::BlockList blocks;
  runtime::Status status =
      runtime::makeBlockList(offsets.data(), int64_t(problem.kLengths.size()),
                             problem.heads, blocks, blockM);
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

/// Sines, then cosines of each row's angles.
void Attention::makeSinCos() {
  makeTensor(kSinCos, element, {qRows, dim});
  GlobalArray &array = arrays->back();
  for (int64_t row = 0; row < qRows && problem.values; ++row) {
    for (int64_t i = 0; i < dim / 2; ++i) {
      double angle =
          double(row) * std::pow(10000.0, -2.0 * double(i) / double(dim));
      encode(element, float(std::sin(angle)), array.at(row * dim + i));
      encode(element, float(std::cos(angle)),
             array.at(row * dim + dim / 2 + i));
    }
  }
  array.setAllWritten();
}

/// The value of an argument, of an array its place.
bool Attention::lookUp(const std::string &name, Value &value) const {
  for (size_t i = 0; i < arrays->size(); ++i) {
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
      {"rows_stride", paddedRows},
      {"num_sequences", numSequences},
      {"num_items", numItems},
      {"heads", problem.heads},
      // Fewer than CTAs, so that tiles of several take turns.
      {"dq_copies",
       part == AttentionPart::Backward ? (countSums() + 1) / 2 : countSums()}};
  for (auto [scalar, number] : scalars) {
    if (name == scalar) {
      value.integer = number;
      return true;
    }
  }
  double scale = 1 / std::sqrt(double(dim));
  value.real = float(name == "scale" ? scale : 1.4426950408889634 * scale);
  return name == "scale" || name == "scale_log2";
}

/// Whether every array fits.
std::string Attention::checkSize() const {
  int64_t rows = std::max({qRows, kRows, paddedRows});
  if (rows == 0 || problem.heads <= GlobalArray::kMaxElements / dim / rows) {
    return "";
  }
  return "expected at most " + std::to_string(GlobalArray::kMaxElements) +
         " elements of an array, but got " + std::to_string(rows) +
         " rows of " + std::to_string(problem.heads) + " heads of " +
         std::to_string(dim);
}

std::string Attention::bind(const AttentionProblem &newProblem,
                            const Program &newProgram,
                            std::vector<GlobalArray> &newArrays,
                            std::vector<Value> &arguments) {
  problem = newProblem;
  program = &newProgram;
  arrays = &newArrays;
  // They are large, and growing the vector would copy them.
  arrays->reserve(kNumArrays);
  if (std::string error = checkProgram(); !error.empty()) {
    return error;
  }
  makeStarts();
  if (std::string error = checkSize(); !error.empty()) {
    return error;
  }
  makeTensors();
  makeTables();
  if (std::string error = makeItems(); !error.empty()) {
    return error;
  }
  if (part != AttentionPart::Forward) {
    makeGradients();
  }
  if (isBlocked()) {
    if (std::string error = makeBlocks(); !error.empty()) {
      return error;
    }
    makeSinCos();
  }
  for (GlobalArray &array : *arrays) {
    const Argument *argument = find(*program, array.name);
    array.isOutput = argument && argument->isOutput;
    if (!problem.values && !array.isOutput) {
      array.setAllWritten();
    }
  }
  // Sums are added to. Of several, the host clears those that no kernel does.
  if (isBackwardMain(part) ||
      (part == AttentionPart::BackwardPre && countSums() > 1)) {
    (*arrays)[kDQSums].setAllWritten();
  }
  for (const Argument &argument : program->arguments) {
    Value value;
    if (!lookUp(argument.name, value)) {
      return "expected the arguments of an attention kernel, but got '" +
             argument.name + "'";
    }
    arguments.push_back(value);
  }
  return "";
}

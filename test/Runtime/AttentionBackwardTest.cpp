//===- AttentionBackwardTest.cpp - Tests of backward plans ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans on a driver that writes down what it is asked. Its device's memory is
// the host's.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackward.h"
#include "BundleTesting.h"
#include "CountAllocations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace jfa::runtime;
using namespace jfa::testing;

//===----------------------------------------------------------------------===//
// A bundle with the kernels
//===----------------------------------------------------------------------===//

namespace {
struct TestArgument {
  std::string name, kind, type;
};

std::string describe(const TestArgument &argument, int64_t &offset) {
  bool isMap = argument.kind == "tensormap", is32 = argument.type[1] == '3';
  bool isScalar = argument.kind == "scalar";
  int64_t size = isMap ? 128 : isScalar && is32 ? 4 : 8;
  offset = (offset + size - 1) / size * size;
  std::string text = concat(
      R"({"name":")", argument.name, R"(","kind":")", argument.kind,
      R"(","size":)", size, R"(,"offset":)", offset,
      isScalar ? R"(,"type":")" : R"(,"element":")", argument.type, "\"");
  offset += size;
  bool isFlat = argument.name == "lse_log2" || argument.name == "delta";
  if (isMap && isFlat) {
    text += R"(,"swizzle_bytes":0,"ragged":false,"dims":[
      {"axis":1,"step":1,"box":64,"extent":"axis"},
      {"axis":0,"step":1,"box":1,"extent":"axis"}])";
  } else if (isMap) {
    text += R"(,"swizzle_bytes":128,"ragged":true,"dims":[
      {"axis":2,"step":1,"box":32,"extent":"axis"},
      {"axis":0,"step":1,"box":64,"extent":"segment"},
      {"axis":1,"step":1,"box":1,"extent":"axis"},
      {"axis":0,"step":1,"box":1,"extent":"position"}])";
  }
  return text + "}";
}

std::string describe(const char *entry, const std::string &parameters,
                     const std::vector<TestArgument> &arguments,
                     const char *cluster = "[1,1,1]") {
  std::string list;
  int64_t offset = 0;
  for (const TestArgument &argument : arguments) {
    list += (list.empty() ? "" : ",") + describe(argument, offset);
  }
  return concat(R"({"schema":1,"entry":")", entry,
                R"(","arch":"sm_90a","parameters":{)", parameters,
                R"("HEAD_DIM":128,"ELEMENT":"bf16"},
    "block":[384,1,1],"cluster":)",
                cluster, R"(,"shared_memory_bytes":1024,
    "registers":168,"spill_store_bytes":0,"spill_load_bytes":0,"stack_bytes":0,
    "compiler":{"jfa":"0.1.0","llvm":"22.1.8","ptxas":"13.0.88"},
    "cubin":{"offset":0,"size":8},"arguments":[)",
                list, "]}");
}

/// The three kernels for one mode.
std::string describeKernels(bool jagged, bool broadcast,
                            bool deterministic = false, bool isPair = false) {
  std::string mode = concat(R"("JAGGED":)", jagged ? "true" : "false", ",");
  std::string shared =
      concat(mode, R"("BROADCAST_QUERY":)", broadcast ? "true" : "false", ",");
  std::string post = concat(R"("JAGGED":false,"COPIES":)",
                            deterministic ? "true" : "false", ",");
  // Only of dense ones; the kernels have to agree.
  std::string fragments =
      concat(R"("FRAGMENTS":)", jagged ? "false" : "true", ",");
  std::string order =
      concat(R"("DETERMINISTIC":)", deterministic ? "true" : "false", ",");
  TestArgument items = {"items", "pointer", "i32"};
  TestArgument starts = {"item_starts", "pointer", "i32"};
  TestArgument qLength = {"q_length", "scalar", "i32"};
  return describe("attention_bwd_pre", shared,
                  {{"o", "tensormap", "bf16"},
                   {"do", "tensormap", "bf16"},
                   {"dq_acc", "tensormap", "f32"},
                   {"lse_log2", "pointer", "f32"},
                   {"delta", "pointer", "f32"},
                   items,
                   starts,
                   qLength,
                   {"rows_stride", "scalar", "i64"}}) +
         "," +
         describe("attention_bwd",
                  shared + order + fragments +
                      concat(R"("DEPENDENT_LAUNCH":true,"CAUSAL":)",
                             isPair ? "true" : "false",
                             R"(,"BLOCK_M":64,"BLOCK_N":128,)"),
                  {{"q", "tensormap", "bf16"},
                   {"dk", "tensormap", "bf16"},
                   {"lse_log2", "tensormap", "f32"},
                   items,
                   starts,
                   qLength,
                   {"scale", "scalar", "f32"},
                   {"turns", "pointer", "i32"},
                   {"heads", "scalar", "i32"},
                   {"dq_copies", "scalar", "i32"}},
                  isPair ? "[2,1,1]" : "[1,1,1]") +
         "," +
         describe("attention_bwd_post", (broadcast ? post : mode) + fragments,
                  {{"dq_acc", "tensormap", "f32"},
                   {"dq", "tensormap", "bf16"},
                   items,
                   starts,
                   qLength,
                   {"dq_copies", "scalar", "i32"}});
}

void addKernels() {
  static const std::string *bundle = new std::string(makeBundle(
      R"({"schema":1,"kernels":[)" + describeKernels(false, false) + "," +
      describeKernels(true, false) + "," + describeKernels(true, true) + "," +
      describeKernels(true, false, true) + "," +
      describeKernels(true, true, true) + "," +
      describeKernels(true, false, false, /*isPair=*/true) + "]}"));
  static bool added = false;
  if (!added) {
    added = true;
    Status status;
    status = KernelRegistry::get(status).add(
        reinterpret_cast<const uint8_t *>(bundle->data()), bundle->size(),
        "test", nullptr);
    ASSERT_FALSE(status.failed()) << status.message;
  }
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

struct FakeLaunch {
  std::string entry;
  unsigned grid;
  std::vector<void *> values;
  bool isCooperative, isDependent;

  /// An argument of 32 bits.
  int32_t getInteger(size_t argument) const {
    return int32_t(reinterpret_cast<intptr_t>(values[argument]));
  }
};
std::vector<FakeLaunch> launches;
std::vector<std::string> functions;
std::vector<std::vector<uint64_t>> encodedSizes;
/// In bytes, of all axes but the innermost.
std::vector<std::vector<uint64_t>> encodedStrides;
bool encodingFails = false;
/// Whether what is encoded and launched is noted.
bool isNoting = true;

Driver makeFakeDriver() {
  Driver driver{};
  driver.getErrorName = [](int, const char **text) {
    *text = "FAKE_ERROR";
    return 0;
  };
  driver.getErrorString = driver.getErrorName;
  driver.contextPush = [](Driver::Context) { return 0; };
  driver.contextPop = [](Driver::Context *) { return 0; };
  driver.moduleLoadData = [](Driver::Module *, const void *) { return 0; };
  driver.moduleGetFunction = [](Driver::Function *function, Driver::Module,
                                const char *name) {
    functions.emplace_back(name);
    *function = reinterpret_cast<Driver::Function>(functions.size());
    return 0;
  };
  driver.functionSetAttribute = [](Driver::Function, int, int) { return 0; };
  driver.occupancyMaxActiveBlocks = [](int *count, Driver::Function, int,
                                       size_t) {
    *count = 2;
    return 0;
  };
  driver.maxActiveClusters = [](int *count, Driver::Function,
                                const LaunchConfig *) {
    *count = 2;
    return 0;
  };
  driver.tensorMapEncodeTiled = [](TensorMap *map, int, uint32_t rank,
                                   void *base, const uint64_t *sizes,
                                   const uint64_t *strides, const uint32_t *,
                                   const uint32_t *, int, int, int, int) {
    *map = {};
    map->words[0] = reinterpret_cast<uint64_t>(base);
    if (isNoting) {
      encodedSizes.emplace_back(sizes, sizes + rank);
      encodedStrides.emplace_back(strides, strides + rank - 1);
    }
    return encodingFails ? 1 : 0;
  };
  driver.launchKernel = [](const LaunchConfig *config,
                           Driver::Function function, void **values, void **) {
    if (!isNoting) {
      return 0;
    }
    std::string entry = functions[reinterpret_cast<size_t>(function) - 1];
    size_t count = entry == "attention_bwd_pre" ? 9
                   : entry == "attention_bwd"   ? 10
                                                : 6;
    auto has = [&](int id) {
      return config->numAttributes == 1 && config->attributes[0].id == id &&
             config->attributes[0].value[0] == 1;
    };
    EXPECT_EQ(config->numAttributes, has(2) || has(6) ? 1u : 0u);
    FakeLaunch launch = {entry, config->grid[0], {}, has(2), has(6)};
    for (size_t i = 0; i < count; ++i) {
      launch.values.push_back(*static_cast<void **>(values[i]));
    }
    launches.push_back(launch);
    return 0;
  };
  driver.setMemoryAsync = [](Driver::Pointer to, unsigned char value,
                             size_t bytes, Driver::Stream) {
    std::memset(reinterpret_cast<void *>(to), value, bytes);
    return 0;
  };
  driver.copyToDeviceAsync = [](Driver::Pointer to, const void *from,
                                size_t bytes, Driver::Stream) {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
  };
  return driver;
}

const Driver fakeDriver = makeFakeDriver();
/// The ordinal keeps its functions apart from those of a true GPU.
const Gpu fakeGpu = {1000, nullptr, 4, 9, 0, 1};

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

using Description = jfaAttentionBackwardDescription;

const int32_t kQOffsets[] = {5, 69, 69, 300};
const int32_t kKOffsets[] = {0, 128, 384, 384};

Description makeJagged() {
  Description description{};
  description.struct_size = sizeof(description);
  jfaAttentionForwardDescription &forward = description.forward;
  forward.struct_size = sizeof(forward);
  forward.mode = JFA_ATTENTION_MODE_JAGGED;
  forward.head_dim = 128;
  forward.num_query_heads = 4;
  forward.num_kv_heads = 2;
  forward.batch_size = 3;
  forward.q_offsets = kQOffsets;
  forward.k_offsets = kKOffsets;
  return description;
}

Description makeBroadcast(int64_t batch) {
  Description description = makeJagged();
  description.forward.mode = JFA_ATTENTION_MODE_BROADCAST_QUERY;
  description.forward.q_offsets = nullptr;
  description.forward.q_length = 200;
  description.forward.batch_size = batch;
  return description;
}

/// A plan, with a workspace and buffers of it.
struct Planned {
  AttentionBackwardPlan plan;
  /// Aligned to 16 bytes.
  std::vector<std::pair<uint64_t, uint64_t>> memory;
  jfaAttentionBackwardBuffers buffers{};
  int32_t anything[8] = {};

  explicit Planned(const Description &description) {
    addKernels();
    Status status = checkGradients(description, plan.problem);
    EXPECT_FALSE(status.failed()) << status.message;
    status = AttentionBackwardPlan::create(fakeDriver, fakeGpu, plan);
    EXPECT_FALSE(status.failed()) << status.message;
    memory.resize(plan.getWorkspaceSize() / 16 + 1,
                  {~uint64_t(0), ~uint64_t(0)});
    EXPECT_EQ(plan.getWorkspaceSize() % 16, 0u);
    status = plan.initializeWorkspace(memory.data(), plan.getWorkspaceSize(),
                                      nullptr);
    EXPECT_FALSE(status.failed()) << status.message;
    // Behind the workspace nothing is written.
    EXPECT_EQ(memory.back().first, ~uint64_t(0));
    auto at = [](uintptr_t address) {
      return reinterpret_cast<void *>(address);
    };
    buffers.struct_size = sizeof(buffers);
    jfaAttentionForwardBuffers &forward = buffers.forward;
    forward = {sizeof(forward), at(0x1000), at(0x2000),
               at(0x3000),      at(0x4000), static_cast<float *>(at(0x5000)),
               anything,        anything};
    if (description.forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY) {
      forward.q_offsets = nullptr;
    }
    buffers.dout = at(0x6000);
    buffers.dq = at(0x7000);
    buffers.dk = at(0x8000);
    buffers.dv = at(0x9000);
    launches.clear();
    encodedSizes.clear();
    encodedStrides.clear();
  }

  Status execute() {
    return plan.execute(buffers, memory.data(), plan.getWorkspaceSize(),
                        nullptr);
  }
  char *getBase() { return reinterpret_cast<char *>(memory.data()); }
};
} // namespace

TEST(AttentionBackward, RefusesDescriptions) {
  struct Refusal {
    std::function<void(Description &)> change;
    const char *message;
  };
  const Refusal refusals[] = {
      {[](Description &d) { d.struct_size = 8; },
       "expected 'struct_size' to be 240, but got 8"},
      {[](Description &d) { d.forward.struct_size = 8; },
       "expected 'struct_size' to be 160, but got 8"},
      {[](Description &d) { d.forward.head_dim = 96; },
       "expected 'head_dim' to be 64 or 128, but got 96"},
      {[](Description &d) { d.dout_row_stride = 4; },
       "expected 'dout_row_stride' to be 0 or in 128 .. 549755813887 "
       "elements, but got 4"},
      {[](Description &d) { d.dq_head_stride = 132; },
       "expected 'dq_head_stride' to be a multiple of 8 elements, so that "
       "rows start at 16 bytes, but got 132"},
      {[](Description &d) { d.dk_row_stride = -512; },
       "expected 'dk_row_stride' to be 0 or in 128 .. 549755813887 elements, "
       "but got -512"},
      {[](Description &d) { d.dv_head_stride = 1; },
       "expected 'dv_head_stride' to be 0 or in 128 .. 549755813887 elements, "
       "but got 1"}};
  for (const Refusal &refusal : refusals) {
    Description description = makeJagged();
    refusal.change(description);
    AttentionGradients gradients;
    EXPECT_EQ(checkGradients(description, gradients).message, refusal.message);
  }
}

TEST(AttentionBackward, RefusesBuffers) {
  Planned planned(makeJagged());
  auto expectRefused = [&](const char *argument, const void **field) {
    const void *before = *field;
    *field = nullptr;
    EXPECT_EQ(planned.execute().argument, argument);
    *field = reinterpret_cast<const void *>(0x1001);
    EXPECT_EQ(planned.execute().argument, argument);
    *field = before;
  };
  jfaAttentionBackwardBuffers &buffers = planned.buffers;
  expectRefused("q", &buffers.forward.q);
  expectRefused("dout", &buffers.dout);
  expectRefused("dq", const_cast<const void **>(&buffers.dq));
  expectRefused("dk", const_cast<const void **>(&buffers.dk));
  expectRefused("dv", const_cast<const void **>(&buffers.dv));
  expectRefused("o", const_cast<const void **>(&buffers.forward.o));
  EXPECT_EQ(planned.plan
                .execute(buffers, planned.memory.data(),
                         planned.plan.getWorkspaceSize() - 1, nullptr)
                .argument,
            "workspace_bytes");
  EXPECT_EQ(planned.plan
                .execute(buffers, planned.getBase() + 4,
                         planned.plan.getWorkspaceSize(), nullptr)
                .argument,
            "workspace");
  EXPECT_TRUE(launches.empty());
}

TEST(AttentionBackward, DeterministicNeedsItsKernel) {
  addKernels();
  Description description = makeJagged();
  description.forward.causal = 1;
  description.deterministic = 1;
  AttentionBackwardPlan plan;
  ASSERT_FALSE(checkGradients(description, plan.problem).failed());
  Status status = AttentionBackwardPlan::create(fakeDriver, fakeGpu, plan);
  EXPECT_EQ(status.code, JFA_STATUS_NO_KERNEL);
  EXPECT_EQ(status.message.substr(0, 137),
            "expected a kernel attention_bwd for sm_90 with HEAD_DIM=128 "
            "ELEMENT=bf16 CAUSAL=true JAGGED=true BROADCAST_QUERY=false "
            "DETERMINISTIC=true");
}

static size_t countZeros(const char *begin, size_t size) {
  return size_t(std::count(begin, begin + size, '\0'));
}

TEST(AttentionBackward, LaunchesAllocateNothing) {
  for (int deterministic : {0, 1}) {
    Description description = makeJagged();
    description.deterministic = deterministic;
    Planned planned(description);
    // The driver of these tests allocates for what it notes.
    isNoting = false;
    size_t before = countAllocations();
    bool failed = planned.execute().failed();
    size_t allocations = countAllocations() - before;
    isNoting = true;
    EXPECT_FALSE(failed);
    EXPECT_EQ(allocations, 0u);
  }
}

TEST(AttentionBackward, DeterministicTilesTakeTurns) {
  Description description = makeJagged();
  size_t size = Planned(description).plan.getWorkspaceSize();
  description.deterministic = 1;
  Planned planned(description);
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_FALSE(launches[0].isCooperative);
  EXPECT_TRUE(launches[1].isCooperative);
  EXPECT_FALSE(launches[1].isDependent);
  EXPECT_FALSE(launches[2].isCooperative);
  // Two semaphores for each block of 64 queries and head, all of them 0.
  size_t turns = (300 / 128 + 3) * 128 / 64 * 4 * 2 * sizeof(int32_t);
  EXPECT_EQ(planned.plan.getWorkspaceSize(), size + turns);
  EXPECT_EQ(launches[1].values[7], planned.getBase() + size);
  EXPECT_EQ(countZeros(planned.getBase() + size, turns), turns);
  EXPECT_EQ(launches[1].getInteger(8), 4);
  EXPECT_EQ(launches[2].getInteger(5), 1) << "dq_copies";
}

TEST(AttentionBackward, DeterministicSharedQueriesHaveSeveralSums) {
  Description description = makeBroadcast(3);
  size_t size = Planned(description).plan.getWorkspaceSize();
  description.deterministic = 1;
  Planned planned(description);
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_TRUE(launches[1].isCooperative);
  // Four CTAs for two heads of keys: two of a head at a time, of 4 x 2 steps.
  EXPECT_EQ(launches[1].grid, 4u);
  EXPECT_EQ(launches[2].getInteger(5), 1) << "dq_copies";
  // Two semaphores for each of 4 blocks of queries and 4 heads.
  EXPECT_EQ(planned.plan.getWorkspaceSize(), size + 4 * 4 * 2 * 4);
  // Tiles are numbered in each head: 1 + 2 of them.
  std::vector<int32_t> numbers;
  for (const WorkItem &item : planned.plan.getLaunch(1).work.items) {
    numbers.push_back(item.count);
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<int32_t>{0, 0, 0, 1, 1, 2, 2}));
}

TEST(AttentionBackward, PairsTakeTilesOfBothCtas) {
  addKernels();
  Description description = makeJagged();
  description.forward.causal = 1;
  AttentionBackwardPlan plan;
  ASSERT_FALSE(checkGradients(description, plan.problem).failed());
  Status status = AttentionBackwardPlan::create(fakeDriver, fakeGpu, plan);
  ASSERT_FALSE(status.failed()) << status.message;
  // Four multiprocessors have room for two pairs.
  EXPECT_EQ(plan.getLaunch(1).grid, 2);
  // 128 and 256 keys, of two heads: a tile of 256 keys each.
  EXPECT_EQ(plan.getLaunch(1).getNumItems(), 4u);
  for (const WorkItem &item : plan.getLaunch(1).work.items) {
    EXPECT_EQ(item.row, 0);
  }
}

TEST(AttentionBackward, LaunchesThreeKernels) {
  Planned planned(makeJagged());
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 3u);
  // Sequences of 64, 0 and 231 queries, four heads: 1 + 2 tiles of each, at the
  // end of half as many rows 1 + 4. Tiles of 128 keys: 1 + 2, of each of two
  // heads. Four multiprocessors, with two CTAs each but for the main kernel.
  // What knows how to wait may start early, but not the first.
  EXPECT_FALSE(launches[0].isDependent);
  EXPECT_TRUE(launches[1].isDependent);
  EXPECT_FALSE(launches[2].isDependent);
  EXPECT_EQ(launches[0].entry, "attention_bwd_pre");
  EXPECT_EQ(launches[0].grid, 8u);
  EXPECT_EQ(planned.plan.getLaunch(0).getNumItems(), 12u);
  EXPECT_EQ(launches[1].entry, "attention_bwd");
  EXPECT_EQ(launches[1].grid, 4u);
  EXPECT_EQ(planned.plan.getLaunch(1).getNumItems(), 6u);
  EXPECT_EQ(launches[2].entry, "attention_bwd_post");
  EXPECT_EQ(launches[2].grid, 8u);
  EXPECT_EQ(planned.plan.getLaunch(2).getNumItems(), 20u);
}

TEST(AttentionBackward, PassesWhatKernelsHandOn) {
  Planned planned(makeJagged());
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 3u);
  const std::vector<void *> &pre = launches[0].values;
  const std::vector<void *> &main = launches[1].values;
  const std::vector<void *> &post = launches[2].values;
  // The address is the first word of a map, shifted if it is ragged.
  EXPECT_EQ(pre[2], post[0]) << "dq_acc";
  EXPECT_EQ(pre[3], main[2]) << "lse_log2";
  // 300 rows of o in units of 128, and one unit for each sequence.
  int64_t padded = (300 / 128 + 3) * 128;
  EXPECT_EQ(reinterpret_cast<int64_t>(pre[8]), padded);
  auto *lse = static_cast<char *>(pre[3]), *delta = static_cast<char *>(pre[4]);
  EXPECT_EQ(delta - lse, 4 * padded * 4);
  EXPECT_EQ(delta + 4 * padded * 4,
            planned.getBase() + planned.plan.getWorkspaceSize());
  // In the order of the launches: o, do, dq_acc; q, dk, lse_log2; ...
  ASSERT_EQ(encodedSizes.size(), 8u);
  EXPECT_EQ(encodedSizes[2],
            (std::vector<uint64_t>{128, uint64_t(kSegmentBound), 4, 301}));
  // Row after row of a head, and head after head.
  EXPECT_EQ(encodedStrides[2],
            (std::vector<uint64_t>{128 * 4, 300 * 128 * 4, 128 * 4}));
  EXPECT_EQ(encodedSizes[4],
            (std::vector<uint64_t>{128, uint64_t(kSegmentBound), 2, 385}));
  EXPECT_EQ(encodedSizes[5], (std::vector<uint64_t>{uint64_t(padded), 4}));
}

TEST(AttentionBackward, EachKernelHasItsWorkList) {
  Planned planned(makeJagged());
  ASSERT_FALSE(planned.execute().failed());
  const size_t places[] = {5, 3, 2};
  for (size_t i = 0; i < 3; ++i) {
    const WorkList &work = planned.plan.getLaunch(i).work;
    const auto *items =
        static_cast<const WorkItem *>(launches[i].values[places[i]]);
    const auto *starts =
        static_cast<const int32_t *>(launches[i].values[places[i] + 1]);
    EXPECT_TRUE(std::equal(work.items.begin(), work.items.end(), items));
    EXPECT_TRUE(std::equal(work.starts.begin(), work.starts.end(), starts));
    EXPECT_EQ(reinterpret_cast<const void *>(starts),
              reinterpret_cast<const void *>(items + work.items.size()));
  }
}

TEST(AttentionBackward, SharedQueriesAreOneSequenceAtTheEnd) {
  Planned planned(makeBroadcast(3));
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 3u);
  // 200 queries: two tiles of each head of each sequence, and four of each head
  // at the end.
  EXPECT_EQ(planned.plan.getLaunch(0).getNumItems(), 24u);
  EXPECT_EQ(planned.plan.getLaunch(2).getNumItems(), 16u);
  EXPECT_EQ(launches[2].getInteger(4), 200);
}

TEST(AttentionBackward, SharedQueriesOfNoSequenceHaveAGradient) {
  Planned planned(makeBroadcast(0));
  ASSERT_FALSE(planned.execute().failed());
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].entry, "attention_bwd_post");
  // The sums are the last part of the workspace, since there are no rows of o.
  size_t bytes = 200 * 4 * 128 * 4;
  const char *end = planned.getBase() + planned.plan.getWorkspaceSize();
  EXPECT_TRUE(std::all_of(end - bytes, end, [](char c) { return c == 0; }));
}

TEST(AttentionBackward, WithoutQueriesOnlyKeysHaveGradients) {
  static const int32_t none[] = {0, 0, 0, 0};
  Description description = makeJagged();
  description.forward.q_offsets = none;
  Planned planned(description);
  // Tensors without rows need no address.
  planned.buffers.forward.q = planned.buffers.forward.o = nullptr;
  planned.buffers.dout = planned.buffers.dq = nullptr;
  planned.buffers.forward.lse = nullptr;
  Status status = planned.execute();
  ASSERT_FALSE(status.failed()) << status.message;
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].entry, "attention_bwd");
  planned.buffers.forward.q_offsets = nullptr;
  EXPECT_EQ(planned.execute().argument, "q_offsets");
}

TEST(AttentionBackward, NothingIsLaunchedForNothing) {
  static const int32_t none[] = {0};
  Description description = makeJagged();
  description.forward.batch_size = 0;
  description.forward.q_offsets = description.forward.k_offsets = none;
  Planned planned(description);
  planned.buffers = {};
  planned.buffers.struct_size = sizeof(planned.buffers);
  planned.buffers.forward.struct_size = sizeof(planned.buffers.forward);
  EXPECT_FALSE(planned.execute().failed());
  EXPECT_TRUE(launches.empty());
}

TEST(AttentionBackward, RefusalsComeBeforeTheFirstLaunch) {
  Planned planned(makeJagged());
  encodingFails = true;
  Status status = planned.execute();
  encodingFails = false;
  EXPECT_EQ(status.code, JFA_STATUS_DRIVER_ERROR);
  EXPECT_TRUE(launches.empty());
}

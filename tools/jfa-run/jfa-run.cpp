//===- jfa-run.cpp - Runs the attention forward once ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shortest way to see the kernels work: random data, the forward through
// the C interface, its error against the CPU, its time and its resources. On a
// machine without a GPU it says what it could not do, and succeeds.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "ReferenceAttention.h"

#include "jfa-c/Runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

using namespace jfa::run;
using namespace jfa::runtime;

namespace {
struct Options {
  bool causal = false;
  int32_t headDim = 128;
  int64_t batch = 4;
  int32_t queryHeads = 16;
  int32_t kvHeads = 16;
  int64_t length = 4096;
  std::string kernels;
  bool help = false;
};

using Values = std::vector<float>;
} // namespace

static const char *const kUsage =
    "usage: jfa-run [options]\n"
    "  runs the attention forward in bf16 on random data and checks it\n"
    "  --causal          mask keys after the query\n"
    "  --head-dim N      64 or 128 (128)\n"
    "  --batch N         sequences (4)\n"
    "  --heads N         query heads (16)\n"
    "  --kv-heads N      key and value heads (as --heads)\n"
    "  --length N        queries and keys of each sequence (4096)\n"
    "  --kernels FILE    a bundle to use before the embedded kernels\n";

static void check(jfaStatus status, const jfaError &error) {
  if (status != JFA_STATUS_SUCCESS) {
    throw std::runtime_error(error.message);
  }
}

static Options parse(int argc, char **argv) {
  Options options;
  bool kvHeadsGiven = false;
  auto number = [&](int &i) {
    char *end = nullptr;
    const char *text = i + 1 < argc ? argv[i + 1] : "";
    long value = std::strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1 || value > 1000000000) {
      throw std::runtime_error(std::string("expected '") + argv[i] +
                               "' to be followed by a positive number, but "
                               "got '" +
                               text + "'");
    }
    ++i;
    return static_cast<int32_t>(value);
  };
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--causal") {
      options.causal = true;
    } else if (name == "--help") {
      options.help = true;
    } else if (name == "--head-dim") {
      options.headDim = number(i);
    } else if (name == "--batch") {
      options.batch = number(i);
    } else if (name == "--heads") {
      options.queryHeads = number(i);
    } else if (name == "--kv-heads") {
      options.kvHeads = number(i);
      kvHeadsGiven = true;
    } else if (name == "--length") {
      options.length = number(i);
    } else if (name == "--kernels" && i + 1 < argc) {
      options.kernels = argv[++i];
    } else {
      throw std::runtime_error("unknown or incomplete option '" + name + "'");
    }
  }
  if (!kvHeadsGiven) {
    options.kvHeads = options.queryHeads;
  }
  return options;
}

static void printResources(const jfaKernelFacts &facts) {
  std::printf("  %s (%s, %s): %d registers, %d bytes of shared memory, spills "
              "%d/%d bytes, stack %d bytes, ptxas %s\n    %s\n",
              facts.entry, facts.arch, facts.source, facts.registers,
              facts.shared_memory_bytes, facts.spill_store_bytes,
              facts.spill_load_bytes, facts.stack_bytes, facts.ptxas_version,
              facts.parameters);
}

static void printKernels() {
  jfaError error;
  int64_t count = 0;
  check(jfaKernelGetCount(&count, &error), error);
  if (count == 0) {
    std::printf("kernels: none (no ptxas was found when this was built, and no "
                "bundle was loaded)\n");
    return;
  }
  std::printf("kernels: %lld\n", static_cast<long long>(count));
  for (int64_t i = 0; i < count; ++i) {
    jfaKernelFacts facts;
    facts.struct_size = sizeof(facts);
    check(jfaKernelGetFacts(i, &facts, &error), error);
    printResources(facts);
  }
}

static std::vector<uint16_t> makeRandom(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  // A block of true normals, repeated: enough for a check, and quick to make.
  std::vector<uint16_t> block(std::min<size_t>(size, 1000003));
  std::generate(block.begin(), block.end(),
                [&] { return toBFloat16(normal(random)); });
  std::vector<uint16_t> result(size);
  for (size_t i = 0; i < size; ++i) {
    result[i] = block[i % block.size()];
  }
  return result;
}

/// Copies one head of one sequence out of a dense [B, S, H, D] tensor.
static Values getHead(const std::vector<uint16_t> &tensor,
                      const Options &options, int64_t sequence, int64_t head,
                      int64_t heads) {
  Values result;
  int64_t dim = options.headDim;
  for (int64_t row = 0; row < options.length; ++row) {
    int64_t at =
        ((sequence * options.length + row) * heads + head) * int64_t(dim);
    for (int64_t d = 0; d < dim; ++d) {
      result.push_back(fromBFloat16(tensor[size_t(at + d)]));
    }
  }
  return result;
}

namespace {
/// Everything of one run, on the host.
struct Data {
  std::vector<uint16_t> q, k, v, o;
  Values lse;
};
} // namespace

/// Compares some rows of the first and the last head with the reference, as the
/// whole would take the CPU minutes. Returns whether they agree.
static bool compare(const Options &options, const Data &data) {
  constexpr int64_t kRows = 64;
  double worst = 0;
  double worstLse = 0;
  for (bool last : {false, true}) {
    int64_t sequence = last ? options.batch - 1 : 0;
    int64_t head = last ? options.queryHeads - 1 : 0;
    int64_t group = head / (options.queryHeads / options.kvHeads);
    Values q = getHead(data.q, options, sequence, head, options.queryHeads);
    Values k = getHead(data.k, options, sequence, group, options.kvHeads);
    Values v = getHead(data.v, options, sequence, group, options.kvHeads);
    Values o = getHead(data.o, options, sequence, head, options.queryHeads);
    // The last rows: a causal one of them sees every key up to its own, so
    // dropping the first queries keeps the bottom-right alignment.
    int64_t rows = std::min(kRows, options.length);
    int64_t first = options.length - rows;
    int64_t dim = options.headDim;
    Values expected(size_t(rows * dim)), lse(static_cast<size_t>(rows));
    computeReference(
        {rows, options.length, dim, options.causal, 1 / std::sqrt(double(dim))},
        &q[size_t(first * dim)], k.data(), v.data(), expected.data(),
        lse.data());
    for (int64_t i = 0; i < rows * dim; ++i) {
      double error =
          std::fabs(o[size_t(first * dim + i)] - expected[size_t(i)]);
      // Written so that a NaN counts as the worst.
      worst = error <= worst ? worst : error;
    }
    int64_t at = (head * options.batch + sequence) * options.length + first;
    for (int64_t i = 0; i < rows; ++i) {
      double error = std::fabs(data.lse[size_t(at + i)] - lse[size_t(i)]);
      worstLse = error <= worstLse ? worstLse : error;
    }
  }
  // Outputs are averages of normal values; bf16 has 8 bits, and P is rounded
  // to it as well.
  bool good = worst <= 0.03 && worstLse <= 1e-3;
  std::printf("error against the CPU: o %.2e, lse %.2e: %s\n", worst, worstLse,
              good ? "right" : "WRONG");
  return good;
}

static jfaAttentionForwardDescription describe(const Options &options) {
  jfaAttentionForwardDescription description{};
  description.struct_size = sizeof(description);
  description.element_type = JFA_ELEMENT_TYPE_BF16;
  description.mode = JFA_ATTENTION_MODE_DENSE;
  description.head_dim = options.headDim;
  description.num_query_heads = options.queryHeads;
  description.num_kv_heads = options.kvHeads;
  description.causal = options.causal;
  description.batch_size = options.batch;
  description.q_length = description.k_length = options.length;
  return description;
}

static bool runOn(const Driver &driver, const Options &options,
                  jfaAttentionForwardPlan *plan) {
  Device device(driver, 0);
  auto rows = static_cast<size_t>(options.batch * options.length);
  size_t qSize = rows * size_t(options.queryHeads) * size_t(options.headDim);
  size_t kSize = rows * size_t(options.kvHeads) * size_t(options.headDim);
  Data data{makeRandom(qSize, 1), makeRandom(kSize, 2), makeRandom(kSize, 3),
            std::vector<uint16_t>(qSize, 0x7fff),
            Values(rows * size_t(options.queryHeads), NAN)};
  auto onDevice = [&](const auto &values) {
    size_t bytes = values.size() * sizeof(values[0]);
    void *result = device.allocate(bytes);
    device.upload(result, values.data(), bytes);
    return result;
  };
  jfaAttentionForwardBuffers buffers{};
  buffers.struct_size = sizeof(buffers);
  buffers.q = onDevice(data.q);
  buffers.k = onDevice(data.k);
  buffers.v = onDevice(data.v);
  buffers.o = onDevice(data.o);
  buffers.lse = static_cast<float *>(onDevice(data.lse));

  jfaError error;
  size_t bytes = 0;
  check(jfaAttentionForwardPlanGetWorkspaceSize(plan, &bytes, &error), error);
  void *workspace = device.allocate(bytes);
  check(jfaAttentionForwardPlanInitializeWorkspace(plan, workspace, bytes,
                                                   nullptr, &error),
        error);
  double milliseconds = device.time(
      [&] {
        check(jfaAttentionForwardExecute(plan, &buffers, workspace, bytes,
                                         nullptr, &error),
              error);
      },
      20);
  device.download(data.o.data(), buffers.o, qSize * sizeof(uint16_t));
  device.download(data.lse.data(), buffers.lse,
                  data.lse.size() * sizeof(float));
  double flops = 4.0 * options.headDim * double(rows) * double(options.length) *
                 options.queryHeads * (options.causal ? 0.5 : 1.0);
  std::printf("%s: %.3f ms, %.0f TFLOP/s\n", device.getName().c_str(),
              milliseconds, flops / milliseconds * 1e-9);
  return compare(options, data);
}

static int run(const Options &options) {
  jfaError error;
  if (!options.kernels.empty()) {
    check(jfaLoadKernels(options.kernels.c_str(), &error), error);
  }
  std::printf("jfa %s, attention forward, bf16, batch %lld, heads %d/%d, "
              "length %lld, head dimension %d, %s\n",
              jfaRuntimeGetVersion(), static_cast<long long>(options.batch),
              options.queryHeads, options.kvHeads,
              static_cast<long long>(options.length), options.headDim,
              options.causal ? "causal" : "full");
  jfaAttentionForwardDescription description = describe(options);
  jfaAttentionForwardPlan *plan = nullptr;
  jfaStatus status =
      jfaAttentionForwardPlanCreate(&description, 0, &plan, &error);
  if (status == JFA_STATUS_NO_DRIVER || status == JFA_STATUS_NO_DEVICE ||
      status == JFA_STATUS_NO_KERNEL) {
    std::printf("not run (%s): %s\n"
                "error and time need a GPU that a kernel was compiled for; the "
                "kernels at hand:\n",
                jfaStatusGetName(status), error.message);
    printKernels();
    return 0;
  }
  check(status, error);
  jfaKernelFacts facts;
  facts.struct_size = sizeof(facts);
  check(jfaAttentionForwardPlanGetFacts(plan, &facts, &error), error);
  printResources(facts);
  Status driverStatus;
  const Driver *driver = Driver::get(driverStatus);
  bool good = driver && runOn(*driver, options, plan);
  jfaAttentionForwardPlanDestroy(plan, nullptr);
  return good ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    Options options = parse(argc, argv);
    if (options.help) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    return run(options);
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "jfa-run: error: %s\n", exception.what());
    return 1;
  }
}

//===- BundleTest.cpp - Tests of the bundle reader --------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleTesting.h"

#include "AttentionKernel.h"
#include "Kernels.h"

#include <gtest/gtest.h>

#include <random>

using namespace jfa::runtime;
using namespace jfa::testing;

namespace {
Status read(const std::string &bytes, std::vector<Manifest> &manifests) {
  // A copy of the exact size, so that a sanitizer sees a read past the end.
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  return readBundle(copy.data(), copy.size(), manifests);
}

std::string getMessage(const std::string &bytes) {
  std::vector<Manifest> manifests;
  Status status = read(bytes, manifests);
  EXPECT_EQ(status.code, JFA_STATUS_INVALID_BUNDLE);
  EXPECT_TRUE(manifests.empty());
  return status.message;
}

/// The message for a good header in which one piece of text is replaced.
std::string getMessageWith(const std::string &from, const std::string &to) {
  std::string header = kHeader;
  size_t at = header.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return getMessage(makeBundle(header.replace(at, from.size(), to)));
}
} // namespace

TEST(Bundle, ReadsAManifest) {
  std::string bytes = makeBundle(kHeader);
  std::vector<Manifest> manifests;
  Status status = readBundle(reinterpret_cast<const uint8_t *>(bytes.data()),
                             bytes.size(), manifests);
  ASSERT_FALSE(status.failed()) << status.message;
  ASSERT_EQ(manifests.size(), 1u);
  const Manifest &manifest = manifests[0];
  EXPECT_EQ(manifest.entry, "attention_fwd");
  EXPECT_EQ(manifest.arch, "sm_90a");
  EXPECT_EQ(manifest.getInteger("BLOCK_M", 0), 128);
  EXPECT_EQ(manifest.getInteger("ELEMENT", -1), -1);
  EXPECT_EQ(manifest.getParameter("CAUSAL", ""), "false");
  EXPECT_EQ(manifest.getParameter("ELEMENT", ""), "bf16");
  EXPECT_EQ(manifest.getParameter("ABSENT", "none"), "none");
  EXPECT_EQ(manifest.block[0], 384);
  EXPECT_EQ(manifest.registers, 168);
  EXPECT_EQ(manifest.cubinBytes, 8u);
  EXPECT_EQ(std::string(manifest.cubin, manifest.cubin + 8), kCode);
  ASSERT_EQ(manifest.arguments.size(), 3u);
  EXPECT_TRUE(manifest.arguments[0].recipe.ragged);
  EXPECT_EQ(manifest.arguments[0].recipe.dimensions.size(), 5u);

  std::vector<Slot> slots;
  ASSERT_FALSE(bindArguments(manifest, slots).failed());
  std::vector<Slot> expected = {Slot::Q, Slot::Lse, Slot::KLength};
  EXPECT_EQ(slots, expected);
}

TEST(Bundle, RefusesUnknownArguments) {
  Manifest manifest{};
  manifest.entry = "attention_fwd";
  Argument argument{};
  argument.name = "bias";
  manifest.arguments = {argument};
  std::vector<Slot> slots;
  EXPECT_EQ(bindArguments(manifest, slots).message,
            "expected the arguments of attention_fwd to be known to this "
            "runtime, but got 'bias'");
  manifest.arguments[0].name = "k_length";
  manifest.arguments[0].kind = ArgumentKind::Scalar;
  manifest.arguments[0].element = ElementType::I64;
  EXPECT_EQ(bindArguments(manifest, slots).message,
            "expected the argument 'k_length' of attention_fwd to have the "
            "kind and type that this runtime passes");
}

TEST(Bundle, NamesWhatIsWrong) {
  EXPECT_EQ(getMessage("JFABUND"), "expected a file that begins with JFABUNDL");
  EXPECT_EQ(getMessage(makeBundle(kHeader, 2)),
            "expected version 1, but got 2");
  EXPECT_EQ(getMessageWith("\"schema\":1,\"entry\"", "\"schema\":2,\"entry\""),
            "kernel 0: expected 'schema' to be in 1 .. 1, but got 2");
  EXPECT_EQ(getMessageWith("\"registers\":168", "\"registers\":-1"),
            "kernel 0: expected 'registers' to be in 0 .. 2147483647, but got "
            "-1");
  EXPECT_EQ(getMessageWith("\"registers\":168,", ""),
            "kernel 0: expected 'registers', but it is missing");
  EXPECT_EQ(getMessageWith("[384,1,1]", "[384,1]"),
            "kernel 0: expected 'block' to have 3 numbers, but got 2");
  EXPECT_EQ(getMessageWith("\"size\":8}", "\"size\":9}"),
            "kernel 0: expected the code at 0 with 9 bytes to lie within 8 "
            "bytes");
  EXPECT_EQ(getMessageWith("\"cubin\":{\"offset\":0",
                           "\"cubin\":{\"offset\":9223372036854775807"),
            "kernel 0: expected the code at 9223372036854775807 with 8 bytes "
            "to lie within 8 bytes");
  EXPECT_EQ(getMessageWith("\"extent\":\"segment\"", "\"extent\":\"axis\""),
            "kernel 0: expected 1 segment and 1 position in 'dims', but got 0 "
            "and 1");
  EXPECT_EQ(
      getMessageWith("{\"axis\":2,\"step\":1,", "{\"axis\":1,\"step\":1,"),
      "kernel 0: expected the first of 'dims' to walk the last of two or "
      "three axes in steps of 1");
  EXPECT_EQ(getMessageWith("\"element\":\"bf16\"", "\"element\":\"i32\""),
            "kernel 0: expected the tensor map 'q' to be bf16, f16 or f32");
  EXPECT_EQ(getMessageWith("\"kind\":\"pointer\"", "\"kind\":\"texture\""),
            "kernel 0: expected 'kind' to be tensormap, pointer or scalar, but "
            "got 'texture'");
}

TEST(Bundle, RefusesEveryTruncation) {
  std::string bytes = makeBundle(kHeader);
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<Manifest> manifests;
    EXPECT_TRUE(read(bytes.substr(0, size), manifests).failed()) << size;
  }
}

TEST(Bundle, SurvivesDamage) {
  std::mt19937 random(7);
  std::string good = makeBundle(kHeader);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good;
    for (int changes = 1 + int(random() % 4); changes > 0; --changes) {
      bytes[random() % bytes.size()] = char(random());
    }
    std::vector<Manifest> manifests;
    Status status = read(bytes, manifests);
    EXPECT_EQ(status.failed(), !status.message.empty());
  }
  std::vector<Manifest> manifests;
  EXPECT_TRUE(read(makeBundle(std::string(200000, '[')), manifests).failed());
}

//===----------------------------------------------------------------------===//
// KernelRegistry
//===----------------------------------------------------------------------===//

namespace {
/// Adds a bundle with a kernel for each limit of the keys, in this order. The
/// bundle has no bytes of its own to keep: nobody loads its code.
void addKernels(KernelRegistry &registry, const std::string &source,
                const std::vector<std::string> &limits) {
  const std::string begin = R"({"schema":1,"kernels":[)", end = "]}";
  std::string kernel =
      kHeader.substr(begin.size(), kHeader.size() - begin.size() - end.size());
  std::string header = begin;
  for (const std::string &limit : limits) {
    std::string with = kernel;
    const std::string at = "\"BLOCK_M\"";
    with.insert(with.find(at), "\"MAX_KEYS\":" + limit + ",");
    header += (header == begin ? "" : ",") + with;
  }
  std::string bytes = makeBundle(header + end);
  Status status = registry.add(reinterpret_cast<const uint8_t *>(bytes.data()),
                               bytes.size(), source, nullptr);
  ASSERT_FALSE(status.failed()) << status.message;
}

/// Which kernel serves sequences of so many keys, as "SOURCE LIMIT".
std::string findFor(KernelRegistry &registry, int64_t longest) {
  const Gpu gpu = {0, nullptr, 132, 9, 0, 1};
  Kernel *kernel = findKernel(registry, gpu, "attention_fwd",
                              {{"HEAD_DIM", "128"}}, {1, 1, longest});
  return kernel ? kernel->getSource() + " " +
                      kernel->getManifest().getParameter("MAX_KEYS", "")
                : "none";
}
} // namespace

TEST(KernelRegistry, FirstOfTheNewestBundleThatSuits) {
  KernelRegistry registry;
  EXPECT_EQ(findFor(registry, 1), "none");
  addKernels(registry, "old", {"64", "256", "0"});
  EXPECT_EQ(findFor(registry, 1), "old 64");
  EXPECT_EQ(findFor(registry, 64), "old 64");
  EXPECT_EQ(findFor(registry, 65), "old 256");
  EXPECT_EQ(findFor(registry, 257), "old 0");
  addKernels(registry, "new", {"32", "128"});
  EXPECT_EQ(findFor(registry, 32), "new 32");
  EXPECT_EQ(findFor(registry, 33), "new 128");
  EXPECT_EQ(findFor(registry, 129), "old 256");
  addKernels(registry, "newest", {"0", "64"});
  EXPECT_EQ(findFor(registry, 1), "newest 0");
  EXPECT_EQ(registry.getCount(), 7u);
}

//===- ParserTest.cpp - Reading PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Code.h"

#include "gtest/gtest.h"

using namespace mlir::jfa::emu;

static std::unique_ptr<Module> parseBody(const std::string &body,
                                         std::string &error) {
  return parseModule(".version 8.6\n.target sm_90a\n.address_size 64\n" + body,
                     error);
}

TEST(ParserTest, ReadsParametersAndDirectives) {
  std::string error;
  auto module = parseBody(".visible .entry k(.param .align 64 .b8 map[128],\n"
                          ".param .u32 n, .param .u64 .ptr .global .align 1 p)"
                          ".reqntid 384, 1, 1 .minnctapersm 1 { ret; }",
                          error);
  ASSERT_TRUE(module) << error;
  const Function *kernel = module->find("k");
  ASSERT_TRUE(kernel);
  ASSERT_EQ(kernel->parameters.size(), 3u);
  EXPECT_EQ(kernel->parameters[0].size, 128u);
  EXPECT_EQ(kernel->parameters[1].offset, 128u);
  // Aligned to its own size, as the driver packs arguments.
  EXPECT_EQ(kernel->parameters[2].offset, 136u);
  EXPECT_EQ(kernel->threads[0], 384u);
  EXPECT_TRUE(kernel->isExactThreads);
  EXPECT_EQ(kernel->minCtas, 1u);
}

TEST(ParserTest, ScopesHaveRegistersAndLabelsOfTheirOwn) {
  std::string error;
  auto module = parseBody(".entry k() { .reg .pred p; .reg .b32 a;\n"
                          "{ .reg .pred p; W: @p bra D; bra W; D: }\n"
                          "{ .reg .pred p; W: @p bra D; bra W; D: }\n"
                          "@p bra END; mov.b32 a, 1; END: ret; }",
                          error);
  ASSERT_TRUE(module) << error;
  const Function &kernel = module->functions[0];
  ASSERT_EQ(kernel.registers.size(), 4u);
  EXPECT_EQ(kernel.statements[0].guard, 2u);
  EXPECT_EQ(kernel.statements[0].operands[0].bits, 2u);
  EXPECT_EQ(kernel.statements[2].guard, 3u);
  EXPECT_EQ(kernel.statements[3].operands[0].bits, 2u);
  EXPECT_EQ(kernel.statements[4].guard, 0u);
}

TEST(ParserTest, ReadsNumbers) {
  std::string error;
  auto module = parseBody(".entry k() { .reg .b32 %r<2>;\n"
                          "mov.b32 %r0, 0f3F800000; mov.b32 %r1, -1;\n"
                          "mov.b32 %r1, 0x10; mov.b32 %r1, 07U; }",
                          error);
  ASSERT_TRUE(module) << error;
  const auto &statements = module->functions[0].statements;
  EXPECT_EQ(statements[0].operands[1].bits, 0x3f800000u);
  EXPECT_EQ(statements[1].operands[1].bits, ~uint64_t(0));
  EXPECT_EQ(statements[2].operands[1].bits, 16u);
  EXPECT_EQ(statements[3].operands[1].bits, 7u);
}

TEST(ParserTest, ReadsLinesOfTheSource) {
  std::string error;
  auto module = parseBody(".entry k() { .loc 1 12 5\n ret; }\n"
                          ".file 1 \"fwd.mlir\"",
                          error);
  ASSERT_TRUE(module) << error;
  EXPECT_EQ(module->functions[0].statements[0].sourceLine, 12u);
  EXPECT_EQ(module->files.at(1), "fwd.mlir");
}

TEST(ParserTest, RefusesWhatIsTooLarge) {
  std::string error;
  // A kernel that cannot be read does not spoil others.
  auto module = parseBody(".entry k() { .reg .b32 %r<999999999>; }", error);
  ASSERT_TRUE(module) << error;
  const std::string &ofKernel = module->functions[0].error;
  EXPECT_NE(ofKernel.find("expected a number up to"), std::string::npos)
      << ofKernel;
  EXPECT_FALSE(parseBody(".shared .b8 x[268435456][2];", error));
  EXPECT_NE(error.find("bytes"), std::string::npos) << error;
}

//===----------------------------------------------------------------------===//
// Where lanes meet again
//===----------------------------------------------------------------------===//

static std::unique_ptr<Code> decodeBody(std::unique_ptr<Module> &module,
                                        const std::string &body) {
  std::string error;
  module =
      parseBody(".entry k() { .reg .pred p; .reg .b32 a; " + body + "}", error);
  EXPECT_TRUE(module) << error;
  auto code = decode(*module, module->functions[0], error);
  EXPECT_TRUE(code) << error;
  return code;
}

TEST(ControlFlowTest, BranchesMeetAtTheirPostDominator) {
  std::unique_ptr<Module> module;
  auto code = decodeBody(module, "@p bra A; mov.b32 a, 1; bra B;\n"
                                 "A: mov.b32 a, 2;\n B: mov.b32 a, 3; ret;");
  EXPECT_EQ(code->joins[0], 4u);
}

TEST(ControlFlowTest, LoopsMeetBehindTheirEnd) {
  std::unique_ptr<Module> module;
  auto code = decodeBody(module, "L: @p bra E; mov.b32 a, 1; bra L;\n"
                                 "E: ret;");
  EXPECT_EQ(code->joins[0], 3u);
}

TEST(ControlFlowTest, WhoLeavesMeetsNobody) {
  std::unique_ptr<Module> module;
  auto code = decodeBody(module, "@p bra E; mov.b32 a, 1; ret; E: ret;");
  EXPECT_EQ(code->joins[0], code->instructions.size());
}

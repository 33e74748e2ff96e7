//===- ExprAttrTest.cpp - Expressions over parameters -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/AsmParser/AsmParser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
class ExprAttrTest : public ::testing::Test {
protected:
  ExprAttrTest() { context.loadDialect<TLXDialect>(); }

  ExprAttr parse(StringRef text) {
    Attribute attr =
        parseAttribute(("#tlx.expr<" + text + ">").str(), &context);
    return dyn_cast_or_null<ExprAttr>(attr);
  }

  /// The value of an expression with A = 7, B = -3; B stays if not `bindB`.
  ExprAttr bind(StringRef text, bool bindB = true) {
    return parse(text).substitute(
        [=](StringRef name) -> std::optional<int64_t> {
          if (name == "A") {
            return 7;
          }
          return name == "B" && bindB ? std::optional<int64_t>(-3)
                                      : std::nullopt;
        });
  }

  MLIRContext context;
};
} // namespace

TEST_F(ExprAttrTest, Precedence) {
  EXPECT_EQ(parse("1 + 2 * 3").getConstant(), 7);
  EXPECT_EQ(parse("(1 + 2) * 3").getConstant(), 9);
  EXPECT_EQ(parse("20 - 3 - 2").getConstant(), 15);
  EXPECT_EQ(parse("2 * 9 floordiv 4").getConstant(), 4);
  EXPECT_EQ(parse("-7 floordiv 2").getConstant(), -4);
  EXPECT_EQ(parse("-7 ceildiv 2").getConstant(), -3);
  EXPECT_EQ(parse("-7 mod 4").getConstant(), 1);
}

TEST_F(ExprAttrTest, Substitution) {
  EXPECT_EQ(bind("A * 2 + B").getConstant(), 11);
  EXPECT_EQ(bind("(A + B) ceildiv 3").getConstant(), 2);
  EXPECT_EQ(bind("B mod 2 + A floordiv 2").getConstant(), 4);
  EXPECT_EQ(bind("A * B").getConstant(), -21);
  EXPECT_EQ(bind("B floordiv A + 20 mod A").getConstant(), 5);
  // There is no such value.
  EXPECT_FALSE(bind("A floordiv (B + 3)").getConstant());
  EXPECT_FALSE(bind("A mod (B + 3)").getConstant());
  ExprAttr partly = bind("A * 2 + B", /*bindB=*/false);
  EXPECT_FALSE(partly.getConstant());
  EXPECT_EQ(partly.str(), "B + 14");
  EXPECT_EQ(partly, parse("B + 14"));
}

TEST_F(ExprAttrTest, TextIsParsedBack) {
  for (StringRef text :
       {"A", "A + B", "A - B", "A * 2 + (B + 1) * 3", "(A + B) mod 8 * 2",
        "A ceildiv 2 + (B floordiv 4) ceildiv 2", "-1", "A - 1", "A * B",
        "A * (B floordiv 64)", "A floordiv B * 2", "A mod (B + 1)"}) {
    ExprAttr expr = parse(text);
    ASSERT_TRUE(expr);
    EXPECT_EQ(parse(expr.str()), expr) << expr.str();
  }
}

TEST_F(ExprAttrTest, EqualExpressionsAreOneAttribute) {
  EXPECT_EQ(parse("B + (A - A)"), parse("B"));
  EXPECT_EQ(parse("A * 0 + 4"), ExprAttr::get(&context, 4));
  EXPECT_EQ(parse("A - A").getNames().size(), 0u);
}

TEST_F(ExprAttrTest, OverflowIsNoValue) {
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  ExprAttr product = parse("9223372036854775807 * 2");
  EXPECT_FALSE(product);
  ExprAttr sum = bind("A + 9223372036854775807");
  EXPECT_FALSE(sum.getConstant());
  EXPECT_FALSE(parse("99999999999999999999"));
}

//===- gemm-choices-test.cpp - algorithms of GEMMs as text -----------------===//

#include "runtime/device/gemm_choices.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tplan::runtime;

namespace {

GemmChoices some() {
  GemmChoices choices;
  choices.madeBy = "cuBLASLt 130200 on NVIDIA H100 80GB HBM3";
  for (int64_t m : {64, 128}) {
    tp_gemm gemm = {m, 32, 16, 16, 32, 32, 2, 1024, 512, 2048, 0, 1, 1, TP_BF16, TP_F32, 0, 0};
    choices.chosen[keyOf({gemm, 64})] = {1, 0xABCDEF0123456789, ~uint64_t(0), 4, 5, 6, 7, 0};
  }
  return choices;
}

std::string errorOf(const std::string &text) {
  GemmChoices choices;
  Status status = choices.parse(text, "F", "away");
  return status.ok() ? "none" : status.message();
}

TEST(GemmChoices, AKeyIsAUse) {
  tp_gemm gemm = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 0, 1, TP_F32, TP_F64, 1, 1};
  GemmUse back = useOf(keyOf({gemm, 16}));
#define EXPECT_SAME(NAME) EXPECT_EQ(back.gemm.NAME, gemm.NAME);
  TP_GEMM_COLUMNS(EXPECT_SAME)
  EXPECT_EQ(back.alignment, 16);
  tp_gemm other = gemm;
  other.tf32 = 0;
  EXPECT_NE(keyOf({gemm, 16}), keyOf({other, 16}));
  EXPECT_NE(keyOf({gemm, 16}), keyOf({gemm, 32}));
  tp_scales scales = {TP_F8E5M2, TP_SCALE_BLOCK, TP_SCALE_SQUARE, 1, 1, 128, 1, 1, 5, 128, 3, 1};
  back = useOf(keyOf({gemm, 16, scales}));
#define EXPECT_SAME_SCALE(NAME) EXPECT_EQ(back.scales.NAME, scales.NAME);
  TP_SCALE_COLUMNS(EXPECT_SAME_SCALE)
  EXPECT_TRUE(back.isScaled());
  EXPECT_NE(keyOf({gemm, 16}), keyOf({gemm, 16, scales}));
}

TEST(GemmChoices, TextAndBack) {
  for (const GemmChoices &choices : {some(), GemmChoices{"cuBLASLt 1 on a GPU", {}}}) {
    GemmChoices back;
    ASSERT_TRUE(back.parse(choices.text(), "F", "away").ok());
    EXPECT_EQ(back.madeBy, choices.madeBy);
    EXPECT_EQ(back.chosen, choices.chosen);
    EXPECT_EQ(back.text(), choices.text());
  }
}

TEST(GemmChoices, BrokenTexts) {
  std::string text = some().text();
  // Every shorter text is refused, and every one with a character too many.
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(errorOf(text.substr(0, length)), "none") << length;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string longer = text;
    longer.insert(at, "x");
    bool isFree = at >= text.find("by ") + 3 && at <= text.find('\n', text.find("by ")); // a name
    EXPECT_EQ(errorOf(longer) == "none", isFree) << longer;
  }
  std::string hint = "'F' holds no GEMM algorithms that can be read: away; line ";
  EXPECT_EQ(errorOf(""), hint + "1 should be tplan gemm algorithms 3, found ''");
  EXPECT_EQ(errorOf("tplan gemm algorithms 3\nfor me\n"),
            hint + "2 should be the library and the GPU, found 'for me'");
  for (auto [type, is] : {std::pair("4", false), std::pair("-1", false),
                          std::pair("4294967296", false), std::pair("3", true)}) {
    std::string other = text;
    // Before the type of A and B come m n k, lda ldb ldc, batch, three strides, three flags.
    size_t at = other.find("\n64 ") + 1;
    for (int column = 0; column < 13; ++column)
      at = other.find(' ', at) + 1;
    other.replace(at, other.find(' ', at) - at, type);
    EXPECT_EQ(errorOf(other) == "none", is) << other;
  }
  EXPECT_EQ(errorOf(text + "more\n"), hint + "7 should be the end, with each choice once, found "
                                             "'more'");
}

} // namespace

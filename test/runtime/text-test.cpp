//===- text-test.cpp - text of others, and sizes, as a terminal has them -------===//

#include "helpers.h"

#include "runtime/support/text.h"

using namespace tplan::runtime;

TEST(Text, ControlsAreShownByTheirNumbers) {
  EXPECT_EQ(printable("web/\x1b[2J"), "web/<U+001B>[2J");
  EXPECT_EQ(printable("\xff"), "<0xff>");
  EXPECT_EQ(printable("h\xc3\xa9"), "h\xc3\xa9");
  EXPECT_LT(shown(std::string(5000, 'a')).size(), 200u);
}

TEST(Text, SizesHaveUnits) {
  EXPECT_EQ(bytesText(0), "0 bytes");
  EXPECT_EQ(bytesText(1023), "1023 bytes");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytesText(5544704), "5.3 MiB");
  EXPECT_EQ(bytesText(int64_t(399886449664)), "372.4 GiB");
}

//===- progress-test.cpp - percentage, time left, tokens a second -----------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/train/progress.h"

#include <regex>

using tplan::runtime::TimeText;

TEST(Progress, TellsTimeInUnitsOfItsSize) {
  EXPECT_STREQ(TimeText(0).text, "0 s");
  EXPECT_STREQ(TimeText(99.4).text, "99 s");
  EXPECT_STREQ(TimeText(99.6).text, "2 min");
  EXPECT_STREQ(TimeText(90 * 60).text, "90 min");
  EXPECT_STREQ(TimeText(2.5 * 3600).text, "2.5 h");
  EXPECT_STREQ(TimeText(50 * 86400).text, "50.0 days");
}

TEST(Progress, LinesSayWhatIsDoneAndLeft) {
  helpers::Scratch scratch;
  helpers::writeFile(scratch / "text", helpers::someText(20000));
  auto outcome = helpers::runMain(toy::program(), {"--data", scratch / "text", "--threads", "1",
                                                   "--steps", "8", "--print-every", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string number = "[0-9.e+-]+";
  auto line = [&](const std::string &begin, const std::string &end) {
    std::regex wanted(begin + "  loss " + number + "  grad_norm " + number + "  lr " + number +
                      "  [0-9]+ tokens/s" + end + "\n");
    EXPECT_TRUE(std::regex_search(outcome.out, wanted)) << begin << "\n" << outcome.out;
  };
  line("step 1/8 \\(12 %\\)", "  [0-9]+ s left");
  line("step 6/8 \\(75 %\\)", "  [0-9]+ s left");
  line("step 8/8 \\(100 %\\)", "");
}

/// With --minutes the time is bounded, not the steps.
TEST(Progress, ABoundOnTimeIsWhatIsLeft) {
  tp_program program = toy::program();
  tplan::runtime::Metrics metrics(program);
  tplan::runtime::Progress progress;
  progress.begin(1, 1, 60);
  testing::internal::CaptureStdout();
  progress.step(program, metrics, {1, 1000000, 0.1, 48, 10, 4.8});
  progress.step(program, metrics, {2, 1000000, 0.1, 96, 10, 4.8});
  std::string lines = testing::internal::GetCapturedStdout();
  EXPECT_NE(lines.find("50 s left"), std::string::npos) << lines;
  EXPECT_NE(lines.find("40 s left"), std::string::npos) << lines;
}

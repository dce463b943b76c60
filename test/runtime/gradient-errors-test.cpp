//===- gradient-errors-test.cpp - errors of gradients, read by other ranks ------===//
#include "helpers.h"

#include "runtime/disk/gradient_errors.h"

#include <cmath>

using namespace tplan::runtime;
using helpers::Scratch;

namespace {

LogicalTensor tensorOf(const char *name, int32_t type, const std::vector<int64_t> &shape,
                       void *data) {
  return {name, type, shape, (char *)data, Share(shape)};
}

/// The file of one tensor "w.error", as three ranks of two elements save it.
class Errors : public testing::Test {
protected:
  Scratch scratch;
  float saved[6] = {1, 2, 30, 40, 500, 602};
  SafetensorsFile file;

  Status save() {
    Peers alone;
    Team team;
    std::string path = scratch / "e.safetensors";
    TP_TRY(writeSafetensors(alone, team, path, {tensorOf("w.error", TP_F32, {3, 2}, saved)}));
    return file.open(path);
  }
};

} // namespace

TEST_F(Errors, AsManyRanksReadTheirOwn) {
  ASSERT_OK(save());
  float read[6] = {};
  std::vector<LogicalTensor> wanted = {tensorOf("w.error", TP_F32, {3, 2}, read)};
  ASSERT_OK(matchErrors(file, wanted));
  ASSERT_OK(copyErrors(file, wanted));
  EXPECT_TRUE(std::equal(read, read + 6, saved));
}

TEST_F(Errors, OtherRanksReadEqualPartsOfTheSum) {
  ASSERT_OK(save());
  float read[8] = {}, more[2] = {7, 7};
  std::vector<LogicalTensor> wanted = {tensorOf("w.error", TP_F32, {4, 2}, read),
                                       tensorOf("new.error", TP_F32, {1, 2}, more)};
  ASSERT_OK(matchErrors(file, wanted));
  ASSERT_OK(copyErrors(file, wanted));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(read[2 * rank], 531 / 4.0f);
    EXPECT_EQ(read[2 * rank + 1], 644 / 4.0f);
  }
  EXPECT_EQ(more[0], 7); // what the file lacks stays
}

TEST_F(Errors, WhatIsNotTheProgramsIsRefused) {
  ASSERT_OK(save());
  float read[6] = {};
  EXPECT_FAILS(matchErrors(file, {}), "w.error", "--reset-errors");
  EXPECT_FAILS(matchErrors(file, {tensorOf("w.error", TP_F32, {3, 1}, read)}), "[3, 2]", "[3, 1]");
  EXPECT_FAILS(matchErrors(file, {tensorOf("w.error", TP_F32, {3, 2, 1}, read)}), "[3, 2, 1]");
  EXPECT_FAILS(matchErrors(file, {tensorOf("w.error", TP_BF16, {3, 2}, read)}), "F32", "BF16");
}

TEST_F(Errors, OneThatIsNoNumberIsRefused) {
  saved[3] = NAN;
  ASSERT_OK(save());
  float read[4] = {};
  EXPECT_FAILS(copyErrors(file, {tensorOf("w.error", TP_F32, {2, 2}, read)}), "[1, 1]",
               "no finite number");
}

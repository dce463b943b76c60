//===- scale-audit-test.cpp - what --audit-scales writes ----------------------===//
#include "runtime/ranks/scale_audit.h"
#include "test/runtime/helpers.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace tplan::runtime;

namespace {

/// What ranks of a group of `members`, each with its part, write: `values` of one rank.
template <typename T>
std::vector<std::string> linesOf(const std::vector<int64_t> &shape,
                                 const std::vector<int64_t> &whole, int32_t type,
                                 const std::vector<std::vector<T>> &values, int32_t offset) {
  std::string path = testing::TempDir() + "scale-audit";
  std::vector<int32_t> groups(shape.size(), -1);
  groups[0] = values.size() > 1 ? 7 : -1;
  tp_audited of = {
      "w x D", shape.data(), whole.data(), groups.data(), int32_t(shape.size()), type, 0, 0};
  std::vector<std::string> lines;
  for (size_t member = 0; member < values.size(); ++member) {
    int32_t layer = 3, step = 2;
    void *numbers[] = {&layer, &step, &offset};
    ScaleAudit audit;
    EXPECT_TRUE(audit.open(path, int64_t(member)).ok());
    audit.write(
        of,
        [&](int64_t group) {
          EXPECT_EQ(group, 7);
          return int64_t(member);
        },
        values[member].data(), numbers);
    EXPECT_TRUE(audit.close().ok());
    std::stringstream text;
    text << std::ifstream(path + "." + std::to_string(member)).rdbuf();
    lines.push_back(text.str());
  }
  return lines;
}

} // namespace

TEST(ScaleAudit, PlacesAreLogicalAndPaddingIsLeftOut) {
  // Five rows over two ranks, from row 10 of the batch.
  auto lines =
      linesOf<float>({3, 2}, {5, 2}, TP_F32, {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 0, 0}}, 10);
  EXPECT_EQ(lines[0], "w x D\t3\t2\t10+3 0+2\t"
                      "3f800000 40000000 40400000 40800000 40a00000 40c00000\n");
  EXPECT_EQ(lines[1], "w x D\t3\t2\t13+2 0+2\t40e00000 41000000 41100000 41200000\n");
}

TEST(ScaleAudit, CodesOfPartsAddUpToTheWhole) {
  auto numberOf = [](const std::string &line) {
    return strtoull(line.substr(line.find('#') + 1).c_str(), nullptr, 16);
  };
  auto whole = linesOf<uint8_t>({4, 2}, {4, 2}, TP_F8E4M3, {{1, 2, 3, 4, 5, 6, 7, 8}}, 0);
  auto parts = linesOf<uint8_t>({2, 2}, {4, 2}, TP_F8E4M3, {{1, 2, 3, 4}, {5, 6, 7, 8}}, 0);
  EXPECT_EQ(numberOf(parts[0]) + numberOf(parts[1]), numberOf(whole[0]));
  auto swapped = linesOf<uint8_t>({4, 2}, {4, 2}, TP_F8E4M3, {{2, 1, 3, 4, 5, 6, 7, 8}}, 0);
  EXPECT_NE(numberOf(swapped[0]), numberOf(whole[0]));
}

TEST(ScaleAudit, AFileThatCannotBeWrittenIsAnError) {
  ScaleAudit audit;
  Status status = audit.open("/nowhere/scales", 1);
  EXPECT_EQ(status.message(), "cannot write /nowhere/scales.1: No such file or directory");
}

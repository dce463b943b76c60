//===- same_run.cpp - whether all ranks run the same -------------------------===//
//
// One decision: the file of the binary is compared, not what its tables say of the plan. A cluster
// has one file for all ranks (examples/jobs), and what was compiled at another time may differ in
// anything, down to the order of a sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/same_run.h"

#include "runtime/disk/checksum.h"
#include "runtime/support/files.h"

#include <algorithm>
#include <string_view>

using namespace tplan::runtime;

namespace {

constexpr const char *ownFile = "/proc/self/exe";
constexpr int64_t mostBytes = int64_t(1) << 32;

using Facts = std::vector<std::pair<std::string, std::string>>;

Status factsOf(const Options &options, Facts &facts) {
  std::string binary;
  TP_TRY(readText(ownFile, binary, mostBytes));
  // Compared first, because another binary may have other options.
  facts.emplace_back("the binary, by its checksum",
                     checksumOf(binary.data(), (int64_t)binary.size()));
  for (auto &option : sharedOptions(options))
    facts.push_back(option);
  // Variables of the environment that bits depend on.
  facts.emplace_back("TPLAN_GEMM", options.gemmWay.empty() ? "not set" : options.gemmWay);
  return {};
}

std::string textOf(const Facts &facts) {
  std::string text;
  for (auto &[name, value] : facts)
    text += name + '\0' + value + '\0';
  return text;
}

/// Where this rank differs from the leader.
Status compare(const Facts &mine, std::string_view leaders) {
  auto next = [&] {
    std::string_view word = leaders.substr(0, leaders.find('\0'));
    leaders.remove_prefix(std::min(leaders.size(), word.size() + 1));
    return std::string(word);
  };
  for (auto &[name, value] : mine) {
    std::string known = next(), there = next();
    if (known != name || there != value)
      return errorf(
          "all ranks must run one binary with the same options: %s is %s on rank 0, and %s here",
          name.c_str(), known == name ? there.c_str() : "another option", value.c_str());
  }
  return {};
}

} // namespace

Status tplan::runtime::checkSameRun(Peers &peers, const Options &options) {
  Facts facts;
  Status found = factsOf(options, facts);
  std::string text = textOf(facts);
  TP_TRY(peers.broadcast(text));
  return peers.agree(found.ok() ? compare(facts, text) : std::move(found));
}

//===- DualPipe.cpp - microbatches from both ends ----------------------------===//
//
// One forward and one backward, of microbatches that go opposite ways, are one task, so that what
// one of them waits for is hidden by the other. With two copies of the model (dualpipe) they come
// from both ends; in a V (dualpipe_v) the second half of the model comes back.
//
// One decision: both are one order. The ranks of the second are those of the first one's first
// half.
//
// Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, and its repository DualPipe.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Policy.h"

using namespace tplan;
using namespace tplan::pipeline;

namespace {
/// The order of a rank that has `q` ranks between itself and where its first chunk begins, of `h`
/// that go one way, for `n` microbatches each way.
void write(RankWriter &w, int32_t h, int32_t q, int32_t n) {
  auto times = [](int32_t count, auto body) {
    for (int32_t i = 0; i < count; ++i)
      body(i);
  };
  bool isMiddle = q == h - 1;
  times(2 * (h - q - 1), [&](int32_t) { w.F(0); });
  times(q + 1, [&](int32_t) { w.F(0), w.F(1); });
  times(h - q - 1, [&](int32_t) { w.I(1), w.W(), w.F(1); });
  times(n - 2 * h + q + 1, [&](int32_t i) {
    if (isMiddle && i == 0)
      w.F(0), w.B(1);
    else
      w.pair(0, 1);
    w.pair(1, 0);
  });
  times(h - q - 1, [&](int32_t) { w.B(1), w.pair(1, 0); });
  times(2 * (q + 1), [&](int32_t i) { // the second half of them in parts
    if (i < q + 1)
      w.B(1 - i % 2);
    else
      w.I(1 - i % 2);
  });
  times(h - q - 1, [&](int32_t) { w.W(), w.I(0); });
  while (w.hasW())
    w.W();
}

std::string refuseDual(int32_t ranks, int32_t microbatches, int32_t) {
  if (ranks % 2)
    return "dualpipe has an even number of ranks, found " + std::to_string(ranks);
  if (microbatches % 2 || microbatches < 2 * ranks)
    return "dualpipe has an even number of microbatches, at least two for each rank: " +
           std::to_string(2 * ranks) + ", found " + std::to_string(microbatches);
  return "";
}

std::string refuseV(int32_t ranks, int32_t microbatches, int32_t) {
  if (microbatches < 2 * ranks)
    return "dualpipe_v has at least two microbatches for each rank: " + std::to_string(2 * ranks) +
           ", found " + std::to_string(microbatches);
  return "";
}
} // namespace

namespace tplan::pipeline::policies {
extern const SchedulePolicy dualPipe = {
    .name = "dualpipe",
    .summary = "two copies of the model, microbatches from both ends, F of one with B of the other",
    .placement = Placement::Dual,
    .refuses = refuseDual,
    .order = [](const Request &request) {
      int32_t p = request.ranks();
      Orders orders;
      for (int32_t rank = 0; rank < p; ++rank) {
        int32_t forward = rank, reverse = 2 * p - 1 - rank;
        bool first = rank < p / 2;
        RankWriter writer(request.pipeline, {first ? forward : reverse, first ? reverse : forward});
        write(writer, p / 2, std::min(rank, p - 1 - rank), request.microbatches() / 2);
        orders.push_back(writer.take());
      }
      return orders;
    }};

extern const SchedulePolicy dualPipeV = {
    .name = "dualpipe_v",
    .summary = "the order of dualpipe's first half of ranks, with two chunks in a V",
    .placement = Placement::V,
    .refuses = refuseV,
    .order = [](const Request &request) {
      return eachRank(request, [&](RankWriter &writer, int32_t rank) {
        write(writer, request.ranks(), rank, request.microbatches());
      });
    }};
} // namespace tplan::pipeline::policies

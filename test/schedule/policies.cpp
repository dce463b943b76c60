//===- policies.cpp - schedules that tests add, without an edit in lib/ ---===//
//
// Linked into schedule-opt beside the main of tplan-opt, and policies-tplanc beside that of tplanc.
// `backwards`, `pairs`, `cheapest` and `unlike` are legal policies; the others each break one rule
// of the checker.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Policy.h"

using namespace tplan::schedule;

namespace {
constexpr TaskKind F = TaskKind::F, B = TaskKind::B, I = TaskKind::I, W = TaskKind::W;

/// Microbatches in falling order, so that no order of ours is taken for granted.
const RegisterPolicy backwards({"backwards", "F and B, from the last microbatch to the first",
                                [](const Pipeline &pipeline) {
                                  std::vector<RankOrder> order(pipeline.ranks());
                                  for (int32_t s = 0; s < pipeline.stages(); ++s)
                                    for (int32_t m = pipeline.microbatches - 1; m >= 0; --m)
                                      for (TaskKind kind : {F, B})
                                        order[s].push_back({kind, s, m});
                                  return order;
                                }});

/// Each F but the first ones goes together with the B that it makes room for.
const RegisterPolicy pairs({"pairs",
                            "F and B in pairs, after as many F as the rank and those that follow",
                            [](const Pipeline &pipeline) {
                              std::vector<RankOrder> order(pipeline.ranks());
                              for (int32_t s = 0; s < pipeline.stages(); ++s) {
                                int32_t ahead = pipeline.stages() - s;
                                for (int32_t m = 0; m < pipeline.microbatches + ahead; ++m) {
                                  bool goes = m < pipeline.microbatches;
                                  if (goes)
                                    order[s].push_back({F, s, m});
                                  if (m >= ahead && m - ahead < pipeline.microbatches)
                                    order[s].push_back({B, s, m - ahead, /*together=*/goes});
                                }
                              }
                              return order;
                            }});

/// A policy may look at what tasks cost.
const RegisterPolicy cheapest({"cheapest", "the backward in one or in parts, whichever costs less",
                               [](const Pipeline &pipeline) {
                                 std::vector<RankOrder> order(pipeline.ranks());
                                 for (int32_t s = 0; s < pipeline.stages(); ++s) {
                                   bool split = pipeline.flopsOf(I, s) + pipeline.flopsOf(W, s) <
                                                pipeline.flopsOf(B, s);
                                   for (int32_t m = 0; m < pipeline.microbatches; ++m) {
                                     order[s].push_back({F, s, m});
                                     for (TaskKind kind :
                                          split ? std::vector{I, W} : std::vector{B})
                                       order[s].push_back({kind, s, m});
                                   }
                                 }
                                 return order;
                               }});

/// Stages need not do the backward alike: those of even number do it in parts.
const RegisterPolicy
    unlike({"unlike", "the backward in parts in each other stage", [](const Pipeline &pipeline) {
              std::vector<RankOrder> order(pipeline.ranks());
              for (int32_t s = 0; s < pipeline.stages(); ++s) {
                RankOrder &mine = order[s];
                for (TaskKind kind : s % 2 ? std::vector{F, B} : std::vector{F, I, W})
                  for (int32_t m = 0; m < pipeline.microbatches; ++m)
                    mine.push_back({kind, s, m});
              }
              return order;
            }});

/// A policy that is right up to one fault, for two stages and microbatches.
RegisterPolicy faulty(llvm::StringRef name, std::vector<RankOrder> order) {
  return RegisterPolicy({name, "", [order](const Pipeline &) { return order; }});
}

const RankOrder last = {{F, 1, 0}, {B, 1, 0}, {F, 1, 1}, {B, 1, 1}};

const RegisterPolicy faults[] = {
    faulty("no_last_stage", {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}}),
    faulty("foreign", {{{F, 0, 0}, {B, 1, 0}, {F, 0, 1}, {B, 0, 1}}, last}),
    faulty("twice", {{{F, 0, 0}, {B, 0, 0}, {F, 0, 0}, {B, 0, 1}}, last}),
    faulty("missing", {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}}, last}),
    faulty("missing_w", {{{F, 0, 0}, {I, 0, 0}, {F, 0, 1}, {B, 0, 1}}, last}),
    faulty("first_together", {{{F, 0, 0, true}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}, last}),
    faulty("needy_pair", {{{F, 0, 0}, {B, 0, 0, true}, {F, 0, 1}, {B, 0, 1}}, last}),
    faulty("mixed", {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {I, 0, 1}, {W, 0, 1}}, last}),
    faulty("both", {{{F, 0, 0}, {B, 0, 0}, {I, 0, 0}, {W, 0, 0}, {F, 0, 1}, {B, 0, 1}}, last}),
    faulty("not_fifo", {{{F, 0, 1}, {B, 0, 1}, {F, 0, 0}, {B, 0, 0}}, last}),
    faulty("early", {{{B, 0, 0}, {F, 0, 0}, {F, 0, 1}, {B, 0, 1}}, last}),
    // Stage 0 finishes a microbatch before the next, stage 1 begins both before it finishes one.
    faulty("deadlock", {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}},
                        {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}}),
};
} // namespace

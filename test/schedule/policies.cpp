//===- policies.cpp - schedules that tests add, without an edit in lib/ ---===//
//
// Linked into schedule-opt beside the main of tplan-opt, and policies-tplanc beside that of tplanc.
// `backwards`, `pairs`, `cheapest` and `unlike` are legal policies; the others each break one rule
// of the checker.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Policy.h"

using namespace tplan::pipeline;

namespace {
constexpr TaskKind F = TaskKind::F, B = TaskKind::B, I = TaskKind::I, W = TaskKind::W;

/// Microbatches in falling order, so that no order of ours is taken for granted.
const RegisterPolicy backwards({.name = "backwards",
                                .summary = "F and B, from the last microbatch to the first",
                                .order = [](const Request &request) {
                                  Orders orders(request.ranks());
                                  for (int32_t s = 0; s < request.ranks(); ++s)
                                    for (int32_t m = request.microbatches() - 1; m >= 0; --m)
                                      for (TaskKind kind : {F, B})
                                        orders[s].push_back({kind, s, m});
                                  return orders;
                                }});

/// Each F but the first ones goes together with the B that it makes room for.
const RegisterPolicy
    pairs({.name = "pairs",
           .summary = "F and B in pairs, after as many F as the rank and those that follow",
           .order = [](const Request &request) {
             return eachRank(request, [&](RankWriter &writer, int32_t rank) {
               int32_t ahead = request.ranks() - rank, all = request.microbatches();
               for (int32_t m = 0; m < all + ahead; ++m)
                 if (m < std::min(ahead, all))
                   writer.F();
                 else if (m < all)
                   writer.pair(0, 0);
                 else if (m >= ahead)
                   writer.B();
             });
           }});

/// A policy may look at what tasks cost.
const RegisterPolicy cheapest({.name = "cheapest",
                               .summary = "the backward in one or in parts, whichever costs less",
                               .order = [](const Request &request) {
                                 return eachRank(request, [&](RankWriter &writer, int32_t rank) {
                                   auto cost = [&](TaskKind kind) {
                                     return request.costs->task(kind, rank);
                                   };
                                   bool split = cost(I) + cost(W) < cost(B);
                                   for (int32_t m = 0; m < request.microbatches(); ++m) {
                                     writer.F();
                                     if (split)
                                       writer.I(), writer.W();
                                     else
                                       writer.B();
                                   }
                                 });
                               }});

/// Stages need not do the backward alike: those of even number do it in parts.
const RegisterPolicy unlike({.name = "unlike",
                             .summary = "the backward in parts in each other stage",
                             .order = [](const Request &request) {
                               Orders orders(request.ranks());
                               for (int32_t s = 0; s < request.ranks(); ++s)
                                 for (TaskKind kind :
                                      s % 2 ? std::vector{F, B} : std::vector{F, I, W})
                                   for (int32_t m = 0; m < request.microbatches(); ++m)
                                     orders[s].push_back({kind, s, m});
                               return orders;
                             }});

/// A policy that is right up to one fault, for two stages and microbatches.
RegisterPolicy faulty(llvm::StringRef name, Orders orders) {
  return RegisterPolicy(
      {.name = name, .summary = "", .order = [orders](const Request &) { return orders; }});
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

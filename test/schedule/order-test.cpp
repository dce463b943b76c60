//===- order-test.cpp - policies, slots and packing -----------------------===//
#include "lib/Memory/Pack.h"
#include "lib/Schedule/Policy.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <random>

using namespace tplan;
using namespace tplan::schedule;

namespace {

bool isLegal(const std::vector<RankOrder> &orders, const Pipeline &pipeline) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
  auto report = [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); };
  return mlir::succeeded(checkOrder(orders, pipeline, report));
}

std::vector<Task> orderOf(llvm::StringRef policy, int64_t stages, int64_t microbatches) {
  Pipeline pipeline = pipelineOf(stages, microbatches);
  std::vector<RankOrder> orders = findPolicy(policy)->order(pipeline);
  EXPECT_TRUE(isLegal(orders, pipeline)) << policy.str();
  return mergeOrders(orders, stages);
}

/// Slots of what lives from a stage's F to the last of its backward.
int64_t residualSlots(llvm::StringRef policy, int64_t stages, int64_t microbatches, int stage) {
  std::vector<Task> order = orderOf(policy, stages, microbatches);
  std::vector<Lifetime> lifetimes(microbatches, {-1, -1});
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i].stage == stage) {
      Lifetime &life = lifetimes[order[i].microbatch];
      life = {life.begin < 0 ? static_cast<int64_t>(i) : life.begin, static_cast<int64_t>(i)};
    }
  return countSlots(lifetimes).count;
}

TEST(Policies, AreCompleteForAllSmallShapes) {
  for (const char *policy : {"accumulate", "gpipe", "gpipe_split", "1f1b"})
    for (int64_t stages = 1; stages <= 4; ++stages)
      for (int64_t microbatches = 1; microbatches <= 6; ++microbatches) {
        size_t perMicrobatch = llvm::StringRef(policy) == "gpipe_split" ? 3 : 2;
        EXPECT_EQ(orderOf(policy, stages, microbatches).size(),
                  perMicrobatch * stages * microbatches);
      }
}

TEST(Policies, UnknownOnesAreNotFound) { EXPECT_EQ(findPolicy("2f2b"), nullptr); }

TEST(Slots, OneWhenEachMicrobatchIsFinishedFirst) {
  EXPECT_EQ(residualSlots("accumulate", 1, 4, 0), 1);
  EXPECT_EQ(residualSlots("accumulate", 3, 4, 1), 1);
}

TEST(Slots, AsManyAsMicrobatchesWhenAllForwardsComeFirst) {
  EXPECT_EQ(residualSlots("gpipe", 1, 4, 0), 4);
  EXPECT_EQ(residualSlots("gpipe_split", 2, 5, 1), 5);
}

TEST(Slots, OfOneForwardOneBackwardAreAsManyAsStagesFollow) {
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(residualSlots("1f1b", 4, 8, stage), 4 - stage);
}

/// The orders of ranks, with their messages.
std::vector<RankOrder> programsOf(llvm::StringRef policy, const Pipeline &pipeline) {
  return placeMessages(findPolicy(policy)->order(pipeline), pipeline);
}

/// Ranks that hold two stages each, with all others between them.
Pipeline twoChunks(int32_t ranks, int64_t microbatches) {
  Pipeline pipeline = {microbatches, {}, {}};
  for (int32_t stage = 0; stage < 2 * ranks; ++stage)
    pipeline.rankOf.push_back(stage % ranks);
  return pipeline;
}

std::string textOf(const std::vector<Task> &tasks) {
  std::string text;
  for (Task task : tasks)
    text += (text.empty() ? "" : " ") + sched::stringifyTaskKind(task.kind).str() +
            std::to_string(task.microbatch);
  return text;
}

/// A receive stands where the peer sends: microbatch 1 comes to stage 1 before its B of
/// microbatch 0, whose result stage 0 takes after it has sent.
TEST(Messages, AreReceivedWhereTheyAreSent) {
  auto programs = programsOf("1f1b", pipelineOf(2, 2));
  EXPECT_EQ(textOf(programs[0]), "F0 SF0 F1 SF1 RB0 B0 RB1 B1");
  EXPECT_EQ(textOf(programs[1]), "RF0 F0 RF1 B0 SB0 F1 B1 SB1");
}

/// Ranks do their lists; a send waits for its receive. Returns whether all come to the end.
bool endsWithBlockingSends(const std::vector<RankOrder> &programs, const Pipeline &pipeline) {
  std::vector<size_t> next(programs.size(), 0);
  auto at = [&](size_t rank) {
    return next[rank] < programs[rank].size() ? &programs[rank][next[rank]] : nullptr;
  };
  auto receiveOf = [](Task sent) {
    return sent.kind == TaskKind::SendF ? Task{TaskKind::ReceiveF, sent.stage + 1, sent.microbatch}
                                        : Task{TaskKind::ReceiveB, sent.stage - 1, sent.microbatch};
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      const Task *task = at(rank);
      if (!task || task->kind == TaskKind::ReceiveF || task->kind == TaskKind::ReceiveB)
        continue;
      if (sched::isMessage(task->kind)) {
        Task receive = receiveOf(*task);
        int32_t peer = pipeline.rankOf[receive.stage];
        if (!at(peer) || *at(peer) != receive)
          continue;
        ++next[peer];
      }
      ++next[rank];
      moved = true;
    }
  }
  for (size_t rank = 0; rank < programs.size(); ++rank)
    if (at(rank))
      return false;
  return true;
}

TEST(Messages, DoNotDeadlockWhereSendsBlock) {
  for (const char *policy : {"accumulate", "gpipe", "gpipe_split", "1f1b"})
    for (int64_t stages = 1; stages <= 5; ++stages)
      for (int64_t microbatches = 1; microbatches <= 7; ++microbatches)
        EXPECT_TRUE(endsWithBlockingSends(programsOf(policy, pipelineOf(stages, microbatches)),
                                          pipelineOf(stages, microbatches)))
            << policy << " " << stages << " " << microbatches;
  auto late = programsOf("1f1b", pipelineOf(2, 2));
  std::swap(late[1][2], late[1][4]); // the receive of microbatch 1 after B of microbatch 0
  EXPECT_FALSE(endsWithBlockingSends(late, pipelineOf(2, 2)));
}

TEST(Messages, OfRanksWithTwoChunks) {
  for (const char *policy : {"accumulate", "gpipe", "gpipe_split"})
    for (int32_t ranks = 1; ranks <= 3; ++ranks)
      for (int64_t microbatches = 1; microbatches <= 5; ++microbatches) {
        Pipeline pipeline = twoChunks(ranks, microbatches);
        EXPECT_TRUE(isLegal(findPolicy(policy)->order(pipeline), pipeline)) << policy;
        EXPECT_TRUE(endsWithBlockingSends(programsOf(policy, pipeline), pipeline))
            << policy << " " << ranks << " " << microbatches;
      }
  EXPECT_EQ(textOf(programsOf("gpipe", twoChunks(2, 1))[1]), "RF0 F0 SF0 RF0 F0 B0 SB0 RB0 B0 SB0");
}

/// 1F1B is for one chunk: a rank would go back through its first one before it goes forward through
/// the second.
TEST(Policies, OneForwardOneBackwardRefusesTwoChunks) {
  Pipeline pipeline = twoChunks(2, 2);
  EXPECT_FALSE(isLegal(findPolicy("1f1b")->order(pipeline), pipeline));
}

TEST(Slots, ReuseOnlyWhatIsFree) {
  Slots slots = countSlots(std::vector<Lifetime>{{0, 3}, {1, 2}, {3, 4}, {4, 5}});
  // The third begins where the first ends, so it cannot take its place; the second's it can.
  EXPECT_EQ(slots.count, 2);
  EXPECT_EQ(slots.slotOf, (std::vector<int32_t>{0, 1, 1, 0}));
}

struct Lives {
  std::vector<int64_t> bytes;
  std::vector<llvm::BitVector> conflicts;
  int64_t live = 0;
};

Lives randomLives(std::mt19937 &random, size_t pieces, int64_t length) {
  Lives lives;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (size_t i = 0; i < pieces; ++i) {
    int64_t begin = random() % length;
    spans.push_back({begin, std::min<int64_t>(length - 1, begin + random() % 6)});
    lives.bytes.push_back(64 * (random() % 40));
    lives.conflicts.emplace_back(pieces);
  }
  for (size_t i = 0; i < pieces; ++i)
    for (size_t j = 0; j < pieces; ++j)
      if (i != j && spans[i].first <= spans[j].second && spans[j].first <= spans[i].second)
        lives.conflicts[i].set(j);
  for (int64_t t = 0; t < length; ++t) {
    int64_t sum = 0;
    for (size_t i = 0; i < pieces; ++i)
      sum += spans[i].first <= t && t <= spans[i].second ? lives.bytes[i] : 0;
    lives.live = std::max(lives.live, sum);
  }
  return lives;
}

TEST(Packing, NoTwoLivePiecesOverlap) {
  std::mt19937 random(1);
  double worst = 1, sum = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    Lives lives = randomLives(random, 5 + random() % 60, 40);
    memory::Packing packing = memory::pack(lives.bytes, lives.conflicts, lives.live);
    for (size_t i = 0; i < lives.bytes.size(); ++i) {
      EXPECT_EQ(packing.offsets[i] % 64, 0);
      EXPECT_LE(packing.offsets[i] + lives.bytes[i], packing.bytes);
      for (unsigned j : lives.conflicts[i].set_bits())
        EXPECT_TRUE(!lives.bytes[i] || !lives.bytes[j] ||
                    packing.offsets[i] + lives.bytes[i] <= packing.offsets[j] ||
                    packing.offsets[j] + lives.bytes[j] <= packing.offsets[i]);
    }
    double ratio = lives.live ? static_cast<double>(packing.bytes) / lives.live : 1;
    EXPECT_GE(ratio, 1);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(sum / kRounds, 1.001);
  EXPECT_LT(worst, 1.01); // random lives are harder than those of layers
}

} // namespace

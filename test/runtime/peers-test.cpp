//===- peers-test.cpp - what ranks do together outside a step ---------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/disk/checksum.h"
#include "runtime/disk/data.h"
#include "runtime/ranks/member.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/metrics.h"
#include "runtime/transports/threads.h"

#include <mutex>

using namespace tplan::runtime;
using helpers::onRanks;

TEST(Peers, AgreesOnTheFirstErrorOfAny) {
  std::mutex lock;
  onRanks(4, [&](Peers &peers, Team &) {
    EXPECT_OK(peers.agree({}));
    EXPECT_FALSE(peers.failedTogether());
    bool fails = peers.rank() == 1 || peers.rank() == 3;
    Status status = peers.agree(fails ? errorf("%d sheep", peers.rank() + 40) : Status());
    std::lock_guard guard(lock);
    EXPECT_FAILS(status, "rank 1: 41 sheep");
    EXPECT_TRUE(peers.failedTogether());
  });
}

TEST(Peers, NamesNoRankWhereAllFail) {
  onRanks(3, [&](Peers &peers, Team &) {
    Status status = peers.agree(errorf("no sheep"));
    EXPECT_EQ(status.message(), "no sheep");
    // A long one, as long as an error is, and none.
    EXPECT_EQ(peers.agree(errorf("%s", std::string(4000, 'x').c_str())).message().size(), 4000u);
    EXPECT_EQ(peers.agree(errorf("%s", "")).message(), "");
  });
}

TEST(Peers, HandsBytesRound) {
  onRanks(5, [&](Peers &peers, Team &) {
    std::string text = peers.leads() ? std::string(3000, 'y') : "z";
    EXPECT_OK(peers.broadcast(text));
    EXPECT_EQ(text, std::string(3000, 'y'));
    double number = peers.leads() ? 0.25 : 7;
    EXPECT_OK(peers.broadcast(&number, sizeof number));
    EXPECT_EQ(number, 0.25);
  });
}

TEST(Peers, ARankAloneNeedsNobody) {
  Peers peers;
  std::string text = "as it was";
  EXPECT_OK(peers.broadcast(text));
  EXPECT_EQ(text, "as it was");
  EXPECT_OK(peers.agree({}));
  EXPECT_EQ(peers.agree(errorf("no sheep")).message(), "no sheep");
  EXPECT_TRUE(peers.failedTogether() && peers.leads());
}

TEST(Checksum, OfAFileIsThatOfItsBytesOnAnyRanks) {
  helpers::Scratch scratch;
  std::string bytes(2 * checksumBlock + 12345, '\0');
  for (size_t at = 0; at < bytes.size(); at += 4097)
    bytes[at] = char(at * 2654435761u >> 11);
  auto checkFile = [&](const std::string &wanted) {
    helpers::writeFile(scratch / "f", bytes);
    for (int ranks : {1, 2, 5})
      onRanks(ranks, [&](Peers &peers, Team &team) {
        std::string found;
        int64_t size = 0;
        EXPECT_OK(checksumOfFile(peers, team, scratch / "f", found, size));
        EXPECT_EQ(found, wanted) << ranks << " ranks";
        EXPECT_EQ(size, (int64_t)bytes.size());
      });
  };
  std::string whole = checksumOf(bytes.data(), (int64_t)bytes.size());
  checkFile(whole);
  bytes.back() ^= 1;
  std::string changed = checksumOf(bytes.data(), (int64_t)bytes.size());
  EXPECT_NE(changed, whole);
  checkFile(changed);
  std::swap_ranges(bytes.begin(), bytes.begin() + checksumBlock, bytes.begin() + checksumBlock);
  EXPECT_NE(checksumOf(bytes.data(), (int64_t)bytes.size()), changed);
  bytes.clear();
  checkFile("99aa06d3014798d86001c324468d497f"); // XXH3-128 of nothing
  onRanks(3, [&](Peers &peers, Team &team) {
    std::string found;
    int64_t size = 0;
    EXPECT_FAILS(checksumOfFile(peers, team, scratch / "absent", found, size), "cannot open");
  });
}

namespace {

/// A rank of `program`, connected.
void connect(tp_rank &rank, const tp_program &program, Transport &transport) {
  rank.program = &program;
  rank.transport = &transport;
  rank.peers = Peers(transport, rank.team);
  EXPECT_OK(rank.arena.map(program.arena_bytes));
  EXPECT_OK(transport.connect(program, rank.groups));
}

} // namespace

TEST(Loader, GivesEachRankItsRowsOfTheStep) {
  helpers::Scratch scratch;
  helpers::writeFile(scratch / "text", helpers::someText(3000));
  TokenStream stream;
  ASSERT_OK(stream.open({scratch / "text"}, toy::length, toy::length - 1));
  for (bool readFirst : {false, true})
    for (int32_t group : {(int32_t)toy::nobody, (int32_t)toy::overD, (int32_t)toy::overBD}) {
      toy::Layout layout{
          .d = 2, .b = 3, .data = group, .rows = 2, .microbatches = 3, .readFirst = readFirst};
      tp_program program = toy::program(layout);
      int64_t members = memberCount(program, group), all = 3 * members * 2;
      ASSERT_EQ(rowsPerStep(program), all);
      helpers::onTransports((int)layout.ranks(), [&](Transport &transport) {
        tp_rank rank;
        connect(rank, program, transport);
        Loader loader;
        // With `read first` only the leader has the file.
        bool has = !readFirst || rank.peers.leads();
        std::string file = has ? scratch / "text" : scratch / "absent";
        EXPECT_OK(loader.open(rank, {{"data", 1, {file}}}, toy::length));
        EXPECT_EQ(loader.tokens(), stream.tokens());
        int64_t member = memberOf(program, group, transport.rank());
        for (int64_t step : {1, 2, 40}) {
          EXPECT_OK(loader.fill(rank, 11, step));
          auto *row = (const int32_t *)(rank.arena.data() + program.inputs[0].offset);
          for (int64_t m = 0; m < 3; ++m)
            for (int64_t i = 0; i < 2; ++i, row += toy::length) {
              int32_t wanted[toy::length];
              EXPECT_OK(stream.readRow(11, (step - 1) * all + (m * members + member) * 2 + i,
                                       toy::length, toy::vocabulary, wanted));
              EXPECT_TRUE(std::equal(wanted, wanted + toy::length, row))
                  << "rank " << transport.rank() << " row " << m << " " << i;
            }
        }
      });
    }
}

TEST(Metrics, TheLossIsTheSumOfItsTermsWithTheirFactors) {
  tp_program program = toy::program();
  tp_metric metrics[] = {{"main", TP_F64, 0, 8, toy::nobody, toy::nobody, 0, 1, 1, 1, 1},
                         {"small", TP_F64, 16, -1, toy::nobody, toy::nobody, 0, 1, 0.25, 1, 1},
                         {"size", TP_F64, 24, -1, toy::nobody, toy::nobody, 1, 0, 0, 1, 1}};
  program.metrics = metrics;
  program.num_metrics = 3;
  helpers::onTransports(1, [&](Transport &transport) {
    tp_rank rank;
    connect(rank, program, transport);
    for (auto [offset, value] : {std::pair(0, 6.0), {8, 3.0}, {16, 8.0}, {24, 5.0}})
      setElement(rank.arena.data() + offset, TP_F64, 0, value);
    Metrics read(program);
    EXPECT_OK(read.read(rank));
    ASSERT_EQ(read.size(), 4);
    const std::pair<const char *, double> shown[] = {
        {"loss", 4}, {"main", 2}, {"small", 2}, {"size", 5}};
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_STREQ(read.name(i), shown[i].first);
      EXPECT_EQ(read.value(i), shown[i].second);
      EXPECT_EQ(read.isUnbounded(i), i == 3);
    }
    // With one term the loss is that.
    program.num_metrics = 1;
    Metrics one(program);
    EXPECT_EQ(one.size(), 1);
    EXPECT_STREQ(one.name(0), "main");
  });
}

TEST(Metrics, AreSumsOverTheirGroups) {
  // Sum over d with its count whole; sum over b and d and its count over a; and neither.
  toy::Layout layout{.d = 2, .a = 2, .b = 3};
  tp_program program = toy::program(layout);
  const tp_metric metrics[] = {{"one", TP_F64, 0, 8, toy::overD, toy::nobody, 0, 0, 0, 1, 1},
                               {"two", TP_F32, 16, 20, toy::overBD, toy::overA, 0, 0, 0, 1, 1},
                               {"three", TP_F64, 24, -1, toy::nobody, toy::nobody, 0, 0, 0, 1, 1},
                               {"four", TP_F64, 32, -1, toy::overD, toy::nobody, 0, 0, 0, 1, 1}};
  program.metrics = metrics;
  program.num_metrics = 4;
  helpers::onTransports((int)layout.ranks(), [&](Transport &transport) {
    tp_rank rank;
    connect(rank, program, transport);
    char *arena = rank.arena.data();
    double d = double(transport.rank() / 6), a = double(transport.rank() / 3 % 2),
           b = double(transport.rank() % 3);
    setElement(arena, TP_F64, 0, 10 + d + 100 * a);
    setElement(arena + 8, TP_F64, 0, 3);
    setElement(arena + 16, TP_F32, 0, 1 + b + 10 * d + 1000 * a);
    setElement(arena + 20, TP_F32, 0, 2 + a);
    setElement(arena + 24, TP_F64, 0, 5);
    setElement(arena + 32, TP_F64, 0, 1);
    Metrics read(program);
    EXPECT_OK(read.read(rank));
    EXPECT_EQ(read.term(0).sum, 21 + 200 * a);
    EXPECT_EQ(read.term(0).count, 3);
    EXPECT_EQ(read.term(1).sum, 6 * (1 + 1000 * a) + 2 * (0 + 1 + 2) + 3 * 10);
    EXPECT_EQ(read.term(1).count, 5);
    EXPECT_EQ(read.term(2).value(), 5);
    EXPECT_EQ(read.term(3).value(), 2);
  });
}

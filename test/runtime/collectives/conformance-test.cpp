//===- conformance-test.cpp - each collective alone, on every transport --------===//

#include "case.h"
#include "world.h"

#include "tplan/collectives.h"

#include "runtime/support/types.h"

#include <cmath>

using namespace conformance;
using namespace tplan::runtime;

INSTANTIATE_TEST_SUITE_P(Worlds, Conformance, testing::ValuesIn(worlds()),
                         [](const auto &info) { return info.param.name; });

namespace {

const int32_t numbers[] = {TP_F64, TP_F32, TP_BF16, TP_F16, TP_I32, TP_I64};
const int32_t everyType[] = {TP_F64, TP_F32, TP_BF16, TP_F16,    TP_I32,
                             TP_I64, TP_I1,  TP_I8,   TP_F8E4M3, TP_F8E5M2};
const int64_t oddSizes[] = {0, 1, 7, 63, 65, 1031};

void runCase(Rank &rank, Communicator &group, const Case &of, uint64_t seed) {
  Instance instance(of, group.size(), group.member(), seed);
  Operation operation = instance.operation();
  EXPECT_OK(group.issue({&operation, 1}, rank.team, nullptr)) << nameOf(of);
  EXPECT_EQ(instance.wrong(), "");
}

/// The case over each group of each mesh.
void runCases(Rank &rank, const std::vector<Case> &cases) {
  for (auto &group : rank.groups)
    for (size_t i = 0; i < cases.size(); ++i)
      runCase(rank, *group, cases[i], i);
}

} // namespace

TEST_P(Conformance, AllReduce) {
  std::vector<Case> cases;
  for (int32_t type : numbers)
    for (int32_t reduction : {TP_SUM, TP_MAX})
      for (int64_t size : oddSizes)
        for (bool inPlace : {false, true})
          cases.push_back({.kind = TP_ALL_REDUCE,
                           .reduction = reduction,
                           .type = type,
                           .outer = size % 7 ? 1 : 3,
                           .inner = size,
                           .inPlace = inPlace});
  onEachMesh([&](Rank &rank) { runCases(rank, cases); });
}

TEST_P(Conformance, ReduceScatter) {
  std::vector<Case> cases;
  for (int32_t type : numbers)
    for (int32_t reduction : {TP_SUM, TP_MAX})
      for (int64_t size : oddSizes) {
        cases.push_back(
            {.kind = TP_REDUCE_SCATTER, .reduction = reduction, .type = type, .inner = size});
        cases.push_back({.kind = TP_REDUCE_SCATTER,
                         .reduction = reduction,
                         .type = type,
                         .inner = size,
                         .inPlace = true});
        cases.push_back({.kind = TP_REDUCE_SCATTER,
                         .reduction = reduction,
                         .type = type,
                         .outer = 5,
                         .inner = size});
      }
  onEachMesh([&](Rank &rank) { runCases(rank, cases); });
}

TEST_P(Conformance, AllGather) {
  std::vector<Case> cases;
  for (int32_t type : everyType)
    for (int64_t size : oddSizes) {
      cases.push_back({.kind = TP_ALL_GATHER, .type = type, .inner = size});
      cases.push_back({.kind = TP_ALL_GATHER, .type = type, .inner = size, .inPlace = true});
      cases.push_back({.kind = TP_ALL_GATHER, .type = type, .outer = 5, .inner = size});
      cases.push_back({.kind = TP_ALL_GATHER, .type = type, .outer = 0, .inner = size});
    }
  onEachMesh([&](Rank &rank) { runCases(rank, cases); });
}

TEST_P(Conformance, ShortAndEmptyLastBlocks) {
  onEachMesh([&](Rank &rank) {
    for (auto &group : rank.groups) {
      int64_t n = group->size(), inner = 37;
      for (int64_t whole : {int64_t(0), int64_t(1), inner, n * inner - 1, n * inner - inner + 1,
                            n * inner / 2, n * inner})
        for (int32_t kind : {TP_REDUCE_SCATTER, TP_ALL_GATHER})
          for (bool inPlace : {false, true})
            for (int32_t type : {TP_F32, TP_BF16})
              runCase(rank, *group,
                      {.kind = kind,
                       .type = type,
                       .inner = inner,
                       .whole = std::min(whole, n * inner),
                       .inPlace = inPlace},
                      (uint64_t)whole);
    }
  });
}

TEST_P(Conformance, AllToAll) {
  std::vector<Case> cases;
  for (int32_t type : everyType)
    for (bool splitLast : {false, true})
      for (auto [outer, middle, inner, last] : std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1},
                                                                                   {1, 1, 65, 1},
                                                                                   {2, 1, 3, 5},
                                                                                   {1, 4, 7, 1},
                                                                                   {3, 2, 5, 7},
                                                                                   {2, 0, 3, 1},
                                                                                   {1, 33, 1, 1}})
        cases.push_back({.kind = TP_ALL_TO_ALL,
                         .type = type,
                         .outer = outer,
                         .inner = inner,
                         .middle = middle,
                         .last = last,
                         .splitLast = splitLast});
  onEachMesh([&](Rank &rank) { runCases(rank, cases); });
}

TEST_P(Conformance, Permute) {
  onEachMesh([&](Rank &rank) {
    for (auto &group : rank.groups)
      for (int32_t type : everyType)
        for (int64_t size : oddSizes) {
          std::vector<int32_t> shifted, reversed, ofTheLast, own;
          for (int32_t m = 0, n = group->size(); m < n; ++m) {
            shifted.push_back((m + 1) % n);
            reversed.push_back(n - 1 - m);
            ofTheLast.push_back(n - 1);
            own.push_back(m);
          }
          for (const auto &source : {shifted, reversed, ofTheLast, own})
            runCase(rank, *group,
                    {.kind = TP_PERMUTE, .type = type, .outer = 2, .inner = size, .source = source},
                    (uint64_t)size);
        }
  });
}

TEST_P(Conformance, ArraysOfManyChunks) {
  // Beyond 1 MiB for a peer under MPI, 256 KiB for a task of threads; neither divides it.
  auto meshes = meshesOf(GetParam().ranks);
  GetParam().run(GetParam().ranks, meshes.back()->program(), [](Rank &rank) {
    Communicator &group = *rank.groups.back();
    int64_t n = group.size(), size = 300001, rows = 1001, row = 299;
    auto run = [&](Case one) { runCase(rank, group, one, 1); };
    run({.kind = TP_ALL_REDUCE, .inner = n * size, .inPlace = true});
    run({.kind = TP_ALL_REDUCE, .type = TP_BF16, .inner = size});
    run({.kind = TP_REDUCE_SCATTER, .inner = size});
    run({.kind = TP_REDUCE_SCATTER, .outer = rows, .inner = row});
    run({.kind = TP_ALL_GATHER, .inner = size, .inPlace = true});
    run({.kind = TP_ALL_GATHER, .outer = rows, .inner = row});
    run({.kind = TP_ALL_TO_ALL, .outer = 3, .inner = row, .middle = 101, .last = 3});
    run({.kind = TP_ALL_TO_ALL, .inner = row, .middle = rows, .splitLast = true});
  });
}

TEST_P(Conformance, AdditionsHaveOneOrder) {
  // The values distinguish orders: from the right, or in pairs, other bits come out.
  int64_t otherFromRight = 0, otherInPairs = 0, elements = 1000;
  for (int64_t i = 0; i < elements; ++i) {
    float values[4], left, right, pairs;
    for (int m = 0; m < 4; ++m)
      writeValue(TP_F32, (char *)&values[m], mix(11, m, i));
    left = ((values[0] + values[1]) + values[2]) + values[3];
    right = values[0] + (values[1] + (values[2] + values[3]));
    pairs = (values[0] + values[1]) + (values[2] + values[3]);
    otherFromRight += left != right;
    otherInPairs += left != pairs;
  }
  EXPECT_GT(otherFromRight, elements / 20);
  EXPECT_GT(otherInPairs, elements / 20);
  onEachMesh([&](Rank &rank) {
    for (auto &group : rank.groups)
      for (int32_t type : {TP_F64, TP_F32, TP_BF16, TP_F16})
        runCase(rank, *group, {.type = type, .inner = 1000}, 11);
  });
}

TEST_P(Conformance, ANanIsTheLargest) {
  onEachMesh([&](Rank &rank) {
    Communicator &group = *rank.groups.back();
    for (int who = 0; who < group.size(); ++who) {
      float values[2] = {group.member() == who ? NAN : INFINITY, -INFINITY};
      tp_collective what = {TP_ALL_REDUCE, TP_MAX, TP_F32, 0, 1, 2, 1, 1, 2, 0, nullptr};
      Operation operation = {&what, values, values, nullptr};
      EXPECT_OK(group.issue({&operation, 1}, rank.team, nullptr));
      EXPECT_TRUE(std::isnan(values[0]));
      EXPECT_EQ(values[1], -INFINITY);
    }
  });
}

TEST_P(Conformance, SendsTheBytesOfTheFormula) {
  std::vector<Case> cases;
  for (int32_t kind : {TP_ALL_REDUCE, TP_REDUCE_SCATTER, TP_ALL_GATHER, TP_ALL_TO_ALL})
    for (int64_t outer : {1, 3})
      for (int64_t inner : {1, 33, 5000})
        for (int32_t type : {TP_F64, TP_BF16})
          cases.push_back({.kind = kind, .type = type, .outer = outer, .inner = inner});
  for (int32_t kind : {TP_REDUCE_SCATTER, TP_ALL_GATHER})
    for (int64_t outer : {1, 3})
      for (int64_t line : {70, 130}) // of blocks of 100: the second is empty, or short
        cases.push_back({.kind = kind, .outer = outer, .inner = 100, .whole = outer * line});
  for (bool last : {false, true})
    for (int64_t outer : {1, 3})
      for (int64_t middle : {1, 4})
        cases.push_back({.kind = TP_ALL_TO_ALL,
                         .outer = outer,
                         .inner = 9,
                         .middle = middle,
                         .last = 2,
                         .splitLast = last});
  onEachMesh([&](Rank &rank) {
    for (auto &group : rank.groups)
      for (Case one : cases) {
        int64_t n = group->size();
        if (one.whole > n * one.outer * one.inner)
          continue;
        Instance instance(one, (int)n, group->member(), 1);
        EXPECT_OK(rank.transport.world().barrier());
        int64_t before = GetParam().countedBytes(rank);
        Traffic said = rank.transport.traffic();
        Operation operation = instance.operation();
        EXPECT_OK(group->issue({&operation, 1}, rank.team, nullptr));
        int64_t after = GetParam().countedBytes(rank);
        const tp_collective &what = instance.collective();
        int64_t width = bytesOf(one.type),
                formula = tp_bytes_sent(&what, n, group->member(), width);
        EXPECT_EQ(after - before, formula) << nameOf(one);
        Traffic now = rank.transport.traffic();
        EXPECT_EQ(now.sent[one.kind] - said.sent[one.kind], formula) << nameOf(one);
        EXPECT_LE(formula, tp_most_bytes_sent(&what, n, width));
        int64_t staged = tp_mpi_bytes_staged(&what, n, group->member(), width);
        EXPECT_EQ(now.staged[one.kind] - said.staged[one.kind],
                  rank.transport.stages() ? staged : 0)
            << nameOf(one);
        EXPECT_TRUE(staged == 0 || tp_mpi_copies(&what)) << nameOf(one);
        EXPECT_OK(rank.transport.world().barrier());
      }
  });
}

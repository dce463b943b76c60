//===- nccl-test.cpp - the stand-in for NCCL against plain formulas ------------------===//

#include "nccl-ranks.h"
#include "numbers.h"

#include <cmath>
#include <fstream>
#include <numeric>

#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

class Nccl : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(, Nccl, testing::Values(threads, processes), [](const auto &it) {
  return it.param == threads ? "Threads" : "Processes";
});

template <typename T> constexpr int typeOf = -1;
template <> constexpr int typeOf<int8_t> = nccl::int8;
template <> constexpr int typeOf<uint8_t> = nccl::uint8;
template <> constexpr int typeOf<int32_t> = nccl::int32;
template <> constexpr int typeOf<uint32_t> = nccl::uint32;
template <> constexpr int typeOf<int64_t> = nccl::int64;
template <> constexpr int typeOf<uint64_t> = nccl::uint64;
template <> constexpr int typeOf<Half> = float16;
template <> constexpr int typeOf<float> = float32;
template <> constexpr int typeOf<double> = float64;
template <> constexpr int typeOf<Brain> = bfloat16;

template <typename T> double number(T value) {
  return (double)(std::conditional_t<sizeof(T) == 2, float, T>)value;
}

/// Small whole numbers, whose sums and products are exact in each type.
int valueOf(int rank, size_t i) { return 1 + (rank + i) % 3; }
double expectedOf(int reduction, int ranks, size_t i) {
  double sum = 0, product = 1, most = 0, least = 100;
  for (int rank = 0; rank < ranks; ++rank) {
    double value = valueOf(rank, i);
    sum += value, product *= value, most = std::max(most, value), least = std::min(least, value);
  }
  double all[] = {sum, product, most, least, sum / ranks};
  return all[reduction];
}

template <typename T> void reduceEach(Rank &it) {
  constexpr bool isWhole = std::is_integral_v<T>;
  for (int reduction : {nccl::sum, prod, nccl::max, nccl::min, avg})
    for (bool inPlace : {false, true}) {
      size_t count = 37;
      std::vector<T> values(count * it.ranks);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = (T)(float)valueOf(it.rank, i);
      T *from = it.with(values), *to = inPlace ? from : fake::allocateAs<T>(values.size());
      T *blocks = it.with(values),
        *block = inPlace ? blocks + it.rank * count : fake::allocateAs<T>(count);
      EXPECT_EQ(ncclAllReduce(from, to, values.size(), typeOf<T>, reduction, it.comm, &it.stream),
                success);
      EXPECT_EQ(ncclReduceScatter(blocks, block, count, typeOf<T>, reduction, it.comm, &it.stream),
                success);
      it.stream.synchronize();
      auto check = [&](T got, size_t i) {
        double want = expectedOf(reduction, it.ranks, i);
        want = isWhole ? std::floor(want) : want;
        double slack = reduction == avg && !isWhole ? 0.02 * want : 0;
        ASSERT_NEAR(number(got), want, slack)
            << "type " << typeOf<T> << " reduction " << reduction << " at " << i;
      };
      for (size_t i = 0; i < values.size(); ++i)
        check(fake::hostAs<T>(to)[i], i);
      for (size_t i = 0; i < count; ++i)
        check(fake::hostAs<T>(block)[i], it.rank * count + i);
    }
}

TEST_P(Nccl, ReducesEachType) {
  withComm(GetParam(), 3, [](Rank &it) {
    reduceEach<int8_t>(it), reduceEach<uint8_t>(it);
    reduceEach<int32_t>(it), reduceEach<uint32_t>(it);
    reduceEach<int64_t>(it), reduceEach<uint64_t>(it);
    reduceEach<Half>(it), reduceEach<Brain>(it);
    reduceEach<float>(it), reduceEach<double>(it);
  });
}

/// More than a piece, and a piece that does not divide.
TEST_P(Nccl, MovesManyPieces) {
  for (int ranks : {1, 2, 4})
    withComm(GetParam(), ranks, [](Rank &it) {
      size_t count = 100003;
      std::vector<int> values(count * it.ranks);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = (int)(i * 7 + it.rank);
      int *from = it.with(values), *to = fake::allocateAs<int>(values.size());
      int *block = fake::allocateAs<int>(count), *same = it.with(values);
      EXPECT_EQ(ncclAllReduce(from, to, values.size(), nccl::int32, nccl::sum, it.comm, &it.stream),
                success);
      EXPECT_EQ(ncclReduceScatter(from, block, count, nccl::int32, nccl::sum, it.comm, &it.stream),
                success);
      EXPECT_EQ(
          ncclAllGather(same + it.rank * count, same, count, nccl::int32, it.comm, &it.stream),
          success);
      it.stream.synchronize();
      auto sumAt = [&](size_t i) {
        return it.ranks * (int)(i * 7) + it.ranks * (it.ranks - 1) / 2;
      };
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(fake::hostAs<int>(to)[i], sumAt(i)) << i;
        ASSERT_EQ(fake::hostAs<int>(same)[i], (int)(i * 7 + i / count)) << i;
      }
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(fake::hostAs<int>(block)[i], sumAt(it.rank * count + i)) << i;
      for (int root = 0; root < it.ranks; ++root) {
        int *all = fake::allocateAs<int>(count);
        EXPECT_EQ(ncclBroadcast(it.rank == root ? from : nullptr, all, count, nccl::int32, root,
                                it.comm, &it.stream),
                  success);
        it.stream.synchronize();
        for (size_t i = 0; i < count; ++i)
          ASSERT_EQ(fake::hostAs<int>(all)[i], (int)(i * 7 + root));
      }
    });
}

TEST_P(Nccl, SumsInTheOrderOfARingAndRoundsAtEachHop) {
  withComm(GetParam(), 3, [](Rank &it) {
    constexpr float big[] = {1e8f, 1, -1e8f};
    float *data = it.floats(3, big[it.rank]);
    EXPECT_EQ(it.sum(data, 3), success);
    it.stream.synchronize();
    // By rank all would be 0: 1e8 + 1 - 1e8.
    EXPECT_EQ(it.read(data, 3), (std::vector<float>{1, 0, 0}));
    constexpr float small[] = {256, 1, 1};
    Brain *brains = it.with(std::vector<Brain>(1, Brain(small[it.rank])));
    EXPECT_EQ(ncclAllReduce(brains, brains, 1, bfloat16, nccl::sum, it.comm, &it.stream), success);
    it.stream.synchronize();
    EXPECT_EQ((float)fake::hostAs<Brain>(brains)[0], 256); // in f32, rounded once: 258
  });
}

TEST_P(Nccl, MessagesOfAGroupGoInAnyOrder) {
  withComm(GetParam(), 4, [](Rank &it) {
    size_t count = 300000; // more than a channel holds
    std::vector<float *> out(it.ranks), in(it.ranks);
    for (int peer = 0; peer < it.ranks; ++peer) {
      out[peer] = it.floats(count, (float)(10 * it.rank + peer));
      in[peer] = fake::allocateAs<float>(count);
    }
    ASSERT_EQ(ncclGroupStart(), success);
    for (int i = 0; i < it.ranks; ++i) {
      int peer = it.rank % 2 ? i : it.ranks - 1 - i;
      auto sends = [&] {
        EXPECT_EQ(ncclSend(out[peer], count, float32, peer, it.comm, &it.stream), success);
      };
      auto receives = [&] {
        EXPECT_EQ(ncclRecv(in[peer], count, float32, peer, it.comm, &it.stream), success);
      };
      it.rank == 2 ? (receives(), sends()) : (sends(), receives());
    }
    ASSERT_EQ(ncclGroupEnd(), success);
    it.stream.synchronize();
    for (int peer = 0; peer < it.ranks; ++peer)
      ASSERT_EQ(it.read(in[peer], count), std::vector<float>(count, (float)(10 * peer + it.rank)));
  });
}

TEST_P(Nccl, MessagesOfOnePairGoInOrder) {
  withComm(GetParam(), 2, [](Rank &it) {
    // Rank 0 sends, rank 1 has nothing yet.
    auto mine = [&](float value) { return it.rank ? -1 : value; };
    float *first = it.floats(5, mine(1)), *second = it.floats(7, mine(2)), *none = it.floats(1, 0),
          *third = it.floats(5, mine(3));
    auto pass = [&](float *data, size_t count) {
      return it.rank ? ncclRecv(data, count, float32, 0, it.comm, &it.stream)
                     : ncclSend(data, count, float32, 1, it.comm, &it.stream);
    };
    EXPECT_EQ(pass(first, 5), success); // alone
    ASSERT_EQ(ncclGroupStart(), success);
    EXPECT_EQ(pass(second, 7), success);
    EXPECT_EQ(pass(none, 0), success);
    EXPECT_EQ(pass(third, 5), success);
    ASSERT_EQ(ncclGroupEnd(), success);
    it.stream.synchronize();
    EXPECT_EQ(it.error(), success);
    EXPECT_EQ(it.read(first, 5), std::vector<float>(5, 1));
    EXPECT_EQ(it.read(second, 7), std::vector<float>(7, 2));
    EXPECT_EQ(it.read(third, 5), std::vector<float>(5, 3));
  });
}

TEST_P(Nccl, SplitsIntoRowsAndColumns) {
  withComm(GetParam(), 4, [](Rank &it) {
    Comm row = nullptr, column = nullptr, none = nullptr;
    Config config;
    config.commName = "row";
    ASSERT_EQ(ncclCommSplit(it.comm, it.rank / 2, it.rank, &row, &config), success);
    ASSERT_EQ(ncclCommSplit(it.comm, it.rank % 2, -it.rank, &column, nullptr),
              success); // from the end
    ASSERT_EQ(ncclCommSplit(it.comm, it.rank == 3 ? 5 : noColor, 0, &none, nullptr), success);
    EXPECT_EQ(none != nullptr, it.rank == 3);
    int rank = -1, count = -1, device = -1;
    EXPECT_EQ(ncclCommUserRank(column, &rank), success);
    EXPECT_EQ(ncclCommCount(column, &count), success);
    EXPECT_EQ(ncclCommCuDevice(column, &device), success);
    EXPECT_EQ(rank, it.rank < 2);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(device, it.rank);
    float *rows = it.floats(1, (float)it.rank), *columns = it.floats(1, (float)it.rank);
    EXPECT_EQ(ncclAllReduce(rows, rows, 1, float32, nccl::sum, row, &it.stream), success);
    EXPECT_EQ(ncclAllReduce(columns, columns, 1, float32, nccl::sum, column, &it.stream), success);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(rows), it.rank / 2 ? 5 : 1);
    EXPECT_EQ(*fake::hostAs<float>(columns), it.rank % 2 ? 4 : 2);
    Comm again = nullptr; // of a part
    ASSERT_EQ(ncclCommSplit(row, 0, 0, &again, nullptr), success);
    for (Comm comm : {again, row, column, none})
      EXPECT_EQ(ncclCommDestroy(comm), success);
  });
}

TEST_P(Nccl, WhatDoesNotBlockIsDoneWhenItIsPolled) {
  onRanks(GetParam(), 2, [](Rank &it) {
    Config config;
    config.blocking = 0;
    ASSERT_EQ(ncclCommInitRankConfig(&it.comm, 2, it.id, it.rank, &config), inProgress);
    ASSERT_NE(it.comm, nullptr);
    ASSERT_EQ(poll(it.comm), success);
    float *data = it.floats(4, 1);
    ASSERT_EQ(it.sum(data, 4), inProgress);
    usleep(20000);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(data), 1); // it is not even in the stream
    EXPECT_EQ(it.error(), inProgress);
    EXPECT_EQ(poll(it.comm), success);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(data), 2);
    Comm half = nullptr;
    ASSERT_EQ(ncclCommSplit(it.comm, it.rank, 0, &half, &config), inProgress);
    ASSERT_EQ(poll(half), success);
    ASSERT_EQ(poll(it.comm), success);
    ASSERT_EQ(ncclCommFinalize(half), inProgress);
    ASSERT_EQ(poll(half), success);
    EXPECT_EQ(ncclCommDestroy(half), success);
    ASSERT_EQ(ncclCommFinalize(it.comm), inProgress);
    ASSERT_EQ(poll(it.comm), success);
    EXPECT_EQ(ncclCommDestroy(it.comm), success);
  });
}

TEST_P(Nccl, FinalizeWaitsForAll) {
  withComm(GetParam(), 3, [](Rank &it) {
    float *data = it.floats(1, 1);
    EXPECT_EQ(it.sum(data, 1), success);
    usleep(20000 * it.rank);
    EXPECT_EQ(ncclCommFinalize(it.comm), success);
    EXPECT_EQ(*fake::hostAs<float>(data), 3);
  });
}

TEST_P(Nccl, GraphsRunAgain) {
  withComm(GetParam(), 2, [](Rank &it) {
    float *data = it.floats(3, 1);
    it.stream.beginCapture();
    EXPECT_EQ(it.sum(data, 3), success);
    EXPECT_EQ(it.sum(data, 3), success);
    fake::Graph graph = it.stream.endCapture();
    EXPECT_EQ(*fake::hostAs<float>(data), 1);
    it.stream.push(graph);
    EXPECT_EQ(it.sum(data, 3), success); // between, not of the graph
    it.stream.push(graph);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(data), 32);
  });
}

TEST_P(Nccl, GroupsOfCollectives) {
  withComm(GetParam(), 3, [](Rank &it) {
    float *a = it.floats(2, 1), *b = it.floats(1, (float)it.rank), *c = it.floats(3, 0);
    float *out = it.floats(1, (float)it.rank), *in = it.floats(1, -1);
    int next = (it.rank + 1) % 3, before = (it.rank + 2) % 3;
    ASSERT_EQ(ncclGroupStart(), success);
    ASSERT_EQ(ncclGroupStart(), success); // groups nest
    EXPECT_EQ(ncclSend(out, 1, float32, next, it.comm, &it.stream), success);
    EXPECT_EQ(it.sum(a, 2), success);
    ASSERT_EQ(ncclGroupEnd(), success);
    EXPECT_EQ(ncclAllGather(b, c, 1, float32, it.comm, &it.stream), success);
    EXPECT_EQ(ncclRecv(in, 1, float32, before, it.comm, &it.stream), success);
    EXPECT_TRUE(it.stream.isIdle());
    ASSERT_EQ(ncclGroupEnd(), success);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(a), 3);
    EXPECT_EQ(it.read(c, 3), (std::vector<float>{0, 1, 2}));
    EXPECT_EQ(*fake::hostAs<float>(in), (float)before);
  });
}

/// A thread that has all ranks groups whatever waits for another rank.
TEST(NcclGroups, OneThreadHasAllRanks) {
  UniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), success);
  Comm comms[3] = {}, parts[3] = {};
  fake::Stream streams[3];
  float *data[3];
  ASSERT_EQ(ncclGroupStart(), success);
  for (int rank = 0; rank < 3; ++rank) {
    fake::setDevice(rank);
    ASSERT_EQ(ncclCommInitRank(&comms[rank], 3, id, rank), success);
  }
  ASSERT_EQ(ncclGroupEnd(), success);
  ASSERT_EQ(ncclGroupStart(), success);
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_EQ(ncclCommSplit(comms[rank], 0, 2 - rank, &parts[rank], nullptr), success);
  ASSERT_EQ(ncclGroupEnd(), success);
  ASSERT_EQ(ncclGroupStart(), success);
  for (int rank = 0; rank < 3; ++rank) {
    data[rank] = fake::allocateAs<float>(1);
    *fake::hostAs<float>(data[rank]) = 1;
    ASSERT_EQ(
        ncclAllReduce(data[rank], data[rank], 1, float32, nccl::sum, parts[rank], &streams[rank]),
        success);
  }
  ASSERT_EQ(ncclGroupEnd(), success);
  for (int rank = 0; rank < 3; ++rank) {
    streams[rank].synchronize();
    EXPECT_EQ(*fake::hostAs<float>(data[rank]), 3);
    EXPECT_EQ(ncclCommDestroy(parts[rank]), success);
    EXPECT_EQ(ncclCommDestroy(comms[rank]), success);
  }
  fake::setDevice(0);
}

TEST_P(Nccl, LateRanksChangeNothing) {
  Environment most("STANDIN_NCCL_DELAY", "3000"), seed("STANDIN_SEED", "7");
  double begin = seconds();
  withComm(GetParam(), 4, [](Rank &it) {
    float *data = it.floats(1, 1);
    for (int round = 0; round < 10; ++round)
      EXPECT_EQ(it.sum(data, 1), success);
    it.stream.synchronize();
    EXPECT_EQ(*fake::hostAs<float>(data), 1048576);
  });
  EXPECT_GT(seconds() - begin, 0.015); // ten times the latest of four, which is 2.4 ms on average
}

TEST_P(Nccl, LogsEachOperation) {
  std::string file = testing::TempDir() + "nccl-log-" + std::to_string(getpid());
  {
    Environment log("STANDIN_NCCL_LOG", file);
    onRanks(GetParam(), 2, [](Rank &it) {
      Config config;
      config.commName = "dp", config.maxCTAs = 4;
      ASSERT_EQ(ncclCommInitRankConfig(&it.comm, 2, it.id, it.rank, &config), success);
      float *data = it.floats(8, 1);
      EXPECT_EQ(ncclBroadcast(data, data, 2, float32, 1, it.comm, &it.stream), success);
      EXPECT_EQ(it.sum(data, 4), success);
      EXPECT_EQ(it.rank ? ncclRecv(data, 8, float32, 0, it.comm, &it.stream)
                        : ncclSend(data, 8, float32, 1, it.comm, &it.stream),
                success);
      it.stream.synchronize();
      EXPECT_EQ(ncclCommDestroy(it.comm), success);
    });
  }
  std::ifstream in(file);
  std::string line;
  std::vector<std::string> ofRank1;
  int lines = 0;
  for (; std::getline(in, line); ++lines) {
    // Without the stream, which is an address.
    size_t begin = line.find("0x"), end = line.find('\t', begin);
    ASSERT_NE(begin, std::string::npos) << line;
    if (line[0] == '1')
      ofRank1.push_back(line.substr(0, begin) + line.substr(end + 1));
  }
  EXPECT_EQ(lines, 6);
  EXPECT_EQ(ofRank1, (std::vector<std::string>{"1\tdp\t0\tbroadcast\t2\tf32\t1\t8\t4",
                                               "1\tdp\t1\tall_reduce\t4\tf32\tsum\t16\t4",
                                               "1\tdp\t0\treceive\t8\tf32\t0\t32\t4"}));
  unlink(file.c_str());
}

TEST(NcclFacts, NamesAndVersion) {
  int number = 0;
  EXPECT_EQ(ncclGetVersion(&number), success);
  EXPECT_EQ(number, 22809);
  EXPECT_STREQ(ncclGetErrorString(remoteError),
               "remote process exited or there was a network error");
  EXPECT_STREQ(ncclGetErrorString(42), "unknown result code");
}

TEST_P(Nccl, RegistersMemory) {
  withComm(GetParam(), 1, [](Rank &it) {
    void *handle = nullptr;
    float *data = it.floats(8, 1);
    EXPECT_EQ(ncclCommRegister(it.comm, data, 32, &handle), success);
    EXPECT_EQ(ncclCommDeregister(it.comm, handle), success);
  });
}

} // namespace

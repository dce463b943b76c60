//===- nccl-errors-test.cpp - what the stand-in for NCCL refuses and misses ---===//

#include "nccl-ranks.h"

#include <atomic>
#include <csignal>

#include <sys/wait.h>

#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

/// The error of one rank's call.
void expectRefused(int status, const std::string &message, const std::function<int(Rank &)> &call) {
  SCOPED_TRACE(message);
  std::string text = textOf([&] {
    withComm(threads, 2, [&](Rank &it) {
      if (it.rank == 1) {
        EXPECT_EQ(call(it), status);
      }
      it.stream.synchronize();
    });
  });
  expectText(text, message);
}

int gather(Rank &it, const void *from, void *to, size_t count, int type = float32) {
  return ncclAllGather(from, to, count, type, it.comm, &it.stream);
}

TEST(NcclErrors, Memory) {
  expectRefused(invalidArgument, "the send buffer is not in device memory with all of its 32 bytes",
                [](Rank &it) { return gather(it, nullptr, it.floats(16, 0), 8); });
  expectRefused(invalidArgument, "the receive buffer is not in device memory", [](Rank &it) {
    return gather(it, it.floats(8, 0), fake::host(it.floats(16, 0)), 8);
  });
  expectRefused(invalidArgument,
                "the receive buffer is not in device memory with all of its 64 bytes",
                [](Rank &it) { return gather(it, it.floats(8, 0), it.floats(15, 0), 8); });
  expectRefused(invalidArgument, "the send buffer is not aligned to 4 bytes", [](Rank &it) {
    return gather(it, (char *)it.floats(9, 0) + 2, it.floats(16, 0), 8);
  });
  expectRefused(invalidArgument, "the buffers overlap other than in place", [](Rank &it) {
    float *data = it.floats(16, 0);
    return gather(it, data, data, 8); // of rank 0 it would be in place
  });
  expectRefused(invalidArgument, "the buffers overlap other than in place", [](Rank &it) {
    float *data = it.floats(16, 0);
    return ncclReduceScatter(data, data, 8, float32, nccl::sum, it.comm, &it.stream);
  });
  expectRefused(invalidArgument, "the buffers overlap other than in place", [](Rank &it) {
    float *data = it.floats(16, 0);
    return ncclAllReduce(data, data + 1, 8, float32, nccl::sum, it.comm, &it.stream);
  });
}

TEST(NcclErrors, Arguments) {
  auto reduce = [](int type, int reduction) {
    return [=](Rank &it) {
      float *data = it.floats(8, 0);
      return ncclAllReduce(data, data, 1, type, reduction, it.comm, &it.stream);
    };
  };
  expectRefused(invalidArgument, "a type without a model: 10", reduce(10, nccl::sum));
  expectRefused(invalidArgument, "a reduction without a model: 5", reduce(float32, 5));
  expectRefused(invalidArgument, "no such rank of 2: 2", [](Rank &it) {
    return ncclBroadcast(it.floats(1, 0), it.floats(1, 0), 1, float32, 2, it.comm, &it.stream);
  });
  expectRefused(invalidArgument, "no such rank of 2: -1", [](Rank &it) {
    return ncclSend(it.floats(1, 0), 1, float32, -1, it.comm, &it.stream);
  });
  expectRefused(invalidArgument, "not in device memory with all of its 400 bytes", [](Rank &it) {
    void *handle;
    return ncclCommRegister(it.comm, it.floats(8, 0), 400, &handle);
  });
  expectRefused(invalidUsage, "what is not registered", [](Rank &it) {
    void *handle = nullptr;
    EXPECT_EQ(ncclCommRegister(it.comm, it.floats(8, 0), 32, &handle), success);
    EXPECT_EQ(ncclCommDeregister(it.comm, handle), success);
    return ncclCommDeregister(it.comm, handle);
  });
  expectRefused(invalidArgument, "ncclCommSplit with color -2", [](Rank &it) {
    Comm child;
    return ncclCommSplit(it.comm, -2, 0, &child, nullptr);
  });
}

// Kernels of two communicators may wait for each other, unless they start in the host's order.
TEST(NcclErrors, TwoCommunicatorsOnTwoStreams) {
  for (bool inOrder : {false, true}) {
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", inOrder ? "1" : "0", 1);
    std::string text = textOf([&] {
      withComm(threads, 2, [&](Rank &it) {
        Comm half = nullptr;
        fake::Stream stream;
        float *data = it.floats(1, 0);
        ASSERT_EQ(ncclCommSplit(it.comm, it.rank, 0, &half, nullptr), success);
        ASSERT_EQ(it.sum(it.floats(1, 0), 1), success);
        EXPECT_EQ(ncclAllReduce(data, data, 1, float32, nccl::sum, half, &stream),
                  inOrder ? success : invalidUsage);
        stream.synchronize();
        EXPECT_EQ(ncclCommDestroy(half), success);
      });
    });
    bool refused = text.find("'world' is used on another stream") != std::string::npos;
    EXPECT_EQ(refused, !inOrder) << text;
  }
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
}

TEST(NcclErrors, Groups) {
  auto inGroup = [](const std::function<void()> &body) {
    EXPECT_EQ(ncclGroupStart(), success);
    body();
    return ncclGroupEnd();
  };
  expectRefused(invalidUsage, "ncclGroupEnd: not in a group call.",
                [](Rank &) { return ncclGroupEnd(); });
  expectRefused(invalidUsage, "a group sends to its own rank what it does not receive",
                [&](Rank &it) {
                  return inGroup([&] {
                    ncclSend(it.floats(2, 0), 2, float32, 1, it.comm, &it.stream);
                    ncclRecv(it.floats(2, 0), 1, float32, 1, it.comm, &it.stream);
                  });
                });
  expectRefused(invalidUsage, "ncclSend of the same group reads or writes", [&](Rank &it) {
    float *data = it.floats(4, 0);
    return inGroup([&] {
      ncclRecv(data, 2, float32, 0, it.comm, &it.stream);
      ncclSend(data + 1, 2, float32, 0, it.comm, &it.stream);
    });
  });
  expectRefused(invalidUsage, "a group makes communicators and has operations as well",
                [&](Rank &it) {
                  return inGroup([&] {
                    Comm child;
                    it.sum(it.floats(1, 0), 1);
                    ncclCommSplit(it.comm, 0, 0, &child, nullptr);
                  });
                });
  // One operation that is refused takes its group with it.
  expectRefused(invalidArgument, "a type without a model", [&](Rank &it) {
    float *data = it.floats(1, 3);
    int result = inGroup([&] {
      EXPECT_EQ(it.sum(data, 1), success);
      EXPECT_EQ(gather(it, data, data, 1, 11), invalidArgument);
    });
    EXPECT_TRUE(it.stream.isIdle());
    return result;
  });
}

TEST(NcclErrors, Making) {
  auto init = [](const std::function<int(UniqueId, Comm *)> &call) {
    UniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), success);
    Comm comm = nullptr;
    int result = call(id, &comm);
    EXPECT_EQ(comm, nullptr);
    return result;
  };
  auto expect = [&](int status, const char *message,
                    const std::function<int(UniqueId, Comm *)> &call) {
    SCOPED_TRACE(message);
    expectText(textOf([&] { EXPECT_EQ(init(call), status); }), message);
  };
  expect(invalidArgument, "rank 2 of 2",
         [](UniqueId id, Comm *comm) { return ncclCommInitRank(comm, 2, id, 2); });
  expect(systemError, "the unique id is none of ncclGetUniqueId", [](UniqueId id, Comm *comm) {
    id = {};
    return ncclCommInitRank(comm, 1, id, 0);
  });
  expect(unhandledCudaError, "no context is current", [](UniqueId id, Comm *comm) {
    fake::setDevice(-1);
    int result = ncclCommInitRank(comm, 1, id, 0);
    fake::setDevice(0);
    return result;
  });
  auto withConfig = [](auto change) {
    return [=](UniqueId id, Comm *comm) {
      Config config;
      change(config);
      return ncclCommInitRankConfig(comm, 1, id, 0, &config);
    };
  };
  expect(invalidArgument, "its magic is: 0", withConfig([](Config &it) { it.magic = 0; }));
  expect(invalidArgument, "a config of another size: 72",
         withConfig([](Config &it) { it.size = 72; }));
  expect(invalidArgument, "a config of another version: 22700",
         withConfig([](Config &it) { it.version = 22700; }));
  expect(invalidArgument, "neither 0 nor 1: 2", withConfig([](Config &it) { it.blocking = 2; }));
  expect(invalidArgument, "minCTAs and maxCTAs do not fit: 4",
         withConfig([](Config &it) { it.minCTAs = 4, it.maxCTAs = 2; }));
  Environment patience("STANDIN_NCCL_TIMEOUT", "0.3");
  expect(systemError, "has waited 0.3 s for rank 1, 2 to join",
         [](UniqueId id, Comm *comm) { return ncclCommInitRank(comm, 3, id, 0); });
  Comm first = nullptr;
  Config config;
  config.blocking = 0;
  expect(invalidUsage, "another one has joined as this rank", [&](UniqueId id, Comm *comm) {
    EXPECT_EQ(ncclCommInitRankConfig(&first, 2, id, 0, &config), inProgress);
    return ncclCommInitRank(comm, 2, id, 0);
  });
  expect(systemError, "another rank counts 2 ranks, this one 3", [&](UniqueId id, Comm *comm) {
    EXPECT_EQ(ncclCommInitRankConfig(&first, 2, id, 0, &config), inProgress);
    return ncclCommInitRank(comm, 3, id, 1);
  });
}

TEST(NcclErrors, UniqueIdOfAProcessThatIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueId id;
  if (pid_t child = fork()) {
    ASSERT_EQ(read(ends[0], &id, sizeof id), (ssize_t)sizeof id);
    int status;
    waitpid(child, &status, 0);
  } else {
    ncclGetUniqueId(&id);
    _exit(write(ends[1], &id, sizeof id) != sizeof id);
  }
  Comm comm;
  expectText(textOf([&] { EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), systemError); }),
             "it has to live until all joined");
}

TEST(NcclErrors, TwoRanksOnOneGpu) {
  auto both = [] {
    onRanks(threads, 2, [](Rank &it) {
      fake::setDevice(5);
      int result = ncclCommInitRank(&it.comm, 2, it.id, it.rank);
      bool mayShare = getenv("STANDIN_NCCL_SAME_GPU");
      EXPECT_EQ(result, mayShare ? success : invalidUsage);
    });
  };
  expectText(textOf(both), "duplicate GPU: rank 0 and rank 1 both on 0000:05:00.0");
  Environment share("STANDIN_NCCL_SAME_GPU", "1");
  EXPECT_EQ(textOf(both), "");
}

TEST(NcclErrors, AnotherStream) {
  expectRefused(invalidUsage, "but the communicator was first used on", [](Rank &it) {
    fake::Stream other;
    float *data = it.floats(1, 0);
    EXPECT_EQ(ncclSend(data, 0, float32, 1, it.comm, &it.stream), invalidUsage); // alone to itself
    return ncclAllReduce(data, data, 1, float32, nccl::sum, it.comm, &other);
  });
}

TEST(NcclErrors, AfterTheEnd) {
  expectRefused(invalidArgument, "ncclAllReduce: not a communicator, or destroyed", [](Rank &it) {
    Comm comm = std::exchange(it.comm, nullptr);
    EXPECT_EQ(ncclCommDestroy(comm), success);
    int result;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &result), invalidArgument);
    EXPECT_EQ(ncclCommDestroy(comm), invalidArgument);
    float *data = it.floats(1, 0);
    return ncclAllReduce(data, data, 1, float32, nccl::sum, comm, &it.stream);
  });
  expectRefused(invalidArgument, "ncclCommCount: not a communicator, or destroyed or aborted",
                [](Rank &it) {
                  Comm comm = std::exchange(it.comm, nullptr);
                  EXPECT_EQ(ncclCommAbort(comm), success);
                  int count;
                  return ncclCommCount(comm, &count);
                });
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      EXPECT_EQ(ncclCommFinalize(it.comm), success);
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), invalidUsage);
    });
  });
  expectText(text, "ncclAllReduce after ncclCommFinalize");
}

TEST(NcclErrors, GraphAfterTheEnd) {
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      it.stream.beginCapture();
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
      fake::Graph graph = it.stream.endCapture();
      EXPECT_EQ(ncclCommDestroy(std::exchange(it.comm, nullptr)), success);
      it.stream.push(graph);
    });
  });
  expectText(text, "a graph runs an operation after the communicator was destroyed");
}

TEST(NcclErrors, DestroyedOrSplitUnderWay) {
  std::atomic<bool> isTold = false;
  std::string text = textOf([&] {
    withComm(threads, 2, [&](Rank &it) {
      if (it.rank == 0) {
        EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
        Comm child;
        EXPECT_EQ(ncclCommDestroy(it.comm), invalidUsage);
        EXPECT_EQ(ncclCommSplit(it.comm, 0, 0, &child, nullptr), invalidUsage);
        isTold = true;
        return;
      }
      while (!isTold)
        usleep(1000);
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
    });
  });
  expectText(text, "rank 0 of 'world': destroyed with 1 launches under way");
  expectText(text, "rank 0 of 'world': split with 1 launches under way");
}

TEST(NcclErrors, UsedBeforeItWasPolled) {
  std::string text = textOf([] {
    onRanks(threads, 2, [](Rank &it) {
      Config config;
      config.blocking = 0;
      ASSERT_EQ(ncclCommInitRankConfig(&it.comm, 2, it.id, it.rank, &config), inProgress);
      int count;
      EXPECT_EQ(ncclCommCount(it.comm, &count), invalidArgument);
      ASSERT_EQ(poll(it.comm), success);
      float *data = it.floats(1, 1);
      EXPECT_EQ(it.sum(data, 1), inProgress);
      EXPECT_EQ(it.sum(data, 1), invalidArgument);
      EXPECT_EQ(ncclCommDestroy(it.comm), invalidUsage);
      ASSERT_EQ(poll(it.comm), success);
      it.stream.synchronize();
      EXPECT_EQ(ncclCommDestroy(it.comm), success);
    });
  });
  expectText(text, "ncclCommCount before ncclCommGetAsyncError has told ncclSuccess");
  expectText(text, "ncclAllReduce before ncclCommGetAsyncError has told ncclSuccess");
  expectText(text, "destroyed before ncclCommGetAsyncError has told");
}

TEST(NcclErrors, BlockingAndNotInOneGroup) {
  std::string text = textOf([] {
    onRanks(threads, 1, [](Rank &it) {
      UniqueId id;
      Comm other = nullptr;
      Config config;
      config.blocking = 0;
      ASSERT_EQ(ncclGetUniqueId(&id), success);
      ASSERT_EQ(ncclGroupStart(), success);
      ncclCommInitRank(&it.comm, 1, it.id, 0);
      ncclCommInitRankConfig(&other, 1, id, 0, &config);
      EXPECT_EQ(ncclGroupEnd(), invalidArgument);
    });
  });
  expectText(text, "communicators that block and others that do not");
}

TEST(NcclErrors, TwoThreadsAtOnce) {
  // The one waits in a split for a rank that the other thread keeps away.
  Environment patience("STANDIN_NCCL_TIMEOUT", "1");
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      if (it.rank == 1)
        return;
      std::thread other([&] {
        Comm child;
        EXPECT_EQ(ncclCommSplit(it.comm, 0, 0, &child, nullptr), systemError);
      });
      usleep(100000);
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), invalidUsage);
      other.join();
    });
  });
  expectText(text, "two threads use it at once, in ncclAllReduce");
  expectText(text, "has waited 1 s for others to split");
}

/// Each rank does something else; all get an error about the difference.
void expectMismatch(const std::string &message, const std::function<int(Rank &)> &ofRank0,
                    const std::function<int(Rank &)> &ofRank1) {
  for (Transport transport : {threads, processes}) {
    SCOPED_TRACE(message);
    std::string text = textOf([&] {
      withComm(transport, 2, [&](Rank &it) {
        EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
        EXPECT_EQ((it.rank ? ofRank1 : ofRank0)(it), success);
        it.stream.synchronize();
        EXPECT_EQ(it.error(), invalidUsage);
        EXPECT_EQ(it.sum(it.floats(1, 0), 1), invalidUsage);
      });
    });
    expectText(text, message);
  }
}

TEST(NcclErrors, MembersIssueDifferentOperations) {
  auto reduce = [](size_t count, int type, int reduction) {
    return [=](Rank &it) {
      float *data = it.floats(16, 0);
      return ncclAllReduce(data, data, count, type, reduction, it.comm, &it.stream);
    };
  };
  auto broadcastFrom = [](int root) {
    return [=](Rank &it) {
      float *data = it.floats(16, 0);
      return ncclBroadcast(data, data, 8, float32, root, it.comm, &it.stream);
    };
  };
  expectMismatch("rank 0 has all_reduce number 1, 8 of f32, sum; rank 1 has broadcast number 1, 8 "
                 "of f32, root 0",
                 reduce(8, float32, nccl::sum), broadcastFrom(0));
  expectMismatch("rank 1 has all_reduce number 1, 7 of f32, sum", reduce(8, float32, nccl::sum),
                 reduce(7, float32, nccl::sum));
  expectMismatch("rank 1 has all_reduce number 1, 8 of i32, sum", reduce(8, float32, nccl::sum),
                 reduce(8, nccl::int32, nccl::sum));
  expectMismatch("rank 1 has all_reduce number 1, 8 of f32, max", reduce(8, float32, nccl::sum),
                 reduce(8, float32, nccl::max));
  expectMismatch("rank 1 has broadcast number 1, 8 of f32, root 1", broadcastFrom(0),
                 broadcastFrom(1));
  auto two = [](bool grouped, size_t first, size_t second) {
    return [=](Rank &it) {
      if (grouped)
        ncclGroupStart();
      it.sum(it.floats(first, 0), first), it.sum(it.floats(second, 0), second);
      return grouped ? ncclGroupEnd() : success;
    };
  };
  expectMismatch(
      "rank 0 has all_reduce number 1, 3 of f32, sum; rank 1 has all_reduce number 1, 4 of",
      two(false, 3, 4), two(false, 4, 3)); // another order
  expectMismatch("rank 1 has all_reduce number 1, 3 of f32, sum, 1 of 2 in its group",
                 two(false, 3, 4), two(true, 3, 4));
  expectMismatch(
      "message number 0 is 8 of f32 where it is sent, 9 of f32 where it is received",
      [](Rank &it) { return ncclSend(it.floats(8, 0), 8, float32, 1, it.comm, &it.stream); },
      [](Rank &it) { return ncclRecv(it.floats(9, 0), 9, float32, 0, it.comm, &it.stream); });
}

TEST(NcclErrors, AMemberHasLeft) {
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      if (it.rank == 1) {
        EXPECT_EQ(ncclCommDestroy(std::exchange(it.comm, nullptr)), success);
        return;
      }
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
      it.stream.synchronize();
      EXPECT_EQ(it.error(), remoteError);
    });
  });
  expectText(text, "rank 1 has left the communicator, where rank 0 of 'world' waits for it");
}

/// Killed in an operation and beside one: the others know within a second.
TEST(NcclErrors, AMemberDies) {
  for (bool inOperation : {true, false}) {
    std::string text = textOf([&] {
      withComm(processes, 3, [&](Rank &it) {
        float *data = it.floats(1, 1);
        EXPECT_EQ(it.sum(data, 1), success);
        it.stream.synchronize();
        if (it.rank == 1)
          raise(SIGKILL);
        double begin = seconds();
        if (inOperation) {
          EXPECT_EQ(it.sum(data, 1), success);
          it.stream.synchronize();
        }
        while (it.error() == success && seconds() < begin + 5)
          usleep(10000);
        EXPECT_EQ(it.error(), remoteError);
        EXPECT_LT(seconds() - begin, 1);
        EXPECT_EQ(it.sum(data, 1), remoteError);
        EXPECT_EQ(ncclCommAbort(std::exchange(it.comm, nullptr)), success);
      });
    });
    expectText(text, "of 'world': rank 1, process ");
    expectText(text, " is gone");
  }
}

TEST(NcclErrors, AbortWakesItsOwnRank) {
  for (Transport transport : {threads, processes})
    withComm(transport, 2, [](Rank &it) {
      if (it.rank == 1)
        return (void)usleep(300000); // never comes
      EXPECT_EQ(it.sum(it.floats(1, 0), 1), success);
      usleep(50000);
      EXPECT_FALSE(it.stream.isIdle());
      double begin = seconds();
      EXPECT_EQ(ncclCommAbort(std::exchange(it.comm, nullptr)), success);
      it.stream.synchronize();
      EXPECT_LT(seconds() - begin, 0.2);
    });
}

TEST(NcclErrors, ASendWaitsToBeReceived) {
  Environment patience("STANDIN_NCCL_TIMEOUT", "0.5");
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      float *out = it.floats(1, 0), *in = it.floats(1, 0);
      int peer = 1 - it.rank; // each sends first, outside of a group
      EXPECT_EQ(ncclSend(out, 1, float32, peer, it.comm, &it.stream), success);
      EXPECT_EQ(ncclRecv(in, 1, float32, peer, it.comm, &it.stream), success);
      it.stream.synchronize();
      EXPECT_EQ(it.error(), internalError);
    });
  });
  expectText(text, "has waited 0.5 s for rank");
  expectText(text, "rank 0 is in 'world': send to rank 1, 1 of f32");
  expectText(text, "rank 1 is in 'world': send to rank 0, 1 of f32");
}

TEST(NcclErrors, OrdersAcrossCommunicatorsHang) {
  Environment patience("STANDIN_NCCL_TIMEOUT", "0.5");
  for (Transport transport : {threads, processes}) {
    std::string text = textOf([&] {
      withComm(transport, 2, [](Rank &it) {
        Comm other = nullptr;
        Config config;
        config.commName = "other";
        ASSERT_EQ(ncclCommSplit(it.comm, 0, it.rank, &other, &config), success);
        float *data = it.floats(4, 0);
        auto reduce = [&](Comm comm) {
          EXPECT_EQ(ncclAllReduce(data, data, 4, float32, nccl::sum, comm, &it.stream), success);
        };
        reduce(it.rank ? other : it.comm);
        reduce(it.rank ? it.comm : other);
        it.stream.synchronize();
        int result;
        EXPECT_EQ(ncclCommGetAsyncError(other, &result), success);
        EXPECT_EQ(result, internalError);
        EXPECT_EQ(it.error(), internalError);
        EXPECT_EQ(ncclCommAbort(other), success);
      });
    });
    expectText(text, "has waited 0.5 s for rank");

    expectText(text, "rank 0 is in 'world': all_reduce number 0, 4 of f32, sum");
    expectText(text, "rank 1 is in 'other': all_reduce number 0, 4 of f32, sum");
  }
}

/// Two graphs of one communicator in streams side by side.
TEST(NcclErrors, TwoOperationsAtOnce) {
  Environment patience("STANDIN_NCCL_TIMEOUT", "0.5");
  std::string text = textOf([] {
    withComm(threads, 2, [](Rank &it) {
      if (it.rank == 1)
        return (void)usleep(200000);
      fake::Stream other;
      float *data = it.floats(1, 0);
      it.stream.beginCapture();
      EXPECT_EQ(it.sum(data, 1), success);
      fake::Graph graph = it.stream.endCapture();
      it.stream.push(graph);
      usleep(50000);
      other.push(graph);
      other.synchronize();
      it.stream.synchronize();
      EXPECT_EQ(it.error(), invalidUsage);
    });
  });
  expectText(text, "two of its operations run at once");
}

} // namespace

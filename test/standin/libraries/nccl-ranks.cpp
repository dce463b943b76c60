//===- nccl-ranks.cpp - tests on several ranks ------------------------------------===//

#include "nccl-ranks.h"

#include <chrono>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

void onThreads(int ranks, const UniqueId &id, const std::function<void(Rank &)> &body) {
  std::vector<std::thread> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.emplace_back([&, rank] {
      fake::setDevice(rank);
      Rank it{rank, ranks, id, nullptr, {}};
      body(it);
    });
  for (std::thread &it : all)
    it.join();
}

void onProcesses(int ranks, const UniqueId &id, const std::function<void(Rank &)> &body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      fake::setDevice(rank);
      {
        Rank it{rank, ranks, id, nullptr, {}};
        body(it);
      }
      fflush(nullptr);
      _exit(testing::Test::HasFailure());
    }
    children.push_back(child);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    bool wasKilled = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; // by its test
    EXPECT_TRUE(wasKilled || status == 0) << "rank " << rank << " ended with " << status;
  }
}

} // namespace

void nccl::onRanks(Transport transport, int ranks, const std::function<void(Rank &)> &body) {
  UniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), success);
  (transport == threads ? onThreads : onProcesses)(ranks, id, body);
}

void nccl::withComm(Transport transport, int ranks, const std::function<void(Rank &)> &body) {
  onRanks(transport, ranks, [&](Rank &it) {
    ASSERT_EQ(ncclCommInitRank(&it.comm, it.ranks, it.id, it.rank), success);
    body(it);
    it.stream.synchronize();
    if (it.comm)
      EXPECT_EQ(ncclCommDestroy(it.comm), success);
  });
}

std::string nccl::textOf(const std::function<void()> &body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

void nccl::expectText(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

int nccl::poll(Comm comm) {
  for (double end = seconds() + 20; seconds() < end; usleep(100)) {
    int result = success;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &result), success);
    if (result != inProgress)
      return result;
  }
  ADD_FAILURE() << "still in progress";
  return inProgress;
}

double nccl::seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

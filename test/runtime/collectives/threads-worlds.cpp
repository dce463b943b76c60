//===- threads-worlds.cpp - ranks that are threads, with and without a recorder ---===//

#include "world.h"

#include "runtime/ranks/recording.h"
#include "runtime/transports/threads.h"

#include <thread>

using namespace conformance;
using namespace tplan::runtime;

namespace {

void runTransports(std::vector<std::unique_ptr<Transport>> transports, const tp_program &program,
                   const Body &body) {
  std::vector<std::thread> threads;
  for (auto &transport : transports)
    threads.emplace_back([&program, &body, &transport] {
      Team team;
      // Ranks with teams of one and of two threads meet.
      EXPECT_OK(team.start(1 + transport->rank() % 2));
      Rank rank{*transport, {}, team};
      Status status = transport->connect(program, rank.groups);
      EXPECT_OK(status);
      if (status.ok())
        body(rank);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void runThreads(int ranks, const tp_program &program, const Body &body) {
  runTransports(threadTransports(ranks), program, body);
}

void runRecorded(int ranks, const tp_program &program, const Body &body) {
  std::vector<Recording> logs(ranks);
  auto transports = threadTransports(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    transports[rank] = recordTransport(std::move(transports[rank]), logs[rank]);
  runTransports(std::move(transports), program, body);
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_OK(checkBytes(logs[rank]));
    for (size_t group = 0; group < logs[rank].groups.size(); ++group) {
      const RecordedGroup &mine = logs[rank].groups[group];
      if (mine.members.ranks.empty())
        continue; // it is no member
      int first = mine.members.ranks[0];
      EXPECT_OK(checkSameOrder(mine.members.name, textOf(logs[first].groups[group]), first,
                               textOf(mine), rank));
    }
  }
}

// The copies themselves are counted in the transport.
int64_t counted(Rank &rank) { return rank.transport.bytesSent(); }

} // namespace

std::vector<World> conformance::worlds() {
  std::vector<World> all;
  for (int ranks : {2, 3, 4, 6, 8})
    all.push_back({"Threads" + std::to_string(ranks), ranks, runThreads, counted});
  for (int ranks : {2, 4, 6})
    all.push_back({"Recorded" + std::to_string(ranks), ranks, runRecorded, counted});
  return all;
}

//===- suite.cpp - the conformance suite on the processes of mpirun --------------===//
//
//   mpirun -n N mpi-tests [--one-thread]: each process is one rank of all tests. Rank 0 prints; the
//   others print what fails. MPI takes calls of one thread at a time, or of one thread alone.
//
//===----------------------------------------------------------------------===//

#include "../collectives/world.h"
#include "count-mpi.h"

#include "runtime/transports/mpi.h"
#include "runtime/transports/mpi_rounds.h"
#include "tplan/collectives.h"

using namespace conformance;
using namespace tplan::runtime;

namespace {

// MPI starts once in a process, so all tests share it.
std::unique_ptr<Transport> transport;
int64_t ranks;

void runProcess(int, const tp_program &program, const Body &body) {
  Team team;
  EXPECT_OK(team.start(1 + transport->rank() % 2));
  Rank rank{*transport, {}, team};
  Status status = transport->connect(program, rank.groups);
  EXPECT_OK(status);
  if (status.ok())
    body(rank);
}

class OnlyFailures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult &result) override {
    if (result.failed())
      fprintf(stderr, "rank %d: %s:%d: %s\n", transport->rank(), result.file_name(),
              result.line_number(), result.summary());
  }
};

} // namespace

std::vector<World> conformance::worlds() {
  return {{"Mpi" + std::to_string(ranks), (int)ranks, runProcess,
           [](Rank &) { return mpiBytesSent(); }}};
}

TEST(Mpi, HoldsTheStagingThatTheFormulaSays) {
  EXPECT_EQ(transport->bytes(), tp_mpi_staging(transport->size()));
}

// Rank 0 and rank 1 have two channels.
TEST(Mpi, ChannelsOfOnePairAreApart) {
  Mesh mesh({ranks}, {{0}, {0}}, {{0, 1}, {0, 1}});
  runProcess(0, mesh.program(), [](Rank &rank) {
    int32_t value = 0;
    tp_collective what = {TP_MESSAGE, 0, TP_I32, 0, 1, 1, 1, 1, 1, 0, nullptr};
    Operation operation = {&what, &value, &value, nullptr};
    // A message so small does not wait, and the one sent later is taken first.
    for (int32_t channel : {0, 1})
      if (rank.number() == 0) {
        value = 10 + channel;
        EXPECT_OK(rank.groups[channel]->issue({&operation, 1}, rank.team, nullptr));
      } else if (rank.number() == 1) {
        EXPECT_OK(rank.groups[1 - channel]->issue({&operation, 1}, rank.team, nullptr));
        EXPECT_EQ(value, 10 + 1 - channel);
      }
  });
}

TEST(Mpi, AMessageHasAsManyRoundsAsItNeeds) {
  Mesh mesh({ranks}, {{0}}, {{1, 0}});
  runProcess(0, mesh.program(), [](Rank &rank) {
    if (!rank.groups[0])
      return;
    int64_t size = Rounds::straightBytes / 8 * 5 / 2 + 1;
    std::vector<int64_t> values(size);
    for (int64_t i = 0; i < size && rank.number() == 1; ++i)
      values[i] = 3 * i;
    tp_collective what = {TP_MESSAGE, 0, TP_I64, 0, 1, size, 1, 1, size, 0, nullptr};
    bool sends = rank.number() == 1;
    Operation operation = {&what, sends ? values.data() : nullptr, sends ? nullptr : values.data(),
                           nullptr};
    EXPECT_OK(rank.groups[0]->issue({&operation, 1}, rank.team, nullptr));
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(values[i], 3 * i);
  });
}

int main(int argc, char **argv) {
  Launch launch;
  Status status = findLaunch(launch);
  ranks = launch.ranks;
  testing::InitGoogleTest(&argc, argv); // asks for the worlds
  bool oneThread = argc > 1 && argv[1] == std::string_view("--one-thread");
  Mesh mesh({ranks}, oneThread ? std::vector<std::vector<int32_t>>{}
                               : std::vector<std::vector<int32_t>>{{0}});
  if (status.ok())
    status = connectMpi(mesh.program(), launch, transport);
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (transport->rank()) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new OnlyFailures);
  }
  int code = RUN_ALL_TESTS();
  transport.reset();
  return code;
}

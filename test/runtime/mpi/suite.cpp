//===- suite.cpp - the conformance suite on the processes of mpirun --------------===//
//
//   mpirun -n N mpi-tests: each process is one rank of all tests. Rank 0 prints; the others
//   print what fails.
//
//===----------------------------------------------------------------------===//

#include "../collectives/world.h"
#include "count-mpi.h"

#include "runtime/transports/mpi.h"
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

int main(int argc, char **argv) {
  Launch launch;
  Status status = findLaunch(launch);
  ranks = launch.ranks;
  testing::InitGoogleTest(&argc, argv); // asks for the worlds
  Mesh mesh({ranks}, {});
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

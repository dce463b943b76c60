//===- victim.cpp - a job of which one rank dies -----------------------------------===//
//
//   mpirun -n N mpi-victim HOW RANK FILE
//
// All ranks add arrays again and again. After some rounds the rank is lost, and FILE holds when,
// in seconds of the monotonic clock. HOW:
//   kill, stop      it gets SIGKILL or SIGSTOP in the middle of a round, from a thread of its own
//   fail            it fails by itself
//   kill-computing  it gets SIGKILL while the others compute, who do not come to the next round
//   kill-before     the same, and the others come soon
//   kill-message, stop-message
//                   rank 0 sends a message to rank 1 in each round; it gets SIGKILL or SIGSTOP
//                   where the other one waits for it in theirs
//   none            the job ends well, messages and all
//
//===----------------------------------------------------------------------===//

#include "../collectives/world.h"

#include "runtime/ranks/rank.h"
#include "runtime/support/profile.h"
#include "runtime/train/signals.h"
#include "runtime/transports/mpi.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <unistd.h>

using namespace tplan::runtime;

namespace {

constexpr int rounds = 8, lastRound = 5;
constexpr int64_t elements = int64_t(4) << 20;
const tp_call call = {"sum of gradients", "victim.tplan", 12, TP_COLLECTIVE, 0, 0, 0};
const tp_call message = {"F of stage 1", "victim.tplan", 34, TP_COLLECTIVE, 0, 0, 0};

struct Job {
  std::string how;
  const char *file;
  bool victim;
  std::atomic<int> round{0};

  void writeTime() const {
    FILE *to = fopen(file, "w");
    fprintf(to, "%.3f\n", monotonicSeconds());
    fclose(to);
  }
  /// Strikes when the rank has been in the collective for a while.
  void strike() {
    while (round < lastRound)
      usleep(100);
    usleep(2000);
    writeTime();
    kill(getpid(), how == "kill" ? SIGKILL : SIGSTOP);
  }
};

/// From rank 0 to rank 1; the victim does not come to the last one.
int passMessage(tp_rank &rank, Job &job, bool isLast, std::vector<float> &values) {
  tp_collective what = {TP_MESSAGE, TP_SUM, TP_F32, 1, 1, elements, 1, 1, elements, 0, nullptr};
  void *pointers[] = {values.data(), values.data()};
  if (!rank.groups[1])
    return 0;
  if (job.victim && isLast && job.how != "none") {
    usleep(20000); // the other one waits
    job.writeTime();
    kill(getpid(), job.how == "kill-message" ? SIGKILL : SIGSTOP);
  }
  return tp_collectives(&rank, &message, &what, 1, pointers);
}

/// Between two rounds; the victim dies in it.
void compute(Job &job) {
  double seconds = job.how == "kill-computing" ? 10 : 0.25;
  if (job.victim) {
    usleep(20000);
    job.writeTime();
    kill(getpid(), SIGKILL);
  }
  for (double end = monotonicSeconds() + seconds; monotonicSeconds() < end;)
    ;
}

int runRounds(tp_rank &rank, Job &job) {
  std::vector<float> values(elements, 1);
  tp_collective what = {TP_ALL_REDUCE, TP_SUM, TP_F32, 0, 1, elements, 1, 1, elements, 0, nullptr};
  void *pointers[] = {values.data(), values.data()};
  for (int round = 1; round <= rounds; ++round) {
    if (job.victim && job.how == "fail" && round == lastRound) {
      job.writeTime();
      return fail(rank, &call, errorf("the loss is not a number"));
    }
    bool hasMessages = job.how.ends_with("-message");
    if ((hasMessages || job.how == "none") && passMessage(rank, job, round == lastRound, values))
      return 1;
    if (round == lastRound && job.how.starts_with("kill-") && !hasMessages)
      compute(job);
    job.round = round;
    // The victim stays in its round, so that it is struck there.
    for (int again = job.how != "none" && round == lastRound ? 1000000 : 1; again > 0; --again)
      if (tp_collectives(&rank, &call, &what, 1, pointers))
        return 1;
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  Launch launch;
  double limit;
  std::unique_ptr<Transport> transport;
  Status status = findLaunch(launch);
  conformance::Mesh mesh({launch.ranks}, {{0}, {0}}, {{}, {0, 1}});
  if (status.ok())
    status = readHangLimit(limit);
  if (status.ok())
    status = connectMpi(mesh.program(), launch, transport, limit);
  Wish wish; // of a launcher's signal; nobody looks at it
  Signals signals(wish, /*saveWithin=*/60);
  if (status.ok())
    status = signals.start();
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  signals.follow(transport->waiting());
  tp_rank rank;
  rank.program = &mesh.program();
  rank.transport = transport.get();
  status = rank.team.start(1);
  if (status.ok())
    status = transport->connect(mesh.program(), rank.groups);
  Job job{argv[1], argv[3], transport->rank() == atoi(argv[2])};
  if (job.victim && (job.how == "kill" || job.how == "stop"))
    std::thread([&job] { job.strike(); }).detach();
  if (status.ok() && runRounds(rank, job))
    status = rank.error;
  if (!status.ok())
    transport->abort(status);
  printf("rank %d is done\n", transport->rank());
  signals.follow(nullptr);
}

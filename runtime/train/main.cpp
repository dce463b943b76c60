//===- main.cpp - tp_main: ranks as threads or processes ------------------===//
//
// Started plainly, all ranks of a plan are threads of this process; started by mpirun, srun or
// torchrun, this process is one of them.
//
// Decisions: the first error of a rank ends all of them and is the one that is printed, with a
// collective in which another rank waited for it. No rank releases its memory before all ranks of
// the process are done, because others may still read it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu.h"
#include "runtime/device/cuda.h"
#include "runtime/libraries/cublaslt_library.h"
#include "runtime/ranks/audit.h"
#include "runtime/ranks/tensors.h"
#include "runtime/start/error_file.h"
#include "runtime/start/launcher.h"
#include "runtime/step/trace_device.h"
#include "runtime/train/exit_codes.h"
#include "runtime/train/signals.h"
#include "runtime/train/train.h"
#include "runtime/transports/mpi.h"
#include "runtime/transports/nccl.h"
#include "runtime/transports/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>

#include <pthread.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

void printError(const char *command, const std::string &message) {
  fflush(stdout);
  fprintf(stderr, "%s: error: %s\n", command, message.c_str());
}

/// Reports the error for the summary of a launcher; if that fails, the log has the message.
void tellLauncher(const char *command, const std::string &message) {
  if (Status status = writeErrorFile(message); !status.ok())
    printError(command, status.message());
}

/// The ranks of this process.
class Crew {
public:
  /// `gpus`: number of GPUs that the process sees, where the program is for them; the first rank
  /// has `firstGpu`.
  Crew(const char *command, const tp_program &program, const Options &options, bool launched,
       int64_t gpus, int64_t firstGpu, Wish &wish)
      : command(command), program(program), options(options), launched(launched), gpus(gpus),
        firstGpu(firstGpu), wish(wish) {}

  /// Trains with these transports; a null transport means one rank alone. True on success.
  bool run(std::vector<std::unique_ptr<Transport>> transports, int threads);

private:
  struct Member {
    Crew *crew;
    Seat seat;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Recording> log; // of the transport, where it is audited
    pthread_t thread;
    bool ended = false;
  };
  void runRank(Member &member);
  bool fail(const tp_rank &rank, const Status &status);
  void nameAnother(const Transport &transport);
  void leave(int count, Member *member = nullptr);

  const char *command;
  const tp_program &program;
  const Options &options;
  const bool launched; // each rank is a process
  const int64_t gpus, firstGpu;
  Wish &wish;
  std::vector<Member> members;
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;
  bool failed = false, printed = false, followed = false;
};

/// Prints the first error, and once the collective that another rank was in; true for the first
/// error of one of several ranks. An error that all ranks have is printed by their leader, that of
/// a process by the transport that ends it.
bool Crew::fail(const tp_rank &rank, const Status &status) {
  std::lock_guard lock(mutex);
  bool alike = rank.peers.failedTogether();
  std::string message =
      alike ? status.message() : format("rank %d: %s", rank.peers.rank(), status.message().c_str());
  if (!std::exchange(failed, true))
    tellLauncher(command, message);
  if (alike ? !rank.peers.leads() : launched)
    return false;
  std::string left = rank.transport ? rank.transport->left() : "";
  if (printed) {
    if (!followed && !left.empty())
      fprintf(stderr, "%s: note: rank %d waited in the %s\n", command, rank.peers.rank(),
              left.c_str());
    followed |= !left.empty();
    return false;
  }
  printed = true;
  followed = !left.empty(); // the message itself says it
  printError(command, message);
  return !alike;
}

/// A rank that computes may reach its next collective, or leave one, later than anybody wants to
/// wait. Then the first rank that has not ended is named, with the last collective that it was in.
void Crew::nameAnother(const Transport &transport) {
  constexpr auto grace = std::chrono::milliseconds(500);
  std::unique_lock lock(mutex);
  if (finished.wait_for(lock, grace, [this] { return running == 0 || followed; }))
    return;
  for (size_t rank = 0; rank < members.size() && !followed; ++rank) {
    std::string last = members[rank].ended ? "" : transport.lastOf((int)rank);
    if (last.empty())
      continue;
    fprintf(stderr, "%s: note: rank %zu is in no collective; its last of the plan was the %s\n",
            command, rank, last.c_str());
    followed = true;
  }
}

void Crew::leave(int count, Member *member) {
  std::unique_lock lock(mutex);
  running -= count;
  if (member)
    member->ended = true;
  finished.notify_all();
}

void Crew::runRank(Member &member) {
  tp_rank rank;
  rank.transport = member.transport.get();
  rank.points.start(wish, rank.transport ? rank.transport->notes() : nullptr,
                    rank.transport ? rank.transport->rank() : 0,
                    rank.transport ? rank.transport->size() : 1);
  Status status = train(rank, program, options, member.seat);
  if (status.ok() && member.log)
    status = auditCollectives(rank, *member.log);
  bool first = !status.ok() && fail(rank, status);
  if (!status.ok() && rank.transport && !rank.peers.failedTogether())
    rank.transport->abort(status);
  leave(1, &member);
  if (first && rank.transport)
    nameAnother(*rank.transport);
  std::unique_lock lock(mutex);
  finished.wait(lock, [this] { return running == 0; });
  lock.unlock();
  rank.streams.reset();
  // Others may still ask this rank where it is.
  rank.groups.clear();
  if (rank.transport)
    rank.transport->detach();
}

bool Crew::run(std::vector<std::unique_ptr<Transport>> transports, int threads) {
  int count = (int)transports.size();
  members.resize(count);
  for (int i = 0; i < count; ++i) {
    // Ranks of one process share its GPUs.
    Seat seat{i, count, threads, gpus ? (firstGpu + i) % gpus : 0};
    members[i] = {this, seat, std::move(transports[i]), nullptr, {}};
    if (!options.auditCollectives)
      continue;
    members[i].log = std::make_unique<Recording>();
    members[i].transport = recordTransport(std::move(members[i].transport), *members[i].log);
  }
  running = count;
  if (count == 1) {
    runRank(members[0]);
    return !failed;
  }
  int started = 0;
  for (; started < count; ++started) {
    auto body = [](void *argument) -> void * {
      auto *member = static_cast<Member *>(argument);
      member->crew->runRank(*member);
      return nullptr;
    };
    int code = pthread_create(&members[started].thread, nullptr, body, &members[started]);
    if (code == 0)
      continue;
    Status status =
        errorf("cannot start the thread of rank %d of %d: %s", started, count, strerror(code));
    {
      std::lock_guard lock(mutex);
      printError(command, status.message());
      tellLauncher(command, status.message());
      failed = printed = true;
    }
    members[started].transport->abort(status);
    leave(count - started);
    break;
  }
  for (int i = 0; i < started; ++i)
    pthread_join(members[i].thread, nullptr);
  return !failed;
}

/// Threads of one rank if --threads is not given: its part of the CPUs.
int threadsOf(const Options &options, int ranks, const Launch &launch) {
  if (options.threads)
    return (int)options.threads;
  // A launcher may have bound this process, or left all CPUs to all of its processes.
  auto cpus = (int64_t)availableCpus();
  if (launch.processes())
    cpus = std::min<int64_t>(cpus, sysconf(_SC_NPROCESSORS_ONLN) / launch.localRanks);
  return (int)std::max<int64_t>(1, cpus / ranks);
}

/// The program for the device that is asked for, else for a GPU where the binary has one: a
/// training that was meant for a GPU must not run slowly on a CPU without being asked to.
Status chooseProgram(std::span<const tp_program *const> programs, const std::string &device,
                     const tp_program *&chosen) {
  std::string there;
  for (const tp_program *program : programs) {
    const char *name = program->device ? "cuda" : "cpu";
    there += format("%s%s%s%s", there.empty() ? "" : ", ", name, program->device ? ":" : "",
                    program->device ? program->device->arch : "");
    if (device == name || (device.empty() && (!chosen || program->device)))
      chosen = program;
  }
  if (chosen)
    return {};
  if (device != "cpu" && device != "cuda")
    return errorf("--device takes cpu or cuda, found '%s'", device.c_str());
  return errorf("this binary is compiled for %s alone: compile it with --target=cpu,cuda:ARCH for "
                "both; found --device=%s",
                there.c_str(), device.c_str());
}

/// Which variables were looked at, and what follows for this plan.
Status printEnvironment(const tp_program &program) {
  printVariables(stdout);
  Launch launch;
  TP_TRY(findLaunch(launch));
  printLaunch(stdout, launch);
  return checkLaunch(launch, program);
}

/// Checks a job before its processes meet: all of them find the same error.
Status checkJob(const Launch &launch, const tp_program &program) {
  TP_TRY(checkLaunch(launch, program));
  if (!launch.processes() || program.device || launch.mpi)
    return {};
  return errorf("ranks on CPUs that are processes exchange data by MPI: start them with mpirun -n "
                "%lld or srun -n %lld, or start one process without a launcher, and the ranks are "
                "threads; this one is a process of %s; environment: %s",
                (long long)launch.ranks, (long long)launch.ranks, launch.launcher,
                launch.seen.c_str());
}

/// Resets what would change values without the plan's knowledge, while this process has one thread.
void ignoreTf32Override(const char *command) {
  if (!isTf32Forced())
    return;
  unsetenv(tf32Override);
  if (speaksForAll())
    fprintf(stderr,
            "%s: warning: %s is ignored, for it rounds f32 where the plan does not say so; "
            "`precision tf32` does\n",
            command, tf32Override);
}

/// Ranks that are processes, as their launcher started them.
Status connectProcesses(const Launch &launch, const tp_program &program, const Options &options,
                        double hangLimit, std::unique_ptr<Transport> &transport) {
  NamedFile library;
  if (!options.ncclLibrary.empty())
    library = {options.ncclLibrary.c_str(), "--nccl-library"};
  if (program.device)
    return connectNccl(program, launch, library, transport, hangLimit);
  return connectMpi(program, launch, transport, hangLimit);
}

} // namespace

int tp_main(int argc, char **argv, const tp_program *const *programs, int64_t count) {
  const char *command = argc > 0 ? argv[0] : "train";
  Options options;
  Status usage = parseOptions(argc, argv, options);
  if (usage.ok() && options.help) {
    if (speaksForAll())
      printHelp(stdout, command, *programs[count - 1]);
    return exitSuccess;
  }
  if (const char *way = getenv("TPLAN_GEMM"))
    options.gemmWay = way;
  const tp_program *program = nullptr;
  if (usage.ok())
    usage = chooseProgram({programs, (size_t)count}, options.device, program);
  if (usage.ok())
    usage = completeOptions(*program, options);
  auto fails = [&](const Status &status, ExitCode code) {
    printError(command, status.message());
    tellLauncher(command, status.message());
    return code;
  };
  // One process reports an error that all processes of a job find; the others give it time for
  // that, because their end makes a launcher end them all.
  auto failsAlike = [&](const Status &status, ExitCode code) {
    if (speaksForAll())
      return fails(status, code);
    tellLauncher(command, status.message());
    sleep(2);
    return code;
  };
  if (!usage.ok())
    return failsAlike(usage, exitUsage);
  if (options.printEnv) {
    Status status = printEnvironment(*program);
    return status.ok() ? exitSuccess : fails(status, exitFailure);
  }
  if (Status status = checkProgram(*program); !status.ok())
    return failsAlike(status, exitFailure);
  if (Status status = checkCpu(program->cpu); !status.ok())
    return fails(status, exitFailure);

  for (const char *ofGpus :
       {"--gemm-algorithms", "--graph-calls", "--nccl-library", "--synchronous"})
    if (options.has(ofGpus) && !program->device)
      return failsAlike(errorf("%s is about GPUs, and the plan '%s' runs on a CPU: leave it out",
                               ofGpus, program->plan),
                        exitUsage);

  if (options.auditStreams) {
    Status status = auditStreams(*program, options.traceStreams);
    return status.ok() ? exitSuccess : fails(status, exitFailure);
  }

  if (program->device)
    ignoreTf32Override(command);
  Wish wish;
  Signals signals(wish, options.saveWithin);
  if (Status status = signals.start(); !status.ok())
    return fails(status, exitFailure);
  Launch launch;
  if (Status status = findLaunch(launch); !status.ok())
    return fails(status, exitFailure);
  int64_t ranks = ranksOf(*program);
  std::vector<std::unique_ptr<Transport>> transports(1);
  double hangLimit;
  if (Status status = readHangLimit(hangLimit); !status.ok())
    return failsAlike(status, exitFailure);
  int64_t gpus = 0, gpu = 0;
  if (program->device) {
    Status status = countGpus(gpus);
    if (status.ok() && launch.processes())
      status = chooseGpu(launch, gpus, gpu);
    if (!status.ok())
      return fails(status, exitFailure);
  }
  if (Status status = checkJob(launch, *program); !status.ok())
    return failsAlike(status, exitFailure);
  if (launch.processes()) {
    Status status = connectProcesses(launch, *program, options, hangLimit, transports[0]);
    if (!status.ok())
      return fails(status, exitFailure);
  } else if (ranks > 1 || program->num_groups > 0) {
    transports = threadTransports((int)ranks, hangLimit);
  }
  if (options.auditCollectives && !transports[0])
    return failsAlike(
        errorf("--audit-collectives compares ranks, and the plan '%s' has one", program->plan),
        exitUsage);
  int threads = threadsOf(options, (int)transports.size(), launch);
  const Waiting *waiting = transports[0] ? transports[0]->waiting() : nullptr;
  Crew crew(command, *program, options, launch.processes(), gpus, gpu, wish);
  signals.follow(waiting);
  bool trained = crew.run(std::move(transports), threads);
  signals.follow(nullptr);
  return !trained ? exitFailure : wish.ended() ? exitAsked : exitSuccess;
}

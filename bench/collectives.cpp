//===- collectives.cpp - all-reduce of two ranks beside its peers --------------===//
//
// 64 MiB of f32 on two ranks, each on a CPU of its own, in place: our threads beside two
// threads that stream the same bytes (read two arrays, write two), and a naive all-reduce of
// threads, in turns. Then, under mpirun, Open MPI's own MPI_Allreduce beside our transport of
// MPI. Medians, and ratios to ours.
//
//   bench-collectives [rounds] [MiB]           # chrt -f 50 before it on a busy machine
//
//===----------------------------------------------------------------------===//

#include "runtime/support/profile.h"
#include "runtime/transports/mpi.h"
#include "runtime/transports/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

double median(std::vector<double> &times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Memory as the arena has it.
float *mapFloats(int64_t count) {
  int64_t bytes = (4 * count + (2 << 20)) >> 21 << 21;
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, bytes, MADV_HUGEPAGE);
  return (float *)at;
}

void pinTo(int index) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && index-- == 0)
      CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// Two threads meet by spinning: each has a CPU.
void meet() {
  static std::atomic<int> arrived{0};
  int mine = arrived.fetch_add(1);
  while (arrived.load() <= (mine | 1))
    ;
}

tp_collective allReduce(int64_t count) {
  return {TP_ALL_REDUCE, TP_SUM, TP_F32, 0, 1, count, 1, 1, count, 0, nullptr};
}

/// Reads two arrays and writes two: what an all-reduce must move.
__attribute__((target_clones("avx512bw", "avx2", "default"))) void
stream(float *__restrict a, float *__restrict b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float x = a[i], y = b[i];
    a[i] = y;
    b[i] = x;
  }
}

__attribute__((target_clones("avx512bw", "avx2", "default"))) void
addTo(float *__restrict a, const float *__restrict b, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    a[i] += b[i];
}

/// What one of two threads does for each candidate.
struct Candidates {
  float *arrays[2];
  int64_t count;
  Communicator *group[2];

  void ours(int rank) {
    Team alone;
    tp_collective what = allReduce(count);
    Operation operation = {&what, arrays[rank], arrays[rank], nullptr};
    if (Status status = group[rank]->issue({&operation, 1}, alone, nullptr); !status.ok())
      fprintf(stderr, "%s\n", status.message().c_str());
  }
  void streaming(int rank) {
    int64_t half = count / 2;
    stream(arrays[0] + rank * half, arrays[1] + rank * half, half);
  }
  /// Each adds the other's half to its own, and copies the rest from the other.
  void naive(int rank) {
    int64_t half = count / 2;
    addTo(arrays[rank] + rank * half, arrays[1 - rank] + rank * half, half);
    meet();
    memcpy(arrays[rank] + (1 - rank) * half, arrays[1 - rank] + (1 - rank) * half, 4 * half);
  }
};

using Candidate = void (Candidates::*)(int);
constexpr Candidate candidates[] = {&Candidates::ours, &Candidates::streaming, &Candidates::naive};
constexpr int numCandidates = 3;

/// Medians of the candidates, in turns, in ms.
std::vector<double> raceThreads(int rounds, int64_t count) {
  auto transports = threadTransports(2);
  Candidates all = {{mapFloats(count), mapFloats(count)},
                    count,
                    {&transports[0]->world(), &transports[1]->world()}};
  std::vector<std::vector<double>> times(numCandidates);
  auto body = [&](int rank) {
    pinTo(rank);
    std::fill_n(all.arrays[rank], count, 1e-3f);
    float *other = mapFloats(2 * count);
    std::fill_n(other, 2 * count, 1e-3f);
    for (int round = -2; round < rounds; ++round)
      for (int i = 0; i < numCandidates; ++i) {
        // Clears the caches, so that no candidate finds there what the one before has left.
        stream(other, other + count, count);
        meet();
        double begin = monotonicSeconds();
        (all.*candidates[i])(rank);
        meet();
        if (rank == 0 && round >= 0)
          times[i].push_back(1e3 * (monotonicSeconds() - begin));
      }
  };
  std::thread other([&] { body(1); });
  std::thread([&] { body(0); }).join();
  other.join();
  std::vector<double> medians;
  for (std::vector<double> &list : times)
    medians.push_back(median(list));
  return medians;
}

/// A rank of the run under mpirun: Open MPI's all-reduce and ours, in turns. Rank 0 prints.
int raceProcesses(int rounds, int64_t count) {
  tp_axis axis = {"dp", 2};
  tp_program program = {};
  program.plan = "bench", program.axes = &axis, program.num_axes = 1;
  std::unique_ptr<Transport> transport;
  if (Status status = connectMpi(program, transport); !status.ok()) {
    fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  auto find = [](const char *name) { return dlsym(RTLD_DEFAULT, name); };
  auto theirs = (int (*)(const void *, void *, int, void *, void *, void *))find("MPI_Allreduce");
  void *type = find("ompi_mpi_float"), *sum = find("ompi_mpi_op_sum");
  void *world = find("ompi_mpi_comm_world"), *inPlace = (void *)1;
  float *array = mapFloats(count);
  std::fill_n(array, count, 1e-3f);
  Team alone;
  tp_collective what = allReduce(count);
  Operation operation = {&what, array, array, nullptr};
  std::vector<double> times[2];
  for (int round = -2; round < rounds; ++round)
    for (int i = 0; i < 2; ++i) {
      Status status = transport->world().barrier();
      double begin = monotonicSeconds();
      if (i == 0)
        theirs(inPlace, array, (int)count, type, sum, world);
      else if (status.ok())
        status = transport->world().issue({&operation, 1}, alone, nullptr);
      if (!status.ok())
        transport->abort(status);
      if (round >= 0)
        times[i].push_back(1e3 * (monotonicSeconds() - begin));
    }
  if (transport->rank() == 0)
    printf("%g %g\n", median(times[0]), median(times[1]));
  return 0;
}

/// This program under mpirun; false where there is none.
bool launchProcesses(const char *self, int rounds, int64_t mebibytes, double (&ms)[2]) {
  // Single copies between processes need no more than ptrace's right. They are on by default; this
  // program asks for them, so that their lack is an error.
  std::string command =
      format("mpirun --allow-run-as-root --bind-to core -n 2 --mca btl_vader_single_copy_mechanism "
             "cma '%s' --ranks %d %lld",
             self, rounds, (long long)mebibytes);
  FILE *output = popen(command.c_str(), "r");
  bool read = output && fscanf(output, "%lf %lf", &ms[0], &ms[1]) == 2;
  return output && pclose(output) == 0 && read;
}

} // namespace

int main(int argc, char **argv) {
  bool process = argc > 1 && !strcmp(argv[1], "--ranks");
  char **numbers = argv + process;
  int numNumbers = argc - process;
  int rounds = numNumbers > 1 ? atoi(numbers[1]) : 41;
  int64_t mebibytes = numNumbers > 2 ? atoll(numbers[2]) : 64, count = mebibytes << 18;
  if (rounds < 1 || mebibytes < 1 || mebibytes > 1024) {
    fprintf(stderr, "usage: %s [rounds, at least 1 (41)] [MiB, 1 to 1024 (64)]\n", argv[0]);
    return 2;
  }
  if (process)
    return raceProcesses(rounds, count);

  std::vector<double> ms = raceThreads(rounds, count);
  printf("all-reduce of %lld MiB of f32 on two ranks, in place, medians of %d\n",
         (long long)mebibytes, rounds);
  double moved = 4e-3 * 4 * (double)count / 1e3; // MB: two arrays read, two written
  auto row = [&](const char *name, double time) {
    printf("  %-44s %8.2f ms %7.1f GB/s  %6.2f of ours\n", name, time, moved / time, time / ms[0]);
  };
  row("threads", ms[0]);
  row("two threads that stream the same bytes", ms[1]);
  row("a naive all-reduce of threads", ms[2]);
  double processes[2];
  if (!launchProcesses(argv[0], rounds, mebibytes, processes)) {
    printf("  (mpirun did not run: no peer)\n");
    return 1;
  }
  row("MPI_Allreduce of Open MPI", processes[0]);
  row("our transport of MPI", processes[1]);
  printf("threads reach %.2f of the streaming rate (at least 0.8), %.1f x the rate of Open MPI (at "
         "least 3)\n",
         ms[1] / ms[0], processes[0] / ms[0]);
  return ms[1] / ms[0] >= 0.8 && processes[0] / ms[0] >= 3 ? 0 : 1;
}

//===- launcher.h - what started this process, and as which rank ----------===//
//
// Read from the environment, before any library that a job needs: a process that was started by
// hand runs its ranks as threads, with or without MPI or NCCL on the machine.
//
// One decision: launchers are one table, from which detection, errors and --print-env are made.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_LAUNCHER_H
#define TPLAN_RUNTIME_START_LAUNCHER_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <cstdio>
#include <functional>

namespace tplan::runtime {

/// The value of a variable; null where it is not set.
using Environment = std::function<const char *(const char *)>;
/// The environment of this process.
Environment ownEnvironment();

/// What the environment says of a launcher.
struct Launch {
  const char *launcher = nullptr; // "torchrun", "mpirun", ...; null: started by hand
  int64_t rank = 0, ranks = 1;
  int64_t localRank = 0, localRanks = 1; // on this machine, as far as the launcher says
  bool mpi = false;                      // MPI has the same ranks
  std::string host;                      // where ranks meet; empty: `noHost` says why
  int port = 0;
  std::string noHost;
  bool agentServes = false; // the launcher has the store, and its port: nobody may bind it
  std::string run;          // identifies this run of the job
  int64_t restart = 0;      // how often the job was started before
  std::string secret;       // the secret that its processes know; empty: none. It is never shown
  std::string seen;         // the variables that made it a rank, with their values

  /// One process of a launcher counts as none, because a shell of srun is one, too.
  bool processes() const { return ranks > 1; }
};

/// Errors: variables that contradict each other.
Status findLaunch(Launch &launch, const Environment &environment = ownEnvironment());

/// Whether this process reports what all processes of a job find alike, such as a wrong option:
/// that of rank 0 does.
bool speaksForAll(const Environment &environment = ownEnvironment());

/// An error unless a job of several processes has as many as the plan's mesh.
Status checkLaunch(const Launch &launch, const tp_program &program);
/// The error for it: `where` has `found` ranks.
Status wrongNumber(const tp_program &program, int64_t found, const char *where,
                   const Launch &launch);

/// Chooses the GPU of this rank among those that the process sees.
Status chooseGpu(const Launch &launch, int64_t visible, int64_t &gpu);

/// Prints each variable that is looked at, and what follows from them.
void printVariables(FILE *to, const Environment &environment = ownEnvironment());
void printLaunch(FILE *to, const Launch &launch);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_LAUNCHER_H

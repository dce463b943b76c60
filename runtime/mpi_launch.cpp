//===- mpi_launch.cpp - was this process started by a launcher? -------------===//
//
// Read from the environment, before MPI is loaded: a process that was started by hand runs
// its ranks as threads, with or without an MPI on the machine.
//
//===----------------------------------------------------------------------===//

#include "runtime/mpi.h"

#include <cstdlib>

using namespace tplan::runtime;

namespace {

struct Variable {
  const char *name;
  const char *launcher; // who counts its processes in it; null: for the message only
};
// SLURM_NTASKS stands in the environment of a batch script too, whose commands are started by
// hand; only a step of srun has the other one.
constexpr Variable variables[] = {
    {"OMPI_COMM_WORLD_SIZE", "mpirun"},
    {"PMI_SIZE", "a launcher with PMI"},
    {"SLURM_STEP_NUM_TASKS", "srun"},
    {"MV2_COMM_WORLD_SIZE", "mpirun of MVAPICH"},
    {"OMPI_COMM_WORLD_RANK", nullptr},
    {"PMI_RANK", nullptr},
    {"PMIX_RANK", nullptr},
    {"SLURM_NTASKS", nullptr},
    {"SLURM_PROCID", nullptr},
    {"WORLD_SIZE", nullptr},
};

} // namespace

Launch tplan::runtime::findLaunch() {
  Launch launch;
  for (const Variable &variable : variables) {
    const char *value = getenv(variable.name);
    launch.seen += format("%s%s %s%s", launch.seen.empty() ? "" : ", ", variable.name,
                          value ? "= " : "unset", value ? value : "");
    if (!value || !variable.launcher || launch.launcher)
      continue;
    launch.launcher = variable.launcher;
    launch.ranks = atoll(value);
  }
  return launch;
}

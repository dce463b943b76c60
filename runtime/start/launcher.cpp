//===- launcher.cpp - what started this process, and as which rank --------===//
//
// The order of the table is its precedence, the most specific launcher first: mpirun inside a batch
// job of Slurm also sees Slurm's variables, which are those of the daemon that started it.
//
//===----------------------------------------------------------------------===//

#include "runtime/start/launcher.h"

#include "runtime/ranks/mesh.h"
#include "runtime/start/secret.h"
#include "runtime/start/slurm.h"
#include "runtime/support/environment.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace tplan::runtime;

namespace {

struct Launcher {
  const char *name;
  const char *sign[3] = {}; // all are set where it has started this process
  const char *rank, *ranks;
  const char *localRank = nullptr, *localRanks = nullptr;
  const char *node = nullptr;  // in a list of them, where `localRanks` is one
  const char *nodes = nullptr; // the names of the nodes
  const char *run[2] = {};     // identify the job, together
  const char *restart = nullptr;
  const char *agent = nullptr; // says whether the launcher serves the store
  bool mpi = false;            // its processes are ranks of MPI
};

// SLURM_NTASKS stands in the environment of a batch script too, whose commands are started by
// hand; only a step of srun has SLURM_STEP_NUM_TASKS, or a number as its step.
// clang-format off
constexpr Launcher launchers[] = {
    {.name = "torchrun", .sign = {"RANK", "WORLD_SIZE", "MASTER_ADDR"},
     .rank = "RANK", .ranks = "WORLD_SIZE",
     .localRank = "LOCAL_RANK", .localRanks = "LOCAL_WORLD_SIZE",
     .run = {"TORCHELASTIC_RUN_ID"}, .restart = "TORCHELASTIC_RESTART_COUNT",
     .agent = "TORCHELASTIC_USE_AGENT_STORE"},
    {.name = "mpirun", .sign = {"OMPI_COMM_WORLD_SIZE"},
     .rank = "OMPI_COMM_WORLD_RANK", .ranks = "OMPI_COMM_WORLD_SIZE",
     .localRank = "OMPI_COMM_WORLD_LOCAL_RANK", .localRanks = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .run = {"PMIX_NAMESPACE"}, .mpi = true},
    {.name = "a launcher with PMI", .sign = {"PMI_SIZE"},
     .rank = "PMI_RANK", .ranks = "PMI_SIZE",
     .localRank = "MPI_LOCALRANKID", .localRanks = "MPI_LOCALNRANKS",
     .nodes = "SLURM_STEP_NODELIST", .run = {"SLURM_JOB_ID", "SLURM_STEP_ID"},
     .restart = "SLURM_RESTART_COUNT", .mpi = true},
    {.name = "srun", .sign = {"SLURM_STEP_NUM_TASKS"},
     .rank = "SLURM_PROCID", .ranks = "SLURM_STEP_NUM_TASKS",
     .localRank = "SLURM_LOCALID", .localRanks = "SLURM_STEP_TASKS_PER_NODE",
     .node = "SLURM_NODEID", .nodes = "SLURM_STEP_NODELIST",
     .run = {"SLURM_JOB_ID", "SLURM_STEP_ID"}, .restart = "SLURM_RESTART_COUNT", .mpi = true},
    {.name = "srun", .sign = {"SLURM_STEP_ID", "SLURM_NTASKS"},
     .rank = "SLURM_PROCID", .ranks = "SLURM_NTASKS",
     .localRank = "SLURM_LOCALID", .localRanks = "SLURM_STEP_TASKS_PER_NODE",
     .node = "SLURM_NODEID", .nodes = "SLURM_STEP_NODELIST",
     .run = {"SLURM_JOB_ID", "SLURM_STEP_ID"}, .restart = "SLURM_RESTART_COUNT", .mpi = true},
    {.name = "mpirun of MVAPICH", .sign = {"MV2_COMM_WORLD_SIZE"},
     .rank = "MV2_COMM_WORLD_RANK", .ranks = "MV2_COMM_WORLD_SIZE",
     .localRank = "MV2_COMM_WORLD_LOCAL_RANK", .localRanks = "MV2_COMM_WORLD_LOCAL_SIZE",
     .mpi = true},
    // Kubernetes does not say how many there are; a user who wants ranks sets WORLD_SIZE.
    {.name = "an indexed job", .sign = {"JOB_COMPLETION_INDEX", "WORLD_SIZE"},
     .rank = "JOB_COMPLETION_INDEX", .ranks = "WORLD_SIZE"},
};
// clang-format on

/// Variables beside those of the table; the last one is for messages only.
constexpr const char *others[] = {"MASTER_ADDR", "MASTER_PORT", "PMIX_RANK", secretVariable};

constexpr int defaultPort = 29500; // torchrun's default, where the variable is not set either
/// Ports above those that Linux gives to clients.
constexpr int firstPort = 61440, portCount = 4096;

/// The variables, each once, in the order in which they are looked at.
std::vector<const char *> variableNames() {
  std::vector<const char *> names;
  auto take = [&](const char *name) {
    auto same = [&](const char *other) { return !strcmp(name, other); };
    if (name && std::none_of(names.begin(), names.end(), same))
      names.push_back(name);
  };
  for (const Launcher &it : launchers) {
    for (const char *name : it.sign)
      take(name);
    for (const char *name : {it.rank, it.ranks, it.localRank, it.localRanks, it.node, it.nodes,
                             it.run[0], it.run[1], it.restart, it.agent})
      take(name);
  }
  for (const char *name : others)
    take(name);
  return names;
}

/// The environment, with an empty variable taken as not set, which is how shells clear one.
class Variables {
public:
  explicit Variables(const Environment &environment) : environment(environment) {}

  const char *text(const char *name) const {
    const char *value = name ? environment(name) : nullptr;
    return value && *value ? value : nullptr;
  }
  static bool parse(const char *text, int64_t &value) {
    char *end = nullptr;
    value = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    return end && !*end && value <= INT_MAX;
  }
  /// Keeps `value` where the variable is not set.
  Status number(const char *name, int64_t &value) const {
    const char *found = text(name);
    if (found && !parse(found, value))
      return errorf("%s is a whole number from 0 on, found '%s'", name, found);
    return {};
  }

private:
  const Environment &environment;
};

/// The value of a variable, for people; that of a secret is not shown.
std::string shown(const char *name, const char *value) {
  if (!value)
    return "unset";
  return strcmp(name, secretVariable) ? format("= %s", value) : "is set";
}

bool started(const Launcher &launcher, const Variables &variables) {
  for (const char *name : launcher.sign) {
    const char *value = name ? variables.text(name) : "";
    int64_t step;
    // The value in a batch script is a word.
    if (!value || (name && !strcmp(name, "SLURM_STEP_ID") && !Variables::parse(value, step)))
      return false;
  }
  return true;
}

const Launcher *findLauncher(const Variables &variables) {
  for (const Launcher &launcher : launchers)
    if (started(launcher, variables))
      return &launcher;
  return nullptr;
}

/// Refuses half of what torchrun sets: if a rank was meant, a training of one rank alone would be a
/// surprise.
Status checkHalf(const Variables &variables) {
  const char *rank = variables.text("RANK"), *ranks = variables.text("WORLD_SIZE");
  if ((!rank && !ranks) || (ranks && !strcmp(ranks, "1")))
    return {};
  return errorf(
      "RANK, WORLD_SIZE and MASTER_ADDR belong together: set all of them, or none and the "
      "ranks are threads; missing:%s%s%s",
      rank ? "" : " RANK", ranks ? "" : " WORLD_SIZE",
      variables.text("MASTER_ADDR") ? "" : " MASTER_ADDR");
}

Status below(const char *what, int64_t value, const char *limit, int64_t of) {
  if (value < of)
    return {};
  return errorf("%s counts from 0 and is below %s, which is %lld; found %lld", what, limit,
                (long long)of, (long long)value);
}

Status readRanks(const Launcher &by, const Variables &variables, Launch &launch) {
  TP_TRY(variables.number(by.ranks, launch.ranks));
  TP_TRY(variables.number(by.rank, launch.rank));
  if (launch.ranks < 1)
    return errorf("%s is the number of processes, found 0", by.ranks);
  if (launch.processes() && !variables.text(by.rank))
    return errorf("%s is set and the rank of this process is not; missing: %s", by.ranks, by.rank);
  return below(by.rank, launch.rank, by.ranks, launch.ranks);
}

Status readLocal(const Launcher &by, const Variables &variables, Launch &launch) {
  TP_TRY(variables.number(by.localRank, launch.localRank));
  const char *tasks = variables.text(by.localRanks);
  if (!tasks)
    return {};
  // Finds the entry of this process's node in a list of nodes.
  int64_t node = 0;
  TP_TRY(variables.number(by.node, node));
  if (by.node) {
    if (Status status = tasksOfNode(tasks, node, launch.localRanks); !status.ok())
      return errorf("%s: %s", by.localRanks, status.message().c_str());
  } else {
    TP_TRY(variables.number(by.localRanks, launch.localRanks));
  }
  TP_TRY(below(by.localRank, launch.localRank, by.localRanks, launch.localRanks));
  if (launch.localRanks > launch.ranks)
    return errorf("%s, those on this machine, are among %s, which is %lld; found %lld",
                  by.localRanks, by.ranks, (long long)launch.ranks, (long long)launch.localRanks);
  return {};
}

Status readRun(const Launcher &by, const Variables &variables, Launch &launch) {
  for (const char *name : by.run)
    if (const char *part = variables.text(name))
      launch.run += (launch.run.empty() ? "" : ".") + std::string(part);
  return variables.number(by.restart, launch.restart);
}

/// A port that all ranks of a job find by themselves, and that two jobs on a machine seldom share.
int portOf(const char *run) {
  int64_t number = 0;
  if (!Variables::parse(run, number))
    for (number = 5381; *run; ++run)
      number = (number * 33 + (unsigned char)*run) % INT_MAX;
  // Open MPI counts the jobs of a machine above 16 bits.
  return firstPort + int((number + (number >> 16)) % portCount);
}

void findHost(const Launcher &by, const Variables &variables, Launch &launch) {
  const char *nodes = variables.text(by.nodes);
  if (const char *given = variables.text("MASTER_ADDR")) {
    launch.host = given;
  } else if (nodes) {
    // A job on MPI needs none, so this is an error only where it is used.
    if (Status status = firstHost(nodes, launch.host); !status.ok())
      launch.noHost = format("%s: %s", by.nodes, status.message().c_str());
  } else if (launch.localRanks == launch.ranks) {
    launch.host = "127.0.0.1";
  } else {
    launch.noHost = format("%s does not say where rank 0 is", by.name);
  }
}

Status readMeeting(const Launcher &by, const Variables &variables, Launch &launch) {
  findHost(by, variables, launch);
  const char *agent = variables.text(by.agent), *run = variables.text(by.run[0]);
  launch.agentServes = agent && !strcmp(agent, "True");
  if (agent && !launch.agentServes && strcmp(agent, "False"))
    return errorf("%s is True or False, found '%s'", by.agent, agent);
  if (launch.agentServes && !variables.text("MASTER_PORT"))
    return errorf("%s is True, and nothing says the port of the store; missing: MASTER_PORT",
                  by.agent);
  int64_t port = run && !by.agent ? portOf(run) : defaultPort;
  TP_TRY(variables.number("MASTER_PORT", port));
  if (port < 1 || port > 65535)
    return errorf("MASTER_PORT is a port, from 1 to 65535; found %lld", (long long)port);
  launch.port = (int)port;
  return {};
}

/// Whether another launcher gives this process the same rank: scripts under mpirun and srun often
/// set torchrun's variables, for programs that read no others.
bool alike(const Launcher &other, const Variables &variables, const Launch &launch) {
  int64_t rank = -1, ranks = -1;
  return started(other, variables) && variables.number(other.rank, rank).ok() &&
         variables.number(other.ranks, ranks).ok() && rank == launch.rank && ranks == launch.ranks;
}

Status readLaunch(const Variables &variables, Launch &launch) {
  const Launcher *by = findLauncher(variables);
  if (!by)
    return checkHalf(variables);
  launch.launcher = by->name;
  TP_TRY(readRanks(*by, variables, launch));
  // What one launcher does not say, another may.
  const Launcher *local = variables.text(by->localRank) ? by : nullptr;
  for (const Launcher &other : launchers) {
    if (!alike(other, variables, launch))
      continue;
    launch.mpi |= other.mpi;
    if (!local && variables.text(other.localRank))
      local = &other;
  }
  TP_TRY(readLocal(local ? *local : *by, variables, launch));
  TP_TRY(readRun(*by, variables, launch));
  if (const char *secret = launch.processes() ? variables.text(secretVariable) : nullptr) {
    TP_TRY(checkSecret(secret));
    launch.secret = secret;
  }
  return readMeeting(*by, variables, launch);
}

/// The two variables that make this process a rank, or those of torchrun, half of which make it
/// none.
std::string decisive(const Variables &variables) {
  const Launcher *by = findLauncher(variables);
  std::vector<const char *> names = {"RANK", "WORLD_SIZE", "MASTER_ADDR"};
  if (by)
    names = {by->rank, by->ranks};
  std::string text;
  for (const char *name : names)
    if (const char *value = variables.text(name))
      text += format("%s%s = %s", text.empty() ? "" : ", ", name, value);
  return text;
}

} // namespace

bool tplan::runtime::speaksForAll(const Environment &environment) {
  // Open MPI says how many programs a job has: each has options of its own.
  const char *programs = environment("OMPI_NUM_APP_CTX");
  Launch launch;
  bool known = findLaunch(launch, environment).ok(); // its error is reported where it is used
  return !known || launch.rank == 0 || (programs && strcmp(programs, "1") != 0);
}

Environment tplan::runtime::ownEnvironment() {
  return [](const char *name) -> const char * { return readVariable(name); };
}

Status tplan::runtime::findLaunch(Launch &launch, const Environment &environment) {
  launch = {};
  launch.seen = decisive(Variables(environment));
  Status status = readLaunch(Variables(environment), launch);
  if (status.ok())
    return {};
  return errorf("%s; environment: %s; --print-env shows all that is looked at",
                status.message().c_str(), launch.seen.c_str());
}

Status tplan::runtime::wrongNumber(const tp_program &program, int64_t found, const char *where,
                                   const Launch &launch) {
  auto ranks = (long long)ranksOf(program);
  return errorf("the plan '%s' is for %lld ranks, %s has %lld; start that many (mpirun -n %lld, "
                "srun -n %lld%s), or start it without a launcher, and the ranks are threads; "
                "environment: %s; --print-env shows all that is looked at",
                program.plan, ranks, where, (long long)found, ranks, ranks,
                program.device ? ", torchrun with as many processes" : "", launch.seen.c_str());
}

Status tplan::runtime::checkLaunch(const Launch &launch, const tp_program &program) {
  if (!launch.processes() || launch.ranks == ranksOf(program))
    return {};
  return wrongNumber(program, launch.ranks, launch.launcher, launch);
}

Status tplan::runtime::chooseGpu(const Launch &launch, int64_t visible, int64_t &gpu) {
  if (launch.localRank >= visible && visible != 1)
    return errorf(
        "each process of a machine has a GPU of its own, and this one is the process %lld "
        "of those here; start fewer, or let each see one GPU (CUDA_VISIBLE_DEVICES); "
        "GPUs that it sees: %lld",
        (long long)launch.localRank, (long long)visible);
  gpu = launch.localRank < visible ? launch.localRank : 0;
  return {};
}

void tplan::runtime::printVariables(FILE *to, const Environment &environment) {
  fprintf(to, "looked at:\n");
  for (const char *name : variableNames())
    fprintf(to, "  %-30s %s\n", name, shown(name, environment(name)).c_str());
}

void tplan::runtime::printLaunch(FILE *to, const Launch &launch) {
  fprintf(to, "chosen:\n");
  auto line = [&](const char *what, const std::string &value) {
    fprintf(to, "  %-30s %s\n", what, value.c_str());
  };
  auto of = [](int64_t rank, int64_t ranks) {
    return format("%lld of %lld", (long long)rank, (long long)ranks);
  };
  line("launcher", launch.launcher ? launch.launcher : "none");
  if (!launch.processes())
    return line("ranks", "threads of this process");
  line("rank", of(launch.rank, launch.ranks));
  line("rank on this machine", of(launch.localRank, launch.localRanks));
  line("MPI", launch.mpi ? "has these ranks" : "does not know them");
  line("store", launch.host.empty() ? launch.noHost
                                    : format("%s port %d", launch.host.c_str(), launch.port));
  line("served by", launch.agentServes ? "the launcher" : "rank 0");
  line("secret", launch.secret.empty() ? "none"
                 : launch.agentServes  ? "asked for by links, not by the launcher's store"
                                       : "asked for by the store and by links");
  line("job", launch.run.empty() ? "has no name" : launch.run);
  line("restart", format("%lld", (long long)launch.restart));
}

//===- launcher-test.cpp - what environments say of ranks -------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/start/error_file.h"
#include "runtime/start/launcher.h"
#include "runtime/start/slurm.h"
#include "runtime/support/json.h"

#include <map>

using namespace helpers;
using namespace tplan::runtime;

namespace {

using Variables = std::map<std::string, std::string>;

Environment environmentOf(const Variables &variables) {
  return [variables](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Status find(const Variables &variables, Launch &launch) {
  return findLaunch(launch, environmentOf(variables));
}
Launch found(const Variables &variables) {
  Launch launch;
  EXPECT_OK(find(variables, launch));
  return launch;
}
Status problem(const Variables &variables) {
  Launch launch;
  return find(variables, launch);
}

Variables with(Variables variables, const Variables &more) {
  for (auto &[name, value] : more)
    variables[name] = value;
  return variables;
}
Variables without(Variables variables, const char *name) {
  variables.erase(name);
  return variables;
}

/// "LAUNCHER RANK/RANKS LOCAL/LOCALS [mpi] HOST:PORT [agent] RUN RESTART"
std::string textOf(const Launch &it) {
  if (!it.launcher)
    return "by hand";
  return format("%s %lld/%lld %lld/%lld%s %s:%d%s '%s' %lld", it.launcher, (long long)it.rank,
                (long long)it.ranks, (long long)it.localRank, (long long)it.localRanks,
                it.mpi ? " mpi" : "", it.host.c_str(), it.port, it.agentServes ? " agent" : "",
                it.run.c_str(), (long long)it.restart);
}

// As torchrun 2.15 sets them: --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d.
const Variables torchrun = {{"RANK", "3"},
                            {"WORLD_SIZE", "4"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "2"},
                            {"GROUP_RANK", "1"},
                            {"MASTER_ADDR", "node0"},
                            {"MASTER_PORT", "29400"},
                            {"TORCHELASTIC_RUN_ID", "job7"},
                            {"TORCHELASTIC_RESTART_COUNT", "2"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "2"},       {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                          {"PMIX_NAMESPACE", "4242"},          {"PMIX_RANK", "2"}};
const Variables srun = {{"SLURM_PROCID", "5"},
                        {"SLURM_STEP_NUM_TASKS", "7"},
                        {"SLURM_NTASKS", "7"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_NODEID", "1"},
                        {"SLURM_STEP_TASKS_PER_NODE", "4,3"},
                        {"SLURM_JOB_ID", "5000"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_RESTART_COUNT", "1"},
                        {"SLURM_STEP_NODELIST", "gpu[007-008]"},
                        {"SLURM_NODELIST", "gpu[001-015]"}};
const Variables indexed = {{"JOB_COMPLETION_INDEX", "1"},
                           {"WORLD_SIZE", "4"},
                           {"MASTER_ADDR", "train-0.pods"},
                           {"MASTER_PORT", "55527"}};

} // namespace

TEST(Launcher, NoneIsOneProcess) {
  EXPECT_EQ(textOf(found({})), "by hand");
  EXPECT_FALSE(found({}).processes());
  EXPECT_EQ(found({}).ranks, 1);
}

TEST(Launcher, EachIsRead) {
  EXPECT_EQ(textOf(found(torchrun)), "torchrun 3/4 1/2 node0:29400 agent 'job7' 2");
  EXPECT_EQ(textOf(found(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))),
            "torchrun 3/4 1/2 node0:29400 'job7' 2");
  EXPECT_EQ(textOf(found({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}})),
            "torchrun 0/2 0/1 ::1:29500 '' 0");
  EXPECT_EQ(textOf(found(with(mpirun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "7000"}}))),
            "mpirun 2/4 0/2 mpi a:7000 '4242' 0");
  EXPECT_EQ(textOf(found(with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}))),
            format("mpirun 2/4 0/4 mpi 127.0.0.1:%d '4242' 0", 61440 + 4242 % 4096));
  EXPECT_EQ(textOf(found({{"PMI_RANK", "1"},
                          {"PMI_SIZE", "2"},
                          {"MPI_LOCALRANKID", "1"},
                          {"MPI_LOCALNRANKS", "2"}})),
            "a launcher with PMI 1/2 1/2 mpi 127.0.0.1:29500 '' 0");
  EXPECT_EQ(textOf(found(srun)), format("srun 5/7 1/3 mpi gpu007:%d '5000.0' 1", 61440 + 904));
  EXPECT_EQ(textOf(found(without(srun, "SLURM_STEP_NUM_TASKS"))), textOf(found(srun)));
  EXPECT_EQ(textOf(found({{"MV2_COMM_WORLD_RANK", "1"},
                          {"MV2_COMM_WORLD_SIZE", "2"},
                          {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
                          {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}})),
            "mpirun of MVAPICH 1/2 1/2 mpi 127.0.0.1:29500 '' 0");
  EXPECT_EQ(textOf(found(indexed)), "an indexed job 1/4 0/1 train-0.pods:55527 '' 0");
}

TEST(Launcher, TheMostSpecificOneWins) {
  // mpirun in a batch script of Slurm sees the daemon's variables.
  EXPECT_STREQ(found(with(srun, mpirun)).launcher, "mpirun");
  EXPECT_EQ(found(with(srun, mpirun)).rank, 2);
  EXPECT_STREQ(found(with(srun, {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})).launcher,
               "a launcher with PMI");
  EXPECT_STREQ(found(with(with(srun, mpirun), torchrun)).launcher, "torchrun");
  EXPECT_STREQ(found(with(indexed, {{"RANK", "0"}})).launcher, "torchrun");
  EXPECT_STREQ(found(with(indexed, mpirun)).launcher, "mpirun");
}

TEST(Launcher, WhatLooksLikeOneAndIsNone) {
  // A batch script, an interactive shell, a pod of a job without ranks.
  EXPECT_EQ(textOf(found({{"SLURM_JOB_ID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}})),
            "by hand");
  EXPECT_EQ(textOf(found({{"SLURM_STEP_ID", "batch"}, {"SLURM_NTASKS", "4"}})), "by hand");
  EXPECT_EQ(textOf(found({{"JOB_COMPLETION_INDEX", "3"}})), "by hand");
  EXPECT_EQ(textOf(found({{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}})), "by hand");
  EXPECT_EQ(textOf(found({{"WORLD_SIZE", "1"}, {"RANK", "0"}})), "by hand");
  EXPECT_EQ(textOf(found({{"OMPI_COMM_WORLD_SIZE", ""}, {"RANK", ""}})), "by hand");
  EXPECT_FALSE(found({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}).processes());
}

TEST(Launcher, MpiMayHaveTheRanksOfOthers) {
  // Scripts set torchrun's variables for programs that know no others.
  Variables wrapped = with(mpirun, {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}});
  EXPECT_EQ(textOf(found(wrapped)), "torchrun 2/4 0/2 mpi a:29500 '' 0");
  // One torchrun for each process of mpirun: MPI has others.
  EXPECT_FALSE(found(with(mpirun, torchrun)).mpi);
  // srun --mpi=pmi2: PMI does not say what is on this machine.
  Launch launch = found(with(srun, {{"PMI_RANK", "5"}, {"PMI_SIZE", "7"}}));
  EXPECT_EQ(textOf(launch),
            format("a launcher with PMI 5/7 1/3 mpi gpu007:%d '5000.0' 1", 61440 + 904));
}

TEST(Launcher, PortsOfJobsDiffer) {
  auto port = [](const char *name) { return found(with(mpirun, {{"PMIX_NAMESPACE", name}})).port; };
  EXPECT_EQ(port("prterun-a-1@1"), port("prterun-a-1@1"));
  EXPECT_NE(port("prterun-a-1@1"), port("prterun-a-2@1"));
  EXPECT_NE(port("533004289"), port("610598913")); // as Open MPI 4 names them
  for (const char *name : {"prterun-a-1@1", "prterun-a-2@1", "4294967295", "1"}) {
    EXPECT_GE(port(name), 61440);
    EXPECT_LE(port(name), 65535);
  }
}

TEST(Launcher, WhereRankZeroIsMayBeUnknown) {
  Launch launch = found(mpirun);
  EXPECT_EQ(launch.host, "");
  EXPECT_NE(launch.noHost.find("mpirun"), std::string::npos);
  // A job on MPI needs no host.
  launch = found(with(srun, {{"SLURM_STEP_NODELIST", "n[1"}}));
  EXPECT_EQ(launch.host, "");
  EXPECT_NE(launch.noHost.find("SLURM_STEP_NODELIST"), std::string::npos);
  EXPECT_NE(launch.noHost.find("'n[1'"), std::string::npos);
}

TEST(Launcher, OneProcessSpeaksForAll) {
  EXPECT_TRUE(speaksForAll(environmentOf({})));
  EXPECT_FALSE(speaksForAll(environmentOf(torchrun))); // rank 3
  EXPECT_TRUE(speaksForAll(environmentOf(with(torchrun, {{"RANK", "0"}}))));
  EXPECT_FALSE(speaksForAll(environmentOf(with(mpirun, {{"OMPI_NUM_APP_CTX", "1"}}))));
  EXPECT_TRUE(speaksForAll(environmentOf(with(mpirun, {{"OMPI_NUM_APP_CTX", "2"}}))));
  EXPECT_TRUE(speaksForAll(environmentOf(without(torchrun, "RANK")))); // which one is not known
}

TEST(Launcher, ContradictionsAreErrorsWithTheVariablesThatMatter) {
  std::string pair = "RANK, WORLD_SIZE and MASTER_ADDR belong together";
  EXPECT_FAILS(problem(without(torchrun, "WORLD_SIZE")), pair, "missing: WORLD_SIZE",
               "environment: RANK = 3, MASTER_ADDR = node0; --print-env shows all");
  EXPECT_FAILS(problem(without(torchrun, "RANK")), pair, "missing: RANK", "WORLD_SIZE = 4");
  EXPECT_FAILS(problem(without(torchrun, "MASTER_ADDR")), pair, "missing: MASTER_ADDR");
  EXPECT_FAILS(problem(with(torchrun, {{"RANK", "4"}})),
               "RANK counts from 0 and is below WORLD_SIZE, which is 4; found 4",
               "environment: RANK = 4, WORLD_SIZE = 4; --print-env shows all");
  for (const char *bad : {"x", "-1", "1x", "+1", " 1", "99999999999"})
    EXPECT_FAILS(problem(with(torchrun, {{"RANK", bad}})), "RANK is a whole number", bad);
  EXPECT_FAILS(problem(with(torchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE is the number", "0");
  EXPECT_FAILS(problem(with(torchrun, {{"LOCAL_RANK", "2"}})),
               "LOCAL_RANK counts from 0 and is below LOCAL_WORLD_SIZE, which is 2; found 2");
  EXPECT_FAILS(
      problem(with(torchrun, {{"LOCAL_WORLD_SIZE", "5"}})),
      "LOCAL_WORLD_SIZE, those on this machine, are among WORLD_SIZE, which is 4; found 5");
  EXPECT_FAILS(problem(with(torchrun, {{"LOCAL_WORLD_SIZE", "0"}})), "LOCAL_WORLD_SIZE");
  EXPECT_FAILS(problem(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "1"}})), "True or False",
               "'1'");
  EXPECT_FAILS(problem(without(torchrun, "MASTER_PORT")), "missing: MASTER_PORT");
  EXPECT_FAILS(problem(with(torchrun, {{"TORCHELASTIC_RESTART_COUNT", "two"}})), "'two'");
  for (const char *bad : {"0", "65536"})
    EXPECT_FAILS(problem(with(torchrun, {{"MASTER_PORT", bad}})), "MASTER_PORT is a port",
                 std::string("found ") + bad);
  EXPECT_FAILS(problem(without(mpirun, "OMPI_COMM_WORLD_RANK")), "missing: OMPI_COMM_WORLD_RANK",
               "OMPI_COMM_WORLD_SIZE = 4");
  EXPECT_FAILS(problem(with(mpirun, {{"OMPI_COMM_WORLD_RANK", "7"}})), "OMPI_COMM_WORLD_RANK",
               "found 7");
  EXPECT_FAILS(problem({{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}}), "PMI_RANK", "found 2");
  EXPECT_FAILS(problem(with(srun, {{"SLURM_PROCID", "7"}})), "SLURM_PROCID", "found 7");
  EXPECT_FAILS(problem(with(srun, {{"SLURM_NODEID", "2"}})), "SLURM_STEP_TASKS_PER_NODE", "node 2",
               "'4,3'");
  EXPECT_FAILS(problem(with(srun, {{"SLURM_LOCALID", "3"}})), "SLURM_LOCALID", "found 3");
  EXPECT_FAILS(problem(with(indexed, {{"JOB_COMPLETION_INDEX", "4"}})), "JOB_COMPLETION_INDEX",
               "found 4");
}

TEST(Launcher, TheNumberOfRanksIsThePlans) {
  tp_program program = toy::program(toy::named("RowsOfThree"));
  EXPECT_OK(checkLaunch(found({}), program));
  EXPECT_OK(
      checkLaunch(found({{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"MASTER_ADDR", "a"}}), program));
  EXPECT_OK(checkLaunch(found(with(torchrun, {{"WORLD_SIZE", "3"}, {"RANK", "2"}})), program));
  EXPECT_FAILS(checkLaunch(found(torchrun), program), "for 3 ranks, torchrun has 4",
               "environment: RANK = 3, WORLD_SIZE = 4; --print-env");
}

TEST(Launcher, EachProcessHasAGpu) {
  Launch launch = found(torchrun); // local rank 1
  int64_t gpu = -1;
  EXPECT_OK(chooseGpu(launch, 8, gpu));
  EXPECT_EQ(gpu, 1);
  EXPECT_OK(chooseGpu(launch, 1, gpu)); // Slurm with --gpus-per-task
  EXPECT_EQ(gpu, 0);
  launch.localRank = 2;
  EXPECT_FAILS(chooseGpu(launch, 2, gpu), "process 2", "CUDA_VISIBLE_DEVICES", "sees: 2");
}

TEST(Launcher, HostsOfSlurm) {
  std::string host;
  for (auto [nodes, first] :
       std::map<std::string, std::string>{{"n1", "n1"},
                                          {"n1,n2", "n1"},
                                          {"n[001-015],x", "n001"},
                                          {"n[001,007-015]", "n001"},
                                          {"x,n[001-015]", "x"},
                                          {"gpu-a.site_1", "gpu-a.site_1"},
                                          {"r[1-2]n[04,06]-ib", "r1n04-ib"}}) {
    EXPECT_OK(firstHost(nodes, host));
    EXPECT_EQ(host, first);
  }
  for (const char *bad :
       {"", ",n1", "n[", "n[]", "n[1-2", "n[a]", "n[1a]", "n[-2]", "n1;rm", "n[1[2]]", "n]"})
    EXPECT_FAILS(firstHost(bad, host), format("'%s'", bad));
}

TEST(Launcher, TasksOfSlurm) {
  auto tasks = [](const char *text, int64_t node) {
    int64_t count = -1;
    EXPECT_OK(tasksOfNode(text, node, count));
    return count;
  };
  EXPECT_EQ(tasks("4", 0), 4);
  EXPECT_EQ(tasks("4(x2),3", 0), 4);
  EXPECT_EQ(tasks("4(x2),3", 1), 4);
  EXPECT_EQ(tasks("4(x2),3", 2), 3);
  EXPECT_EQ(tasks("1,2,16(x128)", 129), 16);
  int64_t count;
  EXPECT_FAILS(tasksOfNode("4(x2),3", 3, count), "node 3", "'4(x2),3'");
  for (const char *bad :
       {"", "x", "4(x", "4(x2", "4(x0)", "0", "4;", "4,", "99999999999999999999x"})
    EXPECT_FAILS(tasksOfNode(bad, 1, count), format("'%s'", bad));
}

namespace {

/// Sets variables of this process, and takes them back.
class Own {
public:
  explicit Own(const Variables &variables) : variables(variables) {
    for (auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
  }
  ~Own() {
    for (auto &[name, value] : variables)
      unsetenv(name.c_str());
  }

private:
  const Variables variables;
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(Launcher, PrintEnvShowsWhatWasLookedAtAndChosen) {
  tp_program program = toy::program(toy::named("RowsOfThree"));
  Outcome plain = runMain(program, {"--print-env"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_TRUE(has(plain.out, "\n  RANK                           unset\n")) << plain.out;
  EXPECT_TRUE(has(plain.out, "threads of this process\n")) << plain.out;

  Own own(with(torchrun, {{"WORLD_SIZE", "3"}, {"RANK", "2"}}));
  Outcome three = runMain(program, {"--print-env"});
  EXPECT_EQ(three.code, 0) << three.err;
  for (const char *line :
       {"RANK                           = 2", "PMI_SIZE                       unset",
        "launcher                       torchrun", "2 of 3", "1 of 2", "node0 port 29400",
        "the launcher", "job7"})
    EXPECT_TRUE(has(three.out, line)) << line << "\n" << three.out;

  Own wrong({{"RANK", "9"}});
  Outcome contradiction = runMain(program, {"--print-env"});
  EXPECT_EQ(contradiction.code, 1);
  EXPECT_TRUE(has(contradiction.out, "= 9\n")) << contradiction.out;
  EXPECT_TRUE(has(contradiction.err, "found 9")) << contradiction.err;
}

TEST(Launcher, TorchrunShowsWhyAProcessFailed) {
  Scratch scratch;
  std::string file = scratch / "error.json";
  tp_program program = toy::program(toy::named("RowsOfThree"));
  Own second(
      with(torchrun, {{"WORLD_SIZE", "3"}, {"RANK", "2"}, {"TORCHELASTIC_ERROR_FILE", file}}));
  Outcome quiet = runMain(program, {"--data", "x"});
  EXPECT_EQ(quiet.code, 1);
  EXPECT_EQ(quiet.err, ""); // rank 0 says it
  EXPECT_TRUE(has(readFile(file), "TplanError: ranks on CPUs"));
  Own own({{"RANK", "0"}, {"LOCAL_RANK", "0"}});
  Outcome outcome = runMain(program, {"--data", "x"});
  EXPECT_EQ(outcome.code, 1);
  for (const char *part :
       {"by MPI", "mpirun -n 3", "without a launcher", "process of torchrun", "WORLD_SIZE = 3"})
    EXPECT_TRUE(has(outcome.err, part)) << outcome.err;
  nlohmann::json json;
  ASSERT_OK(parseJson(readFile(file), file, 0, json));
  const auto &message = json["message"];
  EXPECT_EQ(message["message"].get<std::string>().find("TplanError: ranks on CPUs"), 0u);
  EXPECT_TRUE(has(message["extraInfo"]["py_callstack"].get<std::string>(), "mpirun -n 3"));
  int64_t seconds = std::stoll(message["extraInfo"]["timestamp"].get<std::string>());
  EXPECT_LE(std::abs(seconds - (int64_t)time(nullptr)), 60);
}

TEST(Launcher, ErrorsInTrainingReachTorchrunToo) {
  // A torchrun of one process: the ranks are threads.
  Scratch scratch;
  std::string file = scratch / "error.json";
  writeFile(scratch / "bad", someText(3000) + "\xff" + someText(3000));
  tp_program program = toy::program(toy::named("Rows"));
  Own own(with(torchrun, {{"WORLD_SIZE", "1"},
                          {"RANK", "0"},
                          {"LOCAL_RANK", "0"},
                          {"LOCAL_WORLD_SIZE", "1"},
                          {"TORCHELASTIC_ERROR_FILE", file}}));
  Outcome outcome =
      runMain(program, {"--data", scratch / "bad", "--threads", "1", "--steps", "200"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(has(outcome.err, "token 255")) << outcome.err;
  EXPECT_TRUE(has(readFile(file), "TplanError: rank ")) << readFile(file);
  EXPECT_TRUE(has(readFile(file), "byte 3000: token 255")) << readFile(file);

  // An error that the launcher cannot be given is still printed.
  Own gone({{"TORCHELASTIC_ERROR_FILE", scratch / "no/such/file"}});
  outcome = runMain(program, {"--data", "absent"});
  EXPECT_TRUE(has(outcome.err, "'absent'")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "no/such/file")) << outcome.err;
}

TEST(Launcher, NoErrorFileUnderOthers) {
  EXPECT_OK(writeErrorFile("x", environmentOf({})));
  EXPECT_OK(writeErrorFile("x", environmentOf({{"TORCHELASTIC_ERROR_FILE", ""}})));
}

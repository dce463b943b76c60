//===- tensors-test.cpp - initial values, names, scalars, CPU, options ---------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/device/cpu.h"
#include "runtime/ranks/rank.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/scalars.h"
#include "runtime/support/random.h"
#include "runtime/train/options.h"

#include <cmath>

using namespace tplan::runtime;

namespace {

tp_tensor normalTensor(const int64_t *shape, int32_t type, int64_t id) {
  static const int32_t whole[] = {-1};
  return {"w.{i}", "", shape, shape, whole,     TP_WEIGHT, type, 1,  1, 0, 1,
          0,       0,  id,    1,     TP_NORMAL, 0.02,      0,    -1, 0, 0};
}

} // namespace

TEST(Initialize, HasTheMomentsOfANormal) {
  int64_t shape[] = {400001};
  tp_tensor tensor = normalTensor(shape, TP_F32, 3);
  tp_program program = {};
  program.tensors = &tensor;
  program.num_tensors = 1;
  std::vector<float> data(shape[0]);
  Team team;
  ASSERT_OK(team.start(2));
  EXPECT_OK(initializeTensors(program, (char *)data.data(), 0, 1, team));
  double sum = 0, square = 0, cube = 0, fourth = 0, neighbours = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    double x = data[i] / 0.02;
    sum += x;
    square += x * x;
    cube += x * x * x;
    fourth += x * x * x * x;
    if (i)
      neighbours += x * data[i - 1] / 0.02;
  }
  double n = (double)data.size(), sigma = 1 / std::sqrt(n);
  EXPECT_LT(std::abs(sum / n), 5 * sigma);
  EXPECT_LT(std::abs(square / n - 1), 5 * std::sqrt(2) * sigma);
  EXPECT_LT(std::abs(cube / n), 5 * std::sqrt(15) * sigma);
  EXPECT_LT(std::abs(fourth / n - 3), 5 * std::sqrt(96) * sigma);
  EXPECT_LT(std::abs(neighbours / n), 5 * sigma);
}

TEST(Initialize, DependsOnSeedIdAndElementAlone) {
  int64_t shape[] = {50001};
  auto values = [&](uint64_t seed, int64_t id, int threads, int32_t type, int64_t count) {
    tp_tensor tensor = normalTensor(shape, type, id);
    tensor.count = count;
    tensor.stride = 8 * (shape[0] + 7);
    tp_program program = {};
    program.tensors = &tensor;
    program.num_tensors = 1;
    std::vector<double> storage(count * (shape[0] + 7));
    Team team;
    EXPECT_OK(team.start(threads));
    EXPECT_OK(initializeTensors(program, (char *)storage.data(), 0, seed, team));
    std::vector<double> last(shape[0]);
    for (int64_t i = 0; i < shape[0]; ++i)
      last[i] = getElement((char *)storage.data() + (count - 1) * tensor.stride, type, i);
    return last;
  };
  auto base = values(1, 5, 1, TP_F64, 1);
  EXPECT_EQ(base, values(1, 5, 4, TP_F64, 1));
  EXPECT_EQ(base, values(1, 3, 2, TP_F64, 3)); // instance 2 of a family from id 3
  EXPECT_NE(base, values(2, 5, 1, TP_F64, 1));
  EXPECT_NE(base, values(1, 6, 1, TP_F64, 1));
  auto narrow = values(1, 5, 3, TP_F32, 1);
  for (int64_t i = 0; i < shape[0]; ++i)
    ASSERT_EQ((float)base[i], (float)narrow[i]); // one value, cast to the type
}

TEST(Tensors, ExpandPathsAndSlots) {
  tp_program program = toy::program();
  std::vector<char> arena(program.arena_bytes);
  auto weights = logicalTensors(program, arena.data(), 0, TP_WEIGHT);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].name, "head.weight");
  EXPECT_EQ(weights[1].name, "parts.0.bias");
  EXPECT_EQ(weights[2].name, "parts.1.bias");
  EXPECT_EQ(weights[2].data - weights[1].data, 2 * toy::vocabulary);
  EXPECT_EQ(logicalTensors(program, arena.data(), 0, TP_OPTIMIZER_STATE)[2].name, "parts.1.bias.m");
}

TEST(Tensors, CheckTheProgramAgainstItsArena) {
  tp_program program = toy::program();
  EXPECT_OK(checkProgram(program));
  program.arena_bytes = 1000;
  EXPECT_FAILS(checkProgram(program), "'head.weight'", "arena of 1000 bytes");
  program = toy::program();
  program.abi_version = 99;
  EXPECT_FAILS(checkProgram(program), "interface 99",
               "runtime has " + std::to_string(TP_ABI_VERSION));
}

// Every rank has the tensors, inputs and numbers of its tables, so a group of only some ranks is
// refused.
TEST(Tensors, TablesNameGroupsOfAllRanks) {
  tp_program program = toy::program({.d = 2, .b = 2, .data = toy::overD});
  std::vector<tp_group> groups(program.groups, program.groups + program.num_groups);
  const int32_t zero = 0, one = 1, first[] = {(int32_t)groups.size(), -1};
  groups.push_back({"d 1", 1, &zero, 1, &one});
  program.groups = groups.data(), program.num_groups = (int64_t)groups.size();
  std::vector<tp_tensor> tensors(program.tensors, program.tensors + program.num_tensors);
  std::vector<tp_scalar> scalars(program.scalars, program.scalars + program.num_scalars);
  std::vector<tp_metric> metrics(program.metrics, program.metrics + program.num_metrics);
  std::vector<tp_input> inputs(program.inputs, program.inputs + program.num_inputs);
  program.tensors = tensors.data(), program.scalars = scalars.data();
  program.metrics = metrics.data(), program.inputs = inputs.data();
  EXPECT_OK(checkProgram(program));
  auto refuse = [&](auto &field, auto value, const char *what) {
    auto before = std::exchange(field, value);
    EXPECT_FAILS(checkProgram(program), what, "names a group that some ranks are not in: 'd 1'");
    field = before;
  };
  refuse(tensors[0].dim_groups, first, "a dimension");
  int64_t chunk = std::exchange(tensors[0].chunk, 1 << 20);
  refuse(tensors[0].chunk_group, first[0], "its chunked array");
  tensors[0].chunk = chunk;
  refuse(inputs[0].group, first[0], "input 'text'");
  refuse(metrics[0].group, first[0], "metric 'loss'");
  refuse(metrics[0].count_group, first[0], "metric 'loss'");
  ASSERT_EQ(scalars.back().kind, TP_MEMBER);
  refuse(scalars.back().value, (double)first[0], "scalar 'member'");
  EXPECT_OK(checkProgram(program));
}

TEST(Tensors, TypesAreKnown) {
  tp_program program = toy::program();
  std::vector<tp_tensor> tensors(program.tensors, program.tensors + program.num_tensors);
  std::vector<tp_scalar> scalars(program.scalars, program.scalars + program.num_scalars);
  std::vector<tp_metric> metrics(program.metrics, program.metrics + program.num_metrics);
  program.tensors = tensors.data(), program.scalars = scalars.data();
  program.metrics = metrics.data();
  EXPECT_OK(checkProgram(program));
  auto refuse = [&](int32_t &type, const char *what) {
    for (int32_t unknown : {TP_NUM_TYPES + 0, -1}) {
      int32_t before = std::exchange(type, unknown);
      EXPECT_FAILS(checkProgram(program), what,
                   "has an unknown element type: " + std::to_string(unknown));
      type = before;
    }
  };
  refuse(tensors.back().type, "tensor '");
  refuse(scalars.back().type, "scalar 'step'");
  refuse(metrics.back().type, "metric '");
  ASSERT_TRUE(program.predict);
  refuse(program.logits_type, "output 'logits'");
}

TEST(Scalars, LearningRatePieces) {
  tp_lr_piece pieces[] = {{0, 100, 0, 3e-4, TP_LINEAR},
                          {100, 300, 3e-4, 3e-5, TP_COSINE},
                          {300, 400, 3e-5, 3e-5, TP_FLAT}};
  tp_program program = {};
  program.lr = pieces;
  program.num_lr = 3;
  EXPECT_DOUBLE_EQ(learningRate(program, 1), 3e-6);
  EXPECT_DOUBLE_EQ(learningRate(program, 50), 1.5e-4);
  EXPECT_DOUBLE_EQ(learningRate(program, 100), 3e-4);
  EXPECT_DOUBLE_EQ(learningRate(program, 150), 3e-5 + 2.7e-4 * 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(learningRate(program, 200), 1.65e-4);
  EXPECT_DOUBLE_EQ(learningRate(program, 300), 3e-5);
  EXPECT_DOUBLE_EQ(learningRate(program, 5000), 3e-5);
  program.num_lr = 1;
  EXPECT_DOUBLE_EQ(learningRate(program, 5000), 3e-4); // holds the last value
  program.num_lr = 0;
  EXPECT_EQ(learningRate(program, 1), 0);
}

TEST(Scalars, AreWrittenByKindAndType) {
  struct {
    int32_t seed, step;
    double lr;
    float power;
    alignas(64) int32_t index;
    alignas(64) int32_t second;
  } arena = {0, 0, 0, 0, 77, 78};
  tp_lr_piece piece = {0, 10, 1, 1, TP_FLAT};
  tp_scalar scalars[] = {{TP_SEED, TP_I32, 0, 0, 1, 0},
                         {TP_STEP, TP_I32, 4, 0, 1, 0},
                         {TP_LR, TP_F64, 8, 0, 1, 0},
                         {TP_POWER, TP_F32, 16, 0.9, 1, 0},
                         {TP_INDEX, TP_I32, 64, 3, 2, 5}};
  tp_program program = {};
  program.scalars = scalars;
  program.num_scalars = std::size(scalars);
  program.lr = &piece;
  program.num_lr = 1;
  setScalars(program, (char *)&arena, 42, 3);
  EXPECT_EQ(arena.seed, 42);
  EXPECT_EQ(arena.step, 3);
  EXPECT_EQ(arena.lr, 1);
  EXPECT_EQ(arena.power, (float)std::pow(0.9, 3));
  EXPECT_EQ(arena.second, 78);
  EXPECT_OK(setConstants(program, (char *)&arena, 0));
  EXPECT_EQ(arena.index, 15);
  EXPECT_EQ(arena.second, 18);
  EXPECT_EQ(arena.seed, 42);
}

TEST(Cpu, NamesTheMissingFeature) {
  EXPECT_OK(checkCpu(nullptr));
  EXPECT_OK(checkCpu(""));
  EXPECT_OK(checkCpu("x86-64-v2"));
  EXPECT_OK(checkCpu("sse4.2,popcnt"));
  EXPECT_FAILS(checkCpu("sse4.2,amx-quantum"), "does not know: 'amx-quantum'");
  Status level = checkCpu("x86-64-v4");
  __builtin_cpu_init();
  EXPECT_EQ(level.ok(), __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"));
  if (!level.ok()) {
    EXPECT_FAILS(level, "x86-64-v4", "lacks avx512");
  }
}

class BadOption : public testing::TestWithParam<std::pair<std::vector<std::string>, std::string>> {
};
INSTANTIATE_TEST_SUITE_P(
    All, BadOption,
    testing::Values(
        std::pair(std::vector<std::string>{"--stepz", "5"},
                  "did you mean '--steps'? legal: --data"),
        std::pair(std::vector<std::string>{"--frobnicate-everything"}, "legal: --data"),
        std::pair(std::vector<std::string>{"5"}, "unexpected argument '5'"),
        std::pair(std::vector<std::string>{"--steps"}, "--steps takes N, found the end"),
        std::pair(std::vector<std::string>{"--steps", "3x"}, "of at least 0, found '3x'"),
        std::pair(std::vector<std::string>{"--steps=-1"}, "found '-1'"),
        std::pair(std::vector<std::string>{"--steps=99999999999999999999"},
                  "found '99999999999999999999'"),
        std::pair(std::vector<std::string>{"--threads", "0"},
                  "at least 1 and at most 4096, found '0'"),
        std::pair(std::vector<std::string>{"--seed", "4294967296"}, "at most 2147483647"),
        std::pair(std::vector<std::string>{"--temperature", "nan"},
                  "finite number of at least 0, found 'nan'"),
        std::pair(std::vector<std::string>{"--curve=yes"},
                  "--curve takes no argument, found 'yes'"),
        std::pair(std::vector<std::string>{"--save="}, "--save takes DIR, found an empty argument"),
        std::pair(std::vector<std::string>{"--data", "a,,b"}, "empty name"),
        std::pair(std::vector<std::string>{"--resume"}, "--resume needs --save DIR"),
        std::pair(std::vector<std::string>{"--save-every", "5"},
                  "--save-every is about checkpoints"),
        std::pair(std::vector<std::string>{"--save-keep", "5"}, "it needs --save DIR"),
        std::pair(std::vector<std::string>{"--eval-every", "5"}, "it needs --eval F"),
        std::pair(std::vector<std::string>{"--trace-streams", "F"}, "add that, found 'F' alone"),
        std::pair(std::vector<std::string>{"--synchronous"}, "runs on a CPU: leave it out"),
        std::pair(std::vector<std::string>{"--nccl-library", "F"}, "runs on a CPU: leave it out"),
        std::pair(std::vector<std::string>{"--steps", "0", "--dump-gradients", "F"},
                  "needs --steps 1 at least, found 0"),
        std::pair(std::vector<std::string>{"--resume", "--save=x", "--load=y"}, "choose one"),
        std::pair(std::vector<std::string>{"--resume", "--save=x", "--dump-gradients=y"},
                  "skips")));

TEST_P(BadOption, ExitsTwoWithAWayOut) {
  auto [arguments, message] = GetParam();
  helpers::Outcome outcome = helpers::runMain(toy::program(), arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err.find("train: error: "), 0u);
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

TEST(Options, HelpListsEachOption) {
  helpers::Outcome outcome = helpers::runMain(toy::program(), {"--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const char *name :
       {"--data", "--steps", "--seed", "--threads", "--save", "--resume", "--metrics", "--sample",
        "--profile", "--audit-memory", "--dump-gradients", "u16", "exit codes"})
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
}

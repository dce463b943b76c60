//===- stages-test.cpp - ranks that run several programs of one plan -----------===//
//
// Whatever the cut, files, logs and samples are those of the serial plan.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_stages.h"

#include "runtime/ranks/mesh.h"
#include "runtime/ranks/programs.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/settle_gemms.h"
#include "runtime/step/trace_device.h"
#include "runtime/support/files.h"

#include "tplan/train.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

using namespace tplan::runtime;
using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;
using toy::StagedPlan;
using toy::stagedPlans;
using toy::Stages;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const Stages serial;

/// Lines of a metrics file without what a clock says.
std::string withoutTimes(const std::string &metrics) {
  std::string text;
  for (size_t at = 0; at < metrics.size();) {
    size_t end = metrics.find('\n', at), cut = metrics.find(", \"step_seconds\"", at);
    text += metrics.substr(at, std::min(end, cut) - at) + "\n";
    at = end + 1;
  }
  return text;
}

struct Staged : testing::TestWithParam<Stages> {
  Staged() {
    writeFile(scratch / "text", someText(5000));
    writeFile(scratch / "e", someText(101, 5));
  }
  std::string run(const Stages &how, std::vector<std::string> more) {
    StagedPlan plan(how);
    more.insert(more.begin(), {"--data", scratch / "text", "--threads", "1"});
    Outcome outcome = runMain(plan.program(), more);
    EXPECT_EQ(outcome.code, 0) << how.name << ": " << outcome.err;
    return outcome.out;
  }
  void expectSame(const std::string &a, const std::string &b) {
    std::string bytes = readFile(scratch / a);
    EXPECT_FALSE(bytes.empty()) << a;
    EXPECT_TRUE(bytes == readFile(scratch / b)) << a << " and " << b;
  }
  void expectSameCheckpoint(const std::string &a, const std::string &b) {
    for (const char *file :
         {"/model.safetensors", "/optimizer.safetensors", "/state.json", "/manifest.json"})
      expectSame(a + file, b + file);
  }
  Scratch scratch;
};

INSTANTIATE_TEST_SUITE_P(All, Staged, testing::ValuesIn(stagedPlans()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

namespace toy {
void PrintTo(const Stages &how, std::ostream *to) { *to << how.name; }
} // namespace toy

TEST_P(Staged, TrainsAsOneRank) {
  auto train = [&](const Stages &how, const std::string &name) {
    std::vector<std::string> options = {"--steps",          "4",
                                        "--save",           scratch / name,
                                        "--metrics",        scratch / (name + ".log"),
                                        "--eval",           scratch / "e",
                                        "--eval-every",     "2",
                                        "--dump-gradients", scratch / (name + ".gradients"),
                                        "--dump-logits",    scratch / (name + ".logits"),
                                        "--sample",         "the la",
                                        "--sample-bytes",   "9",
                                        "--audit-memory"};
    if (how.ranks() > 1)
      options.push_back("--audit-collectives");
    return run(how, options);
  };
  std::string wanted = train(serial, "one"), found = train(GetParam(), "many");
  expectSameCheckpoint("one/step-00000004", "many/step-00000004");
  EXPECT_EQ(withoutTimes(readFile(scratch / "one.log")),
            withoutTimes(readFile(scratch / "many.log")));
  // The parts in their order, over a count of 2; a loss of (3 - 1e16 + 1) + 1e16 would be another.
  EXPECT_HAS(readFile(scratch / "many.log"), "{\"step\": 3, \"loss\": 4.5, \"layers\": 7");
  expectSame("one.gradients", "many.gradients");
  expectSame("one.logits", "many.logits");
  auto sampleOf = [](const std::string &out) {
    size_t at = out.find("sample:");
    return at == out.npos ? "none" : out.substr(at, out.find("collectives", at) - at);
  };
  EXPECT_EQ(sampleOf(wanted), sampleOf(found));
  EXPECT_EQ(sampleOf(wanted).compare(0, 14, "sample:\nthe la"), 0);
  StagedPlan plan(GetParam());
  std::string most = std::to_string(mostArenaBytes(plan.program()));
  EXPECT_GT(mostArenaBytes(plan.program()), plan.program().arena_bytes);
  EXPECT_HAS(found, "arena of at most " + most + " bytes on each of ");
  EXPECT_HAS(found, "collectives audit: in one order on ");
  // A table for each stage; the last one alone prepares.
  size_t last = found.rfind("\nstage "), prepares = found.find("\n  preparation     all-reduce");
  ASSERT_NE(prepares, found.npos) << found;
  EXPECT_GT(prepares, last);
  EXPECT_HAS(found, "; of the rank of each stage that has most:\nstage 0:\n  in  ");
}

TEST_P(Staged, BeginsAsOneRank) {
  for (auto [how, name] : {std::pair(&serial, "one"), std::pair(&GetParam(), "many")})
    run(*how, {"--steps", "0", "--save", scratch / name, "--seed", "5"});
  expectSameCheckpoint("one/step-00000000", "many/step-00000000");
}

TEST_P(Staged, GoesOnFromAnyOther) {
  run(serial, {"--steps", "5", "--save", scratch / "whole"});
  std::vector<Stages> others = stagedPlans();
  others.push_back(serial);
  for (const Stages &from : others) {
    std::string name = from.name;
    run(from, {"--steps", "3", "--save", scratch / name});
    EXPECT_HAS(run(GetParam(), {"--steps", "5", "--save", scratch / name, "--resume"}),
               "resumed at step 3");
    expectSameCheckpoint("whole/step-00000005", name + "/step-00000005");
  }
  run(GetParam(), {"--steps", "3", "--save", scratch / "back"});
  run(serial, {"--steps", "5", "--save", scratch / "back", "--resume"});
  expectSameCheckpoint("whole/step-00000005", "back/step-00000005");
}

TEST_P(Staged, LoadsAndExportsByNames) {
  auto both = [&](std::vector<std::string> options, const std::string &to) {
    for (auto [how, name] : {std::pair(&serial, "one"), std::pair(&GetParam(), "many")}) {
      std::vector<std::string> all = options;
      all.insert(all.end(), {"--save", scratch / (to + name), "--export",
                             scratch / (to + name) + "x", "--export-file-bytes", "400"});
      run(*how, all);
    }
    std::vector<std::string> files;
    EXPECT_OK(listDirectory(scratch / (to + "onex"), files));
    EXPECT_GT(files.size(), 3u); // several files of weights, an index, config.json
    for (const std::string &file : files)
      expectSame(to + "onex/" + file, to + "manyx/" + file);
  };
  both({"--steps", "3"}, "a");
  std::string model = scratch / "aone/step-00000003/model.safetensors";
  both({"--steps", "0", "--load", model}, "b");
  both({"--steps", "0", "--load", scratch / "amanyx"}, "c");
  for (const char *name : {"bone", "bmany", "cone", "cmany"})
    expectSame("aone/step-00000003/model.safetensors",
               std::string(name) + "/step-00000000/model.safetensors");
}

TEST_P(Staged, ListsTensorsOfAllPrograms) {
  StagedPlan plan(GetParam());
  EXPECT_OK(checkProgram(plan.program()));
  int64_t ranks = ranksOf(plan.program());
  std::vector<std::string> first;
  std::map<std::string, std::vector<int>> writers;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const tp_program &own = programOf(plan.program(), rank);
    std::vector<char> arena(own.arena_bytes);
    std::vector<std::string> names;
    std::set<std::string> held;
    for (const LogicalTensor &tensor : logicalTensors(own, arena.data(), rank, TP_WEIGHT)) {
      names.push_back(tensor.name);
      std::vector<int> &times = writers[tensor.name];
      times.resize(tensor.share.elements());
      EXPECT_EQ(tensor.data == nullptr, tensor.share.stored() == 0) << tensor.name;
      if (tensor.share.stored())
        held.insert(tensor.name);
      tensor.share.forEach([&](const ElementRun &run) {
        for (int64_t e = 0; tensor.share.writes() && e < run.count; ++e)
          ++times[run.logical + e];
      });
      EXPECT_TRUE(tensor.share.stored() || !tensor.share.writes()) << tensor.name;
      std::vector<int64_t> line = {1, 1};
      for (size_t d = tensor.shape.size(); d-- > 1;)
        line[d - 1] = line[d] * tensor.shape[d];
      tensor.share.forEachPlaced(line.data(), 0, [&](const PlacedRun &run) {
        EXPECT_GT(tensor.share.stored(), run.memory);
      });
    }
    EXPECT_EQ(names.size(), 2u + 2 * toy::layers);
    first = rank ? first : names;
    EXPECT_EQ(names, first) << "rank " << rank;
    // What the table has, and no more.
    size_t wanted = 0;
    for (int64_t i = 0; i < own.num_tensors; ++i)
      wanted += own.tensors[i].role == TP_WEIGHT ? own.tensors[i].count : 0;
    EXPECT_EQ(held.size(), wanted);
  }
  EXPECT_EQ(first[0], "embed.weight");
  EXPECT_EQ(first[1], "layers.0.weight");
  EXPECT_EQ(first[2 * toy::layers], "layers.6.bias");
  EXPECT_EQ(first.back(), "norm.weight"); // first seen in the last program
  for (auto &[name, times] : writers)
    for (int count : times)
      ASSERT_EQ(count, 1) << name;
}

TEST(Stages, LayersOfOnePathMayDiffer) {
  StagedPlan plan(stagedPlans()[0]);
  static const int64_t wide[] = {7}, narrow[] = {5};
  auto row = [](int64_t first, int64_t count, const int64_t *shape) {
    static const int32_t whole[] = {-1};
    tp_tensor t = {};
    t.path = "mixed.{i}", t.slot = "", t.role = TP_WEIGHT, t.type = TP_F32, t.rank = 1;
    t.shape = t.whole = shape, t.dim_groups = whole;
    t.first = first, t.count = count, t.step = 2, t.chunk_group = -1;
    t.stride = 64;
    return t;
  };
  // Each stage has layers on both sides of the other's.
  std::vector<tp_tensor> tables[] = {{row(1, 1, narrow), row(2, 1, wide), row(6, 1, wide)},
                                     {row(0, 1, wide), row(4, 1, wide)}};
  for (int i = 0; i < 2; ++i) {
    plan.stages[i].program.tensors = tables[i].data();
    plan.stages[i].program.num_tensors = (int64_t)tables[i].size();
    plan.stages[i].program.disk = nullptr;
  }
  EXPECT_OK(checkProgram(plan.program()));
  std::vector<std::string> names;
  for (const LogicalTensor &tensor : logicalTensors(plan.program(), nullptr, 1, TP_WEIGHT))
    names.push_back(tensor.name + (tensor.shape[0] == 7 ? " wide" : " narrow"));
  EXPECT_EQ(names, (std::vector<std::string>{"mixed.1 narrow", "mixed.0 wide", "mixed.2 wide",
                                             "mixed.4 wide", "mixed.6 wide"}));
  tables[1][0].first = 1;
  EXPECT_FAILS(checkProgram(plan.program()),
               "'mixed.1' has another type or shape in program 1 than in program 0");
}

TEST(Stages, WorkAsAHostsTraining) {
  for (const Stages &how : {serial, stagedPlans()[3]}) {
    StagedPlan plan(how);
    tp_training *training = nullptr;
    tp_options options = TP_DEFAULTS;
    options.threads = 1;
    ASSERT_EQ(tp_open(&plan.program(), &options, &training), TP_DONE) << tp_message(training);
    tp_facts facts;
    EXPECT_EQ(tp_describe(training, &facts), TP_DONE);
    EXPECT_EQ(facts.arena_bytes, mostArenaBytes(plan.program()));
    std::vector<int32_t> tokens(facts.rows * facts.length, 7);
    for (int step = 1; step <= 2; ++step)
      ASSERT_EQ(tp_step(training, tokens.data(), tokens.size() * 4), TP_DONE)
          << tp_message(training);
    const tp_value *values;
    int64_t count;
    EXPECT_EQ(tp_metrics(training, &values, &count), TP_DONE);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(values[0].value, 3);
    EXPECT_EQ(values[1].value, toy::layers);
    tp_close(training);
  }
}

namespace {

const tp_gemm small = {2, 3, 4, 4, 3, 3, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0},
              large = {5, 6, 7, 7, 6, 6, 1, 0, 0, 0, 0, 0, 0, TP_F32, TP_F32, 0, 0};
const tp_call gemmCall = {"gemm", "toy.tplan", 1, TP_GEMM, 0, 0, 0};
int call(tp_rank *rank, char *arena, const tp_gemm &gemm) {
  return tp_matmul(rank, &gemmCall, &gemm, arena, arena + 256, nullptr, arena + 512, gemm.m);
}

} // namespace

TEST(Stages, AreAllTracedOnADevice) {
  StagedPlan plan(stagedPlans()[1]); // two by two
  std::array<tp_device, 2> devices = {};
  for (int i = 0; i < 2; ++i) {
    devices[i].arch = "sm_90";
    tp_program &program = plan.stages[i].program;
    program.num_streams = 1 + i, program.num_events = 3 - i;
    program.device = &devices[i];
    program.prepare = program.evaluate = program.predict = nullptr;
    program.step = i ? [](tp_rank *rank, char *arena) { return call(rank, arena, large); }
                     : [](tp_rank *rank, char *arena) { return call(rank, arena, small); };
    program.arena_bytes += 4096;
  }
  std::vector<GemmUse> uses;
  ASSERT_OK(gemmsOf(plan.program(), uses));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].gemm.m + uses[1].gemm.m, 2 + 5);
  int64_t reads = 0;
  EXPECT_OK(traceProgram(plan.program(), 3, [&](const StreamEvent &it) -> Status {
    reads += it.title.text() == "a read of the host";
    return {};
  }));
  EXPECT_EQ(reads, 2 * (4 + 1)); // in each step, of each part of a metric
  testing::internal::CaptureStdout();
  Status status = auditStreams(plan.program(), "");
  std::string out = testing::internal::GetCapturedStdout();
  EXPECT_OK(status);
  EXPECT_HAS(out, " of 4 ranks in 3 streams with 5 events");
  // Each call is compared with the arena of its own rank.
  plan.stages[1].program.arena_bytes = 300;
  testing::internal::CaptureStdout();
  status = auditStreams(plan.program(), "");
  testing::internal::GetCapturedStdout();
  EXPECT_FAILS(status, "rank 2: ", "of an arena of 300");
}

//===- ranks-test.cpp - a training on many ranks is that of one ------------------===//
//
// The toy's sums are exact in any order, so each layout must give the serial bits: losses,
// checkpoints, gradients, evaluations, samples.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/ranks/rank.h"
#include "runtime/support/files.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>

#include <unistd.h>

using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;
using tplan::runtime::errorf;
using tplan::runtime::fail;
using namespace toy;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const Layout serial;
const char *const checkpointFiles[] = {"model.safetensors", "optimizer.safetensors", "state.json",
                                       "manifest.json"};

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

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

struct Ranks : testing::Test {
  Ranks() { writeFile(data(), someText(20000)); }
  std::string data() const { return scratch / "text"; }

  Outcome run(const tp_program &program, std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", data()});
    return runMain(program, more);
  }
  std::string trained(const Layout &layout, std::vector<std::string> more) {
    Outcome outcome = run(program(layout), std::move(more));
    EXPECT_EQ(outcome.code, 0) << layout.name << ": " << outcome.err;
    return outcome.out;
  }
  /// The one line that a run fails with.
  std::string failed(const tp_program &program, std::vector<std::string> more) {
    Outcome outcome = run(program, std::move(more));
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_EQ(count(outcome.err, "error:"), 1u) << outcome.err;
    return outcome.err;
  }
  void expectSameCheckpoint(const std::string &a, const std::string &b) {
    for (const char *file : checkpointFiles) {
      std::string bytes = readFile(scratch / (a + "/" + file));
      EXPECT_FALSE(bytes.empty());
      EXPECT_TRUE(bytes == readFile(scratch / (b + "/" + file))) << file;
    }
  }
  Scratch scratch;
};

class EachLayout : public Ranks, public testing::WithParamInterface<Layout> {};
INSTANTIATE_TEST_SUITE_P(All, EachLayout, testing::ValuesIn(layouts()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

namespace toy {
void PrintTo(const Layout &layout, std::ostream *to) { *to << layout.name; }
} // namespace toy

TEST_P(EachLayout, TrainsAsOneRank) {
  // Numbers of windows that no number of ranks divides; two windows with 7 targets, and padding;
  // none.
  writeFile(scratch / "e1", someText(1001, 5));
  const int32_t ids[] = {10, 11, -1, 12, 13, 14, INT32_MIN, 15, 16, 17};
  writeFile(scratch / "e2", std::string((const char *)ids, sizeof ids));
  writeFile(scratch / "e3", "");
  auto train = [&](const Layout &layout, const std::string &name) {
    std::string out = trained(
        layout, {"--steps", "6", "--save", scratch / name, "--metrics", scratch / (name + ".log"),
                 "--eval", scratch / "e1", "i32:" + (scratch / "e2"), scratch / "e3",
                 "--eval-every", "3", "--dump-gradients", scratch / (name + ".gradients"),
                 "--audit-memory", "--sample", "the la", "--sample-bytes", "12"});
    return out;
  };
  std::string wanted = train(serial, "one"), found = train(GetParam(), "many");
  expectSameCheckpoint("one/step-00000006", "many/step-00000006");
  EXPECT_EQ(withoutTimes(readFile(scratch / "one.log")),
            withoutTimes(readFile(scratch / "many.log")));
  std::string gradients = readFile(scratch / "one.gradients");
  EXPECT_FALSE(gradients.empty());
  EXPECT_TRUE(gradients == readFile(scratch / "many.gradients"));
  EXPECT_EQ(wanted.substr(wanted.find("sample:")), found.substr(found.find("sample:")));
  EXPECT_EQ(count(found, "sample:"), 1u);
  EXPECT_HAS(found, "over 1008 tokens of 3 files");
  std::string ranks = std::to_string(GetParam().ranks()) + " ranks";
  EXPECT_HAS(found, "on each of " + ranks + ", arena ");
  EXPECT_EQ(count(found, " on each of " + ranks + "\n"), 1u) << found; // the audit
  std::vector<std::string> left;
  ASSERT_OK(tplan::runtime::listDirectory(scratch.path, left));
  EXPECT_EQ(left.size(), 4u + 2 * 3) << "a temporary file was left";
}

TEST_P(EachLayout, GoesOnFromAnyOther) {
  trained(serial, {"--steps", "6", "--save", scratch / "whole"});
  const Layout &to = GetParam();
  for (const Layout &from : layouts()) {
    std::string name = from.name;
    trained(from, {"--steps", "4", "--save", scratch / name});
    EXPECT_HAS(trained(to, {"--steps", "6", "--save", scratch / name, "--resume"}),
               "resumed at step 4");
    expectSameCheckpoint("whole/step-00000006", name + "/step-00000006");
  }
  trained(to, {"--steps", "4", "--save", scratch / "serial"});
  trained(serial, {"--steps", "6", "--save", scratch / "serial", "--resume"});
  expectSameCheckpoint("whole/step-00000006", "serial/step-00000006");
}

TEST_P(EachLayout, LoadsWeightsByName) {
  trained(serial, {"--steps", "5", "--save", scratch / "s"});
  std::string model = scratch / "s/step-00000005/model.safetensors";
  trained(GetParam(), {"--steps", "0", "--load", model, "--save", scratch / "t"});
  EXPECT_TRUE(readFile(model) == readFile(scratch / "t/step-00000000/model.safetensors"));
}

TEST_P(EachLayout, HasTheSameBitsOnAnyTeam) {
  trained(GetParam(), {"--steps", "3", "--save", scratch / "one", "--threads", "1"});
  trained(GetParam(), {"--steps", "3", "--save", scratch / "three", "--threads", "3"});
  expectSameCheckpoint("one/step-00000003", "three/step-00000003");
}

TEST_F(Ranks, AnErrorOfOneRankEndsAll) {
  tp_program program = toy::program(named("RowsOfThree"));
  static int (*inner)(tp_rank *, char *);
  inner = program.step;
  program.step = [](tp_rank *rank, char *arena) {
    if (rank->peers.rank() == 2 && *(int32_t *)(arena + rank->program->scalars[1].offset) == 3) {
      static const tp_call call = {"bang", "toy.tplan", 7, TP_KERNEL, 0, 0, 0};
      return tplan::runtime::fail(*rank, &call, tplan::runtime::errorf("boiler: 451 degrees"));
    }
    return inner(rank, arena);
  };
  std::string error = failed(program, {"--steps", "5"});
  EXPECT_TRUE(error.starts_with("train: error: rank 2: toy.tplan:7: boiler: 451 degrees\n"))
      << error;
}

TEST_F(Ranks, AnErrorOfAllIsPrintedOnce) {
  const Layout &many = named("RowsReadFirst");
  tp_program steep = program(many);
  tp_lr_piece lr = {0, 1000, 1e38, 1e38, TP_FLAT};
  steep.lr = &lr;
  steep.num_lr = 1;
  EXPECT_EQ(failed(steep, {"--steps", "9"}).find("train: error: loss is "), 0u);
  EXPECT_EQ(failed(program(named("Rows")), {"--load", scratch / "absent"})
                .find("train: error: cannot open"),
            0u);
  EXPECT_EQ(failed(program(many), {"--save", scratch / "s", "--resume"})
                .find("train: error: nothing to resume"),
            0u);
  tp_program mute = program(many);
  mute.predict = nullptr;
  EXPECT_HAS(failed(mute, {"--steps", "1", "--sample", "x"}), "cannot sample");
  tp_program silent = program(many);
  silent.step = [](tp_rank *, char *) { return 0; };
  silent.num_metrics = 0;
  EXPECT_HAS(failed(silent, {"--steps", "2", "--dump-gradients", scratch / "g"}),
             "error: '" + (scratch / "g") + "' was not written");
}

TEST_F(Ranks, WhatOneRankDoesForAllFailsForAll) {
  const tp_program many = program(named("Rows"));
  EXPECT_HAS(failed(many, {"--steps", "1", "--save", data()}), "error: rank 0: ");
  EXPECT_HAS(failed(many, {"--steps", "1", "--metrics", scratch / "no/m"}),
             "error: rank 0: cannot write '");
  EXPECT_HAS(failed(many, {"--steps", "1", "--dump-gradients", scratch / "no/g"}),
             "error: rank 0: cannot create '");
  trained(serial, {"--steps", "5", "--save", scratch / "s"});
  std::string path = scratch / "s/step-00000005/model.safetensors", bytes = readFile(path);
  bytes[bytes.size() - 5] ^= 1;
  writeFile(path, bytes);
  EXPECT_EQ(failed(many, {"--steps", "6", "--save", scratch / "s", "--resume"})
                .find("train: error: '" + path + "' is damaged"),
            0u);
}

TEST_F(Ranks, AuditsTheArenaOfEach) {
  tp_program program = toy::program(named("Rows"));
  static int (*inner)(tp_rank *, char *);
  static int64_t stray;
  inner = program.step;
  stray = program.arena_bytes;
  program.arena_bytes += 64;
  program.step = [](tp_rank *rank, char *arena) {
    if (rank->peers.rank() == 1)
      arena[stray + 8] = 1;
    return inner(rank, arena);
  };
  EXPECT_HAS(failed(program, {"--steps", "1", "--audit-memory"}),
             "rank 1: memory audit: arena offset " + std::to_string(stray + 8));
}

TEST_F(Ranks, ARankThatComputesIsNamedByItsLastCollective) {
  tp_program program = toy::program(named("Rows"));
  static int (*inner)(tp_rank *, char *);
  static std::atomic<int> steps;
  inner = program.step;
  steps = 0;
  program.step = [](tp_rank *rank, char *arena) {
    if (steps++ < 2)
      return inner(rank, arena);
    if (rank->peers.rank() == 1)
      return fail(*rank, nullptr, errorf("the loss is not a number"));
    usleep(1500000);
    return inner(rank, arena);
  };
  std::string error = failed(program, {"--steps", "3"});
  EXPECT_HAS(error, "train: error: rank 1: the loss is not a number\n");
  EXPECT_HAS(error,
             "note: rank 0 is in no collective; its last of the plan was the all-reduce over "
             "'d' of toy.tplan:");
  EXPECT_EQ(count(error, "note:"), 1u) << error;
}

TEST_F(Ranks, AuditsCollectivesByWhatRanksWereDoing) {
  writeFile(scratch / "e", someText(100, 5));
  std::string out = trained(named("RowsReadFirst"),
                            {"--steps", "4", "--audit-collectives", "--save", scratch / "s",
                             "--eval", scratch / "e", "--dump-gradients", scratch / "g"});
  size_t at = out.find("collectives audit: in one order on 6 ranks, bytes as their calls say");
  ASSERT_NE(at, std::string::npos) << out;
  std::istringstream lines(out.substr(at));
  std::string line;
  std::getline(lines, line), std::getline(lines, line);
  std::set<std::string> doing;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string activity, kind, axes;
    int64_t calls = 0, sent = -1, staged = -1;
    words >> activity >> kind;
    size_t numbers = line.find_last_not_of(" 0123456789") + 1;
    std::istringstream(line.substr(numbers)) >> calls >> sent >> staged;
    EXPECT_GT(calls, 0) << line;
    EXPECT_GE(sent, 0) << line;
    EXPECT_EQ(staged, 0) << line; // threads stage nothing
    doing.insert(activity);
    if (activity == "step") {
      EXPECT_EQ(calls % 4, 0) << line;
    }
  }
  EXPECT_EQ(doing, (std::set<std::string>{"checkpoint", "data", "evaluation", "gradients",
                                          "metrics", "set-up", "step"}));
  Outcome alone = run(program(serial), {"--steps", "1", "--audit-collectives"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_HAS(alone.err, "--audit-collectives compares ranks, and the plan 'toy");
}

TEST_F(Ranks, ADataErrorNamesTheRankThatReadIt) {
  std::string text = someText(5 * 48);
  writeFile(scratch / "good", text);
  for (size_t at : {size_t(10), size_t(100), size_t(200)}) {
    std::string bad = text;
    bad[at] = '\xff';
    writeFile(scratch / "bad", bad);
    for (const char *name : {"Rows", "RowsOfThree", "RowsReadFirst"}) {
      std::string error =
          runMain(program(named(name)), {"--data", scratch / "bad", "--steps", "20"}).err;
      EXPECT_HAS(error, "byte " + std::to_string(at) + ": token 255 is outside the vocabulary");
      EXPECT_EQ(error.find("train: error: rank "), 0u) << error;
      EXPECT_EQ(count(error, "error:"), 1u) << error;
      if (named(name).readFirst) {
        EXPECT_HAS(error, "error: rank 0: ");
      }
    }
  }
  // A file of --eval is looked at before the first step, by rank 0.
  std::string bad = text;
  bad[60] = '\xff';
  writeFile(scratch / "bad", bad);
  EXPECT_HAS(failed(program(named("RowsOfThree")), {"--steps", "1", "--eval", scratch / "bad"}),
             "error: rank 0: '" + (scratch / "bad") + "', byte 60");
}

TEST_F(Ranks, ResumeAndMetricsEqualAnUnbrokenRun) {
  const Layout &layout = named("ChunkedWeightsInWhole");
  trained(layout, {"--steps", "10", "--metrics", scratch / "whole", "--save", scratch / "a"});
  trained(layout, {"--steps", "5", "--metrics", scratch / "parts", "--save", scratch / "b"});
  trained(layout,
          {"--steps", "10", "--metrics", scratch / "parts", "--save", scratch / "b", "--resume"});
  expectSameCheckpoint("a/step-00000010", "b/step-00000010");
  EXPECT_EQ(withoutTimes(readFile(scratch / "whole")), withoutTimes(readFile(scratch / "parts")));
  EXPECT_EQ(count(readFile(scratch / "parts"), "\n"), 10u);
}

TEST_F(Ranks, StopTogetherAfterSomeMinutes) {
  std::string out = trained(
      named("Rows"), {"--steps", "100000000", "--minutes", "0.005", "--save", scratch / "s"});
  EXPECT_HAS(out, "of 100000000: --minutes 0.005");
  EXPECT_TRUE(std::filesystem::exists(scratch / "s/latest"));
}

TEST_F(Ranks, HelpSaysHowToStartThem) {
  std::string out = runMain(program(named("BothDimensions")), {"--help"}).out;
  EXPECT_HAS(out, "on 12 ranks (d = 2, a = 3, b = 2)");
  EXPECT_HAS(out, "mpirun -n 12 train");
  EXPECT_HAS(out, "srun -n 12 train");
  EXPECT_EQ(runMain(program(), {"--help"}).out.find("ranks ("), std::string::npos);
}

TEST_F(Ranks, TakeAsManyThreadsAsTheyAreTold) {
  EXPECT_HAS(trained(named("Rows"), {"--steps", "1", "--threads", "3"}), "on 3 threads");
  Outcome none = run(program(named("Rows")), {"--threads", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_HAS(none.err, "--threads takes a whole number of at least 1");
  EXPECT_EQ(count(none.err, "error:"), 1u);
}

TEST_F(Ranks, TablesThatMakeNoSenseAreRefused) {
  struct Case {
    void (*change)(tp_program &, tp_tensor &);
    const char *message;
  };
  static const int32_t beyond[] = {7, -1}, twice[] = {overD, overD};
  static const int64_t small[] = {10, 10};
  static const tp_axis none[] = {{"d", 0}, {"a", 1}, {"b", 1}};
  const Case cases[] = {
      {[](tp_program &p, tp_tensor &) { p.axes = none; }, "'d' of the mesh has an impossible size"},
      {[](tp_program &, tp_tensor &t) { t.dim_groups = beyond; }, "a dimension names group 7 of 5"},
      {[](tp_program &, tp_tensor &t) { t.dim_groups = twice; }, "cut twice over the axis 'd'"},
      {[](tp_program &, tp_tensor &t) { t.shape = small; },
       "a dimension has 128 elements, 1 ranks hold 10 each"},
      {[](tp_program &, tp_tensor &t) { t.chunk = 8, t.chunk_group = overD; },
       "its chunked array has 16384 elements, 2 ranks hold 8 each"},
  };
  for (const Case &it : cases) {
    tp_program changed = program(named("Rows"));
    tp_tensor tensor = changed.tensors[0];
    it.change(changed, tensor);
    if (changed.axes != none)
      changed.tensors = &tensor, changed.num_tensors = 1;
    EXPECT_HAS(failed(changed, {"--steps", "1"}), it.message);
  }
}

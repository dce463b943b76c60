//===- programs-test.cpp - programs of one plan must agree ---------------------===//
//
// Each fact that runtime.h says is the same in all of them, changed in one.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_stages.h"

#include "runtime/ranks/tensors.h"

#include <utility>

using namespace tplan::runtime;
using toy::StagedPlan;
using toy::stagedPlans;

namespace {

using Plan = std::deque<StagedPlan::Stage>;
struct Wrong {
  const char *name;
  void (*change)(Plan &stages);
  const char *message;
};
void PrintTo(const Wrong &wrong, std::ostream *to) { *to << wrong.name; }

int nothing(tp_rank *, char *) { return 0; }
const tp_source source = {"s", "path", -1, 1}, otherSource = {"s", "other", -1, 1};
const tp_constant one = {TP_INTEGER, 1, 1, nullptr, 0}, two = {TP_INTEGER, 2, 2, nullptr, 0};
const char *const keys[] = {"n_layer"};
const tp_config config = {keys, 1, &one, nullptr, 0}, otherConfig = {keys, 1, &two, nullptr, 0};
const char *const ignored[] = {"rope"}, *const otherIgnored[] = {"mask"};
const int64_t otherStrides[] = {8, 1};
const int32_t bothAxes[] = {0, 1}, swapped[] = {1, 0}, cutOverP[] = {0, -1};
const char nameOfPlan[] = "sta"
                          "ged"; // another place, the same text
tp_device deviceOf(const char *arch, int64_t workspace, int32_t native, int32_t channels = 0) {
  tp_device device = {};
  device.channels = channels;
  device.arch = arch, device.workspace_bytes = workspace, device.native_sums = native;
  return device;
}
const tp_device some = deviceOf("sm_90", 64, 0), newer = deviceOf("sm_100", 64, 0),
                larger = deviceOf("sm_90", 128, 0), native = deviceOf("sm_90", 64, 1),
                narrow = deviceOf("sm_90", 64, 0, 8);
void setDevices(Plan &s, const tp_device &last) {
  for (StagedPlan::Stage &stage : s)
    stage.program.device = &stage == &s.back() ? &last : &some;
}
void setSources(Plan &s, const tp_source &last) {
  for (StagedPlan::Stage &stage : s)
    stage.program.data = &stage == &s.back() ? &last : &source, stage.program.num_data = 1;
}
void setConfig(Plan &s, const tp_config &last) {
  for (StagedPlan::Stage &stage : s)
    stage.disk.config = &stage == &s.back() ? &last : &config, stage.disk.num_config = 1;
}

#define IN(TEXT) "differ in the " TEXT
const Wrong wrongs[] = {
    {"TooFew", [](Plan &s) { s[0].program.num_programs = 3; },
     "the axis 'p' of the programs has the size 4, and the plan 'staged' has another number of "
     "them: 3"},
    {"Negative", [](Plan &s) { s[0].program.num_programs = -1; }, "number of them: -1"},
    {"NoAxis", [](Plan &s) { s[0].program.programs_axis = 2; },
     "for an axis that the mesh of 2 axes lacks: 2"},
    {"OtherAxisOfOne", [](Plan &s) { s[2].program.programs_axis = 1; },
     "has the same list of them, but for program 2"},
    {"OtherList",
     [](Plan &s) {
       static const tp_program *list[4];
       for (int i = 0; i < 4; ++i)
         list[i] = &s[i == 3 ? 2 : i].program;
       s[1].program.programs = list;
     },
     "has the same list of them, but for program 1"},
    {"NotTheFirst",
     [](Plan &s) {
       auto **list = const_cast<const tp_program **>(s[0].program.programs);
       std::swap(list[0], list[1]);
     },
     "given by a program that is not the first of its list"},
    {"OtherVersion", [](Plan &s) { s[3].program.abi_version = 3; }, "runtime interface 3"},
    {"OtherPlan", [](Plan &s) { s[1].program.plan = "x"; },
     IN("name of the plan: program 0 has 'staged', program 1 has 'x'")},
    {"Fingerprint", [](Plan &s) { s[1].program.fingerprint = "x"; }, IN("fingerprint")},
    {"Cpu", [](Plan &s) { s[1].program.cpu = "x86-64-v3"; }, IN("features of the CPU")},
    {"Microbatches", [](Plan &s) { s[2].program.microbatches = 1; },
     IN("microbatches: program 0 has 2, program 2 has 1")},
    {"Tokens", [](Plan &s) { s[1].program.tokens_per_step = 1; }, IN("tokens of a step")},
    {"Steps", [](Plan &s) { s[1].program.steps = 1; }, IN("steps: ")},
    {"NumData", [](Plan &s) { s[1].program.data = &source, s[1].program.num_data = 1; },
     IN("number of sources")},
    {"Data", [](Plan &s) { setSources(s, otherSource); },
     IN("path of source 0: program 0 has 'path', program 3 has 'other'")},
    {"Eval", [](Plan &s) { s[1].program.eval = &source; }, IN("number of files to score")},
    {"EvalTokens", [](Plan &s) { s[1].program.eval_tokens = 1; }, IN("tokens to score")},
    {"Save", [](Plan &s) { s[1].program.save = "x"; },
     IN("folder of checkpoints: program 0 has nothing, program 1 has 'x'")},
    {"EvalEvery", [](Plan &s) { s[1].program.eval_every = 1; }, IN("steps between evaluations")},
    {"SaveEvery", [](Plan &s) { s[1].program.save_every = 1; }, IN("steps between checkpoints")},
    {"SaveKeep", [](Plan &s) { s[1].program.save_keep = 1; }, IN("checkpoints that are kept")},
    {"NumLr", [](Plan &s) { s[1].program.num_lr = 0; }, IN("number of pieces of the learning")},
    {"Lr", [](Plan &s) { s[1].lr[0].to = 0.5; },
     IN("learning rate at the end of piece 0: program 0 has 0.0625, program 1 has 0.5")},
    {"Scale", [](Plan &s) { s[1].program.scale = 2; }, IN("scale of gradients")},
    {"MovingScale", [](Plan &s) { s[1].program.scale_offset = 64; }, IN("number of moving scales")},
    {"NumAxes", [](Plan &s) { s[1].program.num_axes = 1; }, IN("number of axes")},
    {"AxisSize", [](Plan &s) { s[1].axes[1].size = 3; }, IN("size of axis 1")},
    {"AxisName", [](Plan &s) { s[1].axes[1].name = "e"; }, IN("name of axis 1")},
    {"NumGroups", [](Plan &s) { s[1].program.num_groups = 2; }, IN("number of groups")},
    {"GroupName", [](Plan &s) { s[1].groups[1].name = "e"; }, IN("name of group 1")},
    {"GroupSize", [](Plan &s) { s[1].groups[0] = {"p", 2, bothAxes, 0, nullptr}; },
     IN("number of axes of group 0")},
    {"GroupAxes", [](Plan &s) { s[1].groups[2].axes = swapped; }, IN("axes of group 2")},
    {"ReadFirst", [](Plan &s) { s[1].program.read_first = 1; }, IN("reading by rank 0 alone")},
    {"NumInputs", [](Plan &s) { s[1].program.num_inputs = 0; }, IN("number of inputs")},
    {"Source", [](Plan &s) { s[1].input.source = "x"; }, IN("source of input 0")},
    {"Rows", [](Plan &s) { s[1].input.rows = 1; }, IN("rows of input 0")},
    {"Length", [](Plan &s) { s[1].input.length = 1; }, IN("length of input 0")},
    {"Positions", [](Plan &s) { s[1].input.positions = 1; }, IN("positions of input 0")},
    {"Vocabulary", [](Plan &s) { s[1].input.vocabulary = 1; }, IN("vocabulary of input 0")},
    {"InputGroup", [](Plan &s) { s[1].input.group = 1; }, IN("group of input 0")},
    {"NumMetrics", [](Plan &s) { s[1].program.num_metrics = 1; }, IN("number of metrics")},
    {"Skipped", [](Plan &s) { s[1].program.skipped_metric = 2; },
     IN("number of the metric of skipped steps")},
    {"MetricName", [](Plan &s) { s[1].metrics[1].name = "x"; }, IN("name of metric 1")},
    {"MetricType", [](Plan &s) { s[1].metrics[1].type = TP_F32; }, IN("type of metric 1")},
    {"NoCount", [](Plan &s) { s[1].metrics[0].count_offset = -1; }, IN("number of counts of")},
    {"MetricGroup", [](Plan &s) { s[1].metrics[0].group = 2; }, IN("group of metric 0")},
    {"CountGroup", [](Plan &s) { s[1].metrics[0].count_group = 2; }, IN("group of the count")},
    {"Unbounded", [](Plan &s) { s[1].metrics[0].unbounded = 1; }, IN("being unbounded")},
    {"IsLoss", [](Plan &s) { s[1].metrics[1].is_loss = 1; }, IN("being a loss of metric 1")},
    {"Factor", [](Plan &s) { s[1].metrics[0].factor = 2; }, IN("factor of metric 0")},
    {"Parts", [](Plan &s) { s[1].metrics[0].parts = 2; },
     IN("parts of metric 0: program 0 has 4, program 1 has 2")},
    {"CountParts", [](Plan &s) { s[1].metrics[0].count_parts = 1; }, IN("parts of the count")},
    {"NoStep", [](Plan &s) { s[1].program.step = nullptr; }, IN("number of entries for a step")},
    {"EarlyStep", [](Plan &s) { s[1].program.early_step = s[1].program.step; },
     IN("number of entries for the first steps")},
    {"EarlySteps", [](Plan &s) { s[1].program.early_steps = 3; },
     IN("first steps: program 0 has 0, program 1 has 3")},
    {"NoEvaluation", [](Plan &s) { s[1].program.evaluate = nullptr; },
     IN("number of entries for evaluation")},
    {"NoPrediction", [](Plan &s) { s[0].program.predict = nullptr; },
     IN("number of entries for prediction: program 0 has 0, program 1 has 1")},
    {"NoLogits", [](Plan &s) { s[3].program.logits_offset = -1; },
     "predicts, and none of its programs has logits"},
    {"OtherLogits", [](Plan &s) { s[1].program.logits_offset = 0; },
     "differ in the vocabulary or type of logits: the first that differs is program 3"},
    {"LogitsType", [](Plan &s) { s[3].program.logits_type = 77; },
     "program 3: output 'logits' has an unknown element type: 77"},
    {"OneDevice", [](Plan &s) { s[1].program.device = &some; },
     IN("number of devices: program 0 has 0, program 1 has 1")},
    {"Arch", [](Plan &s) { setDevices(s, newer); },
     IN("architecture of the device: program 0 has 'sm_90', program 3 has 'sm_100'")},
    {"Workspace", [](Plan &s) { setDevices(s, larger); }, IN("workspace of the device")},
    {"Channels", [](Plan &s) { setDevices(s, narrow); }, IN("channels of NCCL")},
    {"NativeSums", [](Plan &s) { setDevices(s, native); }, IN("use of native sums")},
    {"NoDisk", [](Plan &s) { s[1].program.disk = nullptr; }, IN("number of maps of names")},
    {"NumStored", [](Plan &s) { s[1].disk.num_tensors = 3; }, IN("number of stored weights")},
    {"StoredTensor", [](Plan &s) { s[1].stored[1].tensor = 2; }, IN("tensor of stored weight 1")},
    {"StoredName", [](Plan &s) { s[1].stored[1].name = "x"; }, IN("name of stored weight 1")},
    {"StoredBare", [](Plan &s) { s[1].stored[1].bare = nullptr; }, IN("other name of stored")},
    {"StoredRank", [](Plan &s) { s[1].stored[1].rank = 1; }, IN("rank of stored weight 1")},
    {"StoredFirst", [](Plan &s) { s[1].stored[1].first = 1; }, IN("first element of stored")},
    {"StoredShape", [](Plan &s) { s[1].stored[1].shape = s[1].stored[0].shape; },
     IN("shape of stored weight 1: program 0 has 5, program 1 has 8")},
    {"StoredStrides", [](Plan &s) { s[1].stored[1].strides = otherStrides; },
     "the strides of 'h.{i}.w' on disk are others in program 1"},
    {"StoredElsewhere",
     [](Plan &s) {
       for (StagedPlan::Stage &stage : s)
         stage.stored[3].tensor = 12;
     },
     "'ln' on disk is to be a weight of the 12 rows of all programs, found row 12"},
    {"StoredState",
     [](Plan &s) {
       for (StagedPlan::Stage &stage : s)
         stage.stored[3].tensor = 3;
     },
     "found row 3"},
    {"NumIgnored", [](Plan &s) { s[1].disk.ignored = ignored, s[1].disk.num_ignored = 1; },
     IN("number of ignored tensors")},
    {"Ignored",
     [](Plan &s) {
       for (StagedPlan::Stage &stage : s) {
         stage.disk.ignored = &stage == &s[2] ? otherIgnored : ignored;
         stage.disk.num_ignored = 1;
       }
     },
     IN("name of ignored tensor 0: program 0 has 'rope', program 2 has 'mask'")},
    {"NumConfig", [](Plan &s) { s[1].disk.config = &config, s[1].disk.num_config = 1; },
     IN("number of keys of config.json")},
    {"Config", [](Plan &s) { setConfig(s, otherConfig); },
     IN("value of key 0: program 0 has 1, program 3 has 2")},
    {"Outside", [](Plan &s) { s[2].program.arena_bytes = 128; },
     "program 2: tensor 'layers.{i}.bias'"},
    {"PartsOutside", [](Plan &s) { s[2].metrics[0].offset = s[2].program.arena_bytes - 64; },
     "program 2: metric 'loss' ["},
    {"CountPartsOutside",
     [](Plan &s) { s[2].metrics[0].count_offset = s[2].program.arena_bytes - 64; },
     "program 2: count of metric 'loss' ["},
    {"NoParts",
     [](Plan &s) {
       for (StagedPlan::Stage &stage : s)
         stage.metrics[1].count_parts = 0;
     },
     "program 0: metric 'layers' is the sum of no parts: 0"},
    {"CutOverStages", [](Plan &s) { s[2].tensors[1].dim_groups = cutOverP; },
     "program 2: tensor 'layers.{i}.weight' is cut over the axis of the programs, 'p'"},
    {"Twice", [](Plan &s) { s[2].tensors[1].step = 0; },
     "the tensor 'layers.3.weight' stands twice in the table of program 2"},
    {"NoInstance", [](Plan &s) { s[2].tensors[0].count = 0; },
     "the tensor 'layers.{i}.bias' has 0 instances"},
    {"OtherId", [](Plan &s) { s[3].tensors[3].id = 9; },
     "the tensor 'embed.weight' has another id in program 3 than in program 0: 9, not 0"},
    {"OtherInit", [](Plan &s) { s[3].tensors[3].init = TP_CONSTANT; },
     "another kind of initial values in program 3"},
    {"OtherValue", [](Plan &s) { s[3].tensors[3].init_value = 1; },
     "another initial value in program 3 than in program 0: 1, not 0.5"},
    {"OtherType", [](Plan &s) { s[3].tensors[3].type = TP_I32; },
     "'embed.weight' has another type or shape in program 3 than in program 0"},
};

class Disagreement : public testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(All, Disagreement, testing::ValuesIn(wrongs),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

TEST_P(Disagreement, IsRefused) {
  StagedPlan plan(stagedPlans()[3]);
  ASSERT_OK(checkProgram(plan.program()));
  GetParam().change(plan.stages);
  EXPECT_FAILS(checkProgram(plan.program()), GetParam().message);
}

TEST(Programs, MayDifferInWhatIsTheirs) {
  StagedPlan plan(stagedPlans()[3]);
  plan.stages[1].program.plan = nameOfPlan;
  plan.stages[1].program.prepare = nothing;
  plan.stages[2].program.arena_bytes += 64;
  plan.stages[2].program.num_scalars = 2;
  EXPECT_OK(checkProgram(plan.program()));
  setDevices(plan.stages, some);
  setSources(plan.stages, source);
  setConfig(plan.stages, config);
  EXPECT_OK(checkProgram(plan.program()));
}

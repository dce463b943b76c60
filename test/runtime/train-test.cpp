//===- train-test.cpp - a whole training by tp_main ----------------------------===//

#include "helpers.h"
#include "slot_table.h"
#include "toy_program.h"

#include "runtime/disk/checksum.h"
#include "runtime/disk/safetensors.h"
#include "runtime/support/files.h"
#include "runtime/support/profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;

namespace {

/// A scratch directory with training text.
struct Training : testing::Test {
  Training() { writeFile(data(), someText(20000)); }
  std::string data() const { return scratch / "text"; }

  Outcome train(std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", data(), "--threads", "2"});
    return runMain(toy::program(), more);
  }
  /// A successful training; its output.
  std::string trained(std::vector<std::string> more) {
    Outcome outcome = train(std::move(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string failed(std::vector<std::string> more) {
    Outcome outcome = train(std::move(more));
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    return outcome.err;
  }
  std::vector<std::string> names(const std::string &directory) {
    std::vector<std::string> list;
    EXPECT_OK(tplan::runtime::listDirectory(scratch / directory, list));
    return list;
  }
  Scratch scratch;
};

/// Numbers of one key over the lines of a metrics file.
std::vector<double> column(const std::string &text, const std::string &key) {
  std::vector<double> values;
  std::string quoted = "\"" + key + "\": ";
  for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1))
    values.push_back(std::stod(text.substr(at + quoted.size(), 40)));
  return values;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

} // namespace

TEST_F(Training, LearnsAndReports) {
  std::string out = trained(
      {"--steps", "60", "--metrics", scratch / "m", "--curve", "--profile", "--print-every", "20"});
  std::string metrics = readFile(scratch / "m");
  auto losses = column(metrics, "loss"), steps = column(metrics, "step"),
       lr = column(metrics, "lr"), tokens = column(metrics, "tokens");
  ASSERT_EQ(losses.size(), 60u);
  EXPECT_NEAR(losses[0], std::log(128), 0.1);
  EXPECT_LT(losses[59], losses[0] - 1);
  EXPECT_EQ(steps[59], 60);
  EXPECT_EQ(tokens[59], 60 * 48);
  EXPECT_DOUBLE_EQ(lr[0], 0.2);
  EXPECT_EQ(column(metrics, "grad_norm").size(), 60u);
  EXPECT_EQ(column(metrics, "step_seconds").size(), 60u);
  EXPECT_EQ(column(metrics, "tokens_per_second").size(), 60u);
  for (const char *part : {"step 20/60", "step 40/60", "step 60/60", "  loss", "GFLOP/s", "softmax",
                           "toy.tplan:5", "counted: ", "profile: 59 steps, all but the first"})
    EXPECT_HAS(out, part);
  size_t row = out.find("\nsoftmax"); // two calls of each step but the first
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_EQ(std::stoi(out.substr(row + strlen("\nsoftmax"))), 2 * 59);
}

TEST_F(Training, ProfilesItsOnlyStep) {
  std::string out = trained({"--steps", "1", "--profile"});
  EXPECT_HAS(out, "profile: 1 step\n");
  size_t row = out.find("\nsoftmax");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_EQ(std::stoi(out.substr(row + strlen("\nsoftmax"))), 2);
}

TEST_F(Training, CountsFlopsAndBytes) {
  std::string out = trained({"--steps", "10"});
  // Each microbatch: two GEMMs and a softmax; each step: one update. As in the table of calls.
  long long N = 24, V = 128;
  long long flops = 10 * (2 * (4 * N * V * V + 5 * N * V) + 4 * V * V);
  EXPECT_HAS(out, "counted: " + std::to_string(flops) + " FLOPs");
}

TEST(Profile, CountsMoreThanSixtyFourBits) {
  tplan::runtime::Profile profile;
  tp_call call{};
  call.flops = call.bytes = int64_t(1) << 62;
  profile.count(call, 0, 16);
  std::string line(200, '\0');
  FILE *to = fmemopen(line.data(), line.size(), "w");
  profile.printTotals(to, 3);
  fclose(to);
  EXPECT_HAS(line, "counted: 73786976294838206464 FLOPs and 73786976294838206464 bytes in 3 steps");
}

TEST_F(Training, HasTheSameBitsOnAnyTeam) {
  std::string first;
  for (const char *threads : {"1", "2", "3", "4"}) {
    std::string save = scratch / (std::string("save") + threads);
    trained({"--steps", "10", "--threads", threads, "--save", save});
    std::string model = readFile(save + "/step-00000010/model.safetensors");
    ASSERT_FALSE(model.empty());
    if (first.empty())
      first = model;
    EXPECT_TRUE(first == model) << threads << " threads";
  }
}

TEST_F(Training, ResumeEqualsAnUnbrokenRunBitForBit) {
  trained({"--steps", "20", "--save", scratch / "whole", "--metrics", scratch / "whole.jsonl"});
  trained({"--steps", "10", "--save", scratch / "parts", "--metrics", scratch / "parts.jsonl"});
  std::string out = trained({"--steps", "20", "--save", scratch / "parts", "--metrics",
                             scratch / "parts.jsonl", "--resume"});
  EXPECT_HAS(out, "resumed at step 10");
  for (const char *name :
       {"model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"})
    EXPECT_TRUE(readFile(scratch / (std::string("whole/step-00000020/") + name)) ==
                readFile(scratch / (std::string("parts/step-00000020/") + name)))
        << name;
  std::string whole = readFile(scratch / "whole.jsonl"), parts = readFile(scratch / "parts.jsonl");
  EXPECT_EQ(column(whole, "loss"), column(parts, "loss"));
  EXPECT_EQ(column(whole, "step"), column(parts, "step"));
  EXPECT_EQ(readFile(scratch / "parts/latest"), "step-00000020\n");
}

TEST_F(Training, ResumeDropsMetricsBeyondTheCheckpoint) {
  trained({"--steps", "8", "--save", scratch / "s", "--metrics", scratch / "m"});
  std::string until = readFile(scratch / "m");
  writeFile(scratch / "m",
            until + "{\"step\": 9, \"loss\": 1}\n{\"step\": 10, \"lo"); // a run that died
  trained({"--steps", "9", "--save", scratch / "s", "--metrics", scratch / "m", "--resume"});
  EXPECT_EQ(column(readFile(scratch / "m"), "step"),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(readFile(scratch / "m").compare(0, until.size(), until), 0);
}

TEST_F(Training, KeepsTheNewestCheckpoints) {
  trained({"--steps", "10", "--save", scratch / "s", "--save-every", "3"}); // the plan keeps 2
  EXPECT_EQ(names("s"), (std::vector<std::string>{"latest", "step-00000009", "step-00000010"}));
  trained({"--steps", "20", "--save", scratch / "t", "--save-every", "5", "--save-keep", "0"});
  EXPECT_EQ(names("t").size(), 5u);
  EXPECT_EQ(names("s/step-00000010"),
            (std::vector<std::string>{"manifest.json", "model.safetensors", "optimizer.safetensors",
                                      "state.json"}));
}

TEST_F(Training, SurvivesWhatACrashedSaveLeft) {
  trained({"--steps", "5", "--save", scratch / "s"});
  // A crash while writing step 6, and one between its rename and `latest`.
  tplan::runtime::Status made = tplan::runtime::makeDirectory(scratch / "s/.tmp-step-00000006");
  ASSERT_OK(made);
  writeFile(scratch / "s/.tmp-step-00000006/model.safetensors", "half");
  ASSERT_OK(tplan::runtime::makeDirectory(scratch / "s/step-00000006"));
  writeFile(scratch / "s/step-00000006/model.safetensors", "unnamed");
  trained({"--steps", "6", "--save", scratch / "s", "--resume"});
  EXPECT_EQ(names("s"), (std::vector<std::string>{"latest", "step-00000005", "step-00000006"}));
  trained({"--steps", "7", "--save", scratch / "s", "--resume"});
}

TEST_F(Training, GoesOnFromStepZero) {
  trained({"--steps", "3", "--save", scratch / "whole"});
  trained({"--steps", "0", "--save", scratch / "s"});
  for (const char *steps : {"2", "3"})
    trained({"--steps", steps, "--save", scratch / "s", "--resume"});
  EXPECT_EQ(readFile(scratch / "s/step-00000003/model.safetensors"),
            readFile(scratch / "whole/step-00000003/model.safetensors"));
  writeFile(scratch / "more", someText(3000)); // what data was read is known by now
  EXPECT_HAS(
      failed({"--steps", "4", "--save", scratch / "s", "--resume", "--data", scratch / "more"}),
      "tokens of data, now there are");
}

TEST_F(Training, RefusesToOverwriteAnEarlierTraining) {
  trained({"--steps", "5", "--save", scratch / "s"});
  EXPECT_HAS(failed({"--steps", "5", "--save", scratch / "s"}),
             "add --resume to go on, or choose another");
}

TEST_F(Training, RefusesWhatCannotBeResumed) {
  EXPECT_HAS(failed({"--save", scratch / "none", "--resume"}), "nothing to resume");
  trained({"--steps", "5", "--save", scratch / "s", "--seed", "3"});
  EXPECT_HAS(failed({"--steps", "6", "--save", scratch / "s", "--resume", "--seed", "4"}),
             "the checkpoint, 3; --seed is 4");
  writeFile(scratch / "other", someText(3000));
  Outcome other =
      runMain(toy::program(), {"--data", scratch / "other", "--save", scratch / "s", "--resume"});
  EXPECT_HAS(other.err, "trained on 20001 tokens of data, now there are 3001");
  tp_program changed = toy::program();
  changed.fingerprint = "ffff";
  EXPECT_HAS(runMain(changed, {"--data", data(), "--save", scratch / "s", "--resume"}).err,
             "found the fingerprints 0123abcd and ffff");
  trained({"--steps", "6", "--save", scratch / "s", "--resume"}); // the checkpoint's seed holds
  EXPECT_HAS(readFile(scratch / "s/step-00000006/state.json"), "\"seed\": 3");
}

namespace {

struct Damage {
  const char *name, *file;
  void (*apply)(std::string &bytes);
  const char *message;
};

void PrintTo(const Damage &d, std::ostream *to) { *to << d.name; }

void writeManifestAgain(const std::string &checkpoint, const std::string &name) {
  // Damage that the checksum cannot see: the manifest is made to agree.
  std::string manifest = readFile(checkpoint + "/manifest.json"),
              file = readFile(checkpoint + "/" + name);
  size_t at = manifest.find("\"" + name + "\"");
  size_t begin = manifest.find('{', at), end = manifest.find('}', at);
  manifest.replace(begin, end - begin,
                   "{\"bytes\": " + std::to_string(file.size()) + ", \"xxh3_128\": \"" +
                       tplan::runtime::checksumOf(file.data(), (int64_t)file.size()) + "\"");
  writeFile(checkpoint + "/manifest.json", manifest);
}

const Damage damages[] = {
    {"FlippedWeight", "step-00000005/model.safetensors",
     [](std::string &b) { b[b.size() - 5] ^= 1; }, "is damaged"},
    {"FlippedState", "step-00000005/optimizer.safetensors",
     [](std::string &b) { b[b.size() / 2] ^= 8; }, "is damaged"},
    {"TruncatedWeights", "step-00000005/model.safetensors",
     [](std::string &b) { b.resize(b.size() - 4); }, "its manifest says"},
    {"EditedStep", "step-00000005/state.json",
     [](std::string &b) { b.replace(b.find("\"step\": 5"), 9, "\"step\": 4"); }, "is damaged"},
    {"BrokenManifest", "step-00000005/manifest.json",
     [](std::string &b) { b.resize(b.size() / 2); }, "JSON is malformed"},
    {"EmptyManifest", "step-00000005/manifest.json", [](std::string &b) { b = "{}"; },
     "'format' is missing"},
    {"ManifestLacksFile", "step-00000005/manifest.json",
     [](std::string &b) { b.replace(b.find("state.json"), 10, "other.json"); },
     "'state.json' is missing"},
    {"OtherFormat", "step-00000005/manifest.json",
     [](std::string &b) { b.replace(b.find("3"), 1, "9"); }, "has format 9"},
    {"LatestElsewhere", "latest", [](std::string &b) { b = "../../etc"; },
     "does not name a checkpoint: '../../etc'"},
    {"LatestAbsent", "latest", [](std::string &b) { b = "step-00000077\n"; }, "No such file"},
};

class Damaged : public Training, public testing::WithParamInterface<Damage> {};
INSTANTIATE_TEST_SUITE_P(All, Damaged, testing::ValuesIn(damages),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

TEST_P(Damaged, CheckpointIsRefused) {
  trained({"--steps", "5", "--save", scratch / "s"});
  std::string path = scratch / (std::string("s/") + GetParam().file);
  std::string bytes = readFile(path);
  GetParam().apply(bytes);
  writeFile(path, bytes);
  std::string error = failed({"--steps", "6", "--save", scratch / "s", "--resume"});
  EXPECT_HAS(error, GetParam().message);
  EXPECT_HAS(error, scratch.path);
}

TEST_F(Training, RefusesACheckpointWhoseStateDisagrees) {
  trained({"--steps", "5", "--save", scratch / "s"});
  std::string directory = scratch / "s/step-00000005", state = readFile(directory + "/state.json");
  struct Edit {
    const char *from, *to, *message;
  };
  for (const Edit &edit :
       {Edit{"\"step\": 5", "\"step\": 4", "holds step 4"},
        Edit{"\"rows\": 30", "\"rows\": 31", "has read 31 rows in 5 steps"},
        Edit{"\"seed\": 1", "\"seed\": -1", "negative"},
        Edit{"\"seed\": 1", "\"seed\": \"1\"", "'seed' is missing or is not a whole number"},
        Edit{"\"plan\"", "\"step\"", "'step' stands twice"}}) {
    std::string changed = state;
    changed.replace(changed.find(edit.from), strlen(edit.from), edit.to);
    writeFile(directory + "/state.json", changed);
    writeManifestAgain(directory, "state.json");
    EXPECT_HAS(failed({"--steps", "6", "--save", scratch / "s", "--resume"}), edit.message);
  }
}

TEST_F(Training, RefusesStatesThatAreNoNumbersOfARightChecksum) {
  trained({"--steps", "5", "--save", scratch / "s"});
  std::string directory = scratch / "s/step-00000005";
  for (const char *file : {"optimizer.safetensors", "model.safetensors"}) {
    std::string whole = readFile(directory + "/" + file), changed = whole;
    changed.replace(changed.size() - 4, 4, "\xff\xff\xff\x7f");
    writeFile(directory + "/" + file, changed);
    writeManifestAgain(directory, file);
    std::string error = failed({"--steps", "6", "--save", scratch / "s", "--resume"});
    EXPECT_HAS(error, std::string(file) + "': tensor '");
    EXPECT_HAS(error, "is no finite number: nan");
    writeFile(directory + "/" + file, whole);
    writeManifestAgain(directory, file);
  }
  trained({"--steps", "6", "--save", scratch / "s", "--resume"});
}

TEST_F(Training, LoadsWeightsByName) {
  trained({"--steps", "5", "--save", scratch / "s"});
  std::string model = scratch / "s/step-00000005/model.safetensors";
  // Weights alone, zero steps: saved again they are the same file.
  trained({"--steps", "0", "--load", model, "--save", scratch / "t"});
  EXPECT_TRUE(readFile(model) == readFile(scratch / "t/step-00000000/model.safetensors"));
  EXPECT_HAS(failed({"--steps", "0", "--load", scratch / "s/step-00000005/optimizer.safetensors"}),
             "lacks the tensor 'head.weight'");
  EXPECT_HAS(failed({"--steps", "0", "--load", scratch / "absent"}), "absent");
}

TEST_F(Training, DumpsTheFirstGradients) {
  trained({"--steps", "3", "--dump-gradients", scratch / "g"});
  tplan::runtime::SafetensorsFile file;
  ASSERT_OK(file.open(scratch / "g"));
  ASSERT_EQ(file.tensors().size(), 3u);
  // Cotangents of softmax sum to zero over the classes, so does each bias pair.
  double sum = 0, size = 0;
  for (const char *name : {"parts.0.bias", "parts.1.bias"}) {
    const tplan::runtime::StoredTensor &tensor = file.tensors().at(name);
    for (int64_t i = 0; i < tensor.bytes / 4; ++i) {
      float value;
      ASSERT_OK(file.file().read(tensor.offset + 4 * i, &value, 4));
      sum += value;
      size += std::abs(value);
    }
  }
  EXPECT_GT(size, 0.1);
  EXPECT_LT(std::abs(sum), 1e-5);
}

TEST_F(Training, SaysWhenAProgramDumpsNoGradients) {
  tp_program program = toy::program();
  program.step = [](tp_rank *, char *) { return 0; };
  program.num_metrics = 0;
  Outcome outcome =
      runMain(program, {"--data", data(), "--steps", "2", "--dump-gradients", scratch / "g"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.err, "without a call of tp_gradients_ready");
}

TEST_F(Training, EvaluatesEachByteOfTheFilesOnce) {
  writeFile(scratch / "e1", someText(1001, 5));
  writeFile(scratch / "e2", someText(7, 6));
  writeFile(scratch / "e3", "");
  std::string out = trained({"--steps", "20", "--eval", scratch / "e1", scratch / "e2",
                             scratch / "e3", "--metrics", scratch / "m", "--eval-every", "10"});
  EXPECT_HAS(out, "over 1008 tokens of 3 files");
  auto losses = column(readFile(scratch / "m"), "eval_loss"),
       counts = column(readFile(scratch / "m"), "eval_tokens");
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_LT(losses[1], losses[0]);
  EXPECT_EQ(counts[0], 1008);

  // The toy predicts from one byte, so how files share windows cannot matter: the
  // files scored alone must add up.
  trained({"--steps", "20", "--save", scratch / "s"});
  double sum = 0;
  for (auto [name, bytes] : {std::pair("e1", 1001), std::pair("e2", 7)}) {
    trained({"--steps", "20", "--save", scratch / "s", "--resume", "--eval", scratch / name,
             "--metrics", scratch / "one"});
    sum += column(readFile(scratch / "one"), "eval_loss").back() * bytes;
  }
  EXPECT_NEAR(sum / 1008, losses[1], 1e-6);
}

TEST_F(Training, SamplesTheSameTextForASeed) {
  trained({"--steps", "60", "--save", scratch / "s"});
  auto sample = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--steps", "60", "--save", scratch / "s", "--resume", "--sample",
                             "the la", "--sample-bytes", "30"});
    std::string out = trained(more);
    return out.substr(out.find("sample:\n"));
  };
  std::string one = sample({}), greedy = sample({"--temperature", "0"});
  EXPECT_EQ(one, sample({}));
  EXPECT_NE(one, greedy);
  EXPECT_EQ(greedy, sample({"--temperature", "0"}));
  EXPECT_EQ(greedy.compare(0, 14, "sample:\nthe la"), 0) << greedy;
  EXPECT_EQ(greedy.size(), 8 + 6 + 30 + 1u);
  tp_program mute = toy::program();
  mute.predict = nullptr;
  EXPECT_HAS(runMain(mute, {"--steps", "0", "--sample", "x"}).err, "cannot sample");
}

TEST_F(Training, AuditsTheArena) {
  EXPECT_HAS(trained({"--steps", "2", "--audit-memory"}),
             "memory audit: 11 slots written, nothing outside them");
  tp_program program = toy::program();
  std::vector<Slot> slots = tplan::runtime::slotsOf(program);
  SlotTable table;
  Slot scalars = slots[7];
  slots.erase(slots.begin() + 7);
  table.set(program, slots);
  Outcome outside = runMain(program, {"--data", data(), "--steps", "2", "--audit-memory"});
  EXPECT_EQ(outside.code, 1);
  EXPECT_HAS(outside.err, "between 'tokens' and 'metrics', was written but belongs to no slot");
  scalars.bytes = 64;
  slots.push_back(scalars);
  table.set(program, slots);
  Outcome unwritten = runMain(program, {"--data", data(), "--steps", "2", "--audit-memory"});
  EXPECT_EQ(unwritten.code, 1);
  EXPECT_HAS(unwritten.err, "32 of 64 bytes of slot 'scalars' were never written");
}

TEST_F(Training, StopsAfterSomeMinutes) {
  // A hundred million steps of at least a microsecond; half a second of them.
  std::string out = trained({"--steps", "100000000", "--minutes", "0.01", "--save", scratch / "s"});
  EXPECT_HAS(out, "of 100000000: --minutes 0.01");
  EXPECT_TRUE(std::filesystem::exists(scratch / "s/latest"));
}

TEST_F(Training, StopsWithASentence) {
  EXPECT_HAS(runMain(toy::program(), {}).err, "trains on data: add --data FILE");
  writeFile(scratch / "wide", someText(500) + "\xff" + someText(500));
  Outcome wide = runMain(toy::program(), {"--data", scratch / "wide", "--steps", "100"});
  EXPECT_EQ(wide.code, 1);
  EXPECT_HAS(wide.err, "byte 500: token 255 is outside the vocabulary of 128");
  EXPECT_HAS(failed({"--steps", "1", "--metrics", scratch / "no/m"}), "cannot write");
  EXPECT_HAS(failed({"--steps", "1", "--save", data()}), "text");
  EXPECT_HAS(failed({"--steps", "1", "--eval", scratch / "absent"}), "absent");
  // An error before the first step, which would leave its metrics.
  failed({"--steps", "1", "--eval", scratch / "absent", "--metrics", scratch / "none"});
  EXPECT_EQ(readFile(scratch / "none"), "");
  helpers::writeFile(scratch / "file", "x");
  EXPECT_HAS(failed({"--steps", "1", "--save", scratch / "file" + "/below"}), "file");
  tp_program program = toy::program();
  program.cpu = "avx9";
  EXPECT_HAS(runMain(program, {}).err, "'avx9'");
}

TEST_F(Training, StopsWhenTheLossIsNotFinite) {
  tp_program program = toy::program();
  tp_lr_piece steep = {0, 1000, 1e38, 1e38, TP_FLAT};
  program.lr = &steep;
  program.num_lr = 1;
  Outcome outcome = runMain(program, {"--data", data(), "--steps", "50", "--save", scratch / "s",
                                      "--metrics", scratch / "m"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.err, "lower the learning rate");
  EXPECT_HAS(readFile(scratch / "m"), "null");
  EXPECT_FALSE(std::filesystem::exists(scratch / "s/latest"));
}

TEST_F(Training, SaysWhereF16Ends) {
  tp_program program = toy::program();
  tp_lr_piece steep = {0, 1000, 1e38, 1e38, TP_FLAT};
  program.lr = &steep, program.num_lr = 1;
  program.scale = 1, program.scale_offset = -1;
  Outcome outcome = runMain(program, {"--data", data(), "--steps", "50"});
  EXPECT_HAS(outcome.err, "f16 ends at 65504: train in bf16, lower the learning rate");
  EXPECT_EQ(outcome.err.find("-nan"), std::string::npos) << outcome.err;
}

TEST_F(Training, GoesOnWhereAMetricMayBeInfinite) {
  tp_program program = toy::program();
  tp_lr_piece steep = {0, 1000, 1e38, 1e38, TP_FLAT};
  program.lr = &steep;
  program.num_lr = 1;
  std::vector<tp_metric> metrics(program.metrics, program.metrics + program.num_metrics);
  for (tp_metric &metric : metrics)
    metric.unbounded = 1;
  program.metrics = metrics.data();
  Outcome outcome =
      runMain(program, {"--data", data(), "--steps", "50", "--metrics", scratch / "m"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_HAS(readFile(scratch / "m"), "null");
}

TEST_F(Training, WritesGradientsWithoutTheirScale) {
  auto gradients = [&](double scale) {
    tp_program program = toy::program();
    program.scale = scale, program.scale_offset = -1;
    Outcome outcome =
        runMain(program, {"--data", data(), "--steps", "1", "--dump-gradients", scratch / "g"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::string text = readFile(scratch / "g");
    uint64_t header;
    memcpy(&header, text.data(), sizeof header);
    std::vector<float> values((text.size() - 8 - header) / sizeof(float));
    memcpy(values.data(), text.data() + 8 + header, values.size() * sizeof(float));
    return values;
  };
  std::vector<float> plain = gradients(0), scaled = gradients(1024);
  ASSERT_EQ(plain.size(), scaled.size());
  EXPECT_NE(*std::max_element(plain.begin(), plain.end()), 0);
  for (size_t i = 0; i < plain.size(); ++i)
    ASSERT_EQ(scaled[i] * 1024, plain[i]);
}

TEST_F(Training, RefusesInputsThatItCannotServe) {
  tp_program program = toy::program();
  tp_input two[] = {program.inputs[0], program.inputs[0]};
  two[1].source = "code";
  program.inputs = two;
  program.num_inputs = 2;
  EXPECT_HAS(runMain(program, {"--data", data()}).err, "streams 'text' and 'code'");
  two[1].source = two[0].source;
  two[1].rows = 1;
  EXPECT_HAS(runMain(program, {"--data", data()}).err, "have 3 and 1 rows");
}

//===- damaged-files-test.cpp - what a training says of files that are no longer whole ---===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/disk/data.h"
#include "runtime/disk/safetensors.h"
#include "runtime/support/files.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include <sys/resource.h>

using namespace tplan::runtime;
using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;
namespace filesystem = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace {

struct DamagedFiles : testing::Test {
  DamagedFiles() { writeFile(data, someText(20000)); }
  Outcome train(std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", data, "--threads", "1"});
    return runMain(toy::program(), more);
  }
  void trained(std::vector<std::string> more) {
    Outcome outcome = train(std::move(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  std::string failed(std::vector<std::string> more) {
    Outcome outcome = train(std::move(more));
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    return outcome.err;
  }
  void flip(const std::string &path, size_t fromEnd) {
    std::string bytes = readFile(path);
    bytes[bytes.size() - fromEnd] ^= 4;
    writeFile(path, bytes);
  }
  Scratch scratch;
  std::string data = scratch / "text";
};

} // namespace

TEST_F(DamagedFiles, AFileThatShrinksIsAnErrorWithItsName) {
  TokenStream stream;
  ASSERT_OK(stream.open({data}, 17, 16));
  filesystem::resize_file(data, 100);
  int32_t row[17];
  Status status;
  for (int64_t i = 0; i < 100 && status.ok(); ++i)
    status = stream.readRow(1, i, 17, 256, row);
  EXPECT_FAILS(status, data, "has become shorter while it was in use: it had 20000 bytes");
}

TEST_F(DamagedFiles, AFileThatShrinksEndsAllRanks) {
  for (const tp_program &program : {toy::program(), toy::program(toy::named("Rows"))}) {
    writeFile(data, someText(20000));
    std::thread cutter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      filesystem::resize_file(data, 0);
    });
    Outcome outcome = runMain(program, {"--data", data, "--steps", "100000000", "--minutes", "1"});
    cutter.join();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_HAS(outcome.err, data + "' has become shorter");
  }
}

TEST_F(DamagedFiles, MoreFilesThanDescriptors) {
  rlimit old, few;
  getrlimit(RLIMIT_NOFILE, &old);
  few = old, few.rlim_cur = 600;
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<std::string> names;
  for (int i = 0; i < 700; ++i)
    writeFile(names.emplace_back(scratch / std::to_string(i)), someText(40, i));
  TokenStream stream;
  EXPECT_OK(stream.open(names, 17, 16));
  int32_t row[17];
  for (int64_t i = 0; i < stream.windows(); ++i)
    ASSERT_OK(stream.readRow(1, i, 17, 256, row));
  // One that is opened again is still the same.
  filesystem::rename(names[1], names[699]);
  Status status;
  for (int64_t i = 0; i < stream.windows() && status.ok(); ++i)
    status = stream.readRow(1, i, 17, 256, row);
  EXPECT_FAILS(status, names[699], "is another file than when it was opened");
  setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(DamagedFiles, EvaluationIsCheckedBeforeTheFirstStep) {
  writeFile(scratch / "wide", someText(3000) + "\xfe");
  writeFile(scratch / "empty", "");
  std::string metrics = scratch / "m";
  auto refused = [&](const std::string &file) {
    std::string error = failed({"--steps", "2", "--eval", file, "--metrics", metrics});
    EXPECT_FALSE(pathExists(metrics)) << file; // it is opened after the checks
    return error;
  };
  EXPECT_HAS(refused(scratch / "wide"), "wide', byte 3000: token 254 is outside the vocabulary");
  EXPECT_HAS(refused(scratch / "empty"), "nothing to predict");
  EXPECT_HAS(refused(scratch / "absent"), "absent");
}

TEST_F(DamagedFiles, DataOfOneTokenIsToldOfAndPaddingIsRefused) {
  writeFile(data, std::string(4000, 'a'));
  Outcome same = train({"--steps", "1"});
  EXPECT_EQ(same.code, 0);
  EXPECT_HAS(same.err, "warning: all tokens are token 97: there is nothing to learn from '" + data);
  data = "i32:" + (scratch / "padding");
  writeFile(scratch / "padding", std::string(4000, '\xff'));
  EXPECT_HAS(failed({"--steps", "1"}), "all tokens are below 0, which is padding");
}

TEST_F(DamagedFiles, ADamagedCheckpointNamesTheLastWholeOne) {
  std::string save = scratch / "s";
  trained({"--steps", "6", "--save", save, "--save-every", "2", "--save-keep", "0"});
  trained({"--steps", "4", "--save", scratch / "four"});
  trained({"--steps", "7", "--save", scratch / "four", "--resume"});
  flip(save + "/step-00000006/model.safetensors", 9);
  std::vector<std::string> resume = {"--steps", "7", "--save", save, "--resume"};
  std::string error = failed(resume);
  EXPECT_HAS(error, "step-00000006/model.safetensors' is damaged");
  EXPECT_HAS(error, "the last whole checkpoint is step-00000004: go on from it with --resume 4");
  flip(save + "/step-00000004/optimizer.safetensors", 9);
  EXPECT_HAS(failed(resume), "--resume 2");
  flip(save + "/step-00000004/optimizer.safetensors", 9);
  writeFile(save + "/latest", "step-00000099\n");
  EXPECT_HAS(failed(resume), "--resume 4");
  writeFile(save + "/latest", "nonsense\n");
  EXPECT_HAS(failed(resume), "--resume 4");
  // What is asked for is not replaced by another.
  resume.push_back("3");
  EXPECT_HAS(failed(resume), "has checkpoints of the steps 6, 4, 2; --resume is 3");
  resume.back() = "6";
  EXPECT_HAS(failed(resume), "--resume 4");
  resume.back() = "4";
  trained(resume);
  EXPECT_EQ(readFile(save + "/step-00000007/model.safetensors"),
            readFile(scratch / "four/step-00000007/model.safetensors"));
  EXPECT_EQ(readFile(save + "/latest"), "step-00000007\n");
  for (const char *step : {"6", "7"}) // the newest two, which the plan keeps
    filesystem::resize_file(save + "/step-0000000" + step + "/state.json", 3);
  resume.pop_back();
  EXPECT_HAS(failed(resume), "holds no other whole checkpoint");
}

TEST_F(DamagedFiles, RanksFindTheLastWholeOneTogether) {
  std::string save = scratch / "s";
  trained({"--steps", "4", "--save", save, "--save-every", "2", "--save-keep", "0"});
  flip(save + "/step-00000004/model.safetensors", 9);
  Outcome outcome = runMain(toy::program(toy::named("Rows")),
                            {"--data", data, "--steps", "5", "--save", save, "--resume"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.err, "--resume 2");
}

TEST_F(DamagedFiles, ResumeTakesAStepOrNone) {
  EXPECT_HAS(train({"--save", scratch / "s", "--resume=x"}).err,
             "--resume takes a whole number of at least 0, found 'x'");
  EXPECT_EQ(train({"--save", scratch / "s", "--resume", "-1"}).code, 2);
}

TEST_F(DamagedFiles, WeightsThatAreNoNumbersAreFound) {
  trained({"--steps", "1", "--save", scratch / "s"});
  std::string model = scratch / "s/step-00000001/model.safetensors", bytes = readFile(model),
              copy = scratch / "copy.safetensors";
  SafetensorsFile file;
  ASSERT_OK(file.open(model));
  const StoredTensor &tensor = file.tensors().at("head.weight");
  ASSERT_EQ(tensor.shape, (std::vector<int64_t>{128, 128}));
  auto with = [&](float value, int64_t element) {
    std::string changed = bytes;
    memcpy(&changed[tensor.offset + 4 * element], &value, 4);
    writeFile(copy, changed);
    return failed({"--steps", "0", "--load", copy});
  };
  EXPECT_HAS(with(NAN, 128 * 127 + 5), copy + "': tensor 'head.weight', element [127, 5], is no "
                                              "finite number: nan");
  EXPECT_HAS(with(-INFINITY, 0), "element [0, 0], is no finite number: infinity");
  writeFile(copy, bytes);
  trained({"--steps", "0", "--load", copy});
}

TEST_F(DamagedFiles, LoadedWeightsAreThoseOfTheManifestBeside) {
  trained({"--steps", "1", "--save", scratch / "s"});
  std::string folder = scratch / "s/step-00000001", model = folder + "/model.safetensors";
  flip(model, 5);
  EXPECT_HAS(failed({"--steps", "0", "--load", model}), "is damaged: its checksum");
  flip(model, 5);
  trained({"--steps", "0", "--load", model});
  filesystem::resize_file(folder + "/manifest.json", 20);
  EXPECT_HAS(failed({"--steps", "0", "--load", model}), "manifest.json");
  filesystem::remove(folder + "/manifest.json");
  flip(model, 5); // a low bit, whose damage nothing can detect now
  trained({"--steps", "0", "--load", model});
}

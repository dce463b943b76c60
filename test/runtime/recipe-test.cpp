//===- recipe-test.cpp - files that a recipe names ------------------------------===//
//
// What a training reads, scores and saves where the command line says nothing, and the messages
// about files that seem to be something else.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/disk/data.h"
#include "runtime/disk/data_check.h"

#include <limits>

using namespace tplan::runtime;
using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define EXPECT_LACKS(text, part) EXPECT_EQ((text).find(part), std::string::npos) << (text)

namespace {

constexpr int32_t unstated = -1, asU16 = 1;

std::string wide(const std::string &text, int bytes) {
  std::string ids;
  for (char c : text)
    ids += c + std::string(bytes - 1, '\0');
  return ids;
}

/// The toy with a recipe of its own.
struct Recipe : testing::Test {
  Recipe() {
    writeFile(web1, someText(6000, 1));
    writeFile(web2, someText(5000, 2));
    writeFile(code, someText(4000, 3));
    writeFile(val, someText(900, 4));
    program.data = sources;
    program.num_data = 2;
    program.eval = &eval;
    program.eval_tokens = 500;
    program.eval_every = 4;
    program.save = folder.c_str();
    program.save_every = 3;
    program.save_keep = 1;
    program.steps = 7;
  }
  Outcome run(std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--threads", "1"});
    return runMain(program, options);
  }
  std::string ran(std::vector<std::string> options = {}) {
    Outcome outcome = run(std::move(options));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string failed(std::vector<std::string> options) {
    Outcome outcome = run(std::move(options));
    EXPECT_NE(outcome.code, 0) << outcome.out;
    return outcome.err;
  }
  std::string model(const std::string &of, int step) {
    return readFile(of + format("/step-%08d/model.safetensors", step));
  }

  Scratch scratch;
  std::string web1 = scratch / "web-1", web2 = scratch / "web-2", code = scratch / "code",
              val = scratch / "val", web = scratch / "web-*", folder = scratch / "toy.checkpoint";
  tp_source sources[2] = {{"web", web.c_str(), unstated, 3}, {"code", code.c_str(), unstated, 1}};
  tp_source eval = {"", val.c_str(), unstated, 1};
  tp_program program = toy::program();
};

} // namespace

TEST_F(Recipe, IsWhatNoOptionSays) {
  std::string out = ran();
  EXPECT_HAS(out, "reads  " + web + " as bytes, 0.75 of the rows: 2 files, 11002 tokens\n");
  EXPECT_HAS(out, "reads  " + code + " as bytes, 0.25 of the rows: 4001 tokens\n");
  EXPECT_HAS(out, "scores " + val + " as bytes every 4 steps and at the end: 500 of 901 tokens\n");
  EXPECT_HAS(out,
             "saves  in " + folder + " every 3 steps and at the end, and keeps the newest 1\n");
  EXPECT_HAS(out, "evaluation at step 4: ");
  EXPECT_HAS(out, "over 500 tokens of 1 file");
  EXPECT_HAS(out, "saved step 7");
  EXPECT_FALSE(pathExists(folder + "/step-00000006"));
}

TEST_F(Recipe, OptionsOverrideIt) {
  std::string other = scratch / "other";
  std::string out = ran({"--data", code, "--eval", web1, web2, "--save", other});
  EXPECT_HAS(out, "reads  " + code + " as bytes: 4001 tokens\n");
  EXPECT_HAS(out, "scores " + web1 +
                      " and 1 more as bytes every 4 steps and at the end: 2 files, "
                      "11002 tokens\n");
  EXPECT_HAS(out, "over 11000 tokens of 2 files");
  EXPECT_HAS(out, "saves  in " + other + " every 3");
  EXPECT_FALSE(pathExists(folder));
  out = ran({"--no-save", "--no-eval"});
  EXPECT_LACKS(out, "scores");
  EXPECT_LACKS(out, "saves");
  EXPECT_FALSE(pathExists(folder));
  EXPECT_HAS(ran({"--no-save", "--eval-tokens", "0", "--eval-every", "0"}), "over 900 tokens");
  EXPECT_HAS(failed({"--save", other, "--no-save"}), "--save and --no-save contradict each other");
  EXPECT_HAS(failed({"--eval", val, "--no-eval"}), "--eval and --no-eval contradict each other");
  EXPECT_HAS(failed({"--no-eval", "--eval-tokens", "5"}), "--eval-tokens is about files");
  EXPECT_HAS(failed({"--no-save", "--resume"}), "--resume needs --save");
}

TEST_F(Recipe, MissingFilesSayWhoNamedThem) {
  sources[1].path = "absent";
  EXPECT_HAS(failed({}), "; --data names others than the recipe's");
  sources[1].path = "absent-*";
  EXPECT_HAS(failed({}), "no file matches 'absent-*'; --data names");
  EXPECT_LACKS(failed({"--data", "absent"}), "names others");
  eval.path = "absent";
  EXPECT_HAS(failed({"--data", code}), "--no-eval scores none");
}

TEST_F(Recipe, AMixtureIsReadByWeightAndPlace) {
  tp_rank rank;
  rank.program = &program;
  ASSERT_OK(rank.arena.map(program.arena_bytes));
  Loader loader;
  ASSERT_OK(loader.open(rank, {{"web", 3, {web}}, {"code", 1, {code}}}, toy::length));
  EXPECT_EQ(loader.tokens(), 15003);
  EXPECT_EQ(loader.mixed(), "web 3 of 11002 tokens, code 1 of 4001 tokens");
  TokenStream streams[2];
  ASSERT_OK(streams[0].open({web1, web2}, toy::length, toy::length - 1, 0));
  ASSERT_OK(streams[1].open({code}, toy::length, toy::length - 1, 1));
  int64_t read[2] = {}, row = 0;
  for (int64_t step = 1; step <= 40; ++step) {
    ASSERT_OK(loader.fill(rank, 11, step));
    auto *found = (const int32_t *)(rank.arena.data() + program.inputs[0].offset);
    for (int64_t i = 0; i < rowsPerStep(program); ++i, ++row, found += toy::length) {
      int source = row % 4 == 0 ? 1 : 0; // of each four one
      int32_t wanted[toy::length];
      ASSERT_OK(streams[source].readRow(11, read[source]++, toy::length, 128, wanted));
      EXPECT_TRUE(std::equal(wanted, wanted + toy::length, found)) << "row " << row;
    }
  }
}

TEST_F(Recipe, EqualSourcesAreInOrdersOfTheirOwn) {
  TokenStream one, other;
  ASSERT_OK(one.open({code}, toy::length, toy::length - 1, 0));
  ASSERT_OK(other.open({code}, toy::length, toy::length - 1, 1));
  int differ = 0;
  for (int64_t position = 0; position < 50; ++position) {
    int32_t a[toy::length], b[toy::length];
    ASSERT_OK(one.readRow(1, position, toy::length, 128, a));
    ASSERT_OK(other.readRow(1, position, toy::length, 128, b));
    differ += !std::equal(a, a + toy::length, b);
  }
  EXPECT_GT(differ, 40);
}

TEST_F(Recipe, AMixtureGoesOnWhereItWas) {
  std::string whole = scratch / "whole";
  ran({"--steps", "9", "--save", whole});
  ran({"--steps", "4"});
  ran({"--steps", "9", "--resume"});
  EXPECT_EQ(model(folder, 9), model(whole, 9));
  sources[0].weight = 4;
  EXPECT_HAS(failed({"--steps", "12", "--resume"}),
             "data of another mixture, web 3 of 11002 tokens");
  program.num_data = 1;
  EXPECT_HAS(failed({"--steps", "12", "--resume"}), "15003 tokens of data, now there are 11002");
}

TEST_F(Recipe, FilesOfIdsAreNoBytes) {
  std::string ids = scratch / "ids", longer = scratch / "longer";
  writeFile(ids, wide(someText(3000), 2));
  writeFile(longer, wide(someText(3000), 4));
  std::string error = failed({"--data", ids});
  EXPECT_HAS(error, "is read as bytes and seems to hold u16");
  EXPECT_LACKS(error, "--no-eval");
  EXPECT_HAS(failed({"--data", longer}), "is read as bytes and seems to hold i32");
  EXPECT_HAS(failed({"--eval", ids}), "is read as bytes and seems to hold u16");
  Outcome stated = run({"--data", "u16:" + longer, "--no-save"});
  EXPECT_EQ(stated.code, 0) << stated.err;
  EXPECT_HAS(stated.err, "warning: '" + longer + "' is read as u16 and seems to hold i32");
  EXPECT_EQ(run({"--data", "bytes:" + ids, "--no-save"}).code, 0);
  stated = run({"--data", "u16:" + ids, "--no-save"});
  EXPECT_EQ(stated.code, 0) << stated.err;
  EXPECT_EQ(stated.err, "");
  sources[0] = {"ids", ids.c_str(), asU16, 1};
  program.num_data = 1;
  EXPECT_HAS(ran({"--no-save"}), "reads  " + ids + " as u16: 3000 tokens");
}

TEST_F(Recipe, WhatIsNoTokensIsToldByItsBeginning) {
  std::string file = scratch / "file", rest = someText(2000);
  for (std::string_view begin : {std::string_view("\x93NUMPY\x01\x00", 8),
                                 {"PK\x03\x04", 4},
                                 {"\x1f\x8b\x08", 3},
                                 {"\x28\xb5\x2f\xfd", 4},
                                 {"BZh", 3},
                                 {"PAR1", 4},
                                 {"MMIDIDX\0", 8},
                                 {"\x88\xd8\x34\x01", 4},
                                 {"\x20\x00\0\0\0\0\0\0{\"", 10}}) {
    writeFile(file, (std::string(begin) + rest).substr(0, 2000)); // whole ids of two bytes
    EXPECT_HAS(failed({"--data", file}), "is no file of tokens, for it begins as");
    EXPECT_HAS(failed({"--data", "u16:" + file + ",u16:" + file}), "is no file of tokens");
    EXPECT_LACKS(run({"--data", "bytes:" + file, "--no-save"}).err, "no file of tokens");
  }
}

TEST_F(Recipe, BytesAreNoTokensOfALargeVocabulary) {
  std::string warnings;
  DataSource source{"data", 1, {code}};
  Status status = checkTrainingFiles(source, 50257, warnings);
  EXPECT_HAS(status.message(),
             "write u16:, i32: or bytes: before its name; the vocabulary has 50257");
  source.files = {"bytes:" + code};
  EXPECT_OK(checkTrainingFiles(source, 50257, warnings));
  EXPECT_HAS(warnings, "is read as bytes, ids below 256, and the vocabulary has 50257");
  // Nothing looks the ids up.
  source.files = {code};
  EXPECT_OK(checkTrainingFiles(source, std::numeric_limits<int32_t>::max(), warnings));
}

TEST_F(Recipe, SamplesOfIdsAreIds) {
  std::string ids = scratch / "ids";
  writeFile(ids, wide(someText(3000), 2));
  auto sample = [&](const char *text) {
    return run({"--steps", "1", "--data", "u16:" + ids, "--no-save", "--no-eval", "--sample", text,
                "--sample-bytes", "4"});
  };
  std::string out = sample(" 97, 98\n99 ").out;
  EXPECT_HAS(out, "sample:\n97 98 99 ");
  std::string drawn = out.substr(out.find("sample:\n") + 8);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), ' '), 6) << drawn;
  EXPECT_HAS(sample("the la").err,
             "--sample takes their ids, as a tokenizer makes them, \"464 3290\": "
             "found 'the'");
  EXPECT_HAS(sample("-1").err, "found '-1'");
  EXPECT_HAS(sample("97 128").err, "token 1 of --sample is outside the vocabulary of 128: 128");
  EXPECT_HAS(sample(" ").err, "a sample continues at least one token");
}

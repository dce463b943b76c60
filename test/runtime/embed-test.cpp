//===- embed-test.cpp - trainings in a program of a host's ----------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/disk/data.h"
#include "runtime/support/files.h"

#include "tplan/train.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

using helpers::readFile;
using helpers::Scratch;
using helpers::someText;
using helpers::writeFile;

namespace {

/// A training, closed at the end.
struct Held {
  tp_program program = {};
  tp_training *it = nullptr;
  Held() = default;
  Held(const tp_program &of, const tp_options &options) : program(of) {
    EXPECT_EQ(tp_open(&program, &options, &it), TP_DONE) << tp_message(it);
  }
  ~Held() { tp_close(it); }
  Held(const Held &) = delete;
};

struct Embedded : testing::Test {
  Embedded() {
    writeFile(data, someText(20000));
    EXPECT_OK(stream.open({data}, toy::length, toy::length - 1));
    options.threads = 2;
  }

  /// The rows that tp_main reads in a step.
  std::vector<int32_t> rows(int64_t step, int64_t seed = 1) {
    std::vector<int32_t> all(perStep * toy::length);
    for (int64_t row = 0; row < perStep; ++row)
      EXPECT_OK(stream.readRow(seed, (step - 1) * perStep + row, toy::length, toy::vocabulary,
                               all.data() + row * toy::length));
    return all;
  }
  tp_result step(tp_training *training, int64_t number) {
    std::vector<int32_t> tokens = rows(number);
    return tp_step(training, tokens.data(), tokens.size() * sizeof tokens[0]);
  }
  double loss(tp_training *training) {
    const tp_value *values;
    int64_t count;
    EXPECT_EQ(tp_metrics(training, &values, &count), TP_DONE);
    return count ? values[0].value : -1;
  }
  /// Files of a checkpoint that hold numbers of the training.
  void expectSameCheckpoint(const std::string &a, const std::string &b) {
    for (const char *file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(readFile(scratch / (a + "/step-00000012/" + file)),
                readFile(scratch / (b + "/step-00000012/" + file)))
          << file;
  }
  void runMain(const tp_program &program, std::vector<std::string> more) {
    more.insert(more.begin(), {"--data", data, "--threads", "2", "--steps", "12", "--save"});
    helpers::Outcome outcome = helpers::runMain(program, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }

  static constexpr int64_t perStep = toy::rows * toy::microbatches;
  Scratch scratch;
  std::string data = scratch / "text";
  tplan::runtime::TokenStream stream;
  tp_options options = TP_DEFAULTS;
};

#define EXPECT_MESSAGE(training, part)                                                             \
  EXPECT_NE(std::string(tp_message(training)).find(part), std::string::npos) << tp_message(training)

} // namespace

TEST_F(Embedded, TrainsAsTheBinaryDoes) {
  runMain(toy::program(), {scratch / "main"});
  for (const toy::Layout &layout : toy::layouts()) {
    SCOPED_TRACE(layout.name);
    tp_program program = toy::program(layout);
    std::string folder = std::string("of-") + layout.name;
    Held training(program, options);
    tp_facts facts;
    ASSERT_EQ(tp_describe(training.it, &facts), TP_DONE);
    ASSERT_EQ(facts.rows, perStep);
    EXPECT_EQ(facts.length, toy::length);
    EXPECT_EQ(facts.bytes, perStep * toy::length * 4);
    EXPECT_EQ(facts.ranks, layout.ranks());
    EXPECT_EQ(facts.vocabulary, toy::vocabulary);
    for (int64_t i = 1; i <= 12; ++i)
      ASSERT_EQ(step(training.it, i), TP_DONE) << tp_message(training.it);
    ASSERT_EQ(tp_describe(training.it, &facts), TP_DONE);
    EXPECT_EQ(facts.step, 12);
    ASSERT_EQ(tp_save(training.it, (scratch / folder).c_str(), 0), TP_DONE);
    expectSameCheckpoint("main", folder);
  }
}

TEST_F(Embedded, GoesOnFromItsCheckpointAndTheBinarys) {
  runMain(toy::program(), {scratch / "main", "--save-every", "6"});
  std::filesystem::remove_all(scratch / "main/step-00000012");
  writeFile(scratch / "main/latest", "step-00000006\n");
  std::filesystem::copy(scratch / "main", scratch / "half",
                        std::filesystem::copy_options::recursive);
  std::string folder = scratch / "half";
  options.resume = folder.c_str();
  {
    Held training(toy::program(), options);
    tp_facts facts;
    ASSERT_EQ(tp_describe(training.it, &facts), TP_DONE);
    EXPECT_EQ(facts.step, 6);
    for (int64_t i = 7; i <= 12; ++i)
      ASSERT_EQ(step(training.it, i), TP_DONE) << tp_message(training.it);
    ASSERT_EQ(tp_save(training.it, folder.c_str(), 1), TP_DONE) << tp_message(training.it);
  }
  EXPECT_FALSE(std::filesystem::exists(scratch / "half/step-00000006"));
  std::filesystem::remove_all(scratch / "main");
  runMain(toy::program(), {scratch / "main"});
  expectSameCheckpoint("main", "half");
}

/// Each is refused, and changes nothing.
TEST_F(Embedded, RefusesBadArgumentsAndGoesOn) {
  runMain(toy::program(), {scratch / "main"});
  Held training(toy::program(toy::layouts()[0]), options);
  tp_training *it = training.it;
  for (int64_t i = 1; i <= 12; ++i) {
    std::vector<int32_t> tokens = rows(i);
    size_t bytes = tokens.size() * 4;
    for (size_t wrong : {size_t(0), bytes - 4, bytes + 4, SIZE_MAX}) {
      EXPECT_EQ(tp_step(it, tokens.data(), wrong), TP_REFUSED);
      EXPECT_MESSAGE(it, "takes 6 rows of 9 tokens, int32_t, 216 bytes: found " +
                             std::to_string(wrong));
    }
    EXPECT_EQ(tp_step(it, nullptr, bytes), TP_REFUSED);
    EXPECT_MESSAGE(it, "216 bytes: found NULL");
    for (int32_t id : {(int32_t)toy::vocabulary, std::numeric_limits<int32_t>::max()}) {
      std::vector<int32_t> bad = tokens;
      bad[2 * toy::length + 5] = id;
      EXPECT_EQ(tp_step(it, bad.data(), bytes), TP_REFUSED);
      EXPECT_MESSAGE(it, "row 2, place 5: the token is outside the vocabulary of 128, whose ids "
                         "end at 127: " +
                             std::to_string(id));
    }
    ASSERT_EQ(step(it, i), TP_DONE);
  }
  EXPECT_EQ(tp_metrics(it, nullptr, nullptr), TP_REFUSED);
  EXPECT_MESSAGE(it, "found NULL");
  EXPECT_EQ(tp_describe(it, nullptr), TP_REFUSED);
  EXPECT_MESSAGE(it, "found NULL");
  EXPECT_EQ(tp_save(it, nullptr, 0), TP_REFUSED);
  EXPECT_MESSAGE(it, "found NULL");
  EXPECT_EQ(tp_save(it, (scratch / "x").c_str(), -1), TP_REFUSED);
  EXPECT_MESSAGE(it, "found -1");
  // A file where the folder is to be; a folder of another training.
  EXPECT_EQ(tp_save(it, (data + "/x").c_str(), 0), TP_REFUSED);
  EXPECT_MESSAGE(it, data);
  EXPECT_EQ(tp_save(it, (scratch / "main").c_str(), 0), TP_REFUSED);
  EXPECT_MESSAGE(it, "holds the checkpoint step-00000012 of an earlier training");
  ASSERT_EQ(tp_save(it, (scratch / "own").c_str(), 0), TP_DONE) << tp_message(it);
  expectSameCheckpoint("main", "own");
}

TEST_F(Embedded, NullIsAnError) {
  tp_facts facts;
  const tp_value *values;
  int64_t count;
  EXPECT_EQ(tp_open(nullptr, nullptr, nullptr), TP_REFUSED);
  EXPECT_EQ(tp_step(nullptr, nullptr, 0), TP_REFUSED);
  EXPECT_EQ(tp_describe(nullptr, &facts), TP_REFUSED);
  EXPECT_EQ(tp_metrics(nullptr, &values, &count), TP_REFUSED);
  EXPECT_EQ(tp_save(nullptr, "x", 0), TP_REFUSED);
  EXPECT_STREQ(tp_message(nullptr), "there is no training: NULL");
  tp_close(nullptr);
}

TEST_F(Embedded, DoesNotOpenWhatCannotTrain) {
  tp_program program = toy::program();
  auto fails = [&](const tp_program *of, const tp_options *with, const char *part) {
    Held held;
    EXPECT_EQ(tp_open(of, with, &held.it), TP_FAILED) << part;
    EXPECT_MESSAGE(held.it, part);
    EXPECT_EQ(step(held.it, 1), TP_FAILED);
    EXPECT_MESSAGE(held.it, "the training has ended before this call: ");
    EXPECT_MESSAGE(held.it, part);
  };
  fails(nullptr, &options, "found NULL");
  tp_program old = program;
  old.abi_version = 7;
  fails(&old, &options, "compiled for runtime interface 7");
  tp_program foreign = program;
  foreign.cpu = "riscv";
  fails(&foreign, &options, "riscv");
  auto with = [&](auto &&change, const char *part) {
    tp_options wrong = options;
    change(wrong);
    fails(&program, &wrong, part);
  };
  with([](tp_options &o) { o.size -= 8; }, "another version of tplan/train.h");
  with([](tp_options &o) { o.size = 0; }, "begin with TP_DEFAULTS");
  with([](tp_options &o) { o.threads = -1; }, "found -1");
  with([](tp_options &o) { o.hang_seconds = NAN; }, "tp_options.hang_seconds");
  with([](tp_options &o) { o.gpu = -2; }, "found -2");
  with([](tp_options &o) { o.gemm_algorithms = "x"; }, "is about GPUs, and the plan");
  with([](tp_options &o) { o.gemm = "fast"; }, "found 'fast'");
  with([](tp_options &o) { o.load = "/no/such"; }, "'/no/such'");
  with([](tp_options &o) { o.resume = "/no/such"; }, "'/no/such'");
  with([](tp_options &o) { o.resume = "/tmp", o.load = "x"; }, "choose one of 'x' and '/tmp'");
  with([&](tp_options &o) { o.resume = scratch.path.c_str(); }, scratch.path.c_str());
  with([&](tp_options &o) { o.load = data.c_str(); }, data.c_str());
  // The environment is a host's: it is looked at where that is asked for, and never changed.
  tp_device device = {};
  tp_program ofGpu = program;
  ofGpu.device = &device;
  tp_options looks = options;
  looks.environment = 1;
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  fails(&ofGpu, &looks, "NVIDIA_TF32_OVERRIDE=1 is in the environment");
  EXPECT_STREQ(getenv("NVIDIA_TF32_OVERRIDE"), "1");
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

/// The step of rank 1 alone fails; all of them end, and a training beside them goes on.
TEST_F(Embedded, AFailedRankEndsItsTrainingAlone) {
  tp_program broken = toy::program(toy::layouts()[0]);
  static int (*sound)(tp_rank *, char *);
  sound = broken.step;
  static std::atomic<int> ranks;
  ranks = 0;
  broken.step = [](tp_rank *rank, char *arena) { return ranks++ == 1 ? 1 : sound(rank, arena); };
  Held other(toy::program(), options), training(broken, options);
  ASSERT_EQ(step(other.it, 1), TP_DONE);
  EXPECT_EQ(step(training.it, 1), TP_FAILED);
  EXPECT_MESSAGE(training.it, "a step failed without a message");
  EXPECT_EQ(step(training.it, 1), TP_FAILED);
  EXPECT_MESSAGE(training.it, "the training has ended before this call: rank ");
  EXPECT_EQ(tp_save(training.it, (scratch / "x").c_str(), 0), TP_FAILED);
  ASSERT_EQ(step(other.it, 2), TP_DONE);
}

TEST_F(Embedded, ALossThatIsNoNumberEndsIt) {
  tp_program program = toy::program();
  static int64_t offset;
  offset = program.metrics[0].offset;
  ASSERT_EQ(program.metrics[0].type, TP_F32);
  program.step = [](tp_rank *, char *arena) {
    *(float *)(arena + offset) = NAN;
    return 0;
  };
  Held training(program, options);
  EXPECT_EQ(step(training.it, 1), TP_FAILED);
  EXPECT_MESSAGE(training.it, "loss is nan in step 1");
}

TEST_F(Embedded, TellsItsLinesToTheHostAlone) {
  std::string told;
  options.log = [](void *user, tp_level level, const char *line) {
    *(std::string *)user += std::string(level == TP_NEWS ? "news: " : "warning: ") + line + "|";
  };
  options.user = &told;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Held training(toy::program(toy::layouts()[0]), options);
    EXPECT_EQ(step(training.it, 1), TP_DONE);
    EXPECT_EQ(tp_save(training.it, (scratch / "s").c_str(), 0), TP_DONE);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(told, "news: saved step 1 in '" + (scratch / "s") + "'|");
}

TEST_F(Embedded, ReadsTheEnvironmentWhereItIsAsked) {
  setenv("TPLAN_GEMM", "nonsense", 1);
  tp_program program = toy::program();
  Held deaf(program, options);
  EXPECT_EQ(step(deaf.it, 1), TP_DONE);
  options.environment = 1;
  Held training;
  EXPECT_EQ(tp_open(&program, &options, &training.it), TP_FAILED);
  EXPECT_MESSAGE(training.it, "'nonsense'");
  unsetenv("TPLAN_GEMM");
}

TEST_F(Embedded, TrainsManyAtOnce) {
  runMain(toy::program(), {scratch / "main"});
  std::vector<std::thread> hosts;
  for (int i = 0; i < 4; ++i)
    hosts.emplace_back([this, i] {
      Held training(toy::program(toy::layouts()[i]), options);
      for (int64_t number = 1; number <= 12; ++number)
        EXPECT_EQ(step(training.it, number), TP_DONE) << tp_message(training.it);
      EXPECT_EQ(tp_save(training.it, (scratch / std::to_string(i)).c_str(), 0), TP_DONE);
    });
  for (std::thread &host : hosts)
    host.join();
  for (int i = 0; i < 4; ++i)
    expectSameCheckpoint("main", std::to_string(i));
}

//===- cuda-attention-test.cpp - attention as graphs of cuDNN's, against formulas ---===//
//
// The runtime's graphs on the stand-in, whose driver is this test's own: memory that only the
// library reaches, and a stream.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_attention.h"
#include "test/standin/libraries/fake-driver.h"
#include "test/standin/libraries/numbers.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <dlfcn.h>

using namespace tplan::runtime;
using standin::Brain, standin::Half;

namespace {

enum Operand { Q, K, V, Out, DOut, DQ, DK, DV, Operands };

struct Problem {
  const char *name = "";
  int64_t batch = 2, heads = 4, groups = 2, queries = 40, keys = 40, width = 16;
  bool causal = true;
  int64_t window = 0;
  bool headsFirst = false; // [batch, heads, rows, width], else [batch, rows, heads, width]
  int64_t batchChunk = 0, groupChunk = 0; // 0: all
  bool half = false;                      // f16 in place of bf16
};

const Problem problems[] = {
    {"groups"},
    {.name = "heads of their own", .heads = 3, .groups = 3, .queries = 24, .keys = 56, .width = 8},
    {.name = "all keys", .batch = 1, .groups = 1, .queries = 70, .keys = 33, .causal = false},
    {.name = "window", .queries = 100, .keys = 100, .width = 64, .window = 17},
    {.name = "window of one", .window = 1},
    {.name = "heads first", .queries = 33, .keys = 47, .headsFirst = true},
    {.name = "one query", .queries = 1, .keys = 20, .causal = false},
    {.name = "tiles",
     .batch = 1,
     .heads = 2,
     .groups = 1,
     .queries = 130,
     .keys = 130,
     .width = 128},
    {.name = "f16", .half = true},
    {.name = "f16 in a window", .queries = 60, .keys = 60, .width = 64, .window = 9, .half = true},
};

/// A number of the device.
void write(const Problem &it, Brain *to, float x) {
  if (Half half(x); it.half)
    memcpy((void *)to, &half, sizeof half);
  else
    *to = Brain(x);
}
float read(const Problem &it, const Brain *from) {
  Half half(0);
  memcpy((void *)&half, from, sizeof half);
  return it.half ? (float)half : (float)*from;
}

/// Values of an operand in f32, and its place on the device.
struct Array {
  std::vector<float> values;
  Brain *device = nullptr;
  int64_t heads, rows;
};

class Attention {
public:
  explicit Attention(const Problem &problem) : it(problem) {
    for (int i = 0; i < Operands; ++i) {
      bool ofKeys = i == K || i == V || i == DK || i == DV;
      Array &array = arrays[i];
      array.heads = ofKeys ? it.groups : it.heads;
      array.rows = ofKeys ? it.keys : it.queries;
      array.values.resize(it.batch * array.heads * array.rows * it.width);
      array.device = fake::allocateAs<Brain>(array.values.size());
      for (size_t n = 0; n < array.values.size(); ++n) {
        Brain *number = fake::hostAs<Brain>(array.device) + n;
        write(it, number, (float)std::sin(1.7 * n + 3 * i) + 0.1f * i);
        array.values[n] = read(it, number);
      }
    }
    lse.resize(it.batch * it.heads * it.queries);
    lseDevice = fake::allocateAs<float>(lse.size());
    for (size_t i = 0; i < lse.size(); ++i)
      fake::hostAs<float>(lseDevice)[i] = NAN;
  }
  ~Attention() {
    for (Array &array : arrays)
      fake::release(array.device);
    fake::release(lseDevice);
    fake::release(workspace);
  }
  Attention(const Attention &) = delete;

  /// Issues a pass, after the stream; with `edit`, changed before.
  Status issue(tp_attention_pass pass, const std::function<void(tp_attention &)> &edit = {}) {
    tp_attention call = {};
    call.pass = pass, call.type = it.half ? TP_F16 : TP_BF16;
    call.batch = it.batch, call.heads = it.heads, call.groups = it.groups;
    call.queries = it.queries, call.keys = it.keys, call.width = it.width;
    call.batch_chunk = it.batchChunk ? it.batchChunk : it.batch;
    call.group_chunk = it.groupChunk ? it.groupChunk : it.groups;
    call.causal = it.causal, call.window = it.window, call.scale = scale();
    int64_t heads = call.batch_chunk * call.group_chunk * it.heads / it.groups;
    auto whole = [](int64_t n) { return (n + 127) / 128 * 128; };
    call.workspace = heads * (2 * whole(it.queries) * whole(it.keys) + 4 * it.queries +
                              4 * whole(it.keys) * it.width) +
                     65536;
    std::vector<int> order = {Q, K, V, Out, DOut, -1, DQ, DK, DV};
    if (pass == TP_ATTENTION_FORWARD)
      order = {Q, K, V, Out, -1};
    std::vector<void *> pointers;
    std::vector<int64_t> strides;
    for (int i : order) {
      if (i < 0) {
        pointers.push_back(lseDevice);
        strides.insert(strides.end(), {it.heads * it.queries, it.queries, 1});
        continue;
      }
      const Array &array = arrays[i];
      pointers.push_back(array.device);
      int64_t all = array.heads * array.rows * it.width;
      if (it.headsFirst)
        strides.insert(strides.end(), {all, array.rows * it.width, it.width});
      else
        strides.insert(strides.end(), {all, it.width, array.heads * it.width});
    }
    call.strides = strides.data();
    int64_t given = call.workspace;
    if (edit)
      edit(call);
    fake::release(workspace);
    workspace = fake::allocate(given);
    attention.start(workspace, given);
    return attention.run(call, pointers.data(), (cuda::StreamHandle *)&stream);
  }

  void run(tp_attention_pass pass) {
    Status status = issue(pass);
    ASSERT_TRUE(status.ok()) << status.message();
    stream.synchronize();
    fetch();
  }
  void fetch() {
    for (Array &array : arrays)
      for (size_t n = 0; n < array.values.size(); ++n)
        array.values[n] = read(it, fake::hostAs<Brain>(array.device) + n);
    memcpy(lse.data(), fake::host(lseDevice), lse.size() * sizeof(float));
  }

  double scale() const { return 1 / std::sqrt((double)it.width); }
  float at(int operand, int64_t b, int64_t head, int64_t row, int64_t column) const {
    return arrays[operand].values[place(operand, b, head, row, column)];
  }
  int64_t place(int operand, int64_t b, int64_t head, int64_t row, int64_t column) const {
    const Array &array = arrays[operand];
    int64_t at = it.headsFirst ? (b * array.heads + head) * array.rows + row
                               : (b * array.rows + row) * array.heads + head;
    return at * it.width + column;
  }
  bool sees(int64_t query, int64_t key) const {
    return (!it.causal || key <= query) && (!it.window || query - it.window < key);
  }

  Problem it;
  std::array<Array, Operands> arrays;
  std::vector<float> lse;
  fake::Stream stream;
  CudaAttention attention;

private:
  float *lseDevice = nullptr;
  void *workspace = fake::allocate(256);
};

/// What attention is, in double.
struct Formula {
  std::array<std::vector<double>, Operands> values;
  std::vector<double> lse;

  explicit Formula(const Attention &a) {
    const Problem &it = a.it;
    for (int i = 0; i < Operands; ++i)
      values[i].assign(a.arrays[i].values.size(), 0);
    for (int64_t b = 0; b < it.batch; ++b)
      for (int64_t h = 0; h < it.heads; ++h)
        for (int64_t s = 0; s < it.queries; ++s)
          row(a, b, h, s);
  }

private:
  void row(const Attention &a, int64_t b, int64_t h, int64_t s) {
    const Problem &it = a.it;
    int64_t g = h / (it.heads / it.groups);
    auto dot = [&](int left, int right, int64_t key) {
      double sum = 0;
      for (int64_t k = 0; k < it.width; ++k)
        sum += (double)a.at(left, b, h, s, k) * a.at(right, b, g, key, k);
      return sum;
    };
    std::vector<double> p(it.keys, 0), dP(it.keys, 0);
    double sum = 0, delta = 0;
    for (int64_t key = 0; key < it.keys; ++key)
      if (a.sees(s, key))
        sum += p[key] = std::exp(a.scale() * dot(Q, K, key));
    lse.push_back(std::log(sum));
    for (int64_t key = 0; key < it.keys; ++key) {
      p[key] /= sum;
      dP[key] = dot(DOut, V, key);
      delta += p[key] * dP[key];
    }
    auto add = [&](int operand, int64_t head, int64_t row, int64_t k, double x) {
      values[operand][a.place(operand, b, head, row, k)] += x;
    };
    for (int64_t key = 0; key < it.keys; ++key)
      for (int64_t k = 0; k < it.width; ++k) {
        double dS = a.scale() * p[key] * (dP[key] - delta);
        add(Out, h, s, k, p[key] * a.at(V, b, g, key, k));
        add(DV, g, key, k, p[key] * a.at(DOut, b, h, s, k));
        add(DQ, h, s, k, dS * a.at(K, b, g, key, k));
        add(DK, g, key, k, dS * a.at(Q, b, h, s, k));
      }
  }
};

/// Differences by norm: that of the difference, over that of the expected values if it is not zero.
double distance(const std::vector<float> &found, const std::vector<double> &expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / (size > 0 ? size : 1));
}

std::string messageOf(const Status &status) { return status.ok() ? "" : status.message(); }
void expectText(const Status &status, const char *text) {
  EXPECT_NE(messageOf(status).find(text), std::string::npos) << messageOf(status);
}

class CudaAttentionTest : public testing::Test {
protected:
  void SetUp() override { setenv("TPLAN_CUDNN", STANDIN_CUDNN, 1); }
  void TearDown() override { unsetenv("STANDIN_CUDNN_VERSION"); }
};

TEST_F(CudaAttentionTest, EqualsTheFormulas) {
  for (const Problem &problem : problems) {
    SCOPED_TRACE(problem.name);
    Attention a(problem);
    Formula expected(a);
    a.run(TP_ATTENTION_FORWARD);
    EXPECT_LT(distance(a.arrays[Out].values, expected.values[Out]), 1e-2);
    for (size_t i = 0; i < a.lse.size(); ++i)
      EXPECT_NEAR(a.lse[i], expected.lse[i], 1e-4) << i;
    a.run(TP_ATTENTION_BACKWARD);
    for (Operand operand : {DQ, DK, DV})
      EXPECT_LT(distance(a.arrays[operand].values, expected.values[operand]), 2e-2) << operand;
  }
}

TEST_F(CudaAttentionTest, ChunksChangeNoBit) {
  for (bool headsFirst : {false, true}) {
    Problem problem = {.batch = 4, .heads = 8, .groups = 4, .queries = 41};
    problem.headsFirst = headsFirst;
    Attention whole(problem);
    whole.run(TP_ATTENTION_FORWARD);
    whole.run(TP_ATTENTION_BACKWARD);
    for (auto [batches, groups] :
         {std::pair(2, 4), std::pair(1, 4), std::pair(1, 2), std::pair(1, 1)}) {
      SCOPED_TRACE(testing::Message() << batches << " " << groups << " " << headsFirst);
      problem.batchChunk = batches, problem.groupChunk = groups;
      Attention parts(problem);
      parts.run(TP_ATTENTION_FORWARD);
      parts.run(TP_ATTENTION_BACKWARD);
      EXPECT_EQ(parts.lse, whole.lse);
      for (Operand operand : {Out, DQ, DK, DV})
        EXPECT_EQ(parts.arrays[operand].values, whole.arrays[operand].values) << operand;
    }
  }
}

TEST_F(CudaAttentionTest, ACapturedPassRunsAgain) {
  Attention a({});
  a.run(TP_ATTENTION_FORWARD);
  std::vector<float> out = a.arrays[Out].values;
  a.stream.beginCapture();
  ASSERT_TRUE(a.issue(TP_ATTENTION_FORWARD).ok());
  fake::Graph graph = a.stream.endCapture();
  for (int run = 0; run < 2; ++run) {
    memset(fake::host(a.arrays[Out].device), 0, out.size() * sizeof(Brain));
    a.stream.push(graph);
    a.stream.synchronize();
    a.fetch();
    EXPECT_EQ(a.arrays[Out].values, out);
  }
}

TEST_F(CudaAttentionTest, SaysThatTheLibraryIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process that has not loaded it
  EXPECT_EXIT(
      {
        setenv("TPLAN_CUDNN", "/nowhere/libcudnn.so.9", 1);
        fprintf(stderr, "%s\n", messageOf(Attention({}).issue(TP_ATTENTION_FORWARD)).c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot load cuDNN as TPLAN_CUDNN names it.*--attention=generated needs no cuDNN");
}

/// cuDNN's engines ask the loader for it by name, wherever cuDNN itself was found.
TEST_F(CudaAttentionTest, LoadsTheCompilerWhereverItIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process that has not loaded it
  EXPECT_EXIT(
      {
        unsetenv("TPLAN_NVIDIA");
        setenv("TPLAN_NVRTC", STANDIN_CUBLASLT, 1); // any that nobody has loaded
        bool before = dlopen(STANDIN_CUBLASLT, RTLD_NOW | RTLD_NOLOAD);
        Attention({}).run(TP_ATTENTION_FORWARD);
        bool behind = dlopen(STANDIN_CUBLASLT, RTLD_NOW | RTLD_NOLOAD);
        fprintf(stderr, "loaded before: %d, behind: %d\n", before, behind);
        _exit(0);
      },
      testing::ExitedWithCode(0), "loaded before: 0, behind: 1");
}

TEST_F(CudaAttentionTest, RefusesVersionsThatAreWrong) {
  setenv("STANDIN_CUDNN_VERSION", "91001", 1);
  expectText(Attention({}).issue(TP_ATTENTION_FORWARD),
             "cuDNN 9.10.2 is the oldest that is taken, found 9.10.1; a plan that is compiled with "
             "--attention=generated");
  setenv("STANDIN_CUDNN_VERSION", "91500", 1);
  expectText(Attention({}).issue(TP_ATTENTION_BACKWARD),
             "no gradients for a number of keys that 128 does not divide, found 40");
  Attention whole({.keys = 128});
  whole.run(TP_ATTENTION_FORWARD);
  whole.run(TP_ATTENTION_BACKWARD);
}

TEST_F(CudaAttentionTest, StaysWithinItsWorkspace) {
  expectText(
      Attention({}).issue(TP_ATTENTION_BACKWARD, [](tp_attention &it) { it.workspace *= 2; }),
      "bytes, the plan has ");
  expectText(
      Attention({}).issue(TP_ATTENTION_BACKWARD, [](tp_attention &it) { it.workspace = 20000; }),
      "cuDNN 9.19.0 has no engine for it: a workspace of ");
}

TEST_F(CudaAttentionTest, RefusesOtherTypes) {
  auto refusal = [](int32_t type) {
    return Attention({}).issue(TP_ATTENTION_FORWARD, [=](tp_attention &it) { it.type = type; });
  };
  expectText(refusal(TP_F32), "attention by cuDNN is of bf16 or f16, found type 1 (f32)");
  expectText(refusal(99), "attention by cuDNN is of bf16 or f16, found type 99 (unknown)");
}

TEST_F(CudaAttentionTest, SaysThatNoEngineTakesIt) {
  expectText(Attention({.width = 20}).issue(TP_ATTENTION_FORWARD),
             "has no engine for it: no engine; a plan that is compiled with --attention=generated");
}

} // namespace

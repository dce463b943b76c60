//===- gradients-test.cpp - gradients against finite differences ----------===//
//
// Each row of rows.txt goes through the whole compiler to machine code in f64. The
// gradient of each tensor, along a random direction, equals the central difference of
// the loss: error <= 1e-6 of max(norm of the gradient, 1e-3 * norm of all gradients).
// Elements of a direction have variance 1, so an error of norm e moves that by about e.
//
// One decision: one step width for all rows, small enough that no row steps over a kink
// of relu or max with this seed, and large enough that rounding stays far below 1e-6.
//
//===----------------------------------------------------------------------===//
#include "runtime/support/random.h"
#include "test/gradients/program.h"
#include "test/gradients/rows.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tplan;
using namespace tplan::runtime;
using namespace gradients;

namespace {

constexpr double kTolerance = 1e-6, kWidth = 4e-6;
constexpr uint64_t kSeed = 7;
constexpr int64_t kDirectionStream = 1 << 22;

double normOf(const std::vector<double> &values) {
  double sum = 0;
  for (double v : values)
    sum += v * v;
  return std::sqrt(sum);
}

/// The loss where one weight is moved by `width` along its direction.
double lossAt(Program &program, const LogicalTensor &weight, int64_t stream, double width) {
  std::vector<double> before = program.read(weight), values = before;
  for (size_t i = 0; i < before.size(); ++i)
    values[i] += width * normalAt(kSeed, stream, i);
  program.write(weight, values);
  double loss = program.loss();
  program.write(weight, before);
  return loss;
}

} // namespace

void gradients::PrintTo(const Row &row, std::ostream *os) { *os << "rows.txt:" << row.line; }

namespace {
class Gradients : public testing::TestWithParam<Row> {};

TEST_P(Gradients, MatchFiniteDifferences) {
  const Row &row = GetParam();
  std::string error;
  Program program(row.source(), error);
  ASSERT_EQ(error, "") << "rows.txt:" << row.line << "\n" << row.source();
  program.fill(kSeed, row.padding);
  ASSERT_TRUE(std::isfinite(program.loss()));
  auto gradients = program.gradients;
  double norm = 0;
  for (auto &[name, gradient] : gradients)
    norm = std::hypot(norm, normOf(gradient));
  ASSERT_GT(norm, 0);

  int64_t stream = kDirectionStream;
  double worst = 0;
  for (const LogicalTensor &weight : program.weights()) {
    if (program.states.count(weight.name))
      continue;
    const std::vector<double> &gradient = gradients[weight.name];
    ASSERT_EQ(gradient.size() * 8, size_t(weight.bytes())) << weight.name;
    EXPECT_GT(normOf(gradient), 1e-4 * norm) << weight.name << ": the row says nothing of it";
    double along = 0;
    for (size_t i = 0; i < gradient.size(); ++i)
      along += gradient[i] * normalAt(kSeed, stream, i);
    double difference =
        (lossAt(program, weight, stream, kWidth) - lossAt(program, weight, stream, -kWidth)) /
        (2 * kWidth);
    double error = std::abs(along - difference) / std::max(normOf(gradient), 1e-3 * norm);
    EXPECT_LE(error, kTolerance) << weight.name << ": gradient along the direction " << along
                                 << ", difference of losses " << difference;
    worst = std::max(worst, error);
    ++stream;
  }
  RecordProperty("worst", std::to_string(worst));
  if (getenv("GRADIENTS_VERBOSE"))
    printf("%-24s worst %.1e\n", row.name.c_str(), worst);
}

INSTANTIATE_TEST_SUITE_P(Rows, Gradients, testing::ValuesIn(rows()),
                         [](const auto &row) { return row.param.name; });

//===----------------------------------------------------------------------===//
// What a loss is worth
//===----------------------------------------------------------------------===//

/// Two spellings: the first is `factor` times the second. A difference of losses says
/// nothing of a loss that is wrong by a constant.
struct Equal {
  const char *name, *first, *second;
  double factor;
};

double lossOf(const char *statements, const char *microbatch) {
  std::string error;
  Program program(Row{"", statements, {microbatch}, false, 0}.source(), error);
  EXPECT_EQ(error, "");
  program.fill(kSeed, /*padding=*/false);
  return program.loss();
}

TEST(Losses, AreWorthWhatTheySay) {
  const Equal table[] = {
      {"a sum is not divided", "loss main = sum(tanh(x) * x over B, S, D)",
       "loss main = mean(tanh(x) * x over B, S, D)", 8 * 333 * 72},
      {"only the outer mean divides", "loss main = mean(sum(square(x) over D) over B, S)",
       "loss main = mean(square(x) over B, S, D)", 72},
      {"a list adds", "l : emits x 3  for b in l { x = b(x) }  loss main = 0 * sum(x over B, S, D)",
       "loss main = mean(square(x) over B, S, D)", 3 * 0.5},
      {"two calls add", "f : emits  x = f(f(x))  loss main = 0 * sum(x over B, S, D)",
       "loss main = mean(square(x) over B, S, D)", 2 * 0.5},
      {"a weight scales", "f : mixed[w = 0.3]  y = f(x) + x  loss main = 0 * sum(y over B, S, D)",
       "f : mixed[w = 1]  y = f(x) + x  loss main = 0 * sum(y over B, S, D)", 0.3}};
  for (const Equal &row : table)
    for (const char *microbatch : {"microbatch 2 sequences", "microbatch 8 sequences"}) {
      double first = lossOf(row.first, microbatch), second = lossOf(row.second, microbatch);
      EXPECT_GT(std::abs(second), 1e-3);
      EXPECT_NEAR(first / second, row.factor, 1e-10 * row.factor) << row.name;
    }
}

/// Contributions are counted once, whatever the plan, and a step reads the states that it
/// began with.
TEST(States, CountEachTokenOnce) {
  for (std::vector<std::string> plan :
       {std::vector<std::string>{"microbatch 8 sequences"},
        {"microbatch 2 sequences"},
        {"recompute full"},
        {"pipeline gpipe_split", "stages 1, 1", "recompute none; full for l[1]"}}) {
    std::string error;
    Program program(
        Row{"", "l : counts x 2  for b in l { x = b(x) }  loss main = mean(square(x) over B, S, D)",
            plan, false, 0}
            .source(),
        error);
    ASSERT_EQ(error, "");
    program.fill(kSeed, /*padding=*/false);
    constexpr double tokens = 8 * 333 * 72;
    for (int step = 0; step < 2; ++step) {
      program.loss();
      EXPECT_EQ(program.metric("ones"), tokens) << plan[0];
      ASSERT_EQ(program.states.size(), 4u);
      for (auto &[name, state] : program.states)
        EXPECT_NEAR(state.after[0] - state.before[0], name.ends_with("steps") ? 1 : tokens, 1e-9)
            << name << " " << plan[0];
      program.evaluate();
      for (const LogicalTensor &weight : program.weights())
        if (auto state = program.states.find(weight.name); state != program.states.end())
          EXPECT_EQ(program.read(weight), state->second.before);
    }
  }
}

} // namespace

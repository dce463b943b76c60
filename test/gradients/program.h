//===- program.h - a .tplan program, compiled and run in a test -----------===//
//
// The way of a binary from its text to its object; then the object is loaded into
// this process instead of linked, and `main` hands over its tp_program.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_GRADIENTS_PROGRAM_H
#define TPLAN_TEST_GRADIENTS_PROGRAM_H

#include "lib/Driver/Driver.h"
#include "runtime/rank.h"
#include "runtime/tensors.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradients {

/// Up to `last`; diagnostics go to `errors`.
tplan::Result compileText(const std::string &text, tplan::Phase last, std::string &errors);

class Program {
public:
  /// Compiles and loads; `error` says what went wrong.
  Program(const std::string &text, std::string &error);
  ~Program();

  /// Weights away from the points where gradients vanish, and random ids; with `padding`
  /// one of seven is below zero.
  void fill(uint64_t seed, bool padding);
  /// Runs the first step, at a learning rate of 0. Returns the training loss: the weighted sum of
  /// all losses.
  double loss();
  /// Runs part E of one microbatch.
  void evaluate();
  /// Gradients of the last call of loss(), by the names of the weights.
  std::map<std::string, std::vector<double>> gradients;
  /// States before and after the last call of loss(), which leaves them as they were.
  struct State {
    std::vector<double> before, after;
  };
  std::map<std::string, State> states;
  /// Weights, and states beside them.
  std::vector<tplan::runtime::LogicalTensor> weights();
  /// A metric of the last call of loss(), by name.
  double metric(const std::string &name);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
  tp_rank rank;
  std::map<std::string, double> lossWeights;
  std::string mainLoss;
};

} // namespace gradients

#endif // TPLAN_TEST_GRADIENTS_PROGRAM_H

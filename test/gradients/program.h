//===- program.h - a .tplan program, compiled and run in a test -----------===//
//
// The way of a binary from its text to its object; then the object is loaded into
// this process instead of linked, and `main` hands over its tp_program.
//
// One decision: a program is found by its text (`load`), so that the same tests run on a GPU that
// is elsewhere. Where RECORD_PROGRAMS names a folder, each program is written there, compiled for
// a GPU, and test/gpu/recorded-program.cpp finds it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_GRADIENTS_PROGRAM_H
#define TPLAN_TEST_GRADIENTS_PROGRAM_H

#include "runtime/ranks/rank.h"
#include "runtime/ranks/tensors.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradients {

/// The facts about a program beside its tp_program.
struct Loaded {
  const tp_program *program = nullptr;
  std::map<std::string, double> lossWeights;
  std::vector<std::string> states;
  std::shared_ptr<void> code; // stays as long as the program does
};

/// Compiles a program, or finds it; `error` says what went wrong.
Loaded load(const std::string &text, std::string &error);

/// The name of a recorded program.
std::string recordName(const std::string &text);

class Program {
public:
  Program(const std::string &text, std::string &error);

  /// Weights away from the points where gradients vanish, and random ids; with `padding`
  /// one of seven is below zero.
  void fill(uint64_t seed, bool padding);
  /// Runs the first step, at a learning rate of 0. Returns the training loss: the weighted sum of
  /// all losses.
  double loss();
  /// Runs part `evaluate` of one microbatch.
  void evaluate();
  /// Gradients of the last call of loss(), by the names of the weights.
  std::map<std::string, std::vector<double>> gradients;
  /// A weight's elements, wherever they are.
  std::vector<double> read(const tplan::runtime::LogicalTensor &weight);
  void write(const tplan::runtime::LogicalTensor &weight, const std::vector<double> &values);
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
  double readParts(int64_t offset, int32_t type, int32_t parts);
  std::vector<double> readArena(int64_t offset, int32_t type, int64_t count);
  Loaded loaded;
  tp_rank rank;
  std::string mainLoss;
};

} // namespace gradients

#endif // TPLAN_TEST_GRADIENTS_PROGRAM_H

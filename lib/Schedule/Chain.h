//===- Chain.h - a chain with its runs bound to functions and parameters --===//
//
// What every phase from `schedule` on asks of a chain: which function a layer
// runs in which part, what its arguments are in terms of the run, who reads a
// value. Read from the IR each time; nothing is kept between passes.
//
// One decision: a run names its operands by position, a part its arguments by
// name, and a part takes only what it reads. So the names say the position:
// carried value k of a run is `c<k>` in its layers, invariant k is `i<k>`.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_CHAIN_H
#define TPLAN_SCHEDULE_CHAIN_H

#include "dialects/nn/Parts.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <string>
#include <vector>

namespace tplan::schedule {

using nn::Part;
/// What a kind of task runs.
Part partOf(sched::TaskKind kind);

/// Number of the argument or result with this role and name, or none.
std::optional<unsigned> findArg(rt::FuncOp func, nn::Role role, llvm::StringRef name);
std::optional<unsigned> findResult(rt::FuncOp func, nn::Role role, llvm::StringRef name);

/// For result i the argument that it updates: same role and name, and a role
/// that is updated in place (carried values and their cotangents are not).
std::optional<unsigned> inPlaceArg(rt::FuncOp func, unsigned result);

/// One layer function of a run, with its parts.
struct Callee {
  llvm::StringRef name;
  std::array<rt::FuncOp, nn::kPartFacts.size()> parts;
  /// Names of the run's operands and results inside the layer, by position.
  std::vector<std::string> carriedIn, carriedOut, invariants;
  llvm::StringMap<nn::ParamOp> params;

  rt::FuncOp part(Part p) const { return parts[static_cast<unsigned>(p)]; }
  /// The parts that the layer has, with their functions.
  llvm::SmallVector<std::pair<Part, rt::FuncOp>> existing() const;
  bool reads(Part p, nn::Role role, llvm::StringRef name) const;
  bool gives(Part p, nn::Role role, llvm::StringRef name) const;
  /// The parameter of an optimizer state, by its name: `q.weight.m` is state `m`
  /// of `q.weight`. Null where no parameter's name begins it.
  nn::ParamOp paramOfState(llvm::StringRef state) const;
  /// A state of the model is bound itself, as the weights are.
  nn::ParamOp ownState(llvm::StringRef state) const { return params.lookup(state); }
};

struct Run {
  nn::RunOp op;
  unsigned index = 0; // in the chain
  int64_t stage = 0;
  std::vector<Callee> callees;
  std::string title; // "block[2..5]", for the report

  int64_t times() const { return const_cast<Run *>(this)->op.getTimes(); }
  int64_t layers() const { return times() * static_cast<int64_t>(callees.size()); }
  bool has(Part p) const;
};

/// Who reads a value of the chain.
struct Reader {
  unsigned run;
  bool carried; // or invariant
  unsigned number;
};

struct Chain {
  nn::ChainOp op;
  std::vector<Run> runs;
  llvm::SmallVector<nn::InputOp> inputs;

  llvm::SmallVector<Reader> readersOf(mlir::Value value) const;
  /// The run and result number that a value comes from, or none for inputs.
  std::optional<std::pair<unsigned, unsigned>> producerOf(mlir::Value value) const;
  /// Axes over which the sum of a loss, a count or the squared norm is pending where the chain
  /// ends.
  dist::Axes pendingAxes(llvm::StringRef name) const;
};

/// Binds the runs of a chain. Errors, at the run: a part or parameter that does
/// not exist, numbers of operands that do not fit the layer.
mlir::FailureOr<Chain> readChain(nn::ChainOp chain);

/// The chains of a program.
struct Chains {
  Chain train;
  std::optional<Chain> counts; // where losses are counted
};
mlir::FailureOr<Chains> readChains(sched::ProgramOp program);

/// Visits the functions that a training step runs, with how many times: those of each task in
/// order, the counts of its losses, then what follows the last backward.
void forEachFunction(sched::ProgramOp program, const Chains &chains,
                     llvm::function_ref<void(rt::FuncOp, int64_t)> visit);

/// Whether part `p` of the layer needs its own carried input number k.
bool readsInput(const Callee &callee, Part p, unsigned k);
/// Whether part `p` needs the cotangent of the layer's carried result number k.
bool readsCotangent(const Callee &callee, Part p, unsigned k);
/// Whether any part of the backward needs it.
bool takesCotangent(const Callee &callee, unsigned k);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_CHAIN_H

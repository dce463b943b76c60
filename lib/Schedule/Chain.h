//===- Chain.h - a chain with its runs bound to functions and parameters --===//
//
// What `schedule` asks of a chain: which function a layer runs in which part, what its arguments
// are in terms of the run, who reads a value. After form-program the program itself has all of
// this.
//
// One decision: a run has its operands by position, and a part takes only what it
// reads. So what a part takes or gives says which operand of the run it is.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_CHAIN_H
#define TPLAN_SCHEDULE_CHAIN_H

#include "dialects/nn/NNRuns.h"
#include "dialects/nn/Parts.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tplan::schedule {

using nn::Part;
/// One layer function of a run, with its parts.
struct Callee {
  llvm::StringRef name;
  std::array<rt::FuncOp, nn::kPartFacts.size()> parts;
  llvm::StringMap<nn::ParamOp> params;
  /// Names of weights whose gradient another stage keeps; this layer keeps a part of it.
  llvm::StringSet<> gradientParts;

  rt::FuncOp own(Part p) const { return parts[static_cast<unsigned>(p)]; }
  /// The function for a part: of `early_reduce` that of `reduce`, where the first steps reduce as
  /// all others.
  rt::FuncOp part(Part p) const {
    rt::FuncOp func = own(p);
    return !func && p == Part::EarlyReduce ? own(Part::Reduce) : func;
  }
  /// The parts that the layer has, with their functions.
  llvm::SmallVector<std::pair<Part, rt::FuncOp>> existing() const;
  /// Whether a part takes, or gives, the value with this role and position.
  bool reads(Part p, nn::Role role, unsigned position) const;
  bool gives(Part p, nn::Role role, unsigned position) const;
  /// The parameter, gradient or state of the model that a label of a part means, or the parameter
  /// of an optimizer state. Null where none is bound.
  nn::ParamOp paramOf(const nn::Label &label) const;
};

struct Run {
  mutable nn::RunOp op; // a handle, whose accessors are not const
  unsigned index = 0;   // in the chain
  int64_t stage = 0;
  bool isHeld = true;  // whether the rank of the program holds it
  bool isCopy = false; // of a stage that updates its weights and gives the copy what it has
  /// Whether another stage has a weight or state that it reduces: then what all stages add is
  /// reduced at the end of the step, and not by a task of one of them.
  bool isReducedAtEnd = false;
  std::vector<Callee> callees;
  std::string title; // "block[2..5]", for the report

  int64_t times() const { return op.getTimes(); }
  int64_t layers() const { return times() * static_cast<int64_t>(callees.size()); }
  bool has(Part p) const;
  /// Whether a rank that holds it does the part: a copy does only what each microbatch does.
  bool mayDo(Part p) const {
    return !isCopy || nn::factsOf(p).runs == nn::PartRuns::EachMicrobatch;
  }
  bool does(Part p) const { return isHeld && mayDo(p); }
  /// Whether a task of its stage reduces what its backwards leave.
  bool isReducedByTask() const {
    return has(Part::Reduce) && mayDo(Part::Reduce) && !isReducedAtEnd;
  }
  /// Whether the first steps reduce otherwise than the others.
  bool reducesEarlyStepsApart() const {
    return isReducedByTask() && llvm::any_of(callees, [](const Callee &callee) {
             return callee.own(Part::EarlyReduce) != nullptr;
           });
  }
  /// The instances that it has of each weight of its list.
  sched::InstanceRange instances() const {
    return {static_cast<int64_t>(op.getFirstInstance()), times()};
  }
};

/// Who reads a value of the chain.
struct Reader {
  unsigned run;
  bool carried; // or invariant
  unsigned number;
};

/// A weight or state of which several stages have the same instances.
struct SharedWeight {
  nn::ParamOp param;
  sched::InstanceRange instances = {0, 1};
  /// Those that functions of microbatches read, where other layers of a stage read a copy instead.
  std::optional<sched::InstanceRange> read;
  bool isUneven = false;                     // stages have some of them in common, and others not
  using Stages = llvm::SmallVector<int64_t>; // ascending
  Stages readers;                            // stages whose functions take it
  Stages gradients;                          // stages whose backwards add to its gradient
  std::optional<int64_t> updater;            // stage whose part `update` gives it
  std::optional<int64_t> preparer;           // stage whose part `prepare` does
  /// Stages, except the updater's, whose backwards keep a part of the gradient.
  Stages partsOfGradient() const;
};

/// How a value is sent in parts by ranks that have it alike.
struct MessageParts {
  rt::FuncOp cut, gather; // whole -> part; part -> whole
};

struct Chain {
  mutable nn::ChainOp op;
  std::vector<Run> runs;
  llvm::SmallVector<nn::InputOp> inputs;
  /// The stages that add to a loss, a count or a metric, ascending: each has a sum of its own.
  llvm::StringMap<llvm::SmallVector<int64_t>> stagesOfSums;
  std::vector<SharedWeight> shared; // in the order of the chain
  llvm::DenseMap<mlir::Value, MessageParts> sentInParts;

  /// Whether it is the chain that counts, and not the one that trains.
  bool isCounts() const { return op.getSymName() == nn::kCountsChain; }
  /// The first and last stage that have a value: where it is made, or first read, to its last
  /// reader. Between them it goes from stage to stage.
  std::pair<int64_t, int64_t> stagesOf(mlir::Value value) const;
  /// Values that go from stage `stage` to the next, in the order of the chain. Inputs do not,
  /// because each rank has all rows.
  llvm::SmallVector<mlir::Value> valuesAfter(int64_t stage) const;
  /// The part of a loss that the layers of a run add to, counted from 0.
  int64_t partOfSum(const Run &run, llvm::StringRef name) const;
  llvm::SmallVector<Reader> readersOf(mlir::Value value) const;
  /// The run and result number that a value comes from, or none for inputs.
  std::optional<std::pair<unsigned, unsigned>> producerOf(mlir::Value value) const;
  /// Axes over which the sum of a loss, a count or the squared norm is pending where the chain
  /// ends.
  dist::Axes pendingAxes(llvm::StringRef name) const;
};

/// Binds the runs of a chain. Stages from `firstCopy` on are copies. Errors, at the run: a part or
/// parameter that does not exist, numbers of operands that do not fit the layer.
mlir::FailureOr<Chain> readChain(nn::ChainOp chain,
                                 int64_t firstCopy = std::numeric_limits<int64_t>::max());

/// The chains of a program.
struct Chains {
  Chain train;
  std::optional<Chain> counts; // where losses are counted
};
mlir::FailureOr<Chains> readChains(sched::ProgramOp program);

/// Whether part `p` of the layer needs its own carried input number k.
bool readsInput(const Callee &callee, Part p, unsigned k);
/// Whether part `p` needs the cotangent of the layer's carried result number k.
bool readsCotangent(const Callee &callee, Part p, unsigned k);
/// Whether any part of the backward needs it.
bool takesCotangent(const Callee &callee, unsigned k);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_CHAIN_H

//===- Parts.h - facts about each part of a layer -------------------------===//
//
// One table for all phases. A pass asks it for a fact ("does this part run once a step?") instead
// of listing parts, so that a new part is a line here and a case in Parts.td.
//
// One decision: a part says whose part it is by the attribute `layer`. The
// symbol `block.F` is for people to read; nothing takes it apart.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_PARTS_H
#define TPLAN_DIALECTS_NN_PARTS_H

#include "dialects/nn/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <array>

namespace tplan::nn {

/// How often a part runs.
enum class PartRuns {
  EachMicrobatch, // as a task of the schedule
  Evaluation,     // on each microbatch of an evaluation, of samples and of the counts
  EndOfStep,      // once a step, after the backwards
  EarlySteps,     // in place of another part, in the first steps
  Message,        // with a message between stages
  Start           // once, before the first step
};

/// Which form of the backward a part belongs to: the schedule chooses one of the two.
enum class PartBackward { None, Whole, Split };

struct PartFacts {
  Part part;
  char letter; // in symbols, keys and timelines; a kind of task has the letter of what it runs
  PartRuns runs;
  PartBackward backward = PartBackward::None;
  bool givesInputCotangents = false; // takes the carried and invariant arguments
  bool readsReduced = false;  // gradients and contributions, after their sums over ranks are made
  bool isElementwise = false; // works element by element on weights, gradients and states alone
};

inline constexpr std::array kPartFacts = {
    PartFacts{.part = Part::Forward, .letter = 'F', .runs = PartRuns::EachMicrobatch},
    PartFacts{.part = Part::Backward,
              .letter = 'B',
              .runs = PartRuns::EachMicrobatch,
              .backward = PartBackward::Whole,
              .givesInputCotangents = true},
    PartFacts{.part = Part::BackwardInputs,
              .letter = 'I',
              .runs = PartRuns::EachMicrobatch,
              .backward = PartBackward::Split,
              .givesInputCotangents = true},
    PartFacts{.part = Part::BackwardWeights,
              .letter = 'W',
              .runs = PartRuns::EachMicrobatch,
              .backward = PartBackward::Split},
    PartFacts{.part = Part::Evaluate, .letter = 'E', .runs = PartRuns::Evaluation},
    PartFacts{.part = Part::Norm,
              .letter = 'N',
              .runs = PartRuns::EndOfStep,
              .readsReduced = true,
              .isElementwise = true},
    PartFacts{.part = Part::Update,
              .letter = 'U',
              .runs = PartRuns::EndOfStep,
              .readsReduced = true,
              .isElementwise = true},
    PartFacts{.part = Part::Prepare, .letter = 'P', .runs = PartRuns::Start, .isElementwise = true},
    PartFacts{
        .part = Part::States, .letter = 'S', .runs = PartRuns::EndOfStep, .readsReduced = true},
    PartFacts{.part = Part::Reduce, .letter = 'R', .runs = PartRuns::EndOfStep},
    PartFacts{.part = Part::Cut, .letter = 'C', .runs = PartRuns::Message},
    PartFacts{.part = Part::Gather, .letter = 'G', .runs = PartRuns::Message},
    PartFacts{.part = Part::EarlyReduce, .letter = 'r', .runs = PartRuns::EarlySteps},
};

/// Every part has its line, at its number.
static_assert([] {
  for (unsigned i = 0; i < kPartFacts.size(); ++i)
    if (static_cast<unsigned>(kPartFacts[i].part) != i)
      return false;
  return kPartFacts.size() == getMaxEnumValForPart() + 1;
}());

constexpr const PartFacts &factsOf(Part part) { return kPartFacts[static_cast<unsigned>(part)]; }

/// The parts that run once a step, in this order: after the backwards of a stage or of all.
inline constexpr std::array kEndOfStepParts = {Part::Reduce, Part::Norm, Part::Update,
                                               Part::States};
static_assert([] {
  unsigned listed = 0, known = 0;
  for (Part part : kEndOfStepParts)
    listed += factsOf(part).runs == PartRuns::EndOfStep;
  for (const PartFacts &facts : kPartFacts)
    known += facts.runs == PartRuns::EndOfStep;
  return listed == known && listed == kEndOfStepParts.size();
}());

constexpr bool isBackward(Part part) { return factsOf(part).backward != PartBackward::None; }
/// Whether a part takes a microbatch through the layer: it has the operands of the layer's run, and
/// takes a cotangent only if it is a backward.
constexpr bool takesOperands(Part part) {
  PartRuns runs = factsOf(part).runs;
  return runs == PartRuns::EachMicrobatch || runs == PartRuns::Evaluation;
}
/// Whether a part computes the values that the layer hands on, in training or in an evaluation.
constexpr bool isForward(Part part) { return takesOperands(part) && !isBackward(part); }
/// Whether the part is run by a schedule that cuts the backward, or by one that does not.
constexpr bool isRunBy(Part part, bool split) {
  PartBackward backward = factsOf(part).backward;
  return backward == PartBackward::None || (backward == PartBackward::Split) == split;
}

/// The symbol of a part, for people to read: `block.F`.
inline std::string partSymbol(llvm::StringRef layer, Part part) {
  return (layer + "." + llvm::Twine(factsOf(part).letter)).str();
}

/// The name of the layer whose part `reduce` adds another stage's part of a weight's gradient to
/// this one's.
inline std::string sumOfStages(llvm::StringRef param) { return ("sum." + param).str(); }

/// The functions of each layer, by part: `nn.layer` before `fuse`, `rt.func` after it. Read once;
/// whoever adds a part afterwards inserts it.
template <typename Func> class PartTable {
public:
  explicit PartTable(mlir::ModuleOp module) {
    for (auto func : module.getOps<Func>())
      if (func.getPart())
        insert(func);
  }

  void insert(Func func) {
    parts[func.getLayerAttr()][static_cast<unsigned>(*func.getPart())] = func;
  }

  /// Null where the layer has no such part.
  Func lookup(mlir::FlatSymbolRefAttr layer, Part part) const {
    return parts.lookup(layer)[static_cast<unsigned>(part)];
  }

private:
  llvm::DenseMap<mlir::Attribute, std::array<Func, kPartFacts.size()>> parts;
};

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_PARTS_H

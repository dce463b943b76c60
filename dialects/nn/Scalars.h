//===- Scalars.h - the numbers of a step that functions take by name --------===//
//
// One decision: who makes a number stands here alone, so that a phase that asks for it, the places
// that `schedule` gives it and the tables of the runtime cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_SCALARS_H
#define TPLAN_DIALECTS_NN_SCALARS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tplan::nn {

enum class ScalarSource {
  EachStep, // the host, before each step
  Once,     // the host, before the first step
  Step      // the step itself
};

/// A scalar has one instance, or one for each layer or microbatch.
enum class ScalarPer { Step, Layer, Microbatch };

struct ScalarFacts {
  llvm::StringLiteral name;
  ScalarSource source;
  ScalarPer per = ScalarPer::Step;
};

inline constexpr llvm::StringLiteral kSeed = "seed", kStepNumber = "step", kLearningRate = "lr",
                                     kBeta1Power = "beta1_power", kBeta2Power = "beta2_power",
                                     kLayerScalar = "layer", kOffsetScalar = "offset",
                                     kNorm = "norm", kUnscale = "unscale";

/// In the order in which the runtime has them. Beside these there are the numbers of rows of a
/// batch, `count.B`, which the host gives for each step.
inline constexpr ScalarFacts kScalars[] = {
    {kSeed, ScalarSource::EachStep},       // of the training
    {kStepNumber, ScalarSource::EachStep}, // 1 in the first
    {kLearningRate, ScalarSource::EachStep},
    {kBeta1Power, ScalarSource::EachStep}, // beta1 to the power of the step
    {kBeta2Power, ScalarSource::EachStep},
    {kLayerScalar, ScalarSource::Once, ScalarPer::Layer},       // its number in the model
    {kOffsetScalar, ScalarSource::Once, ScalarPer::Microbatch}, // its first row
    {kNorm, ScalarSource::Step},                                // squared, of all gradients
    {kUnscale, ScalarSource::Step}, // 1 / the scale of the losses, or 0 in a step that is skipped
};

/// Null where there is none of this name.
constexpr const ScalarFacts *findScalar(llvm::StringRef name) {
  for (const ScalarFacts &facts : kScalars)
    if (facts.name == name)
      return &facts;
  return nullptr;
}

/// What a scalar has an instance for.
constexpr ScalarPer instancesOf(llvm::StringRef name) {
  const ScalarFacts *facts = findScalar(name);
  return facts ? facts->per : ScalarPer::Step;
}

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_SCALARS_H

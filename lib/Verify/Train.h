//===- Train.h - a compiled plan, trained for a few steps -----------------===//
#ifndef TPLAN_LIB_VERIFY_TRAIN_H
#define TPLAN_LIB_VERIFY_TRAIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace tplan::verify {

using Tensors = std::map<std::string, std::vector<double>>; // by name, logical, f64

/// What a training left.
struct Trained {
  Tensors numbers;   // loss, grad_norm and metrics: one number a step
  Tensors gradients; // of the first step
  Tensors weights;   // and states, after the first step
  Tensors states;    // without gradients, after the last
};

/// Writes `count` tokens below `vocabulary` (0: 256) to `path`, as i32; they look random and are
/// the same in every call. Stretches of them are padding, so that ranks have different numbers of
/// targets.
llvm::Error writeTokens(llvm::StringRef path, int64_t count, int64_t vocabulary);

/// Runs a binary in the folder where it lies, all ranks as threads of one process. The error is the
/// one that the binary printed.
llvm::Expected<Trained> train(llvm::StringRef binary, llvm::StringRef data, int64_t steps);

} // namespace tplan::verify

#endif // TPLAN_LIB_VERIFY_TRAIN_H

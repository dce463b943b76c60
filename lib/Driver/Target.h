//===- Target.h - the machine that a plan is compiled for -----------------===//
//
// Decisions: a GPU is an architecture that LLVM writes PTX for (lib/Emit/Ptx.cpp). A CPU is a level
// of the x86-64 psABI and the few features beyond it that change our code. So the runtime can check
// the machine in full before the first instruction of the plan, whatever name the user gave.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_TARGET_H
#define TPLAN_DRIVER_TARGET_H

#include "dialects/tplan/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tplan {

using Target = lang::Target;

/// "cpu" (this machine), "cpu:ARCH" or "cuda:ARCH"; an error says what is legal.
llvm::Expected<Target> findTarget(llvm::StringRef text);
/// The same by commas: one of each kind at most, in one binary.
llvm::Expected<std::vector<Target>> findTargets(llvm::StringRef text);

} // namespace tplan

#endif // TPLAN_DRIVER_TARGET_H

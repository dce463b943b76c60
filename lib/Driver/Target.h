//===- Target.h - the machine that a plan is compiled for -----------------===//
//
// One decision: a CPU is a level of the x86-64 psABI and the few features beyond it
// that change our code. So the runtime can check the machine in full before the
// first instruction of the plan, whatever name the user gave.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_TARGET_H
#define TPLAN_DRIVER_TARGET_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tplan {

struct Target {
  std::string cpu;      // for LLVM: "x86-64-v3"
  std::string features; // for LLVM, beyond the level: "+avx512bf16"
  std::string needs;    // for tp_program.cpu: a level, or features by commas
  int64_t vectorBytes;  // of a register
  int64_t registers;    // vector registers

  /// The value of lang::kTarget: these fields by name, in snake case.
  mlir::DictionaryAttr asAttribute(mlir::MLIRContext *context) const;
};

/// "cpu" (this machine) or "cpu:ARCH"; an error says what is legal.
llvm::Expected<Target> findTarget(llvm::StringRef text);

} // namespace tplan

#endif // TPLAN_DRIVER_TARGET_H

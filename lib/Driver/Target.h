//===- Target.h - the machine that a plan is compiled for -----------------===//
//
// Decisions: a GPU is an architecture that LLVM writes PTX for (lib/Emit/Ptx.cpp). A CPU is a level
// of the x86-64 psABI and the few features beyond it that change our code. So the runtime can check
// the machine in full before the first instruction of the plan, whatever name the user gave.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_TARGET_H
#define TPLAN_DRIVER_TARGET_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tplan {

struct Target {
  std::string cpu;              // for LLVM: "x86-64-v3"
  std::string features{};       // for LLVM, beyond the level: "+avx512bf16"
  std::string needs{};          // for tp_program.cpu: a level, or features by commas
  int64_t vectorBytes = 16;     // of a register
  int64_t registers = 16;       // vector registers
  bool f16c = false;            // converts f16, as levels from v3 on do
  std::string arch{};           // of a GPU: "sm_90"; then the CPU runs the host program alone
  int64_t workspace = 0;        // bytes that GEMM and attention libraries of the GPU may use
  bool libraryAttention = true; // of a GPU, where the library takes it
  /// The same plan for other targets is in the same binary: symbols of their programs. One of the
  /// objects has `main`.
  std::vector<std::string> others{};
  bool hasMain = true;
  std::string embedAs{}; // NAME, where a program of a user's links the object

  bool isGpu() const { return !arch.empty(); }
  /// Symbol of the tp_program.
  std::string program() const {
    return !embedAs.empty() ? embedAs + "_program"
           : isGpu()        ? "tplan.program.cuda"
                            : "tplan.program.cpu";
  }
  /// The value of lang::kTarget: these fields by name, in snake case.
  mlir::DictionaryAttr asAttribute(mlir::MLIRContext *context) const;
};

/// "cpu" (this machine), "cpu:ARCH" or "cuda:ARCH"; an error says what is legal.
llvm::Expected<Target> findTarget(llvm::StringRef text);
/// The same by commas: one of each kind at most, in one binary.
llvm::Expected<std::vector<Target>> findTargets(llvm::StringRef text);

} // namespace tplan

#endif // TPLAN_DRIVER_TARGET_H

//===- Object.h - machine code from an LLVM module ------------------------===//
#ifndef TPLAN_EMIT_OBJECT_H
#define TPLAN_EMIT_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

namespace llvm {
class TargetMachine;
}

namespace tplan::emit {

/// A module in the LLVM dialect as LLVM IR, or null with a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context);

/// Only `symbol` of what the module defines is seen by a linker.
void exportOnly(llvm::Module &module, llvm::StringRef symbol);

/// Optimises the module and compiles it to an object file for a CPU
/// ("x86-64-v3", "znver4", ...) and features ("+avx512bf16,..."; "" for those
/// of the CPU). The same module, CPU and features give the same bytes.
llvm::Expected<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module, llvm::StringRef cpu,
                                                      llvm::StringRef features);

/// The same for any machine and kind of file: the passes, then the code generator.
llvm::Expected<llvm::SmallVector<char, 0>>
emitFile(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind);

/// Name and features of this machine's CPU.
std::string hostCpu();
std::string hostFeatures();

} // namespace tplan::emit

#endif // TPLAN_EMIT_OBJECT_H

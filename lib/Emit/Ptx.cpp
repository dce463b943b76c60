//===- Ptx.cpp - LLVM's NVPTX backend, in process -------------------------===//
//
// One decision: the version of PTX is the first that knows the architecture, stated
// here. Left to LLVM it is older than some architectures, and the backend ends the
// process; a later one would ask for a later driver.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Ptx.h"
#include "lib/Emit/Object.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace tplan;

// From LLVM's library, which has every backend; its header declares only the host's
// by name.
extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

namespace {
struct Architecture {
  StringLiteral name, ptx;
};
} // namespace

static constexpr Architecture kArchitectures[] = {
    {"sm_80", "+ptx70"}, {"sm_86", "+ptx71"},  {"sm_89", "+ptx81"},
    {"sm_90", "+ptx78"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"},
};

ArrayRef<StringRef> emit::gpuArchitectures() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all;
    for (const Architecture &a : kArchitectures)
      all.push_back(a.name);
    return all;
  }();
  return names;
}

static Expected<std::unique_ptr<TargetMachine>> machineFor(StringRef arch) {
  const Architecture *known = find_if(kArchitectures, [&](auto &a) { return a.name == arch; });
  if (known == std::end(kArchitectures))
    return createStringError("no PTX for this architecture; choose " +
                             join(emit::gpuArchitectures(), ", ") + ": found " + arch);
  static bool once = (LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(),
                      LLVMInitializeNVPTXTargetMC(), LLVMInitializeNVPTXAsmPrinter(), true);
  (void)once;
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict; // .rn on every op: ptxas contracts neither
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, arch, known->ptx, options, std::nullopt, std::nullopt, CodeGenOptLevel::Aggressive));
}

Expected<std::string> emit::emitPtx(mlir::gpu::GPUModuleOp module, StringRef arch) {
  Expected<std::unique_ptr<TargetMachine>> machine = machineFor(arch);
  if (!machine)
    return machine.takeError();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  LLVMContext context;
  std::unique_ptr<Module> ir = mlir::translateModuleToLLVMIR(module, context);
  if (!ir)
    return createStringError("kernels do not translate to LLVM");
  Expected<SmallVector<char, 0>> text = emitFile(*ir, **machine, CodeGenFileType::AssemblyFile);
  if (!text)
    return text.takeError();
  return std::string(text->begin(), text->end());
}

//===- Object.cpp - a short, fixed pass list, then LLVM's code generator ---===//
//
// Kernels arrive as explicit vectors in the loops that we want: what is left to
// LLVM is to clean up addresses and hoist. No vectoriser, no unroller, no
// contraction: bits and compile time are ours to fix.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Object.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;
using namespace tplan;

std::unique_ptr<Module> emit::translateToLLVM(mlir::ModuleOp module, LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return mlir::translateModuleToLLVMIR(module, context);
}

void emit::exportOnly(Module &module, StringRef symbol) {
  for (GlobalValue &value : module.global_values())
    if (!value.isDeclaration() && value.getName() != symbol)
      value.setLinkage(GlobalValue::InternalLinkage);
}

static Expected<std::unique_ptr<TargetMachine>> machineFor(StringRef cpu, StringRef features) {
  static bool once = (InitializeNativeTarget(), InitializeNativeTargetAsmPrinter(),
                      InitializeNativeTargetAsmParser(), true);
  (void)once;
  Triple triple(sys::getDefaultTargetTriple());
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  options.FunctionSections = true;
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, options, Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu))
    return createStringError("no code for cpu: " + cpu);
  return std::move(machine);
}

static void optimise(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  FunctionPassManager list;
  list.addPass(SROAPass(SROAOptions::ModifyCFG));
  list.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
  list.addPass(SimplifyCFGPass());
  list.addPass(InstCombinePass());
  list.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()),
                                               /*UseMemorySSA=*/true));
  list.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
  list.addPass(InstCombinePass());
  ModulePassManager manager;
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(list)));
  manager.run(module, modules);
}

Expected<SmallVector<char, 0>> emit::emitFile(Module &module, TargetMachine &machine,
                                              CodeGenFileType kind) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  optimise(module, machine);
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, out, nullptr, kind))
    return createStringError("cpu cannot emit this kind of file: " + machine.getTargetCPU());
  codegen.run(module);
  return std::move(bytes);
}

static Expected<SmallVector<char, 0>> emitFor(Module &module, StringRef cpu, StringRef features,
                                              CodeGenFileType kind) {
  Expected<std::unique_ptr<TargetMachine>> machine = machineFor(cpu, features);
  if (!machine)
    return machine.takeError();
  return emit::emitFile(module, **machine, kind);
}

Expected<SmallVector<char, 0>> emit::emitObject(Module &module, StringRef cpu, StringRef features) {
  return emitFor(module, cpu, features, CodeGenFileType::ObjectFile);
}

std::string emit::hostCpu() { return sys::getHostCPUName().str(); }

std::string emit::hostFeatures() {
  SubtargetFeatures features;
  StringMap<bool> host = sys::getHostCPUFeatures();
  SmallVector<StringRef> names;
  for (auto &entry : host)
    names.push_back(entry.first());
  llvm::sort(names); // a map's order is no order
  for (StringRef name : names)
    features.AddFeature(name, host[name]);
  return features.getString();
}

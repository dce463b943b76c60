//===- attention-jit.cpp - attention kernels from text, run in process ----===//
#include "test/lower/attention-jit.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::test;

namespace {
/// Vector code for f32 exponentials, where the library has scalars only.
struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns,
                                                [](StringRef op) { return op == "math.exp"; });
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace

static void check(bool ok, const char *what) {
  if (!ok)
    llvm::report_fatal_error(what);
}

AttentionKernel::AttentionKernel(const std::string &text, const JitOptions &options)
    : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registry.insert<rt::RTDialect, nn::NNDialect, func::FuncDialect>();
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  check(bool(module), "kernel text does not parse");
  auto tile = *module->getOps<rt::TileOp>().begin();
  std::string name = tile.getSymName().str();
  tasks = tile.getNumTasks();
  flops = tile.getFlops();

  PassManager pm(&context);
  pm.addPass(lower::createLowerAttentionPass(options.block));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(std::make_unique<ApproximateMath>());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(funcOptions));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  check(succeeded(pm.run(*module)), "kernel does not lower");

  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (!options.features.empty())
    builder.addFeatures({options.features});
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto machine = llvm::cantFail(builder.createTargetMachine());
  ExecutionEngineOptions engineOptions;
  auto transformer = makeOptimizingTransformer(2, 0, machine.get());
  engineOptions.transformer = transformer;
  engineOptions.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  engineOptions.enableObjectDump = true;
  engine = llvm::cantFail(ExecutionEngine::create(*module, engineOptions, std::move(machine)));
  function = llvm::cantFail(engine->lookupPacked(name));
  if (const char *file = getenv("TPLAN_DUMP_OBJECT"))
    engine->dumpToObjectFile(file);
}

void AttentionKernel::run(const std::vector<void *> &args) const {
  std::vector<void *> packed;
  for (void *const &arg : args)
    packed.push_back(const_cast<void **>(&arg));
  int64_t task = 0;
  packed.push_back(&task);
  for (; task < tasks; ++task)
    function(packed.data());
}

//===- KernelsToNVVM.cpp - kernels-to-nvvm: from gpu to the NVVM dialect --===//
//
// Upstream's patterns in a conversion of our own, because upstream's pass turns math into calls of
// libdevice, which is only in the CUDA toolkit. The math ops that remain here are each one
// instruction on every target.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Schedule.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tplan::lower {
#define GEN_PASS_DEF_KERNELSTONVVMPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// math comes before anything that would turn it into libdevice.
static constexpr int kFirst = 2;

namespace {
struct KernelsToNVVMPass : tplan::lower::impl::KernelsToNVVMPassBase<KernelsToNVVMPass> {
  void runOnOperation() override {
    OpPassManager pm(ModuleOp::getOperationName());
    OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
    kernels.addPass(createSCFToControlFlowPass());
    ConvertVectorToLLVMPassOptions vectors;
    vectors.reassociateFPReductions = false;
    kernels.addPass(createConvertVectorToLLVMPass(vectors));
    if (failed(runPipeline(pm, getOperation())))
      return signalPassFailure();
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
      if (failed(convert(module)))
        return signalPassFailure();
    OpPassManager clean(ModuleOp::getOperationName());
    clean.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(clean, getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convert(gpu::GPUModuleOp module) {
    MLIRContext *ctx = &getContext();
    LowerToLLVMOptions options(ctx);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(ctx, options);
    configureGpuToNVVMTypeConverter(types);
    RewritePatternSet patterns(ctx);
    populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/false, kFirst);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    populateGpuToNVVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*ctx);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp, UnrealizedConversionCastOp>();
    target.addIllegalDialect<gpu::GPUDialect>();
    return applyPartialConversion(module, target, std::move(patterns));
  }
};
} // namespace

LogicalResult lower::lowerKernelsToNVVM(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(schedule::createFormSumsPass());
  pm.addPass(createLowerAttentionGpuPass());
  pm.addPass(createLowerKernelsGpuPass());
  pm.addPass(createSumKernelsGpuPass());
  pm.addPass(createExpandRandomPass());
  pm.addPass(createExpandTranscendentalsPass());
  pm.addPass(createExpandNarrowPass());
  pm.addPass(createKernelsToNVVMPass());
  return pm.run(module);
}

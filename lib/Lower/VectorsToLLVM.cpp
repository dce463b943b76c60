//===- VectorsToLLVM.cpp - from vector code to the LLVM dialect -----------===//
//
// Upstream takes over below the vector dialect; ours are the table of
// transcendentals before it and the form of a kernel's arguments after it.
//
// One decision: kernels are converted in a module of their own, because each conversion walks all
// ops of its module, and programs do not concern these.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "lib/Lower/Lower.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

namespace tplan::lower {
#define GEN_PASS_DEF_VECTORSTOLLVMPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// void (ptr..., i64 task) becomes void (ptr args, i64 task), which loads them.
static void packArguments(LLVM::LLVMFuncOp func) {
  Block &entry = func.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  Location loc = func.getLoc();
  auto ptr = LLVM::LLVMPointerType::get(func.getContext());
  unsigned n = entry.getNumArguments() - 1;
  BlockArgument args = entry.insertArgument(0u, ptr, loc);
  for (unsigned i = 0; i < n; ++i) {
    Value place = LLVM::GEPOp::create(b, loc, ptr, ptr, args, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    entry.getArgument(i + 1).replaceAllUsesWith(LLVM::LoadOp::create(b, loc, ptr, place));
  }
  entry.eraseArguments(1, n);
  auto none = LLVM::LLVMVoidType::get(func.getContext());
  func.setFunctionType(LLVM::LLVMFunctionType::get(none, {ptr, b.getI64Type()}));
  func.removeArgAttrsAttr();
  func->removeAttr(kKernelAttr);
}

namespace {
struct VectorsToLLVMPass : tplan::lower::impl::VectorsToLLVMPassBase<VectorsToLLVMPass> {
  void runOnOperation() override {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createSCFToControlFlowPass());
    ConvertVectorToLLVMPassOptions vectors;
    vectors.reassociateFPReductions = false;
    pm.addPass(createConvertVectorToLLVMPass(vectors));
    pm.addPass(createConvertMathToLLVMPass());
    pm.addPass(createArithToLLVMConversionPass());
    pm.addPass(createFinalizeMemRefToLLVMConversionPass());
    ConvertFuncToLLVMPassOptions funcs;
    funcs.useBarePtrCallConv = true;
    pm.addPass(createConvertFuncToLLVMPass(funcs));
    pm.addPass(createConvertControlFlowToLLVMPass());
    pm.addPass(createReconcileUnrealizedCastsPass());
    Block *body = getOperation().getBody();
    auto kernels = ModuleOp::create(getOperation().getLoc());
    kernels->setAttrs(getOperation()->getAttrDictionary());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      kernel->moveBefore(kernels.getBody(), kernels.getBody()->end());
    body->push_back(kernels);
    LogicalResult converted = runPipeline(pm, kernels);
    body->getOperations().splice(kernels->getIterator(), kernels.getBody()->getOperations());
    kernels.erase();
    if (failed(converted))
      return signalPassFailure();
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (func->hasAttr(kKernelAttr))
        packArguments(func);
  }
};
} // namespace

LogicalResult lower::lowerKernelsToLLVM(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createLowerKernelsPass());
  pm.addPass(createExpandRandomPass());
  pm.addPass(createExpandTranscendentalsPass());
  pm.addPass(createExpandNarrowPass());
  pm.addPass(createVectorsToLLVMPass());
  return pm.run(module);
}

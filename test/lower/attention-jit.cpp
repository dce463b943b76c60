//===- attention-jit.cpp - attention kernels from text, run in process ----===//
#include "test/lower/attention-jit.h"
#include "lib/Emit/Object.h"
#include "lib/Lower/Kernels.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace tplan;
using namespace tplan::test;

struct AttentionKernel::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

AttentionKernel::~AttentionKernel() = default;

AttentionKernel::AttentionKernel(const std::string &text, const JitOptions &options)
    : code(std::make_unique<Code>()) {
  llvm::ExitOnError check("attention: ");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  registry.insert<nn::NNDialect, rt::RTDialect>();
  mlir::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    exit(1);
  auto tile = *module->getOps<rt::TileOp>().begin();
  std::string name = tile.getSymName().str();
  tasks = tile.getNumTasks();
  flops = tile.getFlops();

  mlir::PassManager pm(&context);
  pm.addPass(lower::createLowerAttentionPass(options.block));
  if (failed(pm.run(*module)) || failed(lower::lowerKernelsToLLVM(*module)))
    exit(1);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> ir = emit::translateToLLVM(*module, llvmContext);
  if (!ir)
    exit(1);
  bool host = options.cpu.empty();
  auto bytes = check(emit::emitObject(*ir, host ? emit::hostCpu() : options.cpu,
                                      host ? emit::hostFeatures() : ""));
  code->jit = check(llvm::orc::LLJITBuilder().create());
  check(code->jit->addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()), name)));
  kernel = check(code->jit->lookup(name)).toPtr<tp_kernel>();
}

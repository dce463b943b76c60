//===- gpu-on-cpu.cpp - blocks of fibers ----------------------------------===//
#include "test/lower/gpu-on-cpu.h"
#include "dialects/rt/RT.h"
#include "lib/Emit/Object.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "test/lower/record-kernels.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>

using namespace llvm;
using namespace tplan;

namespace {
/// A block at work. Fibers write what they exchange where the last round is not read.
struct Block {
  static constexpr size_t kStack = 64 << 10;
  int32_t threads, number, current = 0;
  void (*kernel)(void **);
  void **args;
  jmp_buf scheduler; ///< jumps, because a swap of contexts enters the kernel of the system
  std::vector<std::array<jmp_buf, 1>> fibers;
  std::vector<char> stacks;
  std::vector<int> waitsFor; ///< 0: a barrier, > 0: a shuffle by so much, -1: done
  std::vector<uint32_t> values[2];
  unsigned round = 0;

  Block(int32_t threads, int32_t number, void (*kernel)(void **), void **args)
      : threads(threads), number(number), kernel(kernel), args(args), fibers(threads),
        stacks(threads * kStack), waitsFor(threads) {
    values[0].resize(threads), values[1].resize(threads);
  }
  void run();
  uint32_t meet(int reason, uint32_t value) {
    values[round & 1][current] = value;
    waitsFor[current] = reason;
    if (!_setjmp(fibers[current][0]))
      _longjmp(scheduler, 1);
    return reason > 0 ? values[(round - 1) & 1][current ^ reason] : 0;
  }
};
thread_local Block *block;

/// A fiber comes here twice: to be prepared, and to run.
void enter() {
  Block *mine = block;
  if (!_setjmp(mine->fibers[mine->current][0]))
    _longjmp(mine->scheduler, 1);
  block->kernel(block->args);
  block->waitsFor[block->current] = -1;
  _longjmp(block->scheduler, 1);
}

void Block::run() {
  block = this;
  for (current = 0; current < threads; ++current) {
    ucontext_t context, here;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks.data() + current * kStack;
    context.uc_stack.ss_size = kStack;
    makecontext(&context, enter, 0);
    if (!_setjmp(scheduler))
      swapcontext(&here, &context);
  }
  do {
    for (current = 0; current < threads; ++current)
      if (!_setjmp(scheduler))
        _longjmp(fibers[current][0], 1);
    for (int reason : waitsFor)
      if (reason != waitsFor[0]) {
        fprintf(stderr, "threads of a block wait for different things: %d and %d\n", waitsFor[0],
                reason);
        exit(1);
      }
    ++round;
  } while (waitsFor[0] != -1);
}
} // namespace

extern "C" {
int32_t gpuThread() { return block->current; }
int32_t gpuBlock() { return block->number; }
int32_t gpuLayer() { return 0; } // of a launch for one
void gpuBarrier(int32_t) { block->meet(0, 0); }
int32_t gpuShuffle(int32_t, int32_t x, int32_t distance, int32_t) {
  return block->meet(distance, x);
}
float gpuShuffleFloat(int32_t, float x, int32_t distance, int32_t) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  bits = block->meet(distance, bits);
  memcpy(&x, &bits, 4);
  return x;
}
}

namespace {
struct Replacement {
  StringLiteral intrinsic, function;
  void *address;
};
const Replacement kReplacements[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", "gpuThread", (void *)gpuThread},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", "gpuBlock", (void *)gpuBlock},
    {"llvm.nvvm.read.ptx.sreg.ctaid.y", "gpuLayer", (void *)gpuLayer},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", "gpuBarrier", (void *)gpuBarrier},
    {"llvm.nvvm.shfl.sync.bfly.i32", "gpuShuffle", (void *)gpuShuffle},
    {"llvm.nvvm.shfl.sync.bfly.f32", "gpuShuffleFloat", (void *)gpuShuffleFloat},
};

/// Calls of intrinsics of the GPU become calls of the functions above.
void replaceIntrinsics(Module &module) {
  for (Function &f : make_early_inc_range(module))
    for (const Replacement &r : kReplacements)
      if (f.getName() == r.intrinsic) {
        FunctionCallee callee = module.getOrInsertFunction(r.function, f.getFunctionType());
        for (User *user : make_early_inc_range(f.users())) {
          auto *call = cast<CallInst>(user);
          IRBuilder<> b(call);
          call->replaceAllUsesWith(b.CreateCall(callee, SmallVector<Value *>(call->args())));
          call->eraseFromParent();
        }
      }
}

/// void k(ptr...) as void all(ptr args).
void addEntry(Module &module, Function &kernel) {
  kernel.setCallingConv(CallingConv::C);
  IRBuilder<> b(module.getContext());
  auto *type = FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto *entry = Function::Create(type, Function::ExternalLinkage, "all", module);
  b.SetInsertPoint(BasicBlock::Create(module.getContext(), "", entry));
  SmallVector<Value *> args;
  for (Argument &arg : kernel.args()) {
    Value *place = b.CreateConstGEP1_32(b.getPtrTy(), entry->getArg(0), arg.getArgNo());
    args.push_back(b.CreateLoad(arg.getType(), place));
  }
  b.CreateCall(&kernel, args);
  b.CreateRetVoid();
}
} // namespace

struct GpuOnCpu::Impl {
  std::unique_ptr<orc::LLJIT> jit;
  void (*kernel)(void **);
  int32_t threads = 0, blocks = 0;
  KernelRecord record;
};

GpuOnCpu::~GpuOnCpu() = default;

GpuOnCpu::GpuOnCpu(const std::string &text) : impl(std::make_unique<Impl>()) {
  ExitOnError check("gpu-on-cpu: ");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  registry.insert<nn::NNDialect, rt::RTDialect>();
  mlir::registerAllDialects(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    exit(1);
  impl->record.begin(*module);
  if (failed(lower::lowerKernelsToNVVM(*module)))
    exit(1);
  auto kernels = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
  auto func = *kernels.getOps<mlir::LLVM::LLVMFuncOp>().begin();
  auto sizeOf = [&](StringRef name) {
    return func->getAttrOfType<mlir::DenseI32ArrayAttr>(name).asArrayRef()[0];
  };
  impl->threads = sizeOf("gpu.known_block_size"), impl->blocks = sizeOf("gpu.known_grid_size");
  impl->record.keepKernel(kernels, impl->threads, impl->blocks);
  LLVMContext llvmContext;
  std::unique_ptr<Module> ir = mlir::translateModuleToLLVMIR(kernels, llvmContext);
  if (!ir)
    exit(1);
  replaceIntrinsics(*ir);
  addEntry(*ir, *ir->getFunction(func.getSymName()));
  auto bytes = check(emit::emitObject(*ir, emit::hostCpu(), emit::hostFeatures()));
  impl->jit = check(orc::LLJITBuilder().create());
  orc::SymbolMap symbols;
  for (const Replacement &r : kReplacements)
    symbols[impl->jit->mangleAndIntern(r.function)] = {
        orc::ExecutorAddr::fromPtr(r.address), JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  check(impl->jit->getMainJITDylib().define(orc::absoluteSymbols(symbols)));
  check(impl->jit->addObjectFile(
      MemoryBuffer::getMemBufferCopy(StringRef(bytes.data(), bytes.size()), "kernel")));
  impl->kernel = check(impl->jit->lookup("all")).toPtr<void (*)(void **)>();
}

void GpuOnCpu::run(std::vector<void *> args) {
  impl->record.keep(args);
  for (int32_t i = impl->blocks; i-- > 0;)
    Block(impl->threads, i, impl->kernel, args.data()).run();
  impl->record.writeLaunch(args);
}

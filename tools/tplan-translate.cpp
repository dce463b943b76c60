//===- tplan-translate.cpp - into the tplan dialect, and kernels out of it ----===//
//
// For tests of the front end: .tplan source to a module, or with -verify-diagnostics
// the check of the errors that the source expects. For tests and readers of kernels:
// --kernels-to-ptx=sm_90 takes a module of rt.kernel and prints PTX.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "lib/Emit/Ptx.h"
#include "lib/Lower/Lower.h"
#include "lib/Parse/Builtins.h"
#include "lib/Parse/Parse.h"
#include "lib/Parse/Text.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

namespace cl = llvm::cl;
using namespace mlir;

static cl::opt<std::string> input(cl::Positional, cl::desc("<file.tplan>"), cl::init("-"));
static cl::opt<std::string> output("o", cl::desc("output file"), cl::init("-"));
static cl::opt<std::string> plan("plan", cl::desc("plan to compile"));
static cl::list<std::string> overrides("set", cl::desc("replace a setting: PATH=VALUE"));
static cl::opt<std::string> selector("list", cl::desc("print the weights of a selector"));
static cl::list<std::string> modelDirs("models", cl::desc("folder of installed models"));
static cl::opt<bool> split("split-input-file", cl::desc("compile pieces between // -----"));
static cl::opt<bool> verify("verify-diagnostics", cl::desc("check expected-error comments"));
static cl::opt<bool> bare("no-installed-models", cl::desc("look for models in --models only"));
static cl::opt<bool> builtins("builtins", cl::desc("print the table of built-in functions"));
static cl::opt<std::string> ptx("kernels-to-ptx", cl::desc("rt.kernel ops to PTX for ARCH"),
                                cl::value_desc("ARCH"));

static LogicalResult printPtx(MLIRContext &context, llvm::SourceMgr &sources,
                              llvm::raw_ostream &os) {
  context.loadDialect<tplan::rt::RTDialect, arith::ArithDialect, math::MathDialect>();
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module || failed(tplan::lower::lowerKernelsToNVVM(*module)))
    return failure();
  for (auto kernels : module->getOps<gpu::GPUModuleOp>()) {
    llvm::Expected<std::string> text = tplan::emit::emitPtx(kernels, ptx);
    if (!text)
      return emitError(module->getLoc(), llvm::toString(text.takeError()));
    os << *text;
  }
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "tplan source to the tplan dialect\n");
  if (builtins) {
    tplan::parse::printBuiltins(llvm::outs());
    return 0;
  }
  std::string error;
  auto file = openInputFile(input, &error);
  auto out = file ? openOutputFile(output, &error) : nullptr;
  if (!out) {
    llvm::errs() << "tplan-translate: " << error << "\n";
    return 1;
  }
  tplan::parse::ParseOptions options;
  options.plan = plan;
  options.overrides.assign(overrides.begin(), overrides.end());
  if (!bare)
    options.modelDirs = tplan::parse::defaultModelDirs(argv[0]);
  options.modelDirs.insert(options.modelDirs.begin(), modelDirs.begin(), modelDirs.end());

  auto compile = [&](std::unique_ptr<llvm::MemoryBuffer> chunk, llvm::raw_ostream &os) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(chunk), llvm::SMLoc());
    MLIRContext context(MLIRContext::Threading::DISABLED);
    options.list = selector;
    options.listOutput = &os;
    auto translate = [&]() -> LogicalResult {
      if (!ptx.empty())
        return printPtx(context, sources, os);
      auto module = tplan::parse::parseSource(context, sources, options);
      if (!module)
        return failure();
      if (!selector.empty())
        return success();
      module->print(os);
      os << "\n";
      return success();
    };
    if (verify) {
      SourceMgrDiagnosticVerifierHandler handler(sources, &context);
      (void)translate();
      return handler.verify();
    }
    tplan::parse::DiagnosticPrinter printer(sources, &context, llvm::errs());
    return translate();
  };
  LogicalResult result =
      split ? splitAndProcessBuffer(
                  std::move(file),
                  [&](std::unique_ptr<llvm::MemoryBuffer> chunk, llvm::raw_ostream &os) {
                    return compile(std::move(chunk), os);
                  },
                  out->os(), kDefaultSplitMarker, kDefaultSplitMarker)
            : compile(std::move(file), out->os());
  if (failed(result))
    return 1;
  out->keep();
  return 0;
}

//===- compiled-program.cpp - programs compiled in this process -----------===//
#include "test/gradients/compiled-program.h"
#include "dialects/nn/NN.h"
#include "test/gradients/program.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/raw_ostream.h"
#include <fstream>

using namespace tplan;
using namespace gradients;

/// Recorded programs run on each architecture from this one on.
static constexpr const char *kGpu = "cuda:sm_80";

Result gradients::compileText(const std::string &text, Phase last, std::string &errors,
                              const std::string &target) {
  llvm::raw_string_ostream os(errors);
  Options options;
  options.parse.modelDirs = {TPLAN_SOURCE "/models"};
  options.last = last;
  options.target = llvm::cantFail(findTarget(target));
  options.errors = &os;
  return compile({TPLAN_SOURCE "/test/gradients/row.tplan", text}, options);
}

static const tp_program *handedOver = nullptr;

/// Takes the place of the runtime's tp_main.
static int takeProgram(int, char **, const tp_program *const *programs, int64_t) {
  handedOver = programs[0];
  return 0;
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> loadObject(llvm::ArrayRef<char> object) {
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                              llvm::JITSymbolFlags::Exported};
  };
  define("tp_launch", tp_launch);
  define("tp_matmul", tp_matmul);
  define("tp_copy", tp_copy);
  define("tp_zero", tp_zero);
  define("tp_gradients_ready", tp_gradients_ready);
  define("tp_prepare", tp_prepare);
  define("tp_train", tp_train);
  define("tp_evaluate", tp_evaluate);
  define("tp_predict", tp_predict);
  define("tp_main", takeProgram);
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)))
    return std::move(error);
  if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
          llvm::StringRef(object.data(), object.size()), "program")))
    return std::move(error);
  auto entry = (*jit)->lookup("main");
  if (!entry)
    return entry.takeError();
  entry->toPtr<int(int, char **)>()(0, nullptr);
  return jit;
}

/// NAME.o, for a GPU, and NAME.txt: `loss NAME WEIGHT` and `state NAME`, a line each.
static void record(const std::string &text, const Loaded &loaded, std::string &error) {
  const char *folder = getenv("RECORD_PROGRAMS");
  if (!folder)
    return;
  std::string path = std::string(folder) + "/" + recordName(text);
  Result result = compileText(text, Phase::emit, error, kGpu);
  if (!result.ok())
    return;
  std::ofstream(path + ".o").write(result.object.data(), result.object.size());
  std::ofstream about(path + ".txt");
  about.precision(17);
  for (auto &[name, weight] : loaded.lossWeights)
    about << "loss " << name << " " << weight << "\n";
  for (const std::string &name : loaded.states)
    about << "state " << name << "\n";
}

/// The weights of the losses stand in the chain, which `lower` consumes.
static void readModel(mlir::ModuleOp model, Loaded &loaded) {
  for (auto chain : model.getOps<nn::ChainOp>())
    if (mlir::DictionaryAttr losses = chain.getLossesAttr())
      for (mlir::NamedAttribute loss : losses)
        loaded.lossWeights[loss.getName().str()] =
            llvm::cast<mlir::FloatAttr>(loss.getValue()).getValueAsDouble();
  for (auto param : model.getOps<nn::ParamOp>())
    if (param.isState())
      for (uint64_t i = 0; i < param.getCount(); ++i) {
        std::string name = param.getPath().str();
        if (size_t at = name.find("{i}"); at != std::string::npos)
          name.replace(at, 3, std::to_string(param.getFirst() + i * param.getStep()));
        loaded.states.push_back(name);
      }
}

Loaded gradients::load(const std::string &text, std::string &error) {
  Loaded loaded;
  Result model = compileText(text, Phase::model, error);
  if (!model.ok())
    return {};
  readModel(*model.module, loaded);
  record(text, loaded, error);
  Result result = compileText(text, Phase::emit, error);
  if (!result.ok())
    return {};
  auto jit = loadObject(result.object);
  if (!jit) {
    error = llvm::toString(jit.takeError());
    return {};
  }
  loaded.code = std::shared_ptr<llvm::orc::LLJIT>(std::move(*jit));
  loaded.program = handedOver;
  return loaded;
}

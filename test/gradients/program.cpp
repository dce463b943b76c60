//===- program.cpp - a .tplan program, compiled and run in a test ---------===//
#include "test/gradients/program.h"
#include "dialects/nn/NN.h"
#include "runtime/random.h"
#include "runtime/scalars.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/raw_ostream.h"

using namespace tplan;
using namespace tplan::runtime;
using namespace gradients;

/// The streams of random numbers beside those of initial values.
static constexpr int64_t kWeightStream = 1 << 20, kIdStream = 1 << 21;

Result gradients::compileText(const std::string &text, Phase last, std::string &errors) {
  llvm::raw_string_ostream os(errors);
  Options options;
  options.parse.modelDirs = {TPLAN_SOURCE "/models"};
  options.last = last;
  options.target = llvm::cantFail(findTarget("cpu"));
  options.errors = &os;
  return compile({TPLAN_SOURCE "/test/gradients/row.tplan", text}, options);
}

struct Program::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Program::~Program() = default;

static const tp_program *handedOver = nullptr;

/// Stands for the runtime's tp_main.
static int takeProgram(int, char **, const tp_program *const *programs, int64_t) {
  handedOver = programs[0];
  return 0;
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> load(llvm::ArrayRef<char> object) {
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

Program::Program(const std::string &text, std::string &error) : impl(std::make_unique<Impl>()) {
  // The weights of the losses stand in the chain, which `lower` consumes.
  Result model = compileText(text, Phase::model, error);
  if (!model.ok())
    return;
  for (auto chain : model.module->getOps<nn::ChainOp>())
    if (mlir::DictionaryAttr losses = chain.getLossesAttr())
      for (mlir::NamedAttribute loss : losses)
        lossWeights[loss.getName().str()] =
            llvm::cast<mlir::FloatAttr>(loss.getValue()).getValueAsDouble();
  for (auto param : model.module->getOps<nn::ParamOp>())
    if (param.getKind() == "state")
      for (uint64_t i = 0; i < param.getCount(); ++i) {
        std::string name = param.getPath().str();
        if (size_t at = name.find("{i}"); at != std::string::npos)
          name.replace(at, 3, std::to_string(param.getFirst() + i * param.getStep()));
        states[name] = {};
      }
  mainLoss = lossWeights.count("main") ? "main" : lossWeights.begin()->first;

  Result result = compileText(text, Phase::emit, error);
  if (!result.ok())
    return;
  auto jit = load(result.object);
  if (!jit) {
    error = llvm::toString(jit.takeError());
    return;
  }
  impl->jit = std::move(*jit);
  rank.program = handedOver;
  for (Status status : {rank.arena.map(rank.program->arena_bytes), rank.team.start(2),
                        rank.matmul.start(rank.team, nullptr)})
    if (!status.ok())
      error = status.message();
}

std::vector<LogicalTensor> Program::weights() {
  return logicalTensors(*rank.program, rank.arena.data(), 0, TP_WEIGHT);
}

void Program::fill(uint64_t seed, bool padding) {
  const tp_program &program = *rank.program;
  char *arena = rank.arena.data();
  (void)initializeTensors(program, arena, 0, seed, rank.team);
  int64_t stream = kWeightStream;
  for (LogicalTensor &weight : weights()) {
    auto *values = reinterpret_cast<double *>(weight.data);
    for (int64_t i = 0; i < weight.bytes() / 8; ++i)
      values[i] += 0.3 * normalAt(seed, stream, i);
    ++stream;
  }
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i];
    auto *ids = reinterpret_cast<int32_t *>(arena + input.offset);
    for (int64_t at = 0; at < program.microbatches * input.rows * input.length; ++at) {
      auto random = philox(seed, kIdStream, at);
      // Any id below zero, as far as -2^31.
      ids[at] = padding && random[1] % 7 == 0 ? int32_t(random[0] | 1u << 31)
                                              : int32_t(random[0] % input.vocabulary);
    }
  }
}

double Program::loss() {
  const tp_program &program = *rank.program;
  rank.gradientsReady = [&]() -> Status {
    gradients.clear();
    for (LogicalTensor &gradient : logicalTensors(program, rank.arena.data(), 0, TP_GRADIENT)) {
      auto *values = reinterpret_cast<double *>(gradient.data);
      std::string name = gradient.name.substr(0, gradient.name.rfind('.'));
      gradients[name].assign(values, values + gradient.bytes() / 8);
    }
    return {};
  };
  for (LogicalTensor &weight : weights())
    if (auto state = states.find(weight.name); state != states.end()) {
      auto *values = reinterpret_cast<double *>(weight.data);
      state->second.before.assign(values, values + weight.bytes() / 8);
    }
  setScalars(program, rank.arena.data(), /*seed=*/1, /*step=*/1);
  if (program.step(&rank, rank.arena.data())) {
    fprintf(stderr, "a step failed: %s\n", rank.error.message().c_str());
    exit(1);
  }
  for (LogicalTensor &weight : weights())
    if (auto state = states.find(weight.name); state != states.end()) {
      auto *values = reinterpret_cast<double *>(weight.data);
      state->second.after.assign(values, values + weight.bytes() / 8);
      std::copy(state->second.before.begin(), state->second.before.end(), values);
    }
  double sum = 0;
  for (auto &[name, weight] : lossWeights)
    sum += weight * metric(name);
  return sum;
}

void Program::evaluate() {
  if (rank.program->evaluate(&rank, rank.arena.data())) {
    fprintf(stderr, "an evaluation failed: %s\n", rank.error.message().c_str());
    exit(1);
  }
}

double Program::metric(const std::string &name) {
  const tp_program &program = *rank.program;
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    const tp_metric &row = program.metrics[i];
    if (row.name != (name == mainLoss ? "loss" : name))
      continue;
    double sum = getElement(rank.arena.data() + row.offset, row.type, 0);
    return row.count_offset < 0
               ? sum
               : sum / getElement(rank.arena.data() + row.count_offset, row.type, 0);
  }
  fprintf(stderr, "the program has no metric %s\n", name.c_str());
  exit(1);
}

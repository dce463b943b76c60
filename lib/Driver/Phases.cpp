//===- Phases.cpp - the table of phases, as data --------------------------===//
#include "lib/Driver/Phases.h"

#include "dialects/dist/Dist.h"
#include "dialects/nn/NN.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Differentiate/Differentiate.h"
#include "lib/Fuse/Fuse.h"
#include "lib/Lower/Lower.h"
#include "lib/Memory/Memory.h"
#include "lib/Model/Model.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Precision/Precision.h"
#include "lib/Recompute/Recompute.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Shard/Shard.h"

#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tplan {

llvm::ArrayRef<PhaseInfo> phases() {
  static const PhaseInfo table[] = {
#define PHASE(NAME, IR, HAPPENS, AFTERWARDS) {Phase::NAME, #NAME, IR, HAPPENS, AFTERWARDS},
#include "lib/Driver/Phases.def"
  };
  return table;
}

/// What the pass says of itself; for one of MLIR's own the summary is ours.
static PassInfo infoOf(Phase phase, std::unique_ptr<Pass> (*create)(), PassInfo::When when,
                       llvm::StringRef summary = {}) {
  std::unique_ptr<Pass> pass = create();
  return {phase, create, pass->getArgument(), summary.empty() ? pass->getDescription() : summary,
          when};
}

llvm::ArrayRef<PassInfo> passes() {
  static const std::vector<PassInfo> table = {
#define PASS_WHEN(PHASE, NAME, WHEN)                                                               \
  infoOf(Phase::PHASE, [] { return tplan::PHASE::create##NAME##Pass(); }, PassInfo::WHEN),
#define PASS(PHASE, NAME) PASS_WHEN(PHASE, NAME, always)
#define PASS_CPU(PHASE, NAME) PASS_WHEN(PHASE, NAME, cpu)
#define PASS_GPU(PHASE, NAME) PASS_WHEN(PHASE, NAME, gpu)
#define PASS_ASKED(PHASE, NAME) PASS_WHEN(PHASE, NAME, asked)
#define PASS_OF_MLIR(PHASE, NAME, SUMMARY)                                                         \
  infoOf(Phase::PHASE, [] { return mlir::create##NAME##Pass(); }, PassInfo::always, SUMMARY),
#include "lib/Driver/Phases.def"
  };
  return table;
}
#undef PASS_WHEN

namespace {
struct Gone {
  Phase phase;
  llvm::StringRef pattern; // "nn.* except nn.param nn.chain"
  bool matches(llvm::StringRef op) const {
    auto [what, exceptions] = pattern.split(" except ");
    llvm::SmallVector<llvm::StringRef> kept;
    exceptions.split(kept, ' ');
    bool whole = what.consume_back("*");
    return (whole ? op.starts_with(what) : op == what) && !llvm::is_contained(kept, op);
  }
};

llvm::ArrayRef<Gone> gone() {
  static const Gone table[] = {
#define GONE(PHASE, PATTERN) {Phase::PHASE, PATTERN},
#include "lib/Driver/Phases.def"
  };
  return table;
}
} // namespace

const PhaseInfo &info(Phase phase) { return phases()[static_cast<unsigned>(phase)]; }

std::optional<Phase> findPhase(llvm::StringRef name) {
  for (const PhaseInfo &phase : phases())
    if (phase.name == name)
      return phase.phase;
  return std::nullopt;
}

std::string phaseNames() {
  return llvm::join(llvm::map_range(phases(), [](const PhaseInfo &p) { return p.name; }), ", ");
}

void printPhases(llvm::raw_ostream &os) {
  static constexpr const char *kWhen[] = {"", " (CPUs)", " (GPUs)", " (where asked for)"};
  for (const PhaseInfo &phase : phases()) {
    os << phase.name << " (" << phase.ir << "): " << phase.happens
       << ".\n  Afterwards: " << phase.afterwards << ".\n";
    for (const PassInfo &pass : passes())
      if (pass.phase == phase.phase)
        os << llvm::formatv("  --{0,-26} {1}{2}\n", pass.flag, pass.summary, kWhen[pass.when]);
  }
}

const DialectRegistry &dialects() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    registerAllDialects(all);
    registerAllToLLVMIRTranslations(all);
    all.insert<nn::NNDialect, lang::TplanDialect, dist::DistDialect, rt::RTDialect,
               sched::SchedDialect>();
    return all;
  }();
  return registry;
}

void registerPasses() {
  for (const PassInfo &pass : passes())
    registerPass(pass.create);
}

LogicalResult verifyAfter(Phase phase, ModuleOp module) {
  if (failed(verify(module)))
    return failure();
  // Names repeat thousands of times, so each is matched against the table once.
  llvm::DenseMap<OperationName, const Gone *> known;
  // From the outside in, so that the op that holds the others is the one that is named.
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto [it, inserted] = known.try_emplace(op->getName(), nullptr);
    if (inserted)
      for (const Gone &entry : gone())
        if (!it->second && entry.phase <= phase && entry.matches(op->getName().getStringRef()))
          it->second = &entry;
    if (!it->second)
      return WalkResult::advance();
    op->emitError("may not be there after phase '")
        << info(it->second->phase).name << "': " << op->getName();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

} // namespace tplan

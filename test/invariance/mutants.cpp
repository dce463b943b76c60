//===- mutants.cpp - a plan with one derived collective, or message, broken ===//
//
//   mutants FILE.tplan PLAN [PATH=VALUE ...]                       lists the mutants
//   mutants FILE.tplan PLAN [PATH=VALUE ...] --make N -o BINARY    makes number N
//
// One line a mutant: its number, what is broken and how, the .tplan line.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Dist.h"
#include "lib/Driver/Driver.h"
#include "lib/Emit/Link.h"
#include "lib/Lower/Lower.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/invariance/break.h"
#include "test/invariance/break_stages.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// Sums that the program makes: counts and the norm.
struct PendingSum {
  ChainOp chain;
  NamedAttribute entry;
};
SmallVector<PendingSum> pendingSums(ModuleOp module) {
  SmallVector<PendingSum> sums;
  for (auto chain : module.getOps<ChainOp>())
    if (auto pending = chain->getAttrOfType<DictionaryAttr>(dist::kPending))
      for (NamedAttribute entry : pending)
        sums.push_back({chain, entry});
  return sums;
}

/// Visits all mutants of the shard phase in one order; `make` (or -1) is applied. How many it has
/// visited.
int forEachMutant(ModuleOp module, int make, raw_ostream &list) {
  int number = 0;
  SmallVector<dist::CollectiveOp> collectives;
  module.walk([&](dist::CollectiveOp op) { collectives.push_back(op); });
  for (dist::CollectiveOp op : collectives)
    for (const test::Way &way : test::ways()) {
      if (!way.apply(op, /*dryRun=*/true))
        continue;
      auto [file, line] = lower::sourceOf(op.getLoc());
      auto layer = op->getParentOfType<LayerOp>();
      if (make < 0)
        list << number << "\t" << layer.getSymName() << "\t"
             << dist::stringifyCollectiveKind(op.getKind()) << " "
             << stringifyReduceKind(op.getReduction()) << " over "
             << dist::spell(dist::axesOf(op.getAxes())) << "\t" << way.name << "\t" << file << ":"
             << line << "\n";
      if (number++ == make) {
        way.apply(op, /*dryRun=*/false);
        return number;
      }
    }
  for (PendingSum sum : pendingSums(module)) {
    if (make < 0)
      list << number << "\tprogram\tsum of " << sum.entry.getName().getValue() << "\tdropped\t\n";
    if (number++ == make) {
      NamedAttrList rest(sum.chain->getAttrOfType<DictionaryAttr>(dist::kPending));
      rest.erase(sum.entry.getName());
      sum.chain->setAttr(dist::kPending, rest.getDictionary(module.getContext()));
      return number;
    }
  }
  return number;
}

/// The same for the schedule phase, after `number` others.
void forEachOfStages(ModuleOp module, int number, int make, raw_ostream &list) {
  for (const test::StageMutant &mutant : test::stageMutants(module)) {
    auto [file, line] = lower::sourceOf(mutant.loc);
    if (make < 0)
      list << number << "\t" << mutant.where << "\t" << mutant.what << "\t" << mutant.how << "\t"
           << file << ":" << line << "\n";
    if (number++ == make)
      mutant.apply();
  }
}

int fail(const Twine &message) {
  llvm::errs() << "mutants: error: " << message << "\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("usage: mutants FILE.tplan PLAN [PATH=VALUE ...] [--make N -o BINARY]");
  auto file = llvm::MemoryBuffer::getFile(argv[1]);
  if (!file)
    return fail("cannot read " + Twine(argv[1]));
  Options options;
  llvm::Expected<Target> target = findTarget("cpu");
  if (!target)
    return fail(llvm::toString(target.takeError()));
  options.target = *target;
  options.parse.modelDirs = parse::defaultModelDirs(argv[0]);
  options.parse.plan = argv[2];
  int make = -1;
  std::string output;
  for (int i = 3; i < argc; ++i) {
    StringRef arg = argv[i];
    if (arg == "--make" && i + 1 < argc)
      make = atoi(argv[++i]);
    else if (arg == "-o" && i + 1 < argc)
      output = argv[++i];
    else
      options.parse.overrides.push_back(arg.str());
  }
  options.last = make < 0 ? Phase::schedule : Phase::emit;
  int visited = 0;
  options.after = [&](Phase phase, ModuleOp module) {
    if (phase == Phase::shard)
      visited = forEachMutant(module, make, llvm::outs());
    if (phase == Phase::schedule && (make < 0 || make >= visited))
      forEachOfStages(module, visited, make, llvm::outs());
  };
  Result result = compile({argv[1], (*file)->getBuffer().str()}, options);
  if (!result.ok())
    return static_cast<int>(result.outcome);
  if (make < 0)
    return 0;
  auto runtime = emit::findRuntime(argv[0]);
  if (!runtime)
    return fail(llvm::toString(runtime.takeError()));
  if (llvm::Error error = emit::linkBinary({result.object}, output, *runtime))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

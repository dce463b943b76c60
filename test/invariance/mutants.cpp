//===- mutants.cpp - a plan with one derived collective, or message, broken ===//
//
//   mutants FILE.tplan PLAN [PATH=VALUE ...]                       lists the mutants
//   mutants FILE.tplan PLAN [PATH=VALUE ...] --make N -o BINARY    makes number N
//
// With --audit-scales the program records its scales.
//
// One line a mutant: its number, what is broken and how, the .tplan line.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Dist.h"
#include "lib/Lower/Lower.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/invariance/break.h"
#include "test/invariance/break_stages.h"
#include "test/invariance/plan_tool.h"
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

} // namespace

int main(int argc, char **argv) {
  test::PlanTool tool("mutants", argv[0]);
  if (argc < 3)
    return tool.fail("usage: mutants FILE.tplan PLAN [PATH=VALUE ...] [--make N -o BINARY]");
  if (!tool.open(argv[1], argv[2], "cpu"))
    return 1;
  int make = -1;
  std::string output;
  for (int i = 3; i < argc; ++i) {
    StringRef arg = argv[i];
    if (arg == "--make" && i + 1 < argc)
      make = atoi(argv[++i]);
    else if (arg == "-o" && i + 1 < argc)
      output = argv[++i];
    else if (arg == "--audit-scales")
      tool.options.asked.push_back("audit-scales");
    else
      tool.options.parse.overrides.push_back(arg.str());
  }
  tool.options.last = make < 0 ? Phase::schedule : Phase::emit;
  int visited = 0;
  tool.options.after = [&](Phase phase, ModuleOp module) {
    if (phase == Phase::shard)
      visited = forEachMutant(module, make, llvm::outs());
    if (phase == Phase::schedule && (make < 0 || make >= visited))
      forEachOfStages(module, visited, make, llvm::outs());
  };
  Result result = compile(tool.source, tool.options);
  if (!result.ok())
    return static_cast<int>(result.outcome);
  return make < 0 ? 0 : tool.link(result, output);
}

//===- Settings.cpp - recipe, plan and target of a module -----------------===//
#include "dialects/tplan/Settings.h"
#include "dialects/tplan/Dimensions.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tplan;

/// The fields of the first such op of a module, or the defaults.
template <class Op, class Fields> static const Fields &fieldsOf(ModuleOp module) {
  for (auto op : module.getOps<Op>())
    return op.getSettings().getFields();
  static const Fields defaults;
  return defaults;
}

lang::Settings::Settings(ModuleOp module)
    : recipe(fieldsOf<lang::RecipeOp, lang::Recipe>(module)),
      plan(fieldsOf<lang::PlanOp, lang::Plan>(module)),
      cluster(fieldsOf<lang::ClusterOp, lang::Cluster>(module)), recipeOp(module), planOp(module),
      clusterOp(module) {
  for (auto op : module.getOps<lang::RecipeOp>())
    recipeOp = op;
  for (auto op : module.getOps<lang::PlanOp>()) {
    planOp = op;
    planName = op.getSymName();
  }
  for (auto op : module.getOps<lang::ClusterOp>())
    clusterOp = op;
}

Location lang::Settings::recipeLine(StringRef key) const { return settingLoc(recipeOp, key); }
Location lang::Settings::planLine(StringRef key) const { return settingLoc(planOp, key); }
Location lang::Settings::clusterLine(StringRef key) const { return settingLoc(clusterOp, key); }

std::optional<int64_t> lang::Settings::memoryLimit() const {
  if (plan.memory || cluster.memory)
    return plan.memory ? plan.memory : cluster.memory;
  return cluster.facts.memory ? std::optional(cluster.facts.memory) : std::nullopt;
}

int64_t lang::Settings::ranks() const {
  int64_t ranks = 1;
  for (const Axis &axis : plan.mesh)
    ranks *= axis.size;
  return ranks;
}

int64_t lang::Settings::ranksAlong(ArrayRef<std::string> axes) const {
  int64_t ranks = 1;
  for (const Axis &axis : plan.mesh)
    if (llvm::is_contained(axes, axis.name))
      ranks *= axis.size;
  return ranks;
}

int64_t lang::Settings::dataRanks() const {
  int64_t ranks = 1; // a dimension has one line
  for (const Shard &shard : plan.shard)
    if (shard.of.empty() && llvm::is_contained(shard.dims, dimension::batch))
      ranks *= ranksAlong(shard.axes);
  return ranks;
}

int64_t lang::Settings::microbatch() const {
  return plan.microbatch.value_or(recipe.batch / dataRanks());
}

llvm::MapVector<StringRef, int64_t> lang::dimensionsOf(ModuleOp module) {
  llvm::MapVector<StringRef, int64_t> dims;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<nn::Tensor>(type))
        for (nn::DimAttr dim : tensor.getDims())
          dims.insert({dim.getName(), dim.getSize()});
  });
  return dims;
}

const lang::Target &lang::targetOf(ModuleOp module) {
  static const Target defaults;
  auto target = module->getAttrOfType<TargetAttr>(kTarget);
  return target ? target.getFields() : defaults;
}

FailureOr<int64_t> lang::countMicrobatches(const Settings &settings) {
  int64_t batch = settings.recipe.batch, ranks = settings.dataRanks();
  int64_t rows = batch / ranks; // of a rank
  int64_t microbatch = settings.microbatch();
  if (batch < 1 || batch % ranks)
    return emitError(settings.planLine("shard")) << "the batch must be a multiple of the " << ranks
                                                 << " ranks that share it, found " << batch;
  if (microbatch < 1 || rows % microbatch)
    return emitError(settings.planLine("microbatch"))
           << "a batch of " << rows << " sequences is no multiple of the microbatch, " << microbatch
           << "; choose a divisor of the batch";
  return rows / microbatch;
}

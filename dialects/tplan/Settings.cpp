//===- Settings.cpp - recipe, plan and target of a module -----------------===//
#include "dialects/tplan/Settings.h"
#include "dialects/tplan/LossScale.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tplan;

template <typename Op> static DictionaryAttr settingsOf(ModuleOp module) {
  for (auto op : module.getOps<Op>())
    return op.getSettings();
  return DictionaryAttr::get(module.getContext());
}

lang::Settings::Settings(ModuleOp module)
    : recipe(settingsOf<lang::RecipeOp>(module)), plan(settingsOf<lang::PlanOp>(module)),
      cluster(settingsOf<lang::ClusterOp>(module)), planOp(module), clusterOp(module) {
  for (auto op : module.getOps<lang::PlanOp>()) {
    planOp = op;
    planName = op.getSymName();
  }
  for (auto op : module.getOps<lang::ClusterOp>())
    clusterOp = op;
}

Location lang::Settings::planLine(StringRef key) const { return settingLoc(planOp, key); }
Location lang::Settings::clusterLine(StringRef key) const { return settingLoc(clusterOp, key); }

/// Attributes of a list of the plan; the op's verifier has checked what they hold.
static ArrayRef<Attribute> listOf(DictionaryAttr settings, StringRef key) {
  auto list = settings.getAs<ArrayAttr>(key);
  return list ? list.getValue() : ArrayRef<Attribute>();
}

std::optional<int64_t> lang::Settings::memoryLimit() const {
  for (DictionaryAttr lines : {plan, cluster})
    if (lines.contains("memory"))
      return getInt(lines, "memory", 0);
  return std::nullopt;
}

int64_t lang::Settings::ranks() const {
  int64_t ranks = 1;
  for (Attribute axis : listOf(plan, "mesh"))
    ranks *= getInt(cast<DictionaryAttr>(axis), "size", 1);
  return ranks;
}

int64_t lang::Settings::ranksAlong(ArrayRef<Attribute> axes) const {
  int64_t ranks = 1;
  for (Attribute attr : listOf(plan, "mesh")) {
    auto axis = cast<DictionaryAttr>(attr);
    if (llvm::is_contained(axes, axis.get("name")))
      ranks *= getInt(axis, "size", 1);
  }
  return ranks;
}

int64_t lang::Settings::dataRanks() const {
  int64_t ranks = 1; // a dimension has one line
  for (Attribute attr : listOf(plan, "shard")) {
    auto shard = cast<DictionaryAttr>(attr);
    if (!shard.contains("of") &&
        llvm::is_contained(listOf(shard, "dims"), StringAttr::get(shard.getContext(), "B")))
      ranks *= ranksAlong(listOf(shard, "axes"));
  }
  return ranks;
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

DictionaryAttr lang::targetOf(ModuleOp module) {
  auto target = module->getAttrOfType<DictionaryAttr>(kTarget);
  return target ? target : DictionaryAttr::get(module.getContext());
}

int64_t lang::getInt(DictionaryAttr settings, StringRef key, int64_t otherwise) {
  Attribute attr = settings.get(key);
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
    return number.getInt();
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return static_cast<int64_t>(number.getValueAsDouble());
  return otherwise;
}

double lang::getFloat(DictionaryAttr settings, StringRef key, double otherwise) {
  Attribute attr = settings.get(key);
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
    return static_cast<double>(number.getInt());
  return otherwise;
}

StringRef lang::getString(DictionaryAttr settings, StringRef key, StringRef otherwise) {
  auto text = dyn_cast_or_null<StringAttr>(settings.get(key));
  return text ? text.getValue() : otherwise;
}

std::optional<lang::LossScale> lang::lossScaleOf(const Settings &settings) {
  auto scale = settings.plan.getAs<DictionaryAttr>("loss_scale");
  if (!scale)
    return std::nullopt;
  return LossScale{getFloat(scale, "start", 1), getInt(scale, "interval", 0)};
}

FailureOr<int64_t> lang::countMicrobatches(const Settings &settings) {
  int64_t batch = getInt(settings.recipe, "batch", 1), ranks = settings.dataRanks();
  int64_t rows = batch / ranks; // of a rank
  int64_t microbatch = getInt(settings.plan, "microbatch", rows);
  if (batch < 1 || batch % ranks)
    return emitError(settings.planLine("shard")) << "the batch must be a multiple of the " << ranks
                                                 << " ranks that share it, found " << batch;
  if (microbatch < 1 || rows % microbatch)
    return emitError(settings.planLine("microbatch"))
           << "a batch of " << rows << " sequences is no multiple of the microbatch, " << microbatch
           << "; choose a divisor of the batch";
  return rows / microbatch;
}

//===- Model.cpp - the model of a plan --------------------------------------===//
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Weights.h"
#include "llvm/ADT/DenseMap.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

Elaborator::Elaborator(Report &report, const File &file)
    : report(report), context(&report.context),
      module(ModuleOp::create(UnknownLoc::get(&report.context))), file(file), builder(context) {
  for (const LayerDecl *layer : file.layers)
    layers[layer->name.text] = layer;
}

std::string Elaborator::symbol(StringRef name, StringRef kind) {
  // Later phases name the chains of the model so.
  static constexpr StringRef reserved[] = {"train", "counts"};
  std::string unique = name.str();
  if (llvm::is_contained(reserved, name))
    unique = (kind + "." + name).str();
  for (unsigned n = 1; !symbols.insert(unique).second; ++n)
    unique = (name + "_" + Twine(n)).str();
  return unique;
}

/// Sizes that the model does not have; another tool's names are mended all at once.
void Elaborator::checkSizes(const ModelDecl &decl, const std::map<StringRef, Bound> &sizes) {
  std::vector<StringRef> names;
  for (const Param &p : decl.params)
    names.push_back(p.name.text);
  Report::Error::Changes all;
  for (auto &[name, bound] : sizes)
    if (StringRef known = ours(Habit::Size, name);
        !llvm::is_contained(names, name) && llvm::is_contained(names, known))
      all.push_back({name, known.str()});
  for (auto &[name, bound] : sizes)
    if (llvm::none_of(decl.params,
                      [&](const Param &p) { return p.name.text == name && !p.layer; })) {
      Report::Error error = report.error(bound.loc, "{0} has no size: {1}", decl.name.text, name);
      if (all.size() > 1)
        error.fix(all);
      suggestOurs(error, Habit::Size, name, names);
      error.note(decl.name.loc, "{0} is declared here", decl.name.text);
    }
}

/// Sizes of the data that no input has: they would be read by nobody.
void Elaborator::checkDataSizes(const ModelDecl &decl, const std::map<StringRef, Bound> &data) {
  std::vector<StringRef> dims;
  module->walk([&](lang::InputOp input) {
    for (nn::DimAttr dim : cast<nn::Tensor>(input.getType()).getDims())
      dims.push_back(dim.getName());
  });
  for (auto &[name, bound] : data)
    if (name != "B" && !llvm::is_contained(dims, name))
      report.error(bound.loc, "no input of {0} has the dimension {1}", decl.name.text, name)
          .suggest(name, dims)
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
}

bool Elaborator::buildModel(const ModelDecl &decl, const std::map<StringRef, Bound> &sizes,
                            const std::map<StringRef, Bound> &data, StringRef modelSymbol) {
  unsigned before = report.errors();
  auto env = std::make_shared<Env>();
  env->numbers = data;
  for (auto &[name, bound] : data)
    env->own[name] = bound.loc;
  Scope scope;
  scope.env = env;
  scope.model = true;
  scope.where = decl.name.text;
  std::vector<WeightInfo> weights;
  scope.weights = &weights;
  checkSizes(decl, sizes);
  // In order: a default may use the sizes before it.
  for (const Param &param : decl.params) {
    StringRef name = param.name.text;
    if (auto wrong = data.find(name); wrong != data.end() && name != "B") {
      report
          .error(wrong->second.loc,
                 "{0} is a size of the model: write `{1}({0} = {2})`, found it "
                 "among those of the data",
                 name, decl.name.text, spell(wrong->second.number))
          .note(param.name.loc, "{0} is declared here", name);
      return false;
    }
    if (!declare(param.name, scope))
      continue;
    auto given = sizes.find(name);
    if (param.layer) {
      LayerRef value = param.value ? resolveLayer(*param.value, scope) : nullptr;
      if (!param.value)
        report.error(param.name.loc, "a model's layer needs a default: {0}", name);
      if (value)
        env->layers[name] = value;
    } else if (given != sizes.end()) {
      env->numbers[name] = given->second;
    } else if (param.value) {
      std::optional<Number> value = number(*param.value, *env);
      env->numbers[name] = {value.value_or(Number::of(int64_t(1))), param.name.loc};
    } else {
      report.error(param.name.loc, "{0} has no size for {1}: add it to the recipe's model line",
                   decl.name.text, name);
      env->numbers[name] = {Number::of(int64_t(1)), param.name.loc};
    }
    env->own[name] = param.name.loc;
    if (!param.layer)
      this->sizes[name] = env->numbers[name].number;
  }

  builder.setInsertionPointToEnd(module->getBody());
  model = lang::ModelOp::create(builder, report.at(decl.name.loc), modelSymbol);
  builder.createBlock(&model.getBody());
  body(decl.body, scope);
  if (gaveUp)
    return false;
  warnUncalled(scope);
  if (report.errors() == before)
    checkDataSizes(decl, data);
  if (report.errors() == before &&
      !module->walk([](lang::LossOp) { return WalkResult::interrupt(); }).wasInterrupted())
    report.error(decl.name.loc, "a model needs a loss: {0}; add `loss main = cross_entropy(..)`",
                 decl.name.text);
  if (report.errors() != before)
    return false;
  setVocabularies();
  doubtTargets(*module);
  info = modelInfo(*module);
  readWeightMaps(*this, decl.body, *scope.env);
  return report.errors() == before;
}

/// The ids of an input are bounded by the tables that look them up and the
/// logits that they index, in whatever layer that happens.
void Elaborator::setVocabularies() {
  DenseMap<Value, int64_t> bounds;
  SymbolTable symbols(*module);
  constexpr int64_t none = std::numeric_limits<int32_t>::max();
  std::function<int64_t(Value)> bound = [&](Value value) -> int64_t {
    auto [it, fresh] = bounds.try_emplace(value, none);
    if (!fresh)
      return it->second;
    int64_t least = none;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      unsigned i = use.getOperandNumber();
      if (auto apply = dyn_cast<lang::ApplyOp>(op)) {
        StringRef name = apply.getFunction() == "lookup" && i == 1          ? "dim"
                         : apply.getFunction() == "cross_entropy" && i == 1 ? "over"
                                                                            : "";
        if (name.empty())
          continue;
        auto table = cast<nn::Tensor>(apply.getArgs()[0].getType());
        int64_t at = table.find(apply->getAttrOfType<StringAttr>(name).getValue());
        least = std::min(least, table.getDims()[at].getSize());
      } else if (auto call = dyn_cast<lang::CallOp>(op)) {
        auto callee = symbols.lookup<lang::LayerOp>(call.getCallee());
        least = std::min(least, bound(callee.getBody().getArgument(i)));
      } else if (auto loop = dyn_cast<lang::ForOp>(op)) {
        for (Region &region : loop.getKinds())
          least = std::min(least, bound(region.getArgument(i)));
      }
    }
    bounds[value] = least;
    return least;
  };
  llvm::StringMap<int64_t> sources;
  auto ops = model.getBody().getOps<lang::InputOp>();
  for (lang::InputOp input : ops) {
    auto [it, fresh] = sources.try_emplace(input.getSource(), none);
    it->second = std::min(it->second, bound(input.getValue()));
  }
  for (lang::InputOp input : ops)
    input.setVocabulary(sources[input.getSource()]);
}

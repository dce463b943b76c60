//===- Model.cpp - the model of a plan -------------------------------------===//
#include "lib/Parse/Model.h"
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Sizes.h"
#include "lib/Parse/Statements.h"
#include "lib/Parse/Vocabularies.h"
#include "lib/Parse/Weights.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Errors at sizes that the model does not have; the edit replaces all that are another tool's
/// names.
static void checkSizes(Report &report, const ModelDecl &decl, const Sizes &sizes) {
  std::vector<StringRef> names;
  for (const Param &param : decl.params)
    names.push_back(param.name.text);
  Report::Error::Changes all;
  for (auto &[name, bound] : sizes)
    if (StringRef known = ours(Habit::Size, name);
        !llvm::is_contained(names, name) && llvm::is_contained(names, known))
      all.push_back({name, known.str()});
  for (auto &[name, bound] : sizes)
    if (llvm::none_of(decl.params, [&](const Param &param) {
          return param.name.text == name && !param.layer;
        })) {
      Report::Error error = report.error(bound.loc, "{0} has no size: {1}", decl.name.text, name);
      if (all.size() > 1)
        error.fix(all);
      suggestOurs(error, Habit::Size, name, names);
      error.note(decl.name.loc, "{0} is declared here", decl.name.text);
    }
}

/// Sizes of the data that no input has: nobody would read them.
static void checkDataSizes(ModelBuilder &model, const ModelDecl &decl, const Sizes &data) {
  std::vector<StringRef> dims;
  model.module->walk([&](lang::InputOp input) {
    for (nn::DimAttr dim : cast<nn::Tensor>(input.getType()).getDims())
      dims.push_back(dim.getName());
  });
  for (auto &[name, bound] : data)
    if (name != lang::dimension::batch && !llvm::is_contained(dims, name))
      model.report.error(bound.loc, "no input of {0} has the dimension {1}", decl.name.text, name)
          .suggest(name, dims)
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
}

/// False after an error: a size of the model stands among those of the data.
static bool checkPlace(Report &report, const ModelDecl &decl, const Param &param,
                       const Sizes &data) {
  StringRef name = param.name.text;
  auto wrong = data.find(name);
  if (wrong == data.end() || name == lang::dimension::batch)
    return true;
  report
      .error(wrong->second.loc,
             "{0} is a size of the model: write `{1}({0} = {2})`, found it "
             "among those of the data",
             name, decl.name.text, spell(wrong->second.number))
      .note(param.name.loc, "{0} is declared here", name);
  return false;
}

/// The size of a parameter: as given, else its default. 1 after an error.
static Bound sizeOf(Report &report, const ModelDecl &decl, const Param &param, const Sizes &given,
                    const Env &env) {
  StringRef name = param.name.text;
  if (auto it = given.find(name); it != given.end())
    return it->second;
  std::optional<Number> value;
  if (param.value)
    value = number(report, *param.value, env);
  else
    report.error(param.name.loc, "{0} has no size for {1}: add it to the recipe's model line",
                 decl.name.text, name);
  return {value.value_or(Number::of(int64_t(1))), param.name.loc};
}

/// Binds the model's parameters in order: a default may use the sizes before it.
static bool bindParams(ModelBuilder &model, LayerTypes &types, const ModelDecl &decl,
                       const Sizes &sizes, const Sizes &data, Scope &scope,
                       const std::shared_ptr<Env> &env) {
  Report &report = model.report;
  for (const Param &param : decl.params) {
    StringRef name = param.name.text;
    if (!checkPlace(report, decl, param, data))
      return false;
    if (!declare(report, param.name, scope))
      continue;
    if (param.layer) {
      LayerRef value = param.value ? types.resolve(*param.value, env) : nullptr;
      if (!param.value)
        report.error(param.name.loc, "a model's layer needs a default: {0}", name);
      if (value)
        env->layers[name] = value;
    } else {
      env->numbers[name] = sizeOf(report, decl, param, sizes, *env);
      model.sizes[name] = env->numbers[name].number;
    }
    env->own[name] = param.name.loc;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static void checkLoss(ModelBuilder &model, const ModelDecl &decl) {
  if (!model.module->walk([](lang::LossOp) { return WalkResult::interrupt(); }).wasInterrupted())
    model.report.error(decl.name.loc,
                       "a model needs a loss: {0}; add `loss main = cross_entropy(..)`",
                       decl.name.text);
}

bool tplan::parse::buildModel(ModelBuilder &model, const ModelDecl &decl, const Sizes &sizes,
                              const Sizes &data, StringRef symbol) {
  Report &report = model.report;
  unsigned before = report.errors();
  auto clean = [&] { return report.errors() == before; };
  auto env = std::make_shared<Env>();
  env->numbers = data;
  for (auto &[name, bound] : data)
    env->own[name] = bound.loc;
  std::vector<WeightInfo> weights;
  Scope scope;
  scope.env = env;
  scope.model = true;
  scope.where = decl.name.text;
  scope.weights = &weights;
  Statements statements(model);
  checkSizes(report, decl, sizes);
  if (!bindParams(model, statements.layerTypes(), decl, sizes, data, scope, env))
    return false;
  model.builder.setInsertionPointToEnd(model.module->getBody());
  model.op = lang::ModelOp::create(model.builder, report.at(decl.name.loc), symbol);
  model.builder.createBlock(&model.op.getBody());
  statements.elaborate(decl.body, scope);
  if (model.gaveUp)
    return false;
  warnUncalled(report, scope);
  if (clean())
    checkDataSizes(model, decl, data);
  if (clean())
    checkLoss(model, decl);
  if (!clean())
    return false;
  setVocabularies(*model.module, model.op);
  doubtTargets(*model.module);
  model.info = modelInfo(*model.module);
  readWeightMaps(model, decl.body, *scope.env);
  return clean();
}

//===- Recipes.cpp - how a model is trained ----------------------------------===//
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/DataSizes.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Optimizers.h"
#include "lib/Parse/Rates.h"
#include "lib/Parse/Settings.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

static const Env &emptyEnv() {
  static const Env env;
  return env;
}

//===----------------------------------------------------------------------===//
// What the model needs to know
//===----------------------------------------------------------------------===//

/// model llama(V = 128256)
static bool readModel(Report &report, const Setting &line, Recipe &recipe) {
  const Expr &expr = *line.items.front().expr;
  const Expr &name = expr.kind == Expr::Call ? *expr.lhs : expr;
  if (name.kind != Expr::Ref) {
    report.error(expr.loc, "expected a model and its sizes: model llama(L = 32)");
    return false;
  }
  recipe.model = {name.text, name.loc};
  if (expr.kind != Expr::Call)
    return true;
  Once once(report);
  for (const Arg &arg : expr.args) {
    if (arg.key.text.empty() || !arg.over.text.empty()) {
      report.error(arg.value->loc, "sizes of a model are given by name: L = 32");
      return false;
    }
    if (!once(arg.key.text, arg.key.loc))
      return false;
    std::optional<Number> value = number(report, *arg.value, emptyEnv());
    if (!value)
      return false;
    // --set comes first and has priority.
    recipe.sizes.try_emplace(arg.key.text, Bound{*value, arg.key.loc});
  }
  return true;
}

/// data web 0.8 "web/*.bin", S = 8192: here only the sizes.
static bool readData(Report &report, const Setting &line, Recipe &recipe) {
  Once once(report);
  for (const Item &item : line.items) {
    if (!item.expr)
      continue;
    if (!once(item.name.text, item.name.loc))
      return false;
    if (item.name.text == lang::dimension::batch) {
      report.error(item.name.loc, "B is the batch: set it with `batch`");
      return false;
    }
    std::optional<int64_t> value =
        whole(report, *item.expr, emptyEnv(), 1, limits::size, "a size of the data");
    if (!value)
      return false;
    recipe.data.try_emplace(item.name.text, Bound{Number::of(*value), item.name.loc});
  }
  return true;
}

/// The tokens of one row, for settings that count tokens.
static int64_t rowLength(Report &report, const Recipe &recipe, SMLoc loc) {
  auto it = recipe.data.find(lang::dimension::sequence);
  if (it != recipe.data.end() && it->second.number.whole > 0)
    return it->second.number.whole;
  auto error = report.error(loc, "tokens need the length of a row: add S = .. to the data line");
  fixDataSize(error, recipe.settings->find("data"), lang::dimension::sequence);
  return 0;
}

std::optional<Recipe> tplan::parse::readRecipe(Report &report, const Settings &settings,
                                               const Sizes &dataOverrides) {
  Recipe recipe;
  recipe.settings = &settings;
  recipe.data = dataOverrides;
  bool ok = true;
  for (StringRef key : {"model", "data", "batch", "length", "lr"})
    if (!settings.find(key)) {
      report.error(settings.name.loc, "recipe {0} needs a line: {1}", settings.name.text, key);
      ok = false;
    }
  if (!ok)
    return std::nullopt;
  ok &= readModel(report, *settings.find("model"), recipe);
  ok &= readData(report, *settings.find("data"), recipe);
  const Setting &batch = *settings.find("batch"), &length = *settings.find("length");
  auto rows = amount(report, batch.items[0].quantity, {Unit::Sequences, Unit::Tokens}, "a batch");
  auto total = amount(report, length.items[0].quantity, {Unit::Steps, Unit::Tokens}, "the length");
  if (!ok || !rows || !total)
    return std::nullopt;
  recipe.batch = rows->value;
  if (rows->unit == Unit::Tokens) {
    int64_t row = rowLength(report, recipe, batch.loc);
    if (!row)
      return std::nullopt;
    if (rows->value % row) {
      int64_t down = rows->value / row * row;
      report
          .error(batch.items[0].loc,
                 "a batch must be whole rows of {0} tokens: {1} or {2} tokens, "
                 "found {3}",
                 row, down, down + row, rows->value)
          .note(recipe.data.find(lang::dimension::sequence)->second.loc, "S is given here");
      return std::nullopt;
    }
    recipe.batch = rows->value / row;
  }
  if (recipe.batch > limits::size) {
    report.error(batch.items[0].loc, "a batch has at most 2^40 sequences, found {0}", recipe.batch);
    return std::nullopt;
  }
  if (recipe.data.count(lang::dimension::sequence))
    recipe.sequence = recipe.data.find(lang::dimension::sequence)->second.number.whole;
  recipe.steps = total->value;
  if (total->unit == Unit::Tokens) {
    int64_t row = rowLength(report, recipe, length.loc), step;
    if (!row)
      return std::nullopt;
    if (__builtin_mul_overflow(row, recipe.batch, &step))
      step = INT64_MAX;
    recipe.steps = total->value / step + (total->value % step != 0);
  }
  recipe.data[lang::dimension::batch] = {Number::of(recipe.batch), batch.loc};
  return recipe;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

void tplan::parse::emitRecipe(ModelBuilder &model, const Recipe &recipe, StringRef symbol) {
  const Settings &settings = *recipe.settings;
  Places places(model.report, settings.name.loc);
  for (const auto &[key, line] : settings.lines)
    places.add(key, line->loc);
  Builder b(model.context);
  SmallVector<NamedAttribute> sizes;
  for (auto &[name, number] : model.sizes)
    sizes.push_back(b.getNamedAttr(name, number.integer
                                             ? Attribute(b.getI64IntegerAttr(number.whole))
                                             : Attribute(b.getF64FloatAttr(number.real))));
  lang::Recipe fields;
  fields.model = {recipe.model.text.str(), b.getDictionaryAttr(sizes)};
  fields.batch = recipe.batch;
  fields.sequence = recipe.sequence;
  fields.steps = recipe.steps;
  fields.optimizer = readOptimizer(model, settings.find("optimizer"));
  fields.lr =
      readRate(model.report, *settings.find("lr"), recipe.steps, settings.find("length")->loc);
  fields.data = readFiles(model, *settings.find("data"));
  if (const Setting *line = settings.find("eval"))
    fields.eval = readEval(model, *line, fields.data);
  if (const Setting *line = settings.find("save"))
    fields.save = readSave(model, *line);
  model.builder.setInsertionPointToEnd(model.module->getBody());
  lang::RecipeOp::create(model.builder, places.location(), symbol,
                         lang::RecipeAttr::get(model.context, fields));
}

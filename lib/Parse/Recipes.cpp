//===- Recipes.cpp - how a model is trained ----------------------------------===//
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Settings.h"
#include <cmath>

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
static bool readModel(Elaborator &e, const Setting &line, Recipe &recipe) {
  const Expr &expr = *line.items.front().expr;
  const Expr &name = expr.kind == Expr::Call ? *expr.lhs : expr;
  if (name.kind != Expr::Ref) {
    e.report.error(expr.loc, "expected a model and its sizes: model llama(L = 32)");
    return false;
  }
  recipe.model = {name.text, name.loc};
  if (expr.kind != Expr::Call)
    return true;
  Once once(e.report);
  for (const Arg &arg : expr.args) {
    if (arg.key.text.empty() || !arg.over.text.empty()) {
      e.report.error(arg.value->loc, "sizes of a model are given by name: L = 32");
      return false;
    }
    if (!once(arg.key.text, arg.key.loc))
      return false;
    std::optional<Number> value = e.number(*arg.value, emptyEnv());
    if (!value)
      return false;
    // --set comes first and wins.
    recipe.sizes.try_emplace(arg.key.text, Bound{*value, arg.key.loc});
  }
  return true;
}

/// data web 0.8 "web/*.bin", S = 8192: here only the sizes.
static bool readData(Elaborator &e, const Setting &line, Recipe &recipe) {
  Once once(e.report);
  for (const Item &item : line.items) {
    if (!item.expr)
      continue;
    if (!once(item.name.text, item.name.loc))
      return false;
    if (item.name.text == "B") {
      e.report.error(item.name.loc, "B is the batch: set it with `batch`");
      return false;
    }
    std::optional<int64_t> value =
        e.whole(*item.expr, emptyEnv(), 1, limits::size, "a size of the data");
    if (!value)
      return false;
    recipe.data.try_emplace(item.name.text, Bound{Number::of(*value), item.name.loc});
  }
  return true;
}

/// A size of another name becomes this one, else one is added.
void Elaborator::fixDataSize(Report::Error &error, StringRef name) {
  // The length of a row where nothing is said: that of GPT-2.
  constexpr StringLiteral standard = "1024";
  if (!dataLine)
    return;
  for (const Item &item : dataLine->items)
    if (item.expr && (ours(Habit::Size, item.name.text) == name ||
                      (item.name.text.size() + name.size() > 2 &&
                       item.name.text.edit_distance(name, true, 2) < 2))) {
      error.say("; here it is `{0}`, not {1}", name, item.name.text);
      error.fix({{item.name.text, name.str()}});
    }
  for (const Item &item : llvm::reverse(dataLine->items))
    if (item.hasString) {
      error.fix({{StringRef(item.string.end() + 1, 0), (", " + name + " = " + standard).str()}});
      return;
    }
}

/// The tokens of one row, for settings that count tokens.
static int64_t rowLength(Elaborator &e, const Recipe &recipe, SMLoc loc) {
  auto it = recipe.data.find("S");
  if (it != recipe.data.end() && it->second.number.whole > 0)
    return it->second.number.whole;
  auto error = e.report.error(loc, "tokens need the length of a row: add S = .. to the data line");
  e.fixDataSize(error, "S");
  return 0;
}

std::optional<Recipe> tplan::parse::readRecipe(Elaborator &e, const Settings &settings,
                                               const std::map<StringRef, Bound> &dataOverrides) {
  Recipe recipe;
  recipe.settings = &settings;
  recipe.data = dataOverrides;
  bool ok = true;
  for (StringRef key : {"model", "data", "batch", "length", "lr"})
    if (!settings.find(key)) {
      e.report.error(settings.name.loc, "recipe {0} needs a line: {1}", settings.name.text, key);
      ok = false;
    }
  if (!ok)
    return std::nullopt;
  ok &= readModel(e, *settings.find("model"), recipe);
  ok &= readData(e, *settings.find("data"), recipe);
  const Setting &batch = *settings.find("batch"), &length = *settings.find("length");
  auto rows = amount(e.report, batch.items[0].quantity, {Unit::Sequences, Unit::Tokens}, "a batch");
  auto total =
      amount(e.report, length.items[0].quantity, {Unit::Steps, Unit::Tokens}, "the length");
  if (!ok || !rows || !total)
    return std::nullopt;
  recipe.batch = rows->value;
  if (rows->unit == Unit::Tokens) {
    int64_t row = rowLength(e, recipe, batch.loc);
    if (!row)
      return std::nullopt;
    if (rows->value % row) {
      int64_t down = rows->value / row * row;
      e.report
          .error(batch.items[0].loc,
                 "a batch must be whole rows of {0} tokens: {1} or {2} tokens, "
                 "found {3}",
                 row, down, down + row, rows->value)
          .note(recipe.data.find("S")->second.loc, "S is given here");
      return std::nullopt;
    }
    recipe.batch = rows->value / row;
  }
  if (recipe.batch > limits::size) {
    e.report.error(batch.items[0].loc, "a batch has at most 2^40 sequences, found {0}",
                   recipe.batch);
    return std::nullopt;
  }
  if (recipe.data.count("S"))
    recipe.sequence = recipe.data.find("S")->second.number.whole;
  recipe.steps = total->value;
  if (total->unit == Unit::Tokens) {
    int64_t row = rowLength(e, recipe, length.loc), step;
    if (!row)
      return std::nullopt;
    if (__builtin_mul_overflow(row, recipe.batch, &step))
      step = INT64_MAX;
    recipe.steps = total->value / step + (total->value % step != 0);
  }
  recipe.data["B"] = {Number::of(recipe.batch), batch.loc};
  return recipe;
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

namespace {
/// An argument of an optimizer: its default, and 0 <= value < below.
struct OptimizerArg {
  StringRef name;
  double lang::Optimizer::*field;
  double standard, below;
};
struct OptimizerForm {
  lang::OptimizerKind kind;
  std::vector<OptimizerArg> args;
  StringRef name() const { return lang::stringifyOptimizerKind(kind); }
};
} // namespace

static const std::vector<OptimizerForm> &optimizers() {
  using O = lang::Optimizer;
  constexpr double inf = 1e300;
  static const std::vector<OptimizerForm> forms = {
      {lang::OptimizerKind::AdamW,
       {{"beta1", &O::beta1, 0.9, 1},
        {"beta2", &O::beta2, 0.999, 1},
        {"eps", &O::eps, 1e-8, inf},
        {"decay", &O::decay, 0, inf},
        {"clip", &O::clip, 0, inf}}},
      {lang::OptimizerKind::Sgd,
       {{"momentum", &O::momentum, 0, 1},
        {"decay", &O::decay, 0, inf},
        {"clip", &O::clip, 0, inf}}},
  };
  return forms;
}

/// Paths without layer numbers, of the weights that `except` names.
static std::optional<std::vector<std::string>> noDecay(Elaborator &e, const Selector &selector) {
  auto matches = match(e.report, selector, e.info);
  if (!matches)
    return std::nullopt;
  std::vector<std::string> paths;
  // Path -> selected and present instances.
  std::map<std::string, std::pair<int64_t, int64_t>> counts;
  for (auto [weight, ranges] : llvm::zip(e.info.weights, *matches)) {
    std::string path = weight.path;
    if (size_t at = path.find(".{i}"); at != std::string::npos)
      path.erase(at, 4);
    auto &[selected, present] = counts[path];
    selected += instances(weight, ranges);
    present += weight.count;
  }
  for (auto &[path, count] : counts) {
    if (count.first == 0)
      continue;
    if (count.first != count.second) {
      e.refuse(selector.include.front().loc, Feature::PartSelector);
      return std::nullopt;
    }
    paths.push_back(path);
  }
  return paths;
}

static std::optional<lang::Optimizer> readOptimizer(Elaborator &e, const Setting *line) {
  static const Item standard = [] {
    Item item;
    item.name.text = "adamw";
    return item;
  }();
  const Item &item = line ? line->items.front() : standard;
  const OptimizerForm *form = nullptr;
  std::vector<StringRef> names;
  for (const OptimizerForm &known : optimizers()) {
    names.push_back(known.name());
    if (known.name() == item.name.text)
      form = &known;
  }
  if (!form) {
    auto error = e.report.error(item.name.loc, "unknown optimizer: {0}; known are adamw and sgd",
                                item.name.text);
    suggestOurs(error, Habit::Optimizer, item.name.text, names);
    return std::nullopt;
  }
  lang::Optimizer optimizer{.kind = form->kind};
  names.clear();
  for (const OptimizerArg &arg : form->args) {
    optimizer.*arg.field = arg.standard;
    names.push_back(arg.name);
  }
  if (form->kind == lang::OptimizerKind::AdamW)
    names.push_back("betas");
  Once once(e.report); // `betas` gives two
  auto put = [&](StringRef name, const Expr &expr) {
    std::optional<Number> n = e.number(expr, emptyEnv());
    if (!n)
      return;
    once(name, expr.loc);
    for (const OptimizerArg &arg : form->args) {
      if (arg.name != name)
        continue;
      if (n->real < 0 || n->real >= arg.below)
        e.report.error(expr.loc, "{0} must be at least 0{1}, found {2}", name,
                       arg.below == 1 ? " and below 1" : "", spell(*n));
      optimizer.*arg.field = n->real;
    }
  };
  Selector except;
  bool open = false; // after `except`, further bare items are selectors
  for (const Arg &arg : item.args) {
    StringRef key = arg.key.text;
    if (key.empty() && open && arg.value->kind == Expr::Ref && arg.over.text.empty()) {
      SelectorItem more;
      more.loc = arg.value->loc;
      more.path.emplace_back().name = {arg.value->text, arg.value->loc};
      except.include.push_back(more);
      continue;
    }
    if (key.empty() || !llvm::is_contained(names, key)) {
      auto error =
          e.report.error(key.empty() ? arg.value->loc : arg.key.loc, "{0} has no argument {1}",
                         form->name(), key.empty() ? StringRef("without a name") : key);
      suggestOurs(error, Habit::Optimizer, key, names);
      continue;
    }
    open = false;
    if (key == "betas") {
      if (arg.value->kind != Expr::Tuple || arg.value->args.size() != 2) {
        e.report.error(arg.value->loc, "betas are two numbers: betas = (0.9, 0.95)");
        continue;
      }
      put("beta1", *arg.value->args[0].value);
      put("beta2", *arg.value->args[1].value);
    } else {
      put(key, *arg.value);
    }
    if (arg.except) {
      if (key != "decay") {
        e.report.error(arg.key.loc, "`except` belongs to decay, not to {0}", key);
        continue;
      }
      open = true;
      llvm::append_range(except.include, arg.except->include);
    }
  }
  if (!except.include.empty())
    if (auto paths = noDecay(e, except))
      optimizer.noDecay = std::move(*paths);
  return optimizer;
}

//===----------------------------------------------------------------------===//
// Learning rate
//===----------------------------------------------------------------------===//

/// Pieces over the steps begin < step <= end, from `from` at begin to `to` at end.
static std::vector<lang::RatePiece> readRate(Elaborator &e, const Setting &line, int64_t steps,
                                             SMLoc lengthLoc) {
  using Shape = lang::RateShape;
  struct Piece {
    Shape shape;
    double from, to;
    int64_t length; // 0: what is left
    bool warmup;
  };
  std::vector<Piece> pieces;
  const Item *open = nullptr;
  auto rate = [&](const Quantity &q) {
    if (!q.unit.text.empty())
      e.report.error(q.unit.loc, "a learning rate has no unit, found {0}", q.unit.text);
    return q.number.real;
  };
  for (const Item &item : line.items) {
    StringRef name = item.name.text;
    Piece piece{Shape::Flat, 0, 0, 0, false};
    if (item.hasNumber) {
      piece.from = piece.to = rate(item.quantity);
    } else if (name == "warmup") {
      auto length = amount(e.report, item.quantity, Unit::Steps, "warmup");
      piece.shape = Shape::Linear;
      piece.warmup = true;
      piece.length = length ? length->value : 1;
    } else if (std::optional<Shape> shape = lang::symbolizeRateShape(name)) {
      piece.shape = *shape;
      piece.from = rate(item.quantity);
      piece.to = piece.from;
      if (item.to.loc.isValid())
        piece.to = rate(item.to);
      if (item.to.loc.isValid() && shape == Shape::Flat)
        e.report.error(item.name.loc, "flat stays at one rate: flat 1e-4");
      if (!item.to.loc.isValid() && shape != Shape::Flat)
        e.report.error(item.name.loc, "{0} goes from one rate to another: {0} 3e-4 to 3e-5", name);
      if (item.span.loc.isValid())
        if (auto length = amount(e.report, item.span, Unit::Steps, name))
          piece.length = length->value;
    } else {
      e.report.error(item.name.loc, "unknown shape of the learning rate: {0}", name)
          .suggest(name, ArrayRef<StringRef>{"warmup", "flat", "linear", "cosine"});
      return {};
    }
    if (!piece.length) {
      if (open) {
        e.report
            .error(item.loc,
                   "only one part of the learning rate may lack its length: add `for N steps`")
            .note(open->loc, "this one lacks it too");
        return {};
      }
      open = &item;
    }
    pieces.push_back(piece);
  }
  // Warmup ends where the next part begins.
  int64_t known = 0;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    if (piece.warmup && i + 1 == pieces.size()) {
      auto error = e.report.error(line.items[i].loc,
                                  "warmup needs a part after it: warmup 100 steps, flat 1e-4");
      StringRef last = restOfLine(StringRef(line.items[i].loc.getPointer(), 0));
      const char *begin = line.items.front().loc.getPointer();
      StringRef before = StringRef(begin, last.data() - begin).rtrim(" ,");
      if (i)
        error.fix({{StringRef(begin, last.end() - begin), (last + ", " + before).str()}});
      return {};
    }
    if (piece.warmup)
      piece.to = pieces[i + 1].from;
    known += piece.length;
  }
  std::vector<lang::RatePiece> schedule;
  int64_t begin = 0;
  std::vector<RatePart> parts;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    int64_t end = begin + (piece.length ? piece.length : std::max<int64_t>(0, steps - known));
    parts.push_back({piece.warmup ? "warmup" : lang::stringifyRateShape(piece.shape),
                     line.items[i].loc, begin, end, piece.to});
    if (end > begin)
      schedule.push_back({begin, end, piece.from, piece.to, piece.shape});
    begin = end;
  }
  doubtRate(e.report, parts, steps, lengthLoc);
  return schedule;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

void tplan::parse::emitRecipe(Elaborator &e, const Recipe &recipe, StringRef symbol) {
  const Settings &settings = *recipe.settings;
  Places places(e.report, settings.name.loc);
  for (const auto &[key, line] : settings.lines)
    places.add(key, line->loc);
  Builder b(e.context);
  SmallVector<NamedAttribute> sizes;
  for (auto &[name, number] : e.sizes)
    sizes.push_back(b.getNamedAttr(name, number.integer
                                             ? Attribute(b.getI64IntegerAttr(number.whole))
                                             : Attribute(b.getF64FloatAttr(number.real))));
  lang::Recipe fields;
  fields.model = {recipe.model.text.str(), b.getDictionaryAttr(sizes)};
  fields.batch = recipe.batch;
  fields.sequence = recipe.sequence;
  fields.steps = recipe.steps;
  fields.optimizer = readOptimizer(e, settings.find("optimizer"));
  fields.lr = readRate(e, *settings.find("lr"), recipe.steps, settings.find("length")->loc);
  fields.data = readFiles(e, *settings.find("data"));
  if (const Setting *line = settings.find("eval"))
    fields.eval = readEval(e, *line, fields.data);
  if (const Setting *line = settings.find("save"))
    fields.save = readSave(e, *line);
  e.builder.setInsertionPointToEnd(e.module->getBody());
  lang::RecipeOp::create(e.builder, places.location(), symbol,
                         lang::RecipeAttr::get(e.context, fields));
}

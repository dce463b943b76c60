//===- Optimizers.cpp - the line `optimizer` of a recipe -------------------===//
#include "lib/Parse/Optimizers.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Settings.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

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

/// What the line names, or null after an error.
static const OptimizerForm *findForm(Report &report, const Name &word) {
  std::vector<StringRef> names;
  for (const OptimizerForm &form : optimizers()) {
    if (form.name() == word.text)
      return &form;
    names.push_back(form.name());
  }
  auto error = report.error(word.loc, "unknown optimizer: {0}; known are adamw and sgd", word.text);
  suggestOurs(error, Habit::Optimizer, word.text, names);
  return nullptr;
}

/// Paths without layer numbers, of the weights that `except` names.
static std::optional<std::vector<std::string>> noDecay(ModelBuilder &model,
                                                       const Selector &selector) {
  auto matches = match(model.report, selector, model.info);
  if (!matches)
    return std::nullopt;
  std::vector<std::string> paths;
  // Path -> selected and present instances.
  std::map<std::string, std::pair<int64_t, int64_t>> counts;
  for (auto [weight, ranges] : llvm::zip(model.info.weights, *matches)) {
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
      refuse(model.report, selector.include.front().loc, Feature::PartSelector);
      return std::nullopt;
    }
    paths.push_back(path);
  }
  return paths;
}

namespace {
class OptimizerReader {
public:
  OptimizerReader(Report &report, const OptimizerForm &form);
  void read(const Arg &arg);

  lang::Optimizer optimizer;
  Selector except; // the weights without decay

private:
  bool isSelector(const Arg &arg) const;
  bool isKnown(const Arg &arg);
  void put(StringRef name, const Expr &expr);
  bool putBetas(const Expr &expr);

  Report &report;
  const OptimizerForm &form;
  std::vector<StringRef> names;
  Once once;         // `betas` gives two
  bool open = false; // after `except`, further bare items are selectors
};
} // namespace

OptimizerReader::OptimizerReader(Report &report, const OptimizerForm &form)
    : optimizer{.kind = form.kind}, report(report), form(form), once(report) {
  for (const OptimizerArg &arg : form.args) {
    optimizer.*arg.field = arg.standard;
    names.push_back(arg.name);
  }
  if (form.kind == lang::OptimizerKind::AdamW)
    names.push_back("betas");
}

void OptimizerReader::put(StringRef name, const Expr &expr) {
  std::optional<Number> value = number(report, expr, Env());
  if (!value)
    return;
  once(name, expr.loc);
  for (const OptimizerArg &arg : form.args) {
    if (arg.name != name)
      continue;
    if (value->real < 0 || value->real >= arg.below)
      report.error(expr.loc, "{0} must be at least 0{1}, found {2}", name,
                   arg.below == 1 ? " and below 1" : "", spell(*value));
    optimizer.*arg.field = value->real;
  }
}

/// False after an error in what they are.
bool OptimizerReader::putBetas(const Expr &expr) {
  if (expr.kind != Expr::Tuple || expr.args.size() != 2) {
    report.error(expr.loc, "betas are two numbers: betas = (0.9, 0.95)");
    return false;
  }
  put("beta1", *expr.args[0].value);
  put("beta2", *expr.args[1].value);
  return true;
}

/// A further item after `except`.
bool OptimizerReader::isSelector(const Arg &arg) const {
  return open && arg.key.text.empty() && arg.value->kind == Expr::Ref && arg.over.text.empty();
}

bool OptimizerReader::isKnown(const Arg &arg) {
  StringRef key = arg.key.text;
  if (!key.empty() && llvm::is_contained(names, key))
    return true;
  auto error = report.error(key.empty() ? arg.value->loc : arg.key.loc, "{0} has no argument {1}",
                            form.name(), key.empty() ? StringRef("without a name") : key);
  suggestOurs(error, Habit::Optimizer, key, names);
  return false;
}

void OptimizerReader::read(const Arg &arg) {
  if (isSelector(arg)) {
    SelectorItem more;
    more.loc = arg.value->loc;
    more.path.emplace_back().name = {arg.value->text, arg.value->loc};
    except.include.push_back(more);
    return;
  }
  if (!isKnown(arg))
    return;
  open = false;
  StringRef key = arg.key.text;
  if (key != "betas")
    put(key, *arg.value);
  else if (!putBetas(*arg.value))
    return;
  if (!arg.except)
    return;
  if (key != "decay") {
    report.error(arg.key.loc, "`except` belongs to decay, not to {0}", key);
    return;
  }
  open = true;
  llvm::append_range(except.include, arg.except->include);
}

std::optional<lang::Optimizer> tplan::parse::readOptimizer(ModelBuilder &model,
                                                           const Setting *line) {
  static const Item standard = [] {
    Item item;
    item.name.text = "adamw";
    return item;
  }();
  const Item &item = line ? line->items.front() : standard;
  const OptimizerForm *form = findForm(model.report, item.name);
  if (!form)
    return std::nullopt;
  OptimizerReader reader(model.report, *form);
  for (const Arg &arg : item.args)
    reader.read(arg);
  if (!reader.except.include.empty())
    if (auto paths = noDecay(model, reader.except))
      reader.optimizer.noDecay = std::move(*paths);
  return std::move(reader.optimizer);
}

//===- Precisions.cpp - the line `precision` of a plan ------------------------===//
//
// The first item is the precision of the whole program; those after it name weights whose GEMMs
// compute in another one: `precision bf16, f32 for head`, or what the optimizer keeps: `moments
// bf16`. Which weights a selector matches is known here; the phase `precision` finds the GEMMs that
// read them.
//
// One decision: after `except` further names belong to it, as in `decay = 0.1 except norms, head`,
// until an item with a `for` begins.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/LossScale.h"
#include "lib/Parse/NamedArgs.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using lang::Fp8Recipe;
using lang::Precision;
using llvm::SMLoc;
using llvm::StringRef;

static constexpr StringLiteral kFp8 = "fp8";

//===----------------------------------------------------------------------===//
// The whole program
//===----------------------------------------------------------------------===//

namespace {
/// An argument of f16: from 1 to `most`, a power of two or a whole number.
struct ScaleArg {
  StringRef name;
  double standard, most;
  bool isPower;
  StringRef what;
};
static_assert(lang::LossScale::kLeast == 1 && lang::LossScale::kMost == 0x1p48);
constexpr StringLiteral kPower = "a power of two from 1 to 2^48, so that it divides exactly";
const ScaleArg kScaleArgs[] = {
    {"scale", 0, lang::LossScale::kMost, true, kPower},
    {"init_scale", 65536, lang::LossScale::kMost, true, kPower},
    {"growth_interval", 2000, 1e9, false, "a whole number of steps from 1 to 1e9"},
};

bool holds(const ScaleArg &arg, double value) {
  int exponent;
  bool fits = arg.isPower ? std::frexp(value, &exponent) == 0.5 : value == std::floor(value);
  return fits && value >= lang::LossScale::kLeast && value <= arg.most;
}

/// What multiplies the cotangents of the losses: `f16(scale = 1024)`, or by what steps show.
void readLossScale(PlanContext &plan, const Item &item) {
  SmallVector<StringRef> names = llvm::map_to_vector(kScaleArgs, [](auto &a) { return a.name; });
  llvm::StringMap<double> values;
  for (const ScaleArg &arg : kScaleArgs)
    values[arg.name] = arg.standard;
  const Arg *constant = nullptr, *dynamic = nullptr;
  auto read = [&](const Arg &given, StringRef name, const Number &value) {
    const ScaleArg *arg = llvm::find_if(kScaleArgs, [&](auto &a) { return a.name == name; });
    if (!holds(*arg, value.real)) {
      plan.report.error(given.value->loc, "{0} is {1}, found {2}", name, arg->what, spell(value));
      return false;
    }
    values[name] = value.real;
    (arg == kScaleArgs ? constant : dynamic) = &given;
    return true;
  };
  if (!forEachNamedArg(plan.report, item.name.text, item.args, names, read))
    return;
  if (constant && dynamic) {
    plan.report
        .error(dynamic->key.loc, "a constant scale has no {0}: drop it, or `scale`",
               dynamic->key.text)
        .note(constant->key.loc, "the constant scale is given here");
    return;
  }
  plan.fields.lossScale =
      lang::LossScale{.start = values[constant ? "scale" : "init_scale"],
                      .interval = constant ? 0 : static_cast<int64_t>(values["growth_interval"])};
}

} // namespace

/// `bf16 in f64`: the program in f64 that rounds where the plan does. For f32 and f64 without parts
/// it is `f64` itself, because there is no rounding to keep.
static void readOracle(PlanContext &plan, const Item &item, bool hasParts) {
  const Name &in = item.second;
#define NARROW_PRECISION(PRECISION, TYPE, GPU) Precision::PRECISION,
  static constexpr Precision rounding[] = {
#include "dialects/nn/Narrow.def"
  };
  bool rounds = llvm::is_contained(rounding, plan.fields.precision) ||
                (hasParts && plan.fields.precision == Precision::F32);
  if (rounds && in.text == "f64") {
    plan.fields.computedIn = Precision::F64;
    return;
  }
  auto oracles = llvm::map_range(rounding, [](Precision narrow) {
    return ("`" + lang::stringifyPrecision(narrow) + " in f64`").str();
  });
  plan.report.error(in.loc, "an oracle is {0}, found {1} in {2}", llvm::join(oracles, " or "),
                    item.name.text, in.text);
}

/// False after an error.
static bool readWhole(PlanContext &plan, const Item &item, bool hasParts) {
  if (item.selector) {
    plan.report.error(item.loc, "the precision of the whole program comes first: `f32, {0} for ..`",
                      item.name.text.empty() ? StringRef("bf16") : item.name.text);
    return false;
  }
  if (item.name.text == kFp8) {
    plan.report.error(item.loc,
                      "the whole program has a precision for what is in no GEMM: "
                      "`bf16, {0}({1}) for linear except head`",
                      kFp8, lang::stringifyFp8Recipe(Fp8Recipe::Blockwise));
    return false;
  }
  if (!item.names.empty()) {
    plan.report.error(item.loc, "the precision of the whole program comes first: `bf16, {0} {1}`",
                      item.name.text, item.names.front().text);
    return false;
  }
  auto precision = wordOf<Precision>(plan, item.name, "precision");
  if (!precision)
    return false;
  if (item.called && precision != Precision::F16) {
    plan.report.error(item.name.loc,
                      "a loss is scaled for f16 alone: drop the arguments, found {0}",
                      item.name.text);
    return false;
  }
  if (precision == Precision::F16)
    readLossScale(plan, item);
  plan.fields.precision = *precision;
  if (!item.second.text.empty())
    readOracle(plan, item, hasParts);
  return true;
}

//===----------------------------------------------------------------------===//
// Parts of it
//===----------------------------------------------------------------------===//

namespace {
/// A precision, and the weights that it is for.
struct Part {
  const Item *item;
  Selector selector;
};
} // namespace

static bool isPrecision(StringRef word) { return word == kFp8 || lang::symbolizePrecision(word); }

/// The items after the first; names that follow an `except` join it. Nothing after an error.
static std::optional<std::vector<Part>> partsOf(PlanContext &plan, ArrayRef<Item> items) {
  std::vector<Part> parts;
  for (const Item &item : items) {
    bool isNamed = !item.name.text.empty();
    if (!item.second.text.empty()) {
      plan.report.error(item.second.loc,
                        "`in {0}` is for the whole program: write it after the "
                        "first precision, found {1} in {0}",
                        item.second.text, item.name.text);
      return std::nullopt;
    }
    if (isNamed && item.selector) {
      parts.push_back({&item, *item.selector});
      continue;
    }
    if (parts.empty() || item.called || (isNamed && isPrecision(item.name.text))) {
      plan.report.error(item.loc, "after the first, a precision needs its weights: `{0} for head`",
                        !isNamed                 ? StringRef("bf16")
                        : item.name.text == kFp8 ? StringRef("fp8(blockwise)")
                                                 : item.name.text);
      return std::nullopt;
    }
    SelectorItem more;
    more.loc = item.loc;
    more.path.emplace_back().name = item.name;
    Selector &last = parts.back().selector;
    (last.except.empty() ? last.include : last.except)
        .push_back(item.selector ? item.selector->include.front() : more);
    if (item.selector)
      llvm::append_range(last.except, item.selector->except);
  }
  return parts;
}

/// `per = sequence`, which `current` may say of its scales, because others give a scale to each
/// microbatch; that would change with the plan.
static bool readPer(PlanContext &plan, const Args &args) {
  for (const Arg &arg : args) {
    if (arg.key.text != "per" || args.size() > 1) {
      plan.report.error(
          arg.value->begin,
          "{0} takes `per = sequence`, and no other argument: drop this one, found {1}",
          lang::stringifyFp8Recipe(Fp8Recipe::Current), arg.key.text);
      return false;
    }
    if (arg.value->kind != Expr::Ref || arg.value->text != "sequence") {
      plan.report.error(arg.value->begin,
                        "a scale for more than a sequence would change with the microbatch: write "
                        "`per = sequence`, or leave it out; found per = {0}",
                        arg.value->text);
      return false;
    }
  }
  return true;
}

namespace {
/// A number that a recipe takes.
struct RecipeArg {
  StringRef name;
  int64_t standard, least, most;
  int64_t lang::PartPrecision::*field;
};
/// What `delayed` takes: how many steps' maxima count, and how many powers of two are left above
/// them.
const RecipeArg kDelayedArgs[] = {
    {"history", 1024, 1, 65536, &lang::PartPrecision::history},
    {"margin", 0, 0, 32, &lang::PartPrecision::margin},
};
} // namespace

static bool readDelayed(PlanContext &plan, const Args &args, lang::PartPrecision &part) {
  SmallVector<StringRef> names;
  for (const RecipeArg &arg : kDelayedArgs) {
    names.push_back(arg.name);
    part.*arg.field = arg.standard;
  }
  auto read = [&](const Arg &given, StringRef name, const Number &value) {
    const RecipeArg &arg = *llvm::find_if(kDelayedArgs, [&](auto &a) { return a.name == name; });
    if (value.real != std::floor(value.real) || value.real < arg.least || value.real > arg.most) {
      plan.report.error(given.value->loc, "{0} is a whole number from {1} to {2}, found {3}", name,
                        arg.least, arg.most, spell(value));
      return false;
    }
    part.*arg.field = static_cast<int64_t>(value.real);
    return true;
  };
  return forEachNamedArg(plan.report, lang::stringifyFp8Recipe(Fp8Recipe::Delayed), args, names,
                         read);
}

static bool readRecipeArgs(PlanContext &plan, Fp8Recipe recipe, const Args &args,
                           lang::PartPrecision &part) {
  if (recipe == Fp8Recipe::Delayed)
    return readDelayed(plan, args, part);
  if (recipe == Fp8Recipe::Current || args.empty())
    return readPer(plan, args);
  plan.report.error(args.front().value->begin, "{0} takes no argument: drop this one, found {1}",
                    lang::stringifyFp8Recipe(recipe), args.front().key.text);
  return false;
}

/// `fp8(blockwise)`, `fp8(current(per = sequence))`. False after an error.
static bool readFp8(PlanContext &plan, const Item &item, lang::PartPrecision &part) {
  const Expr *recipe = item.args.size() == 1 && item.args.front().key.text.empty()
                           ? item.args.front().value
                           : nullptr;
  const Expr *word = recipe && recipe->kind == Expr::Call ? recipe->lhs : recipe;
  if (!word || word->kind != Expr::Ref) {
    plan.report.error(item.loc, "{0} takes one recipe: known are {1}", kFp8,
                      llvm::join(lang::wordsOf<Fp8Recipe>(), ", "));
    return false;
  }
  part.fp8 = wordOf<Fp8Recipe>(plan, {word->text, word->loc}, "fp8 recipe");
  return part.fp8 && readRecipeArgs(plan, *part.fp8, recipe->args, part);
}

/// The precision of a part, where a program in `whole` can have one.
static std::optional<Precision> precisionOf(PlanContext &plan, const Item &item) {
  auto precision = wordOf<Precision>(plan, item.name, "precision");
  if (!precision)
    return std::nullopt;
  StringRef why;
  switch (*precision) {
  case Precision::F64:
  case Precision::TF32:
    why = "a part is in f32, bf16 or f16";
    break;
  case Precision::F16:
    if (plan.fields.precision != Precision::F16)
      why = "f16 needs a loss that is scaled: name it for the whole program, or bf16 here";
    else if (item.called)
      why = "the whole program has one scale of the loss: write it after the first f16";
    break;
  default:
    if (item.called)
      why = "a loss is scaled for f16 alone: drop the arguments";
  }
  if (why.empty())
    return precision;
  plan.report.error(item.name.loc, "{0}; found {1}", why, item.name.text);
  return std::nullopt;
}

static std::string textOf(const Selector &selector) {
  auto text = [](const std::vector<SelectorItem> &items) {
    return llvm::join(llvm::map_range(items, [](const SelectorItem &item) { return item.str(); }),
                      ", ");
  };
  std::string include = text(selector.include);
  return selector.except.empty() ? include : include + " except " + text(selector.except);
}

/// The layers of each weight that a selector matches.
static std::vector<lang::WeightLayers> layersOf(const ModelInfo &info, ArrayRef<Ranges> matches) {
  std::vector<lang::WeightLayers> layers;
  for (auto [weight, ranges] : llvm::zip(info.weights, matches)) {
    int64_t last = weight.first + (weight.count - 1) * weight.step;
    for (auto [from, to] : ranges)
      if (instances(weight, {{from, to}}))
        layers.push_back({weight.path, std::max(from, weight.first), std::min(to, last)});
  }
  return layers;
}

/// What GEMMs read: matrices.
static bool anyMatrix(const ModelInfo &info, ArrayRef<Ranges> matches) {
  return llvm::any_of(llvm::zip(info.weights, matches), [](auto each) {
    auto &[weight, ranges] = each;
    return weight.type.getRank() > 1 && instances(weight, ranges);
  });
}

static bool meet(const lang::WeightLayers &a, const lang::WeightLayers &b) {
  return a.path == b.path && a.first <= b.last && b.first <= a.last;
}

static bool readPart(PlanContext &plan, const Part &part, ArrayRef<Part> before) {
  lang::PartPrecision read;
  bool isFp8 = part.item->name.text == kFp8;
  auto precision = isFp8 ? plan.fields.precision : precisionOf(plan, *part.item);
  if (!precision)
    return false;
  read.precision = *precision;
  if (isFp8 && !readFp8(plan, *part.item, read))
    return false;
  const ModelInfo &info = plan.model.info;
  auto matches = match(plan.report, part.selector, info);
  if (!matches)
    return false;
  std::string selector = textOf(part.selector);
  if ((isFp8 || *precision != Precision::F32) && !anyMatrix(info, *matches)) {
    plan.report.error(part.selector.include.front().loc,
                      "{0} is what GEMMs read, and these weights are no matrices: all else is f32 "
                      "already; found {1}",
                      part.item->name.text, selector);
    return false;
  }
  std::vector<lang::WeightLayers> weights = layersOf(info, *matches);
  for (auto [other, its] : llvm::zip(before, plan.fields.partPrecisions))
    for (const lang::WeightLayers &mine : weights)
      for (const lang::WeightLayers &theirs : its.weights)
        if (meet(mine, theirs)) {
          plan.report
              .error(part.item->loc,
                     "a weight has one precision: name it in one of the two, or "
                     "after `except`; found a second for {0}",
                     mine.path)
              .note(other.item->loc, "the first is here");
          return false;
        }
  read.selector = std::move(selector);
  read.weights = std::move(weights);
  plan.fields.partPrecisions.push_back(std::move(read));
  return true;
}

//===----------------------------------------------------------------------===//
// What a training keeps
//===----------------------------------------------------------------------===//

namespace {
/// What `precision .., NAME TYPE` stores in another type, in f32 where nobody says.
struct Kept {
  StringRef name;
  std::optional<Precision> lang::Plan::*field;
  StringRef notF16; // why it is in f32 or bf16
};
} // namespace

static constexpr Kept kept[] = {
    {"moments", &lang::Plan::moments,
     "moments are in f32 or bf16, which have the same range: squares of gradients would vanish in "
     "f16; found {0}"},
    {"master", &lang::Plan::master,
     "master weights are in f32 or bf16, which have the same range; found {0}"}};

/// `moments bf16`. False after an error.
static bool readKept(PlanContext &plan, const Item &item, llvm::StringMap<SMLoc> &before) {
  const Name &as = item.names.front();
  auto names = llvm::map_to_vector(kept, [](const Kept &k) { return k.name; });
  if (!oneOf(plan, item.name, names, "state of the training"))
    return false;
  auto [first, added] = before.try_emplace(item.name.text, item.loc);
  if (!added) {
    plan.report.error(item.loc, "given twice: {0}", item.name.text)
        .note(first->second, "the first is here");
    return false;
  }
  auto precision = wordOf<Precision>(plan, as, "precision");
  if (!precision)
    return false;
  const Kept &what = *llvm::find_if(kept, [&](const Kept &k) { return k.name == item.name.text; });
  if (*precision != Precision::F32 && *precision != Precision::BF16) {
    plan.report.error(as.loc, what.notF16.data(), as.text);
    return false;
  }
  if (*precision != Precision::F32)
    plan.fields.*what.field = *precision;
  return true;
}

void tplan::parse::readPrecision(PlanContext &plan, const Setting &line) {
  bool hasParts = line.items.size() > 1;
  if (!readWhole(plan, line.items[0], hasParts) || !hasParts)
    return;
  if (llvm::is_contained({Precision::F64, Precision::TF32}, plan.fields.precision)) {
    plan.report.error(line.items[1].loc,
                      "{0} is for the whole program: drop what follows, or name f32, bf16 or f16 "
                      "first",
                      lang::stringifyPrecision(plan.fields.precision));
    return;
  }
  std::vector<Item> ofWeights;
  llvm::StringMap<SMLoc> before;
  for (const Item &item : ArrayRef(line.items).drop_front()) {
    if (item.names.empty()) {
      ofWeights.push_back(item);
      continue;
    }
    if (!readKept(plan, item, before))
      return;
  }
  auto parts = partsOf(plan, ofWeights);
  if (!parts)
    return;
  for (size_t i = 0; i < parts->size(); ++i)
    if (!readPart(plan, (*parts)[i], ArrayRef(*parts).take_front(i)))
      return;
}

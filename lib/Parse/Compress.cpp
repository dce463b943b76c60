//===- Compress.cpp - the form in which ranks exchange gradients and weights --===//
//
// `compress gradients int8(block = 256) over dp; weights int8`: the form, its numbers, and the
// axes.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/NamedArgs.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tplan;
using namespace tplan::parse;
using lang::Compression;
using llvm::StringRef;

/// A block is a row of a kernel, and int4 packs eight elements at once. Each column of a factor is
/// made orthogonal to all before it.
static constexpr int64_t kLeastBlock = 32, kMostBlock = 4096, kMostRank = 64;
/// Gradients of the first steps have no few directions yet.
static constexpr int64_t kPowerStart = 100;

static bool readBlock(PlanContext &plan, const Item &item, lang::Compress &compress) {
  auto read = [&](const Arg &given, StringRef, const Number &value) {
    bool fits = value.integer && value.whole >= kLeastBlock && value.whole <= kMostBlock &&
                llvm::isPowerOf2_64(value.whole);
    if (!fits)
      plan.report.error(given.value->loc, "block is a power of two from {0} to {1}, found {2}",
                        kLeastBlock, kMostBlock, spell(value));
    compress.block = value.whole;
    return fits;
  };
  return forEachNamedArg(plan.report, item.name.text, item.args, {"block"}, read);
}

static bool readFactors(PlanContext &plan, const Item &item, lang::Compress &compress) {
  compress.start = kPowerStart;
  auto read = [&](const Arg &given, StringRef name, const Number &value) {
    bool isRank = name == "rank";
    bool fits =
        value.integer && value.whole >= (isRank ? 1 : 0) && (!isRank || value.whole <= kMostRank);
    if (!fits && isRank)
      plan.report.error(given.value->loc, "rank is a whole number from 1 to {0}, found {1}",
                        kMostRank, spell(value));
    else if (!fits)
      plan.report.error(given.value->loc, "start is a number of steps, found {0}", spell(value));
    (isRank ? compress.rank : compress.start) = value.whole;
    return fits;
  };
  return forEachNamedArg(plan.report, item.name.text, item.args, {"rank", "start"}, read);
}

/// A rank adds up whole matrices of its own, once a step.
static bool checkMatrices(PlanContext &plan, const Item &item) {
  const std::optional<lang::Zero> &zero = plan.fields.zero;
  if (zero && zero->stage > 1 && zero->accumulate == lang::Accumulate::Sharded) {
    StringRef wayOut = zero->stage == 2 ? "write `zero 2 .. accumulate local`" : "choose `zero 1`";
    plan.report
        .error(item.loc,
               "powersgd needs whole matrices, of which `zero {0}` adds up blocks in each "
               "microbatch: {1}, or `compress gradients int8`, found {2}",
               zero->stage, wayOut, item.name.text)
        .note(plan.settings.find("zero")->loc, "gradients are cut here");
    return false;
  }
  if (plan.fields.hops == 2) {
    plan.report
        .error(item.loc,
               "powersgd needs whole matrices, and ranks of a node have added up blocks after the "
               "first of two hops: drop `hops 2`, or choose `compress gradients int8`, found {0}",
               item.name.text)
        .note(plan.settings.find("hops")->loc, "the hops are given here");
    return false;
  }
  plan.fields.hops = 1;
  return true;
}

static bool readForm(PlanContext &plan, const Item &item, lang::Compress &compress) {
  switch (compress.format) {
  case Compression::BF16:
    if (item.called)
      plan.report.error(item.loc, "bf16 has no scale: drop the arguments, found {0}",
                        item.name.text);
    return !item.called;
  case Compression::Int8:
  case Compression::Int4:
    return readBlock(plan, item, compress);
  case Compression::PowerSGD:
    return readFactors(plan, item, compress) && checkMatrices(plan, item);
  }
  llvm_unreachable("covered");
}

/// Axes over which gradients are added up: those of B, all of them where the line names none. Empty
/// after an error.
static Names axesOf(PlanContext &plan, const Item &item) {
  const Shard *batch = plan.layout.find(lang::dimension::batch);
  if (!findAxes(plan, item.axes))
    return {};
  if (!batch) {
    plan.report.error(item.loc, "no ranks add up gradients, because B is not sharded: add `shard B "
                                "over dp`, or drop `compress`");
    return {};
  }
  for (const Name &axis : item.axes) {
    auto same = [&](const Name &of) { return of.text == axis.text; };
    if (batch->axes.empty() || llvm::any_of(batch->axes, same))
      continue;
    plan.report
        .error(axis.loc, "gradients are added up over the axes of B: name some of these, found {0}",
               axis.text)
        .note(batch->loc, "B is sharded here");
    return {};
  }
  return item.axes.empty() ? batch->axes : item.axes;
}

static void readGradients(PlanContext &plan, const Item &item, lang::Compress &compress) {
  Names axes = axesOf(plan, item);
  compress.axes = strings(axes);
  if (plan.fields.precision == lang::Precision::F16) {
    plan.report
        .error(item.loc, "in f16 gradients have the scale of their step, so what is lost of one "
                         "cannot be added to the next: choose `precision bf16`, or drop `compress`")
        .note(plan.settings.find("precision")->loc, "the precision is given here");
    return;
  }
  if (!axes.empty())
    plan.fields.compress = std::move(compress);
}

/// A rank that gathers weights must read them only: where it keeps what came, for the next update,
/// what was lost would stay lost.
static void readWeights(PlanContext &plan, const Item &item, lang::Compress &compress) {
  const std::optional<lang::Zero> &zero = plan.fields.zero;
  bool hasCopies =
      llvm::is_contained({lang::Precision::BF16, lang::Precision::F16}, plan.fields.precision);
  if (!zero) {
    plan.report.error(item.loc,
                      "no ranks gather weights, because none has a part of them: add "
                      "`zero 3 over dp`, or drop `weights`, found {0}",
                      item.name.text);
    return;
  }
  if (!hasCopies && (zero->stage < 3 || zero->copiesInNode)) {
    bool isOfNodes = zero->copiesInNode;
    plan.report
        .error(item.loc,
               "with `{0}` what is gathered of a weight is kept for the next update, so each would "
               "lose some of it: choose `precision bf16`, or {1}, found {2}",
               isOfNodes ? "copies node" : llvm::formatv("zero {0}", zero->stage).str(),
               isOfNodes ? "drop `copies node`" : "`zero 3`", item.name.text)
        .note(plan.settings.find("zero")->loc, "weights are gathered once a step here");
    return;
  }
  compress.axes = zero->axes;
  for (const Name &axis : item.axes)
    if (!llvm::is_contained(zero->axes, axis.text)) {
      plan.report
          .error(axis.loc,
                 "weights are gathered over the axes of `zero`: name some of these, found {0}",
                 axis.text)
          .note(plan.settings.find("zero")->loc, "weights are cut here");
      return;
    }
  if (!item.axes.empty())
    compress.axes = strings(item.axes);
  plan.fields.compressWeights = std::move(compress);
}

/// `gradients FORM`, or `weights FORM`.
static void readItem(PlanContext &plan, const Item &item) {
  StringRef what = item.second.text;
  bool isOfWeights = what == "weights";
  if (!isOfWeights && what != "gradients") {
    plan.report.error(item.loc,
                      "say what is compressed: `compress gradients int8`, `compress weights int8`, "
                      "or `compress none`, found {0}",
                      what.empty() ? item.name.text : what);
    return;
  }
  if (isOfWeights ? plan.fields.compressWeights : plan.fields.compress) {
    plan.report.error(item.loc, "the line has a form already of {0}", what);
    return;
  }
  auto format =
      wordOf<Compression>(plan, item.name, isOfWeights ? "form of weights" : "form of gradients");
  if (!format)
    return;
  lang::Compress compress{.format = *format};
  if (isOfWeights && *format == Compression::PowerSGD) {
    plan.report.error(item.loc,
                      "weights are no sum, of which ranks could add up factors: choose int8, int4 "
                      "or bf16, found {0}",
                      item.name.text);
    return;
  }
  if (readForm(plan, item, compress))
    (isOfWeights ? readWeights : readGradients)(plan, item, compress);
}

void tplan::parse::readCompress(PlanContext &plan, const Setting &line) {
  const Item &first = line.items[0];
  bool isOff = line.items.size() == 1 && first.second.text.empty() && first.name.text == "none" &&
               !first.called;
  if (isOff)
    return;
  for (const Item &item : line.items)
    readItem(plan, item);
}

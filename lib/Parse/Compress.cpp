//===- Compress.cpp - the form in which ranks exchange gradients --------------===//
//
// `compress gradients int8(block = 256) over dp`: the form, how many elements share a scale, and
// the axes.
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

/// A block is a row of a kernel, and int4 packs eight elements at once.
static constexpr int64_t kLeastBlock = 32, kMostBlock = 4096;

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
  if (compress.format == Compression::BF16 && item.called) {
    plan.report.error(item.loc, "bf16 has no scale: drop the arguments, found {0}", item.name.text);
    return false;
  }
  return forEachNamedArg(plan.report, item, {"block"}, read);
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

void tplan::parse::readCompress(PlanContext &plan, const Setting &line) {
  const Item &item = line.items[0];
  if (item.second.text != "gradients") {
    plan.report.error(item.loc, "say what is compressed: `compress gradients int8`, found {0}",
                      item.second.text.empty() ? item.name.text : item.second.text);
    return;
  }
  auto format = wordOf<Compression>(plan, item.name, "form of gradients");
  if (!format)
    return;
  lang::Compress compress{.format = *format};
  if (!readBlock(plan, item, compress))
    return;
  Names axes = axesOf(plan, item);
  compress.axes = strings(axes);
  if (plan.fields.precision == lang::Precision::F16) {
    plan.report
        .error(line.loc, "in f16 gradients have the scale of their step, so what is lost of one "
                         "cannot be added to the next: choose `precision bf16`, or drop `compress`")
        .note(plan.settings.find("precision")->loc, "the precision is given here");
    return;
  }
  if (!axes.empty())
    plan.fields.compress = std::move(compress);
}

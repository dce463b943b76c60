//===- Summary.cpp - what people ask first of a plan ----------------------===//
#include "lib/Driver/Summary.h"

#include "dialects/dist/Dist.h"
#include "dialects/tplan/Settings.h"
#include "include/tplan/runtime.h"
#include "lib/Precision/Precision.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using llvm::formatv;

namespace tplan {

/// Elements of one instance, before it is shared among ranks and padded.
static int64_t elementsOf(nn::ParamOp param) {
  auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal);
  int64_t elements = 1;
  for (nn::DimAttr dim : cast<nn::Tensor>(global ? global.getValue() : param.getType()).getDims())
    elements *= dim.getSize();
  return elements;
}

/// "dp = 2, tp = 4"
static std::string meshText(const lang::Plan &plan) {
  std::string text;
  for (const lang::Axis &axis : plan.mesh)
    text += formatv("{0}{1} = {2}", text.empty() ? "" : ", ", axis.name, axis.size);
  return text;
}

/// "int8(block = 256)"
static std::string formText(const lang::Compress &compress) {
  StringRef form = lang::stringifyCompression(compress.format);
  switch (compress.format) {
  case lang::Compression::BF16:
    return form.str();
  case lang::Compression::Int8:
  case lang::Compression::Int4:
    return formatv("{0}(block = {1})", form, compress.block);
  case lang::Compression::PowerSGD:
    return formatv("{0}(rank = {1}, start = {2})", form, compress.rank, compress.start);
  }
  llvm_unreachable("covered");
}

/// "gradients over dp in int8(block = 256)", "gradients over dp by powersgd(rank = 4, start =
/// 100), weights over dp in bf16"; empty where a plan loses nothing but by its precision.
static std::string lossyText(const lang::Plan &plan) {
  std::string text;
  auto add = [&](StringRef what, const std::optional<lang::Compress> &compress) {
    if (!compress)
      return;
    bool hasFactors = compress->format == lang::Compression::PowerSGD;
    text +=
        formatv("{0}{1} over {2} {3} {4}", text.empty() ? "" : ", ", what,
                llvm::join(compress->axes, ", "), hasFactors ? "by" : "in", formText(*compress));
  };
  add("gradients", plan.compress);
  add("weights", plan.compressWeights);
  return text;
}

/// As a plan has it: "bf16, f32 for head".
static std::string precisionText(const lang::Plan &plan) {
  std::string text = lang::stringifyPrecision(plan.precision).str();
  for (const lang::PartPrecision &part : plan.partPrecisions)
    text += ", " + precision::spell(part) + " for " + part.selector;
  if (plan.moments)
    text += (", moments " + lang::stringifyPrecision(*plan.moments)).str();
  if (plan.master)
    text += (", master " + lang::stringifyPrecision(*plan.master)).str();
  return text;
}

Summary summaryOf(ModuleOp module) {
  lang::Settings settings(module);
  Summary summary;
  for (auto param : module.getOps<nn::ParamOp>())
    if (!param.isState() && !param.isCopy())
      summary.parameters += param.getCount() * elementsOf(param);
  summary.sequences = settings.recipe.batch;
  summary.tokens = summary.sequences * settings.recipe.sequence;
  summary.steps = settings.recipe.steps;
  summary.memoryLimit = settings.memoryLimit().value_or(0);
  summary.precision = precisionText(settings.plan);
  summary.lossy = lossyText(settings.plan);
  summary.mesh = meshText(settings.plan);
  summary.stages = settings.plan.stages;
  return summary;
}

double flopsOfToken(const StepReport &report) {
  int64_t tokens = std::max<int64_t>(1, report.summary.tokens);
  // Ranks of other stages do other work, and each stage has as many.
  double flops = report.total.flops;
  if (!report.ofStages.empty()) {
    flops = 0;
    for (const StepReport &rank : report.ofStages)
      flops += rank.total.flops / static_cast<double>(report.ofStages.size());
  }
  return flops * static_cast<double>(report.ranks) / static_cast<double>(tokens);
}

int64_t sentInStep(const StepReport &report) {
  int64_t sent = 0;
  for (const Collective &row : report.collectives)
    sent += row.in == "preparation" ? 0 : row.calls * row.bytes;
  return sent;
}

/// In steps of 1000 or 1024, to one decimal below 1000 of a unit.
static std::string scaled(double value, double step, ArrayRef<llvm::StringLiteral> units) {
  size_t unit = 0;
  for (; value >= step && unit + 1 < units.size(); ++unit)
    value /= step;
  return formatv(unit ? "{0:F1}{1}" : "{0:F0}{1}", value, units[unit]);
}

std::string binaryBytes(int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {" bytes", " KiB", " MiB", " GiB", " TiB"});
}

static std::string decimal(double value) {
  return scaled(value, 1000, {"", " k", " M", " G", " T", " P", " E", " Z", " Y"});
}

/// "28.0 of 80.0 GiB": what is needed in the unit of what there is.
static std::string memoryText(int64_t bytes, int64_t limit) {
  if (!limit)
    return binaryBytes(bytes);
  constexpr double gib = 1 << 30;
  if (limit < (1 << 30))
    return binaryBytes(bytes) + " of " + binaryBytes(limit);
  return formatv("{0:F1} of {1:F1} GiB", bytes / gib, limit / gib);
}

std::string shortTime(double seconds) {
  return seconds < 1 ? formatv("{0:F1} ms", seconds * 1e3).str()
                     : formatv("{0:F2} s", seconds).str();
}

/// "3.2 hours", "41 days"
static std::string longTime(double seconds) {
  double hours = seconds / 3600;
  return hours < 1    ? formatv("{0:F1} minutes", seconds / 60).str()
         : hours < 48 ? formatv("{0:F1} hours", hours).str()
                      : formatv("{0:F1} days", hours / 24).str();
}

/// What a step will take on the plan's cluster, and on what.
static void printTime(const StepReport &report,
                      llvm::function_ref<void(llvm::StringRef, const llvm::Twine &)> row) {
  const StepTime &time = report.time;
  if (time.device.empty())
    return;
  auto tokens = static_cast<double>(report.summary.tokens);
  row("predicted",
      formatv("{0} a step on {1} {2}, {3} tokens/s, MFU {4:P1}; {5} for the training; "
              "uncalibrated",
              shortTime(time.seconds), report.ranks, time.device, decimal(tokens / time.seconds),
              time.mfu(), longTime(time.seconds * static_cast<double>(report.summary.steps)))
          .str());
  std::string shares;
  auto share = [&](const llvm::Twine &what, double seconds) {
    if (seconds / time.seconds >= 0.0005)
      shares +=
          formatv("{0}{1} {2:P1}", shares.empty() ? "" : ", ", what.str(), seconds / time.seconds);
  };
  for (const auto &[category, seconds] : time.spent.work)
    share(rt::stringifyCategory(category), seconds);
  for (const auto &[axes, seconds] : time.spent.communication)
    share("over " + axes, seconds);
  if (!report.ofStages.empty())
    share("idle", time.idle);
  row("", shares);
  std::string hidden;
  for (const auto &[axes, seconds] : time.spent.hidden)
    if (seconds / time.seconds >= 0.0005)
      hidden +=
          formatv("{0}over {1} {2:P1}", hidden.empty() ? "" : ", ", axes, seconds / time.seconds);
  if (!hidden.empty())
    row("", "beside other work: " + hidden);
  if (time.norm > 0)
    row("", "the norm of gradients makes a step " + shortTime(time.norm) +
                " longer: no rank updates before all stages are done");
}

void printSummary(const StepReport &report, llvm::raw_ostream &os) {
  const Summary &summary = report.summary;
  auto row = [&](llvm::StringRef title, const llvm::Twine &text) {
    os << formatv("  {0,-18} {1}\n", title, text.str());
  };
  double token = flopsOfToken(report);
  double tokens = static_cast<double>(summary.tokens);
  os << "plan " << report.plan << "\n";
  printTime(report, row);
  row("parameters",
      formatv("{0:N0} ({1})", summary.parameters, decimal(static_cast<double>(summary.parameters)))
          .str());
  row("precision", summary.precision);
  if (!summary.lossy.empty())
    row("lossy", summary.lossy);
  row("ranks", summary.mesh.empty() ? "1" : formatv("{0} ({1})", report.ranks, summary.mesh).str());
  if (!report.ofStages.empty()) // as a line for the plan
    row("stages", llvm::join(llvm::map_range(summary.stages,
                                             [](int64_t layers) { return std::to_string(layers); }),
                             ", "));
  row("a step",
      formatv("{0:N0} sequences, {1:N0} tokens; {2:N0} microbatch{3} on each rank, by {4}",
              summary.sequences, summary.tokens, report.microbatches,
              report.microbatches == 1 ? "" : "es", report.policy)
          .str());
  if (report.merged)
    row("pairs", formatv("{0:N0} of {1:N0} forwards of the ranks' stages run in a function with a "
                         "backward",
                         report.merged, report.forwards)
                     .str());
  if (!report.updates.empty())
    row("updates", report.updates);
  row("the training", formatv("{0:N0} steps, {1} tokens", summary.steps,
                              decimal(tokens * static_cast<double>(summary.steps)))
                          .str());
  row("FLOPs",
      formatv("{0} a token, {1} a step, {2} the training", decimal(token), decimal(token * tokens),
              decimal(token * tokens * static_cast<double>(summary.steps)))
          .str());
  if (memory::GraphCounts graphs = report.graphs; graphs.calls)
    row("graphs",
        isCaptured(report)
            ? formatv("{0:N0} of {1:N0} calls, from the second step on{2}", graphs.graphs,
                      graphs.calls, report.ranks > 1 ? ", where ranks are processes" : "")
                  .str()
            : formatv("none, each call is issued by itself: they would have {0:N0} calls on a "
                      "rank, at most {1:N0} are captured (--graph-calls)",
                      report.mostGraphCalls, TP_GRAPH_CALLS)
                  .str());
  row("memory of a rank",
      memoryText(report.memory.arena, summary.memoryLimit) + ", the peak in " + report.memory.peak);
  if (!report.ofStages.empty())
    row("", "on the ranks that need most, with stage " + llvm::Twine(report.holds.front()));
  if (report.ranks > 1)
    row("sent by a rank", binaryBytes(sentInStep(report)) + " a step");
  for (const std::string &what : report.approximations)
    os << "  approximation: " << what << "\n";
}

} // namespace tplan

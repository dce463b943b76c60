//===- Pipelines.cpp - the lines of a plan that say which stage is when -------===//
#include "lib/Parse/Pipelines.h"
#include "lib/Parse/NamedArgs.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Sizes.h"
#include "lib/Parse/Spelling.h"
#include "lib/Parse/Syntax.h"
#include "lib/Parse/Text.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

static std::optional<Schedule> readSchedule(Report &report, const Item &item) {
  static constexpr int64_t kMost = 1 << 20;
  static constexpr std::pair<llvm::StringLiteral, std::optional<int64_t> Schedule::*> kArgs[] = {
      {"chunks", &Schedule::chunks},
      {"group", &Schedule::group},
      {"memory", &Schedule::memory},
      {"ahead", &Schedule::ahead}};
  Schedule schedule{item.name.text.str()};
  auto read = [&](const Arg &given, StringRef name, const Number &value) {
    if (!value.integer || value.whole < 1 || value.whole > kMost) {
      report.error(given.value->loc, "{0} is a whole number from 1 to {1}, found {2}", name, kMost,
                   spell(value));
      return false;
    }
    schedule.*llvm::find_if(kArgs, [&](auto &arg) { return arg.first == name; })->second =
        value.whole;
    return true;
  };
  llvm::SmallVector<StringRef> names;
  for (const auto &[name, member] : kArgs)
    names.push_back(name);
  if (!forEachNamedArg(report, item.name.text, item.args, names, read))
    return std::nullopt;
  return schedule;
}

std::optional<Schedule> tplan::parse::parseSchedule(mlir::MLIRContext &context,
                                                    llvm::SourceMgr &sources) {
  Report report(context, sources);
  Arena arena;
  StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  if (!checkText(report, text))
    return std::nullopt;
  Syntax syntax(report, arena, text);
  if (!parseText(syntax, Start::Setting, "pipeline"))
    return std::nullopt;
  return readSchedule(report, syntax.setting->items[0]);
}

/// `pipeline from "orders.json"`, relative to the file that says it; on a command line to the
/// folder where that runs. What the orders say is judged where the plan's stages are known.
static void readOrders(PlanContext &plan, const Item &item) {
  if (item.name.text != "from") {
    plan.report.error(item.name.loc,
                      "pipeline takes a schedule, or orders `from \"FILE.json\"`, found {0}",
                      item.name.text);
    return;
  }
  llvm::SourceMgr &sources = plan.report.sources;
  StringRef file = sources.getMemoryBuffer(sources.FindBufferContainingLoc(item.name.loc))
                       ->getBufferIdentifier();
  llvm::SmallString<128> path, real;
  if (!file.starts_with("--"))
    path = llvm::sys::path::parent_path(file);
  llvm::sys::path::append(path, item.string);
  auto text = readSource(path);
  if (!text) {
    plan.report.error(item.second.loc, "cannot read {0}: {1}", printable(item.string),
                      text.getError().message());
    return;
  }
  plan.model.files.push_back(
      (llvm::sys::fs::real_path(path, real) ? StringRef(path) : StringRef(real)).str());
  plan.fields.pipeline = "from";
  plan.fields.orders = (*text)->getBuffer().str();
}

void tplan::parse::readPipeline(PlanContext &plan, const Setting &line) {
  if (line.items[0].hasString)
    return readOrders(plan, line.items[0]);
  std::optional<Schedule> schedule = readSchedule(plan.report, line.items[0]);
  if (!schedule)
    return;
  plan.fields.pipeline = schedule->name;
  plan.fields.chunks = schedule->chunks;
  plan.fields.group = schedule->group;
  plan.fields.kept = schedule->memory;
  plan.fields.ahead = schedule->ahead;
}

/// The axis of the mesh along which ranks hold stages, or null.
static const Axis *stageAxis(PlanContext &plan) {
  auto found = plan.layout.axes.find(plan.fields.stageAxis);
  return found == plan.layout.axes.end() ? nullptr : &found->second;
}

void tplan::parse::readStages(PlanContext &plan, const Setting &line) {
  std::vector<int64_t> layers;
  int64_t total = 0;
  for (const Item &item : line.items) {
    const Number &n = item.quantity.number;
    if (!n.integer || n.whole < 1 || n.whole > limits::layers) {
      plan.report.error(item.loc, "a stage holds a whole number of layers from 1 to {0}, found {1}",
                        limits::layers, spell(n));
      return;
    }
    layers.push_back(n.whole);
    total += n.whole;
  }
  if (total != plan.model.info.layers) {
    plan.report.error(line.loc,
                      "stages must add up to the {0} layers of the model's lists, found {1}",
                      plan.model.info.layers, total);
    return;
  }
  plan.fields.stages = std::move(layers);
}

/// With an axis of their own, ranks hold as many stages as the schedule says, and the usual one is
/// 1f1b; `split-stages` cuts by cost.
void tplan::parse::completeStages(PlanContext &plan) {
  const Axis *axis = stageAxis(plan);
  if (!axis) {
    if (plan.fields.stages.empty())
      plan.fields.stages = {plan.model.info.layers};
    return;
  }
  if (plan.model.info.layers < axis->size)
    plan.report.error(axis->loc,
                      "each rank along {0} holds a layer of a list at least: at most {1} ranks, "
                      "found {2}",
                      plan.fields.stageAxis, plan.model.info.layers, axis->size);
  if (!plan.settings.find("pipeline"))
    plan.fields.pipeline = "1f1b";
}

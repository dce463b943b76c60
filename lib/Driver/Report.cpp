//===- Report.cpp - what a plan costs, read off the IR --------------------===//
#include "lib/Driver/Report.h"
#include "lib/Driver/Summary.h"
#include "lib/Driver/Updates.h"

#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "dialects/tplan/Settings.h"
#include "include/tplan/collectives.h"
#include "include/tplan/runtime.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Walk.h"

#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;

namespace tplan {

Work &Work::operator+=(const Work &other) {
  calls += other.calls;
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

namespace {

Collective describe(rt::CollectiveOp op, rt::FuncOp func, int64_t calls, llvm::StringRef in,
                    std::optional<cost::Exchange> predicted) {
  Collective row;
  row.predicted = predicted;
  row.in = in.str();
  row.kind = (dist::stringifyCollectiveKind(op.getKind()) +
              (op.getReduction() == nn::ReduceKind::max ? " max" : ""))
                 .str();
  row.axes = dist::spell(dist::axesOf(op.getAxes()));
  row.function = func.getSymName().str();
  llvm::raw_string_ostream(row.type) << op.getX().getType();
  std::tie(row.file, row.line) = lower::sourceOf(op.getLoc());
  row.calls = calls;
  row.bytes = op.getBytes();
  row.staged = op.getBytesStaged();
  return row;
}

/// Calls of one op from several tasks are one row. Two blocks of one type may belong to wholes that
/// end at different places, so their bytes must agree, too.
void addCollective(StepReport &report, Collective row) {
  auto same = [&](const Collective &other) {
    auto key = [](const Collective &it) {
      return std::tie(it.in, it.kind, it.axes, it.function, it.type, it.line, it.bytes, it.staged);
    };
    return key(other) == key(row);
  };
  if (auto known = llvm::find_if(report.collectives, same); known != report.collectives.end()) {
    known->calls += row.calls;
    if (row.predicted)
      known->predicted = known->predicted.value_or(cost::Exchange()) += *row.predicted;
  } else {
    report.collectives.push_back(std::move(row));
  }
}

/// Bytes that a rank sends for a sum of `count` f64s. Of the ranks that hold the program's stages,
/// the one that sends most counts.
int64_t bytesOfSum(sched::ProgramOp program, dist::Axes axes, int64_t count) {
  auto mesh = dist::meshOf(program->getParentOfType<ModuleOp>());
  // Ranks along the axes after that of the stages: with them a member number gives the coordinate
  // along the stages.
  int64_t members = mesh.sizeOf(axes), inner = members, most = 0;
  auto stages = llvm::find(axes, mesh.getStages());
  bool isCut = program.isOfPipeline() && stages != axes.end();
  if (isCut)
    inner = mesh.sizeOf(ArrayRef(stages + 1, axes.end()));
  tp_collective what = {};
  what.kind = TP_ALL_REDUCE;
  what.outer = 1, what.inner = what.whole = count;
  for (int64_t member = 0; member < members; ++member)
    if (!isCut ||
        member / inner % mesh.getNumStageRanks() == static_cast<int64_t>(*program.getRank()))
      most = std::max(most, tp_bytes_sent(&what, members, member, /*element_bytes=*/8));
  return most;
}

/// A sum of f64s that no function makes: of `count` numbers at once, `calls` times.
void addSum(StepReport &report, sched::ProgramOp program, llvm::StringRef in, llvm::StringRef title,
            ArrayAttr over, int64_t count, int64_t calls, Location loc,
            std::optional<cost::Exchange> predicted = {}) {
  dist::Axes axes = dist::axesOf(over);
  Collective row;
  row.in = in.str();
  row.kind = "all_reduce";
  row.axes = dist::spell(axes);
  row.function = title.str();
  row.type = count == 1 ? "[], f64" : "[" + std::to_string(count) + "], f64";
  std::tie(row.file, row.line) = lower::sourceOf(loc);
  row.calls = calls;
  row.bytes = bytesOfSum(program, axes, count);
  row.predicted = predicted;
  report.collectives.push_back(row);
}

/// The values of a message, one row for each; the first has the time.
void addMessage(StepReport &report, llvm::StringRef in, sched::Step op, int64_t times,
                std::optional<cost::Exchange> predicted) {
  bool sends = isa<sched::SendOp>(op.getOperation());
  sched::Resource channel = op.getResource();
  for (const sched::Use &use : sched::partsOf(op)) {
    sched::ValueOp value = sched::valueOf(use.value);
    Collective row;
    row.in = in.str();
    row.kind = "message";
    row.axes = (dist::spell(dist::axesOf(channel.axes)) + " " + llvm::Twine(channel.ends.first) +
                " to " + llvm::Twine(channel.ends.second))
                   .str();
    row.function = op.getTitle();
    llvm::raw_string_ostream(row.type) << *value.getType();
    std::tie(row.file, row.line) = lower::sourceOf(op->getLoc());
    row.calls = times;
    row.bytes = sends ? static_cast<int64_t>(value.getBytes()) : 0;
    row.predicted = std::exchange(predicted, std::nullopt);
    addCollective(report, std::move(row));
  }
}

/// Sums of losses and counts, which the runtime makes together for each group, after the step.
void addSumsOfMetrics(StepReport &report, sched::ProgramOp program) {
  std::map<std::string, std::pair<ArrayAttr, int64_t>> read;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (ArrayAttr axes = value.getPendingAttr()) {
      auto &[same, numbers] = read[dist::spell(dist::axesOf(axes))];
      same = axes, numbers += value.getCount();
    }
  for (const auto &[spelled, sum] : read)
    addSum(report, program, "metrics", "sum of losses and counts", sum.first, sum.second, 1,
           program.getLoc());
}

/// A slice takes a part of what all ranks have; other copies are staging where collectives take or
/// make the value.
void addCopy(StepReport &report, rt::Call call, rt::FuncOp func, int64_t calls) {
  auto isCollective = [](Operation *op) { return isa_and_nonnull<rt::CollectiveOp>(op); };
  Copy row;
  row.kind = call->getName().stripDialect().str();
  row.function = func.getSymName().str();
  std::tie(row.file, row.line) = lower::sourceOf(call->getLoc());
  row.calls = calls;
  row.bytes = call.getBytes();
  row.isStaging = !isa<rt::SliceOp>(call.getOperation()) &&
                  (isCollective(call->getOperand(0).getDefiningOp()) ||
                   llvm::any_of(call->getResult(0).getUsers(), isCollective));
  auto key = [](const Copy &it) {
    return std::tie(it.kind, it.function, it.file, it.line, it.bytes, it.isStaging);
  };
  auto known = llvm::find_if(report.copies, [&](const Copy &it) { return key(it) == key(row); });
  if (known != report.copies.end())
    known->calls += row.calls;
  else
    report.copies.push_back(std::move(row));
}

/// Regions of a function are the same in each of its calls.
void addRegions(StepReport &report, rt::FuncOp func, int64_t times) {
  auto isOfThis = [&](const FusedRegion &row) { return row.function == func.getSymName(); };
  if (llvm::none_of(report.regions, isOfThis))
    llvm::append_range(report.regions, fusedRegionsOf(func));
  for (FusedRegion &row : report.regions)
    row.calls += isOfThis(row) ? times : 0;
}

void addAttention(StepReport &report, rt::FuncOp func, int64_t times) {
  auto isOfThis = [&](const AttentionCall &row) { return row.function == func.getSymName(); };
  if (llvm::none_of(report.attention, isOfThis))
    llvm::append_range(report.attention, attentionOf(func));
  for (AttentionCall &row : report.attention)
    row.calls += isOfThis(row) ? times : 0;
}

/// Adds what `times` calls of a function cost, by category and by name.
void addFunction(StepReport &report, rt::FuncOp func, int64_t times) {
  addRegions(report, func, times);
  addAttention(report, func, times);
  func.walk([&](rt::Call call) {
    if (sched::movesNoByte(call))
      return;
    Work work =
        Work{1, static_cast<double>(call.getFlops()), static_cast<double>(call.getBytes())}.times(
            times);
    report.categories[rt::stringifyCategory(call.getCategory()).str()] += work;
    report.functions[func.getSymName().str()] += work;
    report.total += work;
    if (isa<rt::CopyOp, rt::SliceOp, rt::PlaceOp>(call.getOperation()))
      addCopy(report, call, func, times);
  });
}

/// What an entry exchanges: by its functions, and between them. `spent` is what it is predicted to
/// take; nothing where that is not known.
void addExchanges(StepReport &report, sched::ProgramOp program, sched::EntryKind entry,
                  StringRef in, cost::Spent spent) {
  // Where several steps call an op, the row of the first of them has the time.
  auto predicted = [&](Operation *op) -> std::optional<cost::Exchange> {
    auto node = spent.exchanges.extract(op);
    return node ? std::optional(node.mapped()) : std::nullopt;
  };
  schedule::forEachStep(program, entry, [&](sched::Step step, int64_t times) {
    Operation *op = step.getOperation();
    if (auto call = dyn_cast<sched::CallOp>(op)) {
      rt::FuncOp func = call.getFunction();
      func.walk([&](rt::CollectiveOp each) {
        if (!sched::movesNoByte(each))
          addCollective(report, describe(each, func, times, in, predicted(each)));
      });
    } else if (auto sum = dyn_cast<sched::AllReduceOp>(op)) {
      // The numbers of one sum are issued together, each as a collective of its own.
      addSum(report, program, in, step.getTitle(), sum.getAxes(), 1, times * sum.getReads(),
             sum.getLoc(), predicted(op));
    } else if (isa<sched::SendOp, sched::ReceiveOp>(op)) {
      addMessage(report, in, step, times, predicted(op));
    }
  });
}

bool isForGpu(ModuleOp module) { return lang::targetOf(module).isGpu(); }

void addWork(StepReport &report, sched::ProgramOp program, const cost::Spent &spent) {
  llvm::raw_string_ostream tasks(report.tasks);
  for (int64_t i = 0; i < program.getNumTasks(); ++i) {
    sched::Task task = program.getTask(i);
    tasks << (i ? " " : "") << sched::spell(task);
  }
  schedule::forEachCall(program, sched::EntryKind::Step,
                        [&](rt::FuncOp func, int64_t times) { addFunction(report, func, times); });
  addExchanges(report, program, sched::EntryKind::Step, "step", spent);
  addSumsOfMetrics(report, program);
  addExchanges(report, program, sched::EntryKind::Prepare, "preparation", {});
  report.graphs = memory::countGraphs(program);
}

/// Which GEMMs need memory beside the arena, as bits.
enum Gemms : unsigned { F32 = 1, F64 = 2, Bf16 = 4, Widened = 8, Any = 16 };

/// Kinds of GEMMs in the module, and how many distinct ones have narrow operands.
std::pair<unsigned, int64_t> gemmsOf(ModuleOp module) {
  bool library = lang::targetOf(module).bf16Gemm;
  unsigned kinds = Any;
  std::set<std::vector<const void *>> distinct;
  module.walk([&](rt::MatmulOp matmul) {
    Type element = cast<nn::Tensor>(matmul.getLhs().getType()).getElementType();
    if (!nn::isNarrow(element)) {
      kinds |= element.isF64() ? F64 : F32;
      return;
    }
    kinds |= library && element.isBF16() ? Bf16 : Widened;
    std::vector<const void *> types = {matmul.getType().getAsOpaquePointer()};
    for (Value v : matmul->getOperands())
      types.push_back(v.getType().getAsOpaquePointer());
    distinct.insert(types);
  });
  return {kinds, distinct.size()};
}

std::vector<Beside> besideTheArena(sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  auto [kinds, distinct] = gemmsOf(module);
  int64_t weights = 0;
  for (auto param : module.getOps<nn::ParamOp>())
    weights += param.getCount();
  std::vector<Beside> rows;
#define BESIDE(OWNER, WHAT, GEMMS, ONCE, EACH, THREAD)                                             \
  if (kinds & (GEMMS))                                                                             \
    rows.push_back(                                                                                \
        {OWNER, WHAT, int64_t(ONCE) + ((GEMMS) == Any ? weights : distinct) * (EACH), THREAD});
#include "lib/Driver/Libraries.def"
  return rows;
}

/// What a GPU holds beside the arena, with a graph of so many calls.
std::vector<BesideGpu> besideOnGpu(ModuleOp module, int64_t calls) {
  std::vector<BesideGpu> rows;
  auto has = [&](llvm::StringRef name) {
    return module
        .walk([&](Operation *op) {
          return op->getName().getStringRef() == name ? WalkResult::interrupt()
                                                      : WalkResult::advance();
        })
        .wasInterrupted();
  };
#define BESIDE_GPU(LIBRARY, VERSION, WHAT, OP, BYTES, CALL)                                        \
  if (int64_t bytes = (BYTES) + calls * (CALL); bytes && (!*OP || has(OP)))                        \
    rows.push_back({LIBRARY, WHAT, VERSION, bytes});
#include "lib/Driver/Libraries.def"
  return rows;
}

/// Under MPI communicators share their buffers, except those that streams use at once.
int64_t bytesOfStaging(ModuleOp module) {
  dist::MeshAttr mesh = dist::meshOf(module);
  int64_t bytes = tp_mpi_staging(mesh.getNumRanks());
  if (lang::targetOf(module).isGpu())
    return bytes;
  if (auto streams = module->getAttrOfType<ArrayAttr>(sched::kStreams))
    for (auto stream : streams.getAsRange<sched::StreamAttr>())
      if (!stream.isChannel())
        bytes += tp_mpi_staging(mesh.sizeOf(dist::axesOf(stream.getAxes())));
  return bytes;
}

StepReport reportOf(sched::ProgramOp program, const cost::Spent &spent) {
  auto module = program->getParentOfType<ModuleOp>();
  StepReport report;
  report.summary = summaryOf(module);
  report.plan = lang::Settings(module).planName.str();
  report.policy = program.getPolicy().str();
  if (lang::Settings(module).plan.precision == lang::Precision::TF32)
    report.approximations.push_back("tf32: GEMMs may round f32 operands to 10 bits of mantissa");
  if (auto moments = lang::Settings(module).plan.moments)
    report.approximations.push_back(llvm::formatv(
        "moments {0}: what the optimizer keeps of past gradients is rounded each step",
        lang::stringifyPrecision(*moments)));
  if (auto master = lang::Settings(module).plan.master)
    report.approximations.push_back(llvm::formatv(
        "master {0}: weights are rounded each step, and what changes them by less than half a unit "
        "of their last place is lost",
        lang::stringifyPrecision(*master)));
  report.stages = program.getStages();
  report.microbatches = program.getMicrobatches();
  report.memory = memory::getReport(program);
  report.beside = besideTheArena(program);
  report.ranks = dist::meshOf(module).getNumRanks();
  report.channels = lang::Settings(module).plan.channels.value_or(0);
  report.reduce = lang::stringifyReduce(lang::Settings(module).plan.reduce).str();
  if (program.getHolds())
    report.holds.assign(program.getHolds()->begin(), program.getHolds()->end());
  if (report.ranks > 1)
    report.beside.push_back(
        {"runtime", "buffers of collectives under MPI", bytesOfStaging(module), 0});
  addWork(report, program, spent);
  return report;
}

/// Forwards of a step that are done in a function with a backward, and all.
std::pair<int64_t, int64_t> countMerged(ArrayRef<sched::ProgramOp> programs) {
  int64_t merged = 0, all = 0;
  for (sched::ProgramOp program : programs)
    for (auto entry : program.getBody().getOps<sched::EntryOp>())
      if (entry.getKind() == sched::EntryKind::Step)
        schedule::forEachExecution(entry, [&](sched::SectionOp section, int64_t) {
          all += section.getKind() == sched::TaskKind::F;
          merged += section.isOfPair();
        });
  return {merged, all};
}
} // namespace

FailureOr<StepReport> getStepReport(ModuleOp module) {
  SmallVector<sched::ProgramOp> programs(module.getOps<sched::ProgramOp>());
  if (programs.empty() || !programs.front().getArena())
    return module.emitError("no report before phase 'memory'");
  StepTime time = predictStep(module);
  std::vector<StepReport> all;
  for (auto [i, program] : llvm::enumerate(programs))
    all.push_back(reportOf(program, time.ofPrograms.empty() ? cost::Spent() : time.ofPrograms[i]));
  int64_t most = 0;
  for (const StepReport &report : all)
    most = std::max(most, report.graphs.calls);
  auto [merged, forwards] = countMerged(programs);
  std::string updates = describeUpdates(programs);
  for (StepReport &report : all) {
    report.merged = merged, report.forwards = forwards;
    report.updates = updates;
    report.mostGraphCalls = most;
    if (isForGpu(module))
      report.besideGpu = besideOnGpu(module, isCaptured(report) ? report.graphs.calls : 0);
  }
  if (all.size() == 1) {
    all.front().time = std::move(time);
    return all.front();
  }
  auto largest = llvm::max_element(all, [](const StepReport &a, const StepReport &b) {
    return a.memory.arena < b.memory.arena;
  });
  StepReport report = *largest;
  report.time = std::move(time);
  report.ofStages = std::move(all);
  return report;
}

} // namespace tplan

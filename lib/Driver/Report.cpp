//===- Report.cpp - what a plan costs, read off the IR --------------------===//
#include "lib/Driver/Report.h"
#include "lib/Driver/Summary.h"

#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "dialects/tplan/Settings.h"
#include "include/tplan/collectives.h"
#include "include/tplan/runtime.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Walk.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace mlir;
using llvm::formatv;

namespace tplan {

Work &Work::operator+=(const Work &other) {
  calls += other.calls;
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

namespace {

Collective describe(rt::CollectiveOp op, rt::FuncOp func, int64_t calls, llvm::StringRef in) {
  Collective row;
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
  if (auto known = llvm::find_if(report.collectives, same); known != report.collectives.end())
    known->calls += row.calls;
  else
    report.collectives.push_back(std::move(row));
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
            ArrayAttr over, int64_t count, int64_t calls, Location loc) {
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
  report.collectives.push_back(row);
}

/// The values of a message, one row for each.
void addMessage(StepReport &report, ModuleOp module, llvm::StringRef in, sched::Step op,
                int64_t times) {
  bool sends = isa<sched::SendOp>(op.getOperation());
  sched::Resource channel = op.getResource();
  for (const sched::Use &use : op.getUses()) {
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
    addCollective(report, std::move(row));
  }
}

/// Sums that no function makes: those of the program, and those of losses and counts, which the
/// runtime makes together for each group, after the step.
void addSums(StepReport &report, sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  schedule::forEachStep(program, "step", [&](sched::Step op, int64_t times) {
    // The numbers of one sum are issued together, each as a collective of its own.
    if (auto sum = dyn_cast<sched::AllReduceOp>(op.getOperation()))
      addSum(report, program, "step", op.getTitle(), sum.getAxes(), 1, times * sum.getReads(),
             sum.getLoc());
    else if (isa<sched::SendOp, sched::ReceiveOp>(op.getOperation()))
      addMessage(report, module, "step", op, times);
  });
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
    if (sched::isNothing(call))
      return;
    Work work =
        Work{1, static_cast<double>(call.getFlops()), static_cast<double>(call.getBytes())}.times(
            times);
    report.categories[call.getCategory().str()] += work;
    report.functions[func.getSymName().str()] += work;
    report.total += work;
    if (auto collective = dyn_cast<rt::CollectiveOp>(call.getOperation()))
      addCollective(report, describe(collective, func, times, "step"));
    else if (isa<rt::CopyOp, rt::SliceOp, rt::PlaceOp>(call.getOperation()))
      addCopy(report, call, func, times);
  });
}

/// What the parts `prepare` exchange, once.
void addPreparation(StepReport &report, sched::ProgramOp program) {
  schedule::forEachCall(program, "prepare", [&](rt::FuncOp func, int64_t times) {
    func.walk([&](rt::CollectiveOp op) {
      addCollective(report, describe(op, func, times, "preparation"));
    });
  });
  schedule::forEachStep(program, "prepare", [&](sched::Step op, int64_t times) {
    if (isa<sched::SendOp, sched::ReceiveOp>(op.getOperation()))
      addMessage(report, program->getParentOfType<ModuleOp>(), "preparation", op, times);
  });
}

bool isForGpu(ModuleOp module) { return lang::targetOf(module).isGpu(); }

void addWork(StepReport &report, sched::ProgramOp program) {
  llvm::raw_string_ostream tasks(report.tasks);
  for (int64_t i = 0; i < program.getNumTasks(); ++i) {
    sched::Task task = program.getTask(i);
    tasks << (i ? " " : "") << sched::stringifyTaskKind(task.kind) << task.stage << "."
          << task.microbatch;
  }
  schedule::forEachCall(program, "step",
                        [&](rt::FuncOp func, int64_t times) { addFunction(report, func, times); });
  addSums(report, program);
  addPreparation(report, program);
  if (isForGpu(program->getParentOfType<ModuleOp>()))
    report.graphCalls = lower::callsOfStep(program);
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

/// "1,234,567": bytes are compared by eye.
std::string grouped(double n) {
  std::string digits = formatv("{0:F0}", n);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(i, ",");
  return digits;
}

/// Bytes of the arena, in all and at the peak, by what they hold.
std::map<sched::Owner, std::pair<int64_t, int64_t>> byOwner(const memory::Report &memory) {
  std::map<sched::Owner, std::pair<int64_t, int64_t>> sums;
  for (const memory::OwnerReport &owner : memory.owners) {
    sums[owner.owner].first += owner.bytes;
    sums[owner.owner].second += owner.atPeak;
  }
  return sums;
}

void printWork(llvm::StringRef title, const std::map<std::string, Work> &rows,
               llvm::raw_ostream &os) {
  if (!title.empty())
    os << formatv("{0,-28} {1,12} {2,24} {3,22}\n", title, "calls", "FLOPs", "bytes moved");
  for (const auto &[name, work] : rows)
    os << formatv("  {0,-26} {1,12} {2,24} {3,22}\n", name, grouped(work.calls),
                  grouped(work.flops), grouped(work.bytes));
}

} // namespace

static void printCollectives(const StepReport &report, llvm::raw_ostream &os) {
  if (report.collectives.empty())
    return;
  int64_t staged = 0;
  os << formatv("\n{0,-20} {1,-10} {2,12} {3,18}  {4}\n", "collectives of a rank", "axes", "calls",
                "bytes sent by each", "of");
  for (const Collective &row : report.collectives) {
    bool once = row.in == "preparation";
    staged += once ? 0 : row.calls * row.staged;
    os << formatv("  {0,-19} {1,-10} {2,12} {3,18}  {4}{5}{6}\n", row.kind, row.axes,
                  grouped(row.calls), grouped(row.bytes), row.function,
                  row.line ? ", " + row.file + ":" + std::to_string(row.line) : "",
                  once ? ", once" : "");
  }
  os << formatv("  {0,-30} {1,12} {2,18}\n", "sent in a step", "", grouped(sentInStep(report)));
  os << formatv("  {0,-30} {1,12} {2,18}\n", "through buffers, under MPI", "", grouped(staged));
  os << formatv("  {0,-30} {1}\n", "sums (reduce)",
                report.reduce == "native" ? "native: NCCL's where that moves the data, else ordered"
                                          : "ordered: those of members 0, 1, 2 .. everywhere");
}

static void printCopies(const StepReport &report, llvm::raw_ostream &os) {
  if (report.copies.empty())
    return;
  os << formatv("\n{0,-31} {1,12} {2,18}  {3}\n", "copies of a step", "calls",
                "bytes moved by each", "of");
  for (const Copy &row : report.copies)
    os << formatv("  {0,-30} {1,12} {2,18}  {3}{4}\n",
                  row.kind + (row.isStaging ? ", staging" : ""), grouped(row.calls),
                  grouped(row.bytes), row.function,
                  row.line ? ", " + row.file + ":" + std::to_string(row.line) : "");
}

namespace {
StepReport reportOf(sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  StepReport report;
  report.summary = summaryOf(module);
  report.plan = lang::Settings(module).planName.str();
  report.policy = program.getPolicy().str();
  if (lang::Settings(module).plan.precision == lang::Precision::TF32)
    report.approximations.push_back("tf32: GEMMs may round f32 operands to 10 bits of mantissa");
  report.stages = program.getStages();
  report.microbatches = program.getMicrobatches();
  report.memory = memory::getReport(program);
  report.beside = besideTheArena(program);
  report.ranks = dist::meshOf(module).getNumRanks();
  report.reduce = lang::stringifyReduce(lang::Settings(module).plan.reduce).str();
  if (program.getHolds())
    report.holds.assign(program.getHolds()->begin(), program.getHolds()->end());
  if (report.ranks > 1)
    report.beside.push_back(
        {"runtime", "buffers of collectives under MPI", tp_mpi_staging(report.ranks), 0});
  addWork(report, program);
  if (isForGpu(module))
    report.besideGpu = besideOnGpu(module, isCaptured(report) ? report.graphCalls : 0);
  return report;
}
} // namespace

FailureOr<StepReport> getStepReport(ModuleOp module) {
  std::vector<StepReport> all;
  for (auto program : module.getOps<sched::ProgramOp>())
    if (program.getArena())
      all.push_back(reportOf(program));
  if (all.empty())
    return module.emitError("no report before phase 'memory'");
  if (all.size() == 1)
    return all.front();
  auto largest = llvm::max_element(all, [](const StepReport &a, const StepReport &b) {
    return a.memory.arena < b.memory.arena;
  });
  StepReport report = *largest;
  report.ofStages = std::move(all);
  return report;
}

static std::string spellStages(const std::vector<int64_t> &stages) {
  return llvm::join(llvm::map_range(stages, [](int64_t s) { return std::to_string(s); }), ", ");
}

/// What ranks that hold other stages need, a line each.
static void printStages(const StepReport &report, llvm::raw_ostream &os) {
  if (report.ofStages.empty())
    return;
  os << formatv("{0,-28} {1,20} {2,20} {3,18}\n", "ranks with stage", "bytes of the arena",
                "live at the peak", "sent in a step");
  for (const StepReport &rank : report.ofStages)
    os << formatv("  {0,-26} {1,20} {2,20} {3,18}\n", spellStages(rank.holds),
                  grouped(rank.memory.arena), grouped(rank.memory.live), grouped(sentInStep(rank)));
  os << "\nranks with stage " << spellStages(report.holds) << ", which need most memory:\n\n";
}

void printReport(const StepReport &report, llvm::raw_ostream &os) {
  const memory::Report &memory = report.memory;
  printSummary(report, os);
  os << "\npolicy " << report.policy << ", stages " << report.stages << ", microbatches "
     << report.microbatches << "\n\n";
  printStages(report, os);

  os << formatv("memory of a rank: {0} bytes in one arena, {1} live at the peak ({2:P1})\n",
                grouped(memory.arena), grouped(memory.live),
                memory.arena ? static_cast<double>(memory.live) / memory.arena : 0.0);
  os << "peak: " << memory.peak << "\n";
  os << formatv("{0,-28} {1,20} {2,20}\n", "holds", "bytes", "at the peak");
  for (const auto &[owner, bytes] : byOwner(memory))
    os << formatv("  {0,-26} {1,20} {2,20}\n", sched::stringifyOwner(owner), grouped(bytes.first),
                  grouped(bytes.second));

  os << formatv("\n{0,-42} {1,16} {2,16}\n", "beside the arena, bytes at most", "once", "a thread");
  for (const Beside &row : report.beside)
    os << formatv("  {0,-40} {1,16} {2,16}\n", row.owner + ", " + row.what, grouped(row.once),
                  grouped(row.perThread));

  if (!report.besideGpu.empty())
    os << formatv("\n{0,-42} {1,16}\n", "beside the arena, of the GPU", "bytes");
  for (const BesideGpu &row : report.besideGpu)
    os << formatv("  {0,-40} {1,16}\n",
                  formatv("{0} {1}, {2}", row.library, row.version, row.what).str(),
                  grouped(row.bytes));

  os << "\n";
  printWork("work of a step", report.categories, os);
  printWork("", {{"total", report.total}}, os);
  os << "\n";
  printWork("by function", report.functions, os);
  printCollectives(report, os);
  printCopies(report, os);
  printAttention(report.attention, os);
  printFusedRegions(report.regions, os);
  os << "\ntasks (kind, stage, microbatch): " << report.tasks << "\n";
}

static void writeReport(const StepReport &report, llvm::json::OStream &json) {
  auto rows = [&](llvm::StringRef key, const auto &all, auto writeRow) {
    json.attributeArray(key, [&] {
      for (const auto &row : all)
        json.object([&] { writeRow(row); });
    });
  };
  auto writeWork = [&](const std::pair<const std::string, Work> &row) {
    json.attribute("name", row.first);
    json.attribute("calls", row.second.calls);
    json.attribute("flops", row.second.flops);
    json.attribute("bytes", row.second.bytes);
  };
  json.object([&] {
    json.attribute("plan", report.plan);
    json.attribute("parameters", report.summary.parameters);
    json.attribute("precision", report.summary.precision);
    json.attribute("mesh", report.summary.mesh);
    json.attribute("sequences_per_step", report.summary.sequences);
    json.attribute("tokens_per_step", report.summary.tokens);
    json.attribute("steps", report.summary.steps);
    json.attribute("flops_per_token", flopsOfToken(report));
    json.attribute("bytes_sent", sentInStep(report));
    json.attribute("policy", report.policy);
    json.attribute("stages", report.stages);
    if (report.stages > 1)
      json.attributeArray("layers_of_stages", [&] {
        for (int64_t layers : report.summary.stages)
          json.value(layers);
      });
    if (!report.holds.empty())
      json.attributeArray("holds", [&] {
        for (int64_t stage : report.holds)
          json.value(stage);
      });
    json.attribute("microbatches", report.microbatches);
    json.attribute("tasks", report.tasks);
    json.attributeArray("approximations", [&] {
      for (const std::string &what : report.approximations)
        json.value(what);
    });
    json.attribute("reduce", report.reduce);
    json.attribute("graph_calls", report.graphCalls);
    json.attribute("captured", report.graphCalls && isCaptured(report));
    json.attribute("flops", report.total.flops);
    json.attribute("bytes_moved", report.total.bytes);
    rows("categories", report.categories, writeWork);
    rows("functions", report.functions, writeWork);
    json.attribute("ranks", report.ranks);
    rows("collectives", report.collectives, [&](const Collective &row) {
      json.attribute("in", row.in);
      json.attribute("kind", row.kind);
      json.attribute("axes", row.axes);
      json.attribute("function", row.function);
      json.attribute("type", row.type);
      json.attribute("file", row.file);
      json.attribute("line", row.line);
      json.attribute("calls", row.calls);
      json.attribute("bytes", row.bytes);
      json.attribute("staged", row.staged);
    });
    rows("copies", report.copies, [&](const Copy &row) {
      json.attribute("kind", row.kind);
      json.attribute("function", row.function);
      json.attribute("file", row.file);
      json.attribute("line", row.line);
      json.attribute("calls", row.calls);
      json.attribute("bytes", row.bytes);
      json.attribute("staging", row.isStaging);
    });
    rows("attention", report.attention,
         [&](const AttentionCall &row) { writeAttention(row, json); });
    rows("fused_regions", report.regions,
         [&](const FusedRegion &row) { writeFusedRegion(row, json); });
    json.attributeObject("memory", [&] {
      json.attribute("arena", report.memory.arena);
      json.attribute("limit", report.summary.memoryLimit);
      json.attribute("live", report.memory.live);
      json.attribute("peak", report.memory.peak);
      rows("beside", report.beside, [&](const Beside &row) {
        json.attribute("owner", row.owner);
        json.attribute("what", row.what);
        json.attribute("once", row.once);
        json.attribute("per_thread", row.perThread);
      });
      rows("beside_gpu", report.besideGpu, [&](const BesideGpu &row) {
        json.attribute("library", row.library);
        json.attribute("version", row.version);
        json.attribute("what", row.what);
        json.attribute("bytes", row.bytes);
      });
      rows("owners", report.memory.owners, [&](const memory::OwnerReport &owner) {
        json.attribute("name", owner.name);
        json.attribute("holds", sched::stringifyOwner(owner.owner));
        json.attribute("offset", owner.offset);
        json.attribute("bytes", owner.bytes);
        json.attribute("at_peak", owner.atPeak);
      });
      rows("frames", report.memory.frames, [&](const memory::FrameReport &frame) {
        json.attribute("function", frame.function);
        json.attribute("bytes", frame.bytes);
        json.attribute("live", frame.live);
      });
    });
    if (!report.ofStages.empty())
      json.attributeArray("pipeline", [&] {
        for (const StepReport &rank : report.ofStages)
          writeReport(rank, json);
      });
  });
}

void printReportAsJson(const StepReport &report, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 2);
  writeReport(report, json);
  os << "\n";
}

} // namespace tplan

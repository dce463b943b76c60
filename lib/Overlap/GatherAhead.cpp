//===- GatherAhead.cpp - gather-ahead: a task's first weights come with its message ----===//
//
// A rank that waits for a message of another stage has nothing to compute. Where it awaits, or
// receives, what a task needs, it first starts to gather the weights of the first k layers of that
// task (ZeRO 3). In the task, the gather of layer i + k begins when layer i is done, into the
// memory of layer i. So k layers are whole at once, and two cost what `rotate-layers` has in flight
// anyway.
//
// One decision: how many layers are gathered is asked of memory, and of nothing else. The gathers
// of a group run one after the other in any case, so to begin them earlier delays none.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/MemorySearch.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Layers.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_GATHERAHEADPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Effects;
using overlap::Periods;
using sched::CallOp;
using sched::ProgramOp;
using sched::RunOp;
using sched::SectionOp;
using sched::use;
using sched::Use;

namespace {

/// A run of layers that gather some periods ahead.
struct Part {
  RunOp run;
  SmallVector<CallOp> gathers; // of a period
  int64_t count = 0;           // of periods ahead
  int64_t times() { return static_cast<int64_t>(run.getTimes()); }
  int64_t perPeriod() const { return static_cast<int64_t>(gathers.size()); }
  int64_t layers() const { return count * perPeriod(); }
};

/// A task, and where it gets what it needs of another rank.
struct Waiting {
  SectionOp task, message;
  std::vector<Part> parts;
};

class Ahead {
public:
  Ahead(ProgramOp program, int64_t most) : program(program), values(program), most(most) {}
  /// The number of layers that a task gathers ahead, at most.
  int64_t run();

private:
  ProgramOp program;
  schedule::ProgramValues values;
  int64_t most;

  SectionOp messageOf(SectionOp task);
  std::vector<Part> partsOf(SectionOp task);
  bool followsAlways(SectionOp task, SectionOp message);
  sched::ValueOp declare(StringRef name, CallOp gather, unsigned result, int64_t count);
  void apply(Waiting &waiting);
};

/// Moves the gathers of one part.
class Move {
public:
  Move(Part &part, Value events, const DenseMap<Value, Value> &memory)
      : part(part), b(events.getContext()), events(events), memory(memory) {}
  /// In the section of the message, before an op.
  void start(Operation *before);
  /// In the task, instead of the run.
  void replace();

private:
  Part &part;
  OpBuilder b;
  Value events;
  const DenseMap<Value, Value> &memory; // of what is gathered

  /// Periods as they come, from a place to another one.
  Periods periods(int64_t begin, int64_t end) {
    int64_t first = part.run.getDescending() ? part.times() - end : begin;
    return Periods::of(b.getContext(), first, end - begin);
  }
  Use eventOf(size_t gather, const Periods &in) {
    AffineExpr number = in.at * part.perPeriod() + static_cast<int64_t>(gather);
    return use(events, number % part.layers());
  }
  void move(Use &each, const Periods &to);
  void start(size_t gather, const Periods &to);
  void replaceIn(const Periods &in, const Periods *next);
};

} // namespace

//===----------------------------------------------------------------------===//
// What may be gathered ahead
//===----------------------------------------------------------------------===//

/// Where the task of a section awaits, or receives, what it needs of another rank; null where it
/// needs nothing, or where another section stands for it in some microbatch.
SectionOp Ahead::messageOf(SectionOp task) {
  if (!task.getKind() || task.isOfPair() || task.getFirst() || task.getLast() || task.getEarly())
    return {};
  auto stage = static_cast<int32_t>(*task.getStage());
  for (auto other : program.getBody().getOps<SectionOp>())
    if (other != task && other.isOf(*task.getKind(), stage))
      return {};
  for (const sched::AnyTask &need :
       sched::needsOf({*task.getKind(), stage, 0}, program.before(stage), program.after(stage)))
    for (sched::Task each : need)
      if (const sched::TaskFacts &facts = sched::factsOf(each.kind); facts.await) {
        SectionOp await = program.findSection(*facts.await, stage);
        if (SectionOp message = await ? await : program.findSection(each.kind, stage))
          return message;
      }
  return {};
}

/// The runs at the beginning of a task whose layers gather what nothing before them, and nothing in
/// them, touches; of so many layers in all. A run of single layers has two of them in flight, or
/// all.
std::vector<Part> Ahead::partsOf(SectionOp task) {
  std::vector<Part> parts;
  Effects before;
  int64_t left = most;
  for (Operation &op : task.getBody().front()) {
    before.add(&op);
    auto run = dyn_cast<RunOp>(op);
    if (!run)
      continue;
    Part part{run, {}};
    Effects gathers;
    for (const overlap::Layer &layer : overlap::layersOf(run))
      if (CallOp gather = layer.gather) {
        part.gathers.push_back(gather);
        gathers.add(gather);
      }
    if (part.gathers.empty())
      continue;
    part.count = std::min(part.times(), left / part.perPeriod());
    int64_t least = std::min<int64_t>(2, part.times() * part.perPeriod());
    if (part.layers() < least || gathers.meets(before))
      break;
    left -= part.layers();
    parts.push_back(std::move(part));
    if (parts.back().count < parts.back().times())
      break;
  }
  return parts;
}

/// Whether each microbatch's message is followed by its task before the next one's comes: one slot
/// does for all.
bool Ahead::followsAlways(SectionOp task, SectionOp message) {
  bool hasCome = false;
  for (sched::Task each : program.getTaskList()) {
    if (each.stage != static_cast<int64_t>(*task.getStage()))
      continue;
    if (each.kind == message.getKind() || each.kind == task.getKind()) {
      bool comes = each.kind == message.getKind();
      if (comes == hasCome)
        return false;
      hasCome = comes;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The IR
//===----------------------------------------------------------------------===//

/// A use in some of the periods.
void Move::move(Use &each, const Periods &to) {
  overlap::substitute(each, to, part.times());
  if (Value ahead = memory.lookup(each.value))
    each = {ahead,      use(ahead, to.at % part.count).instance, std::nullopt, {}, each.reads,
            each.writes};
}

/// Starts a gather of some of the periods.
void Move::start(size_t number, const Periods &to) {
  CallOp gather = part.gathers[number];
  SmallVector<Use> uses = gather.getUses();
  for (Use &each : uses)
    move(each, to);
  overlap::startExchange(b, gather, std::move(uses), eventOf(number, to));
}

void Move::start(Operation *before) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  overlap::beginRun(b, part.run, part.count);
  for (size_t i = 0; i < part.gathers.size(); ++i)
    start(i, periods(0, part.count));
}

/// The layers in some periods. Where one has been done, the gather that takes its memory begins:
/// that of the same place in `next`.
void Move::replaceIn(const Periods &in, const Periods *next) {
  OpBuilder::InsertionGuard guard(b);
  overlap::beginRun(b, part.run, in.count);
  size_t gathers = 0;
  auto startNext = [&] {
    if (next && gathers > 0)
      start(gathers - 1, *next);
  };
  for (Operation &op : part.run.getBody().front()) {
    if (!llvm::is_contained(part.gathers, dyn_cast<CallOp>(op))) {
      sched::rewriteUses(cast<sched::Step>(b.clone(op)), [&](Use &each) { move(each, in); });
      continue;
    }
    startNext();
    sched::createStep<sched::AwaitOp>(b, op.getLoc(), {eventOf(gathers++, in)}, {});
  }
  startNext();
}

void Move::replace() {
  b.setInsertionPoint(part.run);
  int64_t times = part.times(), others = times - part.count;
  if (others > 0) {
    Periods next = periods(part.count, times);
    replaceIn(periods(0, others), &next);
  }
  replaceIn(periods(others, times), nullptr);
  part.run.erase();
}

/// Memory for what layers gather.
sched::ValueOp Ahead::declare(StringRef name, CallOp gather, unsigned result, int64_t count) {
  Type type = gather.getFunction().getResultTypes()[result];
  sched::ValueOp value = values.declareInFlight(name, type, count, gather.getLoc());
  value.setLives(sched::Life::Microbatch);
  return value;
}

/// What is gathered has a slot of its own, from the message to the task.
void Ahead::apply(Waiting &waiting) {
  std::string name = waiting.task.getSymName().str() + ".ahead";
  SmallVector<sched::ValueOp> all;
  for (auto [number, part] : llvm::enumerate(waiting.parts)) {
    std::string ofPart = name + "." + std::to_string(number);
    DenseMap<Value, Value> memory;
    for (auto [j, gather] : llvm::enumerate(part.gathers))
      for (auto [i, each] : overlap::resultsOf(gather)) {
        std::string its =
            (ofPart + "." + Twine(j) + " " + gather.getFunction().getResultName(i)).str();
        all.push_back(declare(its, gather, i, part.count));
        memory[each.value] = all.back().getMemory();
      }
    Move move(part, values.declareEvents(ofPart, part.layers()).getMemory(), memory);
    move.start(&waiting.message.getBody().front().back());
    move.replace();
    for (auto &[own, ahead] : memory)
      own.getDefiningOp()->erase();
  }
  int64_t bytes = 0;
  for (sched::ValueOp value : all)
    bytes += value.getTotal();
  OpBuilder b(all.front());
  SmallVector<int32_t> slotOf(program.getMicrobatches(), 0);
  auto family = sched::FamilyOp::create(b, program.getLoc(), name, *waiting.message.getKind(),
                                        *waiting.message.getStage(), *waiting.task.getKind(),
                                        *waiting.task.getStage(), 1, bytes, slotOf, IntegerAttr(),
                                        DenseI32ArrayAttr(), DenseI64ArrayAttr());
  for (sched::ValueOp value : all)
    value.setFamilyAttr(FlatSymbolRefAttr::get(family));
}

int64_t Ahead::run() {
  std::vector<Waiting> all;
  for (auto task : program.getBody().getOps<SectionOp>())
    if (SectionOp message = messageOf(task)) {
      Waiting waiting{task, message, partsOf(task)};
      if (!waiting.parts.empty() && followsAlways(task, message))
        all.push_back(std::move(waiting));
    }
  int64_t layers = 0;
  for (Waiting &each : all) {
    int64_t its = 0;
    for (const Part &part : each.parts)
      its += part.layers();
    layers = std::max(layers, its);
    apply(each);
  }
  return layers;
}

namespace {
struct GatherAheadPass : tplan::overlap::impl::GatherAheadPassBase<GatherAheadPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    SmallVector<cost::Room> rooms;
    for (auto [i, program] : llvm::enumerate(module.getOps<ProgramOp>())) {
      cost::Room &room = rooms.emplace_back(cost::roomOf(module, i));
      bool mayAny = room.layers > 0 && program.isOfPipeline();
      room.layers = mayAny ? Ahead(program, room.layers).run() : 0;
    }
    if (cost::hasRooms(module))
      cost::setRooms(module, rooms);
  }
};
} // namespace

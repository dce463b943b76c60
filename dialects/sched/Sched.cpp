//===- Sched.cpp - registration, syntax and verifiers of the sched dialect ===//
//
// Each check cites its constraint in Sched.td as (Cn).
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::sched;

/// tasks [F 0 0, B 0 0]: kind, stage, microbatch.
static ParseResult parseTasks(OpAsmParser &parser, DenseI32ArrayAttr &tasks) {
  SmallVector<int32_t> data;
  auto parseTask = [&]() -> ParseResult {
    StringRef kind;
    int32_t stage, microbatch;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&kind) || parser.parseInteger(stage) || parser.parseInteger(microbatch))
      return failure();
    std::optional<TaskKind> symbol = symbolizeTaskKind(kind);
    if (!symbol)
      return parser.emitError(loc) << "expected a task F, B, I or W, found " << kind;
    data.append({static_cast<int32_t>(*symbol), stage, microbatch});
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseTask))
    return failure();
  tasks = DenseI32ArrayAttr::get(parser.getContext(), data);
  return success();
}

static void printTasks(OpAsmPrinter &printer, Operation *, DenseI32ArrayAttr tasks) {
  ArrayRef<int32_t> data = tasks.asArrayRef();
  printer << "[";
  for (size_t i = 0; i + 2 < data.size(); i += 3)
    printer << (i ? ", " : "") << stringifyTaskKind(static_cast<TaskKind>(data[i])) << " "
            << data[i + 1] << " " << data[i + 2];
  printer << "]";
}

#include "dialects/sched/SchedDialect.cpp.inc"
#include "dialects/sched/SchedEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/sched/SchedAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/sched/SchedOps.cpp.inc"

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/sched/SchedAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/sched/SchedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

Task ProgramOp::getTask(int64_t i) {
  ArrayRef<int32_t> data = getTasks();
  return {static_cast<TaskKind>(data[3 * i]), data[3 * i + 1], data[3 * i + 2]};
}

bool ProgramOp::isSplit() {
  for (int64_t i = 0, e = getNumTasks(); i < e; ++i)
    if (getTask(i).kind == TaskKind::I)
      return true;
  return false;
}

nn::ChainOp ProgramOp::getChain(StringRef name) {
  for (auto chain : getBody().getOps<nn::ChainOp>())
    if (chain.getSymName() == name)
      return chain;
  return {};
}

namespace {
/// Position of each (kind, stage, microbatch) in the order, or -1.
struct Positions {
  int64_t stages, microbatches;
  SmallVector<int64_t> at;

  Positions(int64_t stages, int64_t microbatches)
      : stages(stages), microbatches(microbatches), at(4 * stages * microbatches, -1) {}
  int64_t &operator()(TaskKind kind, int64_t stage, int64_t microbatch) {
    return at[(static_cast<int64_t>(kind) * stages + stage) * microbatches + microbatch];
  }
  /// Where the cotangents of carried values are made: B, or I.
  int64_t backward(int64_t stage, int64_t microbatch) {
    int64_t b = (*this)(TaskKind::B, stage, microbatch);
    return b >= 0 ? b : (*this)(TaskKind::I, stage, microbatch);
  }
};
} // namespace

std::string tplan::sched::describe(Task task) {
  return (stringifyTaskKind(task.kind) + " of stage " + Twine(task.stage) + ", microbatch " +
          Twine(task.microbatch))
      .str();
}

static LogicalResult verifyOrder(ProgramOp op, Positions &at) {
  for (int64_t i = 0, e = op.getNumTasks(); i < e; ++i) { // (C3)
    Task task = op.getTask(i);
    auto [kind, s, m] = task;
    auto needs = [&](int64_t position, StringRef what) -> LogicalResult {
      if (position >= 0 && position < i)
        return success();
      return op.emitOpError("task comes before ") << what << ": " << describe(task);
    };
    LogicalResult ok = success();
    if (kind == TaskKind::F && s > 0)
      ok = needs(at(TaskKind::F, s - 1, m), "F of the stage before it");
    else if (kind == TaskKind::W)
      ok = needs(at(TaskKind::I, s, m), "its I");
    else if (kind == TaskKind::B || kind == TaskKind::I) {
      ok = needs(at(TaskKind::F, s, m), "its F");
      if (succeeded(ok) && s + 1 < at.stages)
        ok = needs(at.backward(s + 1, m), "the backward of the stage behind it");
    }
    if (failed(ok))
      return failure();
  }
  return success();
}

LogicalResult ProgramOp::verify() {
  int64_t stages = getStages(), microbatches = getMicrobatches();
  if (getTasks().size() % 3 || stages < 1 || microbatches < 1) // (C1)
    return emitOpError("needs at least one stage and microbatch, and triples as tasks");
  Positions at(stages, microbatches);
  for (int64_t i = 0, e = getNumTasks(); i < e; ++i) {
    Task task = getTask(i);
    if (!symbolizeTaskKind(static_cast<uint32_t>(task.kind)))
      return emitOpError("no such kind of task: ") << static_cast<int32_t>(task.kind);
    if (task.stage < 0 || task.stage >= stages || task.microbatch < 0 ||
        task.microbatch >= microbatches)
      return emitOpError("no such stage or microbatch: ") << describe(task);
    int64_t &position = at(task.kind, task.stage, task.microbatch);
    if (position >= 0) // (C2)
      return emitOpError("task stands twice: ") << describe(task);
    position = i;
  }
  for (int64_t s = 0; s < stages; ++s) // (C2)
    for (int64_t m = 0; m < microbatches; ++m) {
      bool f = at(TaskKind::F, s, m) >= 0, b = at(TaskKind::B, s, m) >= 0;
      bool i = at(TaskKind::I, s, m) >= 0, w = at(TaskKind::W, s, m) >= 0;
      if (!f || b == i || i != w)
        return emitOpError("needs F, and B or both I and W, of stage ")
               << s << ", microbatch " << m;
    }
  if (failed(verifyOrder(*this, at)))
    return failure();
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) { // (C4)
    if (!isa<nn::ChainOp, FamilyOp, ValueOp>(op))
      return emitOpError("holds chains, families and values, found ") << op.getName();
    if (auto family = dyn_cast<FamilyOp>(op))
      if (!names.insert(family.getName()).second)
        return family.emitOpError("name stands twice: ") << family.getName();
  }
  // (C5)
  for (auto family : getBody().getOps<FamilyOp>()) {
    auto inArena = [&](int64_t at) {
      return at >= 0 &&
             at + static_cast<int64_t>(family.getBytes()) <= static_cast<int64_t>(*getArena());
    };
    if (getArena() && (!family.getAt() || !llvm::all_of(*family.getAt(), inArena)))
      return family.emitOpError("lies outside of the arena of bytes ") << *getArena();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Families and values
//===----------------------------------------------------------------------===//

/// (C2): walks the tasks; a slot is taken from the producer to the last reader.
static LogicalResult verifySlots(FamilyOp family, ProgramOp program) {
  SmallVector<int64_t> holder(family.getSlots(), -1);
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    Task task = program.getTask(i);
    int64_t &held = holder[family.getSlotOf()[task.microbatch]];
    if (task.kind == family.getProducer() && task.stage == (int64_t)family.getProducerStage()) {
      if (held >= 0 && held != task.microbatch)
        return family.emitOpError("microbatches share a slot while both are live: ")
               << held << " and " << task.microbatch;
      held = task.microbatch;
    }
    if (task.kind == family.getReader() && task.stage == (int64_t)family.getReaderStage() &&
        held == task.microbatch)
      held = -1;
  }
  return success();
}

LogicalResult FamilyOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  int64_t slots = getSlots();
  if (slots < 1 || getSlotOf().size() != program.getMicrobatches()) // (C1)
    return emitOpError("needs at least one slot and a slot for each microbatch, found ")
           << slots << " slots for " << getSlotOf().size() << " microbatches";
  for (int32_t slot : getSlotOf())
    if (slot < 0 || slot >= slots)
      return emitOpError("no such slot: ") << slot;
  if (static_cast<int64_t>(getProducerStage()) >= static_cast<int64_t>(program.getStages()) ||
      static_cast<int64_t>(getReaderStage()) >= static_cast<int64_t>(program.getStages()))
    return emitOpError("names a stage that the program lacks");
  int64_t sum = 0;
  for (Operation &op : getBody().front()) {
    auto value = dyn_cast<ValueOp>(op);
    if (!value)
      return emitOpError("holds values only, found ") << op.getName();
    sum += value.getTotal();
  }
  if (sum != static_cast<int64_t>(getBytes())) // (C3)
    return emitOpError("bytes must be the sum of its values, ") << sum << ", found " << getBytes();
  if (getAt() && static_cast<int64_t>(getAt()->size()) != slots) // (C4)
    return emitOpError("needs an offset for each slot, found ")
           << getAt()->size() << " for " << slots;
  return verifySlots(*this, program);
}

nn::Tensor ValueOp::getTensor() {
  return cast<nn::Tensor>((*this)->getAttrOfType<TypeAttr>("type").getValue());
}

LogicalResult ValueOp::verify() {
  if (static_cast<int64_t>(getBytes()) < 0 || static_cast<int64_t>(getCount()) < 1 ||
      (getAt() && *getAt() % kAlign)) // (C1)
    return emitOpError("needs bytes of at least 0, a count of at least 1 and an offset that is a "
                       "multiple of ")
           << kAlign;
  return success();
}

//===- Sched.cpp - registration and syntax of the sched dialect ------------===//
//
// SchedProgram.cpp and SchedSteps.cpp have what the ops answer, and their verifiers.
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::sched;

/// tasks [F 0 0, F 0 1 with B 0 0]: kind, stage, microbatch.
static ParseResult parseTasks(OpAsmParser &parser, DenseI32ArrayAttr &tasks) {
  SmallVector<int32_t> data;
  auto parseTask = [&](bool together) -> ParseResult {
    StringRef kind;
    int32_t stage, microbatch;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&kind) || parser.parseInteger(stage) || parser.parseInteger(microbatch))
      return failure();
    std::optional<TaskKind> symbol = symbolizeTaskKind(kind);
    if (!symbol) {
      auto diag = parser.emitError(loc) << "expected a kind of task, one of ";
      llvm::interleaveComma(kTaskFacts, diag,
                            [&](const TaskFacts &facts) { diag << stringifyTaskKind(facts.kind); });
      return diag << "; found " << kind;
    }
    addTriple(data, {*symbol, stage, microbatch, together});
    return success();
  };
  auto parseTogether = [&]() -> ParseResult {
    if (parseTask(/*together=*/false))
      return failure();
    while (succeeded(parser.parseOptionalKeyword("with")))
      if (parseTask(/*together=*/true))
        return failure();
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseTogether))
    return failure();
  tasks = DenseI32ArrayAttr::get(parser.getContext(), data);
  return success();
}

static void printTasks(OpAsmPrinter &printer, Operation *, DenseI32ArrayAttr tasks) {
  printer << "[";
  for (int64_t i = 0, e = tasks.size() / 3; i < e; ++i) {
    Task task = taskIn(tasks, i);
    if (i)
      printer << (task.together ? " with " : ", ");
    printer << stringifyTaskKind(task.kind) << " " << task.stage << " " << task.microbatch;
  }
  printer << "]";
}

/// first 2, which has all `count` instances, or first 2 x 2, 6 x 2.
static ParseResult parseRanges(OpAsmParser &parser, DenseI64ArrayAttr &ranges, IntegerAttr count) {
  SmallVector<int64_t> numbers;
  if (failed(parser.parseOptionalKeyword("first")))
    return success();
  do {
    int64_t first, length = count.getInt();
    if (parser.parseInteger(first))
      return failure();
    bool isLast = failed(parser.parseOptionalKeyword("x"));
    if (!isLast && parser.parseInteger(length))
      return failure();
    numbers.append({first, length});
    if (isLast)
      break;
  } while (succeeded(parser.parseOptionalComma()));
  ranges = DenseI64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

static void printRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr ranges, IntegerAttr) {
  if (!ranges)
    return;
  ArrayRef<int64_t> numbers = ranges;
  printer << " first ";
  if (numbers.size() == 2)
    printer << numbers[0];
  for (size_t i = 0; numbers.size() > 2 && i < numbers.size(); i += 2)
    printer << (i ? ", " : "") << numbers[i] << " x " << numbers[i + 1];
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kPeriod = "period", kMicrobatch = "microbatch";

AffineExpr sched::periodOf(MLIRContext *context) { return getAffineSymbolExpr(0, context); }
AffineExpr sched::microbatchOf(MLIRContext *context) { return getAffineSymbolExpr(1, context); }

/// With a second result where it is of another microbatch than the section's.
static AffineMap instanceMap(AffineExpr instance, int64_t shift = 0) {
  SmallVector<AffineExpr, 2> results = {instance};
  if (shift)
    results.push_back(sched::microbatchOf(instance.getContext()) + shift);
  return AffineMap::get(0, 2, results, instance.getContext());
}

Use sched::use(Value value, AffineExpr instance) {
  if (!instance)
    instance = getAffineConstantExpr(0, value.getContext());
  return {value, instanceMap(instance), std::nullopt, {}};
}

UseLists::UseLists(ArrayRef<Use> read, ArrayRef<Use> written) : reads(read.size()) {
  for (ArrayRef<Use> uses : {read, written})
    for (const Use &use : uses) {
      llvm::append_range(values, use.values());
      instances.push_back(use.shift ? instanceMap(use.instance.getResult(0), use.shift)
                                    : use.instance);
      borders.push_back(use.border ? static_cast<int32_t>(*use.border) : -1);
    }
}

ArrayAttr UseLists::instancesAttr(OpBuilder &b) const { return b.getAffineMapArrayAttr(instances); }

/// %x[period + 1] first %y of microbatch - 2
static ParseResult parseUse(OpAsmParser &parser,
                            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
                            SmallVectorImpl<Attribute> &instances,
                            SmallVectorImpl<int32_t> &borders) {
  MLIRContext *context = parser.getContext();
  AffineExpr instance = getAffineConstantExpr(0, context);
  std::pair<StringRef, AffineExpr> symbols[] = {{kPeriod, sched::periodOf(context)},
                                                {kMicrobatch, sched::microbatchOf(context)}};
  if (parser.parseOperand(values.emplace_back()))
    return failure();
  if (succeeded(parser.parseOptionalLSquare()))
    if (parser.parseAffineExpr(symbols, instance) || parser.parseRSquare())
      return failure();
  int32_t border = -1;
  for (Border each : {Border::First, Border::Last})
    if (succeeded(parser.parseOptionalKeyword(stringifyBorder(each)))) {
      border = static_cast<int32_t>(each);
      if (parser.parseOperand(values.emplace_back()))
        return failure();
    }
  int64_t shift = 0;
  if (succeeded(parser.parseOptionalKeyword("of"))) {
    AffineExpr whose;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseAffineExpr(symbols, whose))
      return failure();
    auto number = dyn_cast<AffineConstantExpr>(whose - symbols[1].second);
    if (!number)
      return parser.emitError(loc, "a use is of the section's microbatch, plus or minus a number");
    shift = number.getValue();
  }
  instances.push_back(AffineMapAttr::get(instanceMap(instance, shift)));
  borders.push_back(border);
  return success();
}

static ParseResult parseUses(OpAsmParser &parser,
                             SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
                             ArrayAttr &instances, DenseI32ArrayAttr &borders, IntegerAttr &reads) {
  SmallVector<Attribute> maps;
  SmallVector<int32_t> numbers;
  auto parseOne = [&] { return parseUse(parser, values, maps, numbers); };
  auto parseList = [&](StringRef keyword) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne);
  };
  if (parseList("from"))
    return failure();
  reads = parser.getBuilder().getI64IntegerAttr(maps.size());
  if (parseList("to"))
    return failure();
  instances = parser.getBuilder().getArrayAttr(maps);
  borders = DenseI32ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

static std::string spellInstance(AffineExpr instance) {
  std::string text;
  llvm::raw_string_ostream(text) << instance;
  for (auto [symbol, name] : {std::pair("s0", kPeriod), std::pair("s1", kMicrobatch)})
    for (size_t at; (at = text.find(symbol)) != std::string::npos;)
      text.replace(at, 2, name.str());
  return text;
}

static void printUses(OpAsmPrinter &printer, Operation *, OperandRange values, ArrayAttr instances,
                      DenseI32ArrayAttr borders, IntegerAttr reads) {
  unsigned next = 0, i = 0, e = instances.size();
  auto printList = [&](StringRef keyword, unsigned end) {
    if (i == end)
      return;
    printer << (next ? " " : "") << keyword << "(";
    for (bool first = true; i < end; ++i, first = false) {
      printer << (first ? "" : ", ") << values[next++];
      AffineExpr instance = cast<AffineMapAttr>(instances[i]).getValue().getResult(0);
      auto constant = dyn_cast<AffineConstantExpr>(instance);
      if (!constant || constant.getValue())
        printer << "[" << spellInstance(instance) << "]";
      if (borders[i] >= 0)
        printer << " " << stringifyBorder(static_cast<Border>(borders[i])) << " " << values[next++];
      if (AffineMap map = cast<AffineMapAttr>(instances[i]).getValue(); map.getNumResults() > 1)
        printer << " of " << spellInstance(map.getResult(1));
    }
    printer << ")";
  };
  printList("from", std::min<int64_t>(reads.getInt(), e));
  printList("to", e);
}

/// A name or a section, where there is one.
template <typename A> static ParseResult parseOptional(AsmParser &parser, A &attr) {
  OptionalParseResult parsed = parser.parseOptionalAttribute(attr);
  return parsed.has_value() ? *parsed : success();
}
static void printOptional(AsmPrinter &printer, Attribute attr) {
  if (attr)
    printer << " " << attr;
}
static ParseResult parseName(AsmParser &parser, StringAttr &name) {
  return parseOptional(parser, name);
}
static void printName(AsmPrinter &printer, StringAttr name) { printOptional(printer, name); }
static ParseResult parseEnds(AsmParser &parser, int64_t &from, int64_t &to) {
  from = to = 0;
  if (failed(parser.parseOptionalKeyword("from")))
    return success();
  return failure(parser.parseInteger(from) || parser.parseKeyword("to") || parser.parseInteger(to));
}

static void printEnds(AsmPrinter &printer, int64_t from, int64_t to) {
  if (from != to)
    printer << " from " << from << " to " << to;
}

static ParseResult parseSection(AsmParser &parser, FlatSymbolRefAttr &section) {
  SymbolRefAttr symbol;
  if (parseOptional(parser, symbol))
    return failure();
  section = dyn_cast_if_present<FlatSymbolRefAttr>(symbol);
  return success();
}
static void printSection(AsmPrinter &printer, FlatSymbolRefAttr section) {
  printOptional(printer, section);
}

#include "dialects/sched/SchedDialect.cpp.inc"
#include "dialects/sched/SchedEnums.cpp.inc"
#include "dialects/sched/SchedInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/sched/SchedAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/sched/SchedTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/sched/SchedOps.cpp.inc"

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/sched/SchedAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/sched/SchedTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/sched/SchedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

std::string KeyAttr::spell() {
  std::string name = getName() ? getName().str() : "", of = getOf() ? getOf().getValue().str() : "";
  switch (getKind()) {
  case ValueKind::Parameter:
    return "param " + of;
  case ValueKind::Gradient:
    return "grad " + of;
  case ValueKind::GradientPart:
    return "grad " + of + ", " + name;
  case ValueKind::State:
    return "state " + of + "." + name;
  case ValueKind::Rows:
    return "input " + name;
  case ValueKind::Scalar:
    return "scalar " + name;
  case ValueKind::Member: {
    std::string text = "scalar member.";
    for (auto axis : getAxes().getAsRange<StringAttr>())
      text += (text.back() == '.' ? "" : "+") + axis.str();
    return text;
  }
  case ValueKind::Loss:
    return "loss " + name;
  case ValueKind::Count:
    return "loss " + nn::countOf(name);
  case ValueKind::InUse:
    return "scalar " + nn::countOf(name);
  case ValueKind::LossCotangent:
    return "cot_loss " + name;
  case ValueKind::Sum:
    return "sum " + name;
  case ValueKind::Output:
    return "output " + name;
  case ValueKind::Frame:
    return "frame " + name;
  case ValueKind::Event:
    return "event " + name;
  case ValueKind::InFlight:
    return "in flight " + name;
  case ValueKind::StepNumber:
  case ValueKind::Term:
  case ValueKind::Activation:
    return name;
  case ValueKind::Staging:
  case ValueKind::Workspace:
    return stringifyValueKind(getKind()).str();
  case ValueKind::Scratch:
    return "scratch of " + dist::spell(dist::axesOf(getAxes()));
  }
  llvm_unreachable("a kind of value without a spelling");
}

/// Whether x is at its place in the whole already.
static bool isInPlace(rt::PlaceOp op) {
  PlaceAttr whole = placeOf(cast<OpResult>(op.getResult()));
  PlaceAttr block = placeOf(cast<OpResult>(op.getX()));
  return block.getKind() == whole.getKind() && block.getN() == whole.getN() &&
         block.getAxes() == op.getAxes();
}

int64_t sched::streamOf(Operation *op) {
  auto stream = op->getAttrOfType<IntegerAttr>(kStream);
  return stream ? stream.getInt() : 0;
}

Turn Turn::of(Operation *op) {
  auto stream = op->getAttrOfType<IntegerAttr>(kStream);
  auto events = op->getAttrOfType<DenseI64ArrayAttr>(kTurn);
  return stream && events ? Turn{stream.getInt(), events[0], events[1]} : Turn();
}

void sched::eraseUncalled(ModuleOp module, ArrayRef<rt::FuncOp> funcs) {
  llvm::DenseSet<StringRef> called;
  module.walk([&](CallOp call) { called.insert(call.getCallee()); });
  for (rt::FuncOp func : funcs)
    if (!called.contains(func.getSymName()))
      func.erase();
}

bool sched::isExchange(rt::FuncOp func) {
  auto ops = func.getBlock().without_terminator();
  return !ops.empty() && llvm::all_of(ops, [](Operation &each) {
    auto collective = dyn_cast<rt::CollectiveOp>(each);
    return collective ? !collective.getEvent() : movesNoByte(&each);
  });
}

bool sched::movesNoByte(Operation *call) {
  if (auto slice = dyn_cast<rt::SliceOp>(call))
    return slice.getView();
  if (isa<rt::JoinOp>(call))
    return true;
  auto place = dyn_cast<rt::PlaceOp>(call);
  return place && (!place->hasAttr(kPlaces) || isInPlace(place));
}

bool sched::endsBucket(ArrayRef<rt::CollectiveOp> bucket, Operation *next) {
  if (auto collective = dyn_cast<rt::CollectiveOp>(next))
    return llvm::any_of(bucket, [&](rt::CollectiveOp other) {
      bool areStarted = collective.getEvent() && other.getEvent();
      bool areAlike = areStarted ? collective.getCompletion() == other.getCompletion() &&
                                       collective.getAxes() == other.getAxes()
                                 : collective.getEvent() == other.getEvent();
      return !areAlike || rt::dependsOn(collective, other);
    });
  return !movesNoByte(next);
}

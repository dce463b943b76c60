//===- Host/Functions.cpp - rt.func becomes calls of the runtime ----------===//
#include "lib/Lower/Host/Functions.h"
#include "dialects/sched/Sched.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Chain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

std::pair<StringRef, int64_t> lower::sourceOf(Location loc) {
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    return {place.getFilename().getValue(), place.getLine()};
  if (auto name = dyn_cast<NameLoc>(loc))
    return sourceOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return sourceOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (auto source = sourceOf(part); source.second)
        return source;
  return {"", 0};
}

int64_t lower::runtimeType(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
#define TYPE(ID, NAME, BYTES) .Case(NAME, ID)
  int64_t id = llvm::StringSwitch<int64_t>(text) TP_TYPES(TYPE).Default(-1);
#undef TYPE
  if (id < 0)
    llvm::reportFatalInternalError(llvm::Twine("the runtime has no element type ") + text);
  return id;
}

std::string lower::callRecord(HostBuilder &host, StringRef name, Location loc, int64_t category,
                              int64_t flops, int64_t bytes) {
  auto [file, line] = sourceOf(loc);
  return host.recordsSymbol("call",
                            Record{Field::string(name), Field::string(file), Field::i32(line),
                                   Field::i32(category), Field::i64(flops), Field::i64(bytes)});
}

Record lower::collectiveFields(HostBuilder &host, int64_t group, int64_t kind, int64_t reduction,
                               Type element, const rt::BlockShape &shape,
                               ArrayRef<int32_t> sources) {
  Record fields;
  for (int64_t v : {kind, reduction, runtimeType(element), group})
    fields.push_back(Field::i32(v));
  for (int64_t v : {shape.outer, shape.inner, shape.middle, shape.last, shape.whole})
    fields.push_back(Field::i64(v));
  fields.push_back(Field::i32(shape.splitLast));
  fields.push_back(sources.empty() ? Field::null()
                                   : Field::address(host.tableSymbol("sources", sources)));
  return fields;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::optional<unsigned> lower::tableIndexOfResult(rt::FuncOp func, unsigned result) {
  if (schedule::inPlaceArg(func, result))
    return std::nullopt;
  unsigned index = func.getNumArguments();
  for (unsigned i = 0; i < result; ++i)
    index += !schedule::inPlaceArg(func, i);
  return index;
}

unsigned lower::tableIndexOfFrame(rt::FuncOp func) {
  unsigned index = func.getNumArguments();
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    index += !schedule::inPlaceArg(func, i);
  return index;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// Whether x is at its place in the whole already.
static bool isInPlace(rt::PlaceOp op) {
  auto placeOf = [](Value v) {
    auto result = cast<OpResult>(v);
    auto places = result.getOwner()->getAttrOfType<ArrayAttr>(sched::kPlaces);
    return cast<sched::PlaceAttr>(places[result.getResultNumber()]);
  };
  sched::PlaceAttr whole = placeOf(op.getResult()), block = placeOf(op.getX());
  return block.getKind() == whole.getKind() && block.getN() == whole.getN() &&
         block.getAxes() == op.getAxes();
}

bool lower::isNothing(Operation *op) {
  if (auto slice = dyn_cast<rt::SliceOp>(op))
    return slice.getView();
  auto place = dyn_cast<rt::PlaceOp>(op);
  return place && isInPlace(place);
}

namespace {
class FunctionLowering {
public:
  FunctionLowering(HostBuilder &host, HostGroups &groups, rt::FuncOp func)
      : host(host), groups(groups), func(func) {}

  void lower(StringRef name) {
    host.begin(name, {host.ptr, host.ptr});
    rank = host.argument(0);
    table = host.argument(1);
    loadTable();
    args = host.pointers(maxArguments());
    for (Operation &op : func.getBlock().without_terminator()) {
      placeResults(&op);
      if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
        if (llvm::any_of(waiting,
                         [&](rt::CollectiveOp other) { return rt::dependsOn(collective, other); }))
          issue();
        waiting.push_back(collective);
        continue;
      }
      if (!isNothing(&op))
        issue();
      llvm::TypeSwitch<Operation *>(&op)
          .Case<rt::LaunchOp, rt::MatmulOp, rt::CopyOp, rt::SliceOp, rt::PlaceOp>(
              [&](auto call) { emit(call); });
    }
    issue();
    host.end();
  }

private:
  HostBuilder &host;
  HostGroups &groups;
  rt::FuncOp func;
  Value rank, table, args;
  SmallVector<Value> entries;            // of the table
  SmallVector<rt::CollectiveOp> waiting; // that follow each other: one call issues them
  DenseMap<Value, Value> pointer;

  void loadTable() {
    for (unsigned i = 0, e = tableIndexOfFrame(func) + 1; i < e; ++i)
      entries.push_back(host.loadPointer(table, i));
    for (BlockArgument arg : func.getBlock().getArguments())
      pointer[arg] = entries[arg.getArgNumber()];
  }

  int64_t maxArguments() {
    size_t most = 2 * llvm::range_size(func.getBlock().getOps<rt::CollectiveOp>());
    for (auto launch : func.getBlock().getOps<rt::LaunchOp>())
      most = std::max<size_t>(most, launch.getArgs().size() + launch.getNumResults() + 1);
    return most;
  }

  void placeResults(Operation *op) {
    auto places = op->getAttrOfType<ArrayAttr>(sched::kPlaces);
    for (auto [result, attr] : llvm::zip(op->getResults(), places)) {
      auto place = cast<sched::PlaceAttr>(attr);
      if (place.getKind() == "frame")
        pointer[result] = host.offset(entries.back(), place.getN());
      else if (place.getKind() == "arg")
        pointer[result] = entries[place.getN()];
      else
        pointer[result] = entries[*tableIndexOfResult(func, place.getN())];
      if (ArrayAttr axes = place.getAxes())
        pointer[result] = ownBlock(pointer[result], axes, place.getBytes());
    }
  }

  /// Address of the rank's own block of so many bytes.
  Value ownBlock(Value base, ArrayAttr axes, int64_t bytes) {
    Value group = host.number(groups.numberOf(dist::axesOf(axes)));
    Value member = host.callForNumber("tp_member", {rank, group});
    return host.offset(base, host.multiplyAdd(host.number(0), member, bytes));
  }

  static int64_t fact(Operation *call, StringRef key) {
    return call->getAttrOfType<DictionaryAttr>(kCallRecord).getAs<IntegerAttr>(key).getInt();
  }

  Value record(Operation *call, StringRef name) {
    return host.address(callRecord(host, name, call->getLoc(), fact(call, "category"),
                                   fact(call, "flops"), fact(call, "bytes")));
  }

  void emit(rt::LaunchOp launch) {
    unsigned n = 0;
    for (Value arg : launch.getArgs())
      host.storePointer(pointer[arg], args, n++);
    for (Value result : launch.getResults())
      host.storePointer(pointer[result], args, n++);
    int64_t all = fact(launch, "tasks");
    Value tasks = host.number(all);
    if (Value count = launch.getCount()) {
      // A kernel reads the count itself; tiles of attention are in the order of the rows.
      if (fact(launch, "category") == TP_ATTENTION)
        tasks = portion(all, launch.getResult(0), count);
      else
        host.storePointer(pointer[count], args, n++);
    }
    host.call("tp_launch", {rank, record(launch, launch.getKernel()),
                            host.address(launch.getKernel()), args, tasks});
  }

  /// Of `all` equal parts of a value, those of the `count` elements in use of its first dimension.
  Value portion(int64_t all, Value value, Value count) {
    int64_t bound = cast<nn::Tensor>(value.getType()).getDims().front().getSize();
    return host.multiplyAdd(host.number(0), host.load(host.i64, pointer[count]), all / bound);
  }

  void emit(rt::MatmulOp matmul) {
    auto type = [](Value v) { return cast<nn::Tensor>(v.getType()); };
    Value a = matmul.getLhs(), b = matmul.getRhs();
    rt::Gemm gemm = *rt::matchGemm(type(a), type(b), type(matmul.getResult()));
    if (gemm.swapped)
      std::swap(a, b);
    Record fields;
    for (int64_t v : {gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.ldc, gemm.batch,
                      gemm.strideA, gemm.strideB, gemm.strideC})
      fields.push_back(Field::i64(v));
    for (int64_t v : {int64_t(gemm.transA), int64_t(gemm.transB), int64_t(bool(matmul.getAcc())),
                      runtimeType(type(a).getElementType()),
                      runtimeType(type(matmul.getResult()).getElementType())})
      fields.push_back(Field::i32(v));
    Value rows = matmul.getCount()
                     ? portion(gemm.batch * gemm.m, matmul.getResult(), matmul.getCount())
                     : host.number(gemm.batch * gemm.m);
    host.call("tp_matmul",
              {rank, record(matmul, "matmul"), host.address(host.recordsSymbol("gemm", fields)),
               pointer[a], pointer[b], pointer[matmul.getResult()], rows});
  }

  void emit(rt::CopyOp copy) {
    host.call("tp_copy",
              {rank, record(copy, "copy"), pointer[copy.getResult()], pointer[copy.getX()],
               host.number(cast<nn::Tensor>(copy.getX().getType()).getBytes())});
  }

  Record fieldsOf(rt::CollectiveOp op) {
    auto sources = op.getSources();
    return collectiveFields(host, groups.numberOf(dist::axesOf(op.getAxes())),
                            static_cast<int64_t>(op.getKind()),
                            op.getReduction() == nn::ReduceKind::max ? TP_MAX : TP_SUM,
                            cast<nn::Tensor>(op.getX().getType()).getElementType(), op.getShape(),
                            sources ? *sources : ArrayRef<int32_t>());
  }

  /// Issues the collectives that wait. Their bytes are those of all, their place the first's.
  void issue() {
    if (waiting.empty())
      return;
    SmallVector<Record> records;
    int64_t bytes = 0;
    for (auto [i, op] : llvm::enumerate(waiting)) {
      host.storePointer(pointer[op.getX()], args, 2 * i);
      host.storePointer(pointer[op.getResult()], args, 2 * i + 1);
      records.push_back(fieldsOf(op));
      bytes += fact(op, "bytes");
    }
    rt::CollectiveOp first = waiting.front();
    std::string call = callRecord(host, dist::stringifyCollectiveKind(first.getKind()),
                                  first.getLoc(), TP_COLLECTIVE, 0, bytes);
    host.call("tp_collectives",
              {rank, host.address(call), host.address(host.recordsSymbol("collectives", records)),
               host.number(records.size()), args});
    waiting.clear();
  }

  void emit(rt::SliceOp op) {
    if (op.getView())
      return;
    Record what =
        collectiveFields(host, groups.numberOf(dist::axesOf(op.getAxes())), TP_SLICE, TP_SUM,
                         cast<nn::Tensor>(op.getX().getType()).getElementType(), op.getShape());
    host.call("tp_slice",
              {rank, record(op, "slice"), host.address(host.recordsSymbol("slice", what)),
               pointer[op.getX()], pointer[op.getResult()]});
  }

  void emit(rt::PlaceOp op) {
    if (isNothing(op))
      return;
    int64_t bytes = cast<nn::Tensor>(op.getX().getType()).getBytes();
    host.call("tp_copy",
              {rank, record(op, "place"), ownBlock(pointer[op.getResult()], op.getAxes(), bytes),
               pointer[op.getX()], host.number(bytes)});
  }
};
} // namespace

void lower::lowerFunction(HostBuilder &host, HostGroups &groups, rt::FuncOp func) {
  host.loc = func.getLoc();
  FunctionLowering(host, groups, func).lower(codeSymbol(func));
}

//===- Host/Functions.cpp - rt.func becomes calls of the runtime ----------===//
#include "lib/Lower/Host/Functions.h"
#include "dialects/dist/Kinds.h"
#include "dialects/sched/Sched.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

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

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::optional<unsigned> lower::tableIndexOfResult(rt::FuncOp func, unsigned result) {
  if (func.findUpdatedArg(result))
    return std::nullopt;
  unsigned index = func.getNumArguments();
  for (unsigned i = 0; i < result; ++i)
    index += !func.findUpdatedArg(i);
  return index;
}

unsigned lower::tableIndexOfFrame(rt::FuncOp func) {
  unsigned index = func.getNumArguments();
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    index += !func.findUpdatedArg(i);
  return index;
}

bool lower::repeats(rt::FuncOp func) { return func->hasAttr(sched::kRepeats); }

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

static tp_category runtimeCategory(rt::Category category) {
  switch (category) {
  case rt::Category::Kernel:
    return TP_KERNEL;
  case rt::Category::Gemm:
    return TP_GEMM;
  case rt::Category::Attention:
    return TP_ATTENTION;
  case rt::Category::Optimizer:
    return TP_OPTIMIZER;
  case rt::Category::Copy:
    return TP_COPY;
  case rt::Category::Collective:
    return TP_COLLECTIVE;
  }
  llvm_unreachable("a call of no category");
}

namespace {
class FunctionLowering {
public:
  FunctionLowering(HostBuilder &host, HostGroups &groups, HostCalls &calls, rt::FuncOp func)
      : host(host), groups(groups), calls(calls), func(func),
        tf32(lang::Settings(func->getParentOfType<ModuleOp>()).plan.precision ==
             lang::Precision::TF32),
        home(sched::streamOf(func)) {}

  void lower(StringRef name) {
    host.begin(name, {host.ptr, host.ptr});
    rank = host.argument(0);
    table = host.argument(1);
    loadTable();
    for (Operation &op : func.getBlock().without_terminator())
      lower(&op);
    issue();
    host.end();
  }

private:
  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  rt::FuncOp func;
  const bool tf32;    // the plan lets GEMMs round f32 to it
  const int64_t home; // the stream of its calls, except collectives
  Value rank, table;
  Value layers;               // that one call works on, or null
  SmallVector<Value> entries; // of the table
  SmallVector<rt::CollectiveOp> bucket;
  DenseMap<Value, Value> pointer;

  void lower(Operation *op) {
    placeResults(op);
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    bool isOther = collective && !bucket.empty() &&
                   sched::Turn::of(bucket.front()) != sched::Turn::of(collective);
    if (isOther || sched::endsBucket(bucket, op))
      issue();
    if (collective)
      bucket.push_back(collective);
    if (collective || sched::movesNoByte(op))
      return;
    llvm::TypeSwitch<Operation *>(op)
        .Case<rt::LaunchOp, rt::MatmulOp, rt::AttentionOp, rt::CopyOp, rt::AuditOp, rt::SliceOp,
              rt::PlaceOp, rt::AwaitOp>([&](auto call) { emit(call); });
  }

  void loadTable() {
    for (unsigned i = 0, e = tableIndexOfFrame(func) + 1; i < e; ++i)
      entries.push_back(host.loadPointer(table, i));
    for (BlockArgument arg : func.getBlock().getArguments())
      pointer[arg] = entries[arg.getArgNumber()];
    if (repeats(func))
      layers = host.load(host.i64, host.offset(table, 8 * tableIndexOfLayers(func)));
  }

  void placeResults(Operation *op) {
    auto places = op->getAttrOfType<ArrayAttr>(sched::kPlaces);
    for (auto [result, attr] : llvm::zip(op->getResults(), places)) {
      auto place = cast<sched::PlaceAttr>(attr);
      if (place.getKind() == sched::PlaceKind::Frame)
        pointer[result] = host.offset(entries.back(), place.getN());
      else if (place.getKind() == sched::PlaceKind::Arg)
        pointer[result] = entries[place.getN()];
      else
        pointer[result] = entries[*tableIndexOfResult(func, place.getN())];
      if (ArrayAttr axes = place.getAxes())
        pointer[result] = blockOf(pointer[result], axes, place.getBytes(), place.getShift());
    }
  }

  /// Address of a block of so many bytes: the rank's own, or that of a rank after it.
  Value blockOf(Value base, ArrayAttr axes, int64_t bytes, int64_t shift = 0) {
    if (axes.empty())
      return host.offset(base, shift * bytes);
    auto mesh = dist::meshOf(func->getParentOfType<ModuleOp>());
    Value member = host.addModulo(calls.member(rank, dist::axesOf(axes)), shift,
                                  mesh.sizeOf(dist::axesOf(axes)));
    return host.offset(base, host.multiplyAdd(host.number(0), member, bytes));
  }

  //===--------------------------------------------------------------------===//
  // Calls
  //===--------------------------------------------------------------------===//

  static rt::CallRecordAttr callRecordOf(Operation *call) {
    return call->getAttrOfType<rt::CallRecordAttr>(kCallRecord);
  }

  CallFacts factsOf(Operation *call, StringRef name) const {
    rt::CallRecordAttr record = callRecordOf(call);
    return {name,
            call->getLoc(),
            runtimeCategory(record.getCategory()),
            record.getFlops(),
            record.getBytes(),
            home};
  }

  /// Collectives of a bucket have one event.
  void emit(rt::AwaitOp await) {
    llvm::SmallSetVector<int64_t, 4> events;
    for (Value event : await.getEvents())
      events.insert(sched::Turn::of(event.getDefiningOp()).after);
    for (int64_t event : events)
      calls.wait(rank, home, event);
  }

  void emit(rt::LaunchOp launch) {
    SmallVector<Value> args;
    SmallVector<int64_t> bytes;
    for (ValueRange values : {ValueRange(launch.getArgs()), ValueRange(launch.getResults())})
      for (Value value : values) {
        args.push_back(pointer[value]);
        bytes.push_back(nn::typeOf(value).getBytes());
      }
    int64_t all = callRecordOf(launch).getTasks();
    Value tasks = host.number(all);
    if (Value count = launch.getCount()) {
      // A kernel reads the count itself; tiles of attention are in the order of the rows.
      if (callRecordOf(launch).getCategory() == rt::Category::Attention)
        tasks = portion(all, launch.getResult(0), count);
      else
        args.push_back(pointer[count]);
    }
    calls.launch(rank, factsOf(launch, launch.getKernel()), launch.getKernel(), args, bytes,
                 launch.getArgs().size(), tasks,
                 launch->hasAttr(sched::kRepeats) ? layers : Value());
  }

  /// A value has `all` equal parts: how many of them hold the first `count` elements of its first
  /// dimension. The host cannot read the memory of a device, so there all of them are computed.
  Value portion(int64_t all, Value value, Value count) {
    if (calls.onDevice())
      return host.number(all);
    int64_t bound = nn::typeOf(value).getDims().front().getSize();
    return host.multiplyAdd(host.number(0), host.load(host.i64, pointer[count]), all / bound);
  }

  void emit(rt::MatmulOp matmul) {
    Value a = matmul.getLhs(), b = matmul.getRhs(), c = matmul.getResult();
    rt::Gemm gemm = *rt::matchGemm(nn::typeOf(a), nn::typeOf(b), nn::typeOf(c));
    if (gemm.swapped)
      std::swap(a, b);
    Record<tp_gemm> fields = {.m = gemm.m,
                              .n = gemm.n,
                              .k = gemm.k,
                              .lda = gemm.lda,
                              .ldb = gemm.ldb,
                              .ldc = gemm.ldc,
                              .batch = gemm.batch,
                              .stride_a = gemm.strideA,
                              .stride_b = gemm.strideB,
                              .stride_c = gemm.strideC,
                              .trans_a = gemm.transA,
                              .trans_b = gemm.transB,
                              .accumulate = bool(matmul.getAcc()),
                              .in = runtimeType(nn::typeOf(a).getElementType()),
                              .out = runtimeType(nn::typeOf(c).getElementType()),
                              .tf32 = tf32 && nn::typeOf(a).getElementType().isF32(),
                              .bias = bool(matmul.getBias()),
                              .chunks = static_cast<int32_t>(matmul.getChunks().value_or(0)),
                              .is_part = matmul.getPart()};
    Value rows = matmul.getCount() ? portion(gemm.batch * gemm.m, c, matmul.getCount())
                                   : host.number(gemm.batch * gemm.m);
    if (matmul.getLhsScale())
      return emitScaled(matmul, gemm, fields, rows);
    Value bias = matmul.getBias() ? pointer[matmul.getBias()] : host.null();
    calls.matmul(rank, factsOf(matmul, "matmul"), fields, pointer[a], pointer[b], bias, pointer[c],
                 rows);
  }

  /// A forward GEMM whose operands have one scale each, as Transformer Engine has it. A GEMM of a
  /// gradient reads that in E5M2, and is added up in f32.
  static bool isFast(ArrayRef<Value> operands, ArrayRef<rt::ScaleMode> modes) {
    return llvm::all_of(
               operands,
               [](Value v) { return isa<Float8E4M3FNType>(nn::typeOf(v).getElementType()); }) &&
           llvm::all_of(modes, [](rt::ScaleMode mode) { return mode == rt::ScaleMode::Tensor; });
  }

  void emitScaled(rt::MatmulOp matmul, const rt::Gemm &gemm, const Record<tp_gemm> &fields,
                  Value rows) {
    std::pair a(matmul.getLhs(), matmul.getLhsScale()), b(matmul.getRhs(), matmul.getRhsScale());
    if (gemm.swapped)
      std::swap(a, b);
    nn::Tensor result = nn::typeOf(matmul.getResult());
    auto grid = [&](auto operand) {
      return *rt::matchScale(nn::typeOf(operand.first), nn::typeOf(operand.second), result);
    };
    rt::ScaleGrid ofA = grid(a), ofB = grid(b);
    auto [modeA, modeB] = rt::scaleModesOf(gemm, ofA, ofB);
    Record<tp_scales> scales = {.type_b = runtimeType(nn::typeOf(b.first).getElementType()),
                                .mode_a = static_cast<int32_t>(modeA),
                                .mode_b = static_cast<int32_t>(modeB),
                                .fast_accumulation = isFast({a.first, b.first}, {modeA, modeB}),
                                .folded = matmul.getFolded(),
                                .panel = ofA.panel,
                                .a_block = ofA.block,
                                .a_stride = ofA.stride,
                                .a_panel = ofA.panelStride,
                                .b_block = ofB.block,
                                .b_stride = ofB.stride,
                                .b_panel = ofB.panelStride};
    calls.scaledMatmul(rank, factsOf(matmul, "matmul"), fields, scales,
                       {pointer[a.first], pointer[b.first], pointer[a.second], pointer[b.second],
                        pointer[matmul.getResult()]},
                       rows);
  }

  void emit(rt::AttentionOp op) {
    rt::LibraryAttention it = op.getShape();
    nn::AttentionAttr spec = op.getSpec();
    SmallVector<Value> pointers;
    SmallVector<int64_t> strides;
    StringRef width = nn::typeOf(op.getArgs()[0]).getDims().back().getName();
    for (ValueRange values : {ValueRange(op.getArgs()), ValueRange(op.getResults())})
      for (Value value : values) {
        bool ofKeys = tp_attention_of_keys(pointers.size());
        rt::AttentionStrides each =
            *rt::stridesOf(nn::typeOf(value), ofKeys ? spec.getKey() : spec.getQuery(),
                           ofKeys ? spec.getGroups() : spec.getHeads(), width);
        llvm::append_values(strides, each.batch, each.head, each.row);
        pointers.push_back(pointer[value]);
      }
    Record<tp_attention> fields = {.pass = op.getPass(),
                                   .type =
                                       runtimeType(nn::typeOf(op.getArgs()[0]).getElementType()),
                                   .batch = it.batch,
                                   .heads = it.heads,
                                   .groups = it.groups,
                                   .queries = it.queries,
                                   .keys = it.keys,
                                   .width = it.width,
                                   .batch_chunk = it.batchChunk,
                                   .group_chunk = it.groupChunk,
                                   .causal = it.causal,
                                   .window = it.window,
                                   .scale = spec.getScale().getValueAsDouble(),
                                   .workspace = op.getWorkspace(),
                                   .strides = host.numbers("strides", strides)};
    bool forward = op.getPass() == rt::AttentionPass::Forward;
    calls.attend(rank, factsOf(op, forward ? "attention" : "attention backward"), fields, pointers);
  }

  void emit(rt::CopyOp copy) {
    calls.copy(rank, factsOf(copy, "copy"), pointer[copy.getResult()], pointer[copy.getX()],
               nn::typeOf(copy.getX()).getBytes());
  }

  void emit(rt::AuditOp op) {
    nn::Tensor x = nn::typeOf(op.getX());
    SmallVector<int64_t> shape, whole;
    SmallVector<int32_t> axes;
    for (auto [i, dim] : llvm::enumerate(x.getDims())) {
      shape.push_back(dim.getSize());
      whole.push_back(op.getWhole() ? (*op.getWhole())[i] : dim.getSize());
      axes.push_back(
          op.getAxes() ? groups.numberOf(dist::axesOf(cast<ArrayAttr>((*op.getAxes())[i]))) : -1);
    }
    SmallVector<Value> numbers;
    for (Value number : {op.getLayer(), op.getStep(), op.getOffset()})
      numbers.push_back(number ? pointer[number] : host.null());
    calls.audit(rank, factsOf(op, "audit"),
                {.what = op.getWhat(),
                 .shape = host.numbers("shape", shape),
                 .whole = host.numbers("whole", whole),
                 .dim_groups = host.numbers("groups", axes),
                 .rank = x.getRank(),
                 .type = runtimeType(x.getElementType()),
                 .along = op.getAlong() ? x.find(*op.getAlong()) : -1,
                 .unused = 0},
                pointer[op.getX()], pointer[op.getResult()], numbers);
  }

  Record<tp_collective> recordOf(rt::CollectiveOp op) {
    auto sources = op.getSources();
    return collectiveOf(host, groups.numberOf(dist::axesOf(op.getAxes())),
                        dist::factsOf(op.getKind()).runtime,
                        op.getReduction() == nn::ReduceKind::max ? TP_MAX : TP_SUM,
                        nn::typeOf(op.getX()).getElementType(), op.getShape(),
                        sources ? *sources : ArrayRef<int32_t>());
  }

  /// Issues the bucket. Its bytes are those of all, its place the first's.
  void issue() {
    if (bucket.empty())
      return;
    std::vector<CollectiveCall> all;
    int64_t bytes = 0;
    for (rt::CollectiveOp op : bucket) {
      all.push_back({recordOf(op), pointer[op.getX()], pointer[op.getResult()]});
      bytes += callRecordOf(op).getBytes();
    }
    rt::CollectiveOp first = bucket.front();
    sched::Turn turn = sched::Turn::of(first);
    calls.collectives(rank, turn,
                      {dist::stringifyCollectiveKind(first.getKind()), first.getLoc(),
                       TP_COLLECTIVE, 0, bytes, turn.stream},
                      all, /*waits=*/!first.getEvent(), home);
    bucket.clear();
  }

  void emit(rt::SliceOp op) {
    Record<tp_collective> what =
        collectiveOf(host, groups.numberOf(dist::axesOf(op.getAxes())), TP_SLICE, TP_SUM,
                     nn::typeOf(op.getX()).getElementType(), op.getShape());
    calls.slice(rank, factsOf(op, "slice"), what, pointer[op.getX()], pointer[op.getResult()]);
  }

  void emit(rt::PlaceOp op) {
    int64_t bytes = nn::typeOf(op.getX()).getBytes();
    calls.copy(rank, factsOf(op, "place"), blockOf(pointer[op.getResult()], op.getAxes(), bytes),
               pointer[op.getX()], bytes);
  }
};
} // namespace

void lower::lowerFunction(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                          rt::FuncOp func) {
  host.loc = func.getLoc();
  FunctionLowering(host, groups, calls, func).lower(codeSymbol(func));
}

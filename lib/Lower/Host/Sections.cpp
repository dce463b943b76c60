//===- Host/Sections.cpp - code of the sections of a program ---------------===//
#include "lib/Lower/Host/Sections.h"
#include "lib/Lower/Host/Functions.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

void HostSections::emitPeriod(sched::RunOp run, const SectionContext &context, Value period) {
  SectionContext inside = context;
  inside.period = period;
  for (Operation &op : run.getBody().front())
    emitStep(&op, inside);
}

void HostSections::emit(Operation *op, const SectionContext &context, Value times) {
  auto run = dyn_cast<sched::RunOp>(op);
  if (!run)
    return emitStep(op, context);
  host.loc = run.getLoc();
  SectionContext inside = context;
  auto period = [&](Value number) { emitPeriod(run, inside, number); };
  if (times) {
    inside.lastPeriod = LLVM::SubOp::create(host.b, host.loc, times, host.number(1));
    host.loop(times, period, run.getDescending());
  } else {
    inside.times = run.getTimes();
    host.loop(inside.times, period, run.getDescending());
  }
}

void HostSections::emitStep(Operation *op, const SectionContext &context) {
  host.loc = op->getLoc();
  llvm::TypeSwitch<Operation *>(op)
      .Case<sched::CallOp, sched::ZeroOp, sched::UnpackOp, sched::CopyOp, sched::AllReduceOp,
            sched::LaunchOp, sched::AwaitOp>([&](auto step) { emit(step, context); })
      .Case<sched::SendOp, sched::ReceiveOp>(
          [&](auto message) { emitMessage(cast<sched::Step>(op), context); })
      .Case<sched::ReadyOp>([&](auto) { host.call("tp_gradients_ready", {context.rank}); })
      .Default([](Operation *other) {
        llvm::reportFatalInternalError("no host code is known for " +
                                       other->getName().getStringRef());
      });
}

/// Calls the function of a layer with every pointer that it takes.
void HostSections::emit(sched::CallOp call, const SectionContext &context) {
  rt::FuncOp func = call.getFunction();
  Value table = host.pointers(tableSize(func));
  SmallVector<sched::Use> uses = call.getUses();
  unsigned frame = call.getFrame() ? uses.size() - 1 : uses.size();
  unsigned values = frame - call.getStarted();
  for (unsigned i = 0; i < values; ++i) // arguments, then results that update none
    host.storePointer(places.at(uses[i], context), table, i);
  Value event = call.getStarted() ? places.at(uses[values], context) : Value();
  // With tables each use has its own place in them.
  bool hasFrame =
      frame < uses.size() && (context.tables || sched::valueOf(uses[frame].value).getBytes());
  host.storePointer(hasFrame ? places.at(uses[frame], context) : context.arena, table,
                    tableIndexOfFrame(func));
  if (repeats(func))
    host.store(host.number(call.getLayers()), host.offset(table, 8 * tableIndexOfLayers(func)));
  sched::Turn turn = sched::Turn::of(call);
  if (event)
    calls.follow(context.rank, 0, turn.stream, turn.before);
  host.call(codeSymbol(func), {context.rank, table});
  if (event)
    calls.signal(context.rank, turn.stream, event);
}

void HostSections::emit(sched::AwaitOp await, const SectionContext &context) {
  for (const sched::Use &use : await.getUses())
    calls.await(context.rank, places.at(use, context));
}

void HostSections::emit(sched::ZeroOp zero, const SectionContext &context) {
  sched::Use use = zero.getUses().front();
  int64_t bytes = sched::valueOf(use.value).getBytes();
  calls.zero(context.rank, {"zero", zero.getLoc(), TP_COPY, 0, bytes}, places.at(use, context),
             bytes);
}

/// Rows in memory are longer than the value's rows, by the largest shift.
void HostSections::emit(sched::UnpackOp unpack, const SectionContext &context) {
  SmallVector<sched::Use> uses = unpack.getUses();
  sched::RowsAttr rows = *sched::valueOf(uses[0].value).getRows();
  nn::Tensor type = sched::valueOf(uses[1].value).getTensor();
  int64_t element = nn::elementBytes(type.getElementType());
  int64_t bytes = type.getDims().back().getSize() * element, rowBytes = rows.getLength() * element;
  int64_t shift = unpack.getShift();
  Value from = places.at(uses[0], context);
  Value microbatch = places.shifted(context, uses[0]).microbatch;
  from = host.offset(
      from, host.multiplyAdd(host.number(shift * element), microbatch, rows.getRows() * rowBytes));
  Value to = places.at(uses[1], context);
  CallFacts call{"input", unpack.getLoc(), TP_COPY, 0, 2 * bytes};
  host.loop(rows.getRows(), [&](Value row) {
    calls.copy(context.rank, call, host.offset(to, host.multiplyAdd(host.number(0), row, bytes)),
               host.offset(from, host.multiplyAdd(host.number(0), row, rowBytes)), bytes);
  });
}

void HostSections::emit(sched::CopyOp copy, const SectionContext &context) {
  SmallVector<sched::Use> uses = copy.getUses();
  int64_t bytes = sched::valueOf(uses[0].value).getBytes();
  Value from = places.at(uses[0], context), to = places.at(uses[1], context);
  calls.copy(context.rank, {"number of the microbatch", copy.getLoc(), TP_COPY, 0, 2 * bytes}, to,
             from, bytes);
}

/// Every number is an f64.
void HostSections::emit(sched::AllReduceOp sum, const SectionContext &context) {
  SmallVector<sched::Use> uses = sum.getUses();
  dist::Axes axes = dist::axesOf(sum.getAxes());
  rt::BlockShape one;
  one.whole = 1;
  Record<tp_collective> what =
      collectiveOf(host, groups.numberOf(axes), TP_ALL_REDUCE, TP_SUM, host.f64, one);
  int64_t count = sum.getReads();
  std::vector<Record<tp_collective>> all(count, what);
  SmallVector<Value> pointers(2 * count);
  for (auto [i, use] : llvm::enumerate(uses)) { // each number, then each sum
    int64_t number = static_cast<int64_t>(i) % count;
    pointers[2 * number + (static_cast<int64_t>(i) >= count)] = places.at(use, context);
  }
  std::string title = sum.getTitle();
  CallFacts call{title, sum.getLoc(), TP_COLLECTIVE};
  sched::Turn turn = sched::Turn::of(sum);
  call.stream = turn.stream;
  call.bytes =
      count * rt::bytesSent(dist::CollectiveKind::AllReduce, one, 8, groups.mesh.sizeOf(axes));
  calls.collectives(context.rank, turn, calls.address(call),
                    host.address(host.table<tp_collective>("collectives", all)), pointers,
                    /*waits=*/true);
}

MessageConstants HostSections::constantsOf(sched::Step message) {
  bool sends = isa<sched::SendOp>(message.getOperation());
  sched::Resource channel = message.getResource();
  StringAttr axis = groups.mesh.getStages();
  int64_t group = groups.channel(axis, channel.ends), bytes = 0;
  std::vector<Record<tp_collective>> records;
  for (const sched::Use &use : sched::partsOf(message)) {
    sched::ValueOp value = sched::valueOf(use.value);
    Type element = value.getTensor().getElementType();
    rt::BlockShape shape;
    shape.inner = static_cast<int64_t>(value.getBytes()) / nn::elementBytes(element);
    records.push_back(collectiveOf(host, group, TP_MESSAGE, TP_SUM, element, shape));
    bytes += value.getBytes();
  }
  std::string title = message.getTitle();
  CallFacts call{title, message->getLoc(), TP_COLLECTIVE};
  call.bytes = sends ? bytes : 0;
  call.stream = sched::Turn::of(message).stream;
  return {calls.constantOf(call), host.table<tp_collective>("collectives", records)};
}

/// The values of a message together, each as it lies in memory. How they lie at the other end does
/// not matter here. Nobody waits for what is started.
void HostSections::emitMessage(sched::Step message, const SectionContext &context) {
  Value call, all;
  MessageConstants constants = constantsOf(message);
  if (context.tables) {
    call = places.pointer(*context.tables);
    all = places.pointer(*context.tables);
  } else {
    call = host.address(constants.call);
    all = host.address(constants.all);
  }
  SmallVector<Value> pointers;
  for (const sched::Use &use : sched::partsOf(message)) {
    Value place = places.at(use, context);
    pointers.append({place, place});
  }
  std::optional<sched::Use> signal = message.getSignal();
  Value event = signal ? places.at(*signal, context) : Value();
  calls.collectives(context.rank, sched::Turn::of(message), call, all, pointers, /*waits=*/!event,
                    /*home=*/0, event);
}

/// A kernel on single numbers.
void HostSections::emit(sched::LaunchOp launch, const SectionContext &context) {
  SmallVector<Value> args;
  SmallVector<int64_t> bytes;
  for (const sched::Use &use : launch.getUses()) {
    args.push_back(places.at(use, context));
    bytes.push_back(sched::valueOf(use.value).getBytes());
  }
  CallFacts call{launch.getKernel(), launch.getLoc(), TP_KERNEL};
  call.bytes = std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
  calls.launch(context.rank, call, launch.getKernel(), args, bytes, launch.getReads(),
               host.number(1));
}

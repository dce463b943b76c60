//===- OrderStreams.cpp - order-streams: a stream for each call, and events ---===//
//
// On a device the calls of a function are issued in order, and run at once where they are in
// different streams: kernels and library calls in stream 0, the collectives of each group and the
// messages of each channel in a stream of their own. Where a call needs what another stream makes,
// an event is recorded there, and the call waits for it.
//
// One decision: this comes after all that moves a byte or a call, and reads places, not values.
// What `memory` lets share bytes never runs at the same time, so a collective runs beside other
// work as far as memory allows, and no choice made here can change a byte of it.
//
// A function begins when stream 0 has reached it, and at its end stream 0 waits for all others: so
// functions need not know each other. A sum or message between functions begins and ends likewise.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Memory/Memory.h"
#include "llvm/ADT/STLExtras.h"

namespace tplan::memory {
#define GEN_PASS_DEF_ORDERSTREAMSPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;

namespace {

/// A piece of a function's memory: bytes of the frame, or all of an argument or result.
struct Piece {
  sched::PlaceKind kind;
  int64_t n, bytes;
  bool overlaps(const Piece &other) const {
    if (kind != other.kind)
      return false;
    if (kind != sched::PlaceKind::Frame)
      return n == other.n;
    return n < other.n + other.bytes && other.n < n + bytes;
  }
};

/// A call with what it touches. The first stands for all that came before the function.
struct Node {
  Operation *op = nullptr;
  int64_t stream = 0;
  SmallVector<Piece> reads, writes;
  SmallVector<int64_t> before; // by stream: the last node of it that is known to be done, or -1
};

/// What the streams 1, 2, ... are for, in the order in which they are asked for.
class Streams {
public:
  std::vector<sched::StreamAttr> all;

  /// The stream of a group; of a channel, if the ends are unlike.
  int64_t of(ArrayAttr axes, int64_t from = 0, int64_t to = 0) {
    auto stream = sched::StreamAttr::get(axes.getContext(), axes, from, to);
    auto found = llvm::find(all, stream);
    if (found == all.end())
      found = all.insert(all.end(), stream);
    return 1 + (found - all.begin());
  }
  int64_t of(const sched::Resource &resource, sched::ProgramOp program) {
    int64_t here = program.getRank().value_or(0);
    auto [from, to] = resource.ends;
    return from == to ? of(resource.axes) : of(resource.axes, from - here, to - here);
  }
};

class FunctionOrder {
public:
  FunctionOrder(rt::FuncOp func, Streams &streams, int64_t &events)
      : func(func), streams(streams), events(events), b(func.getContext()) {}
  void run();

private:
  rt::FuncOp func;
  Streams &streams;
  int64_t &events;
  Builder b;
  std::vector<Node> nodes;
  std::vector<int64_t> eventOf;            // the event of each node; -1: none
  SmallVector<SmallVector<int64_t>> clock; // by stream: the nodes that its next call follows

  Piece pieceOf(Value value);
  Node nodeOf(Operation *op);
  bool conflicts(const Node &a, const Node &b) const;
  SmallVector<int64_t> waitsOf(const Node &node, bool forAll);
  void grow(int64_t stream);
  void write();
};

} // namespace

Piece FunctionOrder::pieceOf(Value value) {
  int64_t bytes = cast<nn::Tensor>(value.getType()).getBytes();
  if (auto arg = dyn_cast<BlockArgument>(value))
    return {sched::PlaceKind::Arg, arg.getArgNumber(), bytes};
  sched::PlaceAttr place = sched::placeOf(cast<OpResult>(value));
  return {place.getKind(), place.getN(), bytes};
}

Node FunctionOrder::nodeOf(Operation *op) {
  auto collective = dyn_cast<rt::CollectiveOp>(op);
  Node node{op, collective ? streams.of(collective.getAxes()) : 0, {}, {}, {}};
  for (Value operand : op->getOperands())
    node.reads.push_back(pieceOf(operand));
  for (Value result : op->getResults())
    node.writes.push_back(pieceOf(result));
  return node;
}

/// Whether one writes what the other touches.
bool FunctionOrder::conflicts(const Node &a, const Node &b) const {
  if (!a.op)
    return true;
  auto touch = [](ArrayRef<Piece> xs, ArrayRef<Piece> ys) {
    return llvm::any_of(xs, [&](const Piece &x) {
      return llvm::any_of(ys, [&](const Piece &y) { return x.overlaps(y); });
    });
  };
  return touch(a.writes, b.reads) || touch(a.writes, b.writes) || touch(a.reads, b.writes);
}

void FunctionOrder::grow(int64_t stream) {
  if (stream >= static_cast<int64_t>(clock.size()))
    clock.resize(stream + 1);
  for (SmallVector<int64_t> &known : clock)
    known.resize(clock.size(), -1);
}

/// Nodes of other streams that a call waits for: in each stream the last one that it needs, unless
/// it follows that anyway. From here on its stream follows them.
SmallVector<int64_t> FunctionOrder::waitsOf(const Node &node, bool forAll) {
  grow(node.stream);
  SmallVector<int64_t> waits;
  SmallVector<int64_t> &known = clock[node.stream];
  for (int64_t i = static_cast<int64_t>(nodes.size()) - 1; i >= 0; --i) {
    const Node &other = nodes[i];
    if (other.stream == node.stream || known[other.stream] >= i)
      continue;
    if (!forAll && !conflicts(other, node))
      continue;
    waits.push_back(i);
    known[other.stream] = i;
    for (auto [mine, its] : llvm::zip(known, other.before))
      mine = std::max(mine, its);
  }
  return waits;
}

void FunctionOrder::run() {
  nodes.push_back({});
  grow(0);
  clock[0][0] = 0;
  eventOf.push_back(-1);
  auto markWaits = [&](Operation *op, ArrayRef<int64_t> waits) {
    SmallVector<int64_t> numbers;
    for (int64_t node : waits) {
      if (eventOf[node] < 0)
        eventOf[node] = events++;
      numbers.push_back(eventOf[node]);
    }
    if (!numbers.empty())
      op->setAttr(sched::kWaits, b.getDenseI64ArrayAttr(numbers));
  };
  for (Operation &op : func.getBlock().without_terminator()) {
    if (sched::movesNoByte(&op))
      continue;
    Node node = nodeOf(&op);
    markWaits(&op, waitsOf(node, /*forAll=*/false));
    clock[node.stream][node.stream] = nodes.size();
    node.before = clock[node.stream];
    nodes.push_back(std::move(node));
    eventOf.push_back(-1);
  }
  markWaits(func.getReturn(), waitsOf({}, /*forAll=*/true));
  write();
}

void FunctionOrder::write() {
  for (auto [node, event] : llvm::zip(nodes, eventOf)) {
    if (node.stream)
      node.op->setAttr(sched::kStream, b.getI64IntegerAttr(node.stream));
    if (event >= 0)
      (node.op ? node.op : func)->setAttr(sched::kEvent, b.getI64IntegerAttr(event));
  }
}

namespace {
struct OrderStreamsPass : tplan::memory::impl::OrderStreamsPassBase<OrderStreamsPass> {
  void runOnOperation() final {
    Streams streams;
    int64_t events = 0;
    for (auto func : getOperation().getOps<rt::FuncOp>())
      FunctionOrder(func, streams, events).run();
    Builder b(&getContext());
    getOperation().walk([&](sched::Step step) {
      sched::Resource resource = step.getResource();
      if (!resource.axes)
        return;
      int64_t stream = streams.of(resource, step->getParentOfType<sched::ProgramOp>());
      step->setAttr(sched::kStream, b.getI64IntegerAttr(stream));
      step->setAttr(sched::kTurn, b.getDenseI64ArrayAttr({events, events + 1}));
      events += 2;
    });
    SmallVector<Attribute> all(streams.all.begin(), streams.all.end());
    getOperation()->setAttr(sched::kStreams, b.getArrayAttr(all));
    getOperation()->setAttr(sched::kEvents, b.getI64IntegerAttr(events));
  }
};
} // namespace

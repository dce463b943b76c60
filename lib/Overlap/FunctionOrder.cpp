//===- FunctionOrder.cpp - the calls of a function, in time -----------------===//
#include "lib/Overlap/FunctionOrder.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;

/// A collective of less than so many times the latency of its group is issued with others.
static constexpr double kShort = 4;

FunctionOrder::FunctionOrder(rt::FuncOp func, const cost::Prices &prices, MayFly mayFly,
                             IsLeftOut isLeftOut)
    : func(func) {
  for (Operation &op : func.getBlock().without_terminator()) {
    bool isHere = !isLeftOut(&op);
    auto collective = isHere ? dyn_cast<rt::CollectiveOp>(op) : rt::CollectiveOp();
    auto call = isHere ? dyn_cast<rt::Call>(op) : rt::Call();
    number[&op] = calls.size();
    double seconds = call && !sched::movesNoByte(&op) ? prices.secondsOf(call) : 0;
    bool isShort = collective && seconds < kShort * prices.secondsOf(collective, 0);
    double memory = call && !collective ? prices.memoryOf(call) : 0;
    cost::Load load = collective ? prices.loadOf(collective) : cost::Load();
    load.seconds = seconds;
    calls.push_back(
        {&op, seconds, memory, load, isShort, collective && mayFly(collective), {}, 0, {}});
  }
  findNeeds();
}

double FunctionOrder::secondsBefore() const {
  double seconds = 0;
  for (const Call &call : calls)
    seconds += call.seconds;
  return seconds;
}

double FunctionOrder::seconds() {
  return fliesAny() ? std::min(secondsBefore(), schedule()) : secondsBefore();
}

void FunctionOrder::apply(std::optional<int64_t> spare) {
  if (!fliesAny())
    return;
  if (spare)
    most = peakBefore + *spare;
  if (schedule() > secondsBefore() * (1 - kLeastGain) || peakOf(order) > most)
    return;
  Operation *end = func.getReturn();
  for (size_t i : order)
    calls[i].op->moveBefore(end);
  startAll();
}

/// A call needs what it reads, and that whoever reads the memory which it takes over has read it.
void FunctionOrder::findNeeds() {
  firstReader.assign(calls.size(), calls.size());
  for (auto [i, call] : llvm::enumerate(calls)) {
    llvm::SmallSetVector<size_t, 8> needs;
    for (Value operand : call.op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        needs.insert(number.at(def));
    for (size_t need : needs) {
      firstReader[need] = std::min(firstReader[need], i);
      calls[need].until.push_back(i);
    }
    for (Value result : call.op->getResults())
      if (!sched::movesNoByte(call.op) &&
          llvm::none_of(result.getUsers(), llvm::IsaPred<rt::ReturnOp, rt::PlaceOp>))
        call.bytes += nn::bytesOf(result);
    auto asCall = dyn_cast<rt::Call>(call.op);
    for (unsigned r = 0, e = asCall ? call.op->getNumResults() : 0; r < e; ++r)
      if (int64_t alias = asCall.getAlias(r); alias >= 0)
        for (Operation *reader : call.op->getOperand(alias).getUsers())
          if (auto at = number.find(reader); at != number.end() && at->second < i)
            needs.insert(at->second);
    call.needs = needs.takeVector();
  }
  urgency.assign(calls.size(), 0);
  untilNext.assign(calls.size(), std::numeric_limits<double>::infinity());
  for (size_t i = calls.size(); i-- > 0;) {
    urgency[i] += calls[i].seconds;
    double until = calls[i].mayFly ? 0 : untilNext[i] += calls[i].seconds;
    for (size_t need : calls[i].needs) {
      urgency[need] = std::max(urgency[need], urgency[i]);
      untilNext[need] = std::min(untilNext[need], until);
    }
  }
  peakBefore = peakOf(llvm::to_vector(llvm::seq<size_t>(0, calls.size())));
  // What a started call reads is held until its own result is read, and so is what another value
  // is a part of, or the memory of. Later calls first.
  for (Call &call : llvm::reverse(calls)) {
    llvm::SmallSetVector<size_t, 8> all(call.until.begin(), call.until.end());
    for (size_t reader : call.until)
      if (calls[reader].mayFly || sched::movesNoByte(calls[reader].op))
        all.insert(calls[reader].until.begin(), calls[reader].until.end());
    call.until = all.takeVector();
  }
}

/// Bytes that the frame holds while calls are issued.
class FunctionOrder::Frame {
public:
  explicit Frame(ArrayRef<Call> calls)
      : calls(calls), readersLeft(calls.size()), read(calls.size()) {
    for (auto [i, call] : llvm::enumerate(calls)) {
      readersLeft[i] = call.until.size();
      for (size_t reader : call.until)
        read[reader].push_back(i);
    }
  }
  int64_t with(size_t i) const { return live + calls[i].bytes; }
  void issue(size_t i) {
    live += calls[i].bytes;
    peak = std::max(peak, live);
    if (readersLeft[i] == 0)
      live -= calls[i].bytes;
    for (size_t each : read[i])
      if (--readersLeft[each] == 0)
        live -= calls[each].bytes;
  }
  int64_t peak = 0;

private:
  ArrayRef<Call> calls;
  std::vector<size_t> readersLeft;
  std::vector<SmallVector<size_t>> read; // whose results a call reads, or holds
  int64_t live = 0;
};

/// The bytes that the frame holds at most, if calls come in this order.
int64_t FunctionOrder::peakOf(ArrayRef<size_t> inOrder) const {
  Frame frame(calls);
  for (size_t i : inOrder)
    frame.issue(i);
  return frame.peak;
}

/// The best of three orders: another than the listed one must gain what it may cost in memory.
double FunctionOrder::schedule() {
  double best = schedule(Rule::Listed, order);
  for (Rule rule : {Rule::Urgent, Rule::Feeding}) {
    SmallVector<size_t> other;
    double seconds = schedule(rule, other);
    if (seconds >= best * (1 - kLeastGain))
      continue;
    best = seconds;
    order = std::move(other);
  }
  return best;
}

/// Plays the calls on the compute units and a channel for each group. Returns when all are done.
double FunctionOrder::schedule(Rule rule, SmallVector<size_t> &order) const {
  cost::Play time;
  std::vector<double> done(calls.size(),
                           -1); // when a call is complete, at best; below 0: not issued
  std::vector<std::optional<cost::Play::Job>> jobs(calls.size()); // of what was started
  auto isReady = [&](const Call &call) {
    return llvm::all_of(call.needs, [&](size_t need) { return done[need] >= 0; });
  };
  auto isComplete = [&](size_t i) { return !jobs[i] || time.isDone(*jobs[i]); };
  auto begin = [&](const Call &call) {
    double at = time.getNow();
    for (size_t need : call.needs)
      if (!isComplete(need))
        at = std::max(at, done[need]);
    return at;
  };
  Frame frame(calls);
  size_t first = 0; // that is not issued
  while (order.size() < calls.size()) {
    // What may fly and can begin goes first, by who reads it first.
    std::optional<size_t> next;
    auto rank = [&](size_t i) {
      bool flies = calls[i].mayFly && llvm::all_of(calls[i].needs, isComplete);
      double by = rule == Rule::Urgent ? -urgency[i] : rule == Rule::Feeding ? untilNext[i] : 0;
      return std::tuple(!flies, flies ? 0 : begin(calls[i]), by,
                        flies && rule == Rule::Listed ? firstReader[i] : i, i);
    };
    for (auto [i, call] : llvm::enumerate(calls))
      if (done[i] < 0 && isReady(call) && frame.with(i) <= most && (!next || rank(i) < rank(*next)))
        next = i;
    if (!next)
      next = first; // nothing fits
    const Call &call = calls[*next];
    for (size_t need : call.needs)
      if (jobs[need])
        time.await(*jobs[need]);
    if (call.load.axes.empty()) {
      time.work(cast<rt::Call>(call.op).getCategory(), call.seconds, call.memory);
      done[*next] = time.getNow();
    } else {
      jobs[*next] = time.start(call.load, call.op);
      done[*next] = time.earliestEnd(*jobs[*next]);
      if (!call.mayFly)
        time.await(*jobs[*next]);
    }
    frame.issue(*next);
    order.push_back(*next);
    while (first < calls.size() && done[first] >= 0)
      ++first;
  }
  time.finish();
  return time.getNow();
}

rt::CollectiveOp FunctionOrder::start(rt::CollectiveOp op) {
  OpBuilder b(op);
  auto started = rt::CollectiveOp::create(
      b, op.getLoc(), TypeRange{op.getResult().getType(), rt::EventType::get(b.getContext())},
      ValueRange(op.getX()), op->getAttrs());
  op.getResult().replaceAllUsesWith(started.getResult());
  op.erase();
  return started;
}

/// Starts each collective that another call follows before the first one that reads it. Short ones
/// that follow each other are awaited together, where the first of them is.
void FunctionOrder::startAll() {
  llvm::MapVector<Operation *, SmallVector<rt::CollectiveOp>> readers; // by the first reader
  Operation *last = nullptr, *readerOfLast = nullptr; // a short one, and the reader of its bucket
  for (size_t i : order) {
    if (!calls[i].mayFly)
      continue;
    auto op = cast<rt::CollectiveOp>(calls[i].op);
    Operation *reader = func.getReturn();
    for (Operation *user : op.getResult().getUsers())
      if (user->isBeforeInBlock(reader))
        reader = user;
    bool hides = false;
    for (Operation *other = op->getNextNode(); other != reader; other = other->getNextNode()) {
      auto at = number.find(other);
      hides |= at != number.end() && !calls[at->second].mayFly && calls[at->second].seconds > 0;
    }
    if (!hides)
      continue;
    bool joins = calls[i].isShort && last && last->getNextNode() == op &&
                 cast<rt::CollectiveOp>(last).getAxes() == op.getAxes();
    if (joins && readerOfLast->isBeforeInBlock(reader))
      reader = readerOfLast;
    if (joins && reader != readerOfLast) {
      SmallVector<rt::CollectiveOp> all = std::move(readers[readerOfLast]);
      readers[reader].append(all);
      readers.erase(readerOfLast);
    }
    readers[reader].push_back(op);
    last = calls[i].isShort ? op.getOperation() : nullptr;
    readerOfLast = reader;
  }
  // All awaits first, because a reader may itself be started.
  SmallVector<rt::AwaitOp> awaits;
  for (auto &[reader, ops] : readers) {
    OpBuilder b(reader);
    awaits.push_back(rt::AwaitOp::create(b, ops.front().getLoc(), ValueRange()));
  }
  for (auto [await, entry] : llvm::zip(awaits, readers)) {
    SmallVector<Value> events;
    for (rt::CollectiveOp op : entry.second)
      events.push_back(start(op).getEvent());
    await.getEventsMutable().assign(events);
  }
}

//===- Liveness.cpp - what is in memory at each point of a program --------===//
#include "lib/Memory/Liveness.h"
#include "lib/Schedule/Families.h"
#include "lib/Schedule/Keys.h"
#include <algorithm>

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using namespace tplan::schedule;
using nn::Role;
using sched::Owner;
using sched::TaskKind;

Liveness::Liveness(sched::ProgramOp program, const Chain &train, const Chain *counts)
    : program(program), train(train), split(program.isSplit()) {
  for (const Run &run : train.runs)
    addPoint(train, run, Part::Prepare);
  if (counts)
    addChainPass(*counts);
  addTaskPoints();
  addFamilies();
  for (Part part : nn::kEndOfStepParts)
    for (const Run &run : train.runs)
      addPoint(train, run, part);
  addChainPass(train);
  sweep();
}

size_t Liveness::addBlock(Piece block) {
  auto [it, added] = byKey.try_emplace(block.key, blocks.size());
  if (added)
    blocks.push_back(std::move(block));
  return it->second;
}

//===----------------------------------------------------------------------===//
// Points, and what lives at one of them only
//===----------------------------------------------------------------------===//

/// Buffers that carried value k needs between the layers of a run in this part: a
/// value that has no place in a family goes to the buffer of its layer's parity.
static int64_t handoverBuffers(bool split, const Run &run, Part part, unsigned k) {
  bool forward = nn::isForward(part);
  if (!forward && !nn::factsOf(part).givesInputCotangents)
    return 0; // hands nothing on
  auto kept = [&](const Callee &callee) {
    if (part == Part::Evaluate)
      return false;
    if (!forward)
      return split && readsCotangent(callee, Part::BackwardWeights, k);
    return readsInput(callee, split ? Part::BackwardInputs : Part::Backward, k) ||
           (split && readsInput(callee, Part::BackwardWeights, k));
  };
  // A period of even length gives each function one parity.
  int64_t n = run.callees.size(), last = std::min(run.layers() - 1, 2 * n + 1);
  bool used[2] = {false, false};
  for (int64_t i = 0; i < last; ++i) // layer i's cotangent, or layer i + 1's input
    if (!kept(run.callees[(forward ? i + 1 : i) % n]))
      used[i & 1] = true;
  return used[0] + used[1];
}

void Liveness::addTransients(const Chain &chain, const Run &run, Part part) {
  int64_t point = points.size() - 1, frame = 0, live = 0;
  for (const Callee &callee : run.callees)
    if (rt::FuncOp func = callee.part(part)) {
      if (auto bytes = func->getAttrOfType<IntegerAttr>(sched::kFrame))
        frame = std::max(frame, bytes.getInt());
      if (auto bytes = func->getAttrOfType<IntegerAttr>(sched::kLive))
        live = std::max(live, bytes.getInt());
    }
  if (frame) {
    size_t block = addBlock({frameKey(chain, run, part), Owner::Frame, frame, 1, {}});
    intervals.push_back({block, point, point, live});
  }
  bool forward = nn::isForward(part);
  nn::RunOp op = run.op;
  for (auto [k, value] : llvm::enumerate(op.getCarried()))
    if (int64_t buffers = handoverBuffers(split, run, part, k)) {
      Piece block{handoverKey(chain, run, part, k),
                  forward ? Owner::Carried : Owner::Cotangent,
                  nn::bytesOf(value.getType()),
                  buffers,
                  {}};
      int64_t total = block.total();
      intervals.push_back({addBlock(std::move(block)), point, point, total});
    }
}

int64_t Liveness::addPoint(const Chain &chain, const Run &run, Part part, int64_t stage,
                           int64_t microbatch) {
  points.push_back({&chain, &run, part, stage, microbatch});
  addTransients(chain, run, part);
  return points.size() - 1;
}

void Liveness::addTaskPoints() {
  for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i) {
    sched::Task task = program.getTask(i);
    int64_t first = points.size();
    std::vector<const Run *> runs;
    for (const Run &run : train.runs)
      if (run.stage == task.stage)
        runs.push_back(&run);
    if (task.kind != TaskKind::F)
      std::reverse(runs.begin(), runs.end());
    for (const Run *run : runs)
      addPoint(train, *run, partOf(task.kind), task.stage, task.microbatch);
    taskPoints[{static_cast<int>(task.kind), task.stage, task.microbatch}] = {
        first, static_cast<int64_t>(points.size()) - 1};
  }
}

int64_t Liveness::pointOf(TaskKind kind, int64_t stage, int64_t microbatch, unsigned run) const {
  auto [first, last] = taskPoints.at({static_cast<int>(kind), stage, microbatch});
  for (int64_t p = first; p <= last; ++p)
    if (points[p].run->index == run)
      return p;
  return first;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

namespace {
/// The runs that touch a chain value or its cotangent: with its name, the reader
/// that a task reaches last is the one that ends its life.
struct Users {
  SmallVector<unsigned> runs;
  unsigned producer = 0;
};
} // namespace

static std::map<std::string, Users> chainUsers(const Chain &chain) {
  std::map<std::string, Users> users;
  auto add = [&](Value value) {
    Users found;
    for (Reader reader : chain.readersOf(value))
      found.runs.push_back(reader.run);
    auto producer = chain.producerOf(value);
    found.producer = producer ? producer->first : found.runs.empty() ? 0 : found.runs.front();
    found.runs.push_back(found.producer);
    users[chainKey(chain, value)] = users[chainCotangentKey(chain, value)] = found;
  };
  for (nn::InputOp input : chain.inputs)
    add(input.getValue());
  for (const Run &run : chain.runs)
    for (Value result : nn::RunOp(run.op)->getResults())
      add(result);
  return users;
}

/// Slots, in all families, that are placed one by one.
static constexpr int64_t kMostSlots = 256;

/// The block of a family, or the first of its slots' blocks.
size_t Liveness::addFamily(sched::FamilyOp family, bool apart) {
  sched::ValueOp value = *family.getBody().getOps<sched::ValueOp>().begin();
  Piece piece{family.getName().str(), value.getOwner(), static_cast<int64_t>(family.getBytes()),
              static_cast<int64_t>(family.getSlots()), family};
  if (apart)
    piece.count = 1, piece.slot = 0;
  size_t first = addBlock(piece);
  for (piece.slot = 1; apart && piece.slot < static_cast<int64_t>(family.getSlots()); ++piece.slot)
    blocks.push_back(piece);
  return first;
}

/// A family of residuals lives from the first point of its producer to the last
/// of its reader; a value of the chain from the run that makes it to the last
/// that reads it.
void Liveness::addFamilies() {
  std::map<std::string, Users> users = chainUsers(train);
  int64_t slots = 0;
  for (auto family : program.getBody().getOps<sched::FamilyOp>())
    slots += family.getSlots();
  bool apart = slots <= kMostSlots;
  for (auto family : program.getBody().getOps<sched::FamilyOp>()) {
    size_t block = addFamily(family, apart);
    auto found = users.find(family.getName().str());
    int64_t producerStage = family.getProducerStage(), readerStage = family.getReaderStage();
    for (int64_t m = 0, e = program.getMicrobatches(); m < e; ++m) {
      auto [begin, ignored] =
          taskPoints.at({static_cast<int>(family.getProducer()), producerStage, m});
      int64_t end = taskPoints.at({static_cast<int>(family.getReader()), readerStage, m}).second;
      if (found != users.end()) {
        if (family.getProducer() == TaskKind::F)
          begin = pointOf(TaskKind::F, producerStage, m, found->second.producer);
        int64_t last = -1;
        for (unsigned run : found->second.runs)
          if (train.runs[run].stage == readerStage)
            last = std::max(last, pointOf(family.getReader(), readerStage, m, run));
        end = last < 0 ? end : last;
      }
      size_t mine = block + (apart ? family.getSlotOf()[m] : 0);
      intervals.push_back({mine, begin, std::max(begin, end), blocks[mine].bytes});
    }
  }
}

/// The parts `evaluate` of a chain, once: its values are those of slot 0 for @train, and
/// blocks of their own for @counts.
void Liveness::addChainPass(const Chain &chain) {
  int64_t first = points.size();
  for (const Run &run : chain.runs)
    addPoint(chain, run, Part::Evaluate);
  for (auto &[key, users] : chainUsers(chain)) {
    if (StringRef(key).ends_with(".cot"))
      continue;
    int64_t end = 0;
    for (unsigned run : users.runs)
      end = std::max<int64_t>(end, run);
    if (auto it = byKey.find(key); it != byKey.end()) {
      intervals.push_back(
          {it->second, first + users.producer, first + end, blocks[it->second].bytes});
      continue;
    }
    if (&chain == &train)
      continue;
    int64_t bytes = 0;
    for (nn::InputOp input : chain.inputs)
      if (chainKey(chain, input.getValue()) == key)
        bytes = nn::bytesOf(input.getType());
    for (const Run &run : chain.runs)
      for (Value result : nn::RunOp(run.op)->getResults())
        if (chainKey(chain, result) == key)
          bytes = nn::bytesOf(result.getType());
    size_t block = addBlock({key, Owner::Chain, bytes, 1, {}});
    intervals.push_back({block, first + users.producer, first + end, sched::alignUp(bytes)});
  }
  // Outputs stay for the runtime until the pass is over.
  int64_t last = static_cast<int64_t>(points.size()) - 1;
  for (const Run &run : chain.runs)
    for (const Callee &callee : run.callees) {
      rt::FuncOp func = callee.part(Part::Evaluate);
      for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
        if (func.getResultRole(i) == Role::Output) {
          Piece block{outputKey(func.getResultName(i)),
                      Owner::Logits,
                      nn::bytesOf(func.getResultTypes()[i]),
                      1,
                      {}};
          int64_t bytes = block.total();
          intervals.push_back({addBlock(std::move(block)), first + run.index, last, bytes});
        }
    }
}

//===----------------------------------------------------------------------===//
// Sweep
//===----------------------------------------------------------------------===//

std::string Liveness::describe(const Point &point) const {
  std::string text = (nn::stringifyPart(point.part) + " of " + point.run->title).str();
  if (point.stage >= 0)
    text += ", stage " + std::to_string(point.stage) + ", microbatch " +
            std::to_string(point.microbatch);
  nn::ChainOp chain = point.chain->op;
  if (chain.getSymName() == "counts")
    text += ", counts";
  return text;
}

void Liveness::sweep() {
  conflicts.assign(blocks.size(), llvm::BitVector(blocks.size()));
  std::vector<std::vector<size_t>> begins(points.size()), ends(points.size());
  for (auto [i, interval] : llvm::enumerate(intervals)) {
    begins[interval.begin].push_back(i);
    ends[interval.end].push_back(i);
  }
  std::vector<int64_t> live(blocks.size(), 0), users(blocks.size(), 0);
  llvm::BitVector active(blocks.size());
  int64_t sum = 0;
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t i : begins[p]) {
      const Interval &interval = intervals[i];
      live[interval.block] += interval.bytes;
      sum += interval.bytes;
      ++users[interval.block];
      active.set(interval.block);
    }
    if (!begins[p].empty())
      for (unsigned block : active.set_bits())
        conflicts[block] |= active;
    if (sum > peak) {
      peak = sum;
      peakName = describe(points[p]);
      atPeak = live;
    }
    for (size_t i : ends[p]) {
      const Interval &interval = intervals[i];
      live[interval.block] -= interval.bytes;
      sum -= interval.bytes;
      if (--users[interval.block] == 0)
        active.reset(interval.block);
    }
  }
  atPeak.resize(blocks.size(), 0);
  for (size_t i = 0; i < blocks.size(); ++i)
    conflicts[i].reset(i);
}

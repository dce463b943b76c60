//===- Families.cpp - what lives from one task to another -----------------===//
//
// One decision: a family's life is found from its possible readers and the
// order, so the same code serves every policy: the last reader is whichever
// task comes last.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Families.h"
#include "lib/Schedule/Keys.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using nn::Tensor;
using sched::Owner;

namespace {
/// A kind of task of a stage, whatever the microbatch.
struct Place {
  TaskKind kind;
  int64_t stage;
};

struct Member {
  std::string key;
  Owner owner;
  int64_t bytes, count;
};

struct Family {
  std::string name;
  Place producer;
  SmallVector<Place> readers;
  SmallVector<Member> values;
};

class FamilyBuilder {
public:
  FamilyBuilder(sched::ProgramOp program, const Chain &chain)
      : program(program), chain(chain), split(program.isSplit()),
        position(4 * program.getStages() * program.getMicrobatches(), 0) {
    for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i)
      position[indexOf(program.getTask(i))] = i;
  }

  LogicalResult addAll() {
    for (int64_t s = 0, e = program.getStages(); s < e; ++s)
      addStage(s);
    for (nn::InputOp input : chain.inputs)
      addChainValue(input.getValue());
    for (const Run &run : chain.runs)
      for (Value result : nn::RunOp(run.op)->getResults())
        addChainValue(result);
    if (!tooLarge)
      return success();
    return emitError(program.getLoc(), "a rank holds at most 16 TiB of what one task leaves to "
                                       "another; recompute or use smaller microbatches, found "
                                       "more in stage ")
           << *tooLarge;
  }

private:
  sched::ProgramOp program;
  const Chain &chain;
  bool split;
  std::vector<int64_t> position;   // in the order, by kind, stage and microbatch
  std::optional<int64_t> tooLarge; // a stage of which no rank can hold a family

  int64_t indexOf(Task task) {
    return (static_cast<int64_t>(task.kind) * program.getStages() + task.stage) *
               program.getMicrobatches() +
           task.microbatch;
  }
  /// Parts of the backward that run as tasks.
  SmallVector<std::pair<Part, TaskKind>> backwardParts() const {
    if (split)
      return {{Part::BackwardInputs, TaskKind::I}, {Part::BackwardWeights, TaskKind::W}};
    return {{Part::Backward, TaskKind::B}};
  }
  TaskKind cotangentKind() const { return split ? TaskKind::I : TaskKind::B; }

  void addStage(int64_t s);
  void addResiduals(const Run &run, Family &fi, Family &fw, Family &iw);
  void addInputs(const Run &run, Family &fi, Family &fw);
  void addCotangents(const Run &run, Family &iw);
  void addChainValue(Value value);
  void emit(const Family &family);
};
} // namespace

//===----------------------------------------------------------------------===//
// Families of a stage
//===----------------------------------------------------------------------===//

void FamilyBuilder::addResiduals(const Run &run, Family &fi, Family &fw, Family &iw) {
  for (auto [j, callee] : llvm::enumerate(run.callees))
    for (Part p : {Part::Forward, Part::BackwardInputs}) {
      rt::FuncOp func = callee.part(p);
      if (!func || (p == Part::BackwardInputs && !split))
        continue;
      for (unsigned i = 0, e = func.getNumResults(); i < e; ++i) {
        Role role = func.getResultRole(i);
        Family *family = role == Role::ResFI   ? &fi
                         : role == Role::ResFW ? &fw
                         : role == Role::ResIW ? &iw
                                               : nullptr;
        if (family)
          family->values.push_back({residualKey(run, j, role, func.getResultName(i)),
                                    Owner::Residual, nn::bytesOf(func.getResultTypes()[i]),
                                    run.times()});
      }
    }
}

/// The input of a run's first layer is a value of the chain; those of the others
/// are kept where a backward part reads them.
void FamilyBuilder::addInputs(const Run &run, Family &fi, Family &fw) {
  for (auto [j, callee] : llvm::enumerate(run.callees)) {
    int64_t count = run.times() - (j == 0);
    for (unsigned k = 0, e = nn::RunOp(run.op).getCarried().size(); k < e && count > 0; ++k) {
      bool inW = split && readsInput(callee, Part::BackwardWeights, k);
      bool inI = readsInput(callee, split ? Part::BackwardInputs : Part::Backward, k);
      if (inW || inI)
        (inW ? fw : fi)
            .values.push_back({inputKey(run, j, k), Owner::Carried,
                               nn::bytesOf(nn::RunOp(run.op).getCarried()[k].getType()), count});
    }
  }
}

/// The cotangent of a run's last result is one of the chain; those between
/// layers are kept where W reads them.
void FamilyBuilder::addCotangents(const Run &run, Family &iw) {
  for (auto [j, callee] : llvm::enumerate(run.callees)) {
    int64_t count = run.times() - (j + 1 == run.callees.size());
    for (unsigned k = 0, e = nn::RunOp(run.op)->getNumResults(); k < e && count > 0; ++k)
      if (split && readsCotangent(callee, Part::BackwardWeights, k))
        iw.values.push_back({cotangentKey(run, j, k), Owner::Cotangent,
                             nn::bytesOf(nn::RunOp(run.op)->getResult(k).getType()), count});
  }
}

void FamilyBuilder::addStage(int64_t s) {
  std::string prefix = "s" + std::to_string(s) + ".";
  TaskKind i = cotangentKind(), w = split ? TaskKind::W : TaskKind::B;
  Family fi{prefix + "fi", {TaskKind::F, s}, {{i, s}}, {}};
  Family fw{prefix + "fw", {TaskKind::F, s}, {{w, s}}, {}};
  Family iw{prefix + "iw", {i, s}, {{w, s}}, {}};
  for (const Run &run : chain.runs)
    if (run.stage == s) {
      addResiduals(run, fi, fw, iw);
      addInputs(run, fi, fw);
      addCotangents(run, iw);
    }
  for (const Family *family : {&fi, &fw, &iw})
    if (!family->values.empty())
      emit(*family);
}

//===----------------------------------------------------------------------===//
// Values of the chain
//===----------------------------------------------------------------------===//

SmallVector<Reader> schedule::cotangentWriters(const Chain &chain, Value value) {
  SmallVector<Reader> writers;
  for (Reader reader : chain.readersOf(value)) {
    const Run &run = chain.runs[reader.run];
    auto gives = [&](const Callee &callee) {
      Role role = reader.carried ? Role::CotCarried : Role::CotInvariant;
      return llvm::any_of(callee.existing(), [&](auto part) {
        return nn::factsOf(part.first).givesInputCotangents &&
               callee.gives(part.first, role, reader.number);
      });
    };
    bool writes = reader.carried ? gives(run.callees.front()) : llvm::any_of(run.callees, gives);
    if (writes)
      writers.push_back(reader);
  }
  return writers;
}

static bool producerTakesCotangent(const Chain &chain, Value value, Part p) {
  auto producer = chain.producerOf(value);
  return producer &&
         readsCotangent(chain.runs[producer->first].callees.back(), p, producer->second);
}

bool schedule::hasCotangent(const Chain &chain, Value value) {
  auto producer = chain.producerOf(value);
  return !cotangentWriters(chain, value).empty() ||
         (producer && takesCotangent(chain.runs[producer->first].callees.back(), producer->second));
}

void FamilyBuilder::addChainValue(Value value) {
  auto producer = chain.producerOf(value);
  SmallVector<Reader> readers = chain.readersOf(value);
  if (!producer && readers.empty())
    return;
  int64_t stage = chain.runs[producer ? producer->first : readers.front().run].stage;
  Family family{chainKey(chain, value), {TaskKind::F, stage}, {{TaskKind::F, stage}}, {}};
  family.values.push_back(
      {family.name, producer ? Owner::Chain : Owner::Input, nn::bytesOf(value.getType()), 1});
  for (Reader reader : readers) {
    const Run &run = chain.runs[reader.run];
    family.readers.push_back({TaskKind::F, run.stage});
    for (auto [part, kind] : backwardParts()) {
      bool reads = false;
      for (const Callee &callee : run.callees)
        reads |= reader.carried
                     ? &callee == &run.callees.front() && readsInput(callee, part, reader.number)
                     : callee.reads(part, Role::Invariant, reader.number);
      if (reads)
        family.readers.push_back({kind, run.stage});
    }
  }
  emit(family);

  if (!hasCotangent(chain, value))
    return;
  // The backward of the last reader begins the cotangent, or the producer's own.
  SmallVector<Reader> writers = cotangentWriters(chain, value);
  int64_t first = writers.empty() ? stage : chain.runs[writers.back().run].stage;
  Family cotangent{
      chainCotangentKey(chain, value), {cotangentKind(), first}, {{cotangentKind(), first}}, {}};
  cotangent.values.push_back({cotangent.name, Owner::Cotangent, nn::bytesOf(value.getType()), 1});
  for (Reader writer : writers)
    cotangent.readers.push_back({cotangentKind(), chain.runs[writer.run].stage});
  for (auto [part, kind] : backwardParts())
    if (producerTakesCotangent(chain, value, part))
      cotangent.readers.push_back({kind, stage});
  emit(cotangent);
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

void FamilyBuilder::emit(const Family &family) {
  auto at = [&](Place place, int64_t m) {
    return position[indexOf(
        {place.kind, static_cast<int32_t>(place.stage), static_cast<int32_t>(m)})];
  };
  std::vector<Lifetime> lifetimes;
  Place last = family.readers.front();
  for (int64_t m = 0, e = program.getMicrobatches(); m < e; ++m) {
    Lifetime life{at(family.producer, m), at(family.producer, m)};
    for (Place reader : family.readers) {
      if (m == 0 && at(reader, m) > life.end)
        last = reader;
      life.end = std::max(life.end, at(reader, m));
    }
    lifetimes.push_back(life);
  }
  Slots slots = countSlots(lifetimes);
  int64_t bytes = 0;
  for (const Member &value : family.values) {
    // One value is at most as much (split-microbatches); layers and slots multiply it.
    int64_t most = nn::kMostBytes / slots.count - bytes;
    if (sched::alignUp(value.bytes) > most / value.count) {
      tooLarge = family.producer.stage;
      return;
    }
    bytes += sched::alignUp(value.bytes) * value.count;
  }
  OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
  auto op = sched::FamilyOp::create(b, program.getLoc(), family.name, family.producer.kind,
                                    family.producer.stage, last.kind, last.stage, slots.count,
                                    bytes, slots.slotOf, DenseI64ArrayAttr());
  b.createBlock(&op.getBody());
  for (const Member &value : family.values)
    sched::ValueOp::create(b, program.getLoc(), value.key, value.owner, value.bytes, value.count,
                           IntegerAttr());
}

LogicalResult schedule::addFamilies(sched::ProgramOp program, const Chain &chain) {
  return FamilyBuilder(program, chain).addAll();
}

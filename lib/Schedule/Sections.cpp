//===- Sections.cpp - the ops of a section ----------------------------------===//
//
// Layer i = period * n + j of a run takes what layer i - 1 gave. At the borders of the run that is
// a value of the chain; inside, it is an array where the backward needs it again, else two buffers
// in turn. The same holds for cotangents, from the last layer to the first.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/Sections.h"
#include "lib/Schedule/ChainValues.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::Border;
using sched::KeyAttr;
using sched::Life;
using sched::Owner;
using sched::use;
using sched::Use;
using sched::ValueKind;
using sched::ValueOp;

AffineExpr SectionBuilder::number(int64_t value) {
  return getAffineConstantExpr(value, b.getContext());
}
AffineExpr SectionBuilder::period() { return sched::periodOf(b.getContext()); }

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Opens the loop of a run; its ops are to be inserted at the end of the body.
sched::RunOp SectionBuilder::openRun(const Run &run, StringRef part, bool descending) {
  auto op = sched::RunOp::create(b, run.op.getLoc(), part, run.title, run.times(), descending);
  b.createBlock(&op.getBody());
  return op;
}

/// Whether layers come from the last one to the first: so do the sums that the norm waits for, and
/// the norm of a layer is added up while ranks still sum others.
static bool goesDown(Part part) { return nn::isBackward(part) || part == Part::Norm; }

void SectionBuilder::addRun(const Run &run, Part part) {
  if (nn::isForward(part))
    unpackInputs(run);
  if (!run.has(part))
    return;
  if (nn::factsOf(part).givesInputCotangents)
    zeroCotangents(run);
  int64_t n = run.callees.size();
  SmallVector<int64_t> before(n + 1, 0); // functions of the period with this part, before j
  for (int64_t j = 0; j < n; ++j)
    before[j + 1] = before[j] + (run.callees[j].part(part) != nullptr);
  sched::RunOp op = openRun(run, nn::stringifyPart(part), goesDown(part));
  if (part == Part::Norm)
    normCalls -= run.times() * before[n];
  for (int64_t step = 0; step < n; ++step) {
    int64_t j = goesDown(part) ? n - 1 - step : step;
    addLayer({run, part, static_cast<unsigned>(j), normCalls, before[n], before[j]});
  }
  b.setInsertionPointAfter(op);
}

void SectionBuilder::addLayer(const Layer &layer) {
  if (nn::factsOf(layer.part).givesInputCotangents)
    zeroMissing(layer);
  rt::FuncOp func = layer.callee().part(layer.part);
  if (!func)
    return;
  SmallVector<Use> from, to;
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    from.push_back(argument(layer, func.getArgLabel(i)));
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (!func.findUpdatedArg(i))
      to.push_back(result(layer, func.getResultLabel(i)));
  ValueOp frame = values.declareFrame(partName(chain, layer.run, layer.part));
  sched::createStep<sched::CallOp>(b, layer.run.op.getLoc(), from, to, func.getSymName(),
                                   frame.getMemory(), uint64_t(1), /*started=*/false);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The instance of a value of the model or of the step that a layer uses.
AffineExpr SectionBuilder::instanceOf(const Layer &layer, KeyAttr key) {
  nn::RunOp op = layer.run.op;
  if (key.getOf()) {
    ValueOp value = values.find(key);
    return value.getCount() == 1 ? number(0) : period() + value.indexOf(op.getFirstInstance());
  }
  if (key.getKind() == ValueKind::Activation) // a contribution
    return period();
  StringRef name = key.getName() ? key.getName().getValue() : "";
  nn::ScalarPer per =
      key.getKind() == ValueKind::Scalar ? nn::instancesOf(name) : nn::ScalarPer::Step;
  if (per == nn::ScalarPer::Layer) {
    return period() * layer.functions() + layer.j + values.find(key).indexOf(op.getFirstLayer());
  }
  if (key.getKind() == ValueKind::Loss)
    return number(chain.partOfSum(layer.run, name));
  if (key.getKind() == ValueKind::Count)
    return number(chain.partOfSum(layer.run, nn::countOf(name)));
  if (per == nn::ScalarPer::Microbatch)
    return sched::microbatchOf(b.getContext());
  return number(0);
}

Use SectionBuilder::chainUse(Value value, bool cotangent) {
  return use(values.find(chainKey(chain, value, cotangent)).getMemory());
}

/// `outer` in the first (or last) period, `inner` in the others.
Use SectionBuilder::atBorder(Border border, Use outer, Use inner) {
  inner.border = border;
  inner.outer = outer.value;
  return inner;
}

/// The buffers that carried value k needs between the layers of a run in this part: a value that
/// nothing keeps goes to buffer 0 or 1, by the parity of its layer.
static int64_t handoverBuffers(const ProgramValues &values, const Run &run, bool forward, bool kept,
                               unsigned k) {
  // A period of even length gives each function one parity.
  int64_t n = run.callees.size(), last = std::min(run.layers() - 1, 2 * n + 1);
  bool used[2] = {false, false};
  for (int64_t i = 0; i < last; ++i) // layer i's cotangent, or layer i + 1's input
    if (!kept || !values.find(keptKey(run, (forward ? i + 1 : i) % n, k, !forward)))
      used[i & 1] = true;
  return used[0] + used[1];
}

Use SectionBuilder::handover(const Layer &layer, unsigned k, AffineExpr number) {
  nn::RunOp op = layer.run.op;
  bool forward = nn::isForward(layer.part);
  int64_t buffers = handoverBuffers(values, layer.run, forward, slots, k);
  ValueOp value = values.declare(handoverKey(chain, layer.run, layer.part, k),
                                 forward ? Owner::Carried : Owner::Cotangent, Life::Section,
                                 op.getCarried()[k].getType(), buffers);
  return use(value.getMemory(), number % buffers);
}

/// What layer (j, period) takes, if it is not the first of the run.
Use SectionBuilder::innerInput(const Layer &layer, unsigned k, unsigned j, AffineExpr period) {
  if (ValueOp kept = values.find(keptKey(layer.run, j, k, /*cotangent=*/false)); kept && slots)
    return use(kept.getMemory(), period - (j == 0)); // the first layer's is not in the array
  return handover(layer, k, period * layer.functions() + (j + 1));
}

Use SectionBuilder::input(const Layer &layer, unsigned k) {
  nn::RunOp op = layer.run.op;
  if (layer.j > 0)
    return innerInput(layer, k, layer.j, period());
  Use outer = chainUse(op.getCarried()[k]);
  if (layer.run.times() == 1)
    return outer;
  return atBorder(Border::First, outer, innerInput(layer, k, 0, period()));
}

Use SectionBuilder::output(const Layer &layer, unsigned k) {
  nn::RunOp op = layer.run.op;
  if (layer.j + 1 < layer.functions())
    return innerInput(layer, k, layer.j + 1, period());
  Use outer = chainUse(op->getResult(k));
  if (layer.run.times() == 1)
    return outer;
  return atBorder(Border::Last, outer, innerInput(layer, k, 0, period() + 1));
}

/// The cotangent of what layer (j, period) gives, if it is not the last of the run.
Use SectionBuilder::innerCotangent(const Layer &layer, unsigned k, unsigned j, AffineExpr period) {
  if (ValueOp kept = values.find(keptKey(layer.run, j, k, /*cotangent=*/true)))
    return use(kept.getMemory(), period);
  return handover(layer, k, period * layer.functions() + j);
}

Use SectionBuilder::cotangentIn(const Layer &layer, unsigned k) {
  nn::RunOp op = layer.run.op;
  if (layer.j + 1 < layer.functions())
    return innerCotangent(layer, k, layer.j, period());
  Use outer = chainUse(op->getResult(k), /*cotangent=*/true);
  if (layer.run.times() == 1)
    return outer;
  return atBorder(Border::Last, outer, innerCotangent(layer, k, layer.j, period()));
}

Use SectionBuilder::cotangentOut(const Layer &layer, unsigned k) {
  nn::RunOp op = layer.run.op;
  if (layer.j > 0)
    return innerCotangent(layer, k, layer.j - 1, period());
  Use outer = chainUse(op.getCarried()[k], /*cotangent=*/true);
  if (layer.run.times() == 1)
    return outer;
  return atBorder(Border::First, outer,
                  innerCotangent(layer, k, layer.functions() - 1, period() - 1));
}

int64_t SectionBuilder::beginNorm(ArrayRef<const Run *> runs) {
  int64_t calls = 0;
  for (const Run *run : runs)
    for (const Callee &callee : run->callees)
      calls += callee.part(Part::Norm) ? run->times() : 0;
  normCalls = calls;
  return calls & 1;
}

/// The two scalars between which the squared norm goes from call to call: the last one, of the
/// first layer, leaves it in the first of them.
Use SectionBuilder::normUse(const Layer &layer, bool isRead) {
  AffineExpr call = period() * layer.normsPerPeriod + (layer.normBase + layer.normsBefore + isRead);
  ValueOp cells = values.find(normKey(values.getProgram(), layer.run.stage));
  return use(cells.getMemory(), call % 2);
}

Use SectionBuilder::argument(const Layer &layer, const nn::Label &label) {
  nn::RunOp op = layer.run.op;
  switch (label.role) {
  case Role::Carried:
    return layer.part == Part::Norm ? normUse(layer, /*isRead=*/true)
                                    : input(layer, *label.position);
  case Role::Invariant:
  case Role::CotInvariant:
    return chainUse(op.getInvariants()[*label.position], label.role == Role::CotInvariant);
  case Role::CotCarried:
    return cotangentIn(layer, *label.position);
  case Role::ResFI:
  case Role::ResFW:
  case Role::ResIW:
    return use(values.find(residualKey(layer.run, layer.j, label.role, label.name)).getMemory(),
               period());
  case Role::Output: {
    KeyAttr key = keyOf(layer.run, layer.callee(), label);
    rt::FuncOp func = layer.callee().part(layer.part);
    Type type = func.getResultTypes()[*func.findResult(Role::Output, label.name)];
    return use(values.declare(key, Owner::Logits, Life::Entry, type).getMemory());
  }
  default:
    KeyAttr key = keyOf(layer.run, layer.callee(), label);
    return use(values.find(key).getMemory(), instanceOf(layer, key));
  }
}

/// Results that update no argument.
Use SectionBuilder::result(const Layer &layer, const nn::Label &label) {
  if (label.role == Role::Carried)
    return layer.part == Part::Norm ? normUse(layer, /*isRead=*/false)
                                    : output(layer, *label.position);
  if (label.role == Role::CotCarried)
    return cotangentOut(layer, *label.position);
  return argument(layer, label);
}

//===----------------------------------------------------------------------===//
// Inputs and zeros
//===----------------------------------------------------------------------===//

/// The inputs of the chain that `run` is the first of the rank to read.
void SectionBuilder::unpackInputs(const Run &run) {
  for (nn::InputOp input : chain.inputs) {
    SmallVector<Reader> readers = chain.readersOf(input.getValue());
    llvm::erase_if(readers, [&](Reader reader) { return !chain.runs[reader.run].isHeld; });
    if (readers.empty() || readers.front().run != run.index)
      continue;
    ValueOp rows = values.find(ValueKind::Rows, input.getSource());
    sched::createStep<sched::UnpackOp>(b, input.getLoc(), {use(rows.getMemory())},
                                       {chainUse(input.getValue())},
                                       static_cast<uint64_t>(input.getShift()));
  }
}

void SectionBuilder::zero(const Run &run, Use use) {
  sched::createStep<sched::ZeroOp>(b, run.op.getLoc(), {}, {use});
}

/// What a layer adds to in its forward, or in the backward that is run, each once.
SmallVector<ValueOp> SectionBuilder::contributionsOf(const Run &run, const Callee &callee) {
  llvm::SetVector<KeyAttr> keys;
  for (const nn::PartFacts &facts : nn::kPartFacts) {
    rt::FuncOp func = callee.part(facts.part);
    for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i)
      if (nn::takesOperands(facts.part) && func.getResultRole(i) == Role::Contribution)
        keys.insert(keyOf(run, callee, func.getResultLabel(i)));
  }
  return llvm::map_to_vector(keys, [&](KeyAttr key) { return values.find(key); });
}

void SectionBuilder::zeroContributions(const Run &run) {
  for (auto [j, callee] : llvm::enumerate(run.callees)) {
    for (ValueOp value : contributionsOf(run, callee)) {
      sched::RunOp op = openRun(run, "zero", /*descending=*/false);
      zero(run, use(value.getMemory(), period()));
      b.setInsertionPointAfter(op);
    }
  }
}

/// Before the backward of a run: cotangents of its results that no reader has
/// written, and those of its invariants if it is the first to add to them.
void SectionBuilder::zeroCotangents(const Run &run) {
  nn::RunOp op = run.op;
  auto clear = [&](Value value) {
    if (ValueOp cotangent = values.find(chainKey(chain, value, /*cotangent=*/true)))
      zero(run, use(cotangent.getMemory()));
  };
  for (Value result : op->getResults())
    if (cotangentWriters(chain, result).empty())
      clear(result);
  SmallVector<Value> cleared;
  for (Value invariant : op.getInvariants()) {
    SmallVector<Reader> writers = cotangentWriters(chain, invariant);
    if (writers.empty() || writers.back().run != run.index ||
        llvm::is_contained(cleared, invariant))
      continue;
    cleared.push_back(invariant);
    clear(invariant);
  }
}

/// A layer that gives no cotangent of an input gives zeros, where the layer
/// before it takes one.
void SectionBuilder::zeroMissing(const Layer &layer) {
  const Callee &callee = layer.callee();
  const Callee &before = layer.run.callees[(layer.j + layer.functions() - 1) % layer.functions()];
  nn::RunOp op = layer.run.op;
  for (unsigned k = 0, e = op.getCarried().size(); k < e; ++k) {
    bool taken = k < op->getNumResults() && takesCotangent(before, k);
    // Before the run's first layer lies a value of the chain, which its writer clears.
    bool inner = layer.j > 0 || layer.run.times() > 1;
    if (!taken || !inner || callee.gives(layer.part, Role::CotCarried, k))
      continue;
    if (layer.j == 0 && !hasCotangent(chain, op.getCarried()[k]))
      continue;
    zero(layer.run, cotangentOut(layer, k));
  }
}

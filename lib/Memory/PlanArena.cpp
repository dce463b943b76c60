//===- PlanArena.cpp - a place for everything that functions are given ----===//
//
// First what lives from step to step, one array after the other: parameters,
// gradients, states, rows of tokens, scalars. Behind it the blocks of a step,
// packed by liveness. `sched.value` ops and the attribute `at` hold the places;
// nothing after this pass moves a byte.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"
#include "lib/Memory/Liveness.h"
#include "lib/Memory/Memory.h"
#include "lib/Memory/Pack.h"
#include "lib/Schedule/Keys.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using namespace tplan::schedule;
using nn::Role;
using sched::Owner;

namespace {

struct Persistent {
  std::string key;
  Owner owner;
  int64_t bytes, count;
  NamedAttrList facts; // what the binary's tables say of it
};

/// That cuBLASLt and cuDNN ask for.
constexpr int64_t kWorkspaceAlignment = 256;

/// What lives from step to step, by key, in the order of the chain.
class PersistentValues {
public:
  std::vector<Persistent> values;

  explicit PersistentValues(int64_t microbatches) : microbatches(microbatches) {}

  LogicalResult collect(const Chain &chain) {
    for (nn::InputOp input : chain.inputs)
      addInput(input);
    for (const Run &run : chain.runs)
      for (const Callee &callee : run.callees)
        for (auto [part, func] : callee.existing())
          if (failed(addFunction(run, callee, func)))
            return failure();
    return success();
  }

  /// Places for the sums over ranks of what a step reads of them itself.
  void addSums(const Chain &train, const Chain *counts) {
    nn::ChainOp op = train.op;
    auto addSum = [&](const Chain &chain, StringRef name, const std::string &part) {
      if (number.contains(part) && !chain.pendingAxes(name).empty())
        add(sumKey(name), Owner::Scalar,
            cast<TypeAttr>(values[number[part]].facts.get("type")).getValue());
    };
    DictionaryAttr losses = op.getLossesAttr();
    for (NamedAttribute loss : losses &&counts ? losses.getValue() : ArrayRef<NamedAttribute>()) {
      std::string count = nn::countOf(loss.getName());
      if (number.contains(cotLossKey(loss.getName())))
        addSum(*counts, count, lossKey(count));
    }
    addSum(train, dist::kNormSum, normKey());
  }

  /// What a scaled loss leaves behind: numbers of a step, and states where the scale moves.
  void addScaling(ModuleOp module) {
    Type real = nn::Tensor::get(module.getContext(), {}, Float64Type::get(module.getContext()));
    if (!number.contains(normKey()) || !lang::Settings(module).plan.lossScale)
      return;
    add(scalarKey(lang::kUnscale), Owner::Scalar, real);
    for (StringRef metric : {kLossScaleMetric, kSkippedMetric})
      add(metric.str(), Owner::Scalar, real);
    for (auto [state, slot] :
         {std::pair(lang::kLossScale, "scale"), std::pair(lang::kGoodSteps, "good_steps")})
      if (auto param = module.lookupSymbol<nn::ParamOp>(state))
        addOfParam(paramKey(param), Owner::State, real, param, slot);
  }

  /// What only a device needs: where the next step's inputs arrive, and what its libraries use.
  void addOfDevice(int64_t workspace) {
    int64_t given = 0;
    for (const Persistent &value : values)
      if (isGiven(value.key))
        given += sched::alignUp(value.bytes) * value.count;
    values.push_back({kStagingKey.str(), Owner::Staging, given, 1, {}});
    if (workspace)
      values.push_back({kWorkspaceKey.str(), Owner::Workspace, workspace, 1, {}});
  }

  /// Where collectives meet on a device: as much as the largest of a group needs. The sums that the
  /// program makes itself are of one number.
  void addScratch(ModuleOp module, const Chain &train, const Chain *counts) {
    std::map<std::string, int64_t> most;
    auto ask = [&](ArrayRef<StringAttr> axes, int64_t bytes) {
      int64_t &known = most[scratchKey(axes)];
      known = std::max(known, bytes);
    };
    for (auto func : module.getOps<rt::FuncOp>())
      for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
        ask(dist::axesOf(op.getAxes()), op.getBytesOfScratch());
    for (const Chain *chain : {&train, counts})
      if (auto pending = chain
                             ? nn::ChainOp(chain->op)->getAttrOfType<DictionaryAttr>(dist::kPending)
                             : DictionaryAttr())
        for (NamedAttribute sum : pending) {
          dist::Axes axes = dist::axesOf(cast<ArrayAttr>(sum.getValue()));
          ask(axes, dist::meshOf(module).sizeOf(axes) * 64);
        }
    for (auto &[key, bytes] : most)
      if (bytes)
        values.push_back({key, Owner::Workspace, bytes, 1, {}});
  }

private:
  const int64_t microbatches;
  llvm::StringMap<size_t> number; // of a key

  Persistent &add(const std::string &key, Owner owner, Type type, int64_t count = 1) {
    auto [it, added] = number.try_emplace(key, values.size());
    if (added) {
      values.push_back({key, owner, nn::bytesOf(type), count, {}});
      values.back().facts.set("type", TypeAttr::get(type));
    }
    return values[it->second];
  }

  void addOfParam(const std::string &key, Owner owner, Type type, nn::ParamOp param,
                  StringRef slot) {
    Persistent &value = add(key, owner, type, param.getCount());
    value.facts.set("param", FlatSymbolRefAttr::get(param));
    value.facts.set("slot", StringAttr::get(param.getContext(), slot));
    // Where ranks have blocks of it, there is memory for all of them.
    auto padded = param->getAttrOfType<IntegerAttr>(dist::kPadded);
    auto tensor = cast<nn::Tensor>(type);
    bool inBlocks = tensor.getRank() && tensor.getDims().front().getName() == dist::kRowsDim;
    if (padded && !inBlocks)
      value.bytes = padded.getInt() * nn::elementBytes(tensor.getElementType());
  }

  /// A row serves all shifts of an input: S tokens, and as many as the largest shift.
  void addInput(nn::InputOp input) {
    auto type = cast<nn::Tensor>(input.getType());
    Builder builder(input.getContext());
    int64_t sequence = type.getDims().back().getSize(), rows = type.getNumElements() / sequence;
    Persistent &value = add(inputRowsKey(input.getSource()), Owner::Input, type);
    auto fact = [&](StringRef name, int64_t number) {
      auto before = dyn_cast_or_null<IntegerAttr>(value.facts.get(name));
      number = std::max(number, before ? before.getInt() : 0);
      value.facts.set(name, builder.getI64IntegerAttr(number));
      return number;
    };
    value.facts.set("source", input.getSourceAttr());
    fact("vocabulary", input.getVocabulary());
    fact("positions", sequence);
    int64_t length = fact("length", sequence + input.getShift());
    value.bytes =
        fact("rows", rows) * length * nn::elementBytes(type.getElementType()) * microbatches;
  }

  void addScalar(const Run &run, StringRef name, Type type) {
    nn::RunOp op = run.op;
    int64_t count = name == kLayerScalar    ? op.getFirstLayer() + run.layers()
                    : name == kOffsetScalar ? microbatches
                                            : 1;
    Persistent &value = add(scalarKey(name), Owner::Scalar, type);
    value.count = std::max(value.count, count);
  }

  LogicalResult addValue(const Run &run, const Callee &callee, const nn::Label &label, Type type) {
    StringRef name = label.name;
    nn::ParamOp param = callee.paramOf(label);
    switch (label.role) {
    case Role::Param:
    case Role::CotParam:
      if (!param)
        return nn::RunOp(run.op).emitOpError("binds no parameter to ")
               << callee.name << " " << name;
      if (label.role == Role::CotParam)
        addOfParam(gradientKey(param), Owner::Gradient, type, param, "grad");
      else
        addOfParam(paramKey(param), param.isCopy() ? Owner::Copy : Owner::Parameter, type, param,
                   "");
      return success();
    case Role::State:
      if (!param)
        return nn::RunOp(run.op).emitOpError("has a state that belongs to no parameter of ")
               << callee.name << ": " << name;
      if (label.slot)
        addOfParam(stateKey(label.slot.getName(), param), Owner::State, type, param,
                   label.slot.getName());
      else // the model's own, saved and loaded with the weights
        addOfParam(paramKey(param), Owner::Parameter, type, param, "");
      return success();
    case Role::Scalar:
      addScalar(run, name, type);
      return success();
    case Role::CotLoss:
      add(cotLossKey(name), Owner::Scalar, type);
      return success();
    case Role::Loss:
    case Role::Metric:
      add(lossKey(name), Owner::Scalar, type);
      return success();
    case Role::Contribution:
      add(contributionKey(run, &callee - run.callees.data(), name), Owner::Scalar, type,
          run.times());
      return success();
    default:
      return success();
    }
  }

  LogicalResult addFunction(const Run &run, const Callee &callee, rt::FuncOp func) {
    bool isNorm = func == callee.part(Part::Norm);
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      Type type = func.getArgumentTypes()[i];
      if (isNorm && func.getArgRole(i) == Role::Carried) {
        add(normKey(), Owner::Scalar, type, 2);
        add(scalarKey("norm"), Owner::Scalar, type);
        add(gradNormKey(), Owner::Scalar, type);
      } else if (failed(addValue(run, callee, func.getArgLabel(i), type))) {
        return failure();
      }
    }
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (func.getResultRole(i) != Role::Carried &&
          failed(addValue(run, callee, func.getResultLabel(i), func.getResultTypes()[i])))
        return failure();
    return success();
  }
};

/// What libraries like to have, or the call that cannot do with it needs.
int64_t workspaceOf(ModuleOp module, int64_t bytes) {
  module.walk([&](rt::Call call) { bytes = std::max(bytes, call.getWorkspace()); });
  return sched::alignUp(bytes);
}

struct PlanArena : PassWrapper<PlanArena, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanArena)
  StringRef getArgument() const final { return "plan-arena"; }

  int64_t placePersistent(OpBuilder &b, Location loc, ArrayRef<Persistent> values) {
    // One owner's arrays side by side, each in the order of the chain.
    auto order = llvm::to_vector(llvm::seq<size_t>(0, values.size()));
    auto rank = [&](size_t i) {
      // What is given for a step is one piece.
      return std::tuple(values[i].owner, !isGiven(values[i].key), i);
    };
    llvm::sort(order, [&](size_t a, size_t b) { return rank(a) < rank(b); });
    int64_t at = 0;
    for (size_t i : order) {
      const Persistent &value = values[i];
      if (value.owner == Owner::Workspace)
        at = llvm::alignTo(at, kWorkspaceAlignment);
      sched::ValueOp::create(b, loc, value.key, value.owner, value.bytes, value.count,
                             b.getI64IntegerAttr(at))
          ->setDiscardableAttrs(value.facts.getDictionary(b.getContext()));
      at += sched::alignUp(value.bytes) * value.count;
    }
    return at;
  }

  void placeBlocks(OpBuilder &b, Location loc, const Liveness &liveness, const Packing &packing,
                   int64_t base) {
    for (auto [block, offset] : llvm::zip(liveness.blocks, packing.offsets)) {
      if (!block.family) {
        sched::ValueOp::create(b, loc, block.key, block.owner, block.bytes, block.count,
                               b.getI64IntegerAttr(base + offset));
        continue;
      }
      sched::FamilyOp family = block.family;
      SmallVector<int64_t> at(family.getSlots(), 0);
      if (family.getAt())
        at.assign(family.getAt()->begin(), family.getAt()->end());
      if (block.slot >= 0)
        at[block.slot] = base + offset;
      for (int64_t slot = 0; block.slot < 0 && slot < static_cast<int64_t>(at.size()); ++slot)
        at[slot] = base + offset + slot * static_cast<int64_t>(family.getBytes());
      family.setAt(at);
      int64_t inSlot = 0;
      for (auto value : family.getBody().getOps<sched::ValueOp>()) {
        value.setAt(inSlot);
        inSlot += value.getTotal();
      }
    }
  }

  /// Attention that the plan would have room without.
  void noteAttention(InFlightDiagnostic &diag, int64_t over) {
    rt::AttentionOp largest;
    int64_t others = lang::targetOf(getOperation()).workspace;
    getOperation().walk([&](rt::Call call) {
      auto attention = dyn_cast<rt::AttentionOp>(call.getOperation());
      if (!attention)
        others = std::max(others, call.getWorkspace());
      else if (!largest || attention.getWorkspace() > largest.getWorkspace())
        largest = attention;
    });
    int64_t bytes = largest ? largest.getWorkspace() : 0;
    if (bytes - others >= over)
      diag.attachNote(largest.getLoc())
          << "this attention has a workspace of " << bytes
          << " bytes, as the library needs it; with --attention=generated it has none";
  }

  /// Refuses an arena beyond the plan's `memory`, else the cluster's, with what is
  /// largest at the peak.
  LogicalResult checkBudget(int64_t arena) {
    lang::Settings settings(getOperation());
    std::optional<int64_t> budget = settings.memoryLimit();
    if (!budget || arena <= *budget)
      return success();
    bool ofPlan = settings.plan.memory.has_value();
    InFlightDiagnostic diag =
        emitError(ofPlan ? settings.planLine("memory") : settings.clusterLine("memory"))
        << "a rank may use " << *budget << " bytes of memory, found a plan that needs " << arena;
    Report report = getReport(getOperation());
    llvm::sort(report.owners, [](const OwnerReport &a, const OwnerReport &b) {
      return std::pair(-a.atPeak, a.offset) < std::pair(-b.atPeak, b.offset);
    });
    if (!report.peak.empty()) // else everything lives from step to step
      diag.attachNote() << "the peak is at " << report.peak;
    for (const OwnerReport &owner : llvm::ArrayRef(report.owners).take_front(5))
      diag.attachNote() << owner.atPeak << " bytes at the peak are " << owner.name;
    noteAttention(diag, arena - *budget);
    diag.attachNote() << "a smaller microbatch, recompute or another pipeline needs less";
    return diag;
  }

  LogicalResult run() {
    auto program = getOperation().lookupSymbol<sched::ProgramOp>("step");
    if (!program)
      return getOperation().emitError("there is no sched.program @step to place");
    FailureOr<Chains> chains = readChains(program);
    if (failed(chains))
      return failure();
    auto &[train, counts] = *chains;
    PersistentValues persistent(program.getMicrobatches());
    if (failed(persistent.collect(train)) || (counts && failed(persistent.collect(*counts))))
      return failure();
    persistent.addSums(train, counts ? &*counts : nullptr);
    persistent.addScaling(getOperation());
    const lang::Target &target = lang::targetOf(getOperation());
    if (target.isGpu()) {
      persistent.addOfDevice(workspaceOf(getOperation(), target.workspace));
      persistent.addScratch(getOperation(), train, counts ? &*counts : nullptr);
    }

    Liveness liveness(program, train, counts ? &*counts : nullptr);
    SmallVector<int64_t> bytes;
    for (const Piece &piece : liveness.blocks)
      bytes.push_back(piece.total());
    Packing packing = pack(bytes, liveness.conflicts, liveness.peak);
    OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
    int64_t base = placePersistent(b, program.getLoc(), persistent.values);
    placeBlocks(b, program.getLoc(), liveness, packing, base);
    program.setArena(base + packing.bytes);
    program.setLive(base + liveness.peak);
    return checkBudget(base + packing.bytes);
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> tplan::memory::createPlanArenaPass() { return std::make_unique<PlanArena>(); }

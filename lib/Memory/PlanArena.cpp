//===- PlanArena.cpp - a place for everything that functions are given ----===//
//
// First what lives from step to step, one array after the other: parameters,
// gradients, states, rows of tokens, scalars. After it the blocks of a step,
// packed by liveness. The attribute `at` of values and families holds the places;
// nothing after this pass moves a byte.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Memory/Liveness.h"
#include "lib/Memory/Memory.h"
#include "lib/Memory/Pack.h"
#include "mlir/IR/Builders.h"
#include <map>

namespace tplan::memory {
#define GEN_PASS_DEF_PLANARENAPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::KeyAttr;
using sched::Owner;
using sched::ValueKind;
using sched::ValueOp;

namespace {

/// The alignment that cuBLASLt and cuDNN ask for.
constexpr int64_t kWorkspaceAlignment = 256;

/// The workspace: what libraries like to have, or more where a call cannot do without it.
int64_t workspaceOf(ModuleOp module, int64_t bytes) {
  module.walk([&](rt::Call call) { bytes = std::max(bytes, call.getWorkspace()); });
  return sched::alignUp(bytes);
}

struct PlanArenaPass : tplan::memory::impl::PlanArenaPassBase<PlanArenaPass> {
  /// What only a device needs: where the next step's inputs arrive, what its libraries use, and
  /// where collectives meet: for each group as much as its largest collective needs.
  void addOfDevice(sched::ProgramOp program) {
    MLIRContext *context = &getContext();
    OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
    int64_t given = 0;
    for (auto value : program.getBody().getOps<ValueOp>())
      if (value.getGiven())
        given += value.getTotal();
    auto add = [&](KeyAttr key, Owner owner, int64_t bytes) {
      ValueOp::create(b, program.getLoc(), key, owner, sched::Life::Always, bytes, 1);
    };
    add(KeyAttr::get(context, ValueKind::Staging, {}, {}, {}), Owner::Staging, given);
    if (int64_t bytes = workspaceOf(getOperation(), lang::targetOf(getOperation()).workspace))
      add(KeyAttr::get(context, ValueKind::Workspace, {}, {}, {}), Owner::Workspace, bytes);
    std::map<std::string, std::pair<dist::Axes, int64_t>> scratch;
    auto ask = [&](const dist::Axes &axes, int64_t bytes) {
      auto &[known, most] = scratch[dist::spell(axes)];
      known = axes, most = std::max(most, bytes);
    };
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
        ask(dist::axesOf(op.getAxes()), op.getBytesOfScratch());
    // Sums between functions, and sums of losses that the runtime makes, are of one number.
    auto askForNumber = [&](ArrayAttr over) {
      dist::Axes axes = dist::axesOf(over);
      rt::BlockShape one;
      one.whole = 1;
      ask(axes, rt::bytesOfScratch(dist::CollectiveKind::AllReduce, one, sizeof(double),
                                   dist::meshOf(getOperation()).sizeOf(axes)));
    };
    program.walk([&](sched::AllReduceOp op) { askForNumber(op.getAxes()); });
    for (auto value : program.getBody().getOps<ValueOp>())
      if (value.getPending())
        askForNumber(*value.getPending());
    for (auto &[name, group] : scratch)
      if (auto &[axes, bytes] = group; bytes)
        add(KeyAttr::get(context, ValueKind::Scratch, {}, {}, dist::arrayOf(context, axes)),
            Owner::Workspace, bytes);
  }

  /// The memory of functions' temporaries: where several share it, as much as the largest needs.
  static void sizeFrames(sched::ProgramOp program) {
    program.walk([&](sched::CallOp call) {
      auto bytes = call.getFunction()->getAttrOfType<IntegerAttr>(sched::kFrame);
      if (!call.getFrame() && bytes && bytes.getInt())
        llvm::reportFatalInternalError("a call has no frame, and its function temporaries");
      if (Value frame = call.getFrame(); frame && bytes) {
        ValueOp value = sched::valueOf(frame);
        value.setBytes(std::max<int64_t>(value.getBytes(), bytes.getInt()));
      }
    });
  }

  /// Puts one owner's arrays side by side, each in the order in which they are declared. Returns
  /// the bytes of all.
  static int64_t placePersistent(sched::ProgramOp program) {
    SmallVector<ValueOp> values;
    for (auto value : program.getBody().getOps<ValueOp>())
      if (value.getLives() == sched::Life::Always)
        values.push_back(value);
    llvm::sort(values, [](ValueOp a, ValueOp b) {
      auto rank = [](ValueOp v) { return std::pair(v.getOwner(), !v.getGiven()); };
      // What is given for a step is one piece.
      return rank(a) != rank(b) ? rank(a) < rank(b) : a->isBeforeInBlock(b);
    });
    OpBuilder b(program.getContext());
    int64_t at = 0;
    for (ValueOp value : values) {
      if (value.getOwner() == Owner::Workspace)
        at = llvm::alignTo(at, kWorkspaceAlignment);
      value.setAt(at);
      at += value.getTotal();
    }
    return at;
  }

  static void placeBlocks(sched::ProgramOp program, const Liveness &liveness,
                          const Packing &packing, int64_t base) {
    for (auto [block, offset] : llvm::zip(liveness.blocks, packing.offsets))
      if (ValueOp value = block.value)
        value.setAt(base + offset);
    for (auto family : program.getBody().getOps<sched::FamilyOp>()) {
      SmallVector<int64_t> at;
      for (int64_t slot = 0, e = family.getSlots(); slot < e; ++slot) {
        size_t block = liveness.blockOfSlot(family, slot);
        bool isAll = liveness.blocks[block].slot < 0; // of the family, one after the other
        at.push_back(base + packing.offsets[block] +
                     (isAll ? slot * static_cast<int64_t>(family.getBytes()) : 0));
      }
      family.setAt(at);
    }
    llvm::DenseMap<StringAttr, int64_t> filled; // bytes of a family's slot
    for (auto value : program.getBody().getOps<ValueOp>())
      if (FlatSymbolRefAttr family = value.getFamilyAttr()) {
        int64_t &inSlot = filled[family.getAttr()];
        value.setAt(inSlot);
        inSlot += value.getTotal();
      }
  }

  /// Notes an attention whose workspace the plan could do without, if it then had room.
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

  /// Refuses an arena beyond the plan's `memory`, else the cluster's, else the device's, with what
  /// is largest at the peak. Of several programs the largest is refused.
  LogicalResult checkBudget(ArrayRef<sched::ProgramOp> programs) {
    sched::ProgramOp program = *llvm::max_element(programs, [](auto a, auto b) {
      return sched::ProgramOp(a).getArena() < sched::ProgramOp(b).getArena();
    });
    int64_t arena = *program.getArena();
    lang::Settings settings(getOperation());
    std::optional<int64_t> budget = settings.memoryLimit();
    if (!budget || arena <= *budget)
      return success();
    bool ofPlan = settings.plan.memory.has_value(), ofCluster = settings.cluster.memory.has_value();
    InFlightDiagnostic diag = emitError(ofPlan      ? settings.planLine("memory")
                                        : ofCluster ? settings.clusterLine("memory")
                                                    : settings.clusterLine("device"))
                              << "a rank may use " << *budget
                              << " bytes of memory, found a plan that needs " << arena;
    if (!ofPlan && !ofCluster)
      diag.attachNote() << "so many has " << settings.cluster.device
                        << "; `memory` in the cluster or the plan says otherwise";
    if (program.getRank())
      diag.attachNote() << "on the ranks that hold stage " << program.getHolds()->front();
    for (sched::ProgramOp other : programs)
      if (other != program)
        diag.attachNote() << "those that hold stage " << other.getHolds()->front() << " need "
                          << *other.getArena();
    Report report = getReport(program);
    llvm::sort(report.owners, [](const OwnerReport &a, const OwnerReport &b) {
      return std::pair(-a.atPeak, a.offset) < std::pair(-b.atPeak, b.offset);
    });
    if (!report.peak.empty()) // else everything lives from step to step
      diag.attachNote() << "the peak is at " << report.peak;
    for (const OwnerReport &owner : llvm::ArrayRef(report.owners).take_front(5))
      diag.attachNote(owner.loc) << owner.atPeak << " bytes at the peak are " << owner.name;
    noteAttention(diag, arena - *budget);
    diag.attachNote() << "a smaller microbatch, recompute or another pipeline needs less";
    return diag;
  }

  LogicalResult run() {
    SmallVector<sched::ProgramOp> programs(getOperation().getOps<sched::ProgramOp>());
    if (programs.empty())
      return getOperation().emitError("there is no sched.program to place");
    for (sched::ProgramOp program : programs)
      place(program);
    return checkBudget(programs);
  }

  void place(sched::ProgramOp program) {
    sizeFrames(program);
    if (lang::targetOf(getOperation()).isGpu())
      addOfDevice(program);
    Liveness liveness(program);
    SmallVector<int64_t> bytes;
    for (const MemoryBlock &piece : liveness.blocks)
      bytes.push_back(piece.bytes);
    // Slots of several stages come and go in turn, which leaves gaps that no order of placement
    // closes, and each rank has a program to pack.
    bool hasStages = program.getHolds() && program.getHolds()->size() > 1;
    Packing packing =
        pack(bytes, liveness.conflicts, liveness.peak, hasStages ? Effort::Quick : Effort::Full);
    int64_t base = placePersistent(program);
    placeBlocks(program, liveness, packing, base);
    program.setArena(base + packing.bytes);
    program.setLive(base + liveness.peak);
  }

  void runOnOperation() final {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace

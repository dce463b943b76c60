//===- Sched.h - the sched dialect ----------------------------------------===//
#ifndef TPLAN_DIALECTS_SCHED_H
#define TPLAN_DIALECTS_SCHED_H

#include "dialects/nn/NN.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Tasks.h"
#include "mlir/IR/AffineMap.h"

#include "dialects/sched/SchedDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/sched/SchedAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/sched/SchedTypes.h.inc"

namespace tplan::sched {
/// A value that an op reads or writes, and which instance of it.
struct Use {
  mlir::Value value;
  mlir::AffineMap instance; // of the period and the microbatch, which are its symbols
  /// The period of the run in which instance 0 of `outer` is used instead.
  std::optional<Border> border;
  mlir::Value outer;
  bool reads = false, writes = false;
  int64_t shift = 0; // added to the section's microbatch: whose memory it is

  llvm::SmallVector<mlir::Value, 2> values() const {
    return outer ? llvm::SmallVector<mlir::Value, 2>{value, outer}
                 : llvm::SmallVector<mlir::Value, 2>{value};
  }
};

/// Instances of the model that follow each other: layers of a list, as a rule.
struct InstanceRange {
  int64_t first, count;
  int64_t end() const { return first + count; }
};

/// What runs an op.
struct Resource {
  mlir::ArrayAttr axes; // axes of the group whose channel it is; null: the compute units
  std::pair<int64_t, int64_t> ends = {-1, -1}; // coordinates of a message's ends along the axis
  bool operator==(const Resource &) const = default;
};

/// The symbols of an instance.
mlir::AffineExpr periodOf(mlir::MLIRContext *context);
mlir::AffineExpr microbatchOf(mlir::MLIRContext *context);
/// The number of an instance in a period of a run, for a microbatch.
int64_t evaluate(mlir::AffineExpr instance, int64_t period, int64_t microbatch);
/// A period of a run, and the number of its last one; of steps outside of a run: 0 and 0.
struct Period {
  int64_t number = 0, last = 0;
};
/// What a use is in a period: at a border of the run another value's only instance.
struct UsedInstance {
  mlir::Value value;
  int64_t instance, microbatch;
};
UsedInstance evaluate(const Use &use, Period period, int64_t microbatch);
/// The op of the body of a section that is, or holds, an op.
mlir::Operation *bodyOpOf(mlir::Operation *op);
/// A use of an instance, of instance 0 where none is given.
Use use(mlir::Value value, mlir::AffineExpr instance = {});

/// Every place is a multiple of this many bytes.
inline constexpr int64_t kAlign = 64;
inline int64_t alignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Attributes that `memory` writes on functions and calls.
inline constexpr llvm::StringLiteral kPlaces = "sched.places", kFrame = "sched.frame",
                                     kLive = "sched.live";

/// Attributes that `assign-streams` writes on collectives, messages and started calls: the stream,
/// and two events: what the stream of their function records before them, and what their own stream
/// records after them. Without them all is complete when it returns. A function whose calls are
/// started has its stream, too: that of its calls, except collectives.
inline constexpr llvm::StringLiteral kStream = "sched.stream", kTurn = "sched.turn";
struct Turn {
  int64_t stream = 0, before = -1, after = -1;
  static Turn of(mlir::Operation *op);
  bool operator==(const Turn &) const = default;
};
/// 0 where it has none.
int64_t streamOf(mlir::Operation *op);
/// The module has a StreamAttr for each of the streams 1, 2, ..., and the number of events.
inline constexpr llvm::StringLiteral kStreams = "sched.streams", kEvents = "sched.events";

/// Attributes that `repeat-updates` writes. kRepeats marks a function that may be called once for
/// all layers of a run, and those of its calls that then do the work of all. A kernel has in
/// kStrides the bytes from each operand of one layer to that of the next; `lower-kernels-gpu` hands
/// them on by kernel, on the gpu.module.
inline constexpr llvm::StringLiteral kRepeats = "sched.repeats", kStrides = "sched.strides";
} // namespace tplan::sched

namespace tplan::sched {
/// (S1) of the interface.
mlir::LogicalResult verifyStep(mlir::Operation *op);
} // namespace tplan::sched
#include "dialects/sched/SchedInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/sched/SchedOps.h.inc"

namespace tplan::sched {
/// Whether the runtime calls it for a training step.
inline bool isStep(EntryKind kind) {
  return kind == EntryKind::Step || kind == EntryKind::EarlyStep;
}

/// The op of a value.
inline ValueOp valueOf(mlir::Value memory) { return memory.getDefiningOp<ValueOp>(); }

/// Visits the steps of a section as one execution does them, those of a run in each of its periods.
void forEachStep(SectionOp section, llvm::function_ref<void(Step, Period)> visit);

/// What a message carries: its values, without the event of one that is started.
llvm::SmallVector<Use> partsOf(Step message);

/// Changes the values and instances that a step uses, its frame aside.
void rewriteUses(Step step, llvm::function_ref<void(Use &)> rewrite);

/// How uses stand in an op: those that are read first.
struct UseLists {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::AffineMap> instances;
  llvm::SmallVector<int32_t> borders;
  int64_t reads = 0;
  UseLists(llvm::ArrayRef<Use> reads, llvm::ArrayRef<Use> writes);
  mlir::ArrayAttr instancesAttr(mlir::OpBuilder &b) const;
};
/// Creates an op with uses; `args` stand before them.
template <typename Op, typename... Args>
Op createStep(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Use> reads,
              llvm::ArrayRef<Use> writes, Args... args) {
  UseLists lists(reads, writes);
  return Op::create(b, loc, args..., lists.values, lists.instancesAttr(b),
                    llvm::ArrayRef<int32_t>(lists.borders), static_cast<uint64_t>(lists.reads));
}

/// Where `memory` has put the result of a call.
inline PlaceAttr placeOf(mlir::OpResult result) {
  auto places = result.getOwner()->getAttrOfType<mlir::ArrayAttr>(kPlaces);
  return llvm::cast<PlaceAttr>(places[result.getResultNumber()]);
}

/// Erases those of the functions that nothing in the module calls.
void eraseUncalled(mlir::ModuleOp module, llvm::ArrayRef<rt::FuncOp> funcs);
/// Whether a function does nothing but exchange values among ranks, and waits for each.
bool isExchange(rt::FuncOp func);
/// A call that moves no byte, a view or a block that is in its place, and becomes no code; after
/// `memory`.
bool movesNoByte(mlir::Operation *call);
/// Whether `next` ends a bucket, which is collectives that follow each other and are issued
/// together, by one call for each stream: it reads what one of them makes, or it is another call.
/// Those that are started have one group and one await.
/// As long as places are not known, any rt.place may turn out to move no byte, and ends none.
bool endsBucket(llvm::ArrayRef<rt::CollectiveOp> bucket, mlir::Operation *next);
} // namespace tplan::sched

#endif // TPLAN_DIALECTS_SCHED_H

//===- Values.h - the values of a program, by key --------------------------===//
//
// `form-program` declares them, and finds by their keys what the functions of layers name: a
// parameter, a scalar, a loss. Afterwards the uses in the IR say who has what. Only step-kernels
// and the tables of the binary still ask by key: the tables tell the host where the numbers are
// that it sets and reads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_VALUES_H
#define TPLAN_SCHEDULE_VALUES_H

#include "dialects/nn/Scalars.h"
#include "lib/Schedule/Chain.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tplan::schedule {

using nn::kNorm;
/// The root of the squared norm, for the metrics.
inline constexpr llvm::StringLiteral kGradNorm = "grad_norm";
/// With a scaled loss: its scale, and whether the step was skipped.
inline constexpr llvm::StringLiteral kLossScaleNumber = "loss_scale", kSkipped = "skipped";
/// What a stage adds to the squared norm, on its way from layer to layer.
sched::KeyAttr normKey(sched::ProgramOp program, int64_t stage);
/// What the backward of a stage adds to the gradient of a weight that another one updates.
sched::KeyAttr gradientPartKey(nn::ParamOp param, int64_t stage);

class ProgramValues {
public:
  explicit ProgramValues(sched::ProgramOp program)
      : b(mlir::OpBuilder::atBlockEnd(&program.getBody().front())), program(program) {}

  mlir::MLIRContext *context() const { return b.getContext(); }
  sched::ProgramOp getProgram() const { return program; }
  /// The value with this key, or null.
  sched::ValueOp find(sched::KeyAttr key) const { return values.lookup(key); }
  sched::ValueOp find(sched::ValueKind kind, llvm::StringRef name) const {
    return find(sched::KeyAttr::get(context(), kind, name));
  }
  /// The value with this key; declared now if it is not yet.
  sched::ValueOp declare(sched::KeyAttr key, sched::Owner owner, sched::Life lives, mlir::Type type,
                         int64_t count = 1);
  /// Memory for the temporaries of functions: `memory` decides how much.
  sched::ValueOp declareFrame(llvm::StringRef name);
  /// Memory for what is in flight from one function to another, within a section.
  sched::ValueOp declareInFlight(llvm::StringRef name, mlir::Type type, int64_t count,
                                 mlir::Location loc);
  /// Moments at which what is started is complete.
  sched::ValueOp declareEvents(llvm::StringRef name, int64_t count);

private:
  mlir::OpBuilder b;
  sched::ProgramOp program;
  sched::ValueOp last; // that was declared
  llvm::DenseMap<mlir::Attribute, sched::ValueOp> values;

  sched::ValueOp create(sched::KeyAttr key, sched::Owner owner, sched::Life lives, int64_t bytes,
                        int64_t count, mlir::Type type);
};

/// What a label of a layer's function means, of the model or of the step; null for what the layer
/// hands to its neighbours or keeps for itself.
sched::KeyAttr keyOf(const Run &run, const Callee &callee, const nn::Label &label);
/// What the layers of function j contribute to their states and metrics, one instance a layer.
std::string contributionName(const Run &run, unsigned j, llvm::StringRef name);
/// "r1.block.0": layer function j of a run.
std::string layerName(const Run &run, unsigned j);

/// Declares what lives from step to step, in the order of the chains: of the model what the rank
/// holds. Error, at the run: a parameter or state that the run binds to nothing.
mlir::LogicalResult declarePersistent(ProgramValues &values, const Chains &chains);
/// Axes over which the sum of this name (a loss, a count, the norm) is pending when an entry has
/// ended: those of the chain, and that of the stages.
dist::Axes pendingAxes(sched::ProgramOp program, const Chain &chain, llvm::StringRef name);
/// Places for the sums over ranks that a step itself reads.
void declareSums(ProgramValues &values, const Chains &chains);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_VALUES_H

//===- NNRuns.h - making layers, cutting runs of them ---------------------===//
//
// For the phases that make layers of their own (parts, updates), and those that treat
// the layers of one list differently: weight decay, policies of recompute, stages.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_RUNS_H
#define TPLAN_DIALECTS_NN_RUNS_H

#include "dialects/nn/Parts.h"

namespace tplan::nn {

/// An empty layer function at the builder's place: an empty body and its return.
LayerOp createLayer(mlir::OpBuilder &builder, mlir::Location loc, const llvm::Twine &name);
/// Part `part` of a layer, empty like it.
LayerOp createPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::FlatSymbolRefAttr layer,
                   Part part);

/// The part of a layer, which is made where it is not there yet.
LayerOp partOrMade(mlir::SymbolTable &symbols, PartTable<LayerOp> &parts, mlir::OpBuilder &builder,
                   mlir::Location loc, mlir::FlatSymbolRefAttr layer, Part part);

/// Gives a layer the types of its body's arguments and results.
void takeTypesOfBody(LayerOp layer);

/// State `slot` of the weight that a layer calls so, `q.weight.m`; the context keeps the name.
Label labelOfState(mlir::MLIRContext *context, llvm::StringRef weight, llvm::StringRef slot);

/// A copy of a layer and of those of its `copied` parts that exist, named `name` or,
/// where that is taken, like it.
LayerOp copyLayer(mlir::SymbolTable &symbols, PartTable<LayerOp> &parts, LayerOp layer,
                  llvm::StringRef name, llvm::ArrayRef<Part> copied);

/// The parts that exist beside a joint function: all except those that its cut makes.
llvm::SmallVector<Part> partsBesideJoint();

/// The i32 scalar of this label, an argument that the layer gets unless it has it.
mlir::Value scalarOf(LayerOp layer, const Label &label);

/// Values that depend on a cotangent, which the layer takes as an argument: the backward of a joint
/// layer.
llvm::DenseSet<mlir::Value> backwardOf(LayerOp layer);

/// On a state that belongs to the training, and not to the model: what the optimizer's states call
/// one of this kind. It is in checkpoints with them, and `--load` leaves it as it is.
inline constexpr llvm::StringLiteral kStepState = "nn.step_state";

/// Layers of a run: times * callees.
int64_t layersOf(RunOp run);

/// The chain of a training step, and the one that counts what losses are means of.
inline constexpr llvm::StringLiteral kTrainChain = "train", kCountsChain = "counts";

/// An input of the second copy of all stages, apart from that of the first.
inline constexpr llvm::StringLiteral kCopy = "nn.copy";

/// A run of a list: several layers, or one with the attribute `nn.list`.
inline constexpr llvm::StringLiteral kList = "nn.list";
bool isListRun(RunOp run);

/// Cuts a run at `borders`, layer numbers inside it, ascending; the run is gone.
/// Gives the runs of each interval in order. An interval that begins or ends
/// inside a period of several kinds has up to three runs: the rest of a period,
/// whole periods, the beginning of one.
llvm::SmallVector<llvm::SmallVector<RunOp, 3>> cutRun(RunOp run, llvm::ArrayRef<int64_t> borders);

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_RUNS_H

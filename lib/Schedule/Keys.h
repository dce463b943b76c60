//===- Keys.h - names of the values that live between tasks ---------------===//
//
// `schedule` and `memory` write them on `sched.value` ops, `lower` asks by them.
// A key also names its value in the report.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_KEYS_H
#define TPLAN_SCHEDULE_KEYS_H

#include "dialects/tplan/LossScale.h"
#include "lib/Schedule/Chain.h"

namespace tplan::schedule {

/// "r1.block.0": layer function j of a run.
inline std::string layerKey(const Run &run, unsigned j) {
  return "r" + std::to_string(run.index) + "." + run.callees[j].name.str() + "." +
         std::to_string(j);
}
/// A residual: "r1.block.0.res_fw.h".
inline std::string residualKey(const Run &run, unsigned j, nn::Role role, llvm::StringRef name) {
  return layerKey(run, j) + "." + nn::stringifyRole(role).str() + "." + name.str();
}
/// Carried input number k of the layers of function j, kept for the backward.
inline std::string inputKey(const Run &run, unsigned j, unsigned k) {
  return layerKey(run, j) + ".in.c" + std::to_string(k);
}
/// Cotangent of carried result number k of the layers of function j, kept for W.
inline std::string cotangentKey(const Run &run, unsigned j, unsigned k) {
  return layerKey(run, j) + ".cot.c" + std::to_string(k);
}
/// A value of the chain: "tokens+1" for an input, "r0.embed.0.out.c0" for a result.
inline std::string chainKey(const Chain &chain, mlir::Value value) {
  nn::ChainOp op = chain.op;
  std::string prefix = op.getSymName() == "counts" ? "counts." : "";
  if (auto producer = chain.producerOf(value)) {
    const Run &run = chain.runs[producer->first];
    unsigned last = run.callees.size() - 1;
    return prefix + layerKey(run, last) + ".out.c" + std::to_string(producer->second);
  }
  auto input = value.getDefiningOp<nn::InputOp>();
  return prefix + input.getSource().str() + "+" + std::to_string(input.getShift());
}
/// Its cotangent.
inline std::string chainCotangentKey(const Chain &chain, mlir::Value value) {
  return chainKey(chain, value) + ".cot";
}

/// Instances of a parameter, its gradient, an optimizer state.
inline std::string paramKey(llvm::StringRef symbol) { return "param " + symbol.str(); }
inline std::string paramKey(nn::ParamOp param) { return paramKey(param.getSymName()); }
inline std::string gradientKey(nn::ParamOp param) { return "grad " + param.getSymName().str(); }
inline std::string stateKey(llvm::StringRef state, nn::ParamOp param) {
  return "state " + param.getSymName().str() + "." + state.str();
}
/// What the layers of function j contribute to their states and metrics, one instance a layer.
inline std::string contributionKey(const Run &run, unsigned j, llvm::StringRef name) {
  return layerKey(run, j) + ".contribution." + name.str();
}
/// Rows of tokens; scalars of a step; sums of losses and counts.
inline std::string inputRowsKey(llvm::StringRef source) { return "input " + source.str(); }
inline std::string scalarKey(llvm::StringRef name) { return "scalar " + name.str(); }
/// Scalars with an instance for each layer, its number in the model, and for each microbatch, the
/// first sequence of it in the batch.
inline constexpr llvm::StringLiteral kLayerScalar = "layer", kOffsetScalar = "offset";
inline std::string lossKey(llvm::StringRef name) { return "loss " + name.str(); }
inline std::string cotLossKey(llvm::StringRef name) { return "cot_loss " + name.str(); }
/// The squared norm on its way through the parts `norm`: two scalars in turn.
inline std::string normKey() { return "norm"; }
inline std::string gradNormKey() { return "grad_norm"; }
/// Of a scaled loss: the metrics of a step.
inline constexpr llvm::StringLiteral kLossScaleMetric = "loss_scale", kSkippedMetric = "skipped";
/// What all ranks have together of a count or of the squared norm, where each has a part.
inline std::string sumKey(llvm::StringRef name) { return "sum " + name.str(); }
/// Of a device: where what the host gives for the next step arrives, memory for library calls.
inline constexpr llvm::StringLiteral kStagingKey = "staging", kWorkspaceKey = "workspace";
/// Of a device: where the parts of the members of a group meet. Axes as reports spell them.
inline std::string scratchKey(llvm::ArrayRef<mlir::StringAttr> axes) {
  return "scratch of " + dist::spell(axes);
}
/// What the host gives for each step: rows of tokens, and scalars that are no constants.
inline bool isGiven(llvm::StringRef key) {
  if (!key.consume_front("scalar "))
    return key.starts_with("input ");
  return key != "norm" && key != lang::kUnscale && key != kLayerScalar && key != kOffsetScalar &&
         !key.starts_with("member.");
}
inline std::string outputKey(llvm::StringRef name) { return "output " + name.str(); }

/// "r1.F", with "counts." before it in that chain.
inline std::string partKey(const Chain &chain, const Run &run, Part part) {
  nn::ChainOp op = chain.op;
  return (op.getSymName() == "counts" ? "counts.r" : "r") + std::to_string(run.index) + "." +
         nn::factsOf(part).letter;
}
/// Temporaries of the functions that a run calls in a part.
inline std::string frameKey(const Chain &chain, const Run &run, Part part) {
  return "frame " + partKey(chain, run, part);
}
/// Carried value (or cotangent) number k on its way from layer to layer, where
/// nothing keeps it: two buffers in turn.
inline std::string handoverKey(const Chain &chain, const Run &run, Part part, unsigned k) {
  return "handover " + partKey(chain, run, part) + "." + std::to_string(k);
}

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_KEYS_H

//===- Trail.h - where values come from, to name the first that differs ---===//
//
// Read from the modules of a compile with probes (add-probes): every value of the training step in
// the order in which a step computes them, the collectives that its operands went through, and
// those that reduce the gradient of a weight.
//
// One decision: locations are those of the plan's own compile, so a difference is reported with
// lines of its sources.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_VERIFY_TRAIL_H
#define TPLAN_LIB_VERIFY_TRAIL_H

#include "dialects/nn/NN.h"
#include "lib/Verify/Train.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace tplan::verify {

/// A collective on the way of a value, or a sum that is to be made.
struct Passage {
  std::string what; // "it comes through all_reduce over tp of this"
  mlir::Location loc;
  std::vector<std::string> axes; // of the plan
};

/// An op, in one layer.
struct Point {
  std::string op, layer; // "nn.contract", "layer 3 of blocks"
  mlir::Location loc;
  bool backward;
  double off; // relative
  std::vector<Passage> passages;
};

/// A line of the plan that has an axis.
struct PlanLine {
  std::string axis, what; // "H, G, F, V are cut over tp here"
  mlir::Location loc;
};

class Trail {
public:
  /// Reads the modules after `parse`, `differentiate` and `shard`.
  void readPlan(mlir::ModuleOp module);
  void readValues(mlir::ModuleOp module);
  void readCollectives(mlir::ModuleOp module);

  std::string plan;
  std::optional<mlir::Location> planLoc;
  std::vector<PlanLine> lines;

  /// The first value whose probes differ, in the order of a step.
  std::optional<Point> first(const Tensors &serial, const Tensors &ranks) const;

  struct Weight {
    mlir::Location loc;
    std::vector<Passage> reduction; // of its gradient
  };
  /// The weight with this name in a checkpoint; null where there is none.
  const Weight *weight(llvm::StringRef name) const;

private:
  struct Value {
    std::string op;
    mlir::Location loc;
    bool backward;
    std::vector<int64_t> operands; // probes
  };
  struct Layer {
    int64_t number;
    std::string function, title;
  };
  std::vector<Layer> layers;                              // in the order of the forward
  std::map<std::string, std::map<int64_t, Value>> values; // by function and probe
  std::map<std::pair<std::string, int64_t>, std::vector<Passage>> passages;
  std::map<std::string, Weight, std::less<>> weights;

  bool differs(const Layer &layer, const std::map<int64_t, Value> &known, int64_t probe,
               const Tensors &serial, const Tensors &ranks, double &off) const;
};

} // namespace tplan::verify

#endif // TPLAN_LIB_VERIFY_TRAIL_H

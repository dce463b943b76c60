//===- WorkingCopies.h - narrow forms in which contractions read weights -----===//
//
// Weights stay f32, the masters, unless the plan keeps them narrow. A form of one that contractions
// read is made of one or several parameters of kind `copy`, which the part `update` of whoever
// updates the master writes, and part `prepare` before the first step.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PRECISION_WORKING_COPIES_H
#define TPLAN_PRECISION_WORKING_COPIES_H

#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Precision/Precision.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <functional>

namespace tplan::precision {

/// A form of a weight: arrays made of its master.
struct CopyForm {
  struct Array {
    std::string name;     // what its name adds to the weight's: `q.weight.bf16`
    bool isWhole = false; // it is small, and no shard of ZeRO cuts it
    bool operator==(const Array &) const = default;
  };
  llvm::SmallVector<Array, 2> arrays;
  /// Their types, of that of the master.
  std::function<llvm::SmallVector<nn::Tensor, 2>(nn::Tensor master)> types;
  /// The arrays themselves.
  std::function<llvm::SmallVector<mlir::Value, 2>(nn::NNBuilder &b, mlir::Value master)> make;
};

/// The working copies that one pass makes.
class WorkingCopies {
public:
  explicit WorkingCopies(mlir::ModuleOp module);

  /// The arrays of a parameter of a joint layer in this form, as arguments of the layer. Forms of
  /// one weight differ in their names.
  llvm::SmallVector<mlir::Value, 2> read(nn::LayerOp layer, mlir::BlockArgument param,
                                         const CopyForm &form);

  /// Makes the parameters, binds them in `runs`, and has them written.
  void finish(llvm::ArrayRef<nn::RunOp> runs);

private:
  /// A weight of a layer by its name there, and a form that is read of it.
  struct Read {
    std::string weight;
    const CopyForm *form;
  };
  /// A form of a master, its parameters, and the instances that are read in it.
  struct Copy {
    const CopyForm *form;
    llvm::SmallVector<nn::ParamOp, 2> arrays;
    llvm::SmallVector<Instances> read;
  };
  void bind(nn::RunOp run);
  Copy &copyOf(nn::ParamOp master, const CopyForm &form);
  bool followMasters(llvm::ArrayRef<nn::RunOp> runs);
  void write(nn::RunOp run);
  void write(mlir::DictionaryAttr bound, mlir::FlatSymbolRefAttr callee, nn::LayerOp update);

  mlir::SymbolTable symbols;
  nn::PartTable<nn::LayerOp> parts;
  std::deque<CopyForm> forms;
  /// The arrays of each parameter of a joint layer, by the name of a form's first one.
  llvm::DenseMap<mlir::Value, llvm::StringMap<llvm::SmallVector<mlir::Value, 2>>> args;
  llvm::StringMap<llvm::SmallVector<Read>> reads;                      // of each joint layer
  llvm::MapVector<mlir::Attribute, llvm::SmallVector<Copy, 1>> copies; // of each master
};

} // namespace tplan::precision

#endif // TPLAN_PRECISION_WORKING_COPIES_H

//===- PartKernels.h - kernels of parts of what others do -------------------===//
//
// A launch in chunks needs a kernel whose outermost loop has as many times fewer turns. One is made
// for each kernel and number of parts, however often it is launched.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_PARTKERNELS_H
#define TPLAN_OVERLAP_PARTKERNELS_H

#include "lib/Overlap/Cut.h"
#include "llvm/ADT/StringMap.h"

namespace tplan::overlap {

/// The kernel that is launched; none if that is a tile of attention.
rt::KernelOp kernelOf(rt::LaunchOp launch);

/// Whether a launch does the same for each part as for the whole: its rows one by one, or sums of
/// rows whose tasks end where parts do; a tile of attention, sequences one by one.
bool canLaunchInParts(rt::LaunchOp launch, const Cut &cut);

class PartKernels {
public:
  /// A launch of a part of what `whole` computes, whose operands are these.
  rt::LaunchOp launch(mlir::OpBuilder &b, rt::LaunchOp whole, const Cut &cut,
                      mlir::ValueRange args);
  /// A kernel by a key; none yet if nobody has made it.
  mlir::Operation *&operator[](llvm::StringRef key) { return kernels[key]; }
  size_t size() const { return kernels.size(); }
  /// Forgets all, and erases those that nobody launches.
  void eraseUnused(mlir::ModuleOp module);

private:
  llvm::StringMap<mlir::Operation *> kernels;
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_PARTKERNELS_H

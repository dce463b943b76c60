//===- Fuse.h - the fuse phase: functions become calls with known bytes ---===//
#ifndef TPLAN_LIB_FUSE_H
#define TPLAN_LIB_FUSE_H

#include "mlir/Pass/Pass.h"

namespace tplan::fuse {
/// Attribute of attention on a GPU: that the library computes it (a number: `chunk` of
/// rt.attention), or why it does not.
inline constexpr llvm::StringLiteral kLibrary = "fuse.library",
                                     kGeneratedFor = "fuse.generated_for";

#define GEN_PASS_DECL
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_H

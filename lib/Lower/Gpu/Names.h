//===- Gpu/Names.h - what the code of a device leaves for host program and emit -===//
#ifndef TPLAN_LOWER_GPU_NAMES_H
#define TPLAN_LOWER_GPU_NAMES_H

#include "llvm/ADT/StringRef.h"

namespace tplan::lower {

/// Symbols of the text of the kernels and of their code, each a tp_image: `emit` has them.
inline constexpr llvm::StringLiteral kPtx = "tplan.ptx", kCubin = "tplan.cubin";

/// An attribute of the gpu.module: an rt::DeviceKernelAttr for each kernel, by name.
inline constexpr llvm::StringLiteral kLaunches = "tp.launches";

} // namespace tplan::lower

#endif // TPLAN_LOWER_GPU_NAMES_H

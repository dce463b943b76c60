//===- Ptx.h - PTX from kernels in the NVVM dialect -----------------------===//
#ifndef TPLAN_EMIT_PTX_H
#define TPLAN_EMIT_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tplan::emit {

/// Architectures that there is PTX for: "sm_80", ...
llvm::ArrayRef<llvm::StringRef> gpuArchitectures();

/// PTX text of a gpu.module in the NVVM and LLVM dialects for an architecture
/// ("sm_90", ...). No file and no program of the CUDA toolkit is read or run. The same
/// module and architecture give the same text.
llvm::Expected<std::string> emitPtx(mlir::gpu::GPUModuleOp module, llvm::StringRef arch);

} // namespace tplan::emit

#endif // TPLAN_EMIT_PTX_H

//===- Image.h - kernels for a GPU inside an object -----------------------===//
#ifndef TPLAN_EMIT_IMAGE_H
#define TPLAN_EMIT_IMAGE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tplan::emit {

/// PTX, which any driver that is new enough translates when a job starts, and code for one
/// architecture, which saves that time, where there was a ptxas to make it.
struct KernelImage {
  std::string ptx;
  llvm::SmallVector<char, 0> cubin;

  /// Gives the module's declarations of these names their contents, each a tp_image: the text with
  /// a zero at its end, and the code.
  void defineIn(llvm::Module &module, llvm::StringRef text, llvm::StringRef code) const;
};

/// Makes the code with the ptxas on PATH or under CUDA_HOME. Without one, or where it does not know
/// the architecture, there is none. An error where it refuses the text: what it said.
llvm::Error assemble(KernelImage &image, llvm::StringRef arch);

} // namespace tplan::emit

#endif // TPLAN_EMIT_IMAGE_H

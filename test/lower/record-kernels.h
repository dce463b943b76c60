//===- record-kernels.h - launches, written down for a GPU that is elsewhere ===//
//
// Where RECORD_KERNELS names a folder, launches of gpu-on-cpu are written to files there: the PTX
// of each kernel, and for each launch the memory before and after it. test/gpu/play-kernels.cpp
// reads them.
//
// A file holds the kernels of one skeleton and type, as lines that say how many bytes follow:
//
//   kernel NAME THREADS BLOCKS BYTES    and the PTX
//   launch ARGUMENTS                    of the kernel above; then for each argument
//   buffer TYPE BYTES CHANGED           and its bytes; if CHANGED is 1, those after the launch
//   same ARGUMENT                       the memory of an argument that stands above
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LOWER_RECORD_KERNELS_H
#define TPLAN_TEST_LOWER_RECORD_KERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

class KernelRecord {
public:
  /// Reads the only rt.kernel or rt.tile of a module, before it is lowered.
  void begin(mlir::ModuleOp module);
  /// Keeps what it became.
  void keepKernel(mlir::gpu::GPUModuleOp kernels, int32_t threads, int32_t blocks);

  /// Called before a launch, and after it.
  void keep(const std::vector<void *> &args);
  /// The kernel comes first where the file ends with launches of another one: a test may have
  /// several, and launch them in turn.
  void writeLaunch(const std::vector<void *> &args);

private:
  bool isWhatTheFileEndsWith();

  struct Argument {
    std::string type;
    int64_t bytes;
  };
  std::string file, name, kernel;
  std::vector<Argument> arguments;
  std::vector<std::string> before;
};

#endif // TPLAN_TEST_LOWER_RECORD_KERNELS_H

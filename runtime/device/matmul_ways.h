//===- matmul_ways.h - the ways to do one tile of a GEMM -------------------===//
//
// One function per way: f32 (oneDNN), f64 (OpenBLAS), bf16 by oneDNN's matmul,
// bf16 and f16 widened into f32. matmul.cpp cuts and chooses.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_MATMUL_WAYS_H
#define TPLAN_RUNTIME_DEVICE_MATMUL_WAYS_H

#include "runtime/device/matmul_tiles.h"
#include "runtime/support/status.h"
#include "runtime/support/team.h"

#include <memory>
#include <vector>

namespace tplan::runtime {

/// to[i][j] += bias[j].
void addBias(float *to, int64_t stride, int64_t rows, int64_t columns, const float *bias);

/// False where the library refuses.
using TileFunction = bool (*)(void *way, const tp_gemm &gemm, const Tile &tile);

/// Makes oneDNN single-threaded on each thread of the team: its OpenMP keeps the
/// number of threads per calling thread.
Status setLibraryThreads(Team &team);

bool sgemmTile(void *way, const tp_gemm &gemm, const Tile &tile);

/// f64 by OpenBLAS, loaded when first used.
class Blas {
public:
  Status load();
  static bool tile(void *way, const tp_gemm &gemm, const Tile &tile);

private:
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double *, int, const double *,
                         int, double, double *, int);
  Dgemm dgemm = nullptr;
};

/// bf16 or f16 operands are widened panel by panel along K into f32, multiplied by oneDNN's f32
/// GEMM in ascending K; a bias is added, and the sum is rounded once where C is of their type.
class Widened {
public:
  Status prepare(Team &team, int32_t type);
  int64_t bytes() const { return held; }
  static bool tile(void *way, const tp_gemm &gemm, const Tile &tile);

private:
  struct Panels {
    float *a, *b, *c;
  };
  std::vector<Panels> panels; // of each thread
  std::unique_ptr<float[]> storage;
  int64_t held = 0;
};

/// bf16 by oneDNN's matmul primitives, one for each tile shape of a descriptor.
class LibraryBf16 {
public:
  LibraryBf16();
  ~LibraryBf16();

  /// Whether this CPU multiplies bf16, so that oneDNN does not emulate it.
  static bool native();

  /// The primitives of a descriptor, made when it is met first.
  Status prepare(Team &team, const tp_gemm &gemm, const Tiling &tiling, void *&way);
  int64_t bytes() const;
  static bool tile(void *way, const tp_gemm &gemm, const Tile &tile);

private:
  struct State;
  struct Entry;
  std::unique_ptr<State> state;
};

/// f8 with scales: panels of codes are widened, multiplied in f32 or by oneDNN's bf16, and added
/// with their scales.
class Scaled {
public:
  Scaled();
  ~Scaled();

  /// The products of a panel are done by `library` where that is not null, else in f32.
  Status prepare(Team &team, const tp_gemm &gemm, const tp_scales &scales, const Tiling &tiling,
                 const float *scaleA, const float *scaleB, LibraryBf16 *library);
  int64_t bytes() const;
  static bool tile(void *way, const tp_gemm &gemm, const Tile &tile);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_MATMUL_WAYS_H

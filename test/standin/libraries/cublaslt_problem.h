//===- cublaslt_problem.h - what one call of cublasLtMatmul multiplies -----------===//
//
// Descriptors as they are filled in, and the problem that a set of them makes.
//
// Decision: setting an attribute checks its size alone, as the library does; whether the
// whole makes sense is checked where it is used. An attribute that has no model here can
// only be set to its default.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_CUBLASLT_PROBLEM_H
#define TPLAN_TEST_STANDIN_CUBLASLT_PROBLEM_H

#include "cublaslt_api.h"

#include <span>
#include <string>

namespace standin::lt {

size_t bytesOf(int type);
const char *nameOfType(int type);

struct Layout {
  uint32_t type;
  int32_t order = orderCol;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
  int64_t plane = 0;
  uint32_t batchMode = 0;
};

struct Desc {
  int32_t compute, scale;
  int32_t pointerMode = pointerHost;
  int32_t transA = opN, transB = opN, transC = opN;
  int32_t fill = fillFull;
  uint32_t epilogue = epilogueDefault;
  void *bias = nullptr;
  int64_t biasStride = 0;
  int32_t biasType = -1;
  void *aux = nullptr;
  int64_t auxLd = 0, auxStride = 0;
  int32_t auxType = -1;
  int32_t smCount = 0;
  void *aScale = nullptr, *bScale = nullptr;
  int32_t aScaleMode = scaleScalar, bScaleMode = scaleScalar;
  int8_t fastAccum = 0;
  uint64_t none = 0; // what stands for every attribute without a model
};

struct Preference {
  uint32_t search = searchBestFit;
  uint64_t maxWorkspace = 0;
  uint32_t schemes = schemeMask;
  uint32_t alignment[4] = {256, 256, 256, 256}; // of A, B, C, D
  float maxWaves = 0;
  uint64_t implementations = ~uint64_t(0);
};

struct Attribute {
  int id;
  size_t offset, size;
  bool modelled;
};

std::span<const Attribute> attributesOf(const Layout *);
std::span<const Attribute> attributesOf(const Desc *);
std::span<const Attribute> attributesOf(const Preference *);

/// A status, with the reason where it is not success.
struct Verdict {
  int status = success;
  std::string why;
  bool ok() const { return status == success; }
};

/// D = alpha op(A) op(B) + beta C, with what else decides which algorithms fit.
struct Problem {
  int32_t compute, scale;
  bool transA, transB;
  uint32_t epilogue;
  int64_t m, n, k;
  int32_t batch;
  Layout a, b, c, d;
  int32_t biasType, auxType;
  int64_t biasStride, auxLd, auxStride;
  int32_t aScaleMode, bScaleMode;
  int8_t fastAccum;

  bool isEight() const { return bytesOf(a.type) == 1; }
  /// How much of k is summed before it is multiplied by scales.
  int64_t panel() const { return aScaleMode >= scaleVec128 ? 128 : k; }
  bool adds() const { return epilogue & epilogueBias; }
  bool gradientOfBias() const { return epilogue & (16 | epilogueBgradA | epilogueBgradB); }
  bool usesBias() const { return adds() || gradientOfBias(); }
  bool usesAux() const { return epilogue & 128; }
  bool writesAux() const { return usesAux() && epilogue & epilogueGelu; }
  bool isDouble() const { return scale == typeF64; }
  int64_t biasLength() const { return epilogue & epilogueBgradB ? n : m; }
};

Verdict makeProblem(const Desc &desc, const Layout &a, const Layout &b, const Layout &c,
                    const Layout &d, Problem &problem);

/// Equal for problems that one algorithm fits.
uint64_t hashOf(const Problem &problem);
/// The same by the types alone.
uint64_t hashOfTypes(int compute, int scale, int a, int b, int c, int d);
bool typesFit(int compute, int scale, int a, int b, int cd);

/// Where the scale of a row's panel is among the scales of a matrix with so many rows.
int64_t placeOfScale(int mode, int64_t rows, int64_t k, int64_t row, int64_t panel);
/// How many scales there are.
int64_t countOfScales(int mode, int64_t rows, int64_t k);

/// Bytes from the first to the last element, all batches.
size_t extentOf(const Layout &layout);
/// Whether matrices of these layouts share an element, one `distance` bytes after the other.
bool overlap(const Layout &first, const Layout &second, int64_t distance);

} // namespace standin::lt

#endif // TPLAN_TEST_STANDIN_CUBLASLT_PROBLEM_H

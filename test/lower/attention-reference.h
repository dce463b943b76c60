//===- attention-reference.h - attention by its definition, in double -----===//
//
// Tensors of a problem are kept in double precision by name; running a kernel
// converts them to its element type and back, in the listed order of dimensions.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LOWER_ATTENTION_REFERENCE_H
#define TPLAN_TEST_LOWER_ATTENTION_REFERENCE_H

#include "test/lower/attention-jit.h"
#include <array>
#include <map>
#include <string>
#include <vector>

namespace tplan::test {

/// Rows that lie at the logical positions start, start + 1, ...
struct Piece {
  int64_t size, start;
};

/// Dimensions by letter: B and C are batches, S queries, T keys, H heads, G key
/// heads, K width.
struct Problem {
  std::string qOrder = "BSHK", kOrder = "BTGK", lseOrder = "BSH";
  int64_t batch = 2, batch2 = 3, queries = 70, keys = 70, heads = 4, groups = 2, width = 24;
  double scale = 0.2;
  std::string mask = "causal", element = "f64";
  /// All rows, in order; none where each row's number is its position.
  std::vector<Piece> qPieces, kPieces;

  int64_t size(char dim) const;
  std::string text(const std::string &pass) const;
  int64_t qPosition(int64_t row) const;
  int64_t kPosition(int64_t row) const;
};

nn::MaskAttr parseMask(const Problem &p, mlir::MLIRContext &context);

/// An index has a place for each letter; those that a tensor lacks are ignored.
using Index = std::array<int64_t, 128>;

struct Tensor {
  std::string order;
  std::array<int64_t, 128> strides{}; // 0 for dimensions that it lacks
  std::vector<double> data;

  Tensor() = default;
  Tensor(const Problem &p, const std::string &order);
  double &at(const Index &i) {
    size_t at = 0;
    for (char dim : {'B', 'C', 'S', 'T', 'H', 'G', 'K'})
      at += strides[dim] * i[dim];
    return data[at];
  }
};
using Tensors = std::map<std::string, Tensor>;

/// Shapes at which tiles, vectors and heads divide nothing, and each number of batches.
std::vector<Problem> shapes();

/// q, k, v, d_out, and d_lse with values that the element type holds.
Tensors randomTensors(const Problem &p);
void referenceForward(const Problem &p, Tensors &t);
/// delta = sum of out * d_out, less d_lse.
void referenceDelta(const Problem &p, Tensors &t);
/// From q, k, v, d_out and d_lse alone.
void referenceBackward(const Problem &p, Tensors &t);

/// Runs a kernel made from p.text("forward") or p.text("backward") on the tensors
/// of t. Each argument lies between pages that may not be touched, outputs begin
/// with every bit set.
void runForward(const Problem &p, Tensors &t, const AttentionKernel &kernel);
void runBackward(const Problem &p, Tensors &t, const AttentionKernel &kernel);
void runForward(const Problem &p, Tensors &t, const JitOptions &options = {});
void runBackward(const Problem &p, Tensors &t, const JitOptions &options = {});

/// Largest |a - b|, relative to the larger of |b| and the root mean square of b;
/// infinite where only one is, or where there is a NaN.
double difference(const Tensor &a, const Tensor &b);

} // namespace tplan::test

#endif // TPLAN_TEST_LOWER_ATTENTION_REFERENCE_H

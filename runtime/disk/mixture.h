//===- mixture.h - which source a row comes from ---------------------------===//
//
// Sources of data are mixed by rows: each source has its weight of the first n rows of a training,
// to within less than the number of sources, and its own rows come one after the other.
//
// One decision: the source of row r, and its place there, are a formula of r: a position in the
// data is one number, no plan changes what a row is, and a resume replays nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_MIXTURE_H
#define TPLAN_RUNTIME_DISK_MIXTURE_H

#include <cstdint>
#include <vector>

namespace tplan::runtime {

class Mixture {
public:
  /// Weights above 0, which need not add up to 1.
  explicit Mixture(const std::vector<double> &weights = {1});

  struct Place {
    int64_t source, row; // of the source
  };
  Place operator[](int64_t row) const;

private:
  /// The share of each source in what it and the later ones have together, in units of 2^-63; that
  /// of the last is all.
  std::vector<uint64_t> parts;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_MIXTURE_H

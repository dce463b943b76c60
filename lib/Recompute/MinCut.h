//===- MinCut.h - the cheapest set of values to keep ----------------------===//
//
// Nodes have a price (keeping the value); an edge says that computing the second
// node again needs the first. The cut is the cheapest set of nodes that parts the
// source from the sink. Among equal ones the cut nearest to the sink is taken:
// it leaves least to compute again.
//
// Dinic, "Algorithm for solution of a problem of maximum flow", 1970.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_RECOMPUTE_MINCUT_H
#define TPLAN_LIB_RECOMPUTE_MINCUT_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tplan::recompute {

class MinCut {
public:
  static constexpr int64_t kNever = INT64_MAX / 4; // price of what cannot be kept

  /// A value that costs `price` bytes to keep.
  unsigned addNode(int64_t price);
  void addEdge(unsigned from, unsigned to) { connect(out(from), in(to), kNever); }
  void addSource(unsigned node) { connect(kSource, in(node), kNever); }
  void addSink(unsigned node) { connect(out(node), kSink, kNever); }

  /// Nodes to keep, ascending.
  llvm::SmallVector<unsigned> solve();

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  static constexpr unsigned kSource = 0, kSink = 1;
  static unsigned in(unsigned node) { return 2 + 2 * node; }
  static unsigned out(unsigned node) { return 3 + 2 * node; }
  void connect(unsigned from, unsigned to, int64_t capacity);
  llvm::SmallVector<int> distances() const;
  bool augment();

  llvm::SmallVector<Edge> edges; // edge 2i and its reverse 2i + 1
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> adjacent = {{}, {}};
  unsigned numNodes = 0;
};

} // namespace tplan::recompute

#endif // TPLAN_LIB_RECOMPUTE_MINCUT_H

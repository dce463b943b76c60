//===- MinCut.cpp - maximum flow, all shortest paths at a time ------------===//
#include "lib/Recompute/MinCut.h"
#include <algorithm>
#include <deque>

using namespace tplan::recompute;

unsigned MinCut::addNode(int64_t price) {
  unsigned node = numNodes++;
  adjacent.resize(2 + 2 * numNodes);
  connect(in(node), out(node), price);
  return node;
}

void MinCut::connect(unsigned from, unsigned to, int64_t capacity) {
  adjacent[from].push_back(edges.size());
  edges.push_back({to, capacity});
  adjacent[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// How far each vertex is from the source, -1 where it cannot be reached.
llvm::SmallVector<int> MinCut::distances() const {
  llvm::SmallVector<int> level(adjacent.size(), -1);
  std::deque<unsigned> queue = {kSource};
  level[kSource] = 0;
  while (!queue.empty()) {
    unsigned at = queue.front();
    queue.pop_front();
    for (unsigned e : adjacent[at])
      if (edges[e].capacity > 0 && level[edges[e].to] < 0) {
        level[edges[e].to] = level[at] + 1;
        queue.push_back(edges[e].to);
      }
  }
  return level;
}

/// Fills all shortest paths to the sink; false where there is none, or one that cannot
/// be cut.
bool MinCut::augment() {
  llvm::SmallVector<int> level = distances();
  if (level[kSink] < 0)
    return false;
  llvm::SmallVector<unsigned> next(adjacent.size(), 0); // edges before are dead ends
  llvm::SmallVector<unsigned> path;                     // edges from the source
  unsigned at = kSource;
  while (true) {
    if (at == kSink) {
      int64_t flow = kNever;
      for (unsigned e : path)
        flow = std::min(flow, edges[e].capacity);
      for (unsigned e : path) {
        edges[e].capacity -= flow;
        edges[e ^ 1].capacity += flow;
      }
      if (flow == kNever)
        return false;
      path.clear();
      at = kSource;
      continue;
    }
    unsigned &n = next[at];
    auto leads = [&](unsigned e) {
      return edges[e].capacity > 0 && level[edges[e].to] == level[at] + 1;
    };
    while (n < adjacent[at].size() && !leads(adjacent[at][n]))
      ++n;
    if (n < adjacent[at].size()) {
      path.push_back(adjacent[at][n]);
      at = edges[path.back()].to;
    } else if (path.empty()) {
      return true;
    } else {
      at = edges[path.pop_back_val() ^ 1].to;
      ++next[at];
    }
  }
}

llvm::SmallVector<unsigned> MinCut::solve() {
  while (augment()) {
  }
  // Vertices from which the sink can still be reached: walk edges backwards.
  llvm::SmallVector<bool> reaches(adjacent.size());
  std::deque<unsigned> queue = {kSink};
  reaches[kSink] = true;
  while (!queue.empty()) {
    unsigned at = queue.front();
    queue.pop_front();
    for (unsigned e : adjacent[at])
      if (edges[e ^ 1].capacity > 0 && !reaches[edges[e].to]) {
        reaches[edges[e].to] = true;
        queue.push_back(edges[e].to);
      }
  }
  llvm::SmallVector<unsigned> cut;
  for (unsigned node = 0; node < numNodes; ++node)
    if (!reaches[in(node)] && reaches[out(node)])
      cut.push_back(node);
  return cut;
}

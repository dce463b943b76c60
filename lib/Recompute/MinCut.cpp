//===- MinCut.cpp - maximum flow by shortest augmenting paths -------------===//
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

bool MinCut::augment() {
  llvm::SmallVector<int> via(adjacent.size(), -1); // edge by which a vertex was reached
  std::deque<unsigned> queue = {kSource};
  while (!queue.empty() && via[kSink] < 0) {
    unsigned at = queue.front();
    queue.pop_front();
    for (unsigned e : adjacent[at])
      if (edges[e].capacity > 0 && via[edges[e].to] < 0 && edges[e].to != kSource) {
        via[edges[e].to] = e;
        queue.push_back(edges[e].to);
      }
  }
  if (via[kSink] < 0)
    return false;
  int64_t flow = kNever;
  for (unsigned v = kSink; v != kSource; v = edges[via[v] ^ 1].to)
    flow = std::min(flow, edges[via[v]].capacity);
  for (unsigned v = kSink; v != kSource; v = edges[via[v] ^ 1].to) {
    edges[via[v]].capacity -= flow;
    edges[via[v] ^ 1].capacity += flow;
  }
  return flow < kNever;
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

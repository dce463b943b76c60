//===- Liveness.h - what is in memory at each point of a program ----------===//
//
// A point is one run of one task, in the order of the program: prepare, counts,
// tasks, N, U, S, evaluate. A block is a piece of memory that has one place: a slot of
// a family, a value of the chain @counts, the frame of a run and part. What lives
// from step to step is no block; it is added to the arena.
//
// One decision: where there are more slots than kMostSlots, all of a family are one
// block, for the time to place blocks grows with the square of their number.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_MEMORY_LIVENESS_H
#define TPLAN_MEMORY_LIVENESS_H

#include "dialects/sched/Sched.h"
#include "lib/Schedule/Chain.h"
#include "llvm/ADT/BitVector.h"
#include <map>
#include <string>
#include <vector>

namespace tplan::memory {

struct Piece {
  std::string key;
  sched::Owner owner;
  int64_t bytes = 0;      // of one instance
  int64_t count = 1;      // instances at a constant stride
  sched::FamilyOp family; // of which it is the memory, or null
  int64_t slot = -1;      // of the family, or -1: all of them
  int64_t total() const { return sched::alignUp(bytes) * count; }
};

class Liveness {
public:
  Liveness(sched::ProgramOp program, const schedule::Chain &train, const schedule::Chain *counts);

  std::vector<Piece> blocks;
  /// Blocks that are live at one point, by pairs.
  std::vector<llvm::BitVector> conflicts;
  /// The largest sum of live bytes, where it is, and each block's share of it.
  int64_t peak = 0;
  std::string peakName;
  std::vector<int64_t> atPeak;

private:
  /// From point `begin` to `end`, `bytes` of a block are live.
  struct Interval {
    size_t block;
    int64_t begin, end, bytes;
  };
  struct Point {
    const schedule::Chain *chain;
    const schedule::Run *run;
    schedule::Part part;
    int64_t stage, microbatch; // of a task, or -1
  };

  sched::ProgramOp program;
  const schedule::Chain &train;
  bool split;
  std::vector<Interval> intervals;
  std::vector<Point> points;
  std::map<std::string, size_t> byKey;

  size_t addBlock(Piece block);
  void addTransients(const schedule::Chain &chain, const schedule::Run &run, schedule::Part part);
  int64_t addPoint(const schedule::Chain &chain, const schedule::Run &run, schedule::Part part,
                   int64_t stage = -1, int64_t microbatch = -1);
  void addTaskPoints();
  void addFamilies();
  size_t addFamily(sched::FamilyOp family, bool apart);
  void addChainPass(const schedule::Chain &chain);
  void sweep();
  std::string describe(const Point &point) const;

  /// Points of task (kind, stage, microbatch): [first, last].
  std::map<std::tuple<int, int64_t, int64_t>, std::pair<int64_t, int64_t>> taskPoints;
  int64_t pointOf(sched::TaskKind kind, int64_t stage, int64_t microbatch, unsigned run) const;
};

} // namespace tplan::memory

#endif // TPLAN_MEMORY_LIVENESS_H

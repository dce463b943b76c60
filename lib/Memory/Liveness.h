//===- Liveness.h - what is in memory at each point of a program ----------===//
//
// A point is one execution of an op of a section, in the order of the entries. A block is a piece
// of memory that has one place: a slot of a family, or a value that lives as long as a section or
// an entry. What lives from step to step is no block; it is added to the arena.
//
// One decision: where there are more slots than kMostSlots, all of a family are one
// block, because the time to place blocks grows with the square of their number.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_MEMORY_LIVENESS_H
#define TPLAN_MEMORY_LIVENESS_H

#include "dialects/sched/Sched.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <vector>

namespace tplan::memory {

struct MemoryBlock {
  sched::ValueOp value;   // the value that it is the memory of, or null
  sched::FamilyOp family; // the family that it is the memory of, or null; of a pool the first one
  int64_t slot = -1;      // the slot of the family or pool, or -1: all of the family's
  int64_t bytes = 0;      // bytes in all
};

class Liveness {
public:
  explicit Liveness(sched::ProgramOp program);

  std::vector<MemoryBlock> blocks;
  /// Blocks that are live at one point, by pairs.
  std::vector<llvm::BitVector> conflicts;
  /// The largest sum of live bytes, where it is, and each block's share of it.
  int64_t peak = 0;
  std::string peakName;
  std::vector<int64_t> atPeak;

  /// The block that has slot i of a family.
  size_t blockOfSlot(sched::FamilyOp family, int64_t slot) const;

private:
  /// From point `begin` to `end`, `bytes` of a block are live.
  struct Interval {
    size_t block;
    int64_t begin, end, bytes;
  };
  /// The points of an execution of a section: its ops in turn.
  struct Execution {
    int64_t first;
    sched::SectionOp section;
    int64_t microbatch;
  };
  /// What an op touches.
  struct Touched {
    mlir::Operation *of; // the value or family
    sched::Life lives;
    int64_t shift;                // added to the microbatch
    int64_t bytes;                // live bytes; a frame may have more
    const sched::FamilyOp family; // or null
  };
  /// The first and the last point that touched something.
  struct Span {
    int64_t begin = -1, end = -1, bytes = 0;
    void touch(int64_t point, int64_t live);
    /// Adds the touches of `other`, shifted by `first` points.
    void touch(const Span &other, int64_t first);
  };
  /// What each execution of a section touches: the same blocks at the same points, counted from its
  /// first.
  struct Section {
    int64_t points = 0;
    std::vector<std::pair<Touched, Span>> touched; // by block
  };

  sched::ProgramOp program;
  bool apart = true; // slots are blocks of their own
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<sched::Step>> touching; // at ops of sections
  std::vector<Interval> intervals;
  std::vector<Execution> executions;
  int64_t points = 0;
  llvm::DenseMap<mlir::Operation *, size_t> blockOf; // of values and families: the first one
  llvm::DenseMap<std::pair<int64_t, int64_t>, size_t> blockOfPool; // by slot of a pool
  llvm::DenseMap<mlir::Operation *, Section> sections;

  void addBlocks();
  std::vector<Touched> touchedBy(mlir::Operation *op);
  size_t firstBlockOf(const Touched &touched) const;
  const Section &sectionOf(sched::SectionOp op);
  void addEntry(sched::EntryOp entry);
  void sweep();
  std::string describe(int64_t point) const;
};

} // namespace tplan::memory

#endif // TPLAN_MEMORY_LIVENESS_H

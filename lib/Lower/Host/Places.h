//===- Host/Places.h - addresses of the values that functions are given ---===//
//
// Turns `sched.value` ops and the uses of them into code that computes an address, given the
// microbatch and the period of a run.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_PLACES_H
#define TPLAN_LOWER_HOST_PLACES_H

#include "dialects/sched/Sched.h"
#include "lib/Lower/Host/Builder.h"

namespace tplan::lower {

/// Where memory is, in code that several programs share: a place for each use of an op, in the
/// order of the uses. Places are taken in this order as the code is emitted.
struct PlaceTables {
  mlir::Value offsets, pointers;
  int64_t nextOffset = 0, nextPointer = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> families =
      llvm::DenseMap<mlir::Operation *, int64_t>(); // where their pointers are
};

/// What those tables say of a use.
struct PlaceOfUse {
  sched::ValueOp value;
  mlir::AffineMap instance; // without its constant, which the offset includes; null: it is all
  int64_t offset;           // in the arena, or in the slot
  sched::FamilyOp family;   // the value is in its slot for the microbatch; null: it is in no slot
  int64_t shift;            // added to the microbatch
};

/// Where code of a section runs.
struct SectionContext {
  mlir::Value rank, arena;
  mlir::Value microbatch;      // i64
  bool isOfTask;               // values are those of the microbatch; else those of slot 0
  mlir::Value period = {};     // i64, of a run; null outside
  int64_t times = 1;           // periods of the run
  mlir::Value lastPeriod = {}; // of a run that several programs share
  PlaceTables *tables = nullptr;
};

/// What lives from step to step, as it lies in the arena.
llvm::SmallVector<sched::ValueOp> valuesInPlace(sched::ProgramOp program);

class HostPlaces {
public:
  HostPlaces(HostBuilder &host, sched::ProgramOp program);

  /// The value with this key, or null.
  sched::ValueOp find(sched::KeyAttr key) const { return values.lookup(key); }
  sched::ValueOp find(sched::ValueKind kind, llvm::StringRef name = "") const;

  /// The address of what an op uses. With tables, the uses of an op must be asked for in order.
  mlir::Value at(const sched::Use &use, const SectionContext &context);
  /// The same section for the microbatch of which a use is.
  SectionContext shifted(SectionContext context, const sched::Use &use);
  /// The next pointer of the tables.
  mlir::Value pointer(PlaceTables &tables) {
    return host.loadPointer(tables.pointers, tables.nextPointer++);
  }
  /// The same as the tables have it; values at borders come before those that they stand for.
  llvm::SmallVector<PlaceOfUse> placesOf(sched::Step step, bool isOfTask) const;
  /// The slot of each microbatch, and where the slots of a family are.
  std::pair<Table<int32_t>, Table<int64_t>> slotsOf(sched::FamilyOp family);
  /// Offset of instance 0 in the arena, in slot 0.
  int64_t offsetOf(sched::ValueOp value) const;

private:
  HostBuilder &host;
  sched::ProgramOp program;
  llvm::DenseMap<mlir::Attribute, sched::ValueOp> values;
  llvm::DenseMap<mlir::StringAttr, sched::FamilyOp> families;

  sched::FamilyOp familyOf(sched::ValueOp value) const;
  PlaceOfUse placeOf(sched::ValueOp value, const sched::Use &use, mlir::AffineMap instance,
                     bool isOfTask) const;
  mlir::Value fromTables(const PlaceOfUse &place, const SectionContext &context);
  mlir::Value at(sched::ValueOp value, mlir::Value instance, const SectionContext &context);
  mlir::Value emit(mlir::AffineExpr instance, const SectionContext &context);
  mlir::Value slot(mlir::Value slotOf, mlir::Value slots, const SectionContext &context);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PLACES_H

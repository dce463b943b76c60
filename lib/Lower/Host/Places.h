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

/// Where code of a section runs.
struct SectionContext {
  mlir::Value rank, arena;
  mlir::Value microbatch; // i64
  bool slots;             // values are those of the microbatch; else those of slot 0
  mlir::Value period;     // i64, of a run; null outside
  int64_t times = 1;      // periods of the run
};

/// What lives from step to step, as it lies in the arena.
llvm::SmallVector<sched::ValueOp> valuesInPlace(sched::ProgramOp program);

class HostPlaces {
public:
  HostPlaces(HostBuilder &host, sched::ProgramOp program);

  /// The value with this key, or null.
  sched::ValueOp find(sched::KeyAttr key) const { return values.lookup(key); }
  sched::ValueOp find(sched::ValueKind kind, llvm::StringRef name = "") const;

  /// Where what an op uses is.
  mlir::Value at(const sched::Use &use, const SectionContext &context);
  /// Offset of instance 0 in the arena, in slot 0.
  int64_t offsetOf(sched::ValueOp value) const;

private:
  HostBuilder &host;
  sched::ProgramOp program;
  llvm::DenseMap<mlir::Attribute, sched::ValueOp> values;
  llvm::DenseMap<mlir::StringAttr, sched::FamilyOp> families;
  llvm::DenseMap<mlir::StringAttr, std::string> slotTables; // by family

  sched::FamilyOp familyOf(sched::ValueOp value) const;
  mlir::Value at(sched::ValueOp value, mlir::Value instance, const SectionContext &context);
  mlir::Value emit(mlir::AffineExpr instance, const SectionContext &context);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PLACES_H

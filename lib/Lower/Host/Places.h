//===- Host/Places.h - addresses of the values that functions are given ---===//
//
// Turns the keys of `sched.value` ops into code that computes an address, given
// the microbatch and the layer.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_PLACES_H
#define TPLAN_LOWER_HOST_PLACES_H

#include "dialects/sched/Sched.h"
#include "lib/Lower/Host/Builder.h"

namespace tplan::lower {

class HostPlaces {
public:
  HostPlaces(HostBuilder &host, sched::ProgramOp program);

  bool has(llvm::StringRef key) const { return values.contains(key); }
  sched::ValueOp find(llvm::StringRef key) const { return values.lookup(key).value; }

  /// Instance `instance` (i64) of a value that lives from step to step, of slot 0
  /// of a family, or of a transient. `arena` is the rank's.
  mlir::Value at(mlir::Value arena, llvm::StringRef key, mlir::Value instance);
  mlir::Value at(mlir::Value arena, llvm::StringRef key) { return at(arena, key, host.number(0)); }
  /// The same in the slot of a microbatch (i64).
  mlir::Value at(mlir::Value arena, llvm::StringRef key, mlir::Value instance,
                 mlir::Value microbatch);
  /// Offset of instance 0 in the arena, in slot 0.
  int64_t offsetOf(llvm::StringRef key) const;

private:
  struct Entry {
    sched::ValueOp value;
    sched::FamilyOp family; // or null
  };
  HostBuilder &host;
  llvm::StringMap<Entry> values;
  llvm::StringMap<std::string> slotTables; // by family
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_PLACES_H

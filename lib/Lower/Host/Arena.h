//===- Host/Arena.h - which bytes of the arena are whose ------------------===//
#ifndef TPLAN_LOWER_HOST_ARENA_H
#define TPLAN_LOWER_HOST_ARENA_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"

namespace tplan::lower {

/// The slots of a program, as its tables have them.
struct ArenaTables {
  Address<tp_slot> slots;
  int64_t count;
  Table<int64_t> bases;
};

/// The names of all programs' slots, one after the other, each with a zero.
class ArenaNames {
public:
  int64_t placeOf(llvm::StringRef name);
  llvm::StringRef getText() const { return text; }

private:
  std::string text;
  llvm::StringMap<int64_t> places;
};

/// Every byte that calls touch: values without the padding between them, frames without their
/// holes.
ArenaTables arenaTables(HostBuilder &host, sched::ProgramOp program, HostPlaces &places,
                        const HostCalls &calls, ArenaNames &names);

/// The piece of the arena that the host gives for each step: where it begins and ends.
std::pair<int64_t, int64_t> givenPiece(sched::ProgramOp program);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_ARENA_H

//===- nccl_handle.h - communicators of NCCL, their life and errors ----------===//
//
// A communicator is made, used and ended without NCCL blocking the host: after every call it is
// asked until nothing is in progress, and meanwhile lost ranks are looked for.
//
// One decision: an error of NCCL's is reported only when all ranks have said that they are there.
// NCCL finds a lost peer as other ranks do, before or after them, and knows no names.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_NCCL_HANDLE_H
#define TPLAN_RUNTIME_TRANSPORTS_NCCL_HANDLE_H

#include "runtime/libraries/nccl_library.h"
#include "runtime/ranks/transport.h"
#include "runtime/transports/links.h"
#include "runtime/transports/places.h"

#include <set>

namespace tplan::runtime {

class NcclHandle;

/// What the communicators of a rank share.
struct NcclRank {
  NcclLibrary nccl;
  Links links;
  Places places;
  double hangLimit = 0;
  Device *device = nullptr;
  char *arena = nullptr;
  int64_t arenaBytes = 0;
  bool native = false; // NCCL adds
  int channels = 0;    // of a group, at most; 0: as many as NCCL likes
  std::set<NcclHandle *> handles;
  Traffic traffic;

  /// Called while the host waits for the device: looks for lost ranks, errors of NCCL and
  /// collectives that stand still.
  Status watch(double waited);
  /// Finds the cause of an error of NCCL's.
  Status explain(Status error);
  Status standsStill(double seconds);
};

class NcclHandle {
public:
  NcclHandle(NcclRank &rank, std::string name);
  ~NcclHandle();
  NcclHandle(const NcclHandle &) = delete;

  /// Joins as this one of all ranks; all ranks have the same id.
  Status join(const nccl::UniqueId &id);
  /// Called by all members of the parent at once; those of one color are together. A rank without a
  /// color gets nothing.
  Status split(NcclHandle &parent, int color, int key);
  /// Registers the arena, where NCCL can make use of it.
  Status registerArena();

  /// Calls between `begin` and `end` go together; the result of each is checked.
  Status begin();
  Status end();
  Status poll();

  nccl::Communicator *get() const { return handle; }

private:
  /// Waits until nothing is in progress.
  Status settle(const char *what, double seconds);

  NcclRank &rank;
  const std::string name;
  nccl::Communicator *handle = nullptr;
  void *registered = nullptr;
};

/// Leaves the enclosing function unless a call of the library succeeds, or is in progress.
#define TP_NCCL(RANK, CALL)                                                                        \
  do {                                                                                             \
    if (Status tpCall = (RANK).nccl.check((RANK).nccl.CALL, "nccl" #CALL); !tpCall.ok())           \
      return (RANK).explain(std::move(tpCall));                                                    \
  } while (false)

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_NCCL_HANDLE_H

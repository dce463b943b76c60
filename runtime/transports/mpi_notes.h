//===- mpi_notes.h - notes between processes under MPI --------------------===//
//
// They go over the world itself, where nothing else does. Each is small enough to be on its way
// when the call that sends it returns.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_MPI_NOTES_H
#define TPLAN_RUNTIME_TRANSPORTS_MPI_NOTES_H

#include "runtime/libraries/mpi_library.h"
#include "runtime/ranks/notes.h"

#include <atomic>
#include <mutex>

namespace tplan::runtime {

class MpiNotes : public Notes {
public:
  /// MPI is called with the lock `entry` held.
  MpiNotes(const MpiLibrary &mpi, double hangLimit, std::recursive_mutex &entry)
      : mpi(mpi), hangLimit(hangLimit), entry(entry) {}

  Status send(int to, const Note &note) override;
  Status look(bool waits) override;
  double limit() const override { return 10 * hangLimit; }

  /// Whether this rank waits for the others' notes, and how many have come; may be called by any
  /// thread.
  bool waiting() const { return inside; }
  uint32_t progress() const { return taken; }

private:
  const MpiLibrary &mpi;
  const double hangLimit;
  std::recursive_mutex &entry;
  std::atomic<bool> inside{false};
  std::atomic<uint32_t> taken{0};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_MPI_NOTES_H

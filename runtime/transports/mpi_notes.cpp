//===- mpi_notes.cpp - notes between processes under MPI ------------------===//

#include "runtime/transports/mpi_notes.h"

#include <unistd.h>

using namespace tplan::runtime;

namespace {

constexpr int tag = 1;
constexpr int waitMicroseconds = 200;

} // namespace

Status MpiNotes::send(int to, const Note &note) {
  std::lock_guard guard(entry);
  return mpi.check(mpi.Send(&note, sizeof note, mpi.byte, to, tag, mpi.world), "Send");
}

Status MpiNotes::look(bool waits) {
  if (!heard)
    return {};
  std::unique_lock guard(entry);
  for (bool first = true;; first = false) {
    int there = 0;
    TP_TRY(mpi.check(mpi.Iprobe(MpiLibrary::anySource, tag, mpi.world, &there,
                                /*MPI_STATUS_IGNORE*/ nullptr),
                     "Iprobe"));
    inside = waits && first && !there;
    if (inside) {
      guard.unlock();
      usleep(waitMicroseconds);
      guard.lock();
    }
    if (!there)
      return {};
    Note note;
    TP_TRY(mpi.check(mpi.Recv(&note, sizeof note, mpi.byte, MpiLibrary::anySource, tag, mpi.world,
                              /*MPI_STATUS_IGNORE*/ nullptr),
                     "Recv"));
    ++taken;
    TP_TRY(heard(note));
  }
}

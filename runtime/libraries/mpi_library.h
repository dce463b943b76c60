//===- mpi_library.h - libmpi, loaded at run time ---------------------------===//
//
// A binary starts on a machine without MPI, so nothing is linked and no header of MPI is
// read: the few functions and handles that are used stand here, as Open MPI 4 and 5 have
// them, whose handles are addresses of objects of the library.
//
// One decision: functions are looked up in the whole program first, so that a layer which
// stands before the library (a profiler, the counter of the tests) sees the calls.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_MPI_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARIES_MPI_LIBRARY_H

#include "runtime/support/status.h"

#include <string>

namespace tplan::runtime {

struct MpiLibrary {
  using Comm = void *;
  using Request = void *;

#define TP_MPI_FUNCTIONS(FUNCTION)                                                                 \
  FUNCTION(Initialized, (int *))                                                                   \
  FUNCTION(Finalized, (int *))                                                                     \
  FUNCTION(Init_thread, (int *, char ***, int, int *))                                             \
  FUNCTION(Query_thread, (int *))                                                                  \
  FUNCTION(Finalize, (void))                                                                       \
  FUNCTION(Abort, (Comm, int))                                                                     \
  FUNCTION(Comm_rank, (Comm, int *))                                                               \
  FUNCTION(Comm_size, (Comm, int *))                                                               \
  FUNCTION(Comm_dup, (Comm, Comm *))                                                               \
  FUNCTION(Comm_free, (Comm *))                                                                    \
  FUNCTION(Comm_split, (Comm, int, int, Comm *))                                                   \
  FUNCTION(Comm_set_errhandler, (Comm, void *))                                                    \
  FUNCTION(Isend, (const void *, int, void *, int, int, Comm, Request *))                          \
  FUNCTION(Irecv, (void *, int, void *, int, int, Comm, Request *))                                \
  FUNCTION(Testsome, (int, Request *, int *, int *, void *))                                       \
  FUNCTION(Send, (const void *, int, void *, int, int, Comm))                                      \
  FUNCTION(Iprobe, (int, int, Comm, int *, void *))                                                \
  FUNCTION(Recv, (void *, int, void *, int, int, Comm, void *))                                    \
  FUNCTION(Cancel, (Request *))                                                                    \
  FUNCTION(Request_free, (Request *))                                                              \
  FUNCTION(Error_string, (int, char *, int *))
#define TP_MPI_MEMBER(NAME, ARGUMENTS) int(*NAME) ARGUMENTS = nullptr;
  TP_MPI_FUNCTIONS(TP_MPI_MEMBER)
#undef TP_MPI_MEMBER

  Comm world = nullptr;
  void *byte = nullptr;
  void *errorsReturn = nullptr;

  static constexpr int funneled = 1;       // MPI_THREAD_FUNNELED
  static constexpr int serialized = 2;     // MPI_THREAD_SERIALIZED
  static constexpr int undefined = -32766; // MPI_UNDEFINED
  static constexpr int anySource = -1;     // MPI_ANY_SOURCE

  /// The error of a call, in the library's words; success for 0.
  Status check(int code, const char *function) const;
};

/// Open MPI as TPLAN_MPI names it, or as the loader finds it.
Status loadMpi(MpiLibrary &library);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_MPI_LIBRARY_H

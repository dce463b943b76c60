//===- nccl_library.h - NCCL, loaded at run time ----------------------------===//
//
// Functions, handles and numbers as nccl.h of NCCL 2.26 has them, and of later ones.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_LIBRARIES_NCCL_LIBRARY_H
#define TPLAN_RUNTIME_LIBRARIES_NCCL_LIBRARY_H

#include "runtime/libraries/cuda_driver.h"
#include "runtime/libraries/library.h"

#include <climits>

namespace tplan::runtime {

namespace nccl {
using Result = int;
struct Communicator;

enum : Result {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7
};
enum : int { uint8 = 1, int32 = 2, int64 = 4, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9 };
enum : int { sum = 0 };
enum : int { noColor = -1 }; // NCCL_SPLIT_NOCOLOR

struct UniqueId {
  char bytes[128];
};

/// ncclConfig_t of 2.26: later ones read as much of theirs.
struct Config {
  static constexpr int unset = INT_MIN;
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22600;
  int blocking = unset;
  int cgaClusterSize = unset, minCTAs = unset, maxCTAs = unset;
  const char *netName = nullptr;
  int splitShare = unset, trafficClass = unset;
};
} // namespace nccl

struct NcclLibrary {
#define TP_NCCL_FUNCTIONS(FUNCTION)                                                                \
  FUNCTION(GetUniqueId, ncclGetUniqueId, (nccl::UniqueId *))                                       \
  FUNCTION(CommInitRankConfig, ncclCommInitRankConfig,                                             \
           (nccl::Communicator **, int, nccl::UniqueId, int, nccl::Config *))                      \
  FUNCTION(CommSplit, ncclCommSplit,                                                               \
           (nccl::Communicator *, int, int, nccl::Communicator **, nccl::Config *))                \
  FUNCTION(CommFinalize, ncclCommFinalize, (nccl::Communicator *))                                 \
  FUNCTION(CommDestroy, ncclCommDestroy, (nccl::Communicator *))                                   \
  FUNCTION(CommAbort, ncclCommAbort, (nccl::Communicator *))                                       \
  FUNCTION(CommGetAsyncError, ncclCommGetAsyncError, (nccl::Communicator *, nccl::Result *))       \
  FUNCTION(GroupStart, ncclGroupStart, (void))                                                     \
  FUNCTION(GroupEnd, ncclGroupEnd, (void))                                                         \
  FUNCTION(Send, ncclSend, (const void *, size_t, int, int, nccl::Communicator *, void *stream))   \
  FUNCTION(Recv, ncclRecv, (void *, size_t, int, int, nccl::Communicator *, void *stream))         \
  FUNCTION(AllGather, ncclAllGather,                                                               \
           (const void *, void *, size_t, int, nccl::Communicator *, void *stream))                \
  FUNCTION(AllReduce, ncclAllReduce,                                                               \
           (const void *, void *, size_t, int, int, nccl::Communicator *, void *stream))           \
  FUNCTION(ReduceScatter, ncclReduceScatter,                                                       \
           (const void *, void *, size_t, int, int, nccl::Communicator *, void *stream))           \
  FUNCTION(CommRegister, ncclCommRegister, (nccl::Communicator *, void *, size_t, void **))        \
  FUNCTION(CommDeregister, ncclCommDeregister, (nccl::Communicator *, void *))
#define TP_NCCL_MEMBER(NAME, SYMBOL, ARGUMENTS) nccl::Result(*NAME) ARGUMENTS = nullptr;
  TP_NCCL_FUNCTIONS(TP_NCCL_MEMBER)
#undef TP_NCCL_MEMBER
  const char *(*GetErrorString)(nccl::Result) = nullptr;
  const char *(*GetLastError)(nccl::Communicator *) = nullptr;

  int version = 0; // 22809: NCCL 2.28.9

  /// The error of a call in the library's words.
  Status error(nccl::Result result, std::string_view what) const;
  /// The same; success also where the call is still in progress.
  Status check(nccl::Result result, std::string_view what) const {
    return result == nccl::success || result == nccl::inProgress ? Status() : error(result, what);
  }
};

/// NCCL as the option or TPLAN_NCCL names it, as the loader finds it, or as PyTorch brings it
/// along.
Status loadNccl(NcclLibrary &library, NamedFile named);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_LIBRARIES_NCCL_LIBRARY_H

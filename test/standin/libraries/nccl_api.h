//===- nccl_api.h - the interface of NCCL 2.28, as far as the stand-in has it ------===//
//
// Values and layouts as nccl.h has them; headers-agree.cpp compares where it exists.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_API_H
#define TPLAN_TEST_STANDIN_NCCL_API_H

#include <climits>
#include <cstddef>

namespace standin::nccl {

enum Result {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

enum Type {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  types = 10, // the library's others have no model
};

enum Reduction { sum = 0, prod = 1, max = 2, min = 3, avg = 4, reductions = 5 };

constexpr int version = 22809;
constexpr int undefined = INT_MIN;
constexpr int noColor = -1;
constexpr unsigned configMagic = 0xcafebeef;

struct UniqueId {
  char internal[128];
};

struct Config {
  size_t size = sizeof(Config);
  unsigned magic = configMagic;
  unsigned version = nccl::version;
  int blocking = undefined;
  int cgaClusterSize = undefined;
  int minCTAs = undefined;
  int maxCTAs = undefined;
  const char *netName = nullptr;
  int splitShare = undefined;
  int trafficClass = undefined;
  const char *commName = nullptr;
  int collnetEnable = undefined;
  int CTAPolicy = undefined;
  int shrinkShare = undefined;
  int nvlsCTAs = undefined;
  int nChannelsPerNetPeer = undefined;
  int nvlinkCentricSched = undefined;
};

class Communicator;
using Comm = Communicator *;

// clang-format off
#define STANDIN_NCCL_FUNCTIONS(FUNCTION)                                                           \
  FUNCTION(int, ncclGetVersion, (int *))                                                           \
  FUNCTION(int, ncclGetUniqueId, (UniqueId *))                                                     \
  FUNCTION(int, ncclCommInitRank, (Comm *, int ranks, UniqueId, int rank))                         \
  FUNCTION(int, ncclCommInitRankConfig, (Comm *, int ranks, UniqueId, int rank, Config *))         \
  FUNCTION(int, ncclCommSplit, (Comm, int color, int key, Comm *, Config *))                       \
  FUNCTION(int, ncclCommFinalize, (Comm))                                                          \
  FUNCTION(int, ncclCommDestroy, (Comm))                                                           \
  FUNCTION(int, ncclCommAbort, (Comm))                                                             \
  FUNCTION(int, ncclCommGetAsyncError, (Comm, int *))                                              \
  FUNCTION(int, ncclCommCount, (Comm, int *))                                                      \
  FUNCTION(int, ncclCommUserRank, (Comm, int *))                                                   \
  FUNCTION(int, ncclCommCuDevice, (Comm, int *))                                                   \
  FUNCTION(int, ncclCommRegister, (Comm, void *, size_t, void **))                                 \
  FUNCTION(int, ncclCommDeregister, (Comm, void *))                                                \
  FUNCTION(const char *, ncclGetErrorString, (int))                                                \
  FUNCTION(const char *, ncclGetLastError, (Comm))                                                 \
  FUNCTION(int, ncclGroupStart, (void))                                                            \
  FUNCTION(int, ncclGroupEnd, (void))                                                              \
  FUNCTION(int, ncclAllReduce,                                                                     \
           (const void *, void *, size_t count, int type, int reduction, Comm, void *stream))      \
  FUNCTION(int, ncclReduceScatter,                                                                 \
           (const void *, void *, size_t count, int type, int reduction, Comm, void *stream))      \
  FUNCTION(int, ncclAllGather,                                                                     \
           (const void *, void *, size_t count, int type, Comm, void *stream))                     \
  FUNCTION(int, ncclBroadcast,                                                                     \
           (const void *, void *, size_t count, int type, int root, Comm, void *stream))           \
  FUNCTION(int, ncclSend, (const void *, size_t count, int type, int peer, Comm, void *stream))    \
  FUNCTION(int, ncclRecv, (void *, size_t count, int type, int peer, Comm, void *stream))
// clang-format on

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_API_H

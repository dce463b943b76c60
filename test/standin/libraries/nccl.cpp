//===- nccl.cpp - the functions of the stand-in for NCCL ------------------------------===//
//
// Each operation is checked where it is issued, and becomes one launch with the others of
// its group.
//
// Decision: a communicator keeps to the stream that it was first used on. The library orders its
// streams itself; a program that relies on that has made a mistake more often than not.
//
//===----------------------------------------------------------------------===//

#include "nccl_group.h"
#include "nccl_reduce.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

using namespace standin;
using namespace standin::nccl;

namespace {

/// A call on a communicator, by one thread at a time.
class Use {
public:
  Use(const char *function, Comm comm) : comm(comm) {
    if (!isLiving(comm)) {
      status = report(invalidArgument,
                      format("%s: not a communicator, or destroyed or aborted before", function));
      return;
    }
    isInside = true;
    if (comm->users++ > 0)
      status = report(invalidUsage, format("%s: two threads use it at once, in %s",
                                           comm->self().c_str(), function));
  }
  ~Use() {
    if (isInside)
      --comm->users;
  }
  explicit operator bool() const { return status == success; }
  int status = success;

private:
  Comm comm;
  bool isInside = false;
};

/// What a config says, with defaults for what it leaves out. A config of an older version has fewer
/// fields: that of 2.26 ends after trafficClass.
int takeConfig(const char *function, const Config *given, Config &taken) {
  taken = {};
  if (!given)
    return success;
  constexpr size_t oldSize = offsetof(Config, commName);
  bool isOld = given->magic == configMagic && given->size == oldSize && given->version == 22600;
  memcpy(&taken, given, isOld ? oldSize : sizeof taken);
  if (isOld)
    taken.size = sizeof taken, taken.version = nccl::version;
  const Config *config = &taken;
  auto refuse = [&](const char *what, long long value) {
    return report(invalidArgument, format("%s: %s: %lld", function, what, value));
  };
  if (config->magic != configMagic)
    return refuse("the config was not initialised, its magic is", config->magic);
  if (config->size != sizeof(Config))
    return refuse("a config of another size", (long long)config->size);
  if (config->version != (unsigned)nccl::version)
    return refuse("a config of another version", config->version);
  if (config->blocking != undefined && config->blocking != 0 && config->blocking != 1)
    return refuse("config.blocking is neither 0 nor 1", config->blocking);
  if (config->cgaClusterSize != undefined &&
      (config->cgaClusterSize < 0 || config->cgaClusterSize > 8))
    return refuse("config.cgaClusterSize is not in 0 to 8", config->cgaClusterSize);
  bool areOrdered = config->minCTAs == undefined || config->maxCTAs == undefined ||
                    config->minCTAs <= config->maxCTAs;
  if ((config->minCTAs != undefined && config->minCTAs <= 0) ||
      (config->maxCTAs != undefined && config->maxCTAs <= 0) || !areOrdered)
    return refuse("config.minCTAs and maxCTAs do not fit", config->minCTAs);
  if (config->splitShare != undefined && config->splitShare != 0 && config->splitShare != 1)
    return refuse("config.splitShare is neither 0 nor 1", config->splitShare);
  if (config->trafficClass != undefined && config->trafficClass < 0)
    return refuse("config.trafficClass is negative", config->trafficClass);
  return success;
}

std::string nameOf(const Config &config, const char *otherwise) {
  return config.commName ? config.commName : otherwise;
}

int initialise(const char *function, Comm *comm, int ranks, const UniqueId &id, int rank,
               const Config *given) {
  if (!comm)
    return report(invalidArgument, format("%s: no place for the communicator", function));
  *comm = nullptr;
  if (ranks < 1 || ranks > maxRanks || rank < 0 || rank >= ranks)
    return report(invalidArgument, format("%s: rank %d of %d", function, rank, ranks));
  Config config;
  if (int result = takeConfig(function, given, config))
    return result;
  std::string why;
  int device = currentDevice();
  if (!findDriver(why) || device < 0)
    return report(unhandledCudaError,
                  format("%s: %s", function, why.empty() ? "no context is current" : why.c_str()));
  *comm = new Communicator(ranks, rank, device, config.blocking != 0, config.maxCTAs,
                           nameOf(config, "world"));
  std::string where(id.internal, strnlen(id.internal, sizeof id.internal));
  int result = begin(*comm, [comm = *comm, where] { comm->join(where); });
  // As in the library, there is no handle then.
  if (result != success && result != inProgress)
    std::exchange(*comm, nullptr)->abort();
  return result;
}

} // namespace

STANDIN_EXPORT int ncclGetVersion(int *version) {
  if (!version)
    return report(invalidArgument, "ncclGetVersion: no place for the version");
  *version = nccl::version;
  return success;
}

STANDIN_EXPORT const char *ncclGetErrorString(int result) {
  constexpr const char *texts[] = {
      "no error",
      "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      "internal error - please report this issue to the NCCL developers",
      "invalid argument (run with NCCL_DEBUG=WARN for details)",
      "invalid usage (run with NCCL_DEBUG=WARN for details)",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return result >= 0 && result <= inProgress ? texts[result] : "unknown result code";
}

STANDIN_EXPORT const char *ncclGetLastError(Comm) { return lastError(); }

STANDIN_EXPORT int ncclGetUniqueId(UniqueId *id) {
  std::string where;
  // The file stays open: others come through this process.
  if (!id || Region::make(where) < 0)
    return report(id ? systemError : invalidArgument, "ncclGetUniqueId: no place or no memory");
  *id = {};
  snprintf(id->internal, sizeof id->internal, "%s", where.c_str());
  return success;
}

STANDIN_EXPORT int ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  return initialise("ncclCommInitRank", comm, ranks, id, rank, nullptr);
}
STANDIN_EXPORT int ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank,
                                          Config *config) {
  return initialise("ncclCommInitRankConfig", comm, ranks, id, rank, config);
}

STANDIN_EXPORT int ncclCommSplit(Comm comm, int color, int key, Comm *child, Config *given) {
  Use use("ncclCommSplit", comm);
  if (!use)
    return use.status;
  if (int result = comm->checkUse("ncclCommSplit"))
    return result;
  if (!child || (color < 0 && color != noColor))
    return report(invalidArgument,
                  format("%s: ncclCommSplit with color %d", comm->self().c_str(), color));
  *child = nullptr;
  Config config;
  if (int result = takeConfig("ncclCommSplit", given, config))
    return result;
  if (int count = comm->pending)
    return report(invalidUsage,
                  format("%s: split with %d launches under way", comm->self().c_str(), count));
  bool blocking = given ? config.blocking != 0 : comm->isBlocking;
  if (color != noColor)
    *child = new Communicator(1, 0, comm->device, blocking, given ? config.maxCTAs : comm->channels,
                              nameOf(config, comm->name.c_str()));
  return begin(comm, [comm, color, key, made = *child] { comm->split(color, key, made); });
}

STANDIN_EXPORT int ncclCommFinalize(Comm comm) {
  Use use("ncclCommFinalize", comm);
  if (!use)
    return use.status;
  if (int result = comm->checkUse("ncclCommFinalize"))
    return result;
  return begin(comm, [comm] { comm->finalize(); });
}

STANDIN_EXPORT int ncclCommDestroy(Comm comm) {
  if (!comm)
    return success; // as the library has it
  Use use("ncclCommDestroy", comm);
  return use ? comm->destroy() : use.status;
}

STANDIN_EXPORT int ncclCommAbort(Comm comm) {
  if (!comm)
    return success;
  if (!isLiving(comm))
    return report(invalidArgument, "ncclCommAbort: not a communicator, or destroyed before");
  comm->abort(); // also while another thread is inside
  return success;
}

STANDIN_EXPORT int ncclCommGetAsyncError(Comm comm, int *result) {
  if (!result || !isLiving(comm))
    return report(invalidArgument, "ncclCommGetAsyncError: not a communicator, or destroyed or "
                                   "aborted before");
  *result = comm->progress();
  return success;
}

namespace {
int tell(const char *function, Comm comm, int *place, int (*what)(Comm)) {
  Use use(function, comm);
  if (!use || !place)
    return use ? report(invalidArgument, format("%s: no place", function)) : use.status;
  if (int result = comm->checkUse(function))
    return result;
  *place = what(comm);
  return success;
}
} // namespace

STANDIN_EXPORT int ncclCommCount(Comm comm, int *count) {
  return tell("ncclCommCount", comm, count, [](Comm comm) { return comm->ranks; });
}
STANDIN_EXPORT int ncclCommUserRank(Comm comm, int *rank) {
  return tell("ncclCommUserRank", comm, rank, [](Comm comm) { return comm->rank; });
}
STANDIN_EXPORT int ncclCommCuDevice(Comm comm, int *device) {
  return tell("ncclCommCuDevice", comm, device, [](Comm comm) { return comm->device; });
}

STANDIN_EXPORT int ncclCommRegister(Comm comm, void *buffer, size_t size, void **handle) {
  Use use("ncclCommRegister", comm);
  if (!use)
    return use.status;
  if (int result = comm->checkUse("ncclCommRegister"))
    return result;
  if (!handle || size == 0 || !hostOf(buffer, size))
    return report(invalidArgument, format("%s: ncclCommRegister of what is not in device memory "
                                          "with all of its %zu bytes: %p",
                                          comm->self().c_str(), size, buffer));
  *handle = new char;
  comm->registered.insert(*handle);
  return success;
}
STANDIN_EXPORT int ncclCommDeregister(Comm comm, void *handle) {
  Use use("ncclCommDeregister", comm);
  if (!use)
    return use.status;
  if (!comm->registered.erase(handle))
    return report(invalidUsage, format("%s: ncclCommDeregister of what is not registered: %p",
                                       comm->self().c_str(), handle));
  delete (char *)handle;
  return success;
}

namespace {
int issue(const char *function, Comm comm, void *stream, const Operation &operation) {
  Use use(function, comm);
  return finish(use ? add(function, comm, stream, operation) : use.status);
}
} // namespace

STANDIN_EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction,
                                 Comm comm, void *stream) {
  return issue("ncclAllReduce", comm, stream, {allReduce, from, to, count, type, reduction, 0});
}
STANDIN_EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type,
                                     int reduction, Comm comm, void *stream) {
  return issue("ncclReduceScatter", comm, stream,
               {reduceScatter, from, to, count, type, reduction, 0});
}
STANDIN_EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, Comm comm,
                                 void *stream) {
  return issue("ncclAllGather", comm, stream, {allGather, from, to, count, type, 0, 0});
}
STANDIN_EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                                 Comm comm, void *stream) {
  return issue("ncclBroadcast", comm, stream, {broadcast, from, to, count, type, 0, root});
}
STANDIN_EXPORT int ncclSend(const void *from, size_t count, int type, int peer, Comm comm,
                            void *stream) {
  return issue("ncclSend", comm, stream, {send, from, nullptr, count, type, 0, peer});
}
STANDIN_EXPORT int ncclRecv(void *to, size_t count, int type, int peer, Comm comm, void *stream) {
  return issue("ncclRecv", comm, stream, {receive, nullptr, to, count, type, 0, peer});
}

STANDIN_EXPORT int ncclGroupStart() {
  startGroup();
  return success;
}
STANDIN_EXPORT int ncclGroupEnd() { return endGroup(); }

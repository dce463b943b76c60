//===- nccl_group.cpp - what a thread has issued and not yet launched ----------------===//

#include "nccl_group.h"

#include "nccl_reduce.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

constexpr int pauseMicroseconds = 200;

struct Issued {
  const char *function;
  Comm comm;
  void *stream;
  Operation operation;
};

struct Beginning {
  Comm comm;
  std::function<void()> how;
};

struct Group {
  int depth = 0;
  int error = success;
  std::vector<Issued> issued;
  std::vector<Beginning> beginnings;
};
thread_local Group group;

struct Range {
  const char *at;
  size_t bytes;
  bool isEmpty() const { return !at || bytes == 0; }
  bool overlaps(const Range &other) const {
    return !isEmpty() && !other.isEmpty() && at < other.at + other.bytes && other.at < at + bytes;
  }
};

/// What an operation reads: nothing in a broadcast from another rank.
Range readOf(const Issued &it) {
  const Operation &o = it.operation;
  size_t bytes = o.count * bytesOf(o.type) * (o.kind == reduceScatter ? it.comm->ranks : 1);
  bool reads = o.kind != receive && (o.kind != broadcast || o.peer == it.comm->rank);
  return {reads ? (const char *)o.from : nullptr, bytes};
}
Range writtenOf(const Issued &it) {
  const Operation &o = it.operation;
  size_t bytes = o.count * bytesOf(o.type) * (o.kind == allGather ? it.comm->ranks : 1);
  return {o.kind == send ? nullptr : (const char *)o.to, bytes};
}

int refuse(const Issued &it, int result, const std::string &why) {
  return report(result, format("%s: %s: %s", it.comm->self().c_str(), it.function, why.c_str()));
}

int checkArguments(const Issued &it) {
  const Operation &o = it.operation;
  if (o.type < 0 || o.type >= types)
    return refuse(it, invalidArgument, format("a type without a model: %d", o.type));
  if (o.reduction < 0 || o.reduction >= reductions)
    return refuse(it, invalidArgument, format("a reduction without a model: %d", o.reduction));
  if (o.peer < 0 || o.peer >= it.comm->ranks)
    return refuse(it, invalidArgument, format("no such rank of %d: %d", it.comm->ranks, o.peer));
  if (o.count > SIZE_MAX / 8 / maxRanks)
    return refuse(it, invalidArgument, format("count %zu", o.count));
  if (it.comm->hasStream && it.comm->stream != it.stream)
    return refuse(it, invalidUsage,
                  format("on stream %p, but the communicator was first used on "
                         "%p",
                         it.stream, it.comm->stream));
  if (Comm other = setting("NCCL_LAUNCH_ORDER_IMPLICIT", 0) == 1
                       ? nullptr
                       : onAnotherStream(it.comm, it.stream))
    return refuse(it, invalidUsage,
                  format("'%s' is used on another stream, and without NCCL_LAUNCH_ORDER_IMPLICIT "
                         "their kernels may wait for each other",
                         other->name.c_str()));
  return success;
}

int checkMemory(const Issued &it) {
  const Operation &o = it.operation;
  Range read = readOf(it), written = writtenOf(it);
  size_t size = bytesOf(o.type);
  for (auto [range, name] : {std::pair(read, "send"), std::pair(written, "receive")}) {
    bool isUsed = name[0] == 's'
                      ? o.kind != receive && (o.kind != broadcast || o.peer == it.comm->rank)
                      : o.kind != send;
    if (!isUsed || (range.bytes == 0 && !range.at))
      continue;
    if (!hostOf(range.at, range.bytes))
      return refuse(it, invalidArgument,
                    format("the %s buffer is not in device memory with all of its %zu bytes: %p",
                           name, range.bytes, range.at));
    if ((uint64_t)range.at % size)
      return refuse(it, invalidArgument,
                    format("the %s buffer is not aligned to %zu bytes: %p", name, size, range.at));
  }
  size_t offset = it.comm->rank * o.count * size;
  bool isInPlace = o.kind == allGather       ? read.at == written.at + offset
                   : o.kind == reduceScatter ? written.at == read.at + offset
                                             : read.at == written.at;
  if (read.overlaps(written) && !isInPlace)
    return refuse(it, invalidArgument,
                  format("the buffers overlap other than in place: send %p, receive %p", read.at,
                         written.at));
  return success;
}

/// Nothing says which operation of a group comes first.
int checkApart() {
  for (size_t i = 0; i < group.issued.size(); ++i)
    for (size_t j = 0; j < group.issued.size(); ++j) {
      const Issued &one = group.issued[i], &other = group.issued[j];
      Range written = writtenOf(one);
      if (i != j &&
          (written.overlaps(readOf(other)) || (i < j && written.overlaps(writtenOf(other)))))
        return refuse(one, invalidUsage,
                      format("writes what %s of the same group reads or writes: %p", other.function,
                             written.at));
    }
  return success;
}

/// A message to oneself needs both of its ends in one group.
int checkSelf() {
  std::map<Comm, std::vector<std::pair<size_t, int>>> ends[2];
  for (const Issued &it : group.issued)
    if (it.operation.isMessage() && it.operation.peer == it.comm->rank)
      ends[it.operation.kind == receive][it.comm].push_back(
          {it.operation.count, it.operation.type});
  if (ends[0] == ends[1])
    return success;
  return report(invalidUsage, "a group sends to its own rank what it does not receive, or receives "
                              "what it does not send");
}

int checkGroup() {
  if (!group.issued.empty() && !group.beginnings.empty())
    return report(invalidUsage, "a group makes communicators and has operations as well");
  std::vector<Comm> all;
  for (const Issued &it : group.issued)
    all.push_back(it.comm);
  for (const Beginning &it : group.beginnings)
    all.push_back(it.comm);
  for (Comm comm : all)
    if (comm->isBlocking != all[0]->isBlocking)
      return report(invalidArgument, "a group has communicators that block and others that do not");
  if (int result = checkSelf())
    return result;
  return checkApart();
}

int launchAll(std::vector<Issued> issued) {
  std::vector<std::unique_ptr<Launch>> launches;
  for (const Issued &it : issued) {
    auto place = std::find_if(launches.begin(), launches.end(),
                              [&](auto &launch) { return launch->comm == it.comm; });
    if (place == launches.end()) {
      launches.push_back(std::make_unique<Launch>(Launch{it.comm, it.stream, {}, false}));
      place = launches.end() - 1;
    }
    (*place)->operations.push_back(it.operation);
  }
  int result = success;
  for (std::unique_ptr<Launch> &launch : launches) {
    Comm comm = launch->comm;
    int status = comm->enqueue(std::move(launch));
    result = result == success || result == inProgress ? status : result;
  }
  return result;
}

int beginAll(std::vector<Beginning> beginnings) {
  for (Beginning &it : beginnings)
    it.how();
  if (beginnings.empty() || !beginnings[0].comm->isBlocking)
    return beginnings.empty() ? success : inProgress;
  // In turn, because one may wait for another of this thread.
  std::vector<int> results(beginnings.size(), inProgress);
  for (double end = now() + patience();; usleep(pauseMicroseconds)) {
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] == inProgress)
        results[i] = beginnings[i].comm->progress();
    if (std::count(results.begin(), results.end(), (int)inProgress) == 0)
      break;
    for (size_t i = 0; i < results.size() && now() > end; ++i)
      if (results[i] == inProgress)
        beginnings[i].comm->giveUp();
  }
  auto bad = std::find_if(results.begin(), results.end(), [](int it) { return it != success; });
  return bad == results.end() ? success : *bad;
}

} // namespace

void nccl::startGroup() { ++group.depth; }

int nccl::endGroup() {
  if (group.depth == 0)
    return report(invalidUsage, "ncclGroupEnd: not in a group call.");
  if (--group.depth > 0)
    return success;
  int result = group.error;
  if (result == success)
    result = checkGroup();
  Group done = std::exchange(group, {});
  if (result != success)
    return result;
  result = beginAll(std::move(done.beginnings));
  return result == success ? launchAll(std::move(done.issued)) : result;
}

int nccl::finish(int result) {
  if (group.depth == 0) {
    ++group.depth;
    group.error = result;
    return endGroup();
  }
  if (group.error == success)
    group.error = result;
  return result;
}

int nccl::begin(Comm comm, std::function<void()> how) {
  group.beginnings.push_back({comm, std::move(how)});
  return finish(success);
}

int nccl::add(const char *function, Comm comm, void *stream, const Operation &operation) {
  Issued it = {function, comm, stream, operation};
  if (int result = comm->checkUse(function))
    return result;
  if (int result = checkArguments(it))
    return result;
  if (int result = checkMemory(it))
    return result;
  comm->stream = stream, comm->hasStream = true;
  // The library drops a collective of nothing, on this rank alone.
  if (operation.count > 0 || operation.isMessage())
    group.issued.push_back(it);
  return success;
}

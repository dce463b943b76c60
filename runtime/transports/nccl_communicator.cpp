//===- nccl_communicator.cpp - collectives of a group over NCCL --------------===//

#include "runtime/transports/nccl_communicator.h"

#include "runtime/libraries/foreign_types.h"
#include "runtime/ranks/device_blocks.h"
#include "runtime/support/types.h"

#include <vector>

using namespace tplan::runtime;

//===----------------------------------------------------------------------===//
// For the runtime itself
//===----------------------------------------------------------------------===//

Status NcclCommunicator::broadcast(void *data, int64_t bytes, int root) {
  return tree ? tree->broadcast(data, bytes, root) : Status();
}

Status NcclCommunicator::sum(double *values, int64_t count, Team &) {
  return tree ? tree->sum(values, count) : Status();
}

//===----------------------------------------------------------------------===//
// Calls of NCCL
//===----------------------------------------------------------------------===//

Status NcclCommunicator::send(const Work &work, const char *from, int64_t count, int to,
                              Stream stream) {
  this->count(work, count * work.bytes);
  TP_NCCL(rank, Send(from, count * work.bytes, nccl::uint8, to, handle->get(),
                     stream.device->handle(stream.number)));
  return {};
}

Status NcclCommunicator::receive(const Work &work, char *to, int64_t count, int from,
                                 Stream stream) {
  TP_NCCL(rank, Recv(to, count * work.bytes, nccl::uint8, from, handle->get(),
                     stream.device->handle(stream.number)));
  return {};
}

/// Gathers blocks of equal size into consecutive memory.
Status NcclCommunicator::allGather(const Work &work, const char *from, char *to, int64_t count,
                                   Stream stream) {
  this->count(work, (size() - 1) * count * work.bytes);
  TP_NCCL(rank, AllGather(from, to, count * work.bytes, nccl::uint8, handle->get(),
                          stream.device->handle(stream.number)));
  return {};
}

bool NcclCommunicator::isNative(const tp_collective &what) const {
  bool isWhole = what.kind == TP_ALL_REDUCE || (what.kind == TP_REDUCE_SCATTER && what.outer == 1 &&
                                                what.whole == size() * what.inner);
  return rank.native && isWhole && what.reduction == TP_SUM &&
         foreignType(what.type).nccl != noCode;
}

Status NcclCommunicator::exchangeNative(const Work &work, Stream stream) {
  const auto &[what, in, out, call, task] = *work.operation;
  void *queue = stream.device->handle(stream.number);
  count(work, tp_bytes_sent(what, size(), group.self, work.bytes));
  int type = foreignType(what->type).nccl;
  if (what->kind == TP_ALL_REDUCE)
    TP_NCCL(rank,
            AllReduce(in, out, what->outer * what->inner, type, nccl::sum, handle->get(), queue));
  else
    TP_NCCL(rank, ReduceScatter(in, out, what->inner, type, nccl::sum, handle->get(), queue));
  return {};
}

//===----------------------------------------------------------------------===//
// In blocks
//===----------------------------------------------------------------------===//

bool NcclCommunicator::gathersAtOnce(const Work &work) const {
  const tp_collective &what = *work.operation->what;
  return what.kind == TP_ALL_GATHER && what.outer == 1 && what.whole == size() * what.inner;
}

/// Blocks whose rows lie apart are packed; what this member has for itself needs no message.
Status NcclCommunicator::prepare(const Work &work, Stream stream) {
  const Operation &op = *work.operation;
  TP_TRY(forOthers([&](int to) -> Status {
    Block block = sent(work, to);
    if (block.count() == 0 || block.contiguous())
      return {};
    return copyBlock(stream, work.bytes, op.in, block, leaving(work, to), lineOf(block.count()));
  }));
  Block from = sent(work, group.self), to = received(work, group.self);
  if (work.adds)
    return copyBlock(stream, work.bytes, op.in, from, arriving(work, group.self),
                     lineOf(from.count()));
  if (from.count() == 0 || in(work, from) == out(work, to))
    return {};
  if (from.contiguous() || to.contiguous() || from.row == to.row)
    return copyBlock(stream, work.bytes, op.in, from, op.out, to);
  char *between = leaving(work, group.self);
  TP_TRY(copyBlock(stream, work.bytes, op.in, from, between, lineOf(from.count())));
  return copyBlock(stream, work.bytes, between, lineOf(from.count()), op.out, to);
}

Status NcclCommunicator::exchange(const Work &work, Stream stream) {
  if (work.native)
    return exchangeNative(work, stream);
  if (gathersAtOnce(work))
    return allGather(work, (const char *)work.operation->in, (char *)work.operation->out,
                     work.operation->what->inner, stream);
  return forOthers([&](int other) -> Status {
    if (Block block = sent(work, other); int64_t count = block.count())
      TP_TRY(send(work, block.contiguous() ? in(work, block) : leaving(work, other), count, other,
                  stream));
    Block block = received(work, other);
    int64_t count = block.count();
    bool isDirect = !work.adds && block.contiguous();
    return count ? receive(work, isDirect ? out(work, block) : arriving(work, other), count, other,
                           stream)
                 : Status();
  });
}

/// Puts the sum of what has arrived in its place, and unpacks arrived blocks whose rows lie apart.
Status NcclCommunicator::finish(const Work &work, Stream stream) {
  const Operation &op = *work.operation;
  if (!work.adds)
    return forOthers([&](int from) -> Status {
      Block block = received(work, from);
      if (block.count() == 0 || block.contiguous())
        return {};
      return copyBlock(stream, work.bytes, arriving(work, from), lineOf(block.count()), op.out,
                       block);
    });
  Block to = outputBlock(*op.what, size(), group.self, group.self);
  if (to.count() == 0)
    return {};
  // In place: a thread has read all parts of its element when it writes it.
  char *sum = to.contiguous() ? out(work, to) : work.scratch;
  TP_TRY(stream.device->sum(stream.number, op.what->type, op.what->reduction, sum, work.scratch,
                            size(), to.count(), work.slot / work.bytes));
  return to.contiguous() ? Status()
                         : copyBlock(stream, work.bytes, sum, lineOf(to.count()), op.out, to);
}

/// In an all-reduce: sends a sum from the member that made it to all.
Status NcclCommunicator::exchangeSums(const Work &work, Stream stream) {
  const tp_collective &what = *work.operation->what;
  auto part = [&](int member) { return outputBlock(what, size(), member, group.self); };
  Block mine = part(group.self);
  // All members see the same: the first part is the largest.
  if (part(0).count() * size() == what.outer * what.inner)
    return allGather(work, out(work, mine), (char *)work.operation->out, mine.count(), stream);
  return forOthers([&](int other) -> Status {
    if (int64_t count = mine.count())
      TP_TRY(send(work, out(work, mine), count, other, stream));
    Block theirs = part(other);
    int64_t count = theirs.count();
    return count ? receive(work, out(work, theirs), count, other, stream) : Status();
  });
}

Status NcclCommunicator::runTogether(std::span<const Work> all, Stream stream) {
  auto isSummed = [](const Work &work) {
    return work.adds && work.operation->what->kind == TP_ALL_REDUCE;
  };
  for (const Work &work : all)
    if (!work.native && !gathersAtOnce(work))
      TP_TRY(prepare(work, stream));
  TP_TRY(handle->begin());
  for (const Work &work : all)
    TP_TRY(exchange(work, stream));
  TP_TRY(handle->end());
  for (const Work &work : all)
    if (!work.native && !gathersAtOnce(work))
      TP_TRY(finish(work, stream));
  if (std::none_of(all.begin(), all.end(), isSummed))
    return {};
  TP_TRY(handle->begin());
  for (const Work &work : all)
    if (isSummed(work))
      TP_TRY(exchangeSums(work, stream));
  return handle->end();
}

Status NcclCommunicator::run(std::span<const Operation> operations, Stream stream) {
  char *scratch = stream.device->scratch(stream.number);
  int64_t room = stream.device->scratchBytes(stream.number), used = 0;
  std::vector<Work> together;
  for (const Operation &operation : operations) {
    const tp_collective &what = *operation.what;
    int64_t bytes = bytesOf(what.type), needs = tp_device_scratch(&what, size(), bytes);
    if (needs > room)
      return errorf("the %s needs %lld bytes of scratch, and the plan has %lld for '%s'",
                    describe(operation, group.name).c_str(), (long long)needs, (long long)room,
                    group.name.c_str());
    if (used + needs > room) {
      TP_TRY(runTogether(together, stream));
      together.clear(), used = 0;
    }
    bool native = isNative(what);
    together.push_back({&operation, scratch + used, tp_device_slot(&what, size(), bytes), bytes,
                        reduces(what) && !native, native});
    used += native ? 0 : needs;
  }
  return runTogether(together, stream);
}

Status NcclCommunicator::issue(std::span<const Operation> operations, Team &, Stream *stream) {
  for (const Operation &operation : operations)
    TP_TRY(checkCollective(*operation.what, size(), group.name.c_str()));
  if (operations.empty())
    return {};
  if (!stream)
    return errorf("NCCL moves the memory of devices, and that of the host is meant in the %s",
                  describe(operations[0], group.name).c_str());
  if (size() > 1 || handle) {
    TP_TRY(rank.places.enter(*stream, operations[0], group.name));
    TP_TRY(run(operations, *stream));
    return rank.places.leave(*stream);
  }
  for (const Operation &operation : operations) {
    const tp_collective &what = *operation.what;
    int64_t bytes = bytesOf(what.type);
    Block from = inputBlock(what, 1, 0, 0), to = outputBlock(what, 1, 0, 0);
    if ((const char *)operation.in + from.offset * bytes !=
        (char *)operation.out + to.offset * bytes)
      TP_TRY(copyBlock(*stream, bytes, operation.in, from, operation.out, to));
  }
  return {};
}

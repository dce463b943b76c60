//===- nccl_execute.cpp - operations, in their stream --------------------------------===//
//
// Bytes go through memory that members share, a piece at a time: all stage a piece, meet,
// take what they need of the others', and meet again.
//
// Decision: before anything of a collective moves, each member compares what all have come
// to do; and no message ends before it was received, so that nothing works by being buffered.
//
//===----------------------------------------------------------------------===//

#include "nccl_communicator.h"
#include "nccl_reduce.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

const char *nccl::nameOfKind(Kind kind) {
  constexpr const char *names[] = {"all_reduce", "reduce_scatter", "all_gather",
                                   "broadcast",  "send",           "receive"};
  return names[kind];
}

Outcome Communicator::wait(const std::function<bool()> &done,
                           const std::function<std::string()> &forWhom) {
  Header &shared = **region;
  for (double end = now() + patience();;) {
    uint32_t heard = shared.members[rank].bell;
    if (done())
      return met;
    if (isAborted)
      return wasAborted;
    if (Header::Broken *broken = findBroken()) {
      fail(broken->result, broken->reason);
      return hasFailed;
    }
    {
      std::lock_guard guard(lock);
      if (checkPeers() != success)
        return hasFailed;
    }
    if (now() > end)
      return late(forWhom());
    region->sleep(rank, heard);
  }
}

/// What every rank of the family does, because the ranks here may wait for one elsewhere.
Outcome Communicator::late(const std::string &whom) {
  std::string text = format("has waited %g s for rank %s", patience(), whom.c_str());
  for (int other = 0; other < family->ranks; ++other)
    for (Board::Line &line : (*family)->board.lines[other])
      if (line.isUsed == 2)
        text += format("; rank %d is in %.*s", other, (int)textBytes, line.text);
  for (int other = 0; other < ranks; ++other)
    if ((*region)->members[other].state == aborted)
      text += format("; rank %d has aborted", other);
  fail(internalError, text);
  // On a real machine the streams stand still: nothing of the family goes on.
  (*family)->hang.set(internalError, self() + ": " + text);
  region->ringAll();
  return hasFailed;
}

Outcome Communicator::meet() {
  Header &shared = **region;
  uint64_t meeting = shared.meeting;
  ++shared.members[rank].meetings;
  if (shared.arrived.fetch_add(1) + 1 == (uint32_t)ranks) {
    shared.arrived = 0;
    ++shared.meeting;
    region->ringAll();
    return met;
  }
  auto missing = [&] {
    std::string all;
    for (int other = 0; other < ranks; ++other)
      if (shared.members[other].meetings < shared.members[rank].meetings)
        all += format("%s%d", all.empty() ? "" : ", ", other);
    return all;
  };
  return wait(
      [&] {
        for (int other = 0; other < ranks && shared.meeting == meeting && !findBroken(); ++other) {
          Member &it = shared.members[other];
          if ((it.state == left || it.state == finalized) &&
              it.meetings < shared.members[rank].meetings)
            region->breakWith(remoteError,
                              format("rank %d has left the communicator, where %s waits for it",
                                     other, self().c_str()));
        }
        return shared.meeting != meeting;
      },
      missing);
}

std::string Communicator::describe(const Description &it) const {
  Kind kind = (Kind)it.kind;
  std::string text =
      format("%s number %llu, %llu of %s", nameOfKind(kind), (unsigned long long)it.number,
             (unsigned long long)it.count, nameOfType(it.type));
  if (kind == allReduce || kind == reduceScatter)
    text += format(", %s", nameOfReduction(it.reduction));
  if (kind == broadcast)
    text += format(", root %d", it.root);
  if (it.places > 1)
    text += format(", %d of %d in its group", it.place + 1, it.places);
  return text;
}

bool Communicator::check(const Description &mine) {
  for (int other = 0; other < ranks; ++other) {
    const Description theirs = (*region)->members[other].operation;
    if (theirs == mine)
      continue;
    fail(invalidUsage, format("members issue different operations: rank %d has %s; rank %d has %s",
                              rank, describe(mine).c_str(), other, describe(theirs).c_str()));
    return false;
  }
  return true;
}

/// Pieces of the operation; `stage` fills this rank's, `take` uses those of all.
bool Communicator::runCollective(const Operation &it, const Description &mine) {
  size_t size = bytesOf(it.type), perRank = it.kind == reduceScatter ? ranks : 1;
  size_t piece = stagingBytes / size / perRank;
  auto *from = (const char *)hostOf(it.from, 1);
  char *to = hostOf(it.to, 1), *staged = region->staging(rank);
  const char *inputs[maxRanks];
  for (size_t begin = 0; begin < it.count; begin += piece) {
    size_t count = std::min(piece, it.count - begin), bytes = count * size;
    if (it.kind != broadcast || it.peer == rank)
      for (size_t block = 0; block < perRank; ++block)
        memcpy(staged + block * bytes, from + (block * it.count + begin) * size, bytes);
    if (meet() != met || (begin == 0 && !check(mine)))
      return false;
    auto reduceInto = [&](char *target, size_t first, size_t elements) {
      for (int other = 0; other < ranks; ++other)
        inputs[other] = region->staging(other) + first * size;
      reduce(it.type, it.reduction, ranks, rank, inputs, target, elements);
    };
    size_t part = (count + ranks - 1) / ranks, mine = std::min(count, part * rank);
    if (it.kind == allReduce)
      reduceInto(region->result() + mine * size, mine, std::min(part, count - mine));
    if (it.kind == reduceScatter)
      reduceInto(to + begin * size, rank * count, count);
    for (int other = 0; other < ranks && it.kind == allGather; ++other)
      memcpy(to + (other * it.count + begin) * size, region->staging(other), bytes);
    if (it.kind == broadcast)
      memcpy(to + begin * size, region->staging(it.peer), bytes);
    if (meet() != met)
      return false;
    // The next result is made when all have come with their next piece, so have read this.
    if (it.kind == allReduce)
      memcpy(to + begin * size, region->result(), bytes);
  }
  return true;
}

namespace {

/// A message that is on its way.
struct Transfer {
  const Operation *operation;
  uint64_t number;
  char *host;
  size_t bytes, done = 0;
  bool isBegun = false;
  uint64_t end = 0; // of the channel, when all is written

  bool isSend() const { return operation->kind == send; }
};

/// One chunk, if there is room; true if it did anything.
bool writeChunk(Transfer &it, Channel &channel) {
  bool isAll = it.isBegun && it.done == it.bytes;
  if (isAll || channel.written - channel.read == slots)
    return false;
  Chunk &chunk = channel.chunks[channel.written % slots];
  chunk.number = it.number, chunk.count = it.operation->count, chunk.type = it.operation->type;
  chunk.bytes = std::min(chunkBytes, it.bytes - it.done);
  memcpy(chunk.data, it.host + it.done, chunk.bytes);
  it.done += chunk.bytes, it.isBegun = true;
  it.end = ++channel.written;
  return true;
}

bool readChunk(Transfer &it, Channel &channel, std::string &why) {
  if (channel.written == channel.read)
    return false;
  const Chunk &chunk = channel.chunks[channel.read % slots];
  if (chunk.number != it.number || chunk.count != it.operation->count ||
      chunk.type != it.operation->type) {
    why = format("message number %llu is %llu of %s where it is sent, %llu of %s where it is "
                 "received",
                 (unsigned long long)chunk.number, (unsigned long long)chunk.count,
                 nameOfType(chunk.type), (unsigned long long)it.operation->count,
                 nameOfType(it.operation->type));
    return false;
  }
  memcpy(it.host + it.done, chunk.data, chunk.bytes);
  it.done += chunk.bytes, it.isBegun = true;
  ++channel.read;
  return true;
}

bool isDone(const Transfer &it, const Channel &channel) {
  return it.isBegun && it.done == it.bytes && (!it.isSend() || channel.read >= it.end);
}

} // namespace

static std::string nameOfMessages(const std::vector<Operation> &operations) {
  std::string text;
  for (const Operation &it : operations)
    text += format("%s%s %s rank %d, %zu of %s", text.empty() ? "" : ", ", nameOfKind(it.kind),
                   it.kind == send ? "to" : "from", it.peer, it.count, nameOfType(it.type));
  return text;
}

/// Messages between two ranks go in order; others side by side.
bool Communicator::runMessages(const std::vector<Operation> &operations) {
  std::map<std::pair<bool, int>, std::deque<Transfer>> queues;
  for (const Operation &it : operations) {
    std::pair<bool, int> way(it.kind == send, it.peer);
    uint64_t number = messages[way]++;
    log(it, number);
    const void *at = it.kind == send ? it.from : it.to;
    queues[way].push_back({&it, number, hostOf(at, 1), it.count * bytesOf(it.type)});
  }
  std::string why;
  post(nameOfMessages(operations));
  auto step = [&] {
    bool isAlive = false;
    for (auto &[way, queue] : queues) {
      auto [isSend, peer] = way;
      Channel &channel = isSend ? region->channel(rank, peer) : region->channel(peer, rank);
      while (!queue.empty()) {
        Transfer &front = queue.front();
        bool moved = isSend ? writeChunk(front, channel) : readChunk(front, channel, why);
        if (moved)
          region->ring(peer);
        if (!why.empty())
          return true;
        isAlive |= moved;
        if (isDone(front, channel))
          queue.pop_front(), isAlive = true;
        else if (!moved)
          break;
      }
    }
    return isAlive || std::all_of(queues.begin(), queues.end(),
                                  [](auto &queue) { return queue.second.empty(); });
  };
  auto peers = [&] {
    std::string all;
    for (auto &[way, queue] : queues)
      if (!queue.empty())
        all += format("%s%d to %s message number %llu", all.empty() ? "" : ", ", way.second,
                      way.first ? "receive" : "send", (unsigned long long)queue.front().number);
    return all;
  };
  while (std::any_of(queues.begin(), queues.end(), [](auto &it) { return !it.second.empty(); })) {
    if (wait(step, peers) != met)
      return false;
    if (!why.empty()) {
      region->breakWith(invalidUsage, self() + ": " + why);
      fail(invalidUsage, why);
      return false;
    }
  }
  return true;
}

void Communicator::post(const std::string &what) {
  for (Board::Line &it : (*family)->board.lines[familyRank]) {
    int unused = 0;
    if (line || !it.isUsed.compare_exchange_strong(unused, 1))
      continue;
    line = &it;
  }
  if (!line)
    return;
  line->isUsed = 1;
  snprintf(line->text, textBytes, "'%s': %s", name.c_str(), what.c_str());
  line->isUsed = 2;
}

void Communicator::log(const Operation &it, uint64_t number) const {
  const char *file = getenv("STANDIN_NCCL_LOG");
  if (!file || !*file)
    return;
  std::string how = it.isMessage() || it.kind == broadcast ? format("%d", it.peer)
                    : it.kind == allGather                 ? "-"
                                                           : nameOfReduction(it.reduction);
  std::string text =
      format("%d\t%s\t%p\t%llu\t%s\t%zu\t%s\t%s\t%zu\t%d\n", rank, name.c_str(), current->stream,
             (unsigned long long)number, nameOfKind(it.kind), it.count, nameOfType(it.type),
             how.c_str(), it.count * bytesOf(it.type), channels == undefined ? 0 : channels);
  int out = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0 || write(out, text.data(), text.size()) != (ssize_t)text.size())
    complain(format("standin nccl: cannot write STANDIN_NCCL_LOG: %s", file));
  if (out >= 0)
    close(out);
}

void Communicator::delay() {
  auto most = (uint64_t)setting("STANDIN_NCCL_DELAY", 0);
  uint64_t seed = (uint64_t)setting("STANDIN_SEED", 0);
  if (most)
    usleep(mix(mix(seed * 1000003 + familyRank) + ++executed) % (most + 1));
}

void Communicator::collect(const Operation &it, int place, int places) {
  Description mine = {collectives++, it.count,     it.kind,
                      it.type,       it.reduction, it.kind == broadcast ? it.peer : 0,
                      place,         places};
  log(it, mine.number);
  post(describe(mine));
  (*region)->members[rank].operation = mine;
  runCollective(it, mine);
}

void Communicator::run(Launch &launch) {
  if (isAborted || error != success || (isLiving(this) && findBroken()))
    return;
  if (!isLiving(this)) {
    report(invalidUsage,
           self() + ": a graph runs an operation after the communicator was destroyed");
    return;
  }
  if (running++ > 0) {
    fail(invalidUsage, "two of its operations run at once, as graphs in two streams would");
    --running;
    return;
  }
  current = &launch;
  std::vector<Operation> collectives, messages;
  for (const Operation &it : launch.operations)
    (it.isMessage() ? messages : collectives).push_back(it);
  delay();
  for (size_t i = 0; i < collectives.size() && error == success && !isAborted; ++i)
    collect(collectives[i], (int)i, (int)collectives.size());
  if (!messages.empty() && error == success && !isAborted) {
    runMessages(messages);
  }
  if (line)
    std::exchange(line, nullptr)->isUsed = 0;
  --running;
}

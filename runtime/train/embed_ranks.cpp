//===- embed_ranks.cpp - the ranks of a training in a host's program ------===//

#include "runtime/train/embed_ranks.h"

#include "runtime/ranks/member.h"
#include "runtime/support/environment.h"

#include <algorithm>
#include <csignal>
#include <cstring>

using namespace tplan::runtime;

namespace {

/// While it lives, threads that are started leave the signals of the process to the host's threads.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t set;
    sigfillset(&set);
    for (int ofTheThread : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&set, ofTheThread);
    pthread_sigmask(SIG_BLOCK, &set, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

} // namespace

Status HostRows::fill(tp_rank &rank, uint64_t, int64_t) {
  const tp_program &program = *rank.program;
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i];
    int64_t rowsOfAll = input.rows * memberCount(program, input.group);
    int64_t first = memberOf(program, input.group, rank.peers.rank()) * input.rows;
    auto *to = (int32_t *)(givenBase(rank) + input.offset);
    for (int64_t m = 0; m < program.microbatches; ++m)
      for (int64_t r = 0; r < input.rows; ++r, to += input.length)
        std::copy_n(from + (m * rowsOfAll + first + r) * length, input.length, to);
  }
  return {};
}

Status EmbeddedRanks::start(std::vector<std::unique_ptr<Transport>> transports, bool onCaller,
                            bool readsEnvironment) {
  hasThreads = !onCaller;
  closedEnvironment = !readsEnvironment;
  for (std::unique_ptr<Transport> &transport : transports) {
    auto member = std::make_unique<Member>();
    member->all = this;
    member->rank = std::make_unique<EmbeddedRank>();
    member->rank->transport = std::move(transport);
    member->rank->rank.transport = member->rank->transport.get();
    members.push_back(std::move(member));
  }
  if (!hasThreads)
    return {};
  SignalsBlocked blocked;
  for (; threads < size(); ++threads) {
    auto body = [](void *argument) -> void * {
      auto *member = static_cast<Member *>(argument);
      member->all->serve(*member);
      return nullptr;
    };
    Member &member = *members[threads];
    if (int code = pthread_create(&member.thread, nullptr, body, &member))
      return errorf("cannot start the thread of rank %d of %d: %s", threads, size(),
                    strerror(code));
  }
  return {};
}

/// The first error is kept before the others are woken, so that theirs come later.
void EmbeddedRanks::work(Member &member) {
  EmbeddedRank &mine = *member.rank;
  Status status = (*current)(mine);
  if (status.ok())
    return;
  bool together = mine.rank.peers.failedTogether();
  {
    std::lock_guard lock(mutex);
    if (first.ok()) {
      bool named = !together && mine.transport && mine.transport->size() > 1;
      first =
          named ? errorf("rank %d: %s", mine.transport->rank(), status.message().c_str()) : status;
      alike = together;
    }
  }
  if (mine.transport && !together)
    mine.transport->abort(status);
}

void EmbeddedRanks::serve(Member &member) {
  EnvironmentClosed closed(closedEnvironment);
  while (true) {
    {
      std::unique_lock lock(mutex);
      begun.wait(lock, [&] { return round != member.done; });
      member.done = round;
      if (!current)
        return;
    }
    work(member);
    std::lock_guard lock(mutex);
    if (--left == 0)
      ended.notify_all();
  }
}

Status EmbeddedRanks::each(const std::function<Status(EmbeddedRank &)> &what, bool &together) {
  std::unique_lock lock(mutex);
  first = {};
  alike = false;
  current = &what;
  if (hasThreads) {
    left = threads;
    ++round;
    begun.notify_all();
    ended.wait(lock, [this] { return left == 0; });
  } else {
    lock.unlock();
    EnvironmentClosed closed(closedEnvironment);
    work(*members[0]);
  }
  together = alike;
  for (std::unique_ptr<Member> &member : members)
    if (alike)
      member->rank->rank.peers.goOn();
  return first;
}

/// A rank releases what it owns on its own thread, after all ranks have stopped using each other's
/// memory.
void EmbeddedRanks::end() {
  if (members.empty())
    return;
  bool together;
  // Nothing can fail.
  (void)each(
      [](EmbeddedRank &mine) {
        mine.rank.streams.reset();
        mine.rank.groups.clear();
        if (mine.transport)
          mine.transport->detach();
        return Status();
      },
      together);
  for (bool transports : {false, true})
    (void)each(
        [&](EmbeddedRank &mine) {
          if (transports) {
            mine.transport.reset();
            return Status();
          }
          mine.session.reset();
          std::destroy_at(&mine.rank);
          std::construct_at(&mine.rank);
          return Status();
        },
        together);
}

EmbeddedRanks::~EmbeddedRanks() {
  end();
  {
    std::lock_guard lock(mutex);
    current = nullptr;
    ++round;
    begun.notify_all();
  }
  for (int i = 0; i < threads; ++i)
    pthread_join(members[i]->thread, nullptr);
}

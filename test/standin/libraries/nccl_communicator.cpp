//===- nccl_communicator.cpp - the life of one rank's end of a communicator ----------===//

#include "nccl_communicator.h"
#include "nccl_reduce.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include <time.h>
#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

constexpr double lookEvery = 0.2; // seconds, at whether others live
constexpr int pauseMicroseconds = 200;

std::mutex livingLock;
std::set<Comm> &living() {
  static auto *all = new std::set<Comm>;
  return *all;
}

std::mutex errorLock;
char errorText[1024] = "";

} // namespace

bool nccl::isLiving(Comm comm) {
  std::lock_guard guard(livingLock);
  return living().count(comm);
}
void nccl::setLiving(Comm comm, bool isLiving) {
  std::lock_guard guard(livingLock);
  isLiving ? (void)living().insert(comm) : (void)living().erase(comm);
}

Comm nccl::onAnotherStream(Comm comm, void *stream) {
  std::lock_guard guard(livingLock);
  for (Comm other : living())
    if (other != comm && other->device == comm->device && other->hasStream &&
        other->stream != stream)
      return other;
  return nullptr;
}

int nccl::report(int result, const std::string &why) {
  complain("standin nccl: " + why);
  std::lock_guard guard(errorLock);
  snprintf(errorText, sizeof errorText, "%s", why.c_str());
  return result;
}
const char *nccl::lastError() { return errorText; }

double nccl::now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

double nccl::patience() { return setting("STANDIN_NCCL_TIMEOUT", 60); }

Communicator::Communicator(int ranks, int rank, int device, bool isBlocking, int channels,
                           std::string name)
    : ranks(ranks), rank(rank), device(device), isBlocking(isBlocking), channels(channels),
      name(std::move(name)) {
  setLiving(this, true);
}

int Communicator::fail(int result, const std::string &why) {
  int none = success;
  error.compare_exchange_strong(none, result);
  return report(result, self() + ": " + why);
}

void Communicator::join(const std::string &where) {
  std::string why;
  std::shared_ptr<Region> opened = Region::open(where, ranks, why);
  if (!opened) {
    fail(systemError, why);
    return;
  }
  Member &me = (*opened)->members[rank];
  int nobody = absent;
  if (!me.state.compare_exchange_strong(nobody, claimed)) {
    fail(invalidUsage, "another one has joined as this rank");
    return;
  }
  me.pid = getpid(), me.started = startOf(me.pid);
  const Driver *driver = findDriver(why);
  if (driver && driver->busIdOf)
    driver->busIdOf(me.device, sizeof me.device, device);
  region = opened;
  if (!family)
    family = opened, familyRank = rank;
  phase = joining;
  me.state = joined;
}

int Communicator::checkDevices() {
  const char *mine = (*region)->members[rank].device;
  for (int other = 0; other < ranks; ++other)
    if (other != rank && *mine && strcmp(mine, (*region)->members[other].device) == 0 &&
        setting("STANDIN_NCCL_SAME_GPU", 0) == 0)
      return fail(invalidUsage,
                  format("duplicate GPU: rank %d and rank %d both on %s", rank, other, mine));
  return success;
}

std::string Communicator::absentMembers() const {
  std::string absentees;
  for (int other = 0; other < ranks; ++other)
    if ((*region)->members[other].state < joined)
      absentees += format("%s%d", absentees.empty() ? "" : ", ", other);
  return absentees;
}

int Communicator::advanceJoin() {
  for (int other = 0; other < ranks; ++other)
    if ((*region)->members[other].state < joined)
      return inProgress;
  phase = ready;
  if (rendezvous >= 0)
    close(std::exchange(rendezvous, -1));
  return checkDevices();
}

int Communicator::split(int color, int key, Communicator *child) {
  this->child = child, this->color = color;
  if (child)
    child->parent = this, child->phase = waitingForParent;
  Member::Split &mine = (*region)->members[rank].splits[++splitRound % 2];
  mine.color = color, mine.key = key;
  mine.round = splitRound;
  phase = splitting;
  return inProgress;
}

int Communicator::advanceSplit() {
  auto of = [&](int member) -> Member::Split & {
    return (*region)->members[member].splits[splitRound % 2];
  };
  std::vector<int> group;
  for (int member = 0; member < ranks; ++member) {
    if (of(member).round < splitRound)
      return inProgress;
    if (of(member).color == color)
      group.push_back(member);
  }
  if (child && child->phase == waitingForParent) {
    std::sort(group.begin(), group.end(),
              [&](int a, int b) { return std::pair(of(a).key, a) < std::pair(of(b).key, b); });
    Member::Split &first = of(group[0]);
    if (group[0] == rank && first.isMade < splitRound) {
      std::string where;
      child->rendezvous = Region::make(where);
      snprintf(first.where, sizeof first.where, "%s", where.c_str());
      first.isMade = splitRound;
    }
    if (first.isMade < splitRound)
      return inProgress;
    child->family = family, child->familyRank = familyRank;
    child->ranks = (int)group.size();
    child->rank = int(std::find(group.begin(), group.end(), rank) - group.begin());
    child->join(first.where);
  }
  int result = child ? child->progress() : success;
  if (result != inProgress)
    phase = ready;
  return result;
}

bool Communicator::isBusy() const {
  return (phase != ready && phase != ended) || !deferred.empty();
}

void Communicator::finalize() { phase = finalizing; }

int Communicator::advanceFinalize() {
  if (pending > 0)
    return inProgress;
  int open = joined; // who has left stays so
  (*region)->members[rank].state.compare_exchange_strong(open, finalized);
  for (int other = 0; other < ranks; ++other)
    if ((*region)->members[other].state == joined)
      return inProgress;
  phase = ended;
  return success;
}

Header::Broken *Communicator::findBroken() const {
  for (Header::Broken *it : {&(*region)->broken, &(*family)->hang})
    if (it->result != success)
      return it;
  return nullptr;
}

int Communicator::checkPeers() {
  if (!region || now() - lastLook < lookEvery)
    return success;
  lastLook = now();
  for (int other = 0; other < ranks; ++other) {
    Member &it = (*region)->members[other];
    bool mayDie = it.state < joined || it.state == finalized || it.state == left;
    if (mayDie || it.pid == getpid() || startOf(it.pid) == it.started || it.started == 0)
      continue;
    std::string why = format("rank %d, process %d, is gone", other, it.pid);
    (*region).breakWith(remoteError, why);
    return fail(remoteError, why);
  }
  return success;
}

/// Blocks of a member are `count` long on the side that all of them are on.
static std::vector<Access> accessesOf(const Launch &launch, int ranks) {
  std::vector<Access> accesses;
  for (const Operation &it : launch.operations) {
    size_t bytes = it.count * bytesOf(it.type);
    if (it.from)
      accesses.push_back({it.from, it.kind == reduceScatter ? bytes * ranks : bytes, false});
    if (it.to)
      accesses.push_back({it.to, it.kind == allGather ? bytes * ranks : bytes, true});
  }
  return accesses;
}

int Communicator::launchDeferred() {
  // The first poll finds that the library is still at it.
  if (polls++ == 0)
    return inProgress;
  polls = 0;
  for (std::unique_ptr<Launch> &launch : std::exchange(deferred, {})) {
    Launch *it = launch.release();
    it->isKept = isCapturing(it->stream);
    if (!it->isKept)
      ++pending;
    auto function = [](void *data) {
      auto *launch = (Launch *)data;
      bool isKept = launch->isKept;
      launch->comm->run(*launch);
      if (!isKept) {
        --launch->comm->pending;
        delete launch;
      }
    };
    if (std::string why = issue(it->stream, function, it, accessesOf(*it, ranks)); !why.empty())
      return fail(unhandledCudaError, why);
  }
  return success;
}

int Communicator::enqueue(std::unique_ptr<Launch> launch) {
  std::lock_guard guard(lock);
  deferred.push_back(std::move(launch));
  if (!isBlocking)
    return inProgress;
  polls = 1;
  return launchDeferred();
}

int Communicator::advance() {
  switch (phase.load()) {
  case joining:
    return advanceJoin();
  case splitting:
    return advanceSplit();
  case finalizing:
    return advanceFinalize();
  case waitingForParent:
    return inProgress;
  default:
    return deferred.empty() ? success : launchDeferred();
  }
}

int Communicator::progress() {
  if (phase == waitingForParent && parent)
    parent->progress(); // without our lock, because it takes it
  std::lock_guard guard(lock);
  if (error != success)
    return error;
  if (isAborted)
    return systemError;
  if (Header::Broken *broken = region ? findBroken() : nullptr) {
    // A rank that runs something reports it itself.
    int none = success;
    error.compare_exchange_strong(none, broken->result);
    return error;
  }
  if (int result = checkPeers())
    return result;
  int result = advance();
  return error != success ? error.load() : result;
}

void Communicator::giveUp() {
  const char *what = phase == splitting ? "split" : "finalize";
  fail(systemError,
       phase == joining
           ? format("has waited %g s for rank %s to join", patience(), absentMembers().c_str())
           : format("has waited %g s for others to %s", patience(), what));
}

int Communicator::checkUse(const char *function) {
  std::lock_guard guard(lock);
  if (error != success)
    return report(error, format("%s: %s after an error", self().c_str(), function));
  if (phase == finalizing || phase == ended)
    return report(invalidUsage, format("%s: %s after ncclCommFinalize", self().c_str(), function));
  if (isBusy())
    return report(invalidArgument,
                  format("%s: %s before ncclCommGetAsyncError has told ncclSuccess "
                         "of the previous call",
                         self().c_str(), function));
  return checkPeers();
}

int Communicator::destroy() {
  // One that runs is pending too, unless it is of a graph.
  if (int count = std::max(pending.load(), running.load()))
    return report(invalidUsage,
                  format("%s: destroyed with %d launches under way", self().c_str(), count));
  if (error == success && isBusy())
    return report(invalidUsage, self() + ": destroyed before ncclCommGetAsyncError has told "
                                         "ncclSuccess of the previous call");
  phase = dead;
  if (region) {
    (*region)->members[rank].state = left;
    (*region).ringAll();
  }
  setLiving(this, false);
  return success;
}

void Communicator::abort() {
  setLiving(this, false);
  isAborted = true;
  if (region) {
    // Others get no report: on a real machine there is none either.
    (*region)->members[rank].state = aborted;
    (*region).ring(rank);
  }
  while (running > 0)
    usleep(pauseMicroseconds);
  phase = dead;
}

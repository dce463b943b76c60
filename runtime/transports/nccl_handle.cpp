//===- nccl_handle.cpp - communicators of NCCL, their life and errors --------===//

#include "runtime/transports/nccl_handle.h"

#include "runtime/support/profile.h"

#include <algorithm>

#include <unistd.h>

using namespace tplan::runtime;

/// Seconds in which a rank must say that it is there.
static double rollSeconds(double hangLimit) { return std::clamp(hangLimit, 2.0, 10.0); }

//===----------------------------------------------------------------------===//
// Who is lost
//===----------------------------------------------------------------------===//

Status NcclRank::explain(Status error) {
  TP_TRY(links.callRoll(rollSeconds(hangLimit)));
  std::string here = links.place();
  return errorf("%s%s", error.message().c_str(),
                here.empty() ? "" : format("; rank %d %s", links.rank(), here.c_str()).c_str());
}

Status NcclRank::standsStill(double seconds) {
  TP_TRY(links.callRoll(rollSeconds(hangLimit)));
  return errorf("rank %d has stood still for %.3g s, and all ranks answer: rank %d %s; %s",
                links.rank(), seconds, links.rank(), links.place().c_str(), links.others().c_str());
}

Status NcclRank::watch(double waited) {
  TP_TRY(links.poll(0));
  for (NcclHandle *handle : handles)
    TP_TRY(handle->poll());
  double seconds = places.still(*device, waited);
  return seconds > hangLimit ? standsStill(seconds) : Status();
}

//===----------------------------------------------------------------------===//
// One communicator
//===----------------------------------------------------------------------===//

NcclHandle::NcclHandle(NcclRank &rank, std::string name) : rank(rank), name(std::move(name)) {
  rank.handles.insert(this);
}

/// All members end it together if nothing has happened; otherwise each ends it by itself.
NcclHandle::~NcclHandle() {
  rank.handles.erase(this);
  if (!handle)
    return;
  const NcclLibrary &nccl = rank.nccl;
  // Captured sections hold on to it.
  rank.device->forget();
  bool isWell = rank.device->finish().ok() && rank.links.poll(0).ok();
  if (isWell && registered)
    isWell = nccl.CommDeregister(handle, registered) == nccl::success;
  isWell = isWell && nccl.check(nccl.CommFinalize(handle), "ncclCommFinalize").ok() &&
           settle("ncclCommFinalize", rank.hangLimit).ok();
  isWell ? nccl.CommDestroy(handle) : nccl.CommAbort(handle);
}

Status NcclHandle::settle(const char *what, double seconds) {
  constexpr double busy = 100e-6, pause = 50e-6;
  for (double begin = monotonicSeconds();;) {
    nccl::Result state = nccl::success;
    TP_NCCL(rank, CommGetAsyncError(handle, &state));
    if (state == nccl::success)
      return {};
    if (state != nccl::inProgress)
      return rank.explain(rank.nccl.error(state, what));
    TP_TRY(rank.links.poll(0));
    double waited = monotonicSeconds() - begin;
    if (waited > seconds) {
      TP_TRY(rank.links.callRoll(rollSeconds(rank.hangLimit)));
      return errorf("NCCL has been at %s for '%s' for %g s, and all ranks answer: %s", what,
                    name.c_str(), seconds, rank.links.others().c_str());
    }
    if (waited > busy)
      usleep(useconds_t(pause * 1e6));
  }
}

Status NcclHandle::join(const nccl::UniqueId &id) {
  nccl::Config config;
  config.blocking = 0;
  if (rank.channels > 0) // of those that are split off, too
    config.maxCTAs = rank.channels;
  TP_NCCL(rank, CommInitRankConfig(&handle, rank.links.size(), id, rank.links.rank(), &config));
  return settle("ncclCommInitRankConfig", 10 * rank.hangLimit);
}

/// As of NCCL 2.23 the handle is there when the parent is ready again.
Status NcclHandle::split(NcclHandle &parent, int color, int key) {
  TP_NCCL(rank, CommSplit(parent.handle, color, key, &handle, nullptr));
  TP_TRY(parent.settle("ncclCommSplit", 10 * rank.hangLimit));
  return color == nccl::noColor ? Status() : settle("ncclCommSplit", 10 * rank.hangLimit);
}

Status NcclHandle::registerArena() {
  if (!registered)
    TP_NCCL(rank, CommRegister(handle, rank.arena, rank.arenaBytes, &registered));
  return {};
}

Status NcclHandle::begin() {
  TP_NCCL(rank, GroupStart());
  return {};
}

Status NcclHandle::end() {
  TP_NCCL(rank, GroupEnd());
  return settle("ncclGroupEnd", rank.hangLimit);
}

Status NcclHandle::poll() {
  nccl::Result state = nccl::success;
  if (!handle)
    return {};
  TP_NCCL(rank, CommGetAsyncError(handle, &state));
  if (state == nccl::success || state == nccl::inProgress)
    return {};
  return rank.explain(rank.nccl.error(state, "to go on"));
}

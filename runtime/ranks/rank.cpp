//===- rank.cpp - a rank, its memory and its device ------------------------===//

#include "runtime/ranks/rank.h"

#include <cstring>

using namespace tplan::runtime;

Status tplan::runtime::give(tp_rank &rank) {
  if (!rank.device)
    return {};
  TP_TRY(rank.device->send());
  return rank.device->take();
}

Status tplan::runtime::readArena(tp_rank &rank, int64_t offset, void *to, int64_t bytes) {
  if (rank.device)
    return rank.device->read(to, rank.arena.data() + offset, bytes);
  memcpy(to, rank.arena.data() + offset, bytes);
  return {};
}

Status tplan::runtime::writeArena(tp_rank &rank, int64_t offset, const void *from, int64_t bytes) {
  if (rank.device)
    return rank.device->write(rank.arena.data() + offset, from, bytes);
  memcpy(rank.arena.data() + offset, from, bytes);
  return {};
}

/// The error that generated code has kept says more than that it failed.
static Status causeOf(tp_rank &rank, Status status) {
  return status.ok() || rank.error.ok() ? std::move(status) : std::move(rank.error);
}

Status tplan::runtime::runEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), const char *what,
                                bool repeated) {
  char *arena = rank.arena.data();
  Status status;
  if (rank.device)
    status = rank.device->run(&rank, entry, arena, repeated);
  else if (entry(&rank, arena) != 0)
    status = errorf("%s failed without a message", what);
  return causeOf(rank, std::move(status));
}

Status tplan::runtime::captureEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), Capture &made) {
  return causeOf(rank, rank.device->capture(&rank, entry, rank.arena.data(), made));
}

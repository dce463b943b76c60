//===- rank.cpp - a rank, its memory and its device ------------------------===//

#include "runtime/rank.h"

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

Status tplan::runtime::runEntry(tp_rank &rank, int (*entry)(tp_rank *, char *), const char *what,
                                bool repeated) {
  char *arena = rank.arena.data();
  Status status;
  if (rank.device)
    status = rank.device->run(&rank, entry, arena, repeated);
  else if (entry(&rank, arena) != 0)
    status = errorf("%s failed without a message", what);
  if (!status.ok() && !rank.error.ok())
    return std::move(rank.error);
  return status;
}

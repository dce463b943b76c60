//===- peers.cpp - all ranks of a run, seen from one ----------------------===//

#include "runtime/ranks/peers.h"

#include <algorithm>

using namespace tplan::runtime;

Status Peers::agree(Status mine) {
  if (size() == 1)
    return alike(std::move(mine));
  double any = mine.ok() ? 0 : 1;
  TP_TRY(sum(&any, 1));
  if (any == 0)
    return {};
  // Only now do ranks ask which one failed: it takes a number from each rank to each rank.
  std::vector<double> failed(size(), 0.0);
  failed[rank()] = mine.ok() ? 0 : 1;
  TP_TRY(sum(failed.data(), size()));
  auto first = std::find(failed.begin(), failed.end(), 1.0);
  int from = int(first - failed.begin());
  std::string text = mine.message();
  TP_TRY(broadcast(text, from));
  bool all = std::count(failed.begin(), failed.end(), 1.0) == size();
  return alike(errorf("%s%s", all ? "" : format("rank %d: ", from).c_str(), text.c_str()));
}

Status Peers::alike(Status mine) {
  together |= !mine.ok();
  return mine;
}

Status Peers::sum(double *values, int64_t count) {
  return size() == 1 ? Status() : transport->world().sum(values, count, *team);
}

Status Peers::broadcast(void *data, int64_t bytes, int from) {
  return size() == 1 || bytes == 0 ? Status() : transport->world().broadcast(data, bytes, from);
}

Status Peers::broadcast(std::string &text, int from) {
  auto length = (int64_t)text.size();
  TP_TRY(broadcast(&length, sizeof length, from));
  text.resize(length);
  return broadcast(text.data(), length, from);
}

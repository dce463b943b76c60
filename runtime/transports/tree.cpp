//===- tree.cpp - what processes do together on the host --------------------===//

#include "runtime/transports/tree.h"

#include <cstring>

using namespace tplan::runtime;

/// A member and all members below it, in the order in which they stand in what it sends up.
static void listFrom(int member, int members, std::vector<int> &list) {
  if (member >= members)
    return;
  list.push_back(member);
  listFrom(2 * member + 1, members, list);
  listFrom(2 * member + 2, members, list);
}

Status Tree::receive(int member, std::string &bytes, size_t wanted) {
  TP_TRY(links.receive(number, member, round, bytes, seconds));
  if (bytes.size() == wanted)
    return {};
  return errorf("ranks do not do the same together: %zu bytes are sent where %zu are expected",
                bytes.size(), wanted);
}

/// Sends to all members below.
Status Tree::hand(std::string bytes) {
  return below([&](int child) { return send(child, bytes); });
}

Status Tree::broadcast(void *data, int64_t bytes, int root) {
  ++round;
  std::string text;
  // First the bytes go up to the top, through the members on the way; then down to all.
  int from = root;
  while (from > self && above(from) != self)
    from = above(from);
  bool isOnTheWay = root == self || (from > self && above(from) == self);
  if (root == self)
    text.assign((const char *)data, bytes);
  else if (isOnTheWay)
    TP_TRY(receive(from, text, bytes));
  if (self && isOnTheWay)
    TP_TRY(send(above(self), text));
  if (self)
    TP_TRY(receive(above(self), text, bytes));
  if (bytes)
    memcpy(data, text.data(), bytes);
  return hand(std::move(text));
}

Status Tree::sum(double *values, int64_t count) {
  ++round;
  size_t size = count * sizeof(double);
  std::string all((const char *)values, size);
  TP_TRY(below([&](int child) -> Status {
    std::vector<int> list;
    listFrom(child, members, list);
    std::string part;
    TP_TRY(receive(child, part, list.size() * size));
    all += part;
    return {};
  }));
  if (self) {
    TP_TRY(send(above(self), std::move(all)));
    TP_TRY(receive(above(self), all, size));
    memcpy(values, all.data(), size);
    return hand(std::move(all));
  }
  std::vector<int> list;
  listFrom(0, members, list);
  std::vector<size_t> place(members);
  for (size_t i = 0; i < list.size(); ++i)
    place[list[i]] = i * size;
  for (int member = 1; member < members; ++member)
    for (int64_t i = 0; i < count; ++i) {
      double value;
      memcpy(&value, all.data() + place[member] + i * sizeof value, sizeof value);
      values[i] += value;
    }
  all.assign((const char *)values, size);
  return hand(std::move(all));
}

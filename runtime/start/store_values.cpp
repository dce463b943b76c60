//===- store_values.cpp - the keys and values that a store holds ------------===//

#include "runtime/start/store_values.h"

#include <algorithm>
#include <utility>

using namespace tplan::runtime::store;

/// What maps and two strings take beside their characters.
static constexpr int64_t costOfKey = 224;

const std::string *Values::find(const std::string &key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second.bytes;
}

bool Values::has(const std::vector<std::string> &keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string &key) { return values.count(key) != 0; });
}

static int64_t costOf(const std::string &key, std::string_view value) {
  return costOfKey + int64_t(key.size() + value.size());
}

void Values::count(int64_t owner, int64_t keys, int64_t bytes) {
  Share &share = shares[owner];
  for (Share *each : {&share, &all, share.hasLeft ? &ofGone : nullptr})
    if (each)
      each->keys += keys, each->bytes += bytes;
  if (share.keys == 0)
    shares.erase(owner);
}

bool Values::set(const std::string &key, std::string_view value, int64_t owner) {
  auto found = values.find(key);
  bool isNew = found == values.end();
  int64_t before = isNew ? 0 : costOf(key, found->second.bytes), now = costOf(key, value);
  if ((isNew && all.keys >= mostKeys) || (now > before && all.bytes + now - before > mostBytes))
    return false;
  if (!isNew)
    count(found->second.owner, -1, -before);
  count(owner, 1, now);
  // A new string, so that a smaller value gives back what a larger one had.
  values[key] = {std::string(value), owner};
  return true;
}

int64_t Values::largestOwner() const {
  auto shareOf = [this](const Share &share) {
    return std::max((double)share.keys / mostKeys, (double)share.bytes / mostBytes);
  };
  int64_t largest = ofGone.keys ? gone : -1;
  double most = shareOf(ofGone);
  for (auto &[owner, share] : shares)
    if (double its = shareOf(share);
        !share.hasLeft && (its > most || (its == most && owner > largest)))
      largest = owner, most = its;
  return largest;
}

void Values::leave(int64_t owner) {
  auto found = shares.find(owner);
  if (found == shares.end() || std::exchange(found->second.hasLeft, true))
    return;
  ofGone.keys += found->second.keys, ofGone.bytes += found->second.bytes;
}

void Values::drop(int64_t owner) {
  for (auto it = values.begin(); it != values.end();) {
    int64_t mine = it->second.owner;
    bool its = mine == owner || (owner == gone && shares.at(mine).hasLeft);
    if (its)
      count(mine, -1, -costOf(it->first, it->second.bytes));
    it = its ? values.erase(it) : std::next(it);
  }
}

void Values::await(int client, const std::vector<std::string> &keys) {
  for (const std::string &key : keys)
    waiters[key].insert(client);
}

void Values::forget(int client, const std::vector<std::string> &keys) {
  for (const std::string &key : keys) {
    auto found = waiters.find(key);
    if (found == waiters.end())
      continue;
    found->second.erase(client);
    if (found->second.empty())
      waiters.erase(found);
  }
}

const std::unordered_set<int> *Values::waiting(const std::string &key) const {
  auto found = waiters.find(key);
  return found == waiters.end() ? nullptr : &found->second;
}

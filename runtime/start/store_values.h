//===- store_values.h - the keys and values that a store holds --------------===//
//
// One decision: each value is counted for the client that has set it, and those of all clients that
// have gone are counted as if one had set them. Where a bound is met, the client with the largest
// share of it loses what it has set, so that one that fills the store harms no other one, also if
// it comes a thousand times.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_STORE_VALUES_H
#define TPLAN_RUNTIME_START_STORE_VALUES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tplan::runtime::store {

/// Who waits is a descriptor, and who has set a value a number that nobody has again.
class Values {
public:
  Values(int64_t mostKeys, int64_t mostBytes) : mostKeys(mostKeys), mostBytes(mostBytes) {}

  /// Null: there is none.
  const std::string *find(const std::string &key) const;
  bool has(const std::vector<std::string> &keys) const;
  /// False, and nothing is changed: that were too many keys, or bytes.
  bool set(const std::string &key, std::string_view value, int64_t owner);
  /// With the largest share, of keys or of bytes, and of those alike the last that came; `gone`:
  /// those that have gone; -1: nobody has set anything.
  int64_t largestOwner() const;
  static constexpr int64_t gone = -2;
  /// It has gone, and what it has set stays.
  void leave(int64_t owner);
  /// Its values are gone.
  void drop(int64_t owner);

  /// Until all of the keys are there.
  void await(int client, const std::vector<std::string> &keys);
  void forget(int client, const std::vector<std::string> &keys);
  /// Who waits for this one, and perhaps for others.
  const std::unordered_set<int> *waiting(const std::string &key) const;

private:
  struct Value {
    std::string bytes;
    int64_t owner = 0;
  };
  struct Share {
    int64_t keys = 0, bytes = 0;
    bool hasLeft = false;
  };
  void count(int64_t owner, int64_t keys, int64_t bytes);

  const int64_t mostKeys, mostBytes;
  Share all, ofGone;
  std::unordered_map<std::string, Value> values;
  std::unordered_map<int64_t, Share> shares;
  std::unordered_map<std::string, std::unordered_set<int>> waiters;
};

} // namespace tplan::runtime::store

#endif // TPLAN_RUNTIME_START_STORE_VALUES_H

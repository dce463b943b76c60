//===- store_values.h - the keys and values that a store holds --------------===//
//
// One decision: each value counts for the client that has set it; the values of all clients that
// have gone count as if one client had set them. Where a limit is reached, the client with the
// largest share of it loses its values: so a client that fills the store harms no other one, even
// if it connects a thousand times.
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

/// A client that waits is a descriptor; a client that sets values is a number that is never used
/// again.
class Values {
public:
  Values(int64_t mostKeys, int64_t mostBytes) : mostKeys(mostKeys), mostBytes(mostBytes) {}

  /// The value of a key; null where there is none.
  const std::string *find(const std::string &key) const;
  bool has(const std::vector<std::string> &keys) const;
  /// False, and nothing is changed, where there would be too many keys or bytes.
  bool set(const std::string &key, std::string_view value, int64_t owner);
  /// The client with the largest share of keys or bytes, of equal ones the last that came; `gone`:
  /// those that have gone; -1: nobody has set anything.
  int64_t largestOwner() const;
  static constexpr int64_t gone = -2;
  /// The client has gone, and its values stay.
  void leave(int64_t owner);
  /// The client's values are removed.
  void drop(int64_t owner);

  /// The client waits until all of the keys are there.
  void await(int client, const std::vector<std::string> &keys);
  void forget(int client, const std::vector<std::string> &keys);
  /// Clients that wait for this key, and perhaps for others.
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

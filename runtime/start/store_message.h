//===- store_message.h - what has come of a message to the store ------------===//
#ifndef TPLAN_RUNTIME_START_STORE_MESSAGE_H
#define TPLAN_RUNTIME_START_STORE_MESSAGE_H

#include "runtime/start/store_protocol.h"

#include <cstring>
#include <vector>

namespace tplan::runtime::store {

/// Reads values from its front. After the first value that is missing or wrong all others are
/// empty.
class Message {
public:
  enum State { whole, partial, bad };
  explicit Message(std::string_view bytes) : bytes(bytes) {}

  /// Or an array of bytes.
  template <typename T> T number() {
    T value = {};
    if (take(sizeof value))
      memcpy(&value, bytes.data() + at - sizeof value, sizeof value);
    return value;
  }
  std::string_view text(uint64_t most) {
    auto size = number<uint64_t>();
    if (size > most)
      now = bad;
    return take(size) ? bytes.substr(at - size, size) : std::string_view();
  }
  std::vector<std::string> keys() {
    auto count = number<uint64_t>();
    if (count > maxKeysAsked)
      now = bad;
    std::vector<std::string> found;
    for (uint64_t i = 0; now == whole && i < count; ++i)
      found.emplace_back(text(maxKeyBytes));
    return found;
  }
  void refuse() { now = bad; }
  State state() const { return now; }
  size_t consumed() const { return at; }

private:
  bool take(uint64_t size) {
    if (now == whole && size > bytes.size() - at)
      now = partial;
    at += now == whole ? size : 0;
    return now == whole;
  }

  std::string_view bytes;
  size_t at = 0;
  State now = whole;
};

} // namespace tplan::runtime::store

#endif // TPLAN_RUNTIME_START_STORE_MESSAGE_H

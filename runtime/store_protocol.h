//===- store_protocol.h - the bytes of PyTorch's TCPStore -----------------===//
//
// A message is an op and what it takes: numbers as the machine has them, strings as their length
// and bytes. The first one of a connection is `validate`. Nobody proves who they are.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STORE_PROTOCOL_H
#define TPLAN_RUNTIME_STORE_PROTOCOL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tplan::runtime::store {

enum class Op : uint8_t {
  validate = 0,    // u32 magic
  set = 1,         // key, value
  get = 3,         // key; a value
  add = 4,         // key, i64; an i64
  check = 5,       // u64 count, keys; a Check
  wait = 6,        // u64 count, keys; a Wait, when all are there
  cancelWait = 12, // a Wait
  ping = 13,       // u32; the same
};
enum class Check : uint8_t { ready = 0, missing = 1 };
enum class Wait : uint8_t { done = 0, cancelled = 1 };

/// PyTorch up to 2.0 puts it before every message, and has no `validate`.
constexpr uint32_t magic = 0x3C85F7CE;

// What PyTorch's server takes.
constexpr uint64_t maxKeyBytes = 8 << 10, maxValueBytes = 8 << 20, maxKeys = 128 << 10;

template <typename T> void put(std::string &message, T value) {
  message.append((const char *)&value, sizeof value);
}
inline void putText(std::string &message, std::string_view text) {
  put(message, (uint64_t)text.size());
  message.append(text);
}
inline void putKeys(std::string &message, Op op, std::string_view key) {
  put(message, op);
  put(message, uint64_t(1));
  putText(message, key);
}

} // namespace tplan::runtime::store

#endif // TPLAN_RUNTIME_STORE_PROTOCOL_H

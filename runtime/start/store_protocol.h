//===- store_protocol.h - the bytes of PyTorch's TCPStore -----------------===//
//
// A message is an op and its arguments: numbers in the machine's byte order, strings as their
// length and bytes. The first message of a connection is `validate`. In PyTorch nobody proves who
// they are, so for a job with a secret a server of ours has two more messages: `hail`, answered by
// a challenge, and `prove`, answered by a proof. Before them such a server answers nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_STORE_PROTOCOL_H
#define TPLAN_RUNTIME_START_STORE_PROTOCOL_H

#include "runtime/start/secret.h"

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
  hail = 112,      // i64 rank, challenge; a Hail, and with `prove` a challenge
  prove = 113,     // proof; a Hail, and with `known` a proof
};
enum class Check : uint8_t { ready = 0, missing = 1 };
enum class Wait : uint8_t { done = 0, cancelled = 1 };
/// None of these is an answer to a check, so a server without a secret is understood, too.
enum class Hail : uint8_t { noSecret = 2, secretWanted = 3, prove = 4, known = 5, wrong = 6 };

/// What a connection of a rank is for.
inline std::string purposeOf(int64_t rank) { return format("store rank %lld", (long long)rank); }

/// PyTorch up to 2.0 puts it before every message, and has no `validate`.
constexpr uint32_t magic = 0x3C85F7CE;

/// Within what PyTorch's server takes, 8 MiB; ranks say where they are, in some hundred bytes.
constexpr uint64_t maxKeyBytes = 8 << 10, maxValueBytes = 1 << 20;
/// Limits of a server of ours: keys of a message, and of a job.
constexpr uint64_t maxKeysAsked = 64;
constexpr int64_t maxKeys(int64_t ranks) { return 16 * ranks + 1024; }
/// Limits on the bytes of all keys and values, and of messages that have not come completely,
/// answers that are not read, and keys that are waited for. With what an allocator adds, both stay
/// under 64 MiB.
constexpr int64_t maxValuesBytes = 36 << 20, maxBufferedBytes = 12 << 20;

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

#endif // TPLAN_RUNTIME_START_STORE_PROTOCOL_H

//===- store.h - keys and values that all processes of a job see ----------===//
//
// How ranks find each other before a transport connects them: a client of PyTorch's TCPStore, which
// torchrun brings along, and of our own (store_server.h) elsewhere.
//
// One decision: `set` waits until the server has the value, which PyTorch does not, so that no rank
// goes on, and ends, while others still wait for what it had to say.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_STORE_H
#define TPLAN_RUNTIME_START_STORE_H

#include "runtime/start/sockets.h"

#include <cstdint>
#include <string_view>

namespace tplan::runtime {

/// For one thread at a time.
class Store {
public:
  /// Before `connect`: this rank proves that it knows the secret, and the server has to. For a
  /// server of ours.
  void prove(const std::string &secret, int64_t rank) { this->secret = secret, this->rank = rank; }
  /// Tries until the server is there, `seconds` at most; as long a set, an add and an answer may
  /// take. Keys get the prefix, which keeps this job's apart from those of others.
  Status connect(const std::string &host, int port, const std::string &prefix, double seconds);
  /// False before, and after an error that the server is lost in.
  bool connected() const { return socket.isOpen(); }
  /// Of this end of the connection: where machines that see the server may see this one.
  std::string ownAddress() const { return socket.address(); }
  /// After a slash, as those of PyTorch's users.
  void setPrefix(const std::string &prefix) { this->prefix = "/" + prefix; }

  /// At most 8 MiB.
  Status set(const std::string &key, std::string_view bytes);
  /// Waits until some rank has set it, `seconds` at most.
  Status get(const std::string &key, std::string &bytes, double seconds);
  /// Adds to a number that is 0 at first; `value` is the sum.
  Status add(const std::string &key, int64_t delta, int64_t &value);

private:
  Status attempt(const Deadline &deadline, bool &answered);
  Status greet(std::string message, const Deadline &deadline, bool &answered);
  Status introduce(std::string message, const Deadline &deadline, bool &answered);
  Status foreign(int answer) const;
  bool isOld(const Deadline &deadline) const;
  std::string nameOf(const std::string &key) const { return prefix + key; }
  Status check(const std::string &key) const;
  Status lost(const std::string &during, const Status &why);
  template <typename T> Status ask(const std::string &message, T &answer);
  Status cancelWait(bool &done);
  Status fetch(const std::string &key, std::string &bytes);

  Socket socket;
  std::string host, address, prefix; // the address for messages
  std::string secret;                // empty: none
  int64_t rank = 0;
  int port = 0;
  double limit = 0;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_STORE_H

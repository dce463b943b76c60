//===- store.h - keys and values that all processes of a job see ----------===//
//
// How ranks find each other before a transport connects them: a client of PyTorch's TCPStore, which
// torchrun brings along, and of our own (store_server.h) elsewhere.
//
// One decision: `set` waits until the server has the value, which PyTorch's does not, so that no
// rank goes on, and ends, while others still wait for what it had to say.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_STORE_H
#define TPLAN_RUNTIME_START_STORE_H

#include "runtime/start/sockets.h"

#include <cstdint>
#include <string_view>

namespace tplan::runtime {

/// May be used by one thread at a time.
class Store {
public:
  /// Called before `connect`: this rank proves that it knows the secret, and the server must prove
  /// it, too. Only for a server of ours.
  void prove(const std::string &secret, int64_t rank) { this->secret = secret, this->rank = rank; }
  /// Tries until the server answers, `seconds` at most; a set, an add or an answer may take as
  /// long. Keys get the prefix, which keeps the keys of this job apart from those of others.
  Status connect(const std::string &host, int port, const std::string &prefix, double seconds);
  /// False before `connect`, and after an error in which the server was lost.
  bool connected() const { return socket.isOpen(); }
  /// The address of this end of the connection: other machines that see the server may see this one
  /// there.
  std::string ownAddress() const { return socket.address(); }
  /// The prefix follows a slash, as in PyTorch.
  void setPrefix(const std::string &prefix) { this->prefix = "/" + prefix; }

  /// Sets a value of at most 8 MiB.
  Status set(const std::string &key, std::string_view bytes);
  /// Waits until some rank has set the key, `seconds` at most.
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

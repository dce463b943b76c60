//===- store_server.h - the store where no launcher brings one ------------===//
#ifndef TPLAN_RUNTIME_START_STORE_SERVER_H
#define TPLAN_RUNTIME_START_STORE_SERVER_H

#include "runtime/start/reach.h"

#include <memory>

namespace tplan::runtime {

/// A thread that serves a TCPStore, until the object ends.
class StoreServer {
public:
  StoreServer();
  ~StoreServer();

  /// Starts a store for so many ranks; unless the secret is empty, they must prove that they know
  /// it. Port 0: one that is free.
  Status start(const Reach &reach, int port, int64_t ranks, const std::string &secret);
  int port() const;
  /// The address that was turned away because of the secret, for an error; empty: none.
  std::string refused() const;

private:
  class Daemon;
  std::unique_ptr<Daemon> daemon;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_STORE_SERVER_H

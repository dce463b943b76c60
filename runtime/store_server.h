//===- store_server.h - the store where no launcher brings one ------------===//
#ifndef TPLAN_RUNTIME_STORE_SERVER_H
#define TPLAN_RUNTIME_STORE_SERVER_H

#include "runtime/status.h"

#include <memory>

namespace tplan::runtime {

/// A thread that serves a TCPStore, until the object ends.
class StoreServer {
public:
  StoreServer();
  ~StoreServer();

  /// `local`: for processes of this machine alone. Port 0: one that is free.
  Status start(int port, bool local);
  int port() const;

private:
  class Daemon;
  std::unique_ptr<Daemon> daemon;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STORE_SERVER_H

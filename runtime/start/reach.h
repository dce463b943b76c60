//===- reach.h - at which addresses a process listens -----------------------===//
#ifndef TPLAN_RUNTIME_START_REACH_H
#define TPLAN_RUNTIME_START_REACH_H

#include "runtime/start/sockets.h"

#include <vector>

namespace tplan::runtime {

/// The addresses at which a process listens for others that know a host.
struct Reach {
  std::vector<std::string> addresses; // as numbers; none: all of this machine
  std::string note;                   // why it listens at all addresses; else empty
};

/// The addresses of the host that interfaces of this machine own. `oneMachine`: all processes are
/// on this machine, so a name may lead to the loopback.
Reach reachOf(const std::string &host, bool oneMachine);

/// A socket for each address, at one port; port 0: one that is free.
Status listenAt(const Reach &reach, int port, std::vector<Socket> &sockets);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_REACH_H

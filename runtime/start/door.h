//===- door.h - who connects to a rank, and how it is let in ----------------===//
//
// A connection begins with a hello: the nonce of the job, and the place in a tree that it is for.
// Where the job has a secret, both sides prove that they know it.
//
// One decision: all connections are read side by side, each as far as its bytes have come, so that
// nobody waits for a stranger. A stranger has a few seconds, and where there are too many the
// oldest is closed.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_DOOR_H
#define TPLAN_RUNTIME_START_DOOR_H

#include "runtime/start/reach.h"
#include "runtime/start/rendezvous.h"
#include "runtime/start/secret.h"

#include <functional>
#include <list>
#include <map>
#include <tuple>

#include <poll.h>

namespace tplan::runtime {

/// What a connection is for: the member of a tree that connects to this rank.
struct Place {
  uint32_t tree = 0;
  int32_t member = 0, rank = 0;
  auto operator<=>(const Place &) const = default;
};

/// What the processes of a job know.
struct Password {
  Nonce nonce = {};
  std::string secret; // empty: none
};

class Door {
public:
  Status open(const Reach &reach, const Password &password);
  int port() const { return listeners.front().port(); }
  /// Adds the sockets to wait for.
  void addTo(std::vector<pollfd> &polled) const;
  /// Accepts new connections and reads from all of them; waits for nobody.
  void serve();
  /// False: it has not connected yet.
  bool take(const Place &place, Socket &socket);
  /// The address that was turned away because of the secret, for an error; empty: none.
  std::string refused() const;

private:
  struct Guest {
    Socket socket;
    Deadline deadline;
    std::string bytes = {};
    Place place = {};
    Challenges challenges = {};
    bool proves = false; // the next message is a proof
    bool inside = false;
  };
  void accept(const Socket &listener);
  bool hear(Guest &guest);
  bool meet(Guest &guest);
  bool check(Guest &guest);

  Password password;
  std::vector<Socket> listeners;
  std::list<Guest> guests; // the oldest first
  std::map<Place, Socket> inside;
  std::string lastRefused;
};

/// The other side: connects to a door as this place. `meanwhile` is called while there is no
/// answer. The error is only a reason, to which callers add what it is about. `answered`: the door
/// itself refused; otherwise another attempt may succeed, because a door with too many guests
/// closes some.
Status knock(Socket &socket, const Place &place, const Password &password, const Deadline &deadline,
             const std::function<Status()> &meanwhile, bool &answered);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_DOOR_H

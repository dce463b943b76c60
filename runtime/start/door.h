//===- door.h - who connects to a rank, and how it is let in ----------------===//
//
// A connection begins with a hello: the nonce of the job, and the place in a tree that it is for.
// Where the job has a secret, both sides prove that they know it.
//
// One decision: all who have connected are looked at side by side, each as far as its bytes have
// come, so that nobody waits for a stranger. A stranger has a few seconds, and where there are too
// many the oldest goes.
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

/// What a connection is for: the member of a tree, which is this rank, that connects.
struct Place {
  uint32_t tree = 0;
  int32_t member = 0, rank = 0;
  auto operator<=>(const Place &) const = default;
};

/// What processes of a job know of it.
struct Password {
  Nonce nonce = {};
  std::string secret; // empty: none
};

class Door {
public:
  Status open(const Reach &reach, const Password &password);
  int port() const { return listeners.front().port(); }
  /// What to wait for.
  void addTo(std::vector<pollfd> &polled) const;
  /// Takes in who has connected, and hears who has said something; waits for nobody.
  void serve();
  /// False: it has not come.
  bool take(const Place &place, Socket &socket);
  /// Who has been turned away because of the secret, for an error; empty: nobody.
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

/// The other side: a connection to a door that lets this place in. `meanwhile` is called while
/// there is no answer. The error is a reason, for callers that say of what. `answered`: it is the
/// door's own; else another attempt may go well, for a door with too many guests lets some go.
Status knock(Socket &socket, const Place &place, const Password &password, const Deadline &deadline,
             const std::function<Status()> &meanwhile, bool &answered);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_DOOR_H

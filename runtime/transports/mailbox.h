//===- mailbox.h - messages between two threads with devices -----------------===//
//
// Each end of a channel posts its messages in one order, and nobody waits for the other one there:
// whoever comes second finds what the first has posted, and moves the bytes. An end waits on its
// host only where the message is awaited, until the other one has been posted.
//
// One decision: an event says of the first that its memory is ready, and of the second that the
// bytes have been moved. So both need no event but the one that is awaited.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_MAILBOX_H
#define TPLAN_RUNTIME_TRANSPORTS_MAILBOX_H

#include "runtime/ranks/transport.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace tplan::runtime {

class Mailbox {
public:
  /// A message of one end: its event is recorded in its stream.
  struct Post {
    std::vector<Operation> operations;
    Stream stream{};
    int64_t event = -1;
  };
  enum Outcome { posted, closed, late };

  /// Posts a message of member 0 or 1. If the other end has been posted, `move` is called with it;
  /// else `ready`. Either records the event.
  Status post(int member, Post mine, const std::function<Status()> &ready,
              const std::function<Status(const Post &theirs)> &move);
  /// Waits, `seconds` at most, until both ends of the message with this event of the member have
  /// been posted, and gives the one of which the event says that it has come; else the message.
  Outcome wait(int member, int64_t event, double seconds, Post &end);
  /// Nobody waits from now on.
  void close();

private:
  std::mutex lock;
  std::condition_variable changed;
  bool isClosed = false;
  std::deque<Post> waiting[2];      // for their other ends
  std::map<int64_t, Post> moved[2]; // by event: who came second
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_MAILBOX_H

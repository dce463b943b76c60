//===- links.h - sockets between the processes of a job, and who is lost -----===//
//
// Ranks are the nodes of a binary tree, and so are the members of each group: each has a connection
// to the one above it and to those below it. Data goes over them, and notices: which rank is gone,
// has failed, or is there.
//
// One decision: nothing runs in the background; connections are looked at while somebody waits. A
// rank that finds a neighbour gone tells the others, who pass it on, before it ends itself: so that
// all name the same rank, whichever news comes first.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_LINKS_H
#define TPLAN_RUNTIME_TRANSPORTS_LINKS_H

#include "runtime/ranks/mesh.h"
#include "runtime/start/door.h"

#include <deque>

namespace tplan::runtime {

/// The tree of n members: 0 at the top, m above 2 m + 1 and 2 m + 2.
inline int above(int member) { return (member - 1) / 2; }
/// The neighbour of member `from` on the way to member `to`.
int wayTo(int from, int to);

/// What one rank says to a neighbour.
struct Frame {
  enum Kind : uint32_t { data, bye, gone, failed, here, note, lastKind = note };
  Kind kind;
  int32_t number; // number of the operation, or the rank that a notice is about
  std::string bytes;
};

class Links {
public:
  Links() = default;
  Links(const Links &) = delete;

  /// Connects the tree of all ranks, number 0, `seconds` at most.
  Status open(const Launch &launch, Rendezvous &meeting, double seconds);
  /// Connects the tree of a group; its members call it with the same number.
  Status connect(uint32_t tree, const Members &members, double seconds);
  /// The group's members need the tree no more.
  void drop(uint32_t tree);

  int rank() const { return self; }
  int size() const { return ranks; }

  /// Send and receive for an operation of a tree. Both return when it is done, when the job ends,
  /// or after `seconds`, in which case they find out who does not answer.
  Status send(uint32_t tree, int member, int32_t number, std::string bytes, double seconds);
  Status receive(uint32_t tree, int member, int32_t number, std::string &bytes, double seconds);

  /// Looks at all connections, and waits for news for so long. An error: the job ends, because a
  /// rank is gone or has failed.
  Status poll(double seconds);
  /// Asks all ranks whether they are there. An error names a rank that is gone, or does not answer
  /// in time; success: all answer.
  Status callRoll(double seconds);
  /// Where the others are, after the roll has been called: a line for each.
  std::string others() const;

  /// This rank has failed by itself, or just leaves; returns when the others have got the news.
  void fail(const std::string &why);
  void leave();

  /// Sends bytes to a neighbour in the tree of all ranks, which passes them to its `noted`; waits
  /// for nobody.
  void write(int rank, std::string bytes);
  std::function<void(const std::string &bytes)> noted;

  /// What this rank is doing, for messages: "waits in the all-reduce over 'dp'"; or empty.
  std::function<std::string()> place;

private:
  /// A connection.
  struct Edge {
    uint32_t tree;
    int member, rank;    // at its other end
    bool ending = false; // the other end has said that it ends
    Socket socket;
    std::string in, out;
    std::deque<Frame> frames; // of data
  };
  /// Why the job ends.
  struct Loss {
    Frame::Kind kind;
    int rank;
    std::string why;
  };

  Status reach(uint32_t tree, const Members &members, const Deadline &deadline);
  void add(uint32_t tree, int member, int rank, Socket socket);
  Edge *find(uint32_t tree, int member);
  void put(Edge &edge, const Frame &frame);
  void flush(Edge &edge);
  void flushAll(double seconds);
  void read(Edge &edge);
  void lose(Edge &edge, const std::string &why);
  void hear(Edge &edge, Frame frame);
  void learn(Loss news);
  void answer();
  void tellAll(const Frame &frame, uint32_t trees);
  Status ended() const;
  Status late(const Edge &edge, double seconds);

  int self = 0, ranks = 1;
  Password password;
  Door door;
  std::vector<std::string> addresses; // of all ranks: "HOST PORT"
  std::deque<Edge> edges;
  std::vector<Loss> losses; // at most one that failed, and after it one that is gone
  bool called = false;      // whether the roll has been called
  std::map<int, std::string> present;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_LINKS_H

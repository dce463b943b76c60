//===- tree.h - what processes do together on the host ----------------------===//
//
// For the runtime's own needs, outside of steps: numbers and bytes go up and down the tree of a
// group. Values are small, and each sum is made by one member, in the order of the members.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_TREE_H
#define TPLAN_RUNTIME_TRANSPORTS_TREE_H

#include "runtime/transports/links.h"

namespace tplan::runtime {

class Tree {
public:
  /// `number`: the connections of `links`; an operation waits `seconds` at most.
  Tree(Links &links, uint32_t number, const Members &members, double seconds)
      : links(links), number(number), members((int)members.ranks.size()), self(members.self),
        seconds(seconds) {}

  /// `bytes` of the member `root` to all.
  Status broadcast(void *data, int64_t bytes, int root);
  /// Sums over the members in order of their numbers.
  Status sum(double *values, int64_t count);

private:
  Status send(int member, std::string bytes) {
    return links.send(number, member, round, std::move(bytes), seconds);
  }
  Status receive(int member, std::string &bytes, size_t wanted);
  Status hand(std::string bytes);
  template <typename Body> Status below(Body &&body) const {
    for (int child = 2 * self + 1; child < members && child < 2 * self + 3; ++child)
      TP_TRY(body(child));
    return {};
  }

  Links &links;
  const uint32_t number;
  const int members, self;
  const double seconds;
  int32_t round = 0; // of operations
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_TREE_H

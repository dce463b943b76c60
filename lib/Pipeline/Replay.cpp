//===- Replay.cpp - programs of ranks, with their messages, played together ------===//
//
// A channel is an ordered pair of ranks: its n-th send meets its n-th receive, whatever they are
// of, as on MPI and NCCL. A task runs when what it needs was made on its rank or has come to it.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Check.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <map>
#include <memory>

using namespace tplan;
using namespace tplan::pipeline;

namespace {
/// A message that a rank has posted, and whether it is complete.
struct Posted {
  const Message *message;
  int32_t rank;
  bool complete = false;
};

class Replayer {
public:
  Replayer(const std::vector<Program> &programs, const Pipeline &pipeline, bool sendsBlock)
      : programs(programs), pipeline(pipeline), sendsBlock(sendsBlock), made(pipeline, 0),
        here(pipeline, 0), sent(pipeline, 0), next(programs.size(), 0), posted(programs.size()) {}

  std::optional<Fault> run() {
    for (bool moved = true; moved && !fault;) {
      moved = false;
      for (size_t rank = 0; rank < programs.size() && !fault; ++rank)
        while (!fault && doNext(rank))
          moved = true;
    }
    if (!fault)
      checkEnd();
    return fault;
  }

private:
  using Posts = std::vector<std::shared_ptr<Posted>>;
  struct Channel {
    std::deque<std::shared_ptr<Posted>> sends, receives; // without their other end
  };
  const std::vector<Program> &programs;
  const Pipeline &pipeline;
  const bool sendsBlock;
  TaskTable<char> made, here, sent; // by its task: done; come to the receiver's rank; sent
  std::vector<size_t> next;
  std::vector<Posts> posted; // the batch that each rank waits for
  std::map<std::pair<int32_t, int32_t>, Channel> channels;
  std::optional<Fault> fault;

  bool refuse(llvm::StringRef rule, int32_t rank, const std::string &at, const std::string &text) {
    fault = Fault{rule.str(), text + at, rank, at};
    return false;
  }

  /// Whether the rank has come to its next item.
  bool doNext(int32_t rank) {
    if (next[rank] >= programs[rank].size())
      return false;
    const Item &item = programs[rank][next[rank]];
    if (item.batch.empty()) {
      for (Task task : item.tasks)
        if (!canRun(rank, task))
          return false;
      for (Task task : item.tasks)
        made[task] = 1;
      return ++next[rank];
    }
    if (posted[rank].empty() && !post(rank, item.batch))
      return false;
    if (!llvm::all_of(posted[rank], [](auto &each) { return each->complete; }))
      return false;
    posted[rank].clear();
    return ++next[rank];
  }

  bool canRun(int32_t rank, Task task) {
    for (const sched::AnyTask &need : pipeline.needsOf(task))
      if (llvm::none_of(need, [&](Task each) {
            return pipeline.rankOf(each.stage) == rank ? made[each] : here[each];
          }))
        return refuse("order", rank, spell(task),
                      "task runs before " + spell(need.back()) +
                          " is on its rank, which it needs: ");
    return true;
  }

  bool post(int32_t rank, const std::vector<Message> &batch) {
    for (const Message &message : batch) {
      if (!isLegal(rank, message))
        return false;
      auto post = std::make_shared<Posted>(Posted{&message, rank});
      post->complete = message.sends && !sendsBlock;
      posted[rank].push_back(post);
      Channel &channel =
          channels[message.sends ? std::pair(rank, message.peer) : std::pair(message.peer, rank)];
      (message.sends ? channel.sends : channel.receives).push_back(post);
      if (!meet(channel))
        return false;
    }
    return true;
  }

  bool isLegal(int32_t rank, const Message &message) {
    std::string at = spell(message);
    Task task = message.made;
    int32_t maker = message.sends ? rank : message.peer,
            taker = message.sends ? message.peer : rank;
    int32_t to = pipeline.has(task.stage, task.microbatch) ? pipeline.receiverOf(task) : -1;
    if (to < 0 || pipeline.rankOf(task.stage) != maker || pipeline.rankOf(to) != taker ||
        maker == taker)
      return refuse("message", rank, at, "no such message goes between these ranks: ");
    if (!message.sends)
      return true;
    if (!made[task])
      return refuse("message", rank, at, "what is sent is not made yet: ");
    if (sent[task]++)
      return refuse("message", rank, at, "message is sent twice: ");
    return true;
  }

  /// What has both ends is complete.
  bool meet(Channel &channel) {
    while (!channel.sends.empty() && !channel.receives.empty()) {
      Posted &send = *channel.sends.front(), &receive = *channel.receives.front();
      if (!(send.message->made == receive.message->made))
        return refuse("fifo", receive.rank, spell(*receive.message),
                      "rank " + std::to_string(send.rank) + " sends " + spell(*send.message) +
                          " where another message is received: ");
      send.complete = receive.complete = true;
      here[send.message->made] = 1;
      channel.sends.pop_front();
      channel.receives.pop_front();
    }
    return true;
  }

  /// The message in which a rank waits.
  const Message &openOf(size_t rank) const {
    return *(*llvm::find_if(posted[rank], [](auto &each) { return !each->complete; }))->message;
  }

  void checkEnd() {
    std::vector<int32_t> awaited(programs.size(), -1);
    for (size_t rank = 0; rank < programs.size(); ++rank)
      if (next[rank] < programs[rank].size())
        awaited[rank] = openOf(rank).peer;
    Ring ring = findRing(awaited);
    std::string waits;
    for (int32_t rank : ring.ranks)
      waits += (waits.empty() ? "rank " : ", rank ") + std::to_string(rank) + " waits in " +
               spell(openOf(rank));
    if (!ring.ranks.empty()) {
      if (!ring.isClosed)
        waits += " for a rank that has come to its end";
      int32_t first = ring.ranks.front();
      fault = Fault{"deadlock", "deadlock: " + waits, first, spell(openOf(first))};
      return;
    }
    for (auto &[ends, channel] : channels)
      for (auto &send : channel.sends) {
        refuse("message", send->rank, spell(*send->message), "message is never received: ");
        return;
      }
  }
};
} // namespace

std::optional<Fault> pipeline::replay(const std::vector<Program> &programs,
                                      const Pipeline &pipeline, bool sendsBlock) {
  return Replayer(programs, pipeline, sendsBlock).run();
}

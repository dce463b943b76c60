//===- Check.h - is an order of tasks legal? -----------------------------------===//
#ifndef TPLAN_PIPELINE_CHECK_H
#define TPLAN_PIPELINE_CHECK_H

#include "lib/Pipeline/Pipeline.h"
#include <optional>

namespace tplan::pipeline {

/// Why an order is refused.
struct Fault {
  std::string rule;    // a row of the table in docs/schedules.md: "missing", "deadlock"
  std::string message; // what is wrong, the offending value last
  int32_t rank = -1;
  std::string at = ""; // the token of that rank
  std::vector<std::string> notes = {};
  /// "rank 1, 6I0"
  std::string where() const;
};

/// Judges an order: complete, each task after what it needs, what stages hand on received in the
/// order sent, and no ranks that wait for each other. The first fault found, or nothing.
std::optional<Fault> checkOrders(const Orders &orders, const Pipeline &pipeline);

/// One order for a single rank that holds all stages: each list keeps its own order, and of the
/// lists that can go on, the one whose input is newest does, so that little waits between stages.
/// The order must be checked.
std::vector<Task> mergeOrders(const Orders &orders, const Pipeline &pipeline);

/// The ranks that wait for each other in a ring, found from the first that waits; or, where none
/// do, the last of those ranks, which waits for one that has ended. `awaited`: for whom each rank
/// waits; -1: it has ended.
struct Ring {
  std::vector<int32_t> ranks; // in the order in which each waits for the next; empty: none waits
  bool isClosed = false;      // the last one waits for the first
};
Ring findRing(llvm::ArrayRef<int32_t> awaited);

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The order of each rank with the messages between stages of different ranks. The order must be
/// checked. What a task leaves to another rank is sent after it, and received as soon as that rank
/// has done the task that it is at, before its next one. Where messages are started, receives are
/// posted before that task, and each end has an await (PlaceMessages.cpp).
enum class Messages { Complete, Started };
Orders placeMessages(const Orders &orders, const Pipeline &pipeline,
                     Messages messages = Messages::Complete);

/// One end of a message: what a task has made goes to, or comes from, another rank.
struct Message {
  bool sends;
  int32_t peer; // rank
  Task made;    // F, B or I
};
/// Tasks that are done as one, or messages that are posted together and waited for before the next
/// item.
struct Item {
  std::vector<Task> tasks;
  std::vector<Message> batch;
};
using Program = std::vector<Item>;
std::string spell(const Message &message); // "S>1:0F3"
/// What placeMessages makes, each message an item of its own.
std::vector<Program> programsOf(const Orders &withMessages, const Pipeline &pipeline);

/// Plays the programs of all ranks. Where sends block, one ends when its receive is posted; else at
/// once. Messages between two ranks come in the order in which they are sent. The first fault, or
/// nothing.
std::optional<Fault> replay(const std::vector<Program> &programs, const Pipeline &pipeline,
                            bool sendsBlock);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_CHECK_H

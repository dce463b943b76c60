//===- mailbox.cpp - messages between two threads with devices ----------------===//

#include "runtime/transports/mailbox.h"

#include <algorithm>
#include <chrono>

using namespace tplan::runtime;

Status Mailbox::post(int member, Post mine, const std::function<Status()> &ready,
                     const std::function<Status(const Post &theirs)> &move) {
  std::lock_guard guard(lock);
  int other = 1 - member;
  if (waiting[other].empty()) {
    TP_TRY(ready());
    waiting[member].push_back(std::move(mine));
    return {};
  }
  TP_TRY(move(waiting[other].front()));
  Post second = {{}, mine.stream, mine.event};
  moved[member][mine.event] = second;
  moved[other][waiting[other].front().event] = second;
  waiting[other].pop_front();
  changed.notify_all();
  return {};
}

Mailbox::Outcome Mailbox::wait(int member, int64_t event, double seconds, Post &end) {
  std::unique_lock guard(lock);
  auto isMoved = [&] { return isClosed || moved[member].count(event) > 0; };
  bool inTime = changed.wait_for(guard, std::chrono::duration<double>(seconds), isMoved);
  auto found = moved[member].find(event);
  if (found == moved[member].end()) {
    end = *std::find_if(waiting[member].begin(), waiting[member].end(),
                        [&](const Post &each) { return each.event == event; });
    return inTime ? closed : late;
  }
  end = std::move(found->second);
  moved[member].erase(found);
  return posted;
}

void Mailbox::close() {
  std::lock_guard guard(lock);
  isClosed = true;
  changed.notify_all();
}

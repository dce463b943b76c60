//===- mailbox-test.cpp - messages between two threads with devices -----------===//
#include "runtime/transports/mailbox.h"
#include <gtest/gtest.h>
#include <thread>

using namespace tplan::runtime;

namespace {

constexpr double forever = 60, aMoment = 0.05; // seconds

/// Posts a message and writes down what becomes of it: "ready 7", or "move 9 after 7".
Status post(Mailbox &mailbox, int member, int64_t event, std::string &log) {
  Operation operation{};
  operation.in = &mailbox;
  return mailbox.post(
      member, {{operation}, {}, event},
      [&] {
        log += "ready " + std::to_string(event) + "; ";
        return Status();
      },
      [&](const Mailbox::Post &theirs) {
        log += "move " + std::to_string(event) + " after " + std::to_string(theirs.event) + "; ";
        return Status();
      });
}

/// The event for which the end of a message waits, or -1 and -2: nobody came, or it was closed.
int64_t awaited(Mailbox &mailbox, int member, int64_t event, double seconds = forever) {
  Mailbox::Post end;
  Mailbox::Outcome outcome = mailbox.wait(member, event, seconds, end);
  if (outcome == Mailbox::posted)
    return end.event;
  EXPECT_EQ(end.operations.front().in, &mailbox);
  return outcome == Mailbox::late ? -1 : -2;
}

TEST(Mailbox, TheSecondMovesAndBothWaitForIt) {
  Mailbox mailbox;
  std::string log;
  for (auto [first, second] : {std::pair(0, 1), std::pair(1, 0)}) {
    EXPECT_TRUE(post(mailbox, first, 7, log).ok());
    EXPECT_TRUE(post(mailbox, second, 9, log).ok());
    EXPECT_EQ(awaited(mailbox, first, 7), 9);
    EXPECT_EQ(awaited(mailbox, second, 9), 9);
  }
  EXPECT_EQ(log, "ready 7; move 9 after 7; ready 7; move 9 after 7; ");
}

TEST(Mailbox, MessagesMeetInTheirOrderWhateverIsAwaitedFirst) {
  Mailbox mailbox;
  std::string log;
  for (int64_t event : {1, 2, 3})
    EXPECT_TRUE(post(mailbox, 1, event, log).ok());
  for (int64_t event : {11, 12, 13})
    EXPECT_TRUE(post(mailbox, 0, event, log).ok());
  EXPECT_EQ(log, "ready 1; ready 2; ready 3; move 11 after 1; move 12 after 2; move 13 after 3; ");
  EXPECT_EQ(awaited(mailbox, 1, 3), 13);
  EXPECT_EQ(awaited(mailbox, 1, 1), 11);
  EXPECT_EQ(awaited(mailbox, 0, 12), 12);
  // An event is used again by the next step.
  EXPECT_TRUE(post(mailbox, 0, 12, log).ok());
  EXPECT_EQ(awaited(mailbox, 0, 12, aMoment), -1);
}

TEST(Mailbox, AnEndWaitsUntilTheOtherOneIsPosted) {
  Mailbox mailbox;
  std::string log;
  EXPECT_TRUE(post(mailbox, 0, 5, log).ok());
  EXPECT_EQ(awaited(mailbox, 0, 5, aMoment), -1);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::string own;
    EXPECT_TRUE(post(mailbox, 1, 6, own).ok());
  });
  EXPECT_EQ(awaited(mailbox, 0, 5), 6);
  other.join();
}

TEST(Mailbox, ThatIsClosedLetsEverybodyGo) {
  Mailbox mailbox;
  std::string log;
  EXPECT_TRUE(post(mailbox, 0, 5, log).ok());
  EXPECT_TRUE(post(mailbox, 0, 6, log).ok());
  EXPECT_TRUE(post(mailbox, 1, 1, log).ok());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    mailbox.close();
  });
  EXPECT_EQ(awaited(mailbox, 0, 6), -2);
  EXPECT_EQ(awaited(mailbox, 0, 5), 1); // what has come has come
  other.join();
}

} // namespace

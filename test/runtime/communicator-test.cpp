//===- communicator-test.cpp - what a communicator does by itself --------------===//

#include "helpers.h"
#include "runtime/ranks/transport.h"

using namespace tplan::runtime;

// A transport of devices need not start anything in the memory of the host.
TEST(Communicators, WithoutHostMemory) {
  struct OfDevices : Communicator {
    OfDevices() : Communicator(Members{"dp", {0, 1}, 0}) {}
    Status issue(std::span<const Operation>, Team &, Stream *) override { return {}; }
    Traffic traffic() const override { return {}; }
  } group;
  Team team;
  Advance how;
  Patience patience;
  const char *why = "starts no operations in the memory of the host: 'dp'";
  EXPECT_FAILS(group.begin({}), why);
  EXPECT_FAILS(group.advance(team, how), why);
  EXPECT_FAILS(group.rest(patience), why);
}

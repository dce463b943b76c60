//===- one-rank.cpp - what one rank shows of NCCL ------------------------------===//
//
// NCCL takes no two ranks on one GPU, and a plan needs nothing of it where a group has one rank. So
// this calls everything that the runtime calls, on communicators of one rank: the result is a copy,
// whatever is asked for.
//
//===----------------------------------------------------------------------===//

#include "../collectives/world.h"
#include "on-device.h"

#include "runtime/ranks/rank.h"
#include "runtime/transports/nccl_handle.h"

#include <cstdlib>
#include <numeric>

using namespace conformance;
using namespace tplan::runtime;

namespace {

constexpr int64_t elements = 1 << 16, bytes = elements * sizeof(float);
/// The calls on each communicator, in its stream; each result lies after the one before.
enum Operation { allGather, allReduce, reduceScatter, message, operations };

class OneRank : public testing::Test {
protected:
  void SetUp() override {
    if (!getenv("DEVICE_ALONE"))
      GTEST_SKIP() << "for the only rank of a job";
    ASSERT_OK(openCuda({}, device));
    ASSERT_OK(device->start(program.program(), arena));
    ASSERT_OK(loadNccl(rank.nccl, {}));
    rank.hangLimit = 60;
    rank.device = device.get(), rank.arena = arena;
    rank.arenaBytes = program.program().arena_bytes;
    ASSERT_LE((1 + streams * operations) * bytes, program.operands());
  }

  Status connect() {
    nccl::UniqueId id;
    TP_NCCL(rank, GetUniqueId(&id));
    TP_TRY(all.join(id));
    TP_TRY(part.split(all, 0, 0));
    TP_TRY(none.split(all, nccl::noColor, 0));
    TP_TRY(all.registerArena());
    return part.registerArena();
  }
  char *input() { return arena; }
  char *result(int stream, int operation) {
    return arena + (1 + (stream - 1) * operations + operation) * bytes;
  }

  Status issue(NcclHandle &group, int stream) {
    void *queue = device->handle(stream);
    auto to = [&](Operation operation) { return result(stream, operation); };
    TP_TRY(group.begin());
    TP_NCCL(rank, AllGather(input(), to(allGather), bytes, nccl::uint8, group.get(), queue));
    TP_TRY(group.end());
    TP_TRY(group.begin());
    TP_NCCL(rank, AllReduce(input(), to(allReduce), elements, nccl::float32, nccl::sum, group.get(),
                            queue));
    TP_NCCL(rank, ReduceScatter(input(), to(reduceScatter), elements, nccl::float32, nccl::sum,
                                group.get(), queue));
    TP_TRY(group.end());
    TP_TRY(group.begin());
    TP_NCCL(rank, Send(input(), bytes, nccl::uint8, 0, group.get(), queue));
    TP_NCCL(rank, Recv(to(message), bytes, nccl::uint8, 0, group.get(), queue));
    return group.end();
  }

  /// Each communicator in a stream of its own, between stream 0 and stream 0.
  Status issueAll() {
    TP_TRY(device->mark(0, sharedReady));
    for (int stream = 1; stream <= streams; ++stream) {
      TP_TRY(device->follow(stream, *device, 0, sharedReady));
      TP_TRY(issue(stream == 1 ? all : part, stream));
      TP_TRY(device->mark(stream, sharedDone));
      TP_TRY(device->follow(0, *device, stream, sharedDone));
    }
    return {};
  }
  /// Each result is the input, which is another one every time.
  void check(const char *what, bool repeated) {
    std::vector<float> in(elements), out(elements);
    std::iota(in.begin(), in.end(), float(++turn << 20));
    ASSERT_OK(device->write(input(), in.data(), bytes));
    for (int stream = 1; stream <= streams; ++stream)
      for (int operation = 0; operation < operations; ++operation)
        ASSERT_OK(device->zero(0, result(stream, operation), Rows{1, bytes, 0, 0}));
    ASSERT_OK(repeated ? device->replay(0) : issueAll());
    for (int stream = 1; stream <= streams; ++stream)
      for (int operation = 0; operation < operations; ++operation) {
        ASSERT_OK(device->read(out.data(), result(stream, operation), bytes));
        EXPECT_TRUE(in == out) << what << ": communicator " << stream << ", operation "
                               << operation;
      }
  }

  static constexpr int streams = 2;
  Mesh mesh{{1}, {{0}, {0}}};
  DeviceProgram program{mesh.program()};
  std::unique_ptr<Device> device;
  char *arena = nullptr;
  int64_t turn = 0;
  NcclRank rank;
  // A communicator ends before the one it was split from.
  NcclHandle all{rank, "all"}, part{rank, "part"}, none{rank, "none"};
};

TEST_F(OneRank, HasACommunicatorThatIsCapturedAndReplayed) {
  ASSERT_OK(connect());
  ASSERT_TRUE(all.get() && part.get() && all.get() != part.get());
  EXPECT_FALSE(none.get()); // it is no member
  check("as issued", false);
  Capture made{.loads = false}; // as with every NcclTransport
  ASSERT_OK(device->beginCapture());
  ASSERT_OK(issueAll());
  ASSERT_OK(device->endCapture(0, made));
  ASSERT_OK(made.refused);
  check("replayed", true);
  check("replayed again", true);
  check("as issued, beside a graph", false);
  device->forget();
  EXPECT_FALSE(device->replay(0).ok());
  check("as issued, without it", false);
}

} // namespace

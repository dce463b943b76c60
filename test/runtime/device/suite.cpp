//===- suite.cpp - the conformance suite on GPUs -------------------------------===//
//
//   DEVICE_SUMS=FILE device-tests
//
// Started by hand, ranks are threads that share one GPU, in the tests Worlds/*; as one of the
// processes of a launcher, this one is a rank over NCCL in all tests. The only process of a
// launcher is one, too, where DEVICE_ALONE is set: it then has communicators of NCCL all the same.
// Rank 0 prints; the others print what fails.
//
//===----------------------------------------------------------------------===//

#include "../collectives/case.h"
#include "on-device.h"

#include "runtime/ranks/recording.h"
#include "runtime/support/f16.h"
#include "runtime/support/types.h"
#include "runtime/transports/nccl.h"
#include "runtime/transports/threads.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace conformance;
using namespace tplan::runtime;

namespace {

// NCCL's ranks are processes, so all tests share one transport.
std::unique_ptr<Transport> transport;
Launch launch;

bool isOverNccl() { return launch.processes() || getenv("DEVICE_ALONE"); }

void runThreads(int ranks, const tp_program &mesh, const Body &body) {
  DeviceProgram program(mesh);
  auto transports = threadTransports(ranks);
  std::vector<std::thread> threads;
  for (auto &it : transports)
    threads.emplace_back([&] {
      Team team;
      EXPECT_OK(team.start(1));
      DeviceRank(*it, program, 0).run(team, body);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void runOn(Transport &it, const tp_program &mesh, const Body &body, bool nativeSums = false) {
  Team team;
  EXPECT_OK(team.start(1));
  DeviceProgram program(mesh, nativeSums);
  int64_t gpus = 0, gpu = 0;
  EXPECT_OK(countGpus(gpus));
  EXPECT_OK(chooseGpu(launch, gpus, gpu));
  DeviceRank(it, program, gpu).run(team, body);
}

void runProcess(int, const tp_program &mesh, const Body &body) { runOn(*transport, mesh, body); }

int64_t counted(Rank &rank) { return rank.transport.bytesSent(); }

class OnlyFailures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult &result) override {
    if (result.failed())
      fprintf(stderr, "rank %d: %s:%d: %s\n", transport->rank(), result.file_name(),
              result.line_number(), result.summary());
  }
};

double valueOf(int32_t type, const char *at) {
  switch (type) {
  case TP_F64:
    return *(const double *)at;
  case TP_F32:
    return *(const float *)at;
  case TP_F16:
    return widen(*(const f16 *)at);
  default: {
    uint32_t bits = uint32_t(*(const uint16_t *)at) << 16;
    return std::bit_cast<float>(bits);
  }
  }
}

/// NCCL's sum of the numbers member + 1, member + 2, ... a third of it, against the exact one.
void checkNative(Rank &rank, Communicator &group, int32_t kind, int32_t type) {
  int64_t inner = 1001, n = group.size(), width = bytesOf(type);
  int64_t all = kind == TP_REDUCE_SCATTER ? n * inner : inner;
  std::string in(all * width, '\0'), out(inner * width, '\0');
  for (int64_t i = 0; i < all; ++i) {
    double value = double(group.member() + 1 + i) / 3;
    auto narrow = (float)value;
    uint16_t half = type == TP_F16 ? uint16_t(roundTo<f16>(narrow))
                                   : uint16_t(std::bit_cast<uint32_t>(narrow) >> 16);
    const void *from = type == TP_F64 ? (void *)&value : type == TP_F32 ? (void *)&narrow : &half;
    memcpy(in.data() + i * width, from, width);
  }
  tp_collective what = {kind, TP_SUM, type, 0, 1, inner, 1, 1, all, 0, nullptr};
  Operation operation = {&what, in.data(), out.data(), nullptr};
  EXPECT_OK(group.issue({&operation, 1}, rank.team, nullptr));
  int64_t first = kind == TP_REDUCE_SCATTER ? group.member() * inner : 0;
  double near = type == TP_F64 ? 1e-15 : type == TP_F32 ? 1e-6 : 2e-2;
  for (int64_t i = 0; i < inner; ++i) {
    double expected = double(n * (n + 1) / 2 + n * (first + i)) / 3;
    double found = valueOf(type, out.data() + i * width);
    EXPECT_NEAR(found, expected, n * near * expected) << nameOf(type) << " " << i;
  }
}

TEST(Native, SumsAreThoseOfNccl) {
  ASSERT_TRUE(transport);
  for (auto &mesh : meshesOf(transport->size()))
    runOn(
        *transport, mesh->program(),
        [](Rank &rank) {
          for (auto &group : rank.groups)
            for (int32_t kind : {TP_ALL_REDUCE, TP_REDUCE_SCATTER})
              for (int32_t type : {TP_F64, TP_F32, TP_BF16, TP_F16})
                checkNative(rank, *group, kind, type);
        },
        /*nativeSums=*/true);
}

/// Sums whose arrays are not one piece are the same as everywhere.
TEST(Native, OtherCollectivesKeepTheirBits) {
  ASSERT_TRUE(transport);
  const int64_t uneven = transport->size() > 1 ? 78 : 76;
  const std::vector<Case> cases = {
      {.kind = TP_ALL_REDUCE, .reduction = TP_MAX, .inner = 999},
      {.kind = TP_ALL_REDUCE, .type = TP_I64, .inner = 999, .inPlace = true},
      {.kind = TP_REDUCE_SCATTER, .outer = 5, .inner = 77},
      {.kind = TP_REDUCE_SCATTER, .inner = 77, .whole = uneven},
      {.kind = TP_REDUCE_SCATTER, .type = TP_I32, .inner = 77, .inPlace = true},
      {.kind = TP_ALL_GATHER, .inner = 77, .inPlace = true}};
  auto mesh = std::move(meshesOf(transport->size()).back());
  runOn(
      *transport, mesh->program(),
      [&](Rank &rank) {
        Communicator &group = *rank.groups[1];
        for (const Case &one : cases) {
          Instance instance(one, group.size(), group.member(), 3);
          Operation operation = instance.operation();
          EXPECT_OK(group.issue({&operation, 1}, rank.team, nullptr));
          EXPECT_EQ(instance.wrong(), "");
        }
      },
      /*nativeSums=*/true);
}

TEST(Partial, ARankInNoGroupIsTold) {
  ASSERT_TRUE(transport);
  if (transport->size() < 3)
    GTEST_SKIP() << "for three ranks, of which two are a group";
  Mesh mesh({transport->size()}, {{0}}, {{0, 1}});
  DeviceProgram program(mesh.program());
  CudaOptions options;
  options.ordinal = transport->rank();
  std::unique_ptr<Device> device;
  char *arena = nullptr;
  ASSERT_OK(openCuda(options, device));
  ASSERT_OK(device->start(program.program(), arena));
  transport->attach(*device, arena, program.program().arena_bytes);
  std::vector<std::unique_ptr<Communicator>> groups;
  Status status = transport->connect(program.program(), groups);
  if (transport->rank() < 2)
    EXPECT_OK(status);
  else
    EXPECT_FAILS(status,
                 format("the plan 'mesh' has no group with this rank: %d", transport->rank()));
  groups.clear();
  EXPECT_OK(transport->world().barrier());
}

TEST(Recorded, TheBytesOfACollectiveAreItsOwn) {
  ASSERT_TRUE(transport);
  static Recording log; // for as long as the transport
  auto recorded = recordTransport(std::move(transport), log);
  EXPECT_FALSE(recorded->capturable());
  auto mesh = std::move(meshesOf(recorded->size()).back());
  runOn(*recorded, mesh->program(), [](Rank &rank) {
    Instance instance({.inner = 500}, rank.groups[1]->size(), rank.groups[1]->member(), 1);
    Operation operation = instance.operation();
    EXPECT_OK(rank.groups[1]->issue({&operation, 1}, rank.team, nullptr));
    EXPECT_OK(rank.groups[1]->barrier());
  });
  EXPECT_OK(checkBytes(log));
  // The runtime's own are not among them.
  EXPECT_EQ(log.groups[0].order.size(), 0u);
  EXPECT_EQ(log.groups[2].order.size(), 1u);
  log.closed = true;
  transport = std::move(recorded); // for those that follow
}

} // namespace

std::vector<World> conformance::worlds() {
  if (isOverNccl())
    return {{"Nccl" + std::to_string(launch.ranks), (int)launch.ranks, runProcess, counted}};
  std::vector<World> all;
  for (int ranks : {2, 4, 8})
    all.push_back({"OneGpu" + std::to_string(ranks), ranks, runThreads, counted});
  return all;
}

int main(int argc, char **argv) {
  Status status = findLaunch(launch);
  testing::InitGoogleTest(&argc, argv); // asks for the worlds
  if (kernelText().empty())
    status = errorf("DEVICE_SUMS names no file of kernels");
  Mesh mesh({launch.ranks}, {});
  if (status.ok() && isOverNccl())
    status = connectNccl(mesh.program(), launch, {}, transport, defaultHangLimit,
                         /*ofOneToo=*/true);
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (transport && transport->rank()) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new OnlyFailures);
  }
  int code = RUN_ALL_TESTS();
  transport.reset();
  return code;
}

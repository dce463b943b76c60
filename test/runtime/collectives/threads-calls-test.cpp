//===- threads-calls-test.cpp - what generated code calls; mesh, recorder, launcher ---===//

#include "world.h"

#include "runtime/ranks/audit.h"
#include "runtime/ranks/member.h"
#include "runtime/ranks/rank.h"
#include "runtime/ranks/recording.h"
#include "runtime/transports/mpi.h"
#include "runtime/transports/threads.h"

#include <cstdlib>
#include <regex>
#include <thread>

using namespace conformance;
using namespace tplan::runtime;

namespace {

const tp_call call = {"gather", "toy.tplan", 9, TP_COLLECTIVE, 0, 100, 0};

/// A rank that is alone in its process.
struct Alone {
  explicit Alone(const Mesh &mesh) : transports(threadTransports(1)) {
    rank.program = &mesh.program();
    rank.transport = transports[0].get();
    EXPECT_OK(rank.team.start(1));
    EXPECT_OK(rank.transport->connect(mesh.program(), rank.groups));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  tp_rank rank;
};

Recorded recorded(int32_t kind, int64_t inner) {
  return {{kind, TP_SUM, TP_F32, 0, 1, inner, 1, 1, inner, 0, nullptr}, {}};
}

/// Two ranks' logs of a group say the same.
Status compare(const RecordedGroup &one, const RecordedGroup &other) {
  return checkSameOrder("dp", textOf(one), 0, textOf(other), 1);
}

} // namespace

TEST(CollectiveCalls, AGroupOfOneCopies) {
  Mesh mesh({1}, {{0}, {}});
  Alone alone(mesh);
  EXPECT_EQ(tp_member(&alone.rank, 1), 0);
  float from[3] = {1, 2, 3}, to[3][3] = {};
  tp_collective what[3] = {{TP_ALL_REDUCE, TP_SUM, TP_F32, 0, 1, 3, 1, 1, 3, 0, nullptr},
                           {TP_REDUCE_SCATTER, TP_MAX, TP_F32, 1, 3, 1, 1, 1, 3, 0, nullptr},
                           {TP_ALL_GATHER, TP_SUM, TP_F32, 0, 1, 3, 1, 1, 3, 0, nullptr}};
  void *pointers[] = {from, to[0], from, to[1], from, to[2]};
  EXPECT_EQ(tp_collectives(&alone.rank, &call, what, 3, pointers), 0);
  for (auto &copy : to)
    EXPECT_TRUE(std::equal(from, from + 3, copy));
  EXPECT_EQ(alone.rank.transport->bytesSent(), 0);
  EXPECT_EQ(alone.rank.profile.total(TP_COLLECTIVE).count, 1);
  EXPECT_EQ(alone.rank.profile.total(TP_COLLECTIVE).bytes, 100);
}

TEST(CollectiveCalls, NeedATransportAndAGroup) {
  Mesh mesh({1}, {{0}});
  float value = 1;
  void *pointers[] = {&value, &value};
  tp_collective what = {TP_ALL_REDUCE, TP_SUM, TP_F32, 5, 1, 1, 1, 1, 1, 0, nullptr};
  Alone alone(mesh);
  EXPECT_EQ(tp_collectives(&alone.rank, &call, &what, 1, pointers), 1);
  EXPECT_FAILS(alone.rank.error, "toy.tplan:9: ", "group 5 of a plan with 1 group");
  tp_rank without;
  without.program = &mesh.program();
  EXPECT_EQ(tp_collectives(&without, &call, &what, 1, pointers), 1);
  EXPECT_FAILS(without.error, "toy.tplan:9: ", "'mesh'", "no transport");
}

TEST(CollectiveCalls, ASliceHasAKnownType) {
  Mesh mesh({1}, {{0}});
  float from = 1, to = 0;
  tp_collective what = {TP_SLICE, TP_SUM, TP_NUM_TYPES, 0, 1, 1, 1, 1, 1, 0, nullptr};
  Alone alone(mesh);
  EXPECT_EQ(tp_slice(&alone.rank, &call, &what, &from, &to), 1);
  EXPECT_FAILS(alone.rank.error,
               "toy.tplan:9: ", "a slice has an unknown type: " + std::to_string(TP_NUM_TYPES));
}

TEST(CollectiveCalls, NeighboursOfOneGroupAreIssuedTogether) {
  Mesh mesh({2}, {{0}, {}});
  std::vector<Recording> logs(2);
  auto transports = threadTransports(2);
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number)
    threads.emplace_back([&, number] {
      tp_rank rank;
      rank.program = &mesh.program();
      auto transport = recordTransport(std::move(transports[number]), logs[number]);
      rank.transport = transport.get();
      EXPECT_OK(rank.team.start(1));
      EXPECT_OK(rank.transport->connect(mesh.program(), rank.groups));
      std::vector<tp_collective> what(
          303, {TP_ALL_REDUCE, TP_SUM, TP_F32, 0, 1, 1, 1, 1, 1, 0, nullptr});
      what[1].group = 1;
      std::vector<float> values(what.size(), 1);
      std::vector<void *> pointers;
      for (float &value : values)
        pointers.insert(pointers.end(), {&value, &value});
      EXPECT_EQ(tp_collectives(&rank, &call, what.data(), (int64_t)what.size(), pointers.data()),
                0);
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], i == 1 ? 1 : 2);
    });
  for (std::thread &thread : threads)
    thread.join();
  // World, then the groups: one alone, 301 by at most 128.
  const RecordedGroup &both = logs[0].groups[1], &alone = logs[0].groups[2];
  EXPECT_OK(compare(both, logs[1].groups[1]));
  std::vector<size_t> together;
  for (uint32_t bucket : both.order)
    together.push_back(both.buckets[bucket].operations.size());
  EXPECT_EQ(together, (std::vector<size_t>{1, 128, 128, 45}));
  EXPECT_EQ(both.buckets.size(), 3u); // equal ones are kept once
  EXPECT_EQ(alone.order.size(), 1u);
  EXPECT_EQ(alone.buckets[0].operations.size(), 1u);
  EXPECT_OK(checkBytes(logs[0]));
  ++logs[0].groups[1].buckets[1].traffic.sent[TP_ALL_REDUCE];
  EXPECT_FAILS(checkBytes(logs[0]), "each all-reduce over 'a' in the set-up: 2 times",
               "to send 1024 bytes", "has sent 1025");
}

TEST(Recorder, FindsWhatDiffers) {
  const tp_call other = {"gather", "toy.tplan", 10, TP_COLLECTIVE, 0, 0, 0};
  const Recorded sum = recorded(TP_ALL_REDUCE, 5), gather = recorded(TP_ALL_GATHER, 5);
  const Bucket first = {"step", &call, {sum}}, second = {"step", &call, {gather}};
  auto check = [&](std::vector<Bucket> buckets, std::vector<uint32_t> order) {
    return compare({{}, {first, second}, {0, 1, 0}}, {{}, std::move(buckets), std::move(order)});
  };
  EXPECT_OK(check({first, second}, {0, 1, 0}));
  EXPECT_OK(check({second, first}, {1, 0, 1}));
  EXPECT_FAILS(check({first, second}, {1, 0, 0}), "operation 0 over 'dp'", "on rank 0 all-reduce",
               "on rank 1 all-gather");
  EXPECT_FAILS(check({first, second}, {0, 1}), "operation 2 over 'dp'", "on rank 1 none");
  EXPECT_FAILS(check({first, {"step", &other, {gather}}}, {0, 1, 0}), "operation 1",
               "toy.tplan:10");
  EXPECT_FAILS(check({first, {"metrics", &call, {gather}}}, {0, 1, 0}), "operation 1",
               "in the metrics of");
  EXPECT_FAILS(check({first, {"step", &call, {recorded(TP_ALL_GATHER, 6)}}}, {0, 1, 0}),
               "operation 1", "[1, 1, 6, 1]");
  EXPECT_FAILS(check({{"step", &call, {sum, gather}}, first}, {0, 1}), "operation 0",
               "1 of 1 together", "1 of 2 together");
}

// Each of three ranks runs a program of its own, and is in other groups than the others.
TEST(CollectiveCalls, TheAuditHasATableOfEachProgram) {
  Mesh mesh({3}, {{0}, {0}, {0}}, {{0, 1}, {2, 1}, {0, 2}});
  tp_program program = mesh.program();
  const tp_program *const programs[] = {&program, &program, &program};
  program.programs = programs;
  program.num_programs = 3, program.programs_axis = 0;
  std::vector<Recording> logs(3);
  std::vector<std::string> errors(3);
  auto transports = threadTransports(3);
  std::vector<std::thread> threads;
  testing::internal::CaptureStdout();
  for (int number = 0; number < 3; ++number)
    threads.emplace_back([&, number] {
      tp_rank rank;
      rank.program = &program;
      auto transport = recordTransport(std::move(transports[number]), logs[number]);
      rank.transport = transport.get();
      EXPECT_OK(rank.team.start(1));
      EXPECT_OK(rank.transport->connect(program, rank.groups));
      rank.peers = Peers(*rank.transport, rank.team);
      for (int32_t group = 0; group < 3; ++group) {
        bool sums = group == 2;
        tp_collective what = recorded(sums ? TP_ALL_REDUCE : TP_MESSAGE, 100).what;
        what.group = group;
        std::vector<float> in(100), out(100);
        void *pointers[] = {in.data(), out.data()};
        if (rank.groups[group])
          for (int i = 0; i < 4 - 2 * group || i < 1; ++i)
            EXPECT_EQ(tp_collectives(&rank, &call, &what, 1, pointers), 0);
      }
      errors[number] = auditCollectives(rank, logs[number]).message();
    });
  for (std::thread &thread : threads)
    thread.join();
  std::string said = testing::internal::GetCapturedStdout();
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
  // Each stage's own rows; a message costs its sender alone.
  EXPECT_TRUE(std::regex_search(
      said, std::regex("stage 0:\n.*\n +set-up +message +a 0 to 1 +4 +1600 +0\n"
                       " +set-up +all-reduce +a 0 to 2 +1 +[1-9]\\d* +0\n"
                       "stage 1:\n.*\n +set-up +message +a 0 to 1 +4 +0 +0\n"
                       " +set-up +message +a 2 to 1 +2 +0 +0\n"
                       "stage 2:\n.*\n +set-up +all-reduce +a 0 to 2 +1 +[1-9]\\d* +0\n"
                       " +set-up +message +a 2 to 1 +2 +800 +0\n")))
      << said;
  EXPECT_OK(checkBytes(logs[0]));
  logs[1].groups[1].buckets[0].traffic.sent[TP_MESSAGE] += 400; // as if the receiver had sent them
  EXPECT_FAILS(checkBytes(logs[1]), "each message over 'a 0 to 1'", "to send 0 bytes",
               "has sent 400");
  // Both members have written it down; rank 2 has a place for the group all the same.
  EXPECT_OK(compare(logs[0].groups[1], logs[1].groups[1]));
  EXPECT_TRUE(logs[2].groups[1].order.empty());
  EXPECT_EQ(logs[2].groups[1].members.name, "a 0 to 1");
  logs[1].groups[1].buckets[0].operations[0].what.inner = 99;
  EXPECT_FAILS(compare(logs[0].groups[1], logs[1].groups[1]), "on rank 0 message f32 [1, 1, 100",
               "on rank 1 message f32 [1, 1, 99");
}

TEST(MeshOfRanks, MembersFollowTheListedAxes) {
  Mesh mesh({2, 3, 4}, {{0, 2}, {2, 0}, {1}, {}});
  EXPECT_EQ(ranksOf(mesh.program()), 24);
  // Rank 17 = (1, 1, 1).
  Members both = membersOf(mesh.program(), 0, 17);
  EXPECT_EQ(both.ranks, (std::vector<int>{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(both.self, 5);
  Members turned = membersOf(mesh.program(), 1, 17);
  EXPECT_EQ(turned.ranks, (std::vector<int>{4, 16, 5, 17, 6, 18, 7, 19}));
  EXPECT_EQ(turned.self, 3);
  EXPECT_EQ(membersOf(mesh.program(), 2, 17).ranks, (std::vector<int>{13, 17, 21}));
  EXPECT_EQ(membersOf(mesh.program(), 3, 17).ranks, (std::vector<int>{17}));
}

TEST(MeshOfRanks, CoordinatesChooseMembersInTheirOrder) {
  Mesh mesh({2, 3, 4}, {{1}, {2, 0}, {0, 2}, {2}}, {{2, 0}, {3, 0, 1}, {1}, {}});
  const tp_program &program = mesh.program();
  // Rank 17 = (1, 1, 1), rank 21 = (1, 2, 1).
  EXPECT_EQ(membersOf(program, 0, 21).ranks, (std::vector<int>{21, 13}));
  EXPECT_EQ(membersOf(program, 0, 21).self, 0);
  EXPECT_EQ(membersOf(program, 0, 13).self, 1);
  Members none = membersOf(program, 0, 17);
  EXPECT_EQ(none.self, -1);
  EXPECT_EQ(none.name, "b 2 to 0");
  EXPECT_TRUE(none.ranks.empty());
  EXPECT_EQ(memberOf(program, 0, 17), -1);
  EXPECT_EQ(memberCount(program, 0), 2);
  EXPECT_EQ(membersOf(program, 1, 17).ranks, (std::vector<int>{7, 19, 4, 16, 5, 17}));
  EXPECT_EQ(membersOf(program, 1, 17).self, 5);
  EXPECT_EQ(memberOf(program, 1, 17), 5);
  EXPECT_EQ(memberCount(program, 1), 6);
  EXPECT_EQ(membersOf(program, 2, 17).ranks, (std::vector<int>{16, 17, 18, 19}));
  EXPECT_EQ(membersOf(program, 2, 5).self, -1);
  EXPECT_EQ(memberCount(program, 3), 4);
}

TEST(MeshOfRanks, RefusesCoordinatesThatMakeNoSense) {
  auto check = [](std::vector<int32_t> axes, std::vector<int32_t> coordinates) {
    return checkMesh(Mesh({2, 3}, {std::move(axes)}, {std::move(coordinates)}).program());
  };
  EXPECT_OK(check({1}, {2, 0}));
  EXPECT_OK(check({1, 0}, {2}));
  EXPECT_FAILS(check({1}, {0, 3}), "'b 0 to 3'", "the axis 'b' of 3 lacks: 3");
  EXPECT_FAILS(check({0, 1}, {2}), "the axis 'a' of 2 lacks: 2");
  EXPECT_FAILS(check({0}, {-1}), "lacks: -1");
  EXPECT_FAILS(check({1}, {1, 2, 1}), "names a coordinate twice: 1");
  EXPECT_FAILS(check({}, {0}), "of 0 axes", "number of coordinates: 1");
  const int32_t axis = 0;
  tp_group group = {"none", 1, &axis, -1, &axis};
  tp_program program = Mesh({2}, {}).program();
  tp_axis axes[] = {{"a", 2}};
  program.axes = axes, program.num_axes = 1;
  program.groups = &group, program.num_groups = 1;
  EXPECT_FAILS(checkMesh(program), "'none'", "number of coordinates: -1");
  group.num_coordinates = 1, group.coordinates = nullptr;
  EXPECT_FAILS(checkMesh(program), "number of coordinates: 1");
}

TEST(MeshOfRanks, RefusesWhatMakesNoSense) {
  EXPECT_FAILS(checkMesh(Mesh({2, 0}, {}).program()), "'b'", "0");
  EXPECT_FAILS(checkMesh(Mesh({1 << 20, 1 << 20}, {}).program()), "'b'", "1048576");
  EXPECT_FAILS(checkMesh(Mesh({2}, {{1}}).program()), "lacks", "1");
  EXPECT_FAILS(checkMesh(Mesh({2}, {{0, 0}}).program()), "twice", "'a'");
  auto transports = threadTransports(3);
  std::vector<std::unique_ptr<Communicator>> groups;
  EXPECT_FAILS(transports[0]->connect(Mesh({2}, {{0}}).program(), groups), "2 ranks", "has 3");
}

TEST(MpiLaunch, WrongNumbersSayWhichVariablesWereSeen) {
  Mesh mesh({4}, {{0}});
  std::unique_ptr<Transport> transport;
  Launch launch;
  launch.launcher = "mpirun", launch.ranks = 3, launch.seen = "OMPI_COMM_WORLD_SIZE = 3";
  EXPECT_FAILS(connectMpi(mesh.program(), launch, transport), "'mesh' is for 4 ranks, mpirun has 3",
               "OMPI_COMM_WORLD_SIZE = 3");
}

TEST(MpiLaunch, OtherLibrariesAreRefused) {
  Mesh mesh({4}, {{0}});
  std::unique_ptr<Transport> transport;
  Launch launch;
  setenv("TPLAN_MPI", "/nowhere/libmpi.so", 1);
  EXPECT_FAILS(connectMpi(mesh.program(), launch, transport), "cannot load MPI",
               "/nowhere/libmpi.so", "TPLAN_MPI");
  setenv("TPLAN_MPI", "libm.so.6", 1);
  EXPECT_FAILS(connectMpi(mesh.program(), launch, transport), "'libm.so.6' is not Open MPI");
  unsetenv("TPLAN_MPI");
}

TEST(MpiLaunch, TheHangLimitIsANumberOfSeconds) {
  double limit;
  EXPECT_OK(readHangLimit(limit));
  EXPECT_EQ(limit, 60);
  setenv("TPLAN_HANG_LIMIT", "2.5", 1);
  EXPECT_OK(readHangLimit(limit));
  EXPECT_EQ(limit, 2.5);
  for (const char *bad : {"0", "-1", "3 s", "nan"}) {
    setenv("TPLAN_HANG_LIMIT", bad, 1);
    EXPECT_FAILS(readHangLimit(limit), "TPLAN_HANG_LIMIT", bad);
  }
  unsetenv("TPLAN_HANG_LIMIT");
}

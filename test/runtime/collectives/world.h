//===- world.h - ranks for the conformance suite of the transports -----------===//
//
// The suite is one; what runs its ranks is a parameter. An executable says in worlds()
// what it has: threads, the recorder around threads, the processes of mpirun.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_COLLECTIVES_WORLD_H
#define TPLAN_TEST_COLLECTIVES_WORLD_H

#include "../helpers.h"
#include "runtime/ranks/transport.h"

#include <functional>

namespace conformance {

/// One rank, inside a world that runs.
struct Rank {
  tplan::runtime::Transport &transport;
  std::vector<std::unique_ptr<tplan::runtime::Communicator>> groups;
  tplan::runtime::Team &team;
  int number() const { return transport.rank(); }
};
using Body = std::function<void(Rank &)>;

struct World {
  std::string name;
  int ranks;
  /// Runs the body on each rank of this process, connected for the program.
  void (*run)(int ranks, const tp_program &program, const Body &body);
  /// Bytes that this rank handed to others so far, as a layer beneath the transport counts them.
  int64_t (*countedBytes)(Rank &rank);
};
std::vector<World> worlds();
inline void PrintTo(const World &world, std::ostream *to) { *to << world.name; }

/// A program that has a mesh and groups, each with a stream, and nothing else.
class Mesh {
public:
  /// `coordinates` of each group, where there are any.
  Mesh(std::vector<int64_t> sizes, std::vector<std::vector<int32_t>> groups,
       std::vector<std::vector<int32_t>> coordinates = {});
  Mesh(const Mesh &) = delete;
  const tp_program &program() const { return made; }

private:
  std::vector<std::vector<int32_t>> groupAxes, coordinates;
  std::vector<std::string> partNames;
  std::vector<tp_axis> axes;
  std::vector<tp_group> groups;
  std::vector<int32_t> streamGroups;
  tp_program made = {};
};

/// Meshes of so many ranks, each with all its axes alone, together in both orders, and none.
std::vector<std::unique_ptr<Mesh>> meshesOf(int ranks);

/// Tests of the suite take a world as their parameter.
class Conformance : public testing::TestWithParam<World> {
protected:
  void onEachMesh(const Body &body) {
    for (auto &mesh : meshesOf(GetParam().ranks))
      GetParam().run(GetParam().ranks, mesh->program(), body);
  }
};

} // namespace conformance

#endif // TPLAN_TEST_COLLECTIVES_WORLD_H

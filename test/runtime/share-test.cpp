//===- share-test.cpp - the pieces of a tensor that ranks hold --------------------===//
//
// Random layouts, checked element by element against the words of runtime.h.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"

#include "runtime/disk/checksum.h"
#include "runtime/disk/safetensors.h"
#include "runtime/ranks/member.h"
#include "runtime/ranks/mesh.h"
#include "runtime/ranks/share.h"
#include "runtime/ranks/tensors.h"
#include "runtime/support/random.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace tplan::runtime;

namespace {

/// A program of one tensor on a random mesh.
struct RandomTensor {
  explicit RandomTensor(unsigned seed) : random(seed) {
    for (int i = 0, n = upTo(3) + 1; i < n; ++i)
      axes.push_back({"axis", upTo(3) + 1});
    // Each axis serves one dimension, the chunks, or nothing.
    int dims = (int)upTo(3);
    bool chunked = upTo(2) > 0;
    std::vector<std::vector<int32_t>> uses(dims + 2);
    for (int32_t axis = 0; axis < (int32_t)axes.size(); ++axis)
      uses[upTo(dims + 1)].push_back(axis);
    for (int d = 0; d < dims; ++d)
      cuts.push_back(group(uses[d]));
    int32_t chunkGroup = chunked ? group(uses[dims]) : -1;
    program.axes = axes.data(), program.num_axes = (int64_t)axes.size();
    program.groups = groups.data(), program.num_groups = (int64_t)groups.size();
    int64_t line = 1;
    for (int d = 0; d < dims; ++d) {
      whole.push_back(upTo(7));
      int64_t members = memberCount(program, cuts[d]);
      // Sometimes there is more padding than necessary: some ranks hold nothing else.
      shape.push_back((whole[d] + members - 1) / members + (upTo(3) == 0 ? upTo(2) : 0));
      line *= shape[d];
    }
    int64_t chunk = 0;
    if (chunked)
      chunk = line / memberCount(program, chunkGroup) + 1 + upTo(4);
    tensor = {"x{i}",
              "",
              shape.data(),
              whole.data(),
              cuts.data(),
              TP_WEIGHT,
              upTo(1) ? TP_F32 : TP_F64,
              dims,
              2,
              0,
              1,
              0,
              0,
              5,
              1,
              TP_NORMAL,
              1,
              chunk,
              chunkGroup,
              (int32_t)upTo(1),
              0};
    stored = chunk ? chunk * (tensor.in_whole ? memberCount(program, chunkGroup) : 1) : line;
    tensor.stride = (stored + 3) * 8;
    program.tensors = &tensor, program.num_tensors = 1;
    program.abi_version = TP_ABI_VERSION;
    program.arena_bytes = 2 * tensor.stride;
  }

  int64_t upTo(int64_t most) { return (int64_t)(random() % (most + 1)); }
  int32_t group(std::vector<int32_t> ofAxes) {
    if (ofAxes.empty() && upTo(1))
      return -1;
    std::shuffle(ofAxes.begin(), ofAxes.end(), random);
    lists.push_back(std::move(ofAxes));
    groups.push_back({"group", (int32_t)lists.back().size(), lists.back().data(), 0, nullptr});
    return (int32_t)groups.size() - 1;
  }
  int64_t member(int32_t group, int64_t rank) const {
    return group < 0 ? 0 : membersOf(program, group, (int)rank).self;
  }

  static constexpr int64_t padding = -1, notOwn = -2;
  /// Logical number of an element of a rank's buffer.
  int64_t logical(int64_t rank, int64_t at) const {
    int64_t line = 1, number = 0, stride = 1;
    for (int64_t size : shape)
      line *= size;
    if (tensor.chunk) {
      int64_t first = member(tensor.chunk_group, rank) * tensor.chunk;
      at += tensor.in_whole ? 0 : first;
      if (at < first || at >= first + tensor.chunk)
        return notOwn;
      if (at >= line)
        return padding;
    }
    for (size_t d = shape.size(); d-- > 0; at /= shape[d]) {
      int64_t position = member(cuts[d], rank) * shape[d] + at % shape[d];
      if (position >= whole[d])
        return padding;
      number += position * stride;
      stride *= whole[d];
    }
    return number;
  }
  int64_t elements() const {
    int64_t all = 1;
    for (int64_t size : whole)
      all *= size;
    return all;
  }

  std::mt19937 random;
  std::vector<tp_axis> axes;
  std::vector<std::vector<int32_t>> lists;
  std::vector<tp_group> groups;
  std::vector<int64_t> shape, whole;
  std::vector<int32_t> cuts;
  tp_tensor tensor = {};
  tp_program program = {};
  int64_t stored = 0;
};

constexpr unsigned cases = 3000;

} // namespace

TEST(Share, PiecesAreTheElementsOfTheHeader) {
  int64_t padded = 0, replicas = 0, pieces = 0, longer = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    RandomTensor it(seed);
    ASSERT_OK(checkProgram(it.program));
    std::vector<int> writers(it.elements()), holders(it.elements());
    for (int64_t rank = 0; rank < ranksOf(it.program); ++rank) {
      Share share(it.program, it.tensor, rank);
      ASSERT_EQ(share.elements(), it.elements());
      ASSERT_EQ(share.stored(), it.stored);
      std::vector<int64_t> found(it.stored, RandomTensor::notOwn);
      std::fill(found.begin() + share.ownBegin(), found.begin() + share.ownEnd(),
                RandomTensor::padding);
      int64_t memory = -1, logical = -1;
      share.forEach([&](const ElementRun &piece) {
        ASSERT_GT(piece.count, 0);
        ASSERT_GT(piece.memory, memory); // in order, so nothing twice
        ASSERT_GT(piece.logical, logical);
        memory = piece.memory + piece.count - 1;
        logical = piece.logical + piece.count - 1;
        ASSERT_LT(memory, it.stored);
        ASSERT_LT(logical, it.elements());
        for (int64_t e = 0; e < piece.count; ++e) {
          found[piece.memory + e] = piece.logical + e;
          ++holders[piece.logical + e];
          writers[piece.logical + e] += share.writes();
        }
        ++pieces;
        longer += piece.count > 1;
      });
      for (int64_t at = 0; at < it.stored; ++at) {
        ASSERT_EQ(found[at], it.logical(rank, at)) << "seed " << seed << " rank " << rank;
        padded += found[at] == RandomTensor::padding;
      }
      // Cut anywhere, the pieces are the same.
      std::vector<int64_t> parts(it.stored, RandomTensor::notOwn);
      std::fill(parts.begin() + share.ownBegin(), parts.begin() + share.ownEnd(),
                RandomTensor::padding);
      for (int64_t from = share.ownBegin(), to; from < share.ownEnd(); from = to) {
        to = std::min(share.ownEnd(), from + 1 + it.upTo(5));
        share.forEach(from, to, [&](const ElementRun &piece) {
          ASSERT_GE(piece.memory, from);
          ASSERT_LE(piece.memory + piece.count, to);
          for (int64_t e = 0; e < piece.count; ++e)
            parts[piece.memory + e] = piece.logical + e;
        });
      }
      ASSERT_EQ(parts, found) << "seed " << seed << " rank " << rank;
    }
    for (int64_t e = 0; e < it.elements(); ++e) {
      ASSERT_EQ(writers[e], 1) << "seed " << seed << " element " << e;
      replicas += holders[e] > 1;
    }
  }
  // The cases hold what they should.
  EXPECT_GT(padded, 1000);
  EXPECT_GT(replicas, 1000);
  EXPECT_GT(longer, pieces / 10);
}

TEST(Share, PlacedPiecesAreTheElementsInAnotherOrder) {
  int64_t pieces = 0, longer = 0, apart = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    RandomTensor it(seed);
    // Dimensions in any order, and somewhere among them one that counts through several tensors.
    std::vector<size_t> order(it.whole.size() + 1);
    std::iota(order.begin(), order.end(), size_t(0));
    std::shuffle(order.begin(), order.end(), it.random);
    int64_t tensors = 1 + it.upTo(2), mine = it.upTo(tensors - 1), first = 0, stride = 1;
    std::vector<int64_t> strides(it.whole.size());
    for (size_t d : order) {
      (d == it.whole.size() ? first : strides[d]) = d == it.whole.size() ? mine * stride : stride;
      stride *= d == it.whole.size() ? tensors : it.whole[d];
    }
    auto placeOf = [&](int64_t logical) {
      int64_t place = first;
      for (size_t d = it.whole.size(); d-- > 0; logical /= it.whole[d])
        place += logical % it.whole[d] * strides[d];
      return place;
    };
    for (int64_t rank = 0; rank < ranksOf(it.program); ++rank) {
      std::vector<int64_t> found(it.stored, -1), wanted(it.stored, -1);
      int64_t last = -1;
      Share(it.program, it.tensor, rank)
          .forEachPlaced(strides.data(), first, [&](const PlacedRun &run) {
            ASSERT_GT(run.count, 0);
            ASSERT_GT(run.placed, last); // in order, so nothing twice
            last = run.placed + run.count - 1;
            for (int64_t e = 0; e < run.count; ++e)
              found.at(run.memory + e * run.step) = run.placed + e;
            ++pieces;
            longer += run.count > 1;
            apart += run.count > 1 && run.step > 1;
          });
      for (int64_t at = 0; at < it.stored; ++at)
        if (int64_t logical = it.logical(rank, at); logical >= 0)
          wanted[at] = placeOf(logical);
      ASSERT_EQ(found, wanted) << "seed " << seed << " rank " << rank;
    }
  }
  EXPECT_GT(longer, pieces / 10);
  EXPECT_GT(apart, 1000);
}

TEST(Share, ALayoutChangesNoInitialValue) {
  Team team;
  ASSERT_OK(team.start(2));
  for (unsigned seed = 0; seed < cases / 5; ++seed) {
    RandomTensor it(seed);
    for (int64_t rank = 0; rank < ranksOf(it.program); ++rank) {
      std::vector<double> arena(it.program.arena_bytes / 8, 77.0);
      EXPECT_OK(initializeTensors(it.program, (char *)arena.data(), rank, 9, team));
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t at = 0; at < it.stored; ++at) {
          int64_t logical = it.logical(rank, at), i = j * it.tensor.stride;
          double value = getElement((char *)arena.data() + i, it.tensor.type, at);
          bool none = logical == RandomTensor::padding || logical == RandomTensor::notOwn;
          double wanted = none ? 0 : normalAt(9, 5 + j, logical);
          ASSERT_EQ(value, it.tensor.type == TP_F32 ? (float)wanted : wanted) << seed << " " << at;
        }
    }
  }
}

TEST(Share, WhatRanksWriteRanksRead) {
  helpers::Scratch scratch;
  for (unsigned seed = 0; seed < cases / 30; ++seed) {
    // The same tensor under three layouts: files are equal, and read back as they were.
    std::string files[2];
    RandomTensor it(seed);
    auto path = [&](int i) { return scratch / ("f" + std::to_string(i)); };
    std::vector<double> all(2 * it.elements() + 1);
    int64_t size = bytesOf(it.tensor.type);
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t e = 0; e < it.elements(); ++e)
        setElement((char *)all.data() + j * it.elements() * size, it.tensor.type, e,
                   normalAt(9, 5 + j, e));
    std::vector<LogicalTensor> serial;
    for (int64_t j = 0; j < 2; ++j)
      serial.push_back({"x" + std::to_string(j), it.tensor.type, it.whole,
                        (char *)all.data() + j * it.elements() * size, Share(it.whole)});
    Peers alone;
    Team team;
    ASSERT_OK(writeSafetensors(alone, team, path(0), serial));

    std::vector<std::vector<double>> arenas(ranksOf(it.program));
    std::vector<std::string> checksums(arenas.size());
    helpers::onRanks((int)arenas.size(), [&](Peers &peers, Team &team) {
      std::vector<double> &arena = arenas[peers.rank()];
      arena.assign(it.program.arena_bytes / 8, 77.0);
      EXPECT_OK(initializeTensors(it.program, (char *)arena.data(), peers.rank(), 9, team));
      auto mine = logicalTensors(it.program, (char *)arena.data(), peers.rank(), TP_WEIGHT);
      EXPECT_OK(writeSafetensors(peers, team, path(1), mine, &checksums[peers.rank()]));
      // Read again over other values.
      std::vector<double> read = arena;
      EXPECT_OK(initializeTensors(it.program, (char *)read.data(), peers.rank(), 10, team));
      SafetensorsFile file;
      EXPECT_OK(file.open(path(1)));
      auto into = logicalTensors(it.program, (char *)read.data(), peers.rank(), TP_WEIGHT);
      EXPECT_OK(file.match(into, false));
      EXPECT_OK(file.copyTo(into));
      EXPECT_EQ(memcmp(read.data(), arena.data(), arena.size() * 8), 0);
    });
    for (int i = 0; i < 2; ++i)
      files[i] = helpers::readFile(path(i));
    ASSERT_TRUE(files[0] == files[1]) << "seed " << seed;
    for (const std::string &checksum : checksums)
      EXPECT_EQ(checksum, checksumOf(files[0].data(), (int64_t)files[0].size()));
  }
}

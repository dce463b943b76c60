//===- graphs.h - sections of a step as graphs of a device ------------------===//
//
// On a device the body of a section is captured once for each place where its microbatches have
// their memory, and replayed from then on: so graphs do not grow with the number of microbatches.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_GRAPHS_H
#define TPLAN_RUNTIME_RANKS_GRAPHS_H

#include "runtime/support/profile.h"

#include <cstdint>
#include <map>

namespace tplan::runtime {

struct Capture;

struct Graphs {
  /// What the sections of an entry point do: issue their calls, capture them, or replay what is
  /// captured.
  enum Use { issued, captured, replayed } use = issued;
  /// What the calls of a graph count, as totals before and after them.
  struct Counted {
    Profile::Totals before, after;
  };
  std::map<int64_t, Counted> made; // by the graph's number
  Capture *capture = nullptr;      // where what became of it is noted
  uint32_t turn = 0;               // counts sections, so that neighbours have different notes

  // The note of a section: its turn, and its microbatch where it is a task of a stage.
  static constexpr uint32_t microbatchBits = 15;
  static uint32_t noteOf(uint32_t turn, int64_t microbatch) {
    return turn << microbatchBits | uint32_t(microbatch + 1);
  }
  /// Below 0: none.
  static int64_t microbatchOf(uint32_t note) {
    return int64_t(note & ((1u << microbatchBits) - 1)) - 1;
  }
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_GRAPHS_H

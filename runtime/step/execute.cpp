//===- execute.cpp - the sections of an entry point -------------------------===//
//
// One decision: what a step does is a table, which this file alone reads. So on a device a section
// can be captured once and replayed for each microbatch, and generated code need not know.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/rank.h"

using namespace tplan::runtime;

namespace {

/// A section that is to be executed for a microbatch.
struct Execution {
  const tp_section &section;
  int64_t microbatch;

  int call(int (*code)(tp_rank *, char *, int64_t, const int64_t *, const void *const *),
           tp_rank *rank, char *arena) const {
    return code ? code(rank, arena, microbatch, section.offsets, section.pointers) : 0;
  }
  /// Below 0: none.
  int64_t graph() const {
    bool several = section.graph >= 0 && section.graph_of;
    return section.graph + (several ? section.graph_of[microbatch] : 0);
  }
};

int issue(tp_rank *rank, char *arena, const Execution &what) {
  if (int code = what.call(what.section.head, rank, arena))
    return code;
  return what.call(what.section.body, rank, arena);
}

/// Captures the body, if no earlier microbatch has it captured. Where a graph was refused the
/// others are captured all the same, because NCCL may meet the other ranks while they are.
int capture(tp_rank *rank, char *arena, const Execution &what) {
  Graphs &graphs = rank->graphs;
  int64_t number = what.graph();
  if (number < 0 || graphs.made.count(number))
    return 0;
  Profile::Totals before = rank->profile.totalsNow();
  if (Status begun = rank->device->beginCapture(); !begun.ok())
    return fail(*rank, nullptr, std::move(begun));
  int code = what.call(what.section.body, rank, arena);
  Status ended = rank->device->endCapture(number, *graphs.capture);
  if (code)
    return code;
  graphs.made[number] = {before, rank->profile.totalsNow()};
  return fail(*rank, nullptr, std::move(ended));
}

int replay(tp_rank *rank, char *arena, const Execution &what) {
  Graphs &graphs = rank->graphs;
  auto made = graphs.made.find(what.graph());
  if (made == graphs.made.end())
    return issue(rank, arena, what);
  if (int code = what.call(what.section.head, rank, arena))
    return code;
  rank->profile.repeat(made->second.before, made->second.after);
  return fail(*rank, nullptr, rank->device->replay(made->first));
}

int execute(tp_rank *rank, char *arena, const Execution &what) {
  Graphs &graphs = rank->graphs;
  if (!rank->device || graphs.use == Graphs::issued)
    return issue(rank, arena, what);
  if (graphs.use == Graphs::captured)
    return capture(rank, arena, what);
  uint32_t note = Graphs::noteOf(++graphs.turn, rank->task.microbatch);
  if (int code = fail(*rank, nullptr, rank->device->noteSection(note)))
    return code;
  return replay(rank, arena, what);
}

/// Executes a section, and notes when it began and ended.
int executeTimed(tp_rank *rank, char *arena, const Execution &what) {
  double begin = monotonicSeconds();
  int code = execute(rank, arena, what);
  if (!code && rank->device)
    code = fail(*rank, nullptr, rank->device->finish());
  rank->trace.add(what.section, what.microbatch, begin, monotonicSeconds());
  return code;
}

/// Enters a section; messages know its task from here on.
int enter(tp_rank *rank, char *arena, const Execution &what) {
  if (what.section.stage >= 0)
    tp_begin_task(rank, what.section.stage, what.microbatch);
  else if (rank->task.stage >= 0)
    tp_begin_task(rank, -1, -1);
  return rank->trace.notes() ? executeTimed(rank, arena, what) : execute(rank, arena, what);
}

/// Executes the sections of an entry point in their order.
int execute(tp_rank *rank, char *arena, tp_entry_kind kind) {
  const tp_entry &entry = rank->program->entries[kind];
  for (int64_t i = 0; i < entry.num_items; ++i) {
    int32_t item = entry.items[i];
    if (int code = enter(rank, arena, {entry.sections[item % TP_SECTIONS], item / TP_SECTIONS}))
      return code;
  }
  if (rank->task.stage >= 0)
    tp_begin_task(rank, -1, -1);
  return 0;
}

} // namespace

int tp_prepare(tp_rank *rank, char *arena) { return execute(rank, arena, TP_PREPARE); }
int tp_train(tp_rank *rank, char *arena) { return execute(rank, arena, TP_TRAIN); }
int tp_train_early(tp_rank *rank, char *arena) { return execute(rank, arena, TP_TRAIN_EARLY); }
int tp_evaluate(tp_rank *rank, char *arena) { return execute(rank, arena, TP_EVALUATE); }
int tp_predict(tp_rank *rank, char *arena) { return execute(rank, arena, TP_PREDICT); }

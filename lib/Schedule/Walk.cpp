//===- Walk.cpp - what a program does, in order ------------------------------===//
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using sched::Times;

void schedule::forEachExecution(sched::EntryOp entry,
                                function_ref<void(sched::SectionOp, int64_t)> visit) {
  auto program = entry->getParentOfType<sched::ProgramOp>();
  using Key = std::pair<int, int64_t>; // kind and stage
  llvm::DenseMap<Key, sched::SectionOp> ofTasks, ofFirst, ofLast;
  std::map<std::tuple<Key, Key, int64_t>, sched::SectionOp> ofPairs; // with their shifts
  bool isEarly = entry.getKind() == sched::EntryKind::EarlyStep;
  for (auto section : program.getBody().getOps<sched::SectionOp>()) {
    if (!section.getKind() || (section.getEarly() && !isEarly))
      continue;
    Key key = {static_cast<int>(*section.getKind()), *section.getStage()};
    if (section.isOfPair()) {
      Key with = {static_cast<int>(*section.getWith()), *section.getWithStage()};
      ofPairs[{key, with, section.getShift()}] = section;
    } else if (section.getFirst()) {
      ofFirst[key] = section;
    } else if (!section.getLast()) {
      auto [known, isNew] = ofTasks.try_emplace(key, section);
      if (!isNew && section.getEarly())
        known->second = section;
    } else if (section.getEarly() == isEarly) {
      ofLast[key] = section;
    }
  }
  llvm::DenseMap<Key, int64_t> left; // tasks that have a last section
  if (!ofLast.empty())
    for (sched::Task task : program.getTaskList())
      ++left[{static_cast<int>(task.kind), task.stage}];
  auto keyOf = [](sched::Task task) { return Key(static_cast<int>(task.kind), task.stage); };
  // What a task executes: a first section before a last one, that before the section of a pair, and
  // else the task's own.
  auto isApart = [&](Key key) { // whether this task has a first or a last section
    return ofFirst.contains(key) || (ofLast.contains(key) && left[key] == 1);
  };
  auto findPair = [&](ArrayRef<sched::Task> tasks) {
    if (tasks.size() != 2 || llvm::any_of(tasks, [&](auto task) { return isApart(keyOf(task)); }))
      return sched::SectionOp();
    int64_t shift = tasks[1].microbatch - tasks[0].microbatch;
    auto pair = ofPairs.find({keyOf(tasks[0]), keyOf(tasks[1]), shift});
    return pair == ofPairs.end() ? sched::SectionOp() : pair->second;
  };
  auto visitTask = [&](sched::Task task) {
    Key key = keyOf(task);
    if (auto first = ofFirst.find(key); first != ofFirst.end()) {
      visit(first->second, task.microbatch);
      ofFirst.erase(first);
      return;
    }
    sched::SectionOp last = ofLast.lookup(key);
    visit(last && --left[key] == 0 ? last : ofTasks.lookup(key), task.microbatch);
  };
  SmallVector<sched::Task> tasks(program.getTaskList());
  int64_t microbatches = program.getMicrobatches();
  for (auto item : entry.getSections().getAsRange<sched::ExecuteAttr>()) {
    if (item.getTimes() == Times::Tasks) {
      for (size_t i = 0; i < tasks.size();) {
        ArrayRef<sched::Task> asOne = sched::tasksAt(tasks, i);
        i += asOne.size();
        sched::SectionOp pair = findPair(asOne);
        if (!pair) {
          llvm::for_each(asOne, visitTask);
          continue;
        }
        for (sched::Task task : asOne)
          if (auto count = left.find(keyOf(task)); count != left.end())
            --count->second;
        visit(pair, asOne.front().microbatch);
      }
      continue;
    }
    sched::SectionOp section = program.lookupSymbol<sched::SectionOp>(item.getSection().getValue());
    for (int64_t m = 0, e = item.getTimes() == Times::Once ? 1 : microbatches; m < e; ++m)
      visit(section, m);
  }
}

SmallVector<std::pair<sched::SectionOp, int64_t>> schedule::countExecutions(sched::EntryOp entry) {
  llvm::MapVector<Operation *, int64_t> times;
  forEachExecution(entry, [&](sched::SectionOp section, int64_t) { ++times[section]; });
  return llvm::map_to_vector(times, [](auto &count) {
    return std::pair(cast<sched::SectionOp>(count.first), count.second);
  });
}

void schedule::forEachStep(llvm::iterator_range<Block::iterator> ops,
                           function_ref<void(sched::Step, int64_t)> visit) {
  for (Operation &op : ops) {
    auto run = dyn_cast<sched::RunOp>(op);
    if (!run) {
      visit(cast<sched::Step>(op), 1);
      continue;
    }
    for (Operation &nested : run.getBody().front())
      visit(cast<sched::Step>(nested), run.getTimes());
  }
}

void schedule::forEachStep(sched::EntryOp entry, function_ref<void(sched::Step, int64_t)> visit) {
  for (auto [section, executed] : countExecutions(entry)) {
    Block &body = section.getBody().front();
    forEachStep(llvm::make_range(body.begin(), body.end()),
                [&, executed = executed](sched::Step step, int64_t times) {
                  visit(step, executed * times);
                });
  }
}

void schedule::forEachStep(sched::ProgramOp program, sched::EntryKind kind,
                           function_ref<void(sched::Step, int64_t)> visit) {
  for (auto entry : program.getBody().getOps<sched::EntryOp>())
    if (entry.getKind() == kind)
      forEachStep(entry, visit);
}

llvm::DenseMap<Operation *, SmallVector<sched::Step>>
schedule::touchingSteps(sched::ProgramOp program) {
  llvm::DenseMap<Operation *, SmallVector<sched::Step>> steps;
  program.walk([&](sched::Step step) {
    Operation *op = sched::bodyOpOf(step), *end = sched::bodyOpOf(step.getCompletion());
    steps[op].push_back(step);
    if (end != op)
      steps[end].push_back(step);
  });
  return steps;
}

void schedule::forEachCall(sched::ProgramOp program, sched::EntryKind entry,
                           function_ref<void(rt::FuncOp, int64_t)> visit) {
  forEachStep(program, entry, [&](sched::Step op, int64_t times) {
    if (auto call = dyn_cast<sched::CallOp>(op.getOperation()))
      visit(call.getFunction(), times * static_cast<int64_t>(call.getLayers()));
  });
}

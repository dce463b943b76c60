//===- Text.cpp - orders as text, written and judged ---------------------------------===//
#include "lib/Pipeline/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace tplan;
using namespace tplan::pipeline;
namespace json = llvm::json;

static std::string spellOrder(const RankOrder &order) {
  std::string text;
  for (size_t i = 0; i < order.size();) {
    llvm::ArrayRef<Task> tasks = sched::tasksAt(order, i);
    i += tasks.size();
    std::string item = llvm::join(llvm::map_range(tasks, [](Task t) { return spell(t); }), ";");
    text += (text.empty() ? "" : ",") + (tasks.size() > 1 ? "(" + item + ")" : item);
  }
  return text;
}

/// A whole number without a point, because units are whole as a rule.
static json::Value numberOf(double value) {
  auto whole = static_cast<int64_t>(value);
  return value == static_cast<double>(whole) ? json::Value(whole) : json::Value(value);
}

template <typename Range>
static void printNumbers(json::OStream &os, llvm::StringRef name, Range &&values) {
  os.attributeArray(name, [&] {
    for (double value : values)
      os.value(numberOf(value));
  });
}

static void printKept(json::OStream &os, const Orders &orders) {
  printNumbers(os, "peak_live_activations_per_rank", countKept(orders, KeptUntil::Weights));
  printNumbers(os, "peak_until_input", countKept(orders, KeptUntil::Inputs));
}

void tplan::pipeline::printOrders(llvm::StringRef schedule, const Pipeline &pipeline,
                                  const Orders &orders, const Costs &costs,
                                  llvm::raw_ostream &out) {
  Simulation simulation = simulate(orders, pipeline, costs);
  std::vector<double> idle;
  for (double busy : simulation.busy)
    idle.push_back(simulation.makespan - busy);
  json::OStream os(out);
  os.object([&] {
    os.attribute("schedule", schedule);
    os.attribute("pp", pipeline.ranks());
    os.attribute("microbatches", pipeline.microbatches());
    size_t most = 0; // on any rank
    for (int32_t rank = 0; rank < pipeline.ranks(); ++rank)
      most = std::max(most, pipeline.chunksOf(rank).size());
    os.attribute("stages_per_rank", static_cast<int64_t>(most));
    os.attribute("num_stages", pipeline.stages());
    printNumbers(os, "stage_to_rank", pipeline.rankOfStages());
    os.attributeArray("chains", [&] {
      for (const Chain &chain : pipeline.getChains())
        os.array([&] {
          for (int32_t stage : chain.stages)
            os.value(stage);
        });
    });
    os.attributeArray("chain_microbatches", [&] {
      for (const Chain &chain : pipeline.getChains())
        os.array([&] { os.value(chain.begin), os.value(chain.end - 1); });
    });
    os.attributeArray("ranks", [&] {
      for (const RankOrder &order : orders)
        os.value(spellOrder(order));
    });
    os.attribute("makespan", numberOf(simulation.makespan));
    os.attribute("bubble_ratio", simulation.bubbleRatio);
    printNumbers(os, "idle_per_rank", idle);
    printNumbers(os, "idle_inside_per_rank", simulation.idleInside);
    printKept(os, orders);
    os.attribute("makespan_blocking_sends",
                 numberOf(simulate(placeMessages(orders, pipeline), pipeline, costs).makespan));
  });
  out << "\n";
}

bool tplan::pipeline::judgeOrders(llvm::StringRef text, const Costs &costs,
                                  llvm::raw_ostream &out) {
  ReadOrders read = readOrders(text);
  std::optional<Fault> fault, blocking, buffered;
  if (read.file) {
    const Pipeline &pipeline = read.file->pipeline;
    fault = checkOrders(read.file->orders, pipeline);
    if (fault) { // what a program does is asked of orders alone that have all tasks
      blocking = buffered = fault;
    } else {
      std::vector<Program> programs = read.file->programs;
      if (programs.empty())
        programs = programsOf(placeMessages(read.file->orders, pipeline), pipeline);
      blocking = replay(programs, pipeline, /*sendsBlock=*/true);
      buffered = replay(programs, pipeline, /*sendsBlock=*/false);
      fault = buffered ? buffered : blocking;
    }
  } else {
    fault = blocking = buffered = read.fault;
  }
  json::OStream os(out);
  auto verdict = [](const std::optional<Fault> &of) { return of ? of->message : "ok"; };
  os.object([&] {
    os.attribute("verdict", fault ? "rejected" : "ok");
    os.attribute("rule", fault ? fault->rule : "");
    os.attribute("where", fault ? fault->where() : "");
    if (fault) {
      os.attribute("message", fault->message);
      os.attributeArray("notes", [&] {
        for (const std::string &note : fault->notes)
          os.value(note);
      });
    }
    os.attribute("blocking_sends", verdict(blocking));
    os.attribute("buffered_sends", verdict(buffered));
    if (!fault) {
      os.attribute("makespan",
                   numberOf(simulate(read.file->orders, read.file->pipeline, costs).makespan));
      printKept(os, read.file->orders);
    }
  });
  out << "\n";
  return !fault;
}

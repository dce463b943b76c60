//===- Orders.cpp - what the programs of a module do, as orders of tasks ------===//
#include "lib/Schedule/Orders.h"
#include "dialects/sched/Sched.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::pipeline;

Scheduled schedule::ordersOf(ModuleOp module, With with) {
  Orders orders;
  std::vector<int32_t> rankOf;
  sched::ProgramOp last;
  for (auto program : module.getOps<sched::ProgramOp>()) {
    RankOrder &order = orders.emplace_back();
    for (Task task : program.getTaskList())
      if (with == With::All || sched::factsOf(task.kind).isOrdered)
        order.push_back(task);
    rankOf.resize(program.getStages());
    for (int32_t stage = 0; stage < static_cast<int32_t>(rankOf.size()); ++stage)
      if (program.holds(stage))
        rankOf[stage] = orders.size() - 1;
    last = program;
  }
  std::vector<Chain> chains(last.getChains());
  for (int32_t stage = 0; stage < static_cast<int32_t>(rankOf.size()); ++stage) {
    Chain &chain = chains[stage / last.getChainLength()];
    chain.stages.push_back(stage);
    std::tie(chain.begin, chain.end) = last.getMicrobatchesOf(stage);
  }
  Pipeline pipeline(std::move(rankOf), std::move(chains), last.getMicrobatches());
  return {std::move(pipeline), std::move(orders)};
}

//===- Pipeline.cpp - stages on ranks ----------------------------------------===//
#include "lib/Pipeline/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace tplan;
using namespace tplan::pipeline;

UnitCosts::operator Costs() const {
  UnitCosts of = *this;
  auto task = [of](TaskKind kind, int32_t stage) {
    if (auto own = of.ofStages.find({stage, kind}); own != of.ofStages.end())
      return own->second;
    return kind == TaskKind::F   ? of.f
           : kind == TaskKind::I ? of.i
           : kind == TaskKind::W ? of.w
           : kind == TaskKind::B ? of.b.value_or(of.i + of.w)
                                 : 0;
  };
  return {task, [of](int32_t, int32_t) { return of.message; }};
}

llvm::Expected<UnitCosts> tplan::pipeline::readCosts(llvm::StringRef text) {
  UnitCosts costs;
  double b = 0;
  std::pair<llvm::StringRef, double *> names[] = {
      {"F", &costs.f}, {"I", &costs.i}, {"W", &costs.w}, {"B", &b}, {"comm", &costs.message}};
  for (llvm::StringRef item : llvm::split(text, ',')) {
    if (text.empty())
      break;
    auto [key, value] = item.split('=');
    llvm::StringRef name = key.trim(), stage = name.take_while(llvm::isDigit);
    name = name.drop_front(stage.size());
    auto found = llvm::find_if(names, [&](auto &each) { return each.first == name; });
    int32_t number = -1;
    double cost;
    bool ofStage = !stage.empty();
    if (found == std::end(names) || value.trim().getAsDouble(cost) || !(cost >= 0) || cost > 1e12 ||
        (ofStage && (name == "comm" || stage.getAsInteger(10, number))))
      return llvm::createStringError(
          "costs are F, I, W, B and comm, or 3F of stage 3, each a number "
          "from 0 to 1e12, as F=1,B=2: found '" +
          item.str() + "'");
    if (ofStage) {
      costs.ofStages[{number, *sched::symbolizeTaskKind(name)}] = cost;
      continue;
    }
    *found->second = cost;
    if (name == "B")
      costs.b = b;
  }
  return costs;
}

static int32_t placed(Placement placement, int32_t stage, int32_t ranks) {
  bool turns = placement != Placement::Loop && stage >= ranks;
  return turns ? 2 * ranks - 1 - stage : stage % ranks;
}

static std::vector<int32_t> numbers(int32_t begin, int32_t end) {
  std::vector<int32_t> list(end - begin);
  std::iota(list.begin(), list.end(), begin);
  return list;
}

Pipeline::Pipeline(Placement placement, int32_t ranks, int32_t chunks, int32_t microbatches)
    : numMicrobatches(microbatches) {
  int32_t stages = ranks * chunks;
  for (int32_t stage = 0; stage < stages; ++stage)
    ranksOfStages.push_back(placed(placement, stage, ranks));
  if (placement == Placement::Dual)
    chains = {{numbers(0, ranks), 0, microbatches / 2},
              {numbers(ranks, stages), microbatches / 2, microbatches}};
  else
    chains = {{numbers(0, stages), 0, microbatches}};
  link();
}

Pipeline::Pipeline(std::vector<int32_t> rankOf, std::vector<Chain> chains, int32_t microbatches)
    : ranksOfStages(std::move(rankOf)), chains(std::move(chains)), numMicrobatches(microbatches) {
  link();
}

void Pipeline::link() {
  chunks.resize(ranksOfStages.empty() ? 0 : 1 + *llvm::max_element(ranksOfStages));
  for (auto [stage, rank] : llvm::enumerate(ranksOfStages))
    chunks[rank].push_back(stage);
  chainsOfStages.assign(stages(), 0);
  neighbours.assign(stages(), {-1, -1});
  for (auto [number, chain] : llvm::enumerate(chains))
    for (size_t i = 0, e = chain.stages.size(); i < e; ++i) {
      chainsOfStages[chain.stages[i]] = number;
      neighbours[chain.stages[i]] = {i ? chain.stages[i - 1] : -1,
                                     i + 1 < e ? chain.stages[i + 1] : -1};
    }
}

bool Pipeline::has(int32_t stage, int32_t microbatch) const {
  return stage >= 0 && stage < stages() && microbatch >= chainOf(stage).begin &&
         microbatch < chainOf(stage).end;
}

int32_t Pipeline::receiverOf(Task task) const {
  return task.kind == TaskKind::F     ? after(task.stage)
         : leavesCotangent(task.kind) ? before(task.stage)
                                      : -1;
}

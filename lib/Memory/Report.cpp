//===- Report.cpp - what the arena holds, read off the IR -----------------===//
#include "dialects/rt/RT.h"
#include "lib/Memory/Liveness.h"
#include "lib/Memory/Memory.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;

Report memory::getReport(ModuleOp module) {
  Report report;
  auto program = module.lookupSymbol<sched::ProgramOp>("step");
  if (!program || !program.getArena())
    return report;
  report.arena = *program.getArena();
  report.live = *program.getLive();
  for (auto func : module.getOps<rt::FuncOp>())
    if (auto frame = func->getAttrOfType<IntegerAttr>(sched::kFrame))
      report.frames.push_back({func.getSymName().str(), frame.getInt(),
                               func->getAttrOfType<IntegerAttr>(sched::kLive).getInt()});

  FailureOr<schedule::Chains> chains = schedule::readChains(program);
  if (failed(chains))
    return report;
  auto &[train, counts] = *chains;
  Liveness liveness(program, train, counts ? &*counts : nullptr);
  report.peak = liveness.peakName;
  std::map<std::string, int64_t> atPeak;
  for (auto [block, bytes] : llvm::zip(liveness.blocks, liveness.atPeak))
    atPeak[block.key] += bytes; // slots of a family may be blocks of their own

  for (Operation &op : program.getBody().front()) {
    OwnerReport owner;
    if (auto family = dyn_cast<sched::FamilyOp>(op)) {
      sched::ValueOp first = *family.getBody().getOps<sched::ValueOp>().begin();
      owner = {family.getName().str(), first.getOwner(), family.getAt()->front(),
               static_cast<int64_t>(family.getBytes() * family.getSlots()), 0};
    } else if (auto value = dyn_cast<sched::ValueOp>(op)) {
      owner = {value.getKey().str(), value.getOwner(), static_cast<int64_t>(*value.getAt()),
               value.getTotal(), 0};
    } else {
      continue;
    }
    // What is no block lives from step to step.
    auto found = atPeak.find(owner.name);
    owner.atPeak = found == atPeak.end() ? owner.bytes : found->second;
    report.owners.push_back(owner);
  }
  llvm::sort(report.owners, [](const OwnerReport &a, const OwnerReport &b) {
    return std::pair(a.offset, a.name) < std::pair(b.offset, b.name);
  });
  return report;
}

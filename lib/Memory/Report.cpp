//===- Report.cpp - what the arena holds, read off the IR -----------------===//
#include "dialects/rt/RT.h"
#include "lib/Memory/Liveness.h"
#include "lib/Memory/Memory.h"
#include "lib/Memory/Pack.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;

/// Where a value comes from: the line of its weight, else its own.
static Location placeOf(sched::ValueOp value) {
  if (FlatSymbolRefAttr of = value.getKey().getOf())
    if (auto param = value->getParentOfType<ModuleOp>().lookupSymbol<nn::ParamOp>(of.getAttr()))
      return param.getLoc();
  return value.getLoc();
}

Report memory::getReport(sched::ProgramOp program) {
  Report report;
  if (!program.getArena())
    return report;
  auto module = program->getParentOfType<ModuleOp>();
  report.arena = *program.getArena();
  report.live = *program.getLive();
  for (auto func : module.getOps<rt::FuncOp>())
    if (auto frame = func->getAttrOfType<IntegerAttr>(sched::kFrame))
      report.frames.push_back({func.getSymName().str(), frame.getInt(),
                               func->getAttrOfType<IntegerAttr>(sched::kLive).getInt()});

  Liveness liveness(program);
  SmallVector<int64_t> bytes;
  for (const MemoryBlock &piece : liveness.blocks)
    bytes.push_back(piece.bytes);
  report.least =
      report.live + std::max<int64_t>(0, leastBytes(bytes, liveness.conflicts) - liveness.peak);
  report.peak = liveness.peakName;
  llvm::DenseMap<Operation *, int64_t> atPeak;
  for (auto [block, bytes] :
       llvm::zip(liveness.blocks, liveness.atPeak)) // slots of a family add up
    atPeak[block.family ? block.family.getOperation() : block.value.getOperation()] += bytes;

  llvm::DenseMap<StringAttr, sched::Owner> ownerOf; // of families
  for (auto value : program.getBody().getOps<sched::ValueOp>()) {
    if (FlatSymbolRefAttr family = value.getFamilyAttr()) {
      ownerOf.try_emplace(family.getAttr(), value.getOwner());
      continue;
    }
    int64_t bytes = value.getTotal();
    if (value.getOwner() == sched::Owner::Frame && !bytes)
      continue;
    // What is no block lives from step to step.
    auto found = atPeak.find(value);
    report.owners.push_back({value.getName(), value.getOwner(),
                             static_cast<int64_t>(*value.getAt()), bytes,
                             found == atPeak.end() ? bytes : found->second, placeOf(value)});
  }
  for (auto family : program.getBody().getOps<sched::FamilyOp>())
    report.owners.push_back({family.getSymName().str(), ownerOf.lookup(family.getSymNameAttr()),
                             family.getAt()->front(),
                             static_cast<int64_t>(family.getBytes() * family.getSlots()),
                             atPeak.lookup(family), family.getLoc()});
  llvm::sort(report.owners, [](const OwnerReport &a, const OwnerReport &b) {
    return std::pair(a.offset, a.name) < std::pair(b.offset, b.name);
  });
  return report;
}

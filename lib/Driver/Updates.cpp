//===- Updates.cpp - when a step updates, in words --------------------------===//
#include "lib/Driver/Updates.h"
#include "dialects/nn/Scalars.h"
#include "dialects/rt/RT.h"

using namespace mlir;
using namespace tplan;

namespace {
/// What the ends of steps do.
struct Ends {
  bool awaitsSums = false, updatesBetween = false, readsNorm = false, exchanges = false;
  bool defersGathers = false; // to the first forward of the next step
};
} // namespace

static bool isUpdate(sched::CallOp call) {
  return call.getFunction().getPart() == nn::Part::Update;
}

static bool readsNorm(sched::CallOp call) {
  return llvm::any_of(call.getUses(), [](const sched::Use &each) {
    sched::KeyAttr key = sched::valueOf(each.value).getKey();
    return key.getKind() == sched::ValueKind::Scalar && key.getName() &&
           key.getName().getValue() == nn::kNorm;
  });
}

static void look(sched::SectionOp section, Ends &ends) {
  if (section.getFirst())
    section.walk([&](sched::CallOp call) {
      ends.defersGathers |= call.getStarted() && sched::isExchange(call.getFunction());
    });
  if (section.getSymName() != "end")
    return;
  section.walk([&](sched::RunOp run) {
    bool awaits = !run.getBody().front().getOps<sched::AwaitOp>().empty();
    ends.awaitsSums |= awaits;
    for (auto call : run.getBody().getOps<sched::CallOp>()) {
      if (!isUpdate(call))
        continue;
      ends.updatesBetween |= awaits;
      ends.readsNorm |= readsNorm(call);
      ends.exchanges |= !call.getFunction().getBlock().getOps<rt::CollectiveOp>().empty();
    }
  });
}

std::string tplan::describeUpdates(ArrayRef<sched::ProgramOp> programs) {
  Ends ends;
  for (sched::ProgramOp program : programs)
    for (auto section : program.getBody().getOps<sched::SectionOp>())
      look(section, ends);
  std::string text;
  if (ends.updatesBetween)
    text = "a layer's while gradients of other layers are summed";
  else if (ends.awaitsSums)
    text = std::string("after all gradients are summed") +
           (ends.readsNorm   ? ", because their norm goes into them"
            : ends.exchanges ? ", because ranks exchange what they update"
                             : "") +
           "; norms of layers are added up meanwhile";
  if (ends.defersGathers)
    text += std::string(text.empty() ? "" : "; ") +
            "what they give is gathered in the first forward of the next step";
  return text;
}

//===- HoistInputs.cpp - hoist-inputs: what a microbatch alone has comes first ----===//
//
// A section that runs for each microbatch can be captured once for many of them only if it finds
// what it reads in the same place each time. So what it reads by the number of its microbatch (its
// rows of tokens, where dropout begins) is copied when it begins, and these copies are issued by
// themselves: they are the head of the section.
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Values.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_HOISTINPUTSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using sched::SectionOp;
using sched::Use;
using sched::ValueOp;

namespace {
class InputHoister {
public:
  explicit InputHoister(sched::ProgramOp program) : program(program) {}

  void hoist(SectionOp section) {
    Block &body = section.getBody().front();
    SmallVector<Operation *> head;
    for (auto unpack : body.getOps<sched::UnpackOp>())
      head.push_back(unpack);
    copies.clear();
    section.walk([&](sched::Step step) {
      if (!isa<sched::UnpackOp, sched::AwaitOp>(step.getOperation()))
        replaceUses(step);
    });
    OpBuilder b = OpBuilder::atBlockBegin(&body);
    for (auto &[from, to] : copies)
      head.push_back(sched::createStep<sched::CopyOp>(
          b, section.getLoc(), {sched::use(from, sched::microbatchOf(b.getContext()))},
          {sched::use(to)}));
    for (Operation *op : llvm::reverse(head))
      op->moveBefore(&body, body.begin());
    section.setHead(head.size());
  }

private:
  sched::ProgramOp program;
  llvm::MapVector<Value, Value> copies; // of the section: from what, to what
  llvm::DenseMap<Value, Value> copyOf;  // of the program: all sections share the place

  Value placeFor(Value value) {
    auto [found, isNew] = copyOf.try_emplace(value);
    if (isNew) {
      ValueOp from = sched::valueOf(value);
      OpBuilder b(from);
      b.setInsertionPointAfter(from);
      auto key = sched::KeyAttr::get(b.getContext(), sched::ValueKind::Activation,
                                     "microbatch." + from.getKey().getName().getValue().str());
      found->second = ValueOp::create(b, from.getLoc(), key, sched::Owner::Chain,
                                      sched::Life::Section, from.getBytes(), 1, *from.getType())
                          .getMemory();
    }
    copies.insert({value, found->second});
    return found->second;
  }

  /// Only an instance that is the number of the microbatch is hoisted; any other one makes more
  /// graphs.
  void replaceUses(sched::Step step) {
    AffineExpr microbatch = sched::microbatchOf(step->getContext());
    auto instances = step->getAttrOfType<ArrayAttr>("instances");
    auto borders = step->getAttrOfType<DenseI32ArrayAttr>("borders");
    if (!instances)
      return;
    SmallVector<Attribute> replaced(instances.begin(), instances.end());
    auto operands = [](int32_t border) { return border >= 0 ? 2 : 1; };
    unsigned operand = step->getNumOperands(); // values come last
    for (int32_t border : borders.asArrayRef())
      operand -= operands(border);
    SmallVector<Use> uses = step.getUses(); // a frame comes after those with an instance
    for (auto [i, use] : llvm::enumerate(ArrayRef(uses).take_front(borders.size()))) {
      if (use.reads && !use.border && use.instance.getResult(0) == microbatch) {
        step->setOperand(operand, placeFor(use.value));
        replaced[i] = AffineMapAttr::get(sched::use(use.value).instance);
      }
      operand += operands(borders[i]);
    }
    step->setAttr("instances", ArrayAttr::get(step->getContext(), replaced));
  }
};

struct HoistInputsPass : tplan::schedule::impl::HoistInputsPassBase<HoistInputsPass> {
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>()) {
      InputHoister hoister(program);
      llvm::SmallSetVector<SectionOp, 8> sections; // that are executed for each microbatch
      for (auto entry : program.getBody().getOps<sched::EntryOp>())
        for (auto item : entry.getSections().getAsRange<sched::ExecuteAttr>())
          if (item.getTimes() == sched::Times::EachMicrobatch)
            sections.insert(program.lookupSymbol<SectionOp>(item.getSection().getValue()));
      for (auto section : program.getBody().getOps<SectionOp>())
        if (section.isOfTask())
          sections.insert(section);
      for (SectionOp section : sections)
        if (section.getHead() == 0)
          hoister.hoist(section);
    }
  }
};
} // namespace

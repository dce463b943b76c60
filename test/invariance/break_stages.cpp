//===- break_stages.cpp - ways to break what stages on ranks do together ---===//
#include "test/invariance/break_stages.h"
#include "dialects/dist/Dist.h"
#include "dialects/nn/Parts.h"
#include "lib/Schedule/StepKernels.h"
#include <numeric>

using namespace mlir;
using namespace tplan;
using sched::ProgramOp;
using sched::Task;
using sched::TaskKind;
using sched::ValueOp;

namespace {

class Finder {
public:
  explicit Finder(ModuleOp module)
      : module(module),
        programs(module.getOps<ProgramOp>().begin(), module.getOps<ProgramOp>().end()) {}

  std::vector<test::StageMutant> find() {
    if (programs.size() < 2)
      return {};
    for (ProgramOp program : programs) {
      program.walk([&](sched::SendOp send) { breakMessage(send); });
      for (TaskKind kind :
           {TaskKind::SendF, TaskKind::SendB, TaskKind::ReceiveF, TaskKind::ReceiveB})
        breakOrder(program, kind);
      program.walk([&](sched::CallOp call) { breakSum(call); });
      breakNormOf(program);
    }
    breakNorm();
    breakLosses();
    return std::move(mutants);
  }

private:
  void add(Operation *op, StringRef what, const Twine &how, std::function<void()> apply) {
    std::string where = op->getParentOfType<ProgramOp>().getSymName().str();
    if (auto section = op->getParentOfType<sched::SectionOp>())
      where += " " + section.getSymName().str();
    mutants.push_back({where, what.str(), how.str(), op->getLoc(), std::move(apply)});
  }

  /// The op at the other end, which is in a section of its own or in one of the same name.
  sched::ReceiveOp receiverOf(sched::SendOp send) {
    sched::ReceiveOp found;
    auto section = send->getParentOfType<sched::SectionOp>();
    ProgramOp peer = programs[send.getPeer()];
    peer.walk([&](sched::ReceiveOp op) {
      auto theirs = op->getParentOfType<sched::SectionOp>();
      bool isSame =
          section.isOfTask() ? theirs.isOfTask() : theirs.getSymName() == section.getSymName();
      if (isSame && op.getOf() == send.getOf() && op.getEnds() == send.getEnds())
        found = op;
    });
    return found;
  }

  void breakMessage(sched::SendOp send) {
    sched::ReceiveOp receive = receiverOf(send);
    add(send, send.getOf(), "dropped", [=] { receive->erase(), send->erase(); });
    for (auto [i, operand] : llvm::enumerate(send.getValues())) {
      add(send, send.getOf(), "of another value than number " + Twine(i),
          [=, i = i, operand = operand] { send->setOperand(i, another(operand)); });
      for (size_t j = i + 1; j < send.getValues().size(); ++j)
        if (sched::valueOf(send->getOperand(j)).getType() == sched::valueOf(operand).getType())
          add(send, send.getOf(), "values " + Twine(i) + " and " + Twine(j) + " swapped",
              [=, i = i, operand = operand]() mutable {
                send->setOperand(i, send->getOperand(j));
                send->setOperand(j, operand);
                SmallVector<Attribute> instances(send.getInstances().getValue());
                std::swap(instances[i], instances[j]);
                send.setInstancesAttr(ArrayAttr::get(send.getContext(), instances));
              });
    }
    for (int64_t rank = 0, e = programs.size(); rank < e; ++rank)
      if (rank != static_cast<int64_t>(send.getPeer()) &&
          programs[rank] != send->getParentOp()->getParentOp())
        add(send, send.getOf(), "to rank " + Twine(rank),
            [=] { send->setAttr("peer", Builder(send).getI64IntegerAttr(rank)); });
  }

  /// A value of the program of the same type that nobody writes: any other one may have been in the
  /// same memory, or be a copy.
  static Value another(Value memory) {
    ValueOp value = sched::valueOf(memory);
    OpBuilder b(value);
    auto key = sched::KeyAttr::get(b.getContext(), sched::ValueKind::Activation, "another");
    return ValueOp::create(b, value.getLoc(), key, value.getOwner(), sched::Life::Always,
                           value.getBytes(), value.getCount(), value.getTensor())
        .getMemory();
  }

  /// The first two messages of their kind change places, where tasks before the second one allow
  /// it.
  void breakOrder(ProgramOp program, TaskKind kind) {
    SmallVector<int64_t> places;
    for (int64_t i = 0, e = program.getNumTasks(); i < e; ++i)
      if (program.getTask(i).kind == kind)
        places.push_back(i);
    if (places.size() < 2)
      return;
    add(program.findSection(kind, program.getTask(places[0]).stage), sched::stringifyTaskKind(kind),
        "microbatches 0 and 1 swapped", [=]() mutable {
          SmallVector<int32_t> tasks(program.getTasks());
          // Two sent messages: the first moves after the second. Two received ones: the second
          // moves before the first.
          bool sends = kind == TaskKind::SendF || kind == TaskKind::SendB;
          auto at = [&](int64_t place) { return tasks.begin() + 3 * place; };
          sends ? std::rotate(at(places[0]), at(places[0] + 1), at(places[1] + 1))
                : std::rotate(at(places[0]), at(places[1]), at(places[1] + 1));
          program.setTasks(tasks);
          // Each microbatch has a slot of its own, so that nothing is overwritten meanwhile.
          SmallVector<int32_t> slots(program.getMicrobatches());
          std::iota(slots.begin(), slots.end(), 0);
          for (auto family : program.getBody().getOps<sched::FamilyOp>()) {
            family.setSlots(slots.size());
            family.setSlotOf(slots);
          }
        });
  }

  /// The part of a stage in the gradient of a weight.
  void breakSum(sched::CallOp call) {
    if (!call.getCallee().starts_with("sum."))
      return;
    add(call, call.getCallee(), "dropped", [=] { call->erase(); });
    add(call, call.getCallee(), "added twice", [=] { OpBuilder(call).clone(*call); });
  }

  /// What a program adds to the squared norm.
  void breakNormOf(ProgramOp program) {
    program.walk([&](sched::RunOp run) {
      if (run.getWhat() == "norm")
        add(run, "norm of " + run.getTitle().str(), "dropped", [=] { run->erase(); });
    });
  }

  /// The parts of stages in the squared norm, in all programs alike.
  void breakNorm() {
    SmallVector<sched::LaunchOp> kernels;
    for (ProgramOp program : programs)
      program.walk([&](sched::LaunchOp launch) {
        if (launch.getKernel() == schedule::kNormKernel)
          kernels.push_back(launch);
      });
    int64_t stages = programs.front().getChainLength(); // copies add nothing to the norm
    for (int64_t stage = 0; stage < stages && !kernels.empty(); ++stage) {
      int64_t instead = (stage + 1) % stages;
      add(kernels.front(), "norm",
          "that of stage " + Twine(instead) + " for that of " + Twine(stage), [=] {
            for (sched::LaunchOp each : kernels) {
              SmallVector<Attribute> instances(each.getInstances().getValue());
              instances[stage] = instances[instead];
              each->setAttr("instances", ArrayAttr::get(each.getContext(), instances));
            }
          });
    }
    if (!kernels.empty())
      add(kernels.front(), "norm", "of the rank alone", [=] {
        for (sched::LaunchOp each : kernels) {
          auto sum = cast<sched::AllReduceOp>(each->getPrevNode());
          SmallVector<Attribute> instances(each.getInstances().getValue());
          for (int64_t i = 0, e = sum.getReads(); i < e; ++i) {
            each->setOperand(i, sum->getOperand(i));
            instances[i] = sum.getInstances()[i];
          }
          each->setAttr("instances", ArrayAttr::get(each.getContext(), instances));
        }
      });
  }

  /// Losses, metrics and counts, in all programs alike.
  void breakLosses() {
    StringAttr axis = dist::meshOf(module).getStages();
    for (auto value : programs.front().getBody().getOps<ValueOp>()) {
      dist::Axes axes = value.getPending() ? dist::axesOf(*value.getPending()) : dist::Axes();
      if (!llvm::is_contained(axes, axis))
        continue;
      add(value, value.getName(), "not added over stages", [=, programs = programs]() mutable {
        llvm::erase(axes, axis);
        for (ProgramOp program : programs)
          for (auto each : program.getBody().getOps<ValueOp>())
            if (each.getKey() == value.getKey())
              axes.empty() ? (void)each.removePendingAttr()
                           : each.setPendingAttr(dist::arrayOf(each.getContext(), axes));
      });
    }
  }

  ModuleOp module;
  SmallVector<ProgramOp> programs; // by rank
  std::vector<test::StageMutant> mutants;
};

} // namespace

std::vector<test::StageMutant> test::stageMutants(ModuleOp module) { return Finder(module).find(); }

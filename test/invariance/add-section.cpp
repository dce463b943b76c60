//===- add-section.cpp - a plan whose step has a section that we do not know ===//
//
//   add-section FILE.tplan PLAN TARGET WAY [PATH=VALUE ...] --report | -o BINARY
//
// The section comes after the updates and makes `weight_norm`: the root of the sum of the squares
// of all weights, for the log. It has a reduction over ranks and a kernel of its own. The other
// WAYs of adding it are wrong; with --report the report is printed, as for programs.
//
// One decision: only the program is edited, after the phase `schedule`. What the other phases, the
// report and the runtime know of the section they have from its ops.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Dist.h"
#include "dialects/nn/Parts.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Driver/Report.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/StepKernels.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/invariance/plan_tool.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::sched;

namespace {

constexpr StringLiteral kKernel = "tplan.weight_norm", kSums = "weights", kRoot = "weight_norm";

enum class Way {
  Right,
  BeforeUpdates, // the sections that update and that read the updated are swapped
  GroupOfStage,  // the sum is over the ranks of a stage, of each
  GroupsDiffer,  // the same, of the first program alone
  FreedEarly,    // the sum lives as long as the section that makes it, and another one reads it
  Unknown,
};

Way wayOf(StringRef name) {
  return StringSwitch<Way>(name)
      .Case("right", Way::Right)
      .Case("before-updates", Way::BeforeUpdates)
      .Case("group-of-stage", Way::GroupOfStage)
      .Case("groups-differ", Way::GroupsDiffer)
      .Case("freed-early", Way::FreedEarly)
      .Default(Way::Unknown);
}

/// Makes the sections of one program from those ops of its section `end` that make the norm of the
/// gradients: the same functions read weights in the place of gradients.
class SectionAdder {
public:
  SectionAdder(ProgramOp program, Way way)
      : program(program), way(way), end(program.lookupSymbol<SectionOp>("end")), b(end),
        after(end) {
    after.setInsertionPointAfter(end);
  }

  void add() {
    for (auto value : llvm::to_vector(program.getBody().getOps<ValueOp>()))
      mapValue(value);
    SectionOp sums = open(kSums), root = open(kRoot);
    for (Operation &op : end.getBody().front()) {
      if (isOfNorm(op))
        addToSums(op, sums);
      if (auto launch = dyn_cast<LaunchOp>(op);
          launch && launch.getKernel() == schedule::kNormKernel)
        addRoot(launch, root);
    }
    execute({sums, root});
  }

private:
  ProgramOp program;
  Way way;
  SectionOp end;
  OpBuilder b;     // before the section `end`, after all values
  OpBuilder after; // after it
  IRMapping mapping;

  ValueOp find(KeyAttr key) {
    for (auto value : program.getBody().getOps<ValueOp>())
      if (value.getKey() == key)
        return value;
    return {};
  }

  /// A value like another one, of f64s.
  ValueOp declareLike(ValueOp value, ValueKind kind, const Twine &name, Life life) {
    KeyAttr key = KeyAttr::get(b.getContext(), kind, name.str());
    return ValueOp::create(b, value.getLoc(), key, Owner::Scalar, life, value.getBytes(),
                           value.getCount(), *value.getType());
  }

  void mapValue(ValueOp value) {
    KeyAttr key = value.getKey();
    if (key.getKind() == ValueKind::Gradient)
      mapping.map(value.getMemory(),
                  find(KeyAttr::get(ValueKind::Parameter, key.getOf())).getMemory());
    if (key.getKind() == ValueKind::Term)
      mapping.map(
          value.getMemory(),
          declareLike(value, ValueKind::Term, "weights, " + key.getName().getValue(), Life::Entry)
              .getMemory());
    if (key.getKind() == ValueKind::Sum && key.getName() == dist::kNormSum)
      mapping.map(value.getMemory(),
                  declareLike(value, ValueKind::Sum, kSums,
                              way == Way::FreedEarly ? Life::Section : Life::Entry)
                      .getMemory());
  }

  static bool isOfNorm(Operation &op) {
    if (auto run = dyn_cast<RunOp>(op))
      return run.getWhat() == nn::stringifyPart(nn::Part::Norm);
    if (auto zero = dyn_cast<ZeroOp>(op))
      return valueOf(zero.getValues()[0]).getKey().getKind() == ValueKind::Term;
    auto sum = dyn_cast<AllReduceOp>(op);
    return sum && sum.getOf() == dist::kNormSum;
  }

  SectionOp open(StringRef name) {
    auto section = SectionOp::create(after, end.getLoc(), name, TaskKindAttr(), IntegerAttr());
    section.getBody().emplaceBlock();
    return section;
  }

  void addToSums(Operation &op, SectionOp section) {
    Operation *copy = OpBuilder::atBlockEnd(&section.getBody().front()).clone(op, mapping);
    auto sum = dyn_cast<AllReduceOp>(copy);
    if (!sum)
      return;
    sum.setOf(kSums);
    bool isWrong = way == Way::GroupOfStage ||
                   (way == Way::GroupsDiffer && program.getRank().value_or(0) == 0);
    if (isWrong)
      sum.setAxesAttr(b.getStrArrayAttr({"dp"}));
  }

  void addRoot(LaunchOp norm, SectionOp section) {
    ValueOp like = find(KeyAttr::get(b.getContext(), ValueKind::StepNumber, schedule::kGradNorm));
    ValueOp squared = declareLike(like, ValueKind::Term, "weights, squared", Life::Section);
    ValueOp root = declareLike(like, ValueKind::StepNumber, kRoot, Life::Always);
    SmallVector<Use> from;
    for (Use use : norm.getUses())
      if (use.reads) {
        use.value = mapping.lookup(use.value);
        from.push_back(use);
      }
    OpBuilder into = OpBuilder::atBlockEnd(&section.getBody().front());
    createStep<LaunchOp>(into, norm.getLoc(), from,
                         {use(squared.getMemory()), use(root.getMemory())}, StringRef(kKernel));
  }

  void execute(ArrayRef<SectionOp> sections) {
    for (auto entry : program.getBody().getOps<EntryOp>()) {
      if (entry.getKind() != EntryKind::Step)
        continue;
      SmallVector<Attribute> items(entry.getSections().getValue());
      auto *at = way == Way::BeforeUpdates ? items.end() - 1 : items.end();
      for (SectionOp section : llvm::reverse(sections))
        at = items.insert(at, ExecuteAttr::get(b.getContext(), Times::Once,
                                               FlatSymbolRefAttr::get(section.getSymNameAttr())));
      entry.setSectionsAttr(b.getArrayAttr(items));
    }
  }
};

/// Adds it to all programs; the kernel is that of the norm under another name.
LogicalResult addSections(ModuleOp module, Way way) {
  auto norm = module.lookupSymbol<rt::KernelOp>(schedule::kNormKernel);
  auto kernel = cast<rt::KernelOp>(OpBuilder(norm).clone(*norm));
  kernel.setSymName(kKernel);
  for (auto program : module.getOps<ProgramOp>())
    SectionAdder(program, way).add();
  if (failed(verify(module)))
    return failure();
  PassManager check(module.getContext()); // as it comes after all passes that form programs
  check.addPass(schedule::createCheckMessagesPass());
  return check.run(module);
}

} // namespace

int main(int argc, char **argv) {
  test::PlanTool tool("add-section", argv[0]);
  Way way = argc < 5 ? Way::Unknown : wayOf(argv[4]);
  if (way == Way::Unknown)
    return tool.fail(
        "usage: add-section FILE.tplan PLAN TARGET WAY [PATH=VALUE ...] --report | -o BINARY");
  if (!tool.open(argv[1], argv[2], argv[3]))
    return 1;
  std::string output;
  bool report = false;
  for (int i = 5; i < argc; ++i) {
    StringRef arg = argv[i];
    if (arg == "-o" && i + 1 < argc)
      output = argv[++i];
    else if (arg == "--report")
      report = true;
    else
      tool.options.parse.overrides.push_back(arg.str());
  }
  if (report == !output.empty()) // the report is that of `memory`, a binary is made by `emit`
    return tool.fail("one of --report and -o BINARY");
  tool.options.last = report ? Phase::memory : Phase::emit;
  bool isRefused = false;
  tool.options.after = [&](Phase phase, ModuleOp module) {
    if (phase == Phase::schedule)
      isRefused = failed(addSections(module, way));
  };
  Result result = compile(tool.source, tool.options);
  if (isRefused || !result.ok())
    return isRefused ? 1 : static_cast<int>(result.outcome);
  if (!report)
    return tool.link(result, output);
  FailureOr<StepReport> numbers = getStepReport(*result.module);
  if (failed(numbers))
    return tool.fail("no report");
  printReportAsJson(*numbers, llvm::outs());
  return 0;
}

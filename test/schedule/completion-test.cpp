//===- completion-test.cpp - what is complete later is kept until then ----===//
//
// `late.copy` copies one value to another in the background. It says where it is complete: at the
// first op of the section that it names, or at the next op of its own.
//
// One decision: the op is known to this test alone. Slots and liveness ask the interface, so an op
// that a later pass starts early needs no edit of either.
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "lib/Memory/Liveness.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Schedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tplan;

namespace {

class LateCopyOp : public Op<LateCopyOp, OpTrait::ZeroRegions, OpTrait::ZeroResults,
                             OpTrait::NOperands<2>::Impl, sched::Step::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "late.copy"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  SmallVector<sched::Use> getUses() {
    sched::Use from = sched::use((*this)->getOperand(0)), to = sched::use((*this)->getOperand(1));
    from.reads = true, to.writes = true;
    return {from, to};
  }
  sched::Resource getResource() { return {}; }
  Operation *getCompletion() {
    auto name = (*this)->getAttrOfType<FlatSymbolRefAttr>("until");
    if (!name)
      return (*this)->getNextNode();
    auto program = (*this)->getParentOfType<sched::ProgramOp>();
    return &program.lookupSymbol<sched::SectionOp>(name.getValue()).getBody().front().front();
  }
  std::string getTitle() { return "late copy"; }
};

class LateDialect : public Dialect {
public:
  explicit LateDialect(MLIRContext *context)
      : Dialect("late", context, TypeID::get<LateDialect>()) {
    addOperations<LateCopyOp>();
  }
  static StringRef getDialectNamespace() { return "late"; }
};

/// Two microbatches, all forwards first; F holds the ops `forward`, I and W one each.
std::string program(StringRef values, StringRef forward) {
  return ("sched.program @step policy \"p\" stages 1 microbatches 2 tasks [F 0 0, F 0 1, I 0 0, W "
          "0 0, I 0 1, W 0 1] {\n" +
          values + "sched.section @F.0 task F 0 {\n" + forward +
          "}\nsched.section @I.0 task I 0 {\n"
          "sched.zero to(%other)\n}\nsched.section @W.0 task W 0 {\nsched.zero to(%other)\n}\n"
          "sched.entry step [#sched.execute<tasks>]\n}\n")
      .str();
}

class Completion : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string errors;
  ScopedDiagnosticHandler handler{&context, [&](Diagnostic &it) { errors += it.str() + "\n"; }};
  OwningOpRef<ModuleOp> module;

  Completion() {
    context.printOpOnDiagnostic(false);
    context.loadDialect<sched::SchedDialect, rt::RTDialect, nn::NNDialect, dist::DistDialect,
                        LateDialect>();
  }
  bool read(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return static_cast<bool>(module);
  }
  bool isRefused(StringRef forward);
  void countSlots() {
    PassManager passes(&context);
    passes.addPass(schedule::createCountSlotsPass());
    EXPECT_TRUE(succeeded(passes.run(*module))) << errors;
  }
  sched::ProgramOp step() { return *module->getOps<sched::ProgramOp>().begin(); }
};

constexpr const char *kValues =
    "%x = sched.value <activation \"x\"> residual microbatch bytes 64 x 1\n"
    "%y = sched.value <activation \"y\"> residual microbatch bytes 64 x 1\n"
    "%other = sched.value <activation \"other\"> chain section bytes 64 x 1\n";

/// The slots of the family of a value.
int64_t slotsOf(sched::ProgramOp program, StringRef name) {
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (value.getName() == name)
      return program.lookupSymbol<sched::FamilyOp>(*value.getFamily()).getSlots();
  ADD_FAILURE() << "there is no " << name.str();
  return 0;
}

/// Whether the verifier or `check-starts` refuses a program with these ops in F, by the errors that
/// stand beside them.
bool Completion::isRefused(StringRef forward) {
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(program(kValues, forward), "late.mlir"), {});
  SourceMgrDiagnosticVerifierHandler expected(source, &context);
  PassManager passes(&context);
  passes.addPass(overlap::createCheckStartsPass());
  module = parseSourceFile<ModuleOp>(source, &context);
  bool isLegal = module && succeeded(passes.run(*module));
  return !isLegal && succeeded(expected.verify());
}

TEST_F(Completion, AValueIsKeptUntilTheSectionWhereItsCopyIsComplete) {
  std::string copy =
      "\"late.copy\"(%x, %y) : (!sched.memory, !sched.memory) -> ()\nsched.zero to(%x)\n";
  ASSERT_TRUE(read(program(kValues, copy))) << errors;
  countSlots(); // a copy of one section: microbatches come one after the other
  EXPECT_EQ(slotsOf(step(), "y"), 1);

  copy = "\"late.copy\"(%x, %y) {until = @W.0} : (!sched.memory, !sched.memory) -> ()\n";
  ASSERT_TRUE(read(program(kValues, copy))) << errors;
  countSlots(); // up to W of microbatch 0, after F of microbatch 1
  EXPECT_EQ(slotsOf(step(), "y"), 2);
  EXPECT_EQ(slotsOf(step(), "x"), 2);
}

/// Whether two values are live at one point.
bool conflict(const memory::Liveness &liveness, StringRef one, StringRef other) {
  std::pair<int64_t, int64_t> found = {-1, -1};
  for (size_t i = 0; i < liveness.blocks.size(); ++i) {
    sched::ValueOp value = liveness.blocks[i].value;
    if (value && value.getName() == one)
      found.first = i;
    if (value && value.getName() == other)
      found.second = i;
  }
  EXPECT_GE(std::min(found.first, found.second), 0);
  return liveness.conflicts[found.first][found.second];
}

TEST_F(Completion, AValueOfASectionIsKeptUntilTheOpWhereItsCopyIsComplete) {
  std::string values = std::string(kValues) +
                       "%a = sched.value <activation \"a\"> chain section bytes 64 x 1\n"
                       "%b = sched.value <activation \"b\"> chain section bytes 64 x 1\n";
  std::string copy = "\"late.copy\"(%x, %a) : (!sched.memory, !sched.memory) -> ()\n";
  ASSERT_TRUE(read(program(values, copy + "sched.zero to(%b)\n"))) << errors;
  countSlots();
  EXPECT_TRUE(conflict(memory::Liveness(step()), "a", "b"));
  ASSERT_TRUE(read(program(values, copy + "sched.zero to(%x)\nsched.zero to(%b)\n"))) << errors;
  countSlots();
  EXPECT_FALSE(conflict(memory::Liveness(step()), "a", "b"));
}

/// (S1) of the interface.
TEST_F(Completion, AValueOfASectionDoesNotReachAnotherOne) {
  EXPECT_TRUE(isRefused(
      "// expected-error@below {{is complete in another section, where it is gone: other}}\n"
      "\"late.copy\"(%x, %other) {until = @I.0} : (!sched.memory, !sched.memory) -> ()\n"));
}

/// What is complete at another op is started, and that is its await.
TEST_F(Completion, IsRefusedByCheckStarts) {
  EXPECT_TRUE(isRefused(
      "// expected-error@below {{has no wait: it is complete at another op, which is no await}}\n"
      "\"late.copy\"(%x, %y) {until = @I.0} : (!sched.memory, !sched.memory) -> ()\n"));
}

} // namespace

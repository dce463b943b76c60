//===- verify-test.cpp - verify finds what is wrong with a plan ------------===//
//
// Plans with one collective broken, as a wrong compiler would: `tplanc verify` says which op is
// the first to differ, and its line. Plans that are right pass.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Link.h"
#include "lib/Lower/Lower.h"
#include "lib/Verify/Verify.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/invariance/break.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tplan;

namespace {

/// A collective, by the layer that holds it, what it does and the line of the model it serves.
struct Fault {
  const char *layer, *what;
  std::string line;
  const char *way;
};

std::string spell(dist::CollectiveOp op) {
  return (dist::stringifyCollectiveKind(op.getKind()) + " over " +
          dist::spell(dist::axesOf(op.getAxes())))
      .str();
}

/// Breaks the first that fits; false where none does.
bool plant(ModuleOp module, const Fault &fault) {
  SmallVector<dist::CollectiveOp> all;
  module.walk([&](dist::CollectiveOp op) { all.push_back(op); });
  for (dist::CollectiveOp op : all) {
    auto [file, line] = lower::sourceOf(op.getLoc());
    if (op->getParentOfType<nn::LayerOp>().getSymName() != fault.layer || spell(op) != fault.what ||
        !StringRef((file + ":" + Twine(line)).str()).ends_with(fault.line))
      continue;
    for (const test::Way &way : test::ways())
      if (way.name == fault.way && way.apply(op, /*dryRun=*/true))
        return way.apply(op, /*dryRun=*/false);
  }
  return false;
}

struct Said {
  Outcome outcome;
  std::string out, errors;
};

Said verifyPlan(const std::string &file, std::vector<std::string> overrides,
                std::function<void(Phase, ModuleOp)> after = nullptr,
                const std::string &plan = "") {
  llvm::CrashRecoveryContext::Enable();
  std::string path = TPLAN_SOURCE "/" + file;
  auto text = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(text)) << path;
  auto runtime = emit::findRuntime("verify-test");
  auto target = findTarget("cpu");
  EXPECT_TRUE(bool(runtime) && bool(target));
  Said said;
  llvm::raw_string_ostream out(said.out), errors(said.errors);
  Options options;
  options.parse.plan = plan;
  options.parse.overrides = std::move(overrides);
  options.parse.modelDirs = parse::defaultModelDirs("verify-test");
  options.target = *target;
  options.errors = &errors;
  options.after = std::move(after);
  said.outcome = verify::verify({path, (*text)->getBuffer().str()}, options, *runtime, out);
  return said;
}

/// The number of the line of `file` that holds `text`.
std::string lineOf(const std::string &file, StringRef text) {
  auto buffer = llvm::MemoryBuffer::getFile(TPLAN_SOURCE "/" + file);
  StringRef all = (*buffer)->getBuffer();
  size_t at = all.find(text);
  EXPECT_NE(at, StringRef::npos) << text.str();
  return StringRef(file).rsplit('/').second.str() + ":" +
         std::to_string(all.take_front(at).count('\n') + 1);
}

/// A plan with the fault ends with an error that begins at `line` and holds `words`.
void expectFound(const Fault &fault, const std::string &line,
                 std::initializer_list<const char *> words) {
  int planted = 0, seen = 0;
  Said said = verifyPlan("examples/llama3_405b_64.tplan", {}, [&](Phase phase, ModuleOp module) {
    if (phase == Phase::shard && ++seen)
      planted += plant(module, fault);
  });
  ASSERT_EQ(planted, seen) << "the fault was not planted";
  EXPECT_EQ(said.outcome, Outcome::sourceError);
  EXPECT_EQ(said.out, "");
  size_t error = said.errors.find(": error: ");
  ASSERT_NE(error, std::string::npos) << said.errors;
  StringRef place = StringRef(said.errors).take_front(error).rsplit('\n').second;
  EXPECT_TRUE(place.rsplit(':').first.ends_with(line)) << said.errors;
  for (const char *word : words)
    EXPECT_NE(said.errors.find(word), std::string::npos) << word << "\n" << said.errors;
}

const char kModel[] = "models/llama.tplan";

void expectEqual(const std::string &plan, std::vector<std::string> lines, const char *words) {
  Said said = verifyPlan("test/invariance/models.tplan", std::move(lines), nullptr, plan);
  EXPECT_EQ(said.outcome, Outcome::ok) << said.errors;
  EXPECT_NE(said.out.find(plan + " trains as on one rank: "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(words), std::string::npos) << said.out;
}

TEST(Verify, PassesWhatIsRight) {
  expectEqual("gpt2", {"plan.mesh=dp = 2, tp = 2", "plan.shard=B over dp; H, F, V over tp"},
              "4 ranks as threads");
  // What 4 ranks do not divide stays so: 61 words.
  expectEqual("llama", {"plan.mesh=tp = 4", "plan.shard=H, G, F, V over tp"}, "V 13 for 61");
  expectEqual("routed", {"plan.mesh=dp = 4", "plan.shard=B over dp", "plan.zero=3 over dp"},
              "L 2 for 5");
  expectEqual("llama_even_nodes",
              {"plan.mesh=dp = 2, tp = 2",
               "plan.shard=B over dp; H, G, F, V over tp; S of residual over tp",
               "plan.zero=2 over dp within node"},
              "4 ranks as threads");
  expectEqual("tied", {"plan.recompute=full", "plan.pipeline=gpipe_split"}, "1 rank as threads");
}

TEST(Verify, SaysWhatIsWrongWithThePlan) {
  Said said = verifyPlan("examples/llama3_405b_64.tplan", {"plan.mesh=dp = 8, tp = 4"});
  EXPECT_EQ(said.outcome, Outcome::sourceError);
  EXPECT_NE(said.errors.find("a mesh has one rank for each device of its cluster, 8 x 8, found 32"),
            std::string::npos)
      << said.errors;
  EXPECT_EQ(said.out, "");
}

TEST(Verify, RefusesMoreRanksThanThreads) {
  Said said =
      verifyPlan("examples/llama3_405b.tplan",
                 {"plan.mesh=dp = 512, tp = 8", "plan.shard=B over dp; H, G, F, V over tp"});
  EXPECT_EQ(said.outcome, Outcome::sourceError);
  EXPECT_NE(said.errors.find("verify trains every rank as a thread, at most 512"),
            std::string::npos)
      << said.errors;
}

TEST(Verify, FindsASumThatIsMissing) {
  std::string down = lineOf(kModel, "return down(");
  expectFound({"blocks", "reduce_scatter over tp", down, "dropped"}, down,
              {"`nn.contract` is the first, in the forward of layer 0 of blocks",
               "each rank has its part of a sum over tp", "H, G, F, V are cut over tp here"});
}

TEST(Verify, FindsASumThatIsDoubled) {
  std::string loss = lineOf(kModel, "loss main");
  expectFound({"exit", "all_reduce over tp", loss, "added twice"}, loss,
              {"is the first, in the forward of exit", "it goes through all_reduce over tp"});
}

TEST(Verify, FindsBlocksInTheWrongOrder) {
  std::string norm = "prelude.tplan:6", q = lineOf(kModel, "return out(");
  expectFound({"blocks", "all_gather over tp", norm, "in the wrong order"}, q,
              {"`nn.contract` is the first, in the forward of layer 0 of blocks",
               "it comes through all_gather over tp", "S is cut over tp here"});
}

TEST(Verify, FindsAGradientThatIsAMean) {
  std::string q = lineOf(kModel, "linear q");
  expectFound({"blocks.R", "reduce_scatter over dp", q, "a mean"}, q,
              {"though they compute equal values: the gradient of blocks.", ".attn.q.weight.grad",
               "it comes through reduce_scatter over dp", "B is cut over dp here",
               "zero goes over dp here"});
}

TEST(Verify, FindsWeightsThatAreNotGathered) {
  std::string up = lineOf(kModel, "linear gate, up");
  expectFound({"blocks.U", "all_gather over dp", up, "in the wrong order"}, up,
              {"though they compute equal values: the weight blocks.", ".weight of step 2"});
}

} // namespace

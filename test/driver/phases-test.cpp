// The verifier of a phase, and memory over many compiles.
#include "lib/Driver/Driver.h"
#include "lib/Driver/Report.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <ctime>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace tplan;

namespace {

/// The errors of verifyAfter on a module in text.
std::string errorsAfter(Phase phase, llvm::StringRef text) {
  mlir::MLIRContext context(dialects());
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    errors += d.str() + "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  EXPECT_EQ(mlir::failed(verifyAfter(phase, *module)), !errors.empty());
  return errors;
}

constexpr const char *kLayer = R"(
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "x"}) {
  nn.return
})";

// As text, for test/diagnostics.py:
// CHECK: error: may not be there after phase 'fuse': nn.layer
TEST(VerifyAfter, NamesWhatMayNotBeThere) {
  EXPECT_EQ(errorsAfter(Phase::recompute, kLayer), "");
  EXPECT_EQ(errorsAfter(Phase::fuse, kLayer), "may not be there after phase 'fuse': nn.layer\n");
  EXPECT_EQ(errorsAfter(Phase::lower, kLayer), "may not be there after phase 'fuse': nn.layer\n");
}

// CHECK: error: no report before phase 'memory'
TEST(Report, NeedsAPlannedModule) {
  mlir::MLIRContext context(dialects());
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) { errors += d.str(); });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  EXPECT_TRUE(mlir::failed(getStepReport(*module)));
  EXPECT_EQ(errors, "no report before phase 'memory'");
}

// --print-phases and the command lines of tests name passes by these.
TEST(Phases, EachPassHasAFlagOfItsOwnAndASummary) {
  std::map<std::string, std::string> names;
  for (const PassInfo &pass : passes()) {
    EXPECT_FALSE(pass.summary.empty()) << pass.flag.str();
    std::string name = pass.create()->getName().str();
    EXPECT_EQ(names.emplace(pass.flag, name).first->second, name) << pass.flag.str();
  }
}

int64_t residentKiB() {
  std::ifstream statm("/proc/self/statm");
  int64_t total, resident;
  statm >> total >> resident;
  return resident * 4;
}

constexpr const char *kModel = R"(
model m(V = 61, D = 24, L = 2) {
  input tokens : i32[B, S]
  table embed : V -> D
  linear head : D -> V
  loss main = cross_entropy(head(embed(tokens)), shift(tokens, 1))
}
recipe r {
  model m
  data "d", S = 17
  batch 4 sequences
  length 2 steps
  lr flat 1e-3
}
plan p : r { microbatch 2 sequences }
)";

/// A compile up to `memory`, its diagnostics in `errors`.
struct Compile : testing::Test {
  Compile() {
    options.errors = &os;
    options.parse.modelDirs = {std::string(SOURCE) + "/models"};
    options.target = llvm::cantFail(findTarget("cpu"));
  }
  Options options;
  std::string errors;
  llvm::raw_string_ostream os{errors};
};

TEST_F(Compile, MemoryIsFlatOverManyCalls) {
  int64_t after10 = 0;
  for (int i = 0; i < 100; ++i) {
    // Each call compiles a different plan, so that each adds attributes to its context.
    options.parse.overrides = {"model.D=" + std::to_string(8 * (i + 1))};
    Result result = compile({"m.tplan", kModel}, options);
    ASSERT_EQ(result.outcome, Outcome::ok) << errors;
    if (i == 10)
      after10 = residentKiB();
  }
  EXPECT_LE(residentKiB(), after10 + 1024);
}

std::string readFile(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double cpuSeconds() { return (double)clock() / CLOCKS_PER_SEC; }

// Calls as a search makes them: each with another order, cut, policy or microbatch.
TEST_F(Compile, Llama405BIsPlannedAgainTwoHundredTimes) {
  const char *pipelines[] = {"accumulate", "gpipe", "gpipe_split"};
  Source source = {"405b.tplan", readFile(std::string(SOURCE) + "/examples/llama3_405b.tplan")};
  std::vector<double> seconds;
  int64_t after10 = 0;
  for (int i = 0; i < 200; ++i) {
    int cut = 1 + i % 125, full = i % 126; // 200 pairs with the pipelines, all different
    std::string stages = std::to_string(cut) + ", " + std::to_string(126 - cut);
    options.parse.overrides = {
        std::string("plan.pipeline=") + pipelines[i % 3], "plan.stages=" + stages,
        "recipe.batch=8 sequences", "plan.microbatch=" + std::to_string(1 << i % 3),
        "plan.recompute=full; none for blocks[" + std::to_string(full) + "..125]"};
    double begin = cpuSeconds();
    Result result = compile(source, options);
    ASSERT_EQ(result.outcome, Outcome::ok) << errors;
    seconds.push_back(cpuSeconds() - begin);
    if (i == 10)
      after10 = residentKiB();
  }
  EXPECT_LE(residentKiB(), after10 + 4096);
  std::sort(seconds.begin(), seconds.end());
  printf(
      "a plan: median %.3f s, slowest %.3f s; resident %ld KiB after the tenth, %ld at the end\n",
      seconds[100], seconds[199], (long)after10, (long)residentKiB());
  EXPECT_LE(seconds[180], 0.3); // a busy machine may slow a few
}

TEST_F(Compile, ErrorsOfTheSourceAreCounted) {
  Result result = compile({"m.tplan", "model m {"}, options);
  EXPECT_EQ(result.outcome, Outcome::sourceError);
  EXPECT_NE(errors.find("m.tplan:1:"), std::string::npos);
}

} // namespace

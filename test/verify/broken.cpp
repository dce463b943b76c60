//===- broken.cpp - verify on a plan with one collective broken ------------===//
//
//   broken FILE.tplan LAYER COLLECTIVE LINE WAY [PATH=VALUE ...]
//
// Breaks the first collective of a layer that does so ("reduce_scatter over tp") for a source line
// that holds LINE, and asks verify what it finds.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Link.h"
#include "lib/Lower/Lower.h"
#include "lib/Verify/Verify.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/invariance/break.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tplan;

namespace {

struct Fault {
  StringRef layer, what, line, way;
};

/// The text of the source line that a location is at.
std::string textOf(Location loc) {
  auto [file, line] = lower::sourceOf(loc);
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return "";
  for (llvm::line_iterator at(**buffer, /*SkipBlanks=*/false); !at.is_at_end(); ++at)
    if (at.line_number() == line)
      return at->str();
  return "";
}

bool plant(ModuleOp module, const Fault &fault) {
  SmallVector<dist::CollectiveOp> all;
  module.walk([&](dist::CollectiveOp op) { all.push_back(op); });
  for (dist::CollectiveOp op : all) {
    if (op->getParentOfType<nn::LayerOp>().getSymName() != fault.layer ||
        dist::spell(op) != fault.what || !StringRef(textOf(op.getLoc())).contains(fault.line))
      continue;
    for (const test::Way &way : test::ways())
      if (way.name == fault.way && way.apply(op, /*dryRun=*/true))
        return way.apply(op, /*dryRun=*/false);
  }
  return false;
}

int fail(const Twine &message) {
  llvm::errs() << "broken: error: " << message << "\n";
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 6)
    return fail("usage: broken FILE.tplan LAYER COLLECTIVE LINE WAY [PATH=VALUE ...]");
  Fault fault{argv[2], argv[3], argv[4], argv[5]};
  auto file = llvm::MemoryBuffer::getFile(argv[1]);
  auto target = findTarget("cpu");
  auto runtime = emit::findRuntime(argv[0]);
  if (!file || !target || !runtime)
    return fail("cannot read " + Twine(argv[1]) + ", or no runtime");
  bool planted = true;
  Options options;
  options.target = *target;
  options.parse.modelDirs = parse::defaultModelDirs(argv[0]);
  options.parse.overrides.assign(argv + 6, argv + argc);
  options.after = [&](Phase phase, ModuleOp module) {
    planted &= phase != Phase::shard || plant(module, fault);
  };
  Outcome outcome =
      verify::verify({argv[1], (*file)->getBuffer().str()}, options, *runtime, llvm::outs());
  return planted ? static_cast<int>(outcome) : fail("no such collective");
}

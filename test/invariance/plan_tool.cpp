//===- plan_tool.cpp - what programs that edit a plan between phases share -===//
#include "test/invariance/plan_tool.h"
#include "lib/Emit/Link.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tplan;
using namespace tplan::test;

int PlanTool::fail(const llvm::Twine &message) const {
  llvm::errs() << name << ": error: " << message << "\n";
  return 1;
}

bool PlanTool::open(llvm::StringRef file, llvm::StringRef plan, llvm::StringRef target) {
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text) {
    fail("cannot read " + file);
    return false;
  }
  llvm::Expected<Target> found = findTarget(target);
  if (!found) {
    fail(llvm::toString(found.takeError()));
    return false;
  }
  source = {file.str(), (*text)->getBuffer().str()};
  options.target = *found;
  options.parse.modelDirs = parse::defaultModelDirs(program);
  options.parse.plan = plan.str();
  return true;
}

int PlanTool::link(const Result &result, llvm::StringRef output) const {
  auto runtime = emit::findRuntime(program);
  if (!runtime)
    return fail(llvm::toString(runtime.takeError()));
  if (llvm::Error error = emit::linkBinary({result.object}, output, *runtime))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

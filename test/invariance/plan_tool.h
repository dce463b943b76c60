//===- plan_tool.h - what programs that edit a plan between phases share ---===//
#ifndef TPLAN_TEST_INVARIANCE_PLAN_TOOL_H
#define TPLAN_TEST_INVARIANCE_PLAN_TOOL_H

#include "lib/Driver/Driver.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace tplan::test {

class PlanTool {
public:
  /// Models and the runtime are found beside the program, argv[0].
  PlanTool(llvm::StringRef name, const char *program) : name(name), program(program) {}

  /// Prints the error; the exit code.
  int fail(const llvm::Twine &message) const;
  /// Reads the file, and sets the options that compile this plan of it; false after an error.
  bool open(llvm::StringRef file, llvm::StringRef plan, llvm::StringRef target);
  /// Makes a binary of what the compile has left; the exit code.
  int link(const Result &result, llvm::StringRef output) const;

  Source source;
  Options options;

private:
  llvm::StringRef name;
  const char *program;
};

} // namespace tplan::test

#endif // TPLAN_TEST_INVARIANCE_PLAN_TOOL_H

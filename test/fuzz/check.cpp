//===- check.cpp - tplanc --check on one input of the fuzzer --------------===//
//
// What `tplanc --check` does, in this process: every phase through memory, in a
// context of its own. An input is a file; comments `// --plan NAME` and
// `// --set PATH=VALUE` at its end are the command line. Crashes are the fuzzer's to
// see; an internal error, and an error without a message, are made crashes here.
//
// With TPLAN_FUZZ_DEEP set, only inputs that pass the parser are worth keeping: their mutations
// meet the later phases, while mutations of errors are errors as a rule.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Driver.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace tplan;

namespace {

/// Reads `// --plan` and `// --set` lines.
void readCommandLine(llvm::StringRef text, parse::ParseOptions &options) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.consume_front("// --plan "))
      options.plan = line.trim().str();
    else if (line.consume_front("// --set "))
      options.overrides.push_back(line.trim().str());
}

/// One machine for all inputs: what is found must be found again elsewhere.
const Options &common() {
  static const Options options = [] {
    Options made;
    made.parse.modelDirs = {SOURCE "/models"};
    made.target = llvm::cantFail(findTarget("cpu:x86-64-v3"));
    return made;
  }();
  return options;
}

} // namespace

/// LLVM's own allocators mark memory by hand, but only where our code instantiates them: the
/// library's code, which is not instrumented, would not take the marks away.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size), errors;
  llvm::raw_string_ostream stream(errors);
  Options options = common();
  options.errors = &stream;
  readCommandLine(text, options.parse);
  Result result = compile({"input.tplan", text}, options);
  bool silent = !result.ok() && errors.find("error: ") == std::string::npos;
  if (result.outcome == Outcome::internalError || silent) {
    std::fprintf(stderr, "outcome %d: %s\n", static_cast<int>(result.outcome), errors.c_str());
    std::abort();
  }
  if (result.ok()) // test/fuzz/run counts these: a fuzzer that meets only the parser is of no use
    std::fprintf(stderr, "compiled whole\n");
  static const bool deep = std::getenv("TPLAN_FUZZ_DEEP");
  return deep && result.times.empty() ? -1 : 0;
}

//===- NamedArgs.cpp - arguments of words in settings -------------------------===//
#include "lib/Parse/NamedArgs.h"
#include "lib/Parse/Sizes.h"
#include "llvm/ADT/StringMap.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

bool tplan::parse::forEachNamedArg(
    Report &report, StringRef word, const Args &args, llvm::ArrayRef<StringRef> names,
    llvm::function_ref<bool(const Arg &, StringRef, const Number &)> visit) {
  llvm::StringMap<llvm::SMLoc> first;
  for (const Arg &given : args) {
    if (!llvm::is_contained(names, given.key.text)) {
      bool named = !given.key.text.empty();
      report
          .error(named ? given.key.loc : given.value->loc, "{0} takes {1}, found an argument {2}",
                 word, llvm::join(names, ", "),
                 named ? given.key.text : StringRef("without a name"))
          .suggest(given.key.text, names);
      return false;
    }
    if (auto [it, fresh] = first.try_emplace(given.key.text, given.key.loc); !fresh) {
      report.error(given.key.loc, "given twice: {0}", given.key.text)
          .note(it->second, "the first is here");
      return false;
    }
    if (given.except) {
      report.error(given.key.loc, "`except` belongs to decay, not to {0}", given.key.text);
      return false;
    }
    std::optional<Number> value = number(report, *given.value, Env());
    if (!value || !visit(given, given.key.text, *value))
      return false;
  }
  return true;
}

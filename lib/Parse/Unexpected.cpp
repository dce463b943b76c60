//===- Unexpected.cpp - what stands where the grammar wants something else --===//
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Nodes.h"

using namespace tplan::parse;
using llvm::StringRef;

/// Spelling of a token in an error: quoted if it is literal text.
static std::string spell(StringRef name) {
  name = name.trim();
  if (name.starts_with("a ") || name.starts_with("the "))
    return name.str();
  name.consume_front("'");
  name.consume_back("'");
  return ("`" + name + "`").str();
}

void tplan::parse::reportUnexpected(Syntax &syntax, TplanRange range, bool isName, StringRef found,
                                    llvm::ArrayRef<StringRef> expected) {
  if (syntax.ended)
    return;
  StringRef text(range.begin, range.end - range.begin);
  std::string what = isName ? text.str() : spell(found);
  syntax.skipFrom = range.end;
  bool keys = expected.empty() && syntax.settings;
  if (keys && isName) {
    auto error = syntax.report.error(Syntax::loc(range), "unknown setting: {0}", text);
    explainLine(error, text, syntax.block, settingKeys(syntax.block));
    return;
  }
  if (expected.empty()) {
    auto error = syntax.report.error(Syntax::loc(range), "unexpected {0}", what);
    explainToken(error, text, syntax.lastWord, syntax.text);
    return;
  }
  std::string list;
  for (size_t i = 0; i < expected.size(); ++i)
    list += (i == 0 ? "" : i + 1 < expected.size() ? ", " : " or ") + spell(expected[i]);
  auto error = syntax.report.error(Syntax::loc(range), "expected {0}, found {1}", list, what);
  explainToken(error, text, syntax.lastWord, syntax.text);
  // A misspelt keyword reads as a name: `lineer q`.
  if (isName && !syntax.settings)
    error.suggest(syntax.lastWord, modelKeywords(), /*listed=*/false);
}

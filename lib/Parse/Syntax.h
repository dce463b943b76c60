//===- Syntax.h - state of one parse of one buffer -------------------------===//
//
// What the Flex scanner, the token filter and the Bison grammar share. There are
// no globals: each parse has its own.
//
// One decision: the language has no separators between statements, so the few
// words that depend on their place (`x` as "times", units, the keys of settings)
// are distinguished in the token filter, `yylex`, and the grammar stays LALR(1).
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_SYNTAX_H
#define TPLAN_PARSE_SYNTAX_H

#include "lib/Parse/Ast.h"
#include "lib/Parse/Report.h"
#include "llvm/ADT/StringMap.h"

/// Half-open range of the source.
struct TplanRange {
  const char *begin, *end;
};

namespace tplan::parse {

/// What a parse yields.
enum class Start { File, Setting, Expression, Selector };

struct Syntax {
  Syntax(Report &report, Arena &arena, llvm::StringRef text);
  ~Syntax();

  Report &report;
  Arena &arena;
  llvm::StringRef text;

  // Results, by start symbol.
  File file;
  Setting *setting = nullptr;
  Expr *expr = nullptr;
  Selector *selector = nullptr;

  // Scanner.
  void *scanner = nullptr;
  const char *cursor; // end of the token just scanned
  Number literal;
  std::vector<std::pair<int, llvm::StringRef>> injected; // tokens before the text, last first

  // Token filter.
  int braces = 0, parens = 0, last = 0;
  const char *lastEnd = nullptr;
  llvm::StringRef lastWord, word; // the token before the lookahead, and that one
  bool settings = false, header = false, member = false;
  BlockDecl::Kind block = BlockDecl::Recipe; // the one that is open, or opens next
  int nesting = 0, tokens = 0;               // open brackets of all kinds; tokens so far
  bool ended = false;                        // after an error that no token can follow
  const char *strayEnd = nullptr;            // end of the last character that is of no token
  const char *skipFrom = nullptr;            // after a syntax error: drop the rest of its line

  // Grammar.
  bool tooDeep = false;
  void refuseDepth(llvm::SMLoc loc);
  /// Makes an expression node; bounds its depth, so that recursion over trees is safe.
  Expr *node(Expr::Kind kind, const char *at, Expr *lhs = nullptr, Expr *rhs = nullptr,
             Args *args = nullptr);
  Name name(TplanRange range) {
    return {llvm::StringRef(range.begin, range.end - range.begin), loc(range)};
  }
  /// The text of a string, without its quotes.
  Name quoted(TplanRange range) {
    Name n = name(range);
    return {n.text.slice(1, n.text.size() - 1), n.loc};
  }
  static llvm::SMLoc loc(TplanRange range) { return llvm::SMLoc::getFromPointer(range.begin); }
};

/// Parses the whole text of `syntax`; false after errors, which are reported.
/// For a setting, `key` stands before the text (it points into a source buffer).
bool parseText(Syntax &syntax, Start start, llvm::StringRef key = {});

/// The token of a setting's key, 0 if there is none.
int settingToken(llvm::StringRef key);

/// The keys of recipes, clusters or plans.
std::vector<llvm::StringRef> settingKeys(BlockDecl::Kind kind);

/// The reserved words of layers and models.
std::vector<llvm::StringRef> modelKeywords();

} // namespace tplan::parse

#endif // TPLAN_PARSE_SYNTAX_H

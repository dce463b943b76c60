//===- Foreign.h - habits of other tools, in errors ------------------------===//
//
// Nothing of other tools is accepted; an error that meets one of their words says what it is here.
// The words are data, in Foreign.def; habits that show in the syntax are code.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_FOREIGN_H
#define TPLAN_PARSE_FOREIGN_H

#include "lib/Parse/Ast.h"
#include "lib/Parse/Report.h"
#include <optional>

namespace tplan::parse {

enum class Habit { Recipe, Plan, Size, Optimizer, Function, Unit, Format, Tokens, Keyword };

/// What a word of another tool is here; empty if that is not known.
llvm::StringRef ours(Habit place, llvm::StringRef word);

/// "here it is `decay`" where another tool's word is known and `names` has ours, else "did you
/// mean".
void suggestOurs(Report::Error &error, Habit place, llvm::StringRef word,
                 const std::vector<llvm::StringRef> &names);

/// For an unknown line of a recipe or plan: what to write in its place. `key` stands in the source.
void explainLine(Report::Error &error, llvm::StringRef key, BlockDecl::Kind block,
                 const std::vector<llvm::StringRef> &keys);
/// For an unexpected token, which comes after `last` in the source.
void explainToken(Report::Error &error, llvm::StringRef found, llvm::StringRef last,
                  llvm::StringRef source);
/// For a call of a member, `nn.Linear(D, F)` or `F.relu(x)`; `known` are names that can be called.
void explainCall(Report::Error &error, const Expr &call, const std::vector<llvm::StringRef> &known);
/// For a layer or model (`kind`) that an installed file has: the import. False if none has it.
bool explainImport(Report::Error &error, const File &file, llvm::StringRef kind,
                   llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Pieces of the source, for edits
//===----------------------------------------------------------------------===//

/// The word or number at `loc`; empty for other characters.
llvm::StringRef tokenAt(llvm::SMLoc loc);
/// The 12 of `key = 12`, at `loc`; null if no such value stands there.
llvm::StringRef valueOf(llvm::SMLoc loc);
/// What follows on the line, without a comment.
llvm::StringRef restOfLine(llvm::StringRef at);
/// Alternatives for the number that stands at `place`.
void fixNumber(Report::Error &error, llvm::StringRef place, llvm::ArrayRef<int64_t> values);

} // namespace tplan::parse

#endif // TPLAN_PARSE_FOREIGN_H

//===- Tokens.h - between the scanner and the grammar ----------------------===//
#ifndef TPLAN_PARSE_TOKENS_H
#define TPLAN_PARSE_TOKENS_H

namespace tplan::parse {
struct Syntax;

/// What the scanner returns beside single characters.
namespace token {
enum : int { Number = 1000, Word, String, OpenString, Arrow, Dots, Stray };
}

int scanToken(Syntax &syntax);
void openScanner(Syntax &syntax);
void closeScanner(Syntax &syntax);

/// Sets `literal`; returns how many characters belong to the number.
int scanNumber(Syntax &syntax, const char *text, int length);

/// True after a number on the same line of a setting.
bool wantsUnit(const Syntax &syntax);

} // namespace tplan::parse

#endif // TPLAN_PARSE_TOKENS_H

//===- lexer.h - words of PTX ---------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_LEXER_H
#define TPLAN_TEST_STANDIN_LEXER_H

#include "test/standin/driver/ptx.h"

namespace standin {

/// A word keeps its dots: `ld.global.v4.b32` and `%tid.x` are one each.
struct Token {
  enum Kind : uint8_t { end, word, number, text, mark } kind = end;
  std::string_view text_;
  int line = 0;
  bool is(std::string_view what) const { return kind != end && text_ == what; }
};

/// The last token is of kind `end`.
std::vector<Token> tokenize(std::string_view text, Failure &failure);

/// An integer, decimal or hexadecimal, perhaps followed by a U.
bool readInteger(std::string_view text, uint64_t &value);
/// 0f3F800000 or 0d3FF0000000000000.
bool readFloat(std::string_view text, uint64_t &bits, int &width);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_LEXER_H

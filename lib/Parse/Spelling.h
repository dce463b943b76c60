//===- Spelling.h - numbers and types in errors ----------------------------===//
#ifndef TPLAN_PARSE_SPELLING_H
#define TPLAN_PARSE_SPELLING_H

#include "dialects/nn/NN.h"
#include "lib/Parse/Ast.h"
#include <string>

namespace tplan::parse {

/// `[B 8, S 64]`, and `i32[B 8, S 64]` for ids.
std::string spell(nn::Tensor type);
std::string spell(const Number &number);

} // namespace tplan::parse

#endif // TPLAN_PARSE_SPELLING_H

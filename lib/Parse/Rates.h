//===- Rates.h - the line `lr` of a recipe ---------------------------------===//
#ifndef TPLAN_PARSE_RATES_H
#define TPLAN_PARSE_RATES_H

#include "dialects/tplan/Tplan.h"
#include "lib/Parse/Ast.h"
#include "lib/Parse/Report.h"

namespace tplan::parse {

/// Pieces over the steps begin < step <= end, from `from` at begin to `to` at end. `length` is the
/// place of the line that says how many steps there are.
std::vector<lang::RatePiece> readRate(Report &report, const Setting &line, int64_t steps,
                                      llvm::SMLoc length);

} // namespace tplan::parse

#endif // TPLAN_PARSE_RATES_H

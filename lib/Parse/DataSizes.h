//===- DataSizes.h - sizes that the recipe's line `data` lacks -------------===//
#ifndef TPLAN_PARSE_DATASIZES_H
#define TPLAN_PARSE_DATASIZES_H

#include "lib/Parse/Report.h"

namespace tplan::parse {
struct Setting;

/// Adds to an error the edits that give the data a size called `name`: a size of another tool's
/// name becomes this one, else one is added. `dataLine` may be null.
void fixDataSize(Report::Error &error, const Setting *dataLine, llvm::StringRef name);

} // namespace tplan::parse

#endif // TPLAN_PARSE_DATASIZES_H

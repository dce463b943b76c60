//===- Loops.h - `for b in blocks { .. }` ----------------------------------===//
#ifndef TPLAN_PARSE_LOOPS_H
#define TPLAN_PARSE_LOOPS_H

#include "lib/Parse/Layers.h"

namespace tplan::parse {

/// One `tplan.for` with a region per distinct layer of the list.
void elaborateLoop(ModelBuilder &model, const Stmt &stmt, Scope &scope,
                   const Layers::ElaborateBody &elaborateBody);

} // namespace tplan::parse

#endif // TPLAN_PARSE_LOOPS_H

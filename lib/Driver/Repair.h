//===- Repair.h - edits that lead out of an error --------------------------===//
#ifndef TPLAN_DRIVER_REPAIR_H
#define TPLAN_DRIVER_REPAIR_H

#include "lib/Driver/Driver.h"

namespace tplan {

/// For each diagnostic of a failed compile the fix that leads on, empty where none was found:
/// applied to the main file, it makes the plan compile, or at least the error go away. Every fix
/// has been tried.
std::vector<Fix> findFixes(const Source &source, const Options &options, Result &result);

} // namespace tplan

#endif // TPLAN_DRIVER_REPAIR_H

//===- Host/Recipe.h - what a recipe says, as tables ----------------------===//
#ifndef TPLAN_LOWER_HOST_RECIPE_H
#define TPLAN_LOWER_HOST_RECIPE_H

#include "dialects/tplan/Settings.h"
#include "lib/Lower/Host/Structs.h"
#include <optional>
#include <vector>

namespace tplan::lower {

std::vector<Record<tp_lr_piece>> ratesOf(const lang::Settings &settings);

/// Where training reads tokens.
std::vector<Record<tp_source>> sourcesOf(const lang::Settings &settings);
/// What evaluations score, if the recipe names it.
std::optional<Record<tp_source>> evaluatedSource(const lang::Settings &settings);

/// The folder of checkpoints; one that the recipe does not name is called like the plan.
Cell<const char *> saveFolder(const lang::Settings &settings);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_RECIPE_H

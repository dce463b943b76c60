//===- PlaySection.h - what a section costs that starts something -----------===//
#ifndef TPLAN_COST_PLAYSECTION_H
#define TPLAN_COST_PLAYSECTION_H

#include "lib/Cost/Prices.h"

namespace tplan::cost {

/// One execution of a section. What it has started, and not awaited, is waited for at its end.
Spent play(sched::SectionOp section, Prices &prices);

} // namespace tplan::cost

#endif // TPLAN_COST_PLAYSECTION_H

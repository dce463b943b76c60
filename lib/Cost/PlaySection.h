//===- PlaySection.h - what a section costs that starts something -----------===//
#ifndef TPLAN_COST_PLAYSECTION_H
#define TPLAN_COST_PLAYSECTION_H

#include "lib/Cost/Prices.h"

namespace tplan::cost {

/// One execution of a section, with all that it has started.
struct Played {
  Spent spent;
  double left; // seconds of it that are waited for after the section, if nothing hides them
};
Played play(sched::SectionOp section, Prices &prices);

} // namespace tplan::cost

#endif // TPLAN_COST_PLAYSECTION_H

//===- PlaySection.h - what a section costs that starts something -----------===//
#ifndef TPLAN_COST_PLAYSECTION_H
#define TPLAN_COST_PLAYSECTION_H

#include "lib/Cost/Play.h"
#include "lib/Cost/Prices.h"

namespace tplan::cost {

/// One execution of sections, one after the other, with all that they have started.
struct Played {
  Spent spent;
  double left; // seconds of it that are waited for after them, if nothing hides them
  double inside() const { return spent.seconds() - left; }
};
Played play(llvm::ArrayRef<sched::SectionOp> sections, Prices &prices);

/// What its channels do, from its begin on, and until when its compute units are busy.
struct Spans {
  std::vector<Span> channels;
  double inside = 0;
};
Spans spansOf(sched::SectionOp section, Prices &prices);

} // namespace tplan::cost

#endif // TPLAN_COST_PLAYSECTION_H

//===- Spent.h - seconds, by what they are spent on --------------------------===//
#ifndef TPLAN_COST_SPENT_H
#define TPLAN_COST_SPENT_H

#include "dialects/rt/RT.h"
#include <map>
#include <string>

namespace tplan::cost {

/// Seconds of one collective or message, and those of them that no work hides.
struct Exchange {
  double seconds = 0, waited = 0;
  Exchange &operator+=(const Exchange &other) {
    seconds += other.seconds;
    waited += other.waited;
    return *this;
  }
};

/// Seconds, by what they are spent on.
struct Spent {
  std::map<rt::Category, double> work;             // but collectives
  std::map<std::string, double> communication;     // that is waited for, by axes: "dp, tp"
  std::map<std::string, double> hidden;            // that runs beside other work
  std::map<std::string, double> besideWaits;       // that runs while another group is waited for
  std::map<mlir::Operation *, Exchange> exchanges; // the same once more, by op
  double seconds() const;                          // of work, and what is waited for
  Spent &operator+=(const Spent &other);
  Spent times(double n) const;
  /// The same where of all that is waited for these shares are, or run while something else is
  /// waited for; work hides the rest.
  Spent hiddenBut(double waited, double besideWaits) const;
};

} // namespace tplan::cost

#endif // TPLAN_COST_SPENT_H

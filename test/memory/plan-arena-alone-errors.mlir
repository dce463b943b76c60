// RUN: tplan-opt --plan-arena --verify-diagnostics %s
// expected-error@below {{there is no sched.program to place}}
module {}

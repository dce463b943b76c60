// RUN: tplan-opt --lower-host --verify-diagnostics %s
// expected-error@below {{there is no placed sched.program to lower}}
module {}

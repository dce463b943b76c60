//===- cpu.h - does this machine run the code? ----------------------------===//
//
// Checked before anything of the program runs, so that on a wrong machine the user gets a sentence
// and not a SIGILL.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CPU_H
#define TPLAN_RUNTIME_DEVICE_CPU_H

#include "runtime/support/status.h"

namespace tplan::runtime {

/// `needs`: an architecture level ("x86-64-v3") or features separated by commas
/// ("avx2,fma"); null or empty: nothing.
Status checkCpu(const char *needs);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CPU_H

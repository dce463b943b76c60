//===- Verify.h - whether a plan trains as one rank does ------------------===//
//
// `tplanc verify`: the plan is made small, trained over its mesh and as the serial plan of its
// recipe, in f64, and compared: losses, norms, metrics, all gradients and states. Where they
// differ, both are trained once more with probes, and the first value that differs is named with
// its line.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_VERIFY_VERIFY_H
#define TPLAN_LIB_VERIFY_VERIFY_H

#include "lib/Driver/Driver.h"

namespace tplan::verify {

/// `options`: plan, overrides, target and errors of the compile; its `after` sees the modules of
/// the plan over ranks only. `runtime`: the library to link with. What holds is said on `out`,
/// what does not is an error at its line. ok: equal; sourceError: the plan is wrong, or trains
/// otherwise.
Outcome verify(const Source &source, const Options &options, llvm::StringRef runtime,
               llvm::raw_ostream &out);

} // namespace tplan::verify

#endif // TPLAN_LIB_VERIFY_VERIFY_H

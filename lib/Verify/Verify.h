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

/// `options`: plan, overrides, target and errors of the compile; its `after` is called only for the
/// modules of the plan over ranks. `runtime`: the library to link with. Results that hold are
/// printed on `out`, the others are errors at their lines. ok: the plans are equal; sourceError:
/// the plan is wrong, or trains differently.
Outcome verify(const Source &source, const Options &options, llvm::StringRef runtime,
               llvm::raw_ostream &out);

} // namespace tplan::verify

#endif // TPLAN_LIB_VERIFY_VERIFY_H

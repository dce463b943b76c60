//===- Place.h - where a diagnostic is shown ------------------------------===//
#ifndef TPLAN_DRIVER_PLACE_H
#define TPLAN_DRIVER_PLACE_H

#include "lib/Parse/Parse.h"
#include "mlir/IR/Diagnostics.h"
#include <string>

namespace tplan {

/// The file, line and column where a location is shown to a user; no file: nowhere.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;
};
Place placeOf(mlir::Location location);

/// An error of a later phase that lies in an installed model is reported at the user's line: that
/// of a note, else the call that led there, else the line that names the model.
void tellAtUsersLine(mlir::Diagnostic &diagnostic, const parse::Origin &origin);

} // namespace tplan

#endif // TPLAN_DRIVER_PLACE_H

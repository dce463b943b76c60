//===- Place.cpp - where a diagnostic is shown ----------------------------===//
#include "lib/Driver/Place.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace tplan {

Place placeOf(Location location) {
  if (auto at = location->findInstanceOf<FileLineColLoc>())
    return {at.getFilename().str(), at.getLine(), at.getColumn()};
  return {};
}

void tellAtUsersLine(Diagnostic &diagnostic, const parse::Origin &origin) {
  using Line = std::optional<FileLineColLoc>;
  auto isOurs = [&](FileLineColLoc at) {
    return !llvm::is_contained(origin.libraries, at.getFilename().str());
  };
  auto usersLine = [&](Location location) {
    Line found;
    location->walk([&](Location part) {
      auto at = dyn_cast<FileLineColLoc>(part);
      if (!at || !isOurs(at))
        return WalkResult::advance();
      found = at;
      return WalkResult::interrupt();
    });
    return found;
  };
  auto at = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (!at || isOurs(at) || diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  Line line;
  for (Diagnostic &note : diagnostic.getNotes())
    line = line ? line : usersLine(note.getLocation());
  line = line ? line : usersLine(diagnostic.getLocation());
  line = line || !origin.line ? line : usersLine(*origin.line);
  if (!line)
    return;
  Diagnostic told(*line, DiagnosticSeverity::Error);
  told << diagnostic.str();
  told.attachNote(at) << "found here";
  for (Diagnostic &note : diagnostic.getNotes())
    told.attachNote(note.getLocation()) << note.str();
  for (DiagnosticArgument &fix : diagnostic.getMetadata())
    told.getMetadata().push_back(fix);
  diagnostic = std::move(told);
}

} // namespace tplan

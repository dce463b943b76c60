//===- Edit.cpp - edits as metadata of a diagnostic ------------------------===//
#include "lib/Parse/Edit.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tplan;

void tplan::addFix(MLIRContext &context, Diagnostic &diagnostic, const Fix &fix) {
  Builder b(&context);
  SmallVector<Attribute> edits = {b.getBoolAttr(fix.guess)};
  for (const Edit &edit : fix.edits)
    edits.push_back(b.getArrayAttr(
        {b.getStringAttr(edit.file), b.getI64IntegerAttr(static_cast<int64_t>(edit.begin)),
         b.getI64IntegerAttr(static_cast<int64_t>(edit.end)), b.getStringAttr(edit.text)}));
  diagnostic.getMetadata().push_back(DiagnosticArgument(Attribute(b.getArrayAttr(edits))));
}

std::vector<Fix> tplan::fixesOf(Diagnostic &diagnostic) {
  std::vector<Fix> fixes;
  for (DiagnosticArgument &data : diagnostic.getMetadata()) {
    if (data.getKind() != DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      continue;
    Fix &fix = fixes.emplace_back();
    auto all = cast<ArrayAttr>(data.getAsAttribute()).getValue();
    fix.guess = cast<BoolAttr>(all.front()).getValue();
    for (Attribute attr : all.drop_front()) {
      auto edit = cast<ArrayAttr>(attr);
      fix.edits.push_back({cast<StringAttr>(edit[0]).str(),
                           static_cast<size_t>(cast<IntegerAttr>(edit[1]).getInt()),
                           static_cast<size_t>(cast<IntegerAttr>(edit[2]).getInt()),
                           cast<StringAttr>(edit[3]).str()});
    }
  }
  return fixes;
}

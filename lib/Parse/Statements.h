//===- Statements.h - bodies of layers and models --------------------------===//
//
// A body holds expressions, these call layers, and a layer has a body in turn. So
// the statements own what calls layers, and hand it the way back.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_STATEMENTS_H
#define TPLAN_PARSE_STATEMENTS_H

#include "lib/Parse/Expressions.h"

namespace tplan::parse {

class Statements {
public:
  explicit Statements(ModelBuilder &model);

  /// Ends at the first statement after the program is too large.
  void elaborate(const Body &body, Scope &scope);

  /// The layers that parameters of a model may stand for.
  LayerTypes &layerTypes() { return layers.types; }

private:
  void elaborate(const Stmt &stmt, Scope &scope);
  void assign(const Stmt &stmt, Scope &scope);
  void takeReturn(const Stmt &stmt, Scope &scope);

  ModelBuilder &model;
  Layers::ElaborateBody elaborateBody;
  Layers layers;
  Expressions expressions;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_STATEMENTS_H

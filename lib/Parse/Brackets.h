//===- Brackets.h - layer types and what their brackets hold ---------------===//
#ifndef TPLAN_PARSE_BRACKETS_H
#define TPLAN_PARSE_BRACKETS_H

#include "lib/Parse/Scope.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace tplan::parse {

/// The layers that a program declares.
class LayerTypes {
public:
  LayerTypes(Report &report, const File &file);

  bool has(llvm::StringRef name) const { return declared.count(name); }
  /// `block[swiglu]` or a name: a layer type, or a parameter that stands for one. Null after an
  /// error.
  LayerRef resolve(const Expr &expr, const EnvRef &env);

private:
  LayerRef fillBrackets(const LayerDecl &decl, const Args &args, llvm::SMLoc loc,
                        const EnvRef &env);
  const Param *paramOf(const LayerDecl &decl, const Arg &arg, unsigned &position);
  bool fill(LayerValue &layer, const Param &param, const Arg &arg, const EnvRef &env);
  std::string keyOf(const LayerValue &layer);
  const std::set<llvm::StringRef> &needs(const LayerDecl &decl);

  Report &report;
  const File &file;
  llvm::StringMap<const LayerDecl *> declared;
  std::map<const LayerDecl *, std::set<llvm::StringRef>> needed;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_BRACKETS_H

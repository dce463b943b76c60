//===- Scope.h - the names of a body, and what they stand for --------------===//
//
// One decision: a layer's sizes come from its brackets, else by name from where
// it is declared as a member (block needs not repeat H for its attn), else from
// the default. What a layer's own text may name is only its brackets and the
// dimensions of its arguments, so that it reads on its own.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_SCOPE_H
#define TPLAN_PARSE_SCOPE_H

#include "lib/Parse/Ast.h"
#include "lib/Parse/ModelInfo.h"
#include "lib/Parse/Report.h"
#include <map>

namespace tplan::parse {

struct Bound {
  Number number;
  llvm::SMLoc loc; // of the declaration or argument that fixed it
};
using Sizes = std::map<llvm::StringRef, Bound>;

struct LayerValue;
using LayerRef = std::shared_ptr<const LayerValue>;

/// Names of sizes and layers that are visible where a body is elaborated.
struct Env {
  Sizes numbers; // own and inherited
  std::map<llvm::StringRef, LayerRef> layers;
  std::map<llvm::StringRef, llvm::SMLoc> own; // what the body's text may name
  std::string key() const;
  /// The size if the text may use this name, else null.
  const Bound *findOwn(llvm::StringRef name) const;
  std::vector<llvm::StringRef> ownNames() const;
};
using EnvRef = std::shared_ptr<const Env>;

/// A layer with its brackets filled in, not yet its argument types.
struct LayerValue {
  const LayerDecl *decl;
  Sizes numbers; // given in brackets
  std::map<llvm::StringRef, LayerRef> layers;
  EnvRef outer; // where the rest comes from, by name
  std::string key;
  llvm::SMLoc loc;
};

/// The value of an expression.
struct Val {
  enum Kind { Error, Tensor, Mask, Num, Loss } kind = Error;
  mlir::Value value = {}; // Tensor; Loss: the sum
  mlir::Value count = {}; // Loss
  double factor = 1;      // Loss
  nn::MaskAttr mask = {};
  Number number = {};
  nn::Tensor type() const { return llvm::cast<nn::Tensor>(value.getType()); }

  static Val of(mlir::Value value) { return {.kind = Tensor, .value = value}; }
  static Val of(nn::MaskAttr mask) { return {.kind = Mask, .mask = mask}; }
  static Val of(const Number &number) { return {.kind = Num, .number = number}; }
};

struct Member {
  enum Kind { Linear, Table, Layer, List } kind;
  Name name;
  std::vector<nn::DimAttr> from, to; // Linear, Table
  mlir::Value weight, bias;
  LayerRef layer;
  // List: distinct elements, and run lengths over them.
  std::vector<LayerRef> kinds;
  std::vector<std::vector<int64_t>> runs;
  bool called = false;
  llvm::SMLoc calledAt;
  std::vector<WeightInfo> weights; // of the layer, from its first call
};

struct Variable {
  Val val;
  llvm::SMLoc loc;
};

/// A state of the body being elaborated; a null value after an error.
struct State {
  mlir::Value value;
  llvm::SMLoc updated; // where its update is
};

/// One body being elaborated.
struct Scope {
  EnvRef env;
  Scope *outer = nullptr; // of a for body
  std::map<llvm::StringRef, Variable> variables;
  std::map<llvm::StringRef, Member> members;
  std::map<llvm::StringRef, State> states;
  std::vector<WeightInfo> *weights = nullptr;
  bool model = false, norm = false, loop = false;
  bool sawReturn = false;
  std::vector<Val> returned;
  llvm::SMLoc returnLoc;
  llvm::StringRef where; // name of the layer or model

  // In this scope, else in those around it.
  Variable *findVariable(llvm::StringRef name);
  /// Sets `outer` where a scope around this one has it.
  Member *findMember(llvm::StringRef name, bool *outer = nullptr);
  std::vector<llvm::StringRef> visibleNames();
};

/// As what an expression yields: none after an error.
inline std::vector<Val> asList(const Val &val) {
  return val.kind == Val::Error ? std::vector<Val>() : std::vector<Val>{val};
}

/// True if `name` is free in this scope; else an error.
bool declare(Report &report, const Name &name, Scope &scope);

/// A warning for each member that nothing calls.
void warnUncalled(Report &report, const Scope &scope);

} // namespace tplan::parse

#endif // TPLAN_PARSE_SCOPE_H

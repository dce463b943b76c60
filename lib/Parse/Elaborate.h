//===- Elaborate.h - from the syntax tree to typed IR ----------------------===//
//
// Each distinct (layer, sizes, sub-layers, argument types, masks) becomes one
// `tplan.layer`, made at its first call and found by key afterwards; a list of
// layers becomes one `tplan.for` with run lengths. Nothing here walks a list
// layer by layer.
//
// One decision: a layer's sizes come from its brackets, else by name from where
// it is declared as a member (block needs not repeat H for its attn), else from
// the default. What a layer's own text may name is only its brackets and the
// dimensions of its arguments, so that it reads on its own.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_ELABORATE_H
#define TPLAN_PARSE_ELABORATE_H

#include "dialects/tplan/Tplan.h"
#include "lib/Parse/Ast.h"
#include "lib/Parse/Report.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

namespace tplan::parse {

/// A feature that the grammar knows and no phase implements: NotBuilt.def.
enum class Feature {
#define NOT_BUILT(id, sentence) id,
#include "lib/Parse/NotBuilt.def"
};
llvm::StringRef sentence(Feature feature);

struct Bound {
  Number number;
  llvm::SMLoc loc; // of the declaration or argument that fixed it
};

struct LayerValue;
using LayerRef = std::shared_ptr<const LayerValue>;

/// Names of sizes and layers, where a body is elaborated.
struct Env {
  std::map<llvm::StringRef, Bound> numbers; // own and inherited
  std::map<llvm::StringRef, LayerRef> layers;
  std::map<llvm::StringRef, llvm::SMLoc> own; // what the body's text may name
  std::string key() const;
};
using EnvRef = std::shared_ptr<const Env>;

/// A layer with its brackets filled in, not yet its argument types.
struct LayerValue {
  const LayerDecl *decl;
  std::map<llvm::StringRef, Bound> numbers; // given in brackets
  std::map<llvm::StringRef, LayerRef> layers;
  EnvRef outer; // where the rest comes from, by name
  std::string key;
  llvm::SMLoc loc;
};

/// A weight, by its path from the layer or model that holds it.
struct WeightInfo {
  std::string path;
  nn::Tensor type;
  llvm::StringRef kind;
  // In a list: {i} stands for first, first + step, ... (count of them).
  int64_t count = 1, first = 0, step = 0;
};

/// One `tplan.layer`.
struct Specialisation {
  lang::LayerOp op;
  std::vector<mlir::Type> results;
  std::vector<WeightInfo> weights;
  unsigned ops = 0; // once all calls in it are inlined
  bool failed = false, done = false;
};

/// What an expression is worth.
struct Val {
  enum Kind { Error, Tensor, Mask, Num, Loss } kind = Error;
  mlir::Value value; // Tensor; Loss: the sum
  mlir::Value count; // Loss
  double factor = 1; // Loss
  nn::MaskAttr mask;
  Number number;
  llvm::SMLoc loc;
  nn::Tensor type() const { return llvm::cast<nn::Tensor>(value.getType()); }
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
};

/// The weights and lists of a model.
struct ModelInfo {
  std::vector<WeightInfo> weights;
  struct List {
    std::string name;
    int64_t first, count; // numbers of its layers in the whole model
  };
  std::vector<List> lists;
  int64_t layers = 0;
};
/// Read off the IR: members called twice have their weights once.
ModelInfo modelInfo(mlir::ModuleOp module);

/// Limits that keep any input within a second and little memory.
namespace limits {
inline constexpr int64_t size = int64_t(1) << 40, elements = int64_t(1) << 50;
inline constexpr int64_t layers = 1 << 20;
inline constexpr unsigned rank = 32, specialisations = 2000, nesting = 48, items = 4096, parts = 64;
/// Of distinct code, whose cost grows faster than its size: a list of layers counts once.
inline constexpr unsigned weights = 400, ops = 1000;
} // namespace limits

/// The divisors of n beside `near`, as text: "4 and 6".
std::string nearestDivisors(int64_t n, int64_t near, llvm::StringRef conjunction,
                            int64_t multipleOf = 1);
/// The same as numbers, the nearer first: multiples of `multipleOf`, where there are some.
std::vector<int64_t> divisorsBeside(int64_t n, int64_t near, int64_t multipleOf = 1);

class Elaborator {
public:
  Elaborator(Report &report, const File &file);

  /// The model with the given sizes (by the recipe or --set) and data dimensions.
  bool buildModel(const ModelDecl &decl, const std::map<llvm::StringRef, Bound> &sizes,
                  const std::map<llvm::StringRef, Bound> &data, llvm::StringRef modelSymbol);

  /// `name`, or one with a number if it is taken: all symbols share one table.
  std::string symbol(llvm::StringRef name, llvm::StringRef kind);

  // Sizes.cpp
  std::optional<Number> number(const Expr &expr, const Env &env, bool inherited = false);
  std::optional<int64_t> whole(const Expr &expr, const Env &env, int64_t least, int64_t most,
                               llvm::StringRef what);
  std::optional<nn::DimAttr> dim(const DimDecl &decl, const Env &env, bool bounds = false);
  std::optional<std::vector<nn::DimAttr>> dims(llvm::ArrayRef<DimDecl> decls, const Env &env);
  std::optional<nn::Tensor> tensor(llvm::ArrayRef<nn::DimAttr> dims, mlir::Type element,
                                   llvm::SMLoc loc);
  void refuse(llvm::SMLoc loc, Feature feature);

  Report &report;
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  lang::ModelOp model;
  std::map<llvm::StringRef, Number> sizes; // of the model, defaults included
  ModelInfo info;                          // once the model is built
  const File &file;
  /// For what is proposed: the ranks over which the plan's lines cut a dimension, and where the
  /// recipe says the sizes of the data.
  std::map<llvm::StringRef, int64_t> ranks;
  const Setting *dataLine = nullptr;
  /// Adds to an error the edits that give the data a size called `name`.
  void fixDataSize(Report::Error &error, llvm::StringRef name);

  // Layers.cpp
  LayerRef resolveLayer(const Expr &expr, Scope &scope);
  std::vector<Val> callLayer(const LayerRef &layer, llvm::StringRef member, const Expr &call,
                             Scope &scope, std::vector<WeightInfo> *weights);
  std::vector<Val> callMember(Member &member, const Expr &call, Scope &scope);
  Val applyLinear(Member &member, Val x, llvm::SMLoc loc);
  Val applyTable(Member &member, Val ids, bool backwards, llvm::SMLoc loc);
  Val applyBackwards(Member &member, Val x, llvm::SMLoc loc);

  // Statements.cpp
  void body(const Body &stmts, Scope &scope);
  void warnUncalled(const Scope &scope);

  // Expressions.cpp
  Val eval(const Expr &expr, Scope &scope);
  std::vector<Val> evalMany(const Expr &expr, Scope &scope);
  Val binary(llvm::StringRef op, Val lhs, Val rhs, llvm::SMLoc loc);
  Val apply(llvm::StringRef function, llvm::ArrayRef<mlir::Value> args, nn::Tensor result,
            llvm::SMLoc loc, llvm::ArrayRef<mlir::NamedAttribute> attrs = {});
  Val asTensor(Val v, llvm::SMLoc loc);
  bool wantTensor(const Val &v, llvm::SMLoc loc, llvm::StringRef what);
  bool wantFloat(const Val &v, llvm::SMLoc loc, llvm::StringRef what);
  Variable *findVariable(llvm::StringRef name, Scope &scope);
  Member *findMember(llvm::StringRef name, Scope &scope, bool *outer = nullptr);
  std::vector<llvm::StringRef> visibleNames(Scope &scope);

  // Builtins.cpp
  bool isBuiltin(llvm::StringRef name) const;
  static std::vector<llvm::StringRef> builtinNames();
  Val callBuiltin(const Expr &call, Scope &scope);
  void evalLoss(const Stmt &stmt, Scope &scope);

  mlir::OpBuilder builder;

private:
  // Layers.cpp
  Specialisation *specialise(const LayerRef &layer, llvm::ArrayRef<Val> args, const Expr &call);
  std::optional<Env> bindArgs(const LayerValue &layer, llvm::ArrayRef<Val> args, const Expr &call);
  bool bindDims(const LayerValue &layer, const ArgDecl &decl, const Val &arg, const Expr &call,
                Env &env);
  const std::set<llvm::StringRef> &needs(const LayerDecl &decl);
  void checkResults(const LayerDecl &decl, const Env &env, Scope &scope, llvm::SMLoc loc);
  LayerRef fillBrackets(const LayerDecl &decl, const Args &args, llvm::SMLoc loc, Scope &scope);

  // Statements.cpp
  void declareLinear(const Stmt &stmt, Scope &scope);
  void declareTable(const Stmt &stmt, Scope &scope);
  void declareWeight(const Stmt &stmt, Scope &scope);
  void declareMembers(const Stmt &stmt, Scope &scope);
  void declareInput(const Stmt &stmt, Scope &scope);
  void assign(const Stmt &stmt, Scope &scope);
  void loop(const Stmt &stmt, Scope &scope);
  void update(const Stmt &stmt, Scope &scope); // States.cpp
  void metric(const Stmt &stmt, Scope &scope);
  /// A name of a loss or a metric, which are numbers of a step.
  bool declareNumber(const Name &name);
  bool declare(const Name &name, Scope &scope);
  nn::InitAttr init(const Stmt &stmt, llvm::StringRef kind, double value, Scope &scope);
  mlir::Value weight(llvm::StringRef name, llvm::StringRef kind, nn::InitAttr init, nn::Tensor type,
                     Scope &scope, llvm::SMLoc loc);
  void addWeights(llvm::ArrayRef<WeightInfo> from, llvm::StringRef prefix, Scope &scope,
                  llvm::SMLoc loc);
  void checkSizes(const ModelDecl &decl, const std::map<llvm::StringRef, Bound> &sizes);
  void checkDataSizes(const ModelDecl &decl, const std::map<llvm::StringRef, Bound> &data);
  void setVocabularies();
  bool tooLarge(llvm::SMLoc loc, unsigned added = 1);

  llvm::StringMap<const LayerDecl *> layers;
  std::map<const LayerDecl *, std::set<llvm::StringRef>> needed;
  llvm::StringSet<> symbols;
  std::map<std::string, std::unique_ptr<Specialisation>> made;
  unsigned nesting = 0;
  unsigned ops = 0; // of the layer or model that is open, once all calls in it are inlined
  int64_t sites = 0;
  bool gaveUp = false, logitsOut = false;
  std::map<llvm::StringRef, llvm::SMLoc> numbers;               // losses and metrics
  std::map<void *, std::pair<llvm::StringRef, int64_t>> inputs; // value -> source, shift

  friend struct Builtins;
};

/// `[B 8, S 64] of f32`, for errors.
std::string spell(nn::Tensor type);
std::string spell(const Number &number);

} // namespace tplan::parse

#endif // TPLAN_PARSE_ELABORATE_H

//===- Ast.h - the syntax tree ---------------------------------------------===//
//
// Plain structs, owned by an arena, with the source location of every name. One
// decision: layer references (`block[swiglu]`), sizes, masks and values are all
// `Expr`; what an expression may be is a question of its place, which gives one
// sentence per mistake instead of "syntax error".
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_AST_H
#define TPLAN_PARSE_AST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SMLoc.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace tplan::parse {

struct Name {
  llvm::StringRef text;
  llvm::SMLoc loc;
};
using Names = llvm::SmallVector<Name, 2>;

/// A literal; integers stay exact.
struct Number {
  bool integer = true;
  int64_t whole = 0;
  double real = 0; // equal to `whole` for integers
  static Number of(int64_t v) { return {true, v, static_cast<double>(v)}; }
  static Number of(double v) { return {false, 0, v}; }
};

struct Expr;
/// One item in parentheses or brackets: `e`, `key = e`, `e over D`.
struct Arg {
  Name key; // empty: positional
  Expr *value = nullptr;
  Name over;                         // `mean(x over B, S)`: B here, S is the next bare item
  struct Selector *except = nullptr; // `decay = 0.1 except norms`
};
using Args = std::vector<Arg>;

struct Expr {
  enum Kind { Literal, Ref, Unary, Binary, Call, Specialise, Member, Tuple } kind;
  llvm::SMLoc loc;   // of the operator or the callee's name
  llvm::SMLoc begin; // of the first token
  int depth = 1;
  llvm::StringRef text; // name, operator, or member
  Number number;
  Expr *lhs = nullptr, *rhs = nullptr;
  Args args; // Call, Specialise, Tuple
};

/// A number with its unit as written: 1024 sequences, 400 Gb/s.
struct Quantity {
  Number number;
  Name unit;
  llvm::SMLoc loc;
};

//===----------------------------------------------------------------------===//
// Selectors: blocks[0..3].attn.*, norms, except head
//===----------------------------------------------------------------------===//

/// Where a layer's number is no integer: no list has such a layer.
inline constexpr int64_t kNoLayer = INT64_MIN;

struct Segment {
  Name name; // "*" matches any one segment
  bool ranged = false;
  int64_t first = 0, last = 0; // inclusive; below zero: from the end, -1 is the last layer
  llvm::SMLoc rangeLoc;
  /// As they are counted from the first of so many layers.
  std::pair<int64_t, int64_t> layersOf(int64_t count) const {
    auto from = [&](int64_t i) { return i < 0 && i >= -count ? i + count : i; };
    return {from(first), from(last)};
  }
};
struct SelectorItem {
  llvm::SMLoc loc;
  llvm::SmallVector<Segment, 3> path;
  std::string str() const;
};
struct Selector {
  std::vector<SelectorItem> include, except;
};

//===----------------------------------------------------------------------===//
// Layers and models
//===----------------------------------------------------------------------===//

struct DimDecl {
  Name name;
  Expr *atMost = nullptr; // `T at most 64`
};
struct TypeExpr {
  enum Kind { Tensor, Mask, Layer } kind = Tensor;
  llvm::SMLoc loc;
  Name element;      // empty: f32
  bool rest = false; // `..`: any further dimensions
  std::vector<DimDecl> dims;
};

struct Stmt;
using Body = std::vector<Stmt *>;

/// `(local, global) x 61` or `dense x 3` or `gqa`.
struct ListItem {
  std::vector<Expr *> refs;
  Expr *times = nullptr; // null: once, and a plain member if it is the only item
  llvm::SMLoc loc;
};

//===----------------------------------------------------------------------===//
// weights huggingface { .. }: names and layouts on disk
//===----------------------------------------------------------------------===//

/// `blocks.{i}.attn.q`
struct WeightPath {
  llvm::SMLoc loc;
  std::string text;      // with {i} for the placeholder, whatever its name
  Name placeholder = {}; // or empty
  bool twice = false;    // it has two of them
};
/// One factor of a dimension on disk: a dimension of the weight, or how many weights there are.
struct Factor {
  Name name;
  int64_t number = 0; // where `name` is empty
  llvm::SMLoc loc;
};
using Factors = std::vector<Factor>;

/// A value of config.json: `expr`, else strings, of which a list has any number.
struct ConfigValue {
  llvm::SMLoc loc;
  Expr *expr = nullptr;
  Names strings;
  bool isList = false;
};
/// `rope_theta, rope_parameters.rope_theta (10000) = base`
struct ConfigItem {
  Names keys; // with dots, as they are written
  ConfigValue *absent = nullptr, *value = nullptr;
  bool onlyWritten = false; // `key : value`
};

/// What a map says of one tensor of a file, of names to pass over, or of config.json.
struct MapEntry {
  enum Kind { Tensor, Word, Block } kind;
  std::vector<WeightPath> paths = {}; // of a Word or a Block: its one word
  Names names = {};                   // on disk, without quotes
  std::vector<Factors> layout = {};   // of a Tensor
  std::vector<ConfigItem> items = {}; // of a Block
};

struct Stmt {
  enum Kind {
    Linear,
    Table,
    Weight,
    State,
    Members,
    Assign,
    Return,
    For,
    Input,
    Loss,
    Update,
    Metric,
    WeightMap
  } kind;
  llvm::SMLoc loc;
  Names names;                   // what it declares or assigns; For: the variable
  std::vector<DimDecl> from, to; // Linear, Table: dims in and out; Weight, State: to
  TypeExpr *type = nullptr;      // Input
  bool bias = false;
  std::vector<Expr *> values;  // initial value, assigned, returned
  std::vector<ListItem> items; // Members
  Name list;                   // For
  Body body;                   // For
  std::vector<MapEntry> maps;  // WeightMap
};

struct Param {
  Name name;
  bool layer = false;
  Expr *value = nullptr; // default
};
struct ArgDecl {
  Name name;
  TypeExpr *type = nullptr;
};

struct LayerDecl {
  Name name;
  bool norm = false; // its weights are of kind `norm`
  std::vector<Param> params;
  std::vector<ArgDecl> args;
  std::vector<TypeExpr *> results;
  Body body;
};

struct ModelDecl {
  Name name;
  std::vector<Param> params;
  Body body;
};

//===----------------------------------------------------------------------===//
// Recipes, clusters and plans
//===----------------------------------------------------------------------===//

/// One item of a setting; which parts are filled depends on the setting's key.
struct Item {
  llvm::SMLoc loc;
  Name name;
  // cluster: nodes or node; precision: `in f64`; shard: `of residual`; data and eval: the format of
  // tokens, or the name of a source that has neither weight nor format
  Name second;
  llvm::StringRef string; // quoted text, without quotes
  bool hasString = false, hasNumber = false, called = false;
  Quantity quantity, to; // to: `3e-4 to 3e-5`, or `for 100 steps`
  Quantity span;         // `for 100 steps`
  Expr *expr = nullptr;
  Args args;
  Names names, axes; // shard: dims over axes; precision: names[0] is the type of what is kept
  Selector *selector = nullptr;
};

struct Setting {
  llvm::StringRef key;
  llvm::SMLoc loc;
  Name name; // mesh: the name of a second factoring
  std::vector<Item> items;
};

struct BlockDecl {
  enum Kind { Recipe, Cluster, Plan, Device, Link } kind;
  Name name;
  Name base; // recipe: the one it overrides; plan: its recipe
  Name on;   // plan: its cluster
  std::vector<Setting> settings;
};

/// Everything that the main file and its imports declare, in source order.
struct File {
  std::vector<LayerDecl *> layers;
  std::vector<ModelDecl *> models;
  std::vector<BlockDecl *> blocks;
  std::vector<Name> imports;
  std::vector<std::string> modelDirs; // what could be imported
  llvm::StringRef main;               // the text of the main file
};

/// Owns the nodes of one parse.
class Arena {
public:
  template <class T, class... A> T *make(A &&...args) {
    auto node = std::make_shared<T>(T{std::forward<A>(args)...});
    nodes.push_back(node);
    return node.get();
  }

private:
  std::vector<std::shared_ptr<void>> nodes;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_AST_H

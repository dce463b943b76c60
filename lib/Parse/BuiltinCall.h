//===- BuiltinCall.h - the arguments of one call of a built-in function ----===//
//
// Dimensions in arguments are names, not values.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_BUILTINCALL_H
#define TPLAN_PARSE_BUILTINCALL_H

#include "lib/Parse/ModelBuilder.h"
#include "lib/Parse/Sizes.h"

namespace tplan::parse {

/// The value of an argument, in the scope of the call.
using Evaluate = llvm::function_ref<Val(const Expr &)>;

/// One call: its values by position, dimensions after `over`, and named arguments.
struct BuiltinCall {
  ModelBuilder &model;
  const Expr &call;
  Scope &scope;
  Evaluate evaluate;
  llvm::StringRef name;
  std::vector<Val> values = {};
  std::vector<Name> over = {};
  std::map<llvm::StringRef, const Arg *> named = {};

  template <class... A> Val fail(llvm::SMLoc loc, const char *text, A &&...args) {
    model.report.error(loc, text, std::forward<A>(args)...);
    return {};
  }

  /// Sorts the arguments; `takes` are the names that the function knows. False after an error.
  bool read(llvm::ArrayRef<llvm::StringRef> takes, size_t least, size_t most, bool hasOver);

  /// Position of dimension `dim` in x, or -1 after an error.
  int64_t find(nn::Tensor x, const Name &dim, llvm::StringRef what);
  /// The dimension given as `key = D`, or the default. Without a name after an error.
  Name dimArg(llvm::StringRef key, llvm::StringRef standard);
  std::optional<double> numberArg(llvm::StringRef key, double standard);
  bool wantFloat(unsigned i);

  mlir::NamedAttribute text(llvm::StringRef key, llvm::StringRef value) {
    return model.builder.getNamedAttr(key, model.builder.getStringAttr(value));
  }
  mlir::NamedAttribute real(llvm::StringRef key, double value) {
    return model.builder.getNamedAttr(key, model.builder.getF64FloatAttr(value));
  }

  // The kinds of arguments that `read` meets.
  bool readNamed(const Arg &arg, llvm::ArrayRef<llvm::StringRef> takes, bool hasOver);
  bool readDimension(const Arg &arg);
  bool readValue(const Arg &arg);
  void explainOver(Report::Error &error, const Arg &arg);
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_BUILTINCALL_H

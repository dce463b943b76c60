//===- Host/Builder.h - host code in the LLVM dialect, in few words -------===//
//
// Loops, checked calls, constants and records of the runtime's structs. One
// function is open at a time; a call that fails leaves it with the status.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_BUILDER_H
#define TPLAN_LOWER_HOST_BUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tplan::lower {

/// A field of a constant struct: a number, or the address of a symbol.
struct Field {
  enum Kind { I32, I64, F64, Address, String, Null } kind;
  int64_t integer = 0;
  double real = 0;
  std::string text; // symbol, or characters

  static Field i32(int64_t v) { return {I32, v, 0, {}}; }
  static Field i64(int64_t v) { return {I64, v, 0, {}}; }
  static Field f64(double v) { return {F64, 0, v, {}}; }
  static Field address(llvm::StringRef symbol) { return {Address, 0, 0, symbol.str()}; }
  static Field string(llvm::StringRef text) { return {String, 0, 0, text.str()}; }
  static Field null() { return {Null, 0, 0, {}}; }
};
using Record = std::vector<Field>;

class HostBuilder {
public:
  using Value = mlir::Value;
  explicit HostBuilder(mlir::ModuleOp module);

  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type ptr, i32, i64, f64;

  // Functions. Every function returns a status; 0 is success.
  mlir::LLVM::LLVMFuncOp begin(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                               bool exported = false);
  void end();
  Value argument(unsigned i) { return function.getArgument(i); }
  /// Calls a function that returns a status; leaves with it unless it is 0.
  void call(llvm::StringRef callee, llvm::ArrayRef<Value> arguments);
  /// Calls a function that returns an i64.
  Value callForNumber(llvm::StringRef callee, llvm::ArrayRef<Value> arguments);
  void callPointer(Value callee, llvm::ArrayRef<Value> arguments);
  /// Declares a function of the runtime that returns a status, or another result.
  void declare(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, mlir::Type result = {});
  /// Memory on the stack for n pointers, taken once on entry.
  Value pointers(int64_t n);

  // Control.
  using Body = llvm::function_ref<void(Value)>;
  /// body(0) ... body(count - 1); a count of 1 makes no loop. Backwards: from the last.
  void loop(int64_t count, Body body, bool backwards = false);

  // Values.
  Value number(int64_t v); // i64
  Value number32(int64_t v);
  Value real(double v);
  Value address(llvm::StringRef symbol);
  Value null();
  Value offset(Value base, Value bytes);
  Value offset(Value base, int64_t bytes);
  /// a + b * c, folded where they are constants.
  Value multiplyAdd(Value a, Value b, int64_t c);
  Value load(mlir::Type type, Value from);
  void store(Value v, Value to);
  void storePointer(Value pointer, Value table, int64_t index);
  Value loadPointer(Value table, int64_t index);
  Value equal(Value a, int64_t c);
  Value select(Value condition, Value yes, Value no);
  std::optional<int64_t> constantOf(Value v);

  // Globals.
  std::string stringSymbol(llvm::StringRef text);
  /// An array of i32 as a constant; returns its symbol.
  std::string tableSymbol(llvm::StringRef name, llvm::ArrayRef<int32_t> values);
  std::string tableSymbol(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  /// An array of structs with the given fields (one type for all); returns its
  /// symbol, `exported` if that is given. An empty array has no symbol.
  std::string recordsSymbol(llvm::StringRef name, llvm::ArrayRef<Record> records,
                            llvm::StringRef exported = "");
  /// A constant of another object; returns its symbol.
  std::string external(llvm::StringRef symbol);

private:
  std::string tableSymbol(llvm::StringRef name, mlir::DenseIntElementsAttr values);
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Block *failed = nullptr;
  llvm::StringMap<std::string> strings;
  unsigned numbered = 0;

  void leaveUnlessZero(Value status);
  mlir::Type typeOf(const Field &field);
  Value constant(mlir::OpBuilder &at, const Field &field);
  std::string fresh(llvm::StringRef name);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_BUILDER_H

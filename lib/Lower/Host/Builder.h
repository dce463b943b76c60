//===- Host/Builder.h - host code in the LLVM dialect, in few words -------===//
//
// Loops, checked calls, constants, and structs of the runtime as constants. One
// function is open at a time; a call that fails leaves it with the status.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_BUILDER_H
#define TPLAN_LOWER_HOST_BUILDER_H

#include "lib/Lower/Host/Structs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tplan::lower {

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
  /// Declares a function of the runtime that returns a status, or another result.
  void declare(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, mlir::Type result = {});
  /// Memory on the stack for n pointers, taken once on entry.
  Value pointers(int64_t n);

  // Control.
  using Body = llvm::function_ref<void(Value)>;
  /// body(0) ... body(count - 1); a count of 1 makes no loop. Backwards: from the last.
  void loop(int64_t count, Body body, bool backwards = false);
  /// As many times as a value says.
  void loop(Value count, Body body, bool backwards = false);

  // Values.
  Value number(int64_t v); // i64
  Value number32(int64_t v);
  Value real(double v);
  Value address(llvm::StringRef symbol);
  template <typename T> Value address(const Address<T> &of) {
    return address(llvm::StringRef(of.symbol));
  }
  Value null();
  Value offset(Value base, Value bytes);
  Value offset(Value base, int64_t bytes);
  /// a + b * c, folded where they are constants.
  Value multiplyAdd(Value a, Value b, int64_t c);
  Value addModulo(Value a, int64_t b, int64_t n); // a and b below n
  Value load(mlir::Type type, Value from);
  void store(Value v, Value to);
  void storePointer(Value pointer, Value table, int64_t index);
  Value loadPointer(Value table, int64_t index);
  Value equal(Value a, int64_t c);
  Value equal(Value a, Value b);
  Value select(Value condition, Value yes, Value no);
  std::optional<int64_t> constantOf(Value v);

  /// Characters, with a zero after them; equal ones are one.
  std::string text(llvm::StringRef text) { return stringSymbol(text); }
  // Constants of the object. `name` is part of their symbols.
  Table<int32_t> numbers(llvm::StringRef name, llvm::ArrayRef<int32_t> values);
  Table<int64_t> numbers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  /// An array of numbers, texts or addresses; null where there are none.
  template <typename T> Table<T> array(llvm::StringRef name, llvm::ArrayRef<Cell<T>> values) {
    auto rows = llvm::map_to_vector(values, [](const Cell<T> &value) { return Fields{value}; });
    return {{structs(name, rows, "")}, static_cast<int64_t>(values.size())};
  }
  /// An array of structs; null where there are none.
  template <typename T> Table<T> table(llvm::StringRef name, llvm::ArrayRef<Record<T>> records) {
    auto rows = llvm::map_to_vector(records, [](const Record<T> &each) { return fieldsOf(each); });
    return {{structs(name, rows, "")}, static_cast<int64_t>(records.size())};
  }
  /// One struct, whose symbol is `exported` if that is given.
  template <typename T>
  Address<T> record(llvm::StringRef name, const Record<T> &record, llvm::StringRef exported = "") {
    return {structs(name, fieldsOf(record), exported)};
  }
  /// A constant of another object.
  template <typename T> Address<T> external(llvm::StringRef symbol) {
    return {externalSymbol(symbol)};
  }

private:
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Block *failed = nullptr;
  llvm::StringMap<std::string> strings;
  /// Constants that are equal are one.
  llvm::DenseMap<mlir::Attribute, std::string> knownNumbers;
  llvm::StringMap<std::string> knownStructs; // by what they hold
  unsigned numbered = 0;

  void leaveUnlessZero(Value status);
  mlir::Type typeOf(llvm::ArrayRef<Field> part);
  Value constant(mlir::OpBuilder &at, llvm::ArrayRef<Field> part);
  std::string fresh(llvm::StringRef name);
  std::string stringSymbol(llvm::StringRef text);
  std::string numbersSymbol(llvm::StringRef name, mlir::DenseIntElementsAttr values);
  std::string structs(llvm::StringRef name, llvm::ArrayRef<Fields> rows, llvm::StringRef exported);
  std::string externalSymbol(llvm::StringRef symbol);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_BUILDER_H

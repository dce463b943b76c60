//===- Host/Structs.h - structs of the runtime as constants ----------------===//
//
// include/tplan/runtime.h says what a struct holds; cmake/structs.py makes a table of it, from
// which each C struct T gets a Record<T> here, with the same fields by name. So
//
//   Record<tp_axis>{.name = "dp", .size = 2}
//
// compiles only where every field is given once, in the order of C, with a value of its type.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_STRUCTS_H
#define TPLAN_LOWER_HOST_STRUCTS_H

#include "lib/Lower/Host/Structs.inc"
#include "tplan/runtime.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

// A field that is given twice, or out of order, is an error in C++, but only a warning in clang.
#pragma clang diagnostic error "-Winitializer-overrides"
#pragma clang diagnostic error "-Wreorder-init-list"

namespace tplan::lower {

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// A field, its type forgotten: a number, characters, or the address of a symbol.
struct Field {
  enum Kind { I32, I64, F64, Address, String, Null } kind;
  int64_t integer = 0;
  double real = 0;
  std::string text = {}; // the name of a symbol, or characters
};

/// The address of a T in the object, or of the first of several; without a symbol there is none.
template <typename T> struct Address {
  std::string symbol;
};
/// An array, and how many it holds.
template <typename T> struct Table : Address<T> {
  int64_t size = 0;
};

/// A field whose type in C is T. It has no default, so leaving a field out is an error.
template <typename T> class Cell;

template <std::integral T> class Cell<T> : public Field {
public:
  template <typename V>
    requires(std::integral<V> || std::is_enum_v<V>)
  Cell(V value) : Field{sizeof(T) == sizeof(int32_t) ? I32 : I64, static_cast<int64_t>(value)} {
    if (static_cast<T>(integer) != integer)
      llvm::reportFatalInternalError(llvm::Twine("a field of 32 bits cannot hold ") +
                                     llvm::Twine(integer));
  }
};

template <> class Cell<double> : public Field {
public:
  template <std::floating_point V> Cell(V value) : Field{F64, 0, value, {}} {}
};

template <typename T> class Cell<T *> : public Field {
public:
  using Pointee = std::remove_const_t<T>;
  Cell(std::nullptr_t) : Field{Null} {}
  Cell(const lower::Address<Pointee> &address)
      : Field{address.symbol.empty() ? Null : Field::Address, 0, 0, address.symbol} {}
  /// Characters with a zero after them. Equal texts are one in the object.
  template <typename V>
    requires(std::same_as<T, const char> && std::convertible_to<const V &, llvm::StringRef> &&
             !std::same_as<V, std::nullptr_t>)
  Cell(const V &text) : Field{String, 0, 0, llvm::StringRef(text).str()} {}
};

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// The fields of a T by name.
template <typename T> struct Record;
#define TP_CELL(STRUCT, NAME, TYPE) Cell<TYPE> NAME;
#define TP_RECORD(STRUCT)                                                                          \
  template <> struct Record<STRUCT> {                                                              \
    TP_FIELDS_##STRUCT(TP_CELL)                                                                    \
  };
TP_STRUCTS(TP_RECORD)
#undef TP_RECORD
#undef TP_CELL

/// In the order of C.
using Fields = llvm::SmallVector<Field>;
#define TP_FIELD(STRUCT, NAME, TYPE) record.NAME,
#define TP_FIELDS_OF(STRUCT)                                                                       \
  inline Fields fieldsOf(const Record<STRUCT> &record) { return {TP_FIELDS_##STRUCT(TP_FIELD)}; }
TP_STRUCTS(TP_FIELDS_OF)
#undef TP_FIELDS_OF
#undef TP_FIELD

//===----------------------------------------------------------------------===//
// The layout in C
//===----------------------------------------------------------------------===//

/// The offset of a field in C, and whether its type is that of the table.
struct FieldLayout {
  size_t offset, size;
  bool sameType;
};
template <typename T> struct StructLayout;
#define TP_LAYOUT(STRUCT, NAME, TYPE)                                                              \
  {offsetof(STRUCT, NAME), sizeof(TYPE), std::same_as<decltype(STRUCT::NAME), TYPE>},
#define TP_STRUCT_LAYOUT(STRUCT)                                                                   \
  template <> struct StructLayout<STRUCT> {                                                        \
    static constexpr FieldLayout fields[] = {TP_FIELDS_##STRUCT(TP_LAYOUT)};                       \
  };
TP_STRUCTS(TP_STRUCT_LAYOUT)
#undef TP_STRUCT_LAYOUT
#undef TP_LAYOUT

/// What any field can be initialised with: a T takes as many as it has fields, and no more.
struct AnyField {
  template <typename V> operator V() const;
};
template <typename T, size_t... I> consteval bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyField())...}; };
}

/// Whether the table has every field of T, with its type and at the offset where LLVM puts it:
/// after the field before it, at a multiple of its size.
template <typename T> consteval bool isAsInC() {
  constexpr auto &fields = StructLayout<T>::fields;
  size_t end = 0, most = 1;
  auto align = [&](size_t to) { return (end + to - 1) / to * to; };
  for (const FieldLayout &field : fields) {
    if (!field.sameType || field.offset != align(field.size))
      return false;
    end = field.offset + field.size;
    most = field.size > most ? field.size : most;
  }
  return align(most) == sizeof(T) && takes<T>(std::make_index_sequence<std::size(fields)>()) &&
         !takes<T>(std::make_index_sequence<std::size(fields) + 1>());
}
#define TP_CHECK(STRUCT)                                                                           \
  static_assert(isAsInC<STRUCT>(), "cmake/structs.py reads " #STRUCT " otherwise than C does");
TP_STRUCTS(TP_CHECK)
#undef TP_CHECK

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_STRUCTS_H

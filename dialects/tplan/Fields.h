//===- Fields.h - structs of C++ as attributes with fields ------------------===//
//
// A plan, a recipe, a cluster and a target have many fields with defaults, of which a source sets a
// few, one after the other. One decision: each is a struct of C++ that an attribute holds, as the
// properties of an op are held: so a field is one line in one struct, its default stands beside it,
// and readers of a field get a value of its type. In the text of the IR it is a dictionary.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_FIELDS_H
#define TPLAN_DIALECTS_TPLAN_FIELDS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tplan::lang {

/// Whether the text of the IR has a field.
enum class InText {
  Unless, // it has its default
  Always, // when it is written; readers take the default where it is absent
  Needed  // and readers refuse a text without it
};

/// A field by its name in the IR.
template <class Struct, class T> struct Field {
  llvm::StringLiteral name;
  T Struct::*member;
  InText inText;
};
template <class Struct, class T>
constexpr Field<Struct, T> field(llvm::StringLiteral name, T Struct::*member,
                                 InText inText = InText::Unless) {
  return {name, member, inText};
}
template <class Struct, class T>
constexpr Field<Struct, T> needed(llvm::StringLiteral name, T Struct::*member) {
  return {name, member, InText::Needed};
}

/// A struct whose `fields()` is a tuple of its fields.
template <class T>
concept HasFields = requires { T::fields(); };

/// The words of an enum that ODS has made, by number.
template <class Enum> llvm::SmallVector<llvm::StringRef> wordsOf() {
  llvm::SmallVector<llvm::StringRef> words;
  for (uint32_t i = 0; !stringifyEnum(static_cast<Enum>(i)).empty(); ++i)
    words.push_back(stringifyEnum(static_cast<Enum>(i)));
  return words;
}

namespace detail {

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};

template <class Struct, class Visit> void forEachField(Visit &&visit) {
  std::apply([&](auto... fields) { (visit(fields), ...); }, Struct::fields());
}

template <class T> llvm::hash_code hashOf(const T &value) {
  if constexpr (HasFields<T>) {
    llvm::hash_code hash = 0;
    forEachField<T>(
        [&](auto field) { hash = llvm::hash_combine(hash, hashOf(value.*field.member)); });
    return hash;
  } else if constexpr (IsVector<T>::value) {
    llvm::hash_code hash = value.size();
    for (const auto &item : value)
      hash = llvm::hash_combine(hash, hashOf(item));
    return hash;
  } else if constexpr (IsOptional<T>::value) {
    return value ? llvm::hash_combine(true, hashOf(*value)) : llvm::hash_code(0);
  } else if constexpr (std::is_enum_v<T>) {
    return llvm::hash_value(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return llvm::hash_value(llvm::bit_cast<uint64_t>(value));
  } else {
    using llvm::hash_value;
    return hash_value(value);
  }
}

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

template <class T>
mlir::LogicalResult read(mlir::Attribute from, const std::string &key, T &to, EmitError error);

template <HasFields T>
mlir::LogicalResult readFields(mlir::DictionaryAttr from, const std::string &key, T &to,
                               EmitError error) {
  size_t known = 0;
  bool ok = true;
  std::string names;
  forEachField<T>([&](auto field) {
    names += (names.empty() ? "" : ", ") + field.name.str();
    if (mlir::Attribute value = from.get(field.name)) {
      ++known;
      ok = ok && succeeded(read(value, field.name.str(), to.*field.member, error));
    } else if (field.inText == InText::Needed && ok) {
      error() << key << " needs " << field.name << ", found " << from;
      ok = false;
    }
  });
  if (!ok || known == from.size())
    return mlir::success(ok);
  for (mlir::NamedAttribute entry : from) {
    bool isField = false;
    forEachField<T>([&](auto field) { isField |= field.name == entry.getName(); });
    if (!isField)
      return error() << key << " has the fields " << names << ", found " << entry.getName();
  }
  return mlir::failure();
}

template <class T>
mlir::LogicalResult read(mlir::Attribute from, const std::string &key, T &to, EmitError error) {
  auto refuse = [&](llvm::StringRef what) {
    return error() << key << " is " << what << ", found " << from;
  };
  if constexpr (HasFields<T>) {
    auto fields = mlir::dyn_cast<mlir::DictionaryAttr>(from);
    return fields ? readFields(fields, key, to, error) : refuse("a list of fields");
  } else if constexpr (IsVector<T>::value) {
    auto list = mlir::dyn_cast<mlir::ArrayAttr>(from);
    if (!list)
      return refuse("a list");
    to.clear();
    for (mlir::Attribute item : list)
      if (failed(read(item, key, to.emplace_back(), error)))
        return mlir::failure();
    return mlir::success();
  } else if constexpr (IsOptional<T>::value) {
    return read(from, key, to.emplace(), error);
  } else if constexpr (std::is_same_v<T, bool>) {
    auto value = mlir::dyn_cast<mlir::BoolAttr>(from);
    if (!value)
      return refuse("true or false");
    to = value.getValue();
  } else if constexpr (std::is_enum_v<T>) {
    auto text = mlir::dyn_cast<mlir::StringAttr>(from);
    llvm::SmallVector<llvm::StringRef> words = wordsOf<T>();
    const auto *word = text ? llvm::find(words, text.getValue()) : words.end();
    if (word == words.end())
      return refuse("one of " + llvm::join(words, ", "));
    to = static_cast<T>(word - words.begin());
  } else if constexpr (std::is_same_v<T, int64_t>) {
    auto value = mlir::dyn_cast<mlir::IntegerAttr>(from);
    if (!value || mlir::isa<mlir::BoolAttr>(from))
      return refuse("a whole number");
    to = value.getInt();
  } else if constexpr (std::is_same_v<T, double>) {
    auto value = mlir::dyn_cast<mlir::FloatAttr>(from);
    if (!value)
      return refuse("a number with a point");
    to = value.getValueAsDouble();
  } else if constexpr (std::is_same_v<T, std::string>) {
    auto value = mlir::dyn_cast<mlir::StringAttr>(from);
    if (!value)
      return refuse("a text");
    to = value.str();
  } else { // an attribute of its own
    auto value = mlir::dyn_cast<T>(from);
    if (!value)
      return refuse("of another kind");
    to = value;
  }
  return mlir::success();
}

/// Null for an optional without a value.
template <class T> mlir::Attribute write(mlir::Builder &b, const T &value) {
  if constexpr (HasFields<T>) {
    llvm::SmallVector<mlir::NamedAttribute> entries;
    const T defaults;
    forEachField<T>([&](auto field) {
      if (value.*field.member != defaults.*field.member || field.inText != InText::Unless)
        entries.push_back(b.getNamedAttr(field.name, write(b, value.*field.member)));
    });
    return b.getDictionaryAttr(entries);
  } else if constexpr (IsVector<T>::value) {
    llvm::SmallVector<mlir::Attribute> items;
    for (const auto &item : value)
      items.push_back(write(b, item));
    return b.getArrayAttr(items);
  } else if constexpr (IsOptional<T>::value) {
    return value ? write(b, *value) : mlir::Attribute();
  } else if constexpr (std::is_same_v<T, bool>) {
    return b.getBoolAttr(value);
  } else if constexpr (std::is_enum_v<T>) {
    return b.getStringAttr(stringifyEnum(value));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return b.getI64IntegerAttr(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return b.getF64FloatAttr(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return b.getStringAttr(value);
  } else {
    return value;
  }
}

} // namespace detail

template <HasFields T> llvm::hash_code hash_value(const T &value) { return detail::hashOf(value); }

/// The fields as a dictionary, and back: an error names the field, what it takes and what was
/// found.
template <HasFields T>
mlir::DictionaryAttr toDictionary(mlir::MLIRContext *context, const T &value) {
  mlir::Builder b(context);
  return mlir::cast<mlir::DictionaryAttr>(detail::write(b, value));
}
template <HasFields T>
mlir::FailureOr<T> fromDictionary(mlir::DictionaryAttr from, llvm::StringRef what,
                                  detail::EmitError error) {
  T value;
  if (failed(detail::readFields(from, what.str(), value, error)))
    return mlir::failure();
  return value;
}

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_FIELDS_H

//===- Spelling.cpp - numbers and types in errors --------------------------===//
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace tplan;

std::string tplan::parse::spell(const Number &number) {
  if (number.integer)
    return std::to_string(number.whole);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number.real);
  return text;
}

std::string tplan::parse::spell(nn::Tensor type) {
  std::string text = type.getElementType().isInteger(32) ? "i32[" : "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(type.getDims(), os, [&](nn::DimAttr dim) {
    os << dim.getName() << (dim.getBounded() ? " at most " : " ") << dim.getSize();
  });
  os << "]";
  return text;
}

//===- EqualCode.cpp - whether two kernels compute the same ---------------===//
#include "dialects/rt/EqualCode.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tplan;

llvm::hash_code rt::hashCode(Region &region) {
  llvm::hash_code hash(region.getNumArguments());
  region.walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

DictionaryAttr rt::attributesBut(Operation *op, ArrayRef<StringRef> names) {
  NamedAttrList rest(op->getAttrDictionary());
  for (StringRef name : names)
    rest.erase(name);
  return rest.getDictionary(op->getContext());
}

bool rt::equalButForName(Operation *a, Operation *b) {
  StringRef name = SymbolTable::getSymbolAttrName();
  return a->getName() == b->getName() && attributesBut(a, name) == attributesBut(b, name) &&
         llvm::all_of(llvm::zip_equal(a->getRegions(), b->getRegions()), [](auto regions) {
           return OperationEquivalence::isRegionEquivalentTo(
               &std::get<0>(regions), &std::get<1>(regions), OperationEquivalence::IgnoreLocations);
         });
}

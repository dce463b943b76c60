//===- cudnn_descriptor.cpp - descriptors of the stand-in for cuDNN -----------------===//

#include "cudnn_descriptor.h"

#include "libraries.h"

#include <algorithm>

using namespace standin;
using namespace standin::dnn;

namespace {

enum Need { required, optional };
constexpr int64_t any = 1 << 20;

/// The attributes of a descriptor.
struct Rule {
  int kind, attribute, type;
  int64_t least, most;
  Need need;
};

constexpr Rule rules[] = {
    {kindTensor, tensorType, isDataType, 1, 1, required},
    {kindTensor, tensorDims, isInt64, 1, 8, required},
    {kindTensor, tensorStrides, isInt64, 1, 8, required},
    {kindTensor, tensorId, isInt64, 1, 1, required},
    {kindTensor, tensorAlignment, isInt64, 1, 1, required},
    {kindTensor, tensorVirtual, isBoolean, 1, 1, optional},
    {kindTensor, tensorByValue, isBoolean, 1, 1, optional},
    {kindPointwise, pointwiseMode, isPointwiseMode, 1, 1, required},
    {kindPointwise, pointwisePrecision, isDataType, 1, 1, required},
    {kindPointwise, pointwiseAxis, isInt64, 1, 1, optional},
    {kindMatmul, matmulPrecision, isDataType, 1, 1, required},
    {kindReduction, reductionOperator, isReduction, 1, 1, required},
    {kindReduction, reductionPrecision, isDataType, 1, 1, required},
    {kindOperationPointwise, opPointwise, isDescriptor, 1, 1, required},
    {kindOperationPointwise, opPointwiseX, isDescriptor, 1, 1, required},
    {kindOperationPointwise, opPointwiseY, isDescriptor, 1, 1, required},
    {kindOperationPointwise, opPointwiseB, isDescriptor, 1, 1, optional},
    {kindOperationPointwise, opPointwiseT, isDescriptor, 1, 1, optional},
    {kindOperationMatmul, opMatmul, isDescriptor, 1, 1, required},
    {kindOperationMatmul, opMatmulA, isDescriptor, 1, 1, required},
    {kindOperationMatmul, opMatmulB, isDescriptor, 1, 1, required},
    {kindOperationMatmul, opMatmulC, isDescriptor, 1, 1, required},
    {kindOperationReduction, opReduction, isDescriptor, 1, 1, required},
    {kindOperationReduction, opReductionX, isDescriptor, 1, 1, required},
    {kindOperationReduction, opReductionY, isDescriptor, 1, 1, required},
    {kindOperationReshape, opReshapeX, isDescriptor, 1, 1, required},
    {kindOperationReshape, opReshapeY, isDescriptor, 1, 1, required},
    {kindGraph, graphHandle, isHandle, 1, 1, required},
    {kindGraph, graphOperations, isDescriptor, 1, any, required},
    {kindHeuristic, heuristicGraph, isDescriptor, 1, 1, required},
    {kindHeuristic, heuristicMode, isHeuristicMode, 1, 1, required},
    {kindPlan, planHandle, isHandle, 1, 1, required},
    {kindPlan, planConfig, isDescriptor, 1, 1, required},
    {kindVariantPack, packIds, isInt64, 1, any, required},
    {kindVariantPack, packPointers, isVoidPointer, 1, any, required},
    {kindVariantPack, packWorkspace, isVoidPointer, 1, 1, optional},
};
/// Kinds that only heuristics make.
constexpr int withoutRules[] = {kindEngine, kindEngineConfig};

} // namespace

bool dnn::isKnown(int kind) {
  return std::count(std::begin(withoutRules), std::end(withoutRules), kind) ||
         std::any_of(std::begin(rules), std::end(rules), [&](auto &r) { return r.kind == kind; });
}

size_t dnn::bytesOfAttribute(int type) {
  switch (type) {
  case isHandle:
  case isVoidPointer:
  case isDescriptor:
  case isInt64:
    return 8;
  case isBoolean:
    return 1;
  case isDataType:
  case isHeuristicMode:
  case isNumericalNote:
  case isPointwiseMode:
  case isReduction:
    return 4;
  default:
    return 0;
  }
}

Verdict dnn::checkAttribute(int kind, int attribute, int type, int64_t count) {
  for (const Rule &rule : rules) {
    if (rule.kind != kind || rule.attribute != attribute)
      continue;
    if (rule.type != type)
      return {attributeType,
              format("attribute %d has type %d, not %d", attribute, rule.type, type)};
    if (count < rule.least || count > rule.most)
      return {badParam, format("attribute %d has %lld to %lld values, not %lld", attribute,
                               (long long)rule.least, (long long)rule.most, (long long)count)};
    return {};
  }
  return {badParam, format("descriptors of kind %d have no attribute %d", kind, attribute)};
}

Verdict dnn::checkComplete(const Descriptor &descriptor) {
  for (const Rule &rule : rules)
    if (rule.kind == descriptor.kind && rule.need == required &&
        !descriptor.attributes.count(rule.attribute) && !descriptor.parts.count(rule.attribute))
      return {badParam, format("a descriptor of kind %d lacks attribute %d", descriptor.kind,
                               rule.attribute)};
  return {};
}

//===- ModelInfo.h - the weights and lists of a model ----------------------===//
#ifndef TPLAN_PARSE_MODELINFO_H
#define TPLAN_PARSE_MODELINFO_H

#include "dialects/tplan/Tplan.h"
#include <string>
#include <vector>

namespace tplan::parse {

/// A weight, by its path from the layer or model that holds it.
struct WeightInfo {
  std::string path;
  nn::Tensor type;
  nn::ParamKind kind;
  // In a list: {i} stands for first, first + step, ... (count of them).
  int64_t count = 1, first = 0, step = 0;
};

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

} // namespace tplan::parse

#endif // TPLAN_PARSE_MODELINFO_H

//===- cudnn_graph.cpp - graphs of operations in the stand-in for cuDNN -------------===//

#include "cudnn_graph.h"

#include "libraries.h"

#include <algorithm>
#include <set>

using namespace standin;
using namespace standin::dnn;

namespace {

Verdict refuse(int status, const std::string &why) { return {status, why}; }

std::string spell(const Tensor &it) {
  return format("tensor %lld [%lld, %lld, %lld, %lld]", (long long)it.id, (long long)it.dims[0],
                (long long)it.dims[1], (long long)it.dims[2], (long long)it.dims[3]);
}

Verdict makeTensor(const Descriptor &from, Tensor &tensor) {
  auto dims = from.all<int64_t>(tensorDims), strides = from.all<int64_t>(tensorStrides);
  if (dims.size() != 4 || strides.size() != 4)
    return refuse(notSupported, "a tensor that has not four dimensions");
  std::copy_n(dims.begin(), 4, tensor.dims.begin());
  std::copy_n(strides.begin(), 4, tensor.strides.begin());
  tensor.id = from.value<int64_t>(tensorId);
  tensor.type = from.value<int>(tensorType);
  tensor.alignment = from.value<int64_t>(tensorAlignment);
  tensor.isVirtual = from.value<bool>(tensorVirtual);
  tensor.isByValue = from.value<bool>(tensorByValue);
  if (!bytesOf(tensor.type))
    return refuse(notSupported,
                  format("%s: no model of type %d", spell(tensor).c_str(), tensor.type));
  if (*std::min_element(dims.begin(), dims.end()) < 1 ||
      *std::min_element(strides.begin(), strides.end()) < 1)
    return refuse(badParam, spell(tensor) + ": sizes and strides are positive");
  if (tensor.alignment < 1 || tensor.alignment & (tensor.alignment - 1))
    return refuse(badParam, spell(tensor) + ": an alignment is a power of two");
  if (tensor.isByValue && (tensor.isVirtual || tensor.elements() != 1))
    return refuse(badParam, spell(tensor) + ": by value is one number that the caller has");
  return {};
}

/// Whether each size of `of` is that of y, or divides it as `mayShare` allows: 1, or fewer heads.
bool broadcasts(const Sizes &of, const Sizes &to, bool sharesHeads) {
  for (int i = 0; i < 4; ++i)
    if (of[i] != to[i] && of[i] != 1 && !(sharesHeads && i == 1 && to[1] % of[1] == 0))
      return false;
  return true;
}

Verdict checkMatmul(const Tensor &a, const Tensor &b, const Tensor &c) {
  bool fits = a.dims[0] == c.dims[0] && a.dims[1] == c.dims[1] && b.dims[0] == c.dims[0] &&
              c.dims[1] % b.dims[1] == 0 && a.dims[2] == c.dims[2] && b.dims[3] == c.dims[3] &&
              a.dims[3] == b.dims[2];
  if (!fits)
    return refuse(shapeMismatch,
                  "a product of " + spell(a) + " and " + spell(b) + " is not " + spell(c));
  return {};
}

Verdict checkPointwise(const Graph &graph, const Operation &it, int precision) {
  const Tensor &x = graph.tensors.at(it.x), &y = graph.tensors.at(it.y);
  int operands =
      it.mode == pwSelect                                                                   ? 3
      : it.mode == pwExp || it.mode == pwLog || it.mode == pwIdentity || it.mode == pwIndex ? 1
                                                                                            : 2;
  if ((it.b != 0) != (operands > 1) || (it.t != 0) != (operands > 2))
    return refuse(badParam, format("pointwise mode %d has %d operands", it.mode, operands));
  for (int64_t id : {it.x, it.b, it.t})
    if (id && !broadcasts(graph.tensors.at(id).dims, y.dims, false))
      return refuse(shapeMismatch,
                    spell(graph.tensors.at(id)) + " does not broadcast to " + spell(y));
  bool compares = it.mode == pwGreater || it.mode == pwGreaterEqual;
  if ((y.type == typeBool) != compares || (compares && precision != typeBool))
    return refuse(badParam, "comparisons, and no other operations, are of and in booleans");
  if (it.t && graph.tensors.at(it.t).type != typeBool)
    return refuse(badParam, "a choice is by a boolean");
  if (it.mode == pwIndex && (x.dims != y.dims || y.type != typeI32 || it.axis < 0 || it.axis > 3))
    return refuse(badParam, "positions are i32, along an axis of x");
  return {};
}

Verdict checkReduction(const Tensor &x, const Tensor &y) {
  if (!broadcasts(y.dims, x.dims, true))
    return refuse(shapeMismatch, spell(x) + " does not reduce to " + spell(y));
  return {};
}

/// Elements keep their places in memory.
Verdict checkReshape(const Tensor &x, const Tensor &y) {
  Sizes turned = {x.dims[0], x.dims[1], x.dims[3], x.dims[2]},
        strides = {x.strides[0], x.strides[1], x.strides[3], x.strides[2]};
  if (y.dims != turned || (y.strides != strides))
    return refuse(graphPattern, spell(y) + " is not " + spell(x) + " with its last axes changed");
  return {};
}

class GraphMaker {
public:
  explicit GraphMaker(Graph &graph) : graph(graph) {}

  Verdict add(const Descriptor &from) {
    Operation it;
    it.kind = from.kind;
    int precision = typeF32;
    Verdict verdict;
    auto operand = [&](int attribute, int64_t &id) {
      if (const Descriptor *part = from.part(attribute); part && verdict.ok())
        verdict = addTensor(*part, id);
    };
    switch (from.kind) {
    case kindOperationMatmul:
      operand(opMatmulA, it.x), operand(opMatmulB, it.b), operand(opMatmulC, it.y);
      precision = from.part(opMatmul)->value<int>(matmulPrecision);
      break;
    case kindOperationPointwise:
      operand(opPointwiseX, it.x), operand(opPointwiseB, it.b), operand(opPointwiseT, it.t);
      operand(opPointwiseY, it.y);
      it.mode = from.part(opPointwise)->value<int>(pointwiseMode);
      it.axis = from.part(opPointwise)->value<int64_t>(pointwiseAxis, -1);
      precision = from.part(opPointwise)->value<int>(pointwisePrecision);
      break;
    case kindOperationReduction:
      operand(opReductionX, it.x), operand(opReductionY, it.y);
      it.mode = from.part(opReduction)->value<int>(reductionOperator);
      precision = from.part(opReduction)->value<int>(reductionPrecision);
      break;
    case kindOperationReshape:
      operand(opReshapeX, it.x), operand(opReshapeY, it.y);
      break;
    default:
      return refuse(badParam, format("a descriptor of kind %d is no operation", from.kind));
    }
    if (verdict.ok())
      verdict = check(it, precision);
    graph.operations.push_back(it);
    return verdict;
  }

  /// Values in between have one producer; operations are put after those that they read.
  Verdict sort() {
    std::set<int64_t> made;
    for (auto &[id, tensor] : graph.tensors) {
      int64_t producers = std::count_if(graph.operations.begin(), graph.operations.end(),
                                        [&, id = id](auto &op) { return op.y == id; });
      if (producers > 1 || (producers && tensor.isByValue))
        return refuse(badParam, spell(tensor) + " is made twice, or is the caller's");
      if (!producers && tensor.isVirtual)
        return refuse(badParam, spell(tensor) + " is made by nothing");
      if (!producers)
        made.insert(id);
    }
    std::vector<Operation> left = std::move(graph.operations);
    graph.operations.clear();
    auto isReady = [&](const Operation &it) {
      return made.count(it.x) && (!it.b || made.count(it.b)) && (!it.t || made.count(it.t));
    };
    while (!left.empty()) {
      auto next = std::find_if(left.begin(), left.end(), isReady);
      if (next == left.end())
        return refuse(badParam, "a graph with a cycle");
      made.insert(next->y);
      graph.operations.push_back(*next);
      left.erase(next);
    }
    return {};
  }

private:
  Graph &graph;

  Verdict addTensor(const Descriptor &from, int64_t &id) {
    if (from.kind != kindTensor)
      return refuse(badParam, "an operand that is no tensor");
    Tensor tensor;
    if (Verdict verdict = makeTensor(from, tensor); !verdict.ok())
      return verdict;
    id = tensor.id;
    if (id == 0)
      return refuse(notSupported, "no model of a tensor with the id 0");
    auto [at, added] = graph.tensors.insert({id, tensor});
    if (!added && !(at->second == tensor))
      return refuse(duplicated, format("two tensors have the id %lld", (long long)id));
    return {};
  }

  Verdict check(const Operation &it, int precision) {
    bool isComparison =
        it.kind == kindOperationPointwise && (it.mode == pwGreater || it.mode == pwGreaterEqual);
    if (precision != (isComparison ? typeBool : typeF32))
      return refuse(notSupported, format("no model of the precision %d", precision));
    const Tensor &x = graph.tensors.at(it.x), &y = graph.tensors.at(it.y);
    if (it.kind == kindOperationMatmul)
      return checkMatmul(x, graph.tensors.at(it.b), y);
    if (it.kind == kindOperationPointwise)
      return checkPointwise(graph, it, precision);
    return it.kind == kindOperationReduction ? checkReduction(x, y) : checkReshape(x, y);
  }
};

} // namespace

int64_t Tensor::extent() const {
  int64_t last = 0;
  for (int i = 0; i < 4; ++i)
    last += (dims[i] - 1) * strides[i];
  return last + 1;
}

size_t dnn::bytesOf(int dataType) {
  switch (dataType) {
  case typeF32:
  case typeI32:
    return 4;
  case typeBf16:
  case typeF16:
    return 2;
  case typeBool:
    return 1;
  default:
    return 0;
  }
}

const Operation *Graph::producerOf(int64_t id) const {
  for (const Operation &it : operations)
    if (it.y == id)
      return &it;
  return nullptr;
}

std::vector<int64_t> Graph::givenIds() const {
  std::vector<int64_t> ids;
  for (auto &[id, tensor] : tensors)
    if (!tensor.isVirtual)
      ids.push_back(id);
  return ids;
}

Verdict dnn::makeGraph(const std::vector<std::shared_ptr<const Descriptor>> &operations,
                       Graph &graph) {
  GraphMaker maker(graph);
  for (auto &operation : operations)
    if (Verdict verdict = maker.add(*operation); !verdict.ok())
      return verdict;
  return maker.sort();
}

//===- cudnn_engines.cpp - engines of the stand-in for cuDNN -------------------------===//
//
// The library's flash engines match patterns: the same mathematics in another order finds no
// engine. This does the same: it spells how each array is made, and compares that with attention.
//
// One decision: three engines that must not be taken come before the one that may. One adds in the
// order in which blocks come, one fails to compile, one needs more workspace than there is.
//
//===----------------------------------------------------------------------===//

#include "cudnn_graph.h"

#include "libraries.h"

#include <algorithm>

using namespace standin;
using namespace standin::dnn;

namespace {

/// What a value is made of, down to arrays ("in") and numbers ("c").
std::string spell(const Graph &graph, int64_t id) {
  const Operation *it = graph.producerOf(id);
  if (!it)
    return graph.tensors.at(id).isByValue ? "c" : "in";
  auto of = [&](const char *name, std::initializer_list<int64_t> operands) {
    std::string text = name;
    for (const int64_t &operand : operands)
      text += (&operand == operands.begin() ? "(" : ",") + spell(graph, operand);
    return text + ")";
  };
  if (it->kind == kindOperationMatmul)
    return of("mm", {it->x, it->b});
  if (it->kind == kindOperationReshape)
    return of("turn", {it->x});
  if (it->kind == kindOperationReduction) {
    const Tensor &y = graph.tensors.at(it->y);
    bool ofRow = y.dims[3] == 1;
    return of(it->mode == reduceMax ? "max" : ofRow ? "sum" : "heads", {it->x});
  }
  switch (it->mode) {
  case pwAdd:
    return of("add", {it->x, it->b});
  case pwMul:
    return of("mul", {it->x, it->b});
  case pwDiv:
    return of("div", {it->x, it->b});
  case pwSub:
    return of("sub", {it->x, it->b});
  case pwGreater:
    return of("gt", {it->x, it->b});
  case pwGreaterEqual:
    return of("ge", {it->x, it->b});
  case pwExp:
    return of("exp", {it->x});
  case pwLog:
    return of("log", {it->x});
  case pwIdentity:
    return of("same", {it->x});
  case pwIndex:
    return of(it->axis == 2 ? "row" : "column", {it->x});
  default:
    return of("select", {it->x, it->b, it->t});
  }
}

/// Scores as they may be masked.
std::vector<std::string> masked(const std::string &x) {
  auto causal = [](const std::string &y) {
    return "select(" + y + ",c,ge(row(" + y + "),column(" + y + ")))";
  };
  auto window = [](const std::string &y) {
    return "select(" + y + ",c,gt(add(column(" + y + "),c),row(" + y + ")))";
  };
  return {x, causal(x), window(x), window(causal(x))};
}

/// What a pass leaves in memory, in one of the ways that it may be written.
struct Pattern {
  bool isBackward = false, isDeterministic = true;
  std::vector<std::string> outputs;
};

std::vector<Pattern> patterns() {
  std::vector<Pattern> all;
  for (const std::string &x : masked("mul(mm(in,in),c)")) {
    std::string e = "exp(sub(" + x + ",max(" + x + ")))";
    all.push_back(
        {false,
         true,
         {"mm(div(" + e + ",sum(" + e + ")),in)", "add(max(" + x + "),log(sum(" + e + ")))"}});
  }
  for (const std::string &x : masked("sub(mul(mm(in,in),c),in)"))
    for (bool sharesHeads : {false, true})
      for (bool isDeterministic : {false, true}) {
        std::string p = "exp(" + x + ")", sums = "mul(sum(mul(in,in)),c)";
        std::string d = "mul(mul(sub(mm(in,in)," + sums + ")," + p + "),c)";
        auto gradient = [&](const std::string &y) {
          std::string product = "mm(turn(" + y + "),in)";
          return sharesHeads ? "heads(" + product + ")" : product;
        };
        std::string q = "mm(" + d + ",turn(in))";
        Pattern pattern{true, isDeterministic, {sums, gradient(p), gradient(d), q}};
        if (!isDeterministic)
          pattern.outputs.push_back("same(" + q + ")");
        all.push_back(pattern);
      }
  for (Pattern &pattern : all)
    std::sort(pattern.outputs.begin(), pattern.outputs.end());
  return all;
}

int64_t whole(int64_t rows) { return (rows + 63) / 64 * 64; }

/// The number that cuDNN 9.19 answers on an H100.
int64_t workspaceOf(const Pattern &pattern, const Tensor &q, const Tensor &k, int64_t keys) {
  if (!pattern.isBackward)
    return 256;
  int64_t heads = q.dims[0] * q.dims[1];
  int64_t bytes = pattern.isDeterministic ? 2 * heads * whole(q.dims[2]) * whole(keys) : 0;
  if (q.dims[1] != k.dims[1])
    bytes += 2 * 2 * heads * keys * q.dims[3];
  return bytes + 256;
}

} // namespace

Verdict dnn::findEngines(std::shared_ptr<const Graph> graph, int mode,
                         std::vector<Engine> &engines) {
  std::vector<std::string> outputs;
  for (int64_t id : graph->givenIds())
    if (graph->producerOf(id))
      outputs.push_back(spell(*graph, id));
  std::sort(outputs.begin(), outputs.end());
  std::vector<Pattern> known = patterns();
  auto pattern = std::find_if(known.begin(), known.end(),
                              [&](const Pattern &it) { return it.outputs == outputs; });
  if (pattern == known.end())
    return {graphPattern, "no engine knows the graph"};

  // The first product is that of queries and turned keys.
  auto product = std::find_if(graph->operations.begin(), graph->operations.end(), [&](auto &it) {
    return it.kind == kindOperationMatmul && !graph->producerOf(it.x) && !graph->producerOf(it.b);
  });
  const Tensor &q = graph->tensors.at(product->x), &k = graph->tensors.at(product->b);
  int64_t width = q.dims[3], keys = k.dims[3];
  int elements = q.type == typeF16 ? typeF16 : typeBf16; // one for all
  for (int64_t id : graph->givenIds()) {
    const Tensor &it = graph->tensors.at(id);
    bool ofRows = it.dims[3] == 1 || it.isByValue;
    if (it.type != (ofRows ? typeF32 : elements))
      return {notSupported, format("an array of type %d", it.type)};
    bool isTurned = it.dims[2] == width && it.strides[2] == 1;
    if (!it.isByValue && !ofRows && it.strides[3] != 1 && !isTurned)
      return {notSupported, "widths are not contiguous"};
  }
  if (width % 8 || width > 256)
    return {notSupported, format("heads of %lld elements", (long long)width)};
  if (q.dims[2] == 1 && keys == 1)
    return {notSupported, "one query and one key"};

  int64_t workspace = workspaceOf(*pattern, q, k, keys);
  Engine good{graph, pattern->isDeterministic, true, workspace};
  if (mode == modeA)
    engines = {{graph, false, true, 0},
               {graph, true, false, 0},
               {graph, true, true, workspace + (int64_t(1) << 40)}};
  engines.push_back(good);
  return {};
}

//===- cudnn_evaluate.cpp - the arithmetic of the stand-in for cuDNN -----------------===//
//
// Each operation over all elements, one after the other, in f32. A value is rounded to its type
// where it is made. Sums ascend.
//
//===----------------------------------------------------------------------===//

#include "cudnn_graph.h"
#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace standin;
using namespace standin::dnn;

namespace {

/// All elements of a tensor, the last axis fastest.
using Elements = std::vector<float>;

float rounded(int type, float x) {
  return type == typeBf16 ? (float)Brain(x) : type == typeF16 ? (float)(Half)x : x;
}

/// Calls body(i, j, k, l, number) for each element.
template <typename Body> void forEach(const Sizes &dims, Body body) {
  int64_t n = 0;
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j)
      for (int64_t k = 0; k < dims[2]; ++k)
        for (int64_t l = 0; l < dims[3]; ++l)
          body(i, j, k, l, n++);
}

int64_t at(const Sizes &strides, int64_t i, int64_t j, int64_t k, int64_t l) {
  return i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
}

/// Where an element is in a tensor that broadcasts: sizes of 1, and heads that several share.
struct Reach {
  Sizes strides;
  int64_t headsEach;
  Reach(const Tensor &it, const Sizes &to) {
    int64_t stride = 1;
    for (int d = 3; d >= 0; --d) {
      strides[d] = it.dims[d] == 1 ? 0 : stride;
      stride *= it.dims[d];
    }
    headsEach = to[1] / it.dims[1];
  }
  int64_t operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return at(strides, i, j / headsEach, k, l);
  }
};

class Evaluation {
public:
  Evaluation(const Graph &graph, const std::map<int64_t, char *> &memory)
      : graph(graph), memory(memory) {}

  void run() {
    for (auto &[id, tensor] : graph.tensors)
      if (!graph.producerOf(id))
        load(tensor);
    for (const Operation &it : graph.operations) {
      const Tensor &y = graph.tensors.at(it.y);
      Elements &to = values[it.y];
      to.assign(y.elements(), 0);
      compute(it, y, to);
      for (float &x : to)
        x = rounded(y.type, x);
      if (!y.isVirtual)
        store(y);
    }
  }

private:
  const Graph &graph;
  const std::map<int64_t, char *> &memory;
  std::map<int64_t, Elements> values;

  void load(const Tensor &it) {
    Elements &to = values[it.id];
    to.resize(it.elements());
    const char *from = memory.at(it.id);
    forEach(it.dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
      const char *place = from + at(it.strides, i, j, k, l) * bytesOf(it.type);
      if (it.type == typeF32) {
        memcpy(&to[n], place, 4);
      } else if (it.type == typeF16) {
        Half bits;
        memcpy(&bits, place, 2);
        to[n] = (float)bits;
      } else {
        Brain bits;
        memcpy(&bits, place, 2);
        to[n] = (float)bits;
      }
    });
  }

  void store(const Tensor &it) {
    const Elements &from = values[it.id];
    char *to = memory.at(it.id);
    forEach(it.dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
      char *place = to + at(it.strides, i, j, k, l) * bytesOf(it.type);
      Brain brain(from[n]);
      auto half = (Half)from[n];
      const void *bits = it.type == typeF16 ? (const void *)&half : &brain;
      it.type == typeF32 ? memcpy(place, &from[n], 4) : memcpy(place, bits, 2);
    });
  }

  void compute(const Operation &it, const Tensor &y, Elements &to) {
    switch (it.kind) {
    case kindOperationMatmul:
      return multiply(it, y, to);
    case kindOperationPointwise:
      return pointwise(it, y, to);
    case kindOperationReduction:
      return reduce(it, y, to);
    default:
      return turn(it, y, to);
    }
  }

  void multiply(const Operation &it, const Tensor &y, Elements &to) {
    const Tensor &a = graph.tensors.at(it.x), &b = graph.tensors.at(it.b);
    const Elements &left = values.at(it.x), &right = values.at(it.b);
    int64_t rows = y.dims[2], columns = y.dims[3], depth = a.dims[3];
    int64_t headsEach = y.dims[1] / b.dims[1];
    for (int64_t i = 0; i < y.dims[0]; ++i)
      for (int64_t j = 0; j < y.dims[1]; ++j) {
        const float *x = left.data() + (i * a.dims[1] + j) * rows * depth;
        const float *z = right.data() + (i * b.dims[1] + j / headsEach) * depth * columns;
        float *sum = to.data() + (i * y.dims[1] + j) * rows * columns;
        for (int64_t k = 0; k < rows; ++k)
          for (int64_t p = 0; p < depth; ++p)
            for (int64_t l = 0; l < columns; ++l)
              sum[k * columns + l] += x[k * depth + p] * z[p * columns + l];
      }
  }

  static float apply(int mode, float x, float b, float t) {
    switch (mode) {
    case pwAdd:
      return x + b;
    case pwMul:
      return x * b;
    case pwDiv:
      return x / b;
    case pwSub:
      return x - b;
    case pwExp:
      return std::exp(x);
    case pwLog:
      return std::log(x);
    case pwGreater:
      return x > b;
    case pwGreaterEqual:
      return x >= b;
    case pwSelect:
      return t != 0 ? x : b;
    default:
      return x;
    }
  }

  void pointwise(const Operation &it, const Tensor &y, Elements &to) {
    if (it.mode == pwIndex)
      return forEach(y.dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
        const int64_t position[] = {i, j, k, l};
        to[n] = (float)position[it.axis];
      });
    int64_t b = it.b ? it.b : it.x, t = it.t ? it.t : it.x;
    const Elements &xs = values.at(it.x), &bs = values.at(b), &ts = values.at(t);
    Reach xAt(graph.tensors.at(it.x), y.dims), bAt(graph.tensors.at(b), y.dims),
        tAt(graph.tensors.at(t), y.dims);
    forEach(y.dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
      to[n] = apply(it.mode, xs[xAt(i, j, k, l)], bs[bAt(i, j, k, l)], ts[tAt(i, j, k, l)]);
    });
  }

  void reduce(const Operation &it, const Tensor &y, Elements &to) {
    const Tensor &x = graph.tensors.at(it.x);
    const Elements &from = values.at(it.x);
    if (it.mode == reduceMax)
      std::fill(to.begin(), to.end(), -INFINITY);
    Reach yAt(y, x.dims);
    forEach(x.dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
      float &sum = to[yAt(i, j, k, l)];
      sum = it.mode == reduceMax ? std::fmax(sum, from[n]) : sum + from[n];
    });
  }

  void turn(const Operation &it, const Tensor &y, Elements &to) {
    const Elements &from = values.at(it.x);
    const Sizes &dims = y.dims;
    forEach(dims, [&](int64_t i, int64_t j, int64_t k, int64_t l, int64_t n) {
      to[n] = from[((i * dims[1] + j) * dims[3] + l) * dims[2] + k];
    });
  }
};

} // namespace

void dnn::evaluate(const Graph &graph, const std::map<int64_t, char *> &memory) {
  Evaluation(graph, memory).run();
}

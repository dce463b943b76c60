//===- attention-reference.cpp - attention by its definition, in double ---===//
#include "test/lower/attention-reference.h"
#include "mlir/AsmParser/AsmParser.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace tplan::test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Problem and tensors
//===----------------------------------------------------------------------===//

int64_t Problem::size(char dim) const {
  switch (dim) {
  case 'B':
    return batch;
  case 'C':
    return batch2;
  case 'S':
    return queries;
  case 'T':
    return keys;
  case 'H':
    return heads;
  case 'G':
    return groups;
  default:
    return width;
  }
}

static std::string typeOf(const Problem &p, const std::string &order, const std::string &element) {
  std::string text = "!nn.tensor<[";
  for (char dim : order)
    text +=
        (text.back() == '[' ? "" : ", ") + std::string(1, dim) + " " + std::to_string(p.size(dim));
  return text + "], " + element + ">";
}

/// `queries [50, 20]`
static std::string piecesText(const std::string &side, const std::vector<Piece> &pieces) {
  std::string text = " " + side + " [";
  for (const Piece &piece : pieces)
    text += (text.back() == '[' ? "" : ", ") + std::to_string(piece.size);
  return pieces.empty() ? "" : text + "]";
}

static std::string sumElement(const Problem &p) { return p.element == "f64" ? "f64" : "f32"; }

std::string Problem::text(const std::string &pass) const {
  std::string q = typeOf(*this, qOrder, element), k = typeOf(*this, kOrder, element);
  std::string lse = typeOf(*this, lseOrder, sumElement(*this));
  std::string starts;
  for (size_t i = 0; i < qPieces.size() + kPieces.size(); ++i)
    starts += ", !nn.tensor<[], i32>";
  std::string type = "(" + q + ", " + k + ", " + k + starts + ") -> (" + q + ", " + lse + ")";
  if (pass == "backward") {
    type = "(" + q + ", " + k + ", " + k + ", " + q + ", " + lse + ", " + lse + starts + ") -> (" +
           q + ", " + k + ", " + k;
    if (element == "bf16" || element == "f16")
      type += ", " + typeOf(*this, qOrder, "f32");
    type += ")";
  }
  char number[40];
  snprintf(number, sizeof number, "%.17e", scale);
  return "rt.tile @tile " + pass + " : " + type + piecesText("queries", qPieces) +
         piecesText("keys", kPieces) +
         " <query = \"S\", key = \"T\", heads = \"H\", groups = \"G\", scale = " + number +
         ", mask = <" + mask + ">>";
}

static int64_t positionOf(const std::vector<Piece> &pieces, int64_t row) {
  int64_t begin = 0;
  for (const Piece &piece : pieces) {
    if (row < begin + piece.size)
      return piece.start + row - begin;
    begin += piece.size;
  }
  return row;
}
int64_t Problem::qPosition(int64_t row) const { return positionOf(qPieces, row); }
int64_t Problem::kPosition(int64_t row) const { return positionOf(kPieces, row); }

Tensor::Tensor(const Problem &p, const std::string &order) : order(order) {
  size_t n = 1;
  for (char dim : llvm::reverse(order)) {
    strides[dim] = n;
    n *= p.size(dim);
  }
  data.assign(n, 0.0);
}

std::vector<Problem> tplan::test::shapes() {
  std::vector<Problem> list(6);
  list[0].queries = list[0].keys = 333;
  list[1].qOrder = "SHK", list[1].kOrder = "TGK", list[1].lseOrder = "SH"; // no batch
  list[1].queries = 40, list[1].keys = 259, list[1].width = 72, list[1].mask = "all";
  list[2].qOrder = "BHCSK", list[2].kOrder = "GTBCK", list[2].lseOrder = "CHSB";
  list[2].queries = 100, list[2].keys = 65, list[2].heads = 3, list[2].groups = 1;
  list[2].width = 20; // squares, and what is left of them
  list[3].queries = 5, list[3].keys = 3, list[3].width = 7, list[3].heads = list[3].groups = 1;
  list[4].queries = list[4].keys = 128, list[4].width = 64, list[4].batch = 1;
  list[5].queries = 70, list[5].keys = 90, list[5].width = 256, list[5].batch = 1;
  for (Problem &p : list)
    p.scale = 1 / std::sqrt(p.width);
  return list;
}

static double rounded(const Problem &p, double x) {
  if (p.element == "f64")
    return x;
  float f = static_cast<float>(x);
  if (p.element == "bf16")
    f = std::bit_cast<float>(std::bit_cast<uint32_t>(f) & 0xffff0000u);
  if (p.element == "f16")
    f = static_cast<float>(static_cast<_Float16>(f));
  return f;
}

Tensors tplan::test::randomTensors(const Problem &p) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Tensors t;
  for (auto [name, order] :
       {std::pair("q", p.qOrder), std::pair("k", p.kOrder), std::pair("v", p.kOrder),
        std::pair("d_out", p.qOrder), std::pair("d_lse", p.lseOrder)}) {
    t[name] = Tensor(p, order);
    for (double &x : t[name].data)
      x = rounded(p, normal(random));
  }
  return t;
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

tplan::nn::MaskAttr tplan::test::parseMask(const Problem &p, mlir::MLIRContext &context) {
  context.loadDialect<tplan::nn::NNDialect>();
  return llvm::cast<tplan::nn::MaskAttr>(
      mlir::parseAttribute("#nn.mask<" + p.mask + ">", &context));
}

/// Calls `row` for each (batch, head, query) with the keys that it sees.
template <typename Row> static void forEachRow(const Problem &p, Row row) {
  mlir::MLIRContext context;
  tplan::nn::MaskAttr mask = parseMask(p, context);
  bool twoBatches = p.qOrder.find('C') != std::string::npos;
  bool oneBatch = p.qOrder.find('B') != std::string::npos;
  Index i{};
  for (i['B'] = 0; i['B'] < (oneBatch ? p.batch : 1); ++i['B'])
    for (i['C'] = 0; i['C'] < (twoBatches ? p.batch2 : 1); ++i['C'])
      for (i['H'] = 0; i['H'] < p.heads; ++i['H'])
        for (i['S'] = 0; i['S'] < p.queries; ++i['S']) {
          i['G'] = i['H'] / (p.heads / p.groups);
          std::vector<int64_t> keys;
          for (int64_t key = 0; key < p.keys; ++key)
            if (mask.sees(p.qPosition(i['S']), p.kPosition(key)))
              keys.push_back(key);
          row(i, keys);
        }
}

static double dot(const Problem &p, Tensor &a, Tensor &b, Index i, int64_t key) {
  double sum = 0;
  i['T'] = key;
  for (i['K'] = 0; i['K'] < p.width; ++i['K'])
    sum += a.at(i) * b.at(i);
  return sum;
}

/// Probabilities of the keys of a row, and its log-sum-exp.
static std::vector<double> softmax(const Problem &p, Tensor &q, Tensor &k, const Index &i,
                                   const std::vector<int64_t> &keys, double &lse) {
  std::vector<double> s;
  double max = -kInfinity, sum = 0;
  for (int64_t key : keys)
    max = std::max(max, s.emplace_back(p.scale * dot(p, q, k, i, key)));
  for (double &x : s)
    sum += x = std::exp(x - max);
  for (double &x : s)
    x /= sum;
  lse = keys.empty() ? -kInfinity : max + std::log(sum);
  return s;
}

void tplan::test::referenceForward(const Problem &p, Tensors &t) {
  Tensor &q = t["q"], &k = t["k"], &v = t["v"];
  Tensor &out = t["out"] = Tensor(p, p.qOrder), &lse = t["lse"] = Tensor(p, p.lseOrder);
  forEachRow(p, [&](Index i, const std::vector<int64_t> &keys) {
    std::vector<double> weights = softmax(p, q, k, i, keys, lse.at(i));
    for (size_t n = 0; n < keys.size(); ++n) {
      i['T'] = keys[n];
      for (i['K'] = 0; i['K'] < p.width; ++i['K'])
        out.at(i) += weights[n] * v.at(i);
    }
  });
}

void tplan::test::referenceDelta(const Problem &p, Tensors &t) {
  Tensor &out = t["out"], &dOut = t["d_out"], &dLse = t["d_lse"];
  Tensor &delta = t["delta"] = Tensor(p, p.lseOrder);
  forEachRow(p, [&](Index i, const std::vector<int64_t> &) {
    delta.at(i) = dot(p, out, dOut, i, 0) - dLse.at(i);
  });
}

void tplan::test::referenceBackward(const Problem &p, Tensors &t) {
  Tensor &q = t["q"], &k = t["k"], &v = t["v"], &dOut = t["d_out"], &dLse = t["d_lse"];
  Tensor &dQ = t["d_q"] = Tensor(p, p.qOrder), &dK = t["d_k"] = Tensor(p, p.kOrder);
  Tensor &dV = t["d_v"] = Tensor(p, p.kOrder);
  forEachRow(p, [&](Index i, const std::vector<int64_t> &keys) {
    double lse, mean = 0;
    std::vector<double> weights = softmax(p, q, k, i, keys, lse), dp;
    for (size_t n = 0; n < keys.size(); ++n)
      mean += weights[n] * dp.emplace_back(dot(p, dOut, v, i, keys[n]));
    for (size_t n = 0; n < keys.size(); ++n) {
      double ds = p.scale * weights[n] * (dp[n] - mean + dLse.at(i));
      i['T'] = keys[n];
      for (i['K'] = 0; i['K'] < p.width; ++i['K']) {
        dV.at(i) += weights[n] * dOut.at(i);
        dK.at(i) += ds * q.at(i);
        dQ.at(i) += ds * k.at(i);
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Running kernels
//===----------------------------------------------------------------------===//

static size_t bytesOf(const std::string &element) {
  return element == "f64" ? 8 : element == "f32" || element == "i32" ? 4 : 2;
}

namespace {
/// Bytes with a page before and after them that may not be touched. They end where the
/// page does, or as near as an aligned begin allows; what is left there keeps its bits.
class Guarded {
public:
  explicit Guarded(size_t bytes, size_t alignment)
      : bytes(bytes), padded((bytes + alignment - 1) / alignment * alignment) {
    size_t page = sysconf(_SC_PAGESIZE);
    inner = (bytes + page - 1) / page * page;
    whole = inner + 2 * page;
    void *at = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(static_cast<char *>(at) + page, inner, PROT_READ | PROT_WRITE))
      abort();
    base = static_cast<char *>(at);
    data = base + page + inner - padded;
    memset(data, 0xff, padded);
  }
  Guarded(Guarded &&other)
      : data(other.data), bytes(other.bytes), padded(other.padded), base(other.base),
        inner(other.inner), whole(other.whole) {
    other.base = nullptr;
  }
  ~Guarded() {
    if (base)
      munmap(base, whole);
  }
  bool isPaddingIntact() const {
    return std::all_of(data + bytes, data + padded, [](char c) { return c == char(0xff); });
  }
  char *data;
  size_t bytes, padded;

private:
  char *base;
  size_t inner, whole;
};
} // namespace

static void pack(const std::vector<double> &data, const std::string &element, char *to) {
  size_t bytes = bytesOf(element);
  for (size_t i = 0; i < data.size(); ++i) {
    float f = static_cast<float>(data[i]);
    uint16_t high = std::bit_cast<uint32_t>(f) >> 16;
    if (element == "f16")
      high = std::bit_cast<uint16_t>(static_cast<_Float16>(f));
    auto number = static_cast<int32_t>(data[i]);
    const void *from = element == "f64"   ? (const void *)&data[i]
                       : element == "i32" ? (const void *)&number
                       : element == "f32" ? (const void *)&f
                                          : (const void *)&high;
    memcpy(to + i * bytes, from, bytes);
  }
}

static double element(const char *from, const std::string &type) {
  if (type == "f64") {
    double x;
    memcpy(&x, from, sizeof x);
    return x;
  }
  uint32_t bits = 0;
  if (type == "f16") {
    _Float16 half;
    memcpy(&half, from, sizeof half);
    return static_cast<float>(half);
  }
  if (type == "f32")
    memcpy(&bits, from, 4);
  else
    memcpy(reinterpret_cast<char *>(&bits) + 2, from, 2);
  return std::bit_cast<float>(bits);
}

namespace {
struct Argument {
  std::string name, order, element;
};
} // namespace

static void runKernel(const AttentionKernel &kernel, const Problem &p, Tensors &t,
                      std::vector<Argument> inputs, const std::vector<Argument> &outputs) {
  for (const std::vector<Piece> *pieces : {&p.qPieces, &p.kPieces})
    for (const Piece &piece : *pieces) {
      inputs.push_back({"start" + std::to_string(inputs.size()), "", "i32"});
      Tensor &start = t[inputs.back().name] = Tensor(p, "");
      start.data = {static_cast<double>(piece.start)};
    }
  std::vector<Guarded> memory;
  std::vector<void *> args;
  for (const Argument &in : inputs) {
    memory.emplace_back(t[in.name].data.size() * bytesOf(in.element), kernel.alignment());
    pack(t[in.name].data, in.element, memory.back().data);
  }
  for (const Argument &out : outputs) {
    t[out.name] = Tensor(p, out.order);
    memory.emplace_back(t[out.name].data.size() * bytesOf(out.element), kernel.alignment());
  }
  for (Guarded &m : memory)
    args.push_back(m.data);
  kernel.run(args);
  for (Guarded &m : memory)
    if (!m.isPaddingIntact())
      abort();
  for (size_t n = 0; n < outputs.size(); ++n) {
    const Argument &out = outputs[n];
    const char *from = memory[inputs.size() + n].data;
    for (size_t i = 0; i < t[out.name].data.size(); ++i)
      t[out.name].data[i] = element(from + i * bytesOf(out.element), out.element);
  }
}

void tplan::test::runForward(const Problem &p, Tensors &t, const AttentionKernel &kernel) {
  const std::string &e = p.element;
  runKernel(kernel, p, t, {{"q", p.qOrder, e}, {"k", p.kOrder, e}, {"v", p.kOrder, e}},
            {{"out", p.qOrder, e}, {"lse", p.lseOrder, sumElement(p)}});
}

void tplan::test::runBackward(const Problem &p, Tensors &t, const AttentionKernel &kernel) {
  const std::string &e = p.element, sum = sumElement(p);
  std::vector<Argument> outputs = {
      {"d_q", p.qOrder, e}, {"d_k", p.kOrder, e}, {"d_v", p.kOrder, e}};
  if (sum != e)
    outputs.push_back({"workspace", p.qOrder, sum});
  runKernel(kernel, p, t,
            {{"q", p.qOrder, e},
             {"k", p.kOrder, e},
             {"v", p.kOrder, e},
             {"d_out", p.qOrder, e},
             {"lse", p.lseOrder, sum},
             {"delta", p.lseOrder, sum}},
            outputs);
}

void tplan::test::runForward(const Problem &p, Tensors &t, const JitOptions &options) {
  runForward(p, t, AttentionKernel(p.text("forward"), options));
}
void tplan::test::runBackward(const Problem &p, Tensors &t, const JitOptions &options) {
  runBackward(p, t, AttentionKernel(p.text("backward"), options));
}

double tplan::test::difference(const Tensor &a, const Tensor &b) {
  double squares = 0, worst = 0;
  for (double x : b.data)
    squares += std::isfinite(x) ? x * x : 0;
  double mean = std::sqrt(squares / b.data.size());
  for (size_t i = 0; i < b.data.size(); ++i) {
    if (a.data[i] == b.data[i]) // equal infinities too
      continue;
    double d = std::abs(a.data[i] - b.data[i]) / std::max(std::abs(b.data[i]), mean);
    worst = std::max(worst, std::isfinite(d) ? d : kInfinity);
  }
  return worst;
}

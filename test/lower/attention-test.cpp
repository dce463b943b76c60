//===- attention-test.cpp - attention kernels against their definition ----===//
//
// Every case runs the generated code and compares it, element by element, with
// sums over all keys in double precision.
//
//===----------------------------------------------------------------------===//
#include "test/lower/attention-reference.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace tplan;
using namespace tplan::test;

static const char *kMasks[] = {"all",
                               "causal",
                               "and(causal, window(40))",
                               "or(causal, prefix(70))",
                               "window(9)",
                               "or(and(causal, window(20)), prefix(3))"};

static const char *const kElements[] = {"f64", "f32", "bf16", "f16"};

static JitOptions onGpu() {
  JitOptions options;
  options.gpu = true;
  return options;
}

/// Tests of both targets; their parameter is the target.
class Targets : public testing::TestWithParam<const char *> {
protected:
  JitOptions options() const { return GetParam() == std::string("gpu") ? onGpu() : JitOptions(); }
  /// All shapes in all types; GPUs have f64 up to a width of 192.
  std::vector<Problem> problems() const {
    std::vector<Problem> list;
    for (const char *element : kElements)
      for (Problem p : shapes()) {
        p.element = element;
        if (options().gpu && p.element == "f64")
          p.width = std::min<int64_t>(p.width, 192);
        list.push_back(p);
      }
    return list;
  }
};
INSTANTIATE_TEST_SUITE_P(Attention, Targets, testing::Values("cpu", "gpu"),
                         [](auto &info) { return std::string(info.param); });

static double tolerance(const Problem &p) {
  return p.element == "f64" ? 1e-12 : p.element == "f32" ? 1e-5 : 1e-2;
}

static void expectForward(const Problem &p, const JitOptions &options) {
  SCOPED_TRACE(p.text("forward"));
  Tensors t = randomTensors(p);
  Tensors expected = t;
  referenceForward(p, expected);
  runForward(p, t, options);
  EXPECT_LE(difference(t["out"], expected["out"]), tolerance(p));
  EXPECT_LE(difference(t["lse"], expected["lse"]), tolerance(p));
}

static void expectBackward(const Problem &p, const JitOptions &options) {
  SCOPED_TRACE(p.text("backward"));
  Tensors t = randomTensors(p);
  referenceForward(p, t);
  Tensors expected = t;
  referenceBackward(p, expected);
  referenceDelta(p, t);
  runBackward(p, t, options);
  for (const char *name : {"d_q", "d_k", "d_v"})
    EXPECT_LE(difference(t[name], expected[name]), tolerance(p)) << name;
}

TEST_P(Targets, ForwardShapes) {
  for (const Problem &p : problems())
    expectForward(p, options());
}

TEST_P(Targets, BackwardShapes) {
  for (const Problem &p : problems())
    expectBackward(p, options());
}

TEST_P(Targets, Masks) {
  for (const char *mask : kMasks) {
    Problem p;
    p.queries = 150, p.keys = 131, p.mask = mask;
    expectForward(p, options());
    expectBackward(p, options());
  }
}

TEST_P(Targets, RowsThatSeeNoKey) {
  for (const char *element : kElements) {
    Problem p;
    p.element = element;
    p.queries = 150, p.keys = 90;
    p.kPieces = {{90, 77}}; // rows before 77 see nothing
    expectForward(p, options());
    expectBackward(p, options());
    p.mask = "prefix(0)";
    expectForward(p, options());
    expectBackward(p, options());
  }
}

/// Every element that the kernel gives equals the one of the other tensor at the same
/// logical positions.
static double reordered(const Problem &p, Tensor &a, Tensor &b) {
  Tensor moved = a;
  Index i{};
  for (i['B'] = 0; i['B'] < p.batch; ++i['B'])
    for (i['H'] = i['G'] = 0; i['H'] < (a.order[2] == 'H' ? p.heads : p.groups); i['G'] = ++i['H'])
      for (int64_t row = 0; row < (a.order[1] == 'S' ? p.queries : p.keys); ++row)
        for (i['K'] = 0; i['K'] < (a.order.size() == 4 ? p.width : 1); ++i['K']) {
          i['S'] = i['T'] = row;
          double x = a.at(i);
          i['S'] = p.qPosition(row), i['T'] = p.kPosition(row);
          moved.at(i) = x;
        }
  return difference(moved, b);
}

/// Rows in another order of positions, forward and backward.
static void expectReordered(std::vector<Piece> pieces, const JitOptions &options) {
  for (const char *mask : kMasks) {
    Problem whole;
    whole.queries = whole.keys = 200, whole.mask = mask, whole.heads = 2, whole.batch = 1;
    Problem cut = whole;
    cut.qPieces = cut.kPieces = pieces;
    SCOPED_TRACE(cut.text("forward"));
    Tensors t = randomTensors(whole), c = t;
    for (const char *name : {"q", "k", "v", "d_out", "d_lse"}) {
      Index i{};
      Tensor &from = t[name], &to = c[name];
      for (i['H'] = i['G'] = 0; i['H'] < 2; i['G'] = ++i['H'])
        for (int64_t row = 0; row < 200; ++row)
          for (i['K'] = 0; i['K'] < (from.order.size() == 4 ? whole.width : 1); ++i['K']) {
            i['S'] = i['T'] = cut.qPosition(row);
            double x = from.at(i);
            i['S'] = i['T'] = row;
            to.at(i) = x;
          }
    }
    runForward(whole, t, options), runForward(cut, c, options);
    EXPECT_LE(reordered(cut, c["out"], t["out"]), 1e-12);
    EXPECT_LE(reordered(cut, c["lse"], t["lse"]), 1e-12);
    referenceDelta(whole, t), referenceDelta(cut, c);
    runBackward(whole, t, options), runBackward(cut, c, options);
    for (const char *name : {"d_q", "d_k", "d_v"})
      EXPECT_LE(reordered(cut, c[name], t[name]), 1e-12) << name;
  }
}

// Blocks of 50 and 37 rows: tiles lie across their borders.
TEST_P(Targets, ZigZag) { expectReordered({{50, 0}, {50, 150}, {50, 50}, {50, 100}}, options()); }
TEST_P(Targets, LastPieceFirst) { expectReordered({{37, 163}, {163, 0}}, options()); }
TEST_P(Targets, PiecesOfFewRows) {
  expectReordered({{1, 199}, {63, 0}, {2, 197}, {70, 63}, {64, 133}}, options());
}

/// Rank r of `ranks` has the parts r and 2 ranks - 1 - r of the queries, or one block of them; of
/// the keys it sees one block after another. One kernel computes all of it.
TEST_P(Targets, OneKernelServesAllRanks) {
  const int64_t ranks = 4, rows = 200, part = rows / ranks / 2;
  for (const char *mask : {"causal", "and(causal, window(40))", "or(causal, prefix(70))"})
    for (bool zigzag : {false, true}) {
      Problem p;
      p.mask = mask, p.queries = 2 * part, p.keys = rows / 2, p.batch = 1;
      auto place = [&](int64_t rank, int64_t keys) {
        p.qPieces = {{2 * part, 2 * part * rank}};
        if (zigzag)
          p.qPieces = {{part, part * rank}, {part, part * (2 * ranks - 1 - rank)}};
        p.kPieces = {{p.keys, keys}};
      };
      place(0, 0);
      AttentionKernel forward(p.text("forward"), options());
      AttentionKernel backward(p.text("backward"), options());
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (int64_t keys : {int64_t(0), rows / 2}) {
          place(rank, keys);
          SCOPED_TRACE(testing::Message() << mask << " rank " << rank << " keys from " << keys);
          Tensors t = randomTensors(p), expected = t;
          referenceForward(p, expected);
          runForward(p, t, forward);
          EXPECT_LE(difference(t["out"], expected["out"]), tolerance(p));
          EXPECT_LE(difference(t["lse"], expected["lse"]), tolerance(p));
          referenceBackward(p, expected);
          referenceDelta(p, t);
          runBackward(p, t, backward);
          for (const char *name : {"d_q", "d_k", "d_v"})
            EXPECT_LE(difference(t[name], expected[name]), tolerance(p)) << name;
        }
    }
}

/// Keys [first, first + size) of a problem.
static Problem pieceOf(const Problem &p, int64_t first, int64_t size) {
  Problem piece = p;
  piece.keys = size;
  piece.kPieces = {{size, first}};
  return piece;
}

static Tensor keysOf(const Problem &p, Tensor &from, int64_t first, int64_t size) {
  Problem piece = pieceOf(p, first, size);
  Tensor to(piece, p.kOrder);
  Index i{};
  for (i['B'] = 0; i['B'] < p.batch; ++i['B'])
    for (i['G'] = 0; i['G'] < p.groups; ++i['G'])
      for (int64_t row = 0; row < size; ++row)
        for (i['K'] = 0; i['K'] < p.width; ++i['K']) {
          i['T'] = first + row;
          double x = from.at(i);
          i['T'] = row;
          to.at(i) = x;
        }
  return to;
}

// out = sum of w_i out_i and lse = log sum of exp(lse_i), where w_i = exp(lse_i - lse);
// cotangents of a piece are w_i d_out and w_i (out_i d_out - out d_out + d_lse).
TEST(Attention, KeysInThreePiecesMerge) {
  for (const char *mask : {"all", "causal", "and(causal, window(40))"}) {
    Problem p;
    p.queries = 150, p.keys = 150, p.mask = mask;
    SCOPED_TRACE(mask);
    Tensors whole = randomTensors(p);
    runForward(p, whole);
    referenceDelta(p, whole);
    runBackward(p, whole);

    std::vector<std::pair<int64_t, int64_t>> cuts = {{0, 23}, {23, 90}, {113, 37}};
    std::vector<Tensors> pieces;
    Tensors merged = whole;
    for (auto [first, size] : cuts) {
      Tensors &t = pieces.emplace_back(whole);
      t["k"] = keysOf(p, whole["k"], first, size), t["v"] = keysOf(p, whole["v"], first, size);
      runForward(pieceOf(p, first, size), t);
    }
    merged["out"] = Tensor(p, p.qOrder);
    Tensor &lse = merged["lse"], &out = merged["out"];
    for (size_t row = 0; row < lse.data.size(); ++row) {
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (Tensors &t : pieces)
        max = std::max(max, t["lse"].data[row]);
      for (Tensors &t : pieces)
        sum += std::exp(t["lse"].data[row] - max);
      lse.data[row] = max + std::log(sum);
      for (Tensors &t : pieces)
        for (int64_t i = 0; i < p.width; ++i)
          out.data[row * p.width + i] +=
              std::exp(t["lse"].data[row] - lse.data[row]) * t["out"].data[row * p.width + i];
    }
    EXPECT_LE(difference(out, whole["out"]), 1e-12);
    EXPECT_LE(difference(lse, whole["lse"]), 1e-12);

    Tensor dQ(p, p.qOrder);
    for (size_t n = 0; n < pieces.size(); ++n) {
      Tensors &t = pieces[n];
      Tensors weighted = t;
      for (size_t row = 0; row < lse.data.size(); ++row) {
        double w = std::exp(t["lse"].data[row] - lse.data[row]), own = 0, all = 0;
        for (int64_t i = 0; i < p.width; ++i) {
          double d = whole["d_out"].data[row * p.width + i];
          own += t["out"].data[row * p.width + i] * d;
          all += out.data[row * p.width + i] * d;
          weighted["d_out"].data[row * p.width + i] = w * d;
        }
        weighted["d_lse"].data[row] = w * (own - all + whole["d_lse"].data[row]);
      }
      Problem piece = pieceOf(p, cuts[n].first, cuts[n].second);
      referenceDelta(piece, weighted);
      runBackward(piece, weighted);
      for (size_t i = 0; i < dQ.data.size(); ++i)
        dQ.data[i] += weighted["d_q"].data[i];
      for (const char *name : {"d_k", "d_v"}) {
        Tensor expected = keysOf(p, whole[name], cuts[n].first, cuts[n].second);
        EXPECT_LE(difference(weighted[name], expected), 1e-12) << name;
      }
    }
    EXPECT_LE(difference(dQ, whole["d_q"]), 1e-12);
  }
}

TEST(Attention, GradientsMatchFiniteDifferences) {
  for (auto [mask, queries, keys] :
       {std::tuple("causal", 70, 70), std::tuple("all", 40, 133),
        std::tuple("or(and(causal, window(20)), prefix(3))", 99, 70)}) {
    Problem p;
    p.batch = 1, p.queries = queries, p.keys = keys, p.mask = mask;
    SCOPED_TRACE(p.text("backward"));
    Tensors t = randomTensors(p);
    AttentionKernel forward(p.text("forward"));
    auto loss = [&] {
      Tensors r = t;
      runForward(p, r, forward);
      double sum = 0;
      for (size_t i = 0; i < r["out"].data.size(); ++i)
        sum += r["out"].data[i] * t["d_out"].data[i];
      for (size_t i = 0; i < r["lse"].data.size(); ++i)
        sum += r["lse"].data[i] * t["d_lse"].data[i];
      return sum;
    };
    Tensors r = t;
    runForward(p, r, forward);
    referenceDelta(p, r);
    runBackward(p, r);
    for (auto [name, gradient] :
         {std::pair("q", "d_q"), std::pair("k", "d_k"), std::pair("v", "d_v")})
      for (size_t step = 0; step < 12; ++step) {
        std::vector<double> &data = t[name].data;
        size_t at = (step * 7919 + 13) % data.size();
        double x = data[at], h = 1e-4;
        data[at] = x + h;
        double above = loss();
        data[at] = x - h;
        double below = loss();
        data[at] = x;
        double expected = r[gradient].data[at];
        EXPECT_NEAR((above - below) / (2 * h), expected, 1e-6 * std::max(1.0, std::abs(expected)))
            << gradient << " " << at;
      }
  }
}

static bool sameBits(Tensors &a, Tensors &b, std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (memcmp(a[name].data.data(), b[name].data.data(), a[name].data.size() * sizeof(double)))
      return false;
  return true;
}

TEST(Attention, SameBitsWithoutAvx512AndInAnyBlocks) {
  for (const char *element : kElements) {
    Problem p;
    p.element = element;
    p.batch = 1, p.queries = 99, p.keys = 133, p.width = 72;
    SCOPED_TRACE(p.text("backward"));
    Tensors first = randomTensors(p);
    runForward(p, first);
    referenceDelta(p, first);
    runBackward(p, first);
    for (JitOptions options :
         {JitOptions{{6, 1}, "x86-64-v3"}, JitOptions{{4, 3}, ""}, JitOptions{{1, 1}, ""}}) {
      Tensors other = first;
      runForward(p, other, options);
      runBackward(p, other, options);
      EXPECT_TRUE(sameBits(first, other, {"out", "lse", "d_q", "d_k", "d_v"}))
          << options.block.rows << " x " << options.block.vectors;
    }
  }
}

// Each takes another layout: rows of a thread, vectors, panels.
TEST(Attention, WidthsOnGpus) {
  for (const char *element : kElements)
    for (int64_t width : {1, 8, 16, 20, 31, 63, 96, 128, 192, 384}) {
      Problem p;
      p.element = element;
      if (p.element == "f64" && width > 192)
        continue;
      p.batch = 1, p.queries = 90, p.keys = 70, p.heads = 2, p.groups = 1, p.width = width;
      p.scale = 1 / std::sqrt(width);
      expectForward(p, onGpu());
      expectBackward(p, onGpu());
    }
}

/// Every sum of the backward pass is one chain in one order on both targets, and so are scores.
TEST(Attention, BackwardOnGpusHasTheBitsOfCpus) {
  JitOptions gpu = onGpu();
  for (const char *element : kElements)
    for (int64_t width : {24, 64, 192}) {
      Problem p;
      p.element = element;
      p.batch = 1, p.queries = 199, p.keys = 133, p.width = width;
      p.mask = "or(and(causal, window(20)), prefix(3))";
      SCOPED_TRACE(p.text("backward"));
      Tensors cpu = randomTensors(p);
      runForward(p, cpu);
      referenceDelta(p, cpu);
      Tensors other = cpu;
      runBackward(p, cpu);
      runBackward(p, other, gpu);
      EXPECT_TRUE(sameBits(cpu, other, {"d_q", "d_k", "d_v"}));
    }
}

TEST(Attention, SameBitsTwiceOnGpus) {
  JitOptions gpu = onGpu();
  for (const char *element : kElements) {
    Problem p;
    p.element = element;
    p.queries = 199, p.keys = 133, p.width = 72;
    Tensors first = randomTensors(p);
    Tensors second = first;
    for (Tensors *t : {&first, &second}) {
      runForward(p, *t, gpu);
      referenceDelta(p, *t);
      runBackward(p, *t, gpu);
    }
    EXPECT_TRUE(sameBits(first, second, {"out", "lse", "d_q", "d_k", "d_v"})) << element;
  }
}

/// Pairs of queries and keys in the tiles where the mask shows any.
static int64_t visiblePairs(const Problem &p, int64_t queryTile, int64_t keyTile) {
  mlir::MLIRContext context;
  nn::MaskAttr mask = parseMask(p, context);
  int64_t pairs = 0;
  for (int64_t q = 0; q < p.queries; q += queryTile)
    for (int64_t k = 0; k < p.keys; k += keyTile) {
      int64_t qEnd = std::min(q + queryTile, p.queries), kEnd = std::min(k + keyTile, p.keys);
      bool any = false;
      for (int64_t i = q; i < qEnd; ++i)
        for (int64_t j = k; j < kEnd; ++j)
          any |= mask.sees(p.qPosition(i), p.kPosition(j));
      pairs += any ? (qEnd - q) * (kEnd - k) : 0;
    }
  return pairs;
}

TEST(Attention, TasksAndFlops) {
  for (const char *mask : {"all", "causal", "window(9)", "and(causal, window(40))"}) {
    Problem p; // f64: 32 queries (backward: keys) in lanes, 64 in rows
    p.queries = 333, p.keys = 300, p.mask = mask;
    SCOPED_TRACE(mask);
    AttentionKernel forward(p.text("forward")), backward(p.text("backward"));
    EXPECT_EQ(forward.tasks, p.batch * p.heads * 11);
    EXPECT_EQ(backward.tasks, p.batch * p.groups);
    int64_t each = 2 * p.batch * p.heads * p.width;
    EXPECT_EQ(forward.flops, 2 * each * visiblePairs(p, 32, 64));
    EXPECT_EQ(backward.flops, 5 * each * visiblePairs(p, 64, 32));
    p.kPieces = {{p.keys, 0}}; // all pairs, because any start may come
    EXPECT_EQ(AttentionKernel(p.text("forward")).flops, 2 * each * p.queries * p.keys);
    EXPECT_EQ(AttentionKernel(p.text("backward")).flops, 5 * each * p.queries * p.keys);
  }
}

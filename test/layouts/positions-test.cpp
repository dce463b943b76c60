//===- positions-test.cpp - one function serves ranks that lie elsewhere --===//
//
// A function of a rank's rows takes from its starts where they lie: as a block, and as two pieces
// in zig-zag order. It is compiled once, and called with the starts of each rank. What comes out
// are those rows of what the function of all rows gives; gradients of keys add up to the whole
// ones.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "lib/Driver/Phases.h"
#include "mlir/Parser/Parser.h"
#include "test/layouts/functions.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace layouts;

namespace {

constexpr int64_t kRows = 24;

struct Piece {
  int64_t size, start;
};
using Pieces = std::vector<Piece>;

/// Each rank's pieces, which have the same sizes on all ranks.
const std::vector<Pieces> kBlocks = {{{12, 0}}, {{12, 12}}};
const std::vector<Pieces> kZigZag = {{{4, 0}, {4, 20}}, {{4, 4}, {4, 16}}, {{4, 8}, {4, 12}}};
const std::vector<Pieces> kUneven = {{{1, 23}, {7, 2}}, {{1, 0}, {7, 9}}};

const char *const kLayers = R"(
module attributes {dist.mesh = #dist.mesh<<"a", 1>>} {
tplan.plan @p {mesh = [{name = "a", size = 1 : i64}]}
nn.layer @index($ARGS) -> (!nn.tensor<[S $N], i32> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.index $FROM : <[S $N], i32>
  nn.return %0 : !nn.tensor<[S $N], i32>
}
nn.layer @rope(%x: !nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "invariant", nn.name = "x"}$AND)
    -> (!nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.index $FROM : <[S $N], i32>
  %1 = nn.cast %0 : <[S $N], i32> -> <[S $N], f64>
  %2 = nn.index : <[half 3], i32>
  %3 = nn.cast %2 : <[half 3], i32> -> <[half 3], f64>
  %4 = nn.exp %3 : <[half 3], f64>
  %5 = nn.mul %1, %4 : (<[S $N], f64>, <[half 3], f64>) -> <[S $N, half 3], f64>
  %6 = nn.cos %5 : <[S $N, half 3], f64>
  %7 = nn.sin %5 : <[S $N, half 3], f64>
  %8 = nn.rope %x, %6, %7 over "K" : <[B 2, S $N, H 2, K 6], f64>, <[S $N, half 3], f64>, <[S $N, half 3], f64>
  nn.return %8 : !nn.tensor<[B 2, S $N, H 2, K 6], f64>
}
nn.layer @dropout(%i: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "seed"}$AND)
    -> (!nn.tensor<[B 2, S $N, D 3], f64> {nn.role = "carried", nn.name = "y0"}) {
  %z = nn.constant 0.0 : <[], i32>
  %0 = nn.dropout_mask %i, %i, %i, %z site 3 rate 0.3 $DROPOUT -> !nn.tensor<[B 2, S $N, D 3], f64>
  nn.return %0 : !nn.tensor<[B 2, S $N, D 3], f64>
}
nn.layer @attention(%q: !nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "invariant", nn.name = "q"},
                    %k: !nn.tensor<[B 2, T 24, G 1, K 6], f64> {nn.role = "invariant", nn.name = "k"},
                    %d: !nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "invariant", nn.name = "d"}$AND)
    -> (!nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "carried", nn.name = "y0"},
        !nn.tensor<[B 2, H 2, S $N], f64> {nn.role = "carried", nn.name = "y1"},
        !nn.tensor<[B 2, S $N, H 2, K 6], f64> {nn.role = "carried", nn.name = "y2"},
        !nn.tensor<[B 2, T 24, G 1, K 6], f64> {nn.role = "carried", nn.name = "y3"}) {
  %0:2 = nn.attention %q, %k, %k $QUERIES
    <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <and(causal, window(9))>>
    : (!nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>$TYPES) -> (!nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, H 2, S $N], f64>)
  %1:3 = nn.attention_grad %q, %k, %k, %0#0, %0#1, %d $QUERIES
    <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <and(causal, window(9))>>
    : (!nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>, !nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, H 2, S $N], f64>, !nn.tensor<[B 2, S $N, H 2, K 6], f64>$TYPES) -> (!nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>)
  %2 = nn.add %1#1, %1#2 : (<[B 2, T 24, G 1, K 6], f64>, <[B 2, T 24, G 1, K 6], f64>) -> <[B 2, T 24, G 1, K 6], f64>
  nn.return %0#0, %0#1, %1#0, %2 : !nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, H 2, S $N], f64>, !nn.tensor<[B 2, S $N, H 2, K 6], f64>, !nn.tensor<[B 2, T 24, G 1, K 6], f64>
}
}
)";

int64_t rowsIn(const Pieces &pieces) {
  return pieces.empty() ? kRows
                        : std::accumulate(pieces.begin(), pieces.end(), int64_t(0),
                                          [](int64_t n, const Piece &p) { return n + p.size; });
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// The functions of the rows in pieces of these sizes; without pieces, of all rows.
std::string layersOf(const Pieces &pieces) {
  const std::string scalar = "!nn.tensor<[], i32>";
  std::vector<std::string> args, starts, types, sizes;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    starts.push_back("%s" + std::to_string(i));
    args.push_back(starts.back() + ": " + scalar + " {nn.role = \"scalar\", nn.name = \"start" +
                   std::to_string(i) + "\"}");
    types.push_back(scalar);
    sizes.push_back(std::to_string(piece.size));
  }
  std::string n = std::to_string(rowsIn(pieces)), list = llvm::join(sizes, ", ");
  std::string from = "from " + llvm::join(starts, ", ") + " pieces [" + list + "]";
  std::string comma = pieces.empty() ? "" : ", ", scalars = scalar;
  for (size_t i = 1; i < (pieces.empty() ? 4 : 6 + pieces.size()); ++i)
    scalars += ", " + scalar;
  std::string dropout = pieces.empty() ? ""
                                       : "of [2, 24, 3] from %z, " + llvm::join(starts, ", ") +
                                             ", %z pieces [array<i64: 2>, array<i64: " + list +
                                             ">, array<i64: 3>]";
  std::string text = replaced(kLayers, "$ARGS", llvm::join(args, ", "));
  text = replaced(text, "$AND", comma + llvm::join(args, ", "));
  text = replaced(text, "$FROM", pieces.empty() ? "" : from);
  text = replaced(text, "$QUERIES", pieces.empty() ? "" : "queries " + from);
  text = replaced(text, "$TYPES", comma + llvm::join(types, ", "));
  text = replaced(text, "$DROPOUT", dropout + " : (" + scalars + ")");
  return replaced(text, "$N", n);
}

/// The functions of one set of sizes.
class Layers {
public:
  explicit Layers(const Pieces &pieces)
      : context(dialects(), MLIRContext::Threading::DISABLED),
        module(parseSourceString<ModuleOp>(layersOf(pieces), &context)) {
    if (!module)
      exit(1);
    functions = std::make_unique<Functions>(*module, error);
  }
  std::vector<Numbers> call(StringRef name, const Pieces &pieces, Arguments arguments) {
    for (auto [i, piece] : llvm::enumerate(pieces))
      arguments["start" + std::to_string(i)] = {static_cast<double>(piece.start)};
    return functions->call(name, 0, arguments);
  }
  std::string error;

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Functions> functions;
};

/// The rows that a rank has of a value whose rows are of `inner` elements.
Numbers rowsOf(const Numbers &whole, int64_t inner, const Pieces &pieces) {
  Numbers rows;
  for (size_t outer = 0; outer < whole.size(); outer += kRows * inner)
    for (const Piece &piece : pieces) {
      auto first = whole.begin() + outer + piece.start * inner;
      rows.insert(rows.end(), first, first + piece.size * inner);
    }
  return rows;
}

Numbers random(size_t n, uint64_t seed) {
  Numbers numbers;
  for (size_t i = 0; i < n; ++i)
    numbers.push_back(randomNumber(seed, i));
  return numbers;
}

void expectNear(const Numbers &found, const Numbers &expected, const char *what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-12) << what << " " << i;
}

class Positions : public testing::TestWithParam<const std::vector<Pieces> *> {
protected:
  const std::vector<Pieces> &ranks = *GetParam();
  Layers whole{{}}, parts{ranks.front()};
  void SetUp() override {
    ASSERT_EQ(whole.error, "");
    ASSERT_EQ(parts.error, "");
  }
};
INSTANTIATE_TEST_SUITE_P(Pieces, Positions, testing::Values(&kBlocks, &kZigZag, &kUneven));

TEST_P(Positions, Index) {
  Numbers all = whole.call("index", {}, {})[0];
  for (int64_t row = 0; row < kRows; ++row)
    EXPECT_EQ(all[row], row);
  for (const Pieces &pieces : ranks)
    EXPECT_EQ(parts.call("index", pieces, {})[0], rowsOf(all, 1, pieces));
}

TEST_P(Positions, Rope) {
  Numbers x = random(2 * kRows * 12, 1), all = whole.call("rope", {}, {{"x", x}})[0];
  for (const Pieces &pieces : ranks) {
    Numbers found = parts.call("rope", pieces, {{"x", rowsOf(x, 12, pieces)}})[0];
    EXPECT_EQ(found, rowsOf(all, 12, pieces));
  }
}

TEST_P(Positions, Dropout) {
  Numbers all = whole.call("dropout", {}, {{"seed", {5}}})[0];
  for (const Pieces &pieces : ranks)
    EXPECT_EQ(parts.call("dropout", pieces, {{"seed", {5}}})[0], rowsOf(all, 3, pieces));
}

TEST_P(Positions, Attention) {
  Numbers q = random(2 * kRows * 12, 1), k = random(2 * kRows * 6, 2),
          d = random(2 * kRows * 12, 3);
  auto all = whole.call("attention", {}, {{"q", q}, {"k", k}, {"d", d}});
  Numbers ofKeys(k.size(), 0.0);
  for (const Pieces &pieces : ranks) {
    Arguments given = {{"q", rowsOf(q, 12, pieces)}, {"k", k}, {"d", rowsOf(d, 12, pieces)}};
    auto found = parts.call("attention", pieces, given);
    expectNear(found[0], rowsOf(all[0], 12, pieces), "out");
    expectNear(found[1], rowsOf(all[1], 1, pieces), "lse");
    expectNear(found[2], rowsOf(all[2], 12, pieces), "d_q");
    for (size_t i = 0; i < ofKeys.size(); ++i)
      ofKeys[i] += found[3][i];
  }
  if (rowsIn(ranks.front()) * static_cast<int64_t>(ranks.size()) == kRows)
    expectNear(ofKeys, all[3], "d_k + d_v");
}

} // namespace

//===- layouts-test.cpp - every op on ranks equals the op on one ----------===//
//
// Each op of ops.mlir in each layout that its rule admits, on 2, on 4 and on 2 x 2 ranks, and with
// blocks rounded up to granules, on one rank too: blocks and parts of random values go in, what
// comes out is put together, and equals what the op makes of the whole values without a mesh, in
// f64. check-layouts accepts all of these layouts, and no others.
//
// One decision: padding holds NaN, or ids far beyond a table, so that what reads it shows.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "lib/Driver/Phases.h"
#include "lib/Shard/CheckOp.h"
#include "mlir/Parser/Parser.h"
#include "test/layouts/cases.h"
#include "test/layouts/functions.h"
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using namespace layouts;
using dist::LayoutAttr;

namespace {

constexpr double kTolerance = 1e-12;
constexpr uint64_t kSeed = 11, kPartSeed = 1000;
constexpr double kFarId = 1 << 28;

struct Mesh {
  std::vector<int64_t> sizes; // of the axes a, b
  int64_t granule = 1;        // of each dimension that may have padding
};
const Mesh kMeshes[] = {{{2}}, {{4}}, {{2, 2}}, {{}, 4}, {{2}, 3}};

std::string planOf(const Mesh &mesh) {
  std::string axes;
  for (auto [i, size] : llvm::enumerate(mesh.sizes))
    axes += (i ? ", {name = \"" : "{name = \"") + std::string(1, 'a' + i) +
            "\", size = " + std::to_string(size) + " : i64}";
  return "tplan.plan @p {mesh = [" + axes + "]}\n";
}

/// ops.mlir under a mesh; with a name, only that layer.
class Ops {
public:
  explicit Ops(const Mesh &mesh, StringRef only = "")
      : context(dialects(), MLIRContext::Threading::DISABLED) {
    context.loadDialect<dist::DistDialect>();
    std::ifstream file(TPLAN_SOURCE "/test/layouts/Inputs/ops.mlir");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    module = parseSourceString<ModuleOp>(planOf(mesh) + text, &context);
    if (!module)
      exit(1);
    for (auto layer : llvm::to_vector(module->getOps<nn::LayerOp>()))
      if (!only.empty() && layer.getSymName() != only)
        layer.erase();
    placement.emplace(*Placement::read(*module));
    placement->mesh = dist::MeshAttr::get(&context, placement->mesh.getAxes(), granules(mesh),
                                          mlir::StringAttr());
    (*module)->setAttr(dist::kMesh, placement->mesh);
  }
  nn::LayerOp layer() { return *module->getOps<nn::LayerOp>().begin(); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<Placement> placement;

private:
  /// Granules of all dimensions that the op does not need whole or in equal blocks.
  SmallVector<dist::GranuleAttr> granules(const Mesh &mesh) {
    SmallVector<dist::GranuleAttr> all;
    if (mesh.granule == 1)
      return all;
    Operation *op = opOf(layer());
    Rule rule = *ruleOf(op);
    for (nn::DimAttr dim : factorsOf(op))
      if (!llvm::is_contained(rule.whole, dim.getName()) &&
          !llvm::is_contained(rule.exact, dim.getName()))
        all.push_back(dist::GranuleAttr::get(&context, dim.getName(), mesh.granule));
    return all;
  }
};

void setLayouts(nn::LayerOp layer, const Layouts &layouts) {
  Operation *op = opOf(layer);
  for (OpOperand &operand : op->getOpOperands())
    layer.setArgAttr(cast<BlockArgument>(operand.get()).getArgNumber(), dist::kLayout,
                     layouts.operands[operand.getOperandNumber()]);
  SmallVector<Attribute> results(layouts.results.begin(), layouts.results.end());
  op->setAttr(dist::kLayouts, ArrayAttr::get(op->getContext(), results));
  for (auto [i, layout] : llvm::enumerate(results))
    layer.setResultAttr(i, dist::kLayout, layout);
}

/// A copy of the layer in other layouts. Rows are those of weights, whose padding is zero.
nn::LayerOp addVariant(Ops &ops, const std::string &name, const Case &c, bool zeros) {
  OpBuilder b = OpBuilder::atBlockEnd(ops.module->getBody());
  auto layer = cast<nn::LayerOp>(b.clone(*ops.layer()));
  layer.setSymName(name);
  setLayouts(layer, c.layouts);
  for (unsigned i = 0, e = layer.getNumArguments(); i < e && zeros; ++i)
    if (layer.getArgRole(i) == nn::Role::Invariant)
      layer.setArgAttr(i, nn::kRole, b.getStringAttr(stringifyRole(nn::Role::Param)));
  return layer;
}

struct Input {
  std::string name;
  nn::Tensor type;
  Numbers values;
};

/// Every id below zero is padding: the nearest, one that a rank's first row leads further away,
/// one that it wraps round.
double idOf(double id, int64_t at) {
  constexpr int64_t below[] = {-1, -7, std::numeric_limits<int32_t>::min()};
  return id < 0 ? static_cast<double>(below[at % std::size(below)]) : id;
}

std::vector<Input> inputsOf(nn::LayerOp layer) {
  std::vector<Input> inputs;
  for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i) {
    auto type = cast<nn::Tensor>(layer.getArgumentTypes()[i]);
    auto kind = layer.getArgAttrOfType<StringAttr>(i, "test.values");
    StringRef values = kind ? kind.getValue() : "";
    Input input{layer.getArgName(i).str(), type, {}};
    int64_t below = 0;
    for (int64_t at = 0; at < type.getNumElements(); ++at) {
      double v = randomNumber(kSeed + i, at);
      if (type.getElementType().isInteger(1))
        v = v > 0;
      else if (!values.getAsInteger(10, below)) // with some padding below zero
        v = type.getRank() ? idOf(std::floor((v + 4) / 8 * (below + 1)) - 1, at)
                           : std::floor((v + 4) / 8 * below);
      else if (values == "positive")
        v = std::abs(v) + 0.5;
      input.values.push_back(v);
    }
    inputs.push_back(input);
  }
  return inputs;
}

double paddingOf(nn::Tensor type, bool zeros) {
  if (zeros || type.getElementType().isInteger(1))
    return 0;
  return type.getElementType().isInteger(32) ? kFarId : std::numeric_limits<double>::quiet_NaN();
}

/// Results of all ranks, put together.
std::vector<Numbers> run(Functions &functions, const std::string &name, nn::LayerOp layer,
                         const Case &c, dist::MeshAttr mesh, bool zeros, std::string &error) {
  std::vector<Arguments> arguments(mesh.getNumRanks());
  Operation *op = opOf(layer);
  std::vector<Input> inputs = inputsOf(layer);
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    const Input &input = inputs[cast<BlockArgument>(operand.get()).getArgNumber()];
    Blocks blocks(input.type, c.layouts.operands[i], mesh);
    auto parts = blocks.scatter(input.values, paddingOf(input.type, zeros), kPartSeed + 100 * i);
    for (auto [rank, part] : llvm::enumerate(parts))
      arguments[rank][input.name] = part;
  }
  std::vector<std::vector<Numbers>> made(op->getNumResults());
  for (auto [rank, given] : llvm::enumerate(arguments))
    for (auto [i, result] : llvm::enumerate(functions.call(name, rank, given)))
      made[i].push_back(result);
  // Gradients keep their padding zero by themselves.
  bool keepsZeros = isa<nn::ContractOp, nn::LookupGradOp>(op);
  std::vector<Numbers> wholes;
  for (auto [i, ranks] : llvm::enumerate(made))
    wholes.push_back(Blocks(nn::typeOf(op->getResult(i)), c.layouts.results[i], mesh)
                         .gather(ranks, keepsZeros, error));
  return wholes;
}

std::string difference(const Numbers &made, const Numbers &want) {
  double most = 0, largest = 0;
  for (auto [a, b] : llvm::zip_equal(made, want)) {
    if (std::isnan(a) != std::isnan(b))
      return "NaN";
    most = std::max(most, a == b ? 0 : std::abs(a - b));
    largest = std::max(largest, std::isfinite(b) ? std::abs(b) : 0);
  }
  return most <= kTolerance * largest ? "" : "differs by " + std::to_string(most);
}

/// What the op makes of the whole values.
std::vector<Numbers> wholeResults(const std::string &name) {
  Ops ops({}, name);
  Arguments whole;
  for (const Input &input : inputsOf(ops.layer()))
    whole[input.name] = input.values;
  (*ops.module)->removeAttr(dist::kMesh);
  std::string error;
  Functions functions(*ops.module, error);
  EXPECT_EQ(error, "");
  return error.empty() ? functions.call(name, 0, whole) : std::vector<Numbers>();
}

std::vector<std::string> layerNames() {
  Ops ops(kMeshes[0]);
  std::vector<std::string> names;
  for (auto layer : ops.module->getOps<nn::LayerOp>())
    names.push_back(layer.getSymName().str());
  return names;
}

} // namespace

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

class OpLayouts : public testing::TestWithParam<std::tuple<std::string, Mesh>> {};

TEST_P(OpLayouts, EqualTheWhole) {
  auto &[name, mesh] = GetParam();
  Ops ops(mesh, name);
  std::vector<Case> cases = casesOf(opOf(ops.layer()), *ops.placement);
  struct Variant {
    std::string name;
    const Case *c;
    bool zeros;
  };
  std::vector<Variant> variants;
  for (const Case &c : cases)
    for (bool zeros : {false, true})
      if (zeros || !c.hasRows()) {
        variants.push_back({name + "." + std::to_string(variants.size()), &c, zeros});
        nn::LayerOp layer = addVariant(ops, variants.back().name, c, zeros);
        EXPECT_TRUE(succeeded(checkOp(opOf(layer), ops.placement->mesh))) << spell(c);
      }
  Ops global(mesh, name); // as it was, for types and values
  dist::MeshAttr axes = global.placement->mesh;
  std::string error;
  Functions functions(*ops.module, error);
  ASSERT_EQ(error, "");
  std::vector<Numbers> want = wholeResults(name);
  ASSERT_FALSE(want.empty());
  for (const Variant &variant : variants) {
    // Attributes of the two contexts differ, so the case is made again.
    Case c = casesOf(opOf(global.layer()), *global.placement)[variant.c - cases.data()];
    std::string error;
    std::vector<Numbers> made =
        run(functions, variant.name, global.layer(), c, axes, variant.zeros, error);
    EXPECT_EQ(error, "") << spell(c);
    for (auto [i, numbers] : llvm::enumerate(made))
      EXPECT_EQ(difference(numbers, want[i]), "")
          << "result " << i << (variant.zeros ? ", weights: " : ": ") << spell(c);
  }
  RecordProperty("cases", int(variants.size()));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpLayouts,
                         testing::Combine(testing::ValuesIn(layerNames()),
                                          testing::ValuesIn(kMeshes)),
                         [](const auto &row) {
                           std::string name = std::get<0>(row.param) + "_on";
                           const Mesh &mesh = std::get<1>(row.param);
                           for (int64_t size : mesh.sizes)
                             name += "_" + std::to_string(size);
                           if (mesh.granule > 1)
                             name += "_by_" + std::to_string(mesh.granule);
                           return name;
                         });

//===----------------------------------------------------------------------===//
// What check-layouts says
//===----------------------------------------------------------------------===//

/// Whole, cut along each dimension, pending: all over the one axis of the mesh.
std::vector<LayoutAttr> layoutsOf(Type type, StringAttr axis) {
  LayoutAttr whole = LayoutAttr::get(axis.getContext(), {}, {}, {}, {});
  std::vector<LayoutAttr> all = {whole, whole.withSum({axis}), whole.withMax({axis})};
  for (nn::DimAttr dim : cast<nn::Tensor>(type).getDims())
    all.push_back(whole.withAxes(StringAttr::get(axis.getContext(), dim.getName()), {axis}));
  return all;
}

/// Layouts to ask about: every choice of one for each value where these are few, else those that
/// are admitted and all that differ from one of them in one value.
void forEach(ArrayRef<std::vector<LayoutAttr>> choices, ArrayRef<SmallVector<LayoutAttr>> admitted,
             function_ref<void(ArrayRef<LayoutAttr>)> ask) {
  SmallVector<LayoutAttr> chosen;
  std::function<void()> all = [&] {
    if (chosen.size() == choices.size())
      return ask(chosen);
    for (LayoutAttr layout : choices[chosen.size()]) {
      chosen.push_back(layout);
      all();
      chosen.pop_back();
    }
  };
  if (choices.size() <= 5)
    return all();
  for (SmallVector<LayoutAttr> layouts : admitted) {
    ask(layouts);
    for (auto [layout, others] : llvm::zip(layouts, choices))
      for (LayoutAttr other : others)
        if (LayoutAttr before = layout; other != before) {
          layout = other;
          ask(layouts);
          layout = before;
        }
  }
}

class Check : public testing::TestWithParam<std::string> {};

/// Among all layouts of operands and results over one axis those pass that are admitted; the test
/// above has shown that they are right.
TEST_P(Check, AcceptsWhatIsRightAlone) {
  Ops ops(kMeshes[0], GetParam());
  nn::LayerOp layer = ops.layer();
  Operation *op = opOf(layer);
  std::vector<SmallVector<LayoutAttr>> admitted;
  for (const Case &c : casesOf(op, *ops.placement))
    if (!c.hasRows()) {
      admitted.emplace_back(c.layouts.operands.begin(), c.layouts.operands.end());
      llvm::append_range(admitted.back(), c.layouts.results);
    }
  StringAttr axis = ops.placement->mesh.getAxesInStage().front();
  std::vector<std::vector<LayoutAttr>> choices;
  for (Type type : op->getOperandTypes())
    choices.push_back(layoutsOf(type, axis));
  for (Type type : op->getResultTypes())
    choices.push_back(layoutsOf(type, axis));
  ScopedDiagnosticHandler quiet(&ops.context, [](Diagnostic &) { return success(); });
  size_t accepted = 0;
  forEach(choices, admitted, [&](ArrayRef<LayoutAttr> chosen) {
    Case c;
    c.layouts.operands.assign(chosen.begin(), chosen.begin() + op->getNumOperands());
    c.layouts.results.assign(chosen.begin() + op->getNumOperands(), chosen.end());
    setLayouts(layer, c.layouts);
    bool passes = succeeded(checkOp(op, ops.placement->mesh));
    EXPECT_EQ(passes, llvm::is_contained(admitted, SmallVector<LayoutAttr>(chosen))) << spell(c);
    accepted += passes;
  });
  EXPECT_GE(accepted, admitted.size());
}

INSTANTIATE_TEST_SUITE_P(Ops, Check, testing::ValuesIn(layerNames()),
                         [](const auto &row) { return row.param; });

//===----------------------------------------------------------------------===//
// Every op is here
//===----------------------------------------------------------------------===//

/// Structure, what `model` has replaced, and what is made where sizes are those of a rank: no rank
/// has a part of them.
const std::set<std::string> kWithoutValues = {"nn.param",  "nn.layer", "nn.return",
                                              "nn.chain",  "nn.input", "nn.run",
                                              "nn.scalar", "nn.pack",  "nn.unpack"};

TEST(Coverage, EachOpOfNnIsCut) {
  Ops ops(kMeshes[0]);
  std::set<std::string> cut;
  for (auto layer : ops.module->getOps<nn::LayerOp>()) {
    Operation *op = opOf(layer);
    std::string name = op->getName().getStringRef().str();
    std::optional<Rule> rule = ruleOf(op);
    ASSERT_TRUE(rule) << name << " needs a rule in lib/Shard/Rules.cpp";
    std::set<std::string> factors;
    for (const Case &c : casesOf(op, *ops.placement))
      for (auto &[factor, axes] : c.strategy.cuts)
        factors.insert(factor.str());
    for (nn::DimAttr factor : factorsOf(op))
      if (!llvm::is_contained(rule->whole, factor.getName()) && factor.getSize() > 1)
        EXPECT_EQ(factors.count(factor.getName().str()), 1u)
            << layer.getSymName().str() << " " << factor.getName().str();
    cut.insert(name);
  }
  for (RegisteredOperationName op : ops.context.getRegisteredOperationsByDialect("nn")) {
    std::string name = op.getStringRef().str();
    EXPECT_NE(cut.count(name), kWithoutValues.count(name))
        << name << " needs a layer in test/layouts/Inputs/ops.mlir";
  }
}

/// Numbers show that a layout is wrong: the same cases, read as if no sum were pending.
TEST(Coverage, WrongLayoutsShow) {
  for (const char *name : {"contract_linear", "reduce_sum", "lookup_grad", "add", "mul"}) {
    Ops ops(kMeshes[0], name), global(kMeshes[0], name);
    std::vector<Case> cases = casesOf(opOf(ops.layer()), *ops.placement);
    std::vector<size_t> wrong;
    for (auto [i, c] : llvm::enumerate(cases))
      if (!c.layouts.results[0].getSum().empty() && !c.hasRows()) {
        addVariant(ops, "wrong." + std::to_string(i), c, false);
        wrong.push_back(i);
      }
    ASSERT_FALSE(wrong.empty()) << name;
    std::string error;
    Functions functions(*ops.module, error);
    ASSERT_EQ(error, "");
    std::vector<Numbers> want = wholeResults(name);
    ASSERT_FALSE(want.empty());
    for (size_t i : wrong) {
      Case c = casesOf(opOf(global.layer()), *global.placement)[i];
      c.layouts.results[0] = c.layouts.results[0].withSum({});
      std::string error;
      std::vector<Numbers> made = run(functions, "wrong." + std::to_string(i), global.layer(), c,
                                      global.placement->mesh, false, error);
      EXPECT_NE(error + difference(made[0], want[0]), "") << spell(c);
    }
  }
}

} // namespace

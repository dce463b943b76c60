//===- DeclareMembers.cpp - layers, lists of layers and inputs -------------===//
#include "lib/Parse/DeclareMembers.h"
#include "lib/Parse/DataSizes.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Layers and lists
//===----------------------------------------------------------------------===//

namespace {

/// Reads the items of a list into run lengths over its distinct layers.
class ListReader {
public:
  ListReader(Report &report, LayerTypes &types, const EnvRef &env)
      : report(report), types(types), env(env) {}

  enum class Outcome {
    Read,
    Unknown,  // a layer or length has a mistake: the list is declared, without layers
    TooLarge, // it is not declared
  };
  Outcome read(const Stmt &stmt);

  std::vector<LayerRef> kinds;
  std::vector<std::vector<int64_t>> runs;

private:
  Outcome readItem(const ListItem &item);
  std::vector<int64_t> readLayers(const ListItem &item);
  void addRun(int64_t times, std::vector<int64_t> layers);

  Report &report;
  LayerTypes &types;
  const EnvRef &env;
  std::map<std::string, int64_t> known; // layers, by their key
  int64_t total = 0;
};

} // namespace

/// Numbers of the item's layers among the kinds; none after an error.
std::vector<int64_t> ListReader::readLayers(const ListItem &item) {
  std::vector<int64_t> layers;
  for (const Expr *ref : item.refs) {
    LayerRef layer = types.resolve(*ref, env);
    if (!layer)
      return {};
    auto [it, fresh] = known.try_emplace(layer->key, kinds.size());
    if (fresh)
      kinds.push_back(layer);
    layers.push_back(it->second);
  }
  return layers;
}

/// Equal neighbours are one run, however the list is spelt.
void ListReader::addRun(int64_t times, std::vector<int64_t> layers) {
  if (llvm::all_equal(layers)) {
    times *= layers.size();
    layers.resize(1);
  }
  bool goesOn =
      !runs.empty() && layers.size() == 1 && runs.back().size() == 2 && runs.back()[1] == layers[0];
  if (goesOn) {
    runs.back()[0] += times;
    return;
  }
  layers.insert(layers.begin(), times);
  runs.push_back(std::move(layers));
}

ListReader::Outcome ListReader::readItem(const ListItem &item) {
  std::optional<int64_t> times = 1;
  if (item.times)
    times = whole(report, *item.times, *env, 1, limits::layers, "the length of a list");
  std::vector<int64_t> layers = readLayers(item);
  if (layers.empty() || !times)
    return Outcome::Unknown;
  if (layers.size() > limits::items) {
    report.error(item.loc, "a list has at most {0} items, found {1}", limits::items, layers.size());
    return Outcome::TooLarge;
  }
  total += *times * layers.size();
  if (total > limits::layers) {
    report.error(item.loc, "a list has at most {0} layers, found {1}", limits::layers, total);
    return Outcome::TooLarge;
  }
  addRun(*times, std::move(layers));
  return Outcome::Read;
}

ListReader::Outcome ListReader::read(const Stmt &stmt) {
  if (stmt.items.size() > limits::items) {
    report.error(stmt.loc, "a list has at most {0} items, found {1}", limits::items,
                 stmt.items.size());
    return Outcome::TooLarge;
  }
  for (const ListItem &item : stmt.items)
    if (Outcome outcome = readItem(item); outcome != Outcome::Read) {
      kinds.clear();
      return outcome;
    }
  return Outcome::Read;
}

void tplan::parse::declareMembers(Report &report, LayerTypes &types, const Stmt &stmt,
                                  Scope &scope) {
  Member prototype;
  const ListItem &only = stmt.items.front();
  if (stmt.items.size() == 1 && !only.times) {
    prototype.kind = Member::Layer;
    prototype.layer = types.resolve(*only.refs.front(), scope.env);
  } else {
    prototype.kind = Member::List;
    ListReader list(report, types, scope.env);
    if (list.read(stmt) == ListReader::Outcome::TooLarge)
      return;
    prototype.kinds = std::move(list.kinds);
    prototype.runs = std::move(list.runs);
  }
  for (const Name &name : stmt.names)
    if (declare(report, name, scope)) {
      Member &member = scope.members[name.text] = prototype;
      member.name = name;
    }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static bool isUnknown(const DimDecl &decl, const Scope &scope) {
  return !decl.atMost && !scope.env->numbers.count(decl.name.text);
}

/// The edits of all dimensions in another tool's names, which are mended at once.
static Report::Error::Changes foreignDims(const Stmt &stmt, const Scope &scope) {
  Report::Error::Changes all;
  for (const DimDecl &decl : stmt.type->dims)
    if (StringRef known = ours(Habit::Size, decl.name.text);
        isUnknown(decl, scope) && scope.env->numbers.count(known))
      all.push_back({decl.name.text, known.str()});
  return all;
}

/// The dimensions of an input; nothing after an error.
static std::optional<std::vector<nn::DimAttr>> inputDims(ModelBuilder &model, const Stmt &stmt,
                                                         const Scope &scope) {
  Report &report = model.report;
  const Setting *dataLine = model.proposals.dataLine;
  std::vector<nn::DimAttr> shape;
  Report::Error::Changes foreign = foreignDims(stmt, scope);
  for (const DimDecl &decl : stmt.type->dims) {
    StringRef name = decl.name.text;
    if (isUnknown(decl, scope) && !foreign.empty()) {
      report
          .error(decl.name.loc, "unknown dimension: {0}; here it is `{1}`", foreign[0].first,
                 foreign[0].second)
          .fix(foreign);
      return std::nullopt;
    }
    if (isUnknown(decl, scope) && dataLine) {
      auto error = report.error(dataLine->loc, "the data need the size of a dimension: {0}", name);
      error.note(decl.name.loc, "the input has it here");
      fixDataSize(error, dataLine, name);
      return std::nullopt;
    }
    std::optional<nn::DimAttr> known = dim(report, decl, *scope.env, /*bounds=*/true);
    if (!known)
      return std::nullopt;
    shape.push_back(*known);
    if (decl.atMost)
      refuse(report, decl.name.loc, Feature::Bound);
  }
  return shape;
}

void tplan::parse::declareInput(ModelBuilder &model, const Stmt &stmt, Scope &scope) {
  Report &report = model.report;
  if (!scope.model) {
    report.error(stmt.loc, "an input belongs into a model; a layer gets it as an argument");
    return;
  }
  if (stmt.type->kind != TypeExpr::Tensor || stmt.type->element.text != "i32") {
    report.error(stmt.type->loc, "{0}", sentence(Feature::FloatInput))
        .fix({{stmt.type->element.text, "i32"}});
    return;
  }
  auto shape = inputDims(model, stmt, scope);
  if (!shape)
    return;
  if (stmt.type->rest) {
    report.error(stmt.type->loc, "an input names all of its dimensions");
    return;
  }
  std::optional<nn::Tensor> type =
      tensor(report, *shape, model.builder.getI32Type(), stmt.type->loc);
  for (const Name &name : stmt.names) {
    if (!declare(report, name, scope))
      continue;
    if (!model.inputs.empty())
      refuse(report, name.loc, Feature::Streams);
    scope.variables[name.text] = {type ? model.input(name.text, *type, 0, name.loc) : Val(),
                                  name.loc};
  }
}

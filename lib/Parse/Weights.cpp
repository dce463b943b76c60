//===- Weights.cpp - names and layouts on disk --------------------------------===//
//
// `weights huggingface { .. }` becomes tplan.disk. One decision: a map is complete: every weight of
// the model stands in it once. So what a file has or lacks concerns the file alone.
//===----------------------------------------------------------------------===//
#include "lib/Parse/Weights.h"
#include "lib/Parse/Sizes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

constexpr StringRef kFormat = "huggingface", kIgnore = "ignore", kConfig = "config";

/// `[transformer.]h.{i}.ln`: with the part in brackets, and without it where there is one.
struct DiskName {
  llvm::SmallVector<std::string, 2> forms; // with {i} for every placeholder
  llvm::SmallVector<Name, 2> placeholders;
};

class MapReader {
public:
  MapReader(ModelBuilder &model, const Stmt &stmt, const Env &env)
      : model(model), stmt(stmt), env(env) {}
  void read();

private:
  using Weights = std::vector<const WeightInfo *>;

  void readTensor(const MapEntry &entry);
  void readWord(const MapEntry &entry);
  void readConfig(const MapEntry &entry);
  Weights find(const WeightPath &path);
  bool isNamedOnce(const WeightPath &path, const Weights &weights);
  std::optional<DiskName> readName(const Name &name);
  bool takeName(const Name &name, const DiskName &read);
  bool fitsPath(const Name &name, const DiskName &read, const WeightPath &path);
  bool isAlike(const MapEntry &entry, llvm::ArrayRef<Weights> all);
  bool checkDims(const MapEntry &entry, const WeightInfo &weight, const WeightPath &path);
  bool checkNumber(const MapEntry &entry);
  ArrayAttr layout(const MapEntry &entry);
  Attribute value(const ConfigValue &value);
  void checkAllNamed();

  ModelBuilder &model;
  const Stmt &stmt;
  const Env &env;
  std::map<const WeightInfo *, SMLoc> named;
  std::map<std::string, SMLoc> names, keys;
};

/// A path as it is written in a map: the weight of a linear or a table has the member's name.
StringRef shown(const WeightInfo &weight) {
  StringRef path = weight.path;
  path.consume_back(".weight");
  return path;
}

std::vector<StringRef> pathsOf(const ModelInfo &info) {
  std::vector<StringRef> paths;
  for (const WeightInfo &weight : info.weights)
    paths.push_back(shown(weight));
  return paths;
}

bool sameLayers(const WeightInfo &a, const WeightInfo &b) {
  return a.count == b.count && a.first == b.first && a.step == b.step;
}

ArrayAttr strings(Builder &b, llvm::ArrayRef<std::string> texts) {
  return b.getStrArrayAttr(
      llvm::map_to_vector(texts, [](const std::string &t) { return StringRef(t); }));
}

} // namespace

MapReader::Weights MapReader::find(const WeightPath &path) {
  Weights found;
  if (path.twice) {
    model.report.error(path.loc, "a weight stands in one list, found several placeholders: {0}",
                       path.text);
    return found;
  }
  for (const WeightInfo &weight : model.info.weights)
    if (weight.path == path.text || weight.path == path.text + ".weight")
      found.push_back(&weight);
  if (found.empty())
    model.report.error(path.loc, "unknown weight: {0}", path.text)
        .suggest(path.text, pathsOf(model.info));
  return found;
}

bool MapReader::isNamedOnce(const WeightPath &path, const Weights &weights) {
  for (const WeightInfo *weight : weights)
    if (auto [it, fresh] = named.try_emplace(weight, path.loc); !fresh) {
      model.report.error(path.loc, "a weight has one place on disk, found twice: {0}", path.text)
          .note(it->second, "the first is here");
      return false;
    }
  return true;
}

std::optional<DiskName> MapReader::readName(const Name &name) {
  DiskName read;
  std::string full, bare;
  bool optional = false, hasOptional = false, good = !name.text.empty();
  for (size_t at = 0; good && at < name.text.size(); ++at) {
    char c = name.text[at];
    if (c == '[' || c == ']') {
      good = c == '[' ? !hasOptional : optional;
      hasOptional = true;
      optional = c == '[';
      continue;
    }
    std::string text(1, c);
    if (c == '{') {
      size_t end = name.text.find('}', at);
      good = end != StringRef::npos && end > at + 1;
      if (!good)
        break;
      read.placeholders.push_back(
          {name.text.slice(at + 1, end), SMLoc::getFromPointer(name.text.data() + at)});
      text = "{i}";
      at = end;
    }
    good &= c != '}';
    full += text;
    bare += optional ? "" : text;
  }
  if (!good || optional || bare.empty() || (hasOptional && bare == full)) {
    model.report.error(
        name.loc,
        "a name on disk is text with {{i} for the number of a layer and one part in "
        "brackets that a file may lack, such as \"[transformer.]h.{{i}.ln\", found \"{0}\"",
        name.text);
    return std::nullopt;
  }
  read.forms.push_back(full);
  if (hasOptional)
    read.forms.push_back(bare);
  return read;
}

bool MapReader::takeName(const Name &name, const DiskName &read) {
  for (const std::string &form : read.forms)
    if (auto [it, fresh] = names.try_emplace(form, name.loc); !fresh) {
      model.report.error(name.loc, "a name on disk stands for one tensor, found twice: {0}", form)
          .note(it->second, "the first is here");
      return false;
    }
  return true;
}

/// The placeholders in a name must be those in the path.
bool MapReader::fitsPath(const Name &name, const DiskName &read, const WeightPath &path) {
  StringRef known = path.placeholder.text;
  for (const Name &placeholder : read.placeholders)
    if (placeholder.text != known) {
      model.report
          .error(placeholder.loc, "unknown placeholder: {{{0}}; {1}", placeholder.text,
                 known.empty() ? "the weight stands in no list"
                               : llvm::formatv("the path has {{{0}}", known).str())
          .fix(known.empty() ? Report::Error::Changes()
                             : Report::Error::Changes{{placeholder.text, known.str()}});
      return false;
    }
  if (!known.empty() && read.placeholders.empty()) {
    model.report.error(name.loc,
                       "the layers of a list have names of their own: put {{{0}} into \"{1}\"",
                       known, name.text);
    return false;
  }
  return true;
}

/// The weights of one tensor must belong to the same layers, and have the same dimensions.
bool MapReader::isAlike(const MapEntry &entry, llvm::ArrayRef<Weights> all) {
  auto alike = [](const WeightInfo *a, const WeightInfo *b) {
    return sameLayers(*a, *b) && a->type == b->type;
  };
  for (auto [i, weights] : llvm::enumerate(all))
    if (!llvm::equal(weights, all.front(), alike)) {
      model.report.error(
          entry.paths[i].loc,
          "weights of one tensor have the same layers and dimensions: {0} has {1}, {2} "
          "has {3}",
          entry.paths[i].text, spell(weights.front()->type), entry.paths[0].text,
          spell(all.front().front()->type));
      return false;
    }
  return true;
}

bool MapReader::checkDims(const MapEntry &entry, const WeightInfo &weight, const WeightPath &path) {
  std::map<StringRef, SMLoc> seen;
  for (const Factors &factors : entry.layout)
    for (const Factor &factor : factors) {
      StringRef dim = factor.name.text;
      if (dim.empty())
        continue;
      if (weight.type.find(dim) < 0) {
        model.report.error(factor.loc, "{0} has no dimension {1}: it has {2}", path.text, dim,
                           spell(weight.type));
        return false;
      }
      if (auto [it, fresh] = seen.try_emplace(dim, factor.loc); !fresh) {
        model.report.error(factor.loc, "a layout has each dimension once, found twice: {0}", dim)
            .note(it->second, "the first is here");
        return false;
      }
    }
  for (nn::DimAttr dim : weight.type.getDims())
    if (!seen.count(dim.getName())) {
      model.report.error(entry.names[0].loc,
                         "the layout lacks a dimension of {0}, which has {1}: {2}", path.text,
                         spell(weight.type), dim.getName());
      return false;
    }
  return true;
}

/// Where a tensor holds several weights, the layout has their number in one place.
bool MapReader::checkNumber(const MapEntry &entry) {
  int64_t weights = entry.paths.size();
  const Factor *number = nullptr;
  for (const Factors &factors : entry.layout)
    for (const Factor &factor : factors)
      if (factor.name.text.empty()) {
        if (weights > 1 && !number && factor.number == weights) {
          number = &factor;
          continue;
        }
        model.report.error(
            factor.loc,
            "a number in a layout counts through the weights of the tensor, once, and "
            "only where it has several: {0} here",
            weights);
        return false;
      }
  if (number || weights == 1)
    return true;
  model.report.error(
      entry.names[0].loc,
      "a tensor of {0} weights says where it counts through them: write {0} into the "
      "layout, such as [D, ({0} H K)]",
      weights);
  return false;
}

ArrayAttr MapReader::layout(const MapEntry &entry) {
  Builder &b = model.builder;
  SmallVector<Attribute> dims;
  for (const Factors &factors : entry.layout)
    dims.push_back(b.getArrayAttr(llvm::map_to_vector(factors, [&](const Factor &f) -> Attribute {
      if (f.name.text.empty())
        return b.getI64IntegerAttr(f.number);
      return b.getStringAttr(f.name.text);
    })));
  return b.getArrayAttr(dims);
}

void MapReader::readTensor(const MapEntry &entry) {
  if (entry.names.size() > 1) {
    model.report.error(entry.names[1].loc, "a tensor has one name, found {0}", entry.names.size());
    return;
  }
  const Name &name = entry.names.front();
  std::optional<DiskName> read = readName(name);
  std::vector<Weights> all;
  for (const WeightPath &path : entry.paths) {
    all.push_back(find(path));
    if (all.back().empty() || !isNamedOnce(path, all.back()))
      return;
  }
  if (!read || !takeName(name, *read) || !isAlike(entry, all))
    return;
  for (const WeightPath &path : entry.paths)
    if (!fitsPath(name, *read, path))
      return;
  for (const WeightInfo *weight : all.front())
    if (!checkDims(entry, *weight, entry.paths.front()))
      return;
  if (!checkNumber(entry))
    return;
  std::vector<std::string> paths;
  for (const Weights &weights : all)
    paths.push_back(weights.front()->path);
  lang::StoredOp::create(model.builder, model.report.at(name.loc), strings(model.builder, paths),
                         strings(model.builder, read->forms), layout(entry));
}

void MapReader::readWord(const MapEntry &entry) {
  if (entry.paths.size() != 1 || entry.paths[0].text != kIgnore) {
    model.report.error(
        entry.names.back().loc,
        "expected a layout after the name, such as [V, D]; names that are passed over "
        "stand after `ignore`");
    return;
  }
  for (const Name &name : entry.names)
    if (std::optional<DiskName> read = readName(name); read && takeName(name, *read))
      for (const std::string &form : read->forms)
        lang::IgnoredOp::create(model.builder, model.report.at(name.loc), form);
}

/// Null after an error.
Attribute MapReader::value(const ConfigValue &value) {
  Builder &b = model.builder;
  if (value.isList)
    return b.getStrArrayAttr(
        llvm::map_to_vector(value.strings, [](const Name &n) { return n.text; }));
  if (!value.expr)
    return b.getStringAttr(value.strings.front().text);
  StringRef word = value.expr->kind == Expr::Ref ? value.expr->text : StringRef();
  if (word == "true" || word == "false")
    return b.getBoolAttr(word == "true");
  if (word == "none")
    return b.getUnitAttr();
  std::optional<Number> n = number(model.report, *value.expr, env);
  if (!n)
    return {};
  return n->integer ? Attribute(b.getI64IntegerAttr(n->whole)) : b.getF64FloatAttr(n->real);
}

void MapReader::readConfig(const MapEntry &entry) {
  if (entry.paths[0].text != kConfig) {
    model.report.error(entry.paths[0].loc, "expected `config` in front of keys, found {0}",
                       entry.paths[0].text);
    return;
  }
  for (const ConfigItem &item : entry.items) {
    bool good = true;
    std::vector<std::string> all;
    for (const Name &key : item.keys) {
      auto [it, fresh] = keys.try_emplace(key.text.str(), key.loc);
      if (!fresh)
        model.report.error(key.loc, "given twice: {0}", key.text)
            .note(it->second, "{0} is given here", key.text);
      good &= fresh;
      all.push_back(key.text.str());
    }
    if (item.onlyWritten && item.absent) {
      model.report.error(
          item.absent->loc,
          "a key that is written and not compared has no value where it is absent: {0}",
          item.keys[0].text);
      good = false;
    }
    Attribute what = value(*item.value), absent = item.absent ? value(*item.absent) : Attribute();
    if (good && what && (absent || !item.absent))
      lang::ConfigOp::create(model.builder, model.report.at(item.keys[0].loc),
                             strings(model.builder, all), what, absent, item.onlyWritten);
  }
}

void MapReader::checkAllNamed() {
  std::vector<StringRef> missing;
  for (const WeightInfo &weight : model.info.weights)
    if (!named.count(&weight) && !llvm::is_contained(missing, shown(weight)))
      missing.push_back(shown(weight));
  constexpr size_t kShown = 4;
  if (!missing.empty())
    model.report.error(stmt.loc, "weights without a name on disk: {0}{1}",
                       llvm::join(llvm::ArrayRef(missing).take_front(kShown), ", "),
                       missing.size() > kShown
                           ? llvm::formatv(" and {0} more", missing.size() - kShown).str()
                           : std::string());
}

void MapReader::read() {
  StringRef format = stmt.names.front().text;
  if (format != kFormat) {
    model.report
        .error(stmt.names.front().loc, "weights are named as on disk of {0}, found {1}", kFormat,
               format)
        .fix({{format, kFormat.str()}});
    return;
  }
  unsigned before = model.report.errors();
  OpBuilder::InsertionGuard guard(model.builder);
  model.builder.setInsertionPointToEnd(model.module->getBody());
  auto disk = lang::DiskOp::create(model.builder, model.report.at(stmt.loc), kFormat);
  model.builder.createBlock(&disk.getBody());
  for (const MapEntry &entry : stmt.maps)
    switch (entry.kind) {
    case MapEntry::Tensor:
      readTensor(entry);
      break;
    case MapEntry::Word:
      readWord(entry);
      break;
    case MapEntry::Block:
      readConfig(entry);
      break;
    }
  if (model.report.errors() == before)
    checkAllNamed();
}

void tplan::parse::readWeightMaps(ModelBuilder &model, const Body &body, const Env &env) {
  const Stmt *first = nullptr;
  for (const Stmt *stmt : body) {
    if (stmt->kind != Stmt::WeightMap)
      continue;
    if (first) {
      model.report.error(stmt->loc, "given twice: {0}", "weights")
          .note(first->loc, "{0} is given here", "weights");
      return;
    }
    first = stmt;
    MapReader(model, *stmt, env).read();
  }
}

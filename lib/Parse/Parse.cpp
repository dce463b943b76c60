//===- Parse.cpp - from files to a module ------------------------------------===//
//
// Reads the main file and its imports, picks plan, recipe, model and cluster, puts
// --set over them, and elaborates in that order. Files with syntax errors are not
// elaborated: what the recovery dropped would be missed everywhere.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Parse.h"
#include "dialects/tplan/Settings.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Model.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Sizes.h"
#include "lib/Parse/Syntax.h"
#include "lib/Parse/Text.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <deque>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

constexpr size_t kMaxFiles = 64, kMaxOverrides = 1024;

class Program {
public:
  Program(MLIRContext &context, llvm::SourceMgr &sources, const ParseOptions &options)
      : report(context, sources), sources(sources), options(options) {}

  OwningOpRef<ModuleOp> run() {
    bool read = readFiles();
    if (options.files)
      *options.files = seen;
    if (!read || !readOverrides())
      return nullptr;
    if (options.parsed)
      *options.parsed = true;
    if (!checkNames())
      return nullptr;
    return elaborate();
  }

private:
  bool readFiles();
  bool parseBuffer(unsigned id, bool main);
  bool import(const Name &name, StringRef from);
  bool checkNames();
  bool readOverrides();
  const BlockDecl *choosePlan(bool &ok);
  const BlockDecl *findBlock(BlockDecl::Kind kind, const Name &name, const char *unknown);
  const ModelDecl *findModel(const Name &name);
  bool merge(const BlockDecl &block, Settings &into);
  void applyOverrides(StringRef block, BlockDecl::Kind kind, Settings &into);

  /// The blocks of a plan, and their lines with --set over them.
  struct Chosen {
    const BlockDecl *plan = nullptr, *recipe = nullptr,
                    *cluster = nullptr; // plan, cluster: or null
    Settings planLines, recipeLines, clusterLines;
  };
  SMLoc beginOfMain() const;
  const BlockDecl *onlyRecipe();
  bool choose(Chosen &chosen);
  void mergeOverrides(Chosen &chosen);
  std::optional<Recipe> readSizes(Chosen &chosen);
  OwningOpRef<ModuleOp> elaborate();
  bool emit(ModelBuilder &model, Chosen &chosen, const Recipe &recipe, const ModelDecl &decl);
  bool list(const ModelInfo &info, ModuleOp made);

  Report report;
  llvm::SourceMgr &sources;
  const ParseOptions &options;
  Arena arena;
  std::deque<Syntax> parses; // they own no nodes, but live as long as their overrides
  File file;
  std::vector<std::string> seen; // real paths
  size_t bytes = 0;              // of all files
  size_t mainBlocks = 0;         // blocks of the main file come first
  llvm::StringMap<bool> fromPrelude;

  struct Override {
    StringRef block, key; // into its buffer
    const Setting *setting = nullptr;
    Bound number;
    SMLoc loc;
  };
  std::optional<Override> readOverride(StringRef text);
  bool checkPath(StringRef text, const Override &override, bool numeric);
  bool readValue(StringRef value, bool numeric, Override &override);
  bool addOverride(const Override &override, bool replaces);
  std::vector<Override> overrides;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool Program::parseBuffer(unsigned id, bool main) {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(id);
  StringRef text = buffer->getBuffer();
  SMLoc begin = SMLoc::getFromPointer(text.data());
  bytes += text.size();
  if (bytes > kMaxFile) {
    report.error(begin, "a source has at most 4 MiB with its imports, found more in this file");
    return false;
  }
  if (!checkText(report, text))
    return false;
  Syntax &syntax = parses.emplace_back(report, arena, text.drop_front(byteOrderMark(text)));
  bool ok = parseText(syntax, Start::File);
  llvm::append_range(file.layers, syntax.file.layers);
  llvm::append_range(file.models, syntax.file.models);
  llvm::append_range(file.blocks, syntax.file.blocks);
  if (main)
    mainBlocks = file.blocks.size();
  std::string name = buffer->getBufferIdentifier().str();
  for (const Name &imported : syntax.file.imports)
    if (!report.gaveUp())
      ok &= import(imported, name);
  return ok;
}

/// Reads `name` from the folder of `from` or the installed models, once.
bool Program::import(const Name &name, StringRef from) {
  std::vector<std::string> folders;
  if (llvm::sys::path::is_absolute(name.text)) {
    folders.push_back("");
  } else {
    folders.push_back(llvm::sys::path::parent_path(from).str());
    llvm::append_range(folders, options.modelDirs);
  }
  if (name.text.empty() || name.text.contains('\0')) {
    report.error(name.loc, "an import names a file: import \"llama.tplan\"");
    return false;
  }
  if (seen.size() >= kMaxFiles) {
    report.error(name.loc, "more than {0} files imported", kMaxFiles);
    return false;
  }
  for (const std::string &folder : folders) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name.text);
    // A folder opens too, and a pipe may never end: only files are read.
    llvm::sys::fs::file_status status;
    std::error_code failed = llvm::sys::fs::status(path, status);
    if (failed == std::errc::no_such_file_or_directory)
      continue;
    if (!failed && status.type() != llvm::sys::fs::file_type::regular_file) {
      report.error(name.loc, "an import names a file, found {0}: {1}",
                   llvm::sys::fs::is_directory(status) ? "a folder" : "a device or a pipe",
                   name.text);
      return false;
    }
    auto buffer =
        failed ? llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>(failed) : readSource(path);
    if (!buffer) {
      report.error(name.loc, "cannot read {0}: {1}", name.text, buffer.getError().message());
      return false;
    }
    llvm::SmallString<128> real;
    if (llvm::sys::fs::real_path(path, real))
      real = path;
    if (llvm::is_contained(seen, real.str()))
      return true;
    seen.push_back(real.str().str());
    unsigned id = sources.AddNewSourceBuffer(std::move(*buffer), name.loc);
    if (folder != folders.front())
      report.addLibrary(id);
    return parseBuffer(id, false);
  }
  report.error(name.loc, "file not found: {0}; looked in {1}", name.text,
               llvm::join(llvm::map_range(folders,
                                          [](const std::string &f) {
                                            return f.empty() ? std::string(".") : f;
                                          }),
                          ", "));
  return false;
}

bool Program::readFiles() {
  unsigned id = sources.getMainFileID();
  file.modelDirs = options.modelDirs;
  file.main = sources.getMemoryBuffer(id)->getBuffer();
  llvm::SmallString<128> real;
  StringRef name = sources.getMemoryBuffer(id)->getBufferIdentifier();
  if (!llvm::sys::fs::real_path(name, real))
    seen.push_back(real.str().str());
  bool ok = parseBuffer(id, true);
  if (bytes > kMaxFile)
    return false;
  size_t own = file.layers.size();
  for (const std::string &folder : options.modelDirs) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "prelude.tplan");
    auto buffer = readSource(path);
    if (!buffer)
      continue;
    if (llvm::sys::fs::real_path(path, real))
      real = path;
    if (!llvm::is_contained(seen, real.str())) {
      unsigned prelude = sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
      report.addLibrary(prelude);
      ok &= parseBuffer(prelude, false);
      // What the user declares hides the prelude's.
      std::vector<LayerDecl *> kept(file.layers.begin(), file.layers.begin() + own);
      for (LayerDecl *layer : llvm::drop_begin(file.layers, own))
        if (llvm::none_of(kept, [&](LayerDecl *k) { return k->name.text == layer->name.text; }))
          kept.push_back(layer);
      file.layers = kept;
    }
    return ok;
  }
  report.error(SMLoc::getFromPointer(sources.getMemoryBuffer(id)->getBufferStart()),
               "prelude.tplan not found in the folders of models: {0}",
               llvm::join(options.modelDirs, ", "));
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool Program::checkNames() {
  bool ok = true;
  std::map<std::pair<int, StringRef>, SMLoc> names;
  auto check = [&](int kind, const Name &name) {
    auto [it, fresh] = names.try_emplace({kind, name.text}, name.loc);
    if (!fresh) {
      report.error(name.loc, "declared twice: {0}", name.text)
          .note(it->second, "{0} is declared here", name.text);
      ok = false;
    }
  };
  for (const LayerDecl *layer : file.layers)
    check(10, layer->name);
  for (const auto &[i, layer] : llvm::enumerate(file.layers))
    for (const Param &param : layer->params)
      check(100 + i, param.name);
  for (const ModelDecl *model : file.models)
    check(11, model->name);
  for (const BlockDecl *block : file.blocks)
    check(block->kind, block->name);
  return ok;
}

const BlockDecl *Program::findBlock(BlockDecl::Kind kind, const Name &name, const char *unknown) {
  std::vector<StringRef> names;
  for (const BlockDecl *block : file.blocks)
    if (block->kind == kind) {
      if (block->name.text == name.text)
        return block;
      names.push_back(block->name.text);
    }
  report.error(name.loc, "unknown {0}: {1}", unknown, name.text).suggest(name.text, names);
  return nullptr;
}

const ModelDecl *Program::findModel(const Name &name) {
  std::vector<StringRef> names;
  for (const ModelDecl *model : file.models) {
    if (model->name.text == name.text)
      return model;
    names.push_back(model->name.text);
  }
  auto error = report.error(name.loc, "unknown model: {0}", name.text);
  if (!explainImport(error, file, "model", name.text))
    error.suggest(name.text, names);
  return nullptr;
}

/// The plan to compile; null with `ok` if there is none and the default serves.
const BlockDecl *Program::choosePlan(bool &ok) {
  std::vector<const BlockDecl *> plans;
  std::vector<StringRef> names;
  for (const BlockDecl *block : file.blocks)
    if (block->kind == BlockDecl::Plan) {
      plans.push_back(block);
      names.push_back(block->name.text);
    }
  ok = false;
  if (!options.plan.empty()) {
    for (const BlockDecl *plan : plans)
      if (plan->name.text == options.plan) {
        ok = true;
        return plan;
      }
    report.error(beginOfMain(), "no plan is named {0}", options.plan).suggest(options.plan, names);
    return nullptr;
  }
  // Plans of the main file come before imported ones.
  size_t own = llvm::count_if(llvm::ArrayRef(file.blocks).take_front(mainBlocks),
                              [](const BlockDecl *b) { return b->kind == BlockDecl::Plan; });
  if (own == 1 || (own == 0 && plans.size() == 1)) {
    ok = true;
    return plans.front();
  }
  if (!plans.empty()) {
    report.error(plans[1]->name.loc, "several plans: choose one with --plan: {0}",
                 llvm::join(names, ", "));
    return nullptr;
  }
  ok = true;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// Adds the lines of a block, and of the ones it overrides, to `into`.
bool Program::merge(const BlockDecl &block, Settings &into) {
  std::vector<const BlockDecl *> chain = {&block};
  while (chain.back()->kind == BlockDecl::Recipe && !chain.back()->base.text.empty()) {
    const BlockDecl *base = findBlock(BlockDecl::Recipe, chain.back()->base, "recipe");
    if (!base)
      return false;
    if (llvm::is_contained(chain, base)) {
      report.error(block.name.loc, "recipe {0} overrides itself", block.name.text);
      return false;
    }
    chain.push_back(base);
  }
  into.name = block.name;
  static constexpr llvm::StringLiteral what[] = {"recipe", "cluster", "plan"};
  bool ok = true;
  for (const BlockDecl *b : llvm::reverse(chain)) {
    std::map<StringRef, SMLoc> own;
    for (const Setting &setting : b->settings) {
      StringRef key = setting.key == "node" ? StringRef("nodes") : setting.key;
      std::vector<StringRef> keys = settingKeys(b->kind);
      if (b->kind == BlockDecl::Cluster)
        keys.push_back("nodes");
      if (!llvm::is_contained(keys, key)) {
        report.error(setting.loc, "a {0} has no line {1}", what[b->kind], key).suggest(key, keys);
        ok = false;
      }
      // A second mesh names another factoring of the same ranks.
      auto [it, fresh] = own.try_emplace(key, setting.loc);
      if (!fresh && key == "mesh") {
        report.error(setting.loc, "{0}", sentence(Feature::Factoring));
        ok = false;
      } else if (!fresh) {
        report.error(setting.loc, "given twice: {0}", key)
            .note(it->second, "{0} is given here", key);
        ok = false;
      }
      into.lines[key] = &setting;
    }
  }
  return ok;
}

/// Where errors that are about no line stand.
SMLoc Program::beginOfMain() const {
  return SMLoc::getFromPointer(sources.getMemoryBuffer(sources.getMainFileID())->getBufferStart());
}

//===----------------------------------------------------------------------===//
// --set
//===----------------------------------------------------------------------===//

/// False after an error: no line or size can be at the path of the override. `text` is all of it.
bool Program::checkPath(StringRef text, const Override &override, bool numeric) {
  SMLoc begin = SMLoc::getFromPointer(text.data());
  auto [block, key] = std::pair(override.block, override.key);
  if (!numeric && block != "plan" && block != "recipe") {
    report.error(begin, "--set changes plan, recipe, model or data, found {0}", block)
        .suggest(block, ArrayRef<StringRef>{"plan", "recipe", "model", "data"});
    return false;
  }
  if (!numeric && !settingToken(key)) {
    report.error(override.loc, "a {0} has no line {1}", block, key)
        .suggest(key, settingKeys(block == "plan" ? BlockDecl::Plan : BlockDecl::Recipe));
    return false;
  }
  return true;
}

/// False after an error. A size of the model or the data is a number, all else a line.
bool Program::readValue(StringRef value, bool numeric, Override &override) {
  Syntax &syntax = parses.emplace_back(report, arena, value);
  if (!parseText(syntax, numeric ? Start::Expression : Start::Setting,
                 numeric ? StringRef() : override.key))
    return false;
  override.setting = syntax.setting;
  if (!numeric)
    return true;
  std::optional<Number> size = number(report, *syntax.expr, Env());
  if (size)
    override.number = {*size, override.loc};
  return size.has_value();
}

/// PATH=VALUE
std::optional<Program::Override> Program::readOverride(StringRef text) {
  if (!checkText(report, text))
    return std::nullopt;
  auto [path, value] = text.split('=');
  auto [block, key] = path.split('.');
  if (value.empty() || key.empty()) {
    report.error(SMLoc::getFromPointer(text.data()),
                 "expected --set PATH=VALUE, such as plan.microbatch=2, found {0}", text);
    return std::nullopt;
  }
  Override override{block, key, nullptr, {}, SMLoc::getFromPointer(key.data())};
  bool numeric = block == "model" || block == "data";
  if (!checkPath(text, override, numeric) || !readValue(value, numeric, override))
    return std::nullopt;
  return override;
}

/// False after an error: the path has been set, and this one does not replace it.
bool Program::addOverride(const Override &override, bool replaces) {
  auto first = llvm::find_if(overrides, [&](const Override &other) {
    return other.block == override.block && other.key == override.key;
  });
  if (first == overrides.end()) {
    overrides.push_back(override);
  } else if (replaces) {
    *first = override;
  } else {
    report
        .error(SMLoc::getFromPointer(override.block.data()), "given twice: {0}",
               (override.block + "." + override.key).str())
        .note(first->loc, "the first is here");
    return false;
  }
  return true;
}

/// Each --set is a buffer of its own, so that errors point into it.
bool Program::readOverrides() {
  bool ok = true;
  size_t read = 0;
  if (options.overrides.size() > kMaxOverrides) {
    report.error(SMLoc(), "more than {0} overrides", kMaxOverrides);
    return false;
  }
  for (const std::string &text :
       llvm::concat<const std::string>(options.overrides, options.replacements)) {
    bool replaces = ++read > options.overrides.size();
    unsigned id = sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "--set " + text), SMLoc());
    StringRef all = sources.getMemoryBuffer(id)->getBuffer();
    bytes += all.size();
    if (bytes > kMaxFile) {
      report.error(SMLoc::getFromPointer(all.data()),
                   "a source has at most 4 MiB with its overrides, found more");
      return false;
    }
    std::optional<Override> override = readOverride(all);
    ok &= override && addOverride(*override, replaces);
  }
  return ok;
}

void Program::applyOverrides(StringRef block, BlockDecl::Kind kind, Settings &into) {
  for (const Override &o : overrides) {
    if (o.block != block)
      continue;
    std::vector<StringRef> keys = settingKeys(kind);
    if (llvm::is_contained(keys, o.key))
      into.lines[o.key] = o.setting;
    else
      report.error(o.loc, "a {0} has no line {1}", block, o.key).suggest(o.key, keys);
  }
}

//===----------------------------------------------------------------------===//
// Elaboration
//===----------------------------------------------------------------------===//

/// The recipe where there is no plan, or null after an error.
const BlockDecl *Program::onlyRecipe() {
  std::vector<StringRef> names;
  const BlockDecl *recipe = nullptr;
  for (const BlockDecl *block : file.blocks)
    if (block->kind == BlockDecl::Recipe) {
      recipe = block;
      names.push_back(block->name.text);
    }
  if (names.size() == 1)
    return recipe;
  if (names.empty())
    report.error(beginOfMain(), "nothing to compile: add a recipe, such as "
                                "`recipe train {{ model .. data .. batch .. length .. lr .. }`");
  else
    report.error(beginOfMain(),
                 "several recipes and no plan: add `plan serial : {0} {{ }`; recipes are {1}",
                 names[0], llvm::join(names, ", "));
  return nullptr;
}

/// The plan and its recipe; false after an error.
bool Program::choose(Chosen &chosen) {
  bool ok = false;
  chosen.plan = choosePlan(ok);
  if (!ok)
    return false;
  if (const BlockDecl *plan = chosen.plan) {
    chosen.recipe = findBlock(BlockDecl::Recipe, plan->base, "recipe");
    ok = chosen.recipe && merge(*plan, chosen.planLines);
  } else {
    chosen.recipe = onlyRecipe();
    ok = chosen.recipe;
    if (ok)
      chosen.planLines.name = chosen.recipe->name;
  }
  return ok && merge(*chosen.recipe, chosen.recipeLines);
}

void Program::mergeOverrides(Chosen &chosen) {
  applyOverrides("plan", BlockDecl::Plan, chosen.planLines);
  applyOverrides("recipe", BlockDecl::Recipe, chosen.recipeLines);
  if (options.serial)
    std::erase_if(chosen.planLines.lines, [](const auto &line) {
      return line.first != "microbatch" && line.first != "precision";
    });
}

/// The recipe with sizes of model and data, by its lines or by --set, which wins.
std::optional<Recipe> Program::readSizes(Chosen &chosen) {
  unsigned before = report.errors();
  mergeOverrides(chosen);
  Sizes sizes, data;
  for (const Override &override : overrides) {
    if (override.block == "model")
      sizes[override.key] = override.number;
    if (override.block != "data")
      continue;
    const Number &size = override.number.number;
    if (!size.integer || size.whole < 1 || size.whole > limits::size)
      report.error(override.loc,
                   "a size of the data must be a whole number from 1 to 2^40, found {0}",
                   spell(size));
    data[override.key] = override.number;
  }
  if (report.errors() != before)
    return std::nullopt;
  std::optional<Recipe> recipe = readRecipe(report, chosen.recipeLines, data);
  if (recipe)
    for (auto &[name, bound] : sizes)
      recipe->sizes[name] = bound;
  return recipe;
}

OwningOpRef<ModuleOp> Program::elaborate() {
  Chosen chosen;
  if (!choose(chosen))
    return nullptr;
  unsigned before = report.errors();
  std::optional<Recipe> recipe = readSizes(chosen);
  if (!recipe)
    return nullptr;
  const ModelDecl *decl = findModel(recipe->model);
  if (!decl)
    return nullptr;
  report.setOrigin(recipe->model.loc, decl->name.text);
  if (options.origin)
    *options.origin = {report.libraryFiles(), report.at(recipe->model.loc)};
  ModelBuilder model(report, file);
  model.proposals = {ranksOf(chosen.planLines), chosen.recipeLines.find("data")};
  if (!emit(model, chosen, *recipe, *decl) || report.errors() != before)
    return nullptr;
  if (!list(model.info, *model.module) || failed(verify(*model.module)))
    return nullptr;
  return std::move(model.module);
}

/// False after an error that leaves no module. The user's symbols come before those of specialised
/// layers, and first what a binary shows.
bool Program::emit(ModelBuilder &model, Chosen &chosen, const Recipe &recipe,
                   const ModelDecl &decl) {
  const BlockDecl *plan = chosen.plan;
  std::string planSymbol = model.symbol(plan ? plan->name.text : StringRef("serial"), "plan"),
              modelSymbol = model.symbol(decl.name.text, "model"),
              recipeSymbol = model.symbol(chosen.recipe->name.text, "recipe"), clusterSymbol;
  if (plan && !plan->on.text.empty()) {
    chosen.cluster = findBlock(BlockDecl::Cluster, plan->on, "cluster");
    if (!chosen.cluster || !merge(*chosen.cluster, chosen.clusterLines))
      return false;
    clusterSymbol = model.symbol(chosen.cluster->name.text, "cluster");
  }
  model.module->getOperation()->setLoc(report.at(decl.name.loc));
  if (!buildModel(model, decl, recipe.sizes, recipe.data, modelSymbol))
    return false;
  emitRecipe(model, recipe, recipeSymbol);
  std::optional<Cluster> cluster;
  if (chosen.cluster)
    cluster = emitCluster(model, chosen.clusterLines, clusterSymbol);
  emitPlan(model, chosen.planLines, recipe, recipeSymbol, cluster ? &*cluster : nullptr,
           planSymbol);
  return true;
}

/// Prints what the selector of the options matches; false after an error.
bool Program::list(const ModelInfo &info, ModuleOp made) {
  if (options.list.empty())
    return true;
  unsigned id = sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(options.list, "--list " + options.list), SMLoc());
  StringRef text = sources.getMemoryBuffer(id)->getBuffer();
  if (!checkText(report, text))
    return false;
  Syntax syntax(report, arena, text);
  if (!parseText(syntax, Start::Selector))
    return false;
  auto matches = match(report, *syntax.selector, info);
  // Weights are f32 under every other precision.
  const lang::Plan &plan = lang::Settings(made).plan;
  bool wide = plan.precision == lang::Precision::F64 || plan.computedIn;
  if (matches && options.listOutput)
    printMatches(info, *matches, wide, *options.listOutput);
  return matches.has_value();
}

OwningOpRef<ModuleOp> tplan::parse::parseSource(MLIRContext &context, llvm::SourceMgr &sources,
                                                const ParseOptions &options) {
  context.loadDialect<lang::TplanDialect, nn::NNDialect>();
  return Program(context, sources, options).run();
}

std::vector<std::string> tplan::parse::defaultModelDirs(const char *program) {
  static int anchor;
  std::string path = llvm::sys::fs::getMainExecutable(program, &anchor);
  StringRef bin = llvm::sys::path::parent_path(path);
  std::vector<std::string> folders;
  for (StringRef relative : {"../share/tplan/models", "../../models"}) {
    llvm::SmallString<128> folder(bin);
    llvm::sys::path::append(folder, relative);
    llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
    if (llvm::sys::fs::is_directory(folder))
      folders.push_back(folder.str().str());
  }
  return folders;
}

//===- Parse.cpp - from files to a module ----------------------------------===//
//
// Reads the main file and its imports, picks plan, recipe, model and cluster, puts
// --set over them, and elaborates in that order. Files with syntax errors are not
// elaborated: what the recovery dropped would be missed everywhere.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Parse.h"
#include "dialects/tplan/Settings.h"
#include "lib/Parse/Blocks.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Model.h"
#include "lib/Parse/Overrides.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Spelling.h"
#include "lib/Parse/Text.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

class Program {
public:
  Program(MLIRContext &context, llvm::SourceMgr &sources, const ParseOptions &options)
      : options(options), report(context, sources), source(report, sources, options.modelDirs),
        overrides(source), blocks(source) {}

  OwningOpRef<ModuleOp> run();

private:
  void mergeOverrides();
  std::optional<Recipe> readSizes();
  OwningOpRef<ModuleOp> elaborate();
  bool emit(ModelBuilder &model, const Recipe &recipe, const ModelDecl &decl);
  bool list(const ModelInfo &info, ModuleOp made);

  const ParseOptions &options;
  Report report;
  SourceReader source;
  Overrides overrides;
  Blocks blocks;
};

} // namespace

OwningOpRef<ModuleOp> Program::run() {
  bool read = source.read();
  if (options.files)
    *options.files = source.seen;
  if (!read || !overrides.read(options.overrides, options.replacements))
    return nullptr;
  if (options.parsed)
    *options.parsed = true;
  if (!blocks.checkNames() || !blocks.choose(options.plan))
    return nullptr;
  return elaborate();
}

void Program::mergeOverrides() {
  overrides.apply("plan", BlockDecl::Plan, blocks.planLines);
  overrides.apply("recipe", BlockDecl::Recipe, blocks.recipeLines);
  if (options.serial)
    std::erase_if(blocks.planLines.lines, [](const auto &line) {
      return line.first != "microbatch" && line.first != "precision";
    });
}

/// The recipe with sizes of model and data, by its lines or by --set, which wins.
std::optional<Recipe> Program::readSizes() {
  unsigned before = report.errors();
  mergeOverrides();
  Sizes sizes, data;
  for (const Override &override : overrides.all) {
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
  std::optional<Recipe> recipe = readRecipe(report, blocks.recipeLines, data);
  if (recipe)
    for (auto &[name, bound] : sizes)
      recipe->sizes[name] = bound;
  return recipe;
}

OwningOpRef<ModuleOp> Program::elaborate() {
  unsigned before = report.errors();
  std::optional<Recipe> recipe = readSizes();
  if (!recipe)
    return nullptr;
  const ModelDecl *decl = blocks.findModel(recipe->model);
  if (!decl)
    return nullptr;
  report.setOrigin(recipe->model.loc, decl->name.text);
  if (options.origin)
    *options.origin = {report.libraryFiles(), report.at(recipe->model.loc)};
  ModelBuilder model(report, source.file);
  model.proposals = {ranksOf(blocks.planLines), blocks.recipeLines.find("data")};
  bool isEmitted = emit(model, *recipe, *decl);
  if (options.files)
    llvm::append_range(*options.files, model.files);
  if (!isEmitted || report.errors() != before)
    return nullptr;
  if (!list(model.info, *model.module) || failed(verify(*model.module)))
    return nullptr;
  return std::move(model.module);
}

/// False after an error that leaves no module. The user's symbols come before those of specialised
/// layers, and first what a binary shows.
bool Program::emit(ModelBuilder &model, const Recipe &recipe, const ModelDecl &decl) {
  StringRef planName = blocks.plan ? blocks.plan->name.text : StringRef("serial");
  std::string planSymbol = model.symbol(planName, "plan"),
              modelSymbol = model.symbol(decl.name.text, "model"),
              recipeSymbol = model.symbol(blocks.recipe->name.text, "recipe"), clusterSymbol;
  if (!blocks.chooseCluster())
    return false;
  if (blocks.cluster)
    clusterSymbol = model.symbol(blocks.cluster->name.text, "cluster");
  model.module->getOperation()->setLoc(report.at(decl.name.loc));
  if (!buildModel(model, decl, recipe.sizes, recipe.data, modelSymbol))
    return false;
  emitRecipe(model, recipe, recipeSymbol);
  std::optional<Cluster> cluster;
  if (blocks.cluster)
    cluster = emitCluster(model, blocks.machines, clusterSymbol);
  emitPlan(model, blocks.planLines, recipe, recipeSymbol, cluster ? &*cluster : nullptr,
           planSymbol);
  return true;
}

/// Prints what the selector of the options matches; false after an error.
bool Program::list(const ModelInfo &info, ModuleOp made) {
  if (options.list.empty())
    return true;
  unsigned id = source.sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(options.list, "--list " + options.list), SMLoc());
  StringRef text = source.sources.getMemoryBuffer(id)->getBuffer();
  if (!checkText(report, text))
    return false;
  Syntax syntax(report, source.arena, text);
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

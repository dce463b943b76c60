//===- Blocks.cpp - the plan, recipe and cluster that are compiled ---------===//
#include "lib/Parse/Blocks.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Foreign.h"
#include "llvm/ADT/StringExtras.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool Blocks::checkNames() {
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

const BlockDecl *Blocks::find(BlockDecl::Kind kind, const Name &name, const char *unknown) {
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

const ModelDecl *Blocks::findModel(const Name &name) {
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

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// The plan of the given name, else the only one of the main file, else the only one.
bool Blocks::choosePlan(StringRef planName) {
  std::vector<const BlockDecl *> plans;
  std::vector<StringRef> names;
  size_t own = 0; // plans of the main file, which come before imported ones
  for (auto [i, block] : llvm::enumerate(file.blocks)) {
    if (block->kind != BlockDecl::Plan)
      continue;
    if (!planName.empty() && block->name.text == planName) {
      plan = block;
      return true;
    }
    own += i < source.mainBlocks;
    plans.push_back(block);
    names.push_back(block->name.text);
  }
  if (!planName.empty()) {
    report.error(source.beginOfMain(), "no plan is named {0}", planName).suggest(planName, names);
    return false;
  }
  if (own == 1 || (own == 0 && plans.size() == 1))
    plan = plans.front();
  if (plan || plans.empty())
    return true;
  report.error(plans[1]->name.loc, "several plans: choose one with --plan: {0}",
               llvm::join(names, ", "));
  return false;
}

/// The recipe where there is no plan, or null after an error.
const BlockDecl *Blocks::onlyRecipe() {
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
    report.error(source.beginOfMain(),
                 "nothing to compile: add a recipe, such as "
                 "`recipe train {{ model .. data .. batch .. length .. lr .. }`");
  else
    report.error(source.beginOfMain(),
                 "several recipes and no plan: add `plan serial : {0} {{ }`; recipes are {1}",
                 names[0], llvm::join(names, ", "));
  return nullptr;
}

bool Blocks::choose(StringRef planName) {
  if (!choosePlan(planName))
    return false;
  if (plan) {
    recipe = find(BlockDecl::Recipe, plan->base, "recipe");
    if (!recipe || !merge(*plan, planLines))
      return false;
  } else {
    recipe = onlyRecipe();
    if (!recipe)
      return false;
    planLines.name = recipe->name;
  }
  return merge(*recipe, recipeLines);
}

bool Blocks::chooseCluster() {
  if (!plan || plan->on.text.empty())
    return true;
  cluster = find(BlockDecl::Cluster, plan->on, "cluster");
  return cluster && merge(*cluster, machines.cluster) && chooseMachines();
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// Adds what a recipe overrides, and what that one does, to the chain that it begins.
bool Blocks::basesOf(const BlockDecl &block, std::vector<const BlockDecl *> &chain) {
  while (chain.back()->kind == BlockDecl::Recipe && !chain.back()->base.text.empty()) {
    const BlockDecl *base = find(BlockDecl::Recipe, chain.back()->base, "recipe");
    if (!base)
      return false;
    if (llvm::is_contained(chain, base)) {
      report.error(block.name.loc, "recipe {0} overrides itself", block.name.text);
      return false;
    }
    chain.push_back(base);
  }
  return true;
}

/// `own` has the lines that the block has given so far.
bool Blocks::mergeLine(const BlockDecl &block, const Setting &setting,
                       std::map<StringRef, SMLoc> &own, Settings &into) {
  static constexpr llvm::StringLiteral what[] = {"recipe", "cluster", "plan", "device", "link"};
  bool ok = true;
  StringRef key = setting.key == "node" ? StringRef("nodes") : setting.key;
  std::vector<StringRef> keys = settingKeys(block.kind);
  if (block.kind == BlockDecl::Cluster)
    keys.push_back("nodes");
  if (!llvm::is_contained(keys, key)) {
    report.error(setting.loc, "a {0} has no line {1}", what[block.kind], key).suggest(key, keys);
    ok = false;
  }
  // A second mesh names another factoring of the same ranks.
  auto [it, fresh] = own.try_emplace(key, setting.loc);
  if (!fresh && key == "mesh")
    refuse(report, setting.loc, Feature::Factoring);
  else if (!fresh)
    report.error(setting.loc, "given twice: {0}", key).note(it->second, "{0} is given here", key);
  into.lines[key] = &setting;
  return ok && fresh;
}

/// Every link, because a cluster and a device name some of them.
bool Blocks::chooseMachines() {
  for (const BlockDecl *block : file.blocks)
    if (block->kind == BlockDecl::Link && !merge(*block, machines.links[block->name.text]))
      return false;
  const Setting *nodes = machines.cluster.find("nodes");
  if (!nodes)
    return true; // which emitCluster refuses
  StringRef device = nodes->items[0].string;
  const BlockDecl *block =
      find(BlockDecl::Device, {device, SMLoc::getFromPointer(device.data())}, "device");
  return block && merge(*block, machines.device);
}

/// Adds the lines of a block, and of the ones it overrides, to `into`.
bool Blocks::merge(const BlockDecl &block, Settings &into) {
  std::vector<const BlockDecl *> chain = {&block};
  if (!basesOf(block, chain))
    return false;
  into.name = block.name;
  bool ok = true;
  for (const BlockDecl *part : llvm::reverse(chain)) {
    std::map<StringRef, SMLoc> own;
    for (const Setting &setting : part->settings)
      ok &= mergeLine(*part, setting, own, into);
  }
  return ok;
}

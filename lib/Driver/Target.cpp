//===- Target.cpp - the machine that a plan is compiled for ---------------===//
#include "lib/Driver/Target.h"
#include "lib/Emit/Ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace tplan {
namespace {

struct Level {
  StringRef name;
  std::vector<StringRef> features; // and those of the levels before it
  int64_t vectorBytes, registers;
};
std::vector<StringRef> splitList(StringRef list) {
  SmallVector<StringRef> items;
  list.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {items.begin(), items.end()};
}
const Level levels[] = {
#define LEVEL(NAME, FEATURES, BYTES, REGISTERS) {NAME, splitList(FEATURES), BYTES, REGISTERS},
#include "include/tplan/cpu_levels.def"
};
/// Features beyond the last level that our code uses where a machine has them.
struct Extra {
  StringRef feature;
  bool Target::*fact;
};
const Extra extras[] = {{"avx512bf16", &Target::bf16Gemm}};

Target fromFeatures(const StringSet<> &present) {
  auto has = [&](StringRef feature) { return present.contains(feature); };
  std::vector<StringRef> needs;
  const Level *best = levels;
  for (const Level &level : levels) {
    if (!all_of(level.features, has))
      break;
    best = &level;
    append_range(needs, level.features);
  }
  Target target{.cpu = best->name.str(),
                .features = "",
                .needs = best->name.str(),
                .vectorBytes = best->vectorBytes,
                .registers = best->registers,
                .f16c = is_contained(needs, "f16c")};
  if (best != std::prev(std::end(levels)))
    return target;
  for (const Extra &extra : extras) {
    if (!has(extra.feature))
      continue;
    target.features += (target.features.empty() ? "+" : ",+") + extra.feature.str();
    target.*extra.fact = true;
    needs.push_back(extra.feature);
    target.needs = join(needs, ",");
  }
  return target;
}

/// 90 of sm_90.
int64_t numberOf(StringRef arch) {
  int64_t number = 0;
  (void)arch.drop_front(3).getAsInteger(10, number);
  return number;
}

/// What cuBLASLt is worth on these machines, as its documentation says: 32 MiB from Hopper on.
int64_t workspaceOf(StringRef arch) { return numberOf(arch) >= 90 ? 32 << 20 : 4 << 20; }

/// The row of the newest architecture that is not newer than this one.
template <typename Row> const Row *rowFor(StringRef arch, ArrayRef<Row> rows) {
  const Row *row = llvm::find_if(rows, [&](const Row &it) { return numberOf(arch) >= it.from; });
  return row == rows.end() ? nullptr : row;
}

void setAttentionLimits(Target &target) {
  struct Row {
    int64_t from, forward, backward;
  };
  static constexpr Row rows[] = {
#define ATTENTION_LIMITS(FROM, FORWARD, BACKWARD) {FROM, FORWARD, BACKWARD},
#include "lib/Driver/AttentionLimits.def"
  };
  if (const Row *row = rowFor<Row>(target.arch, rows))
    target.attentionForward = row->forward, target.attentionBackward = row->backward;
}

void setF8Gemms(Target &target) {
  struct Row {
    int64_t from;
    std::vector<std::string> scales;
  };
  static const Row rows[] = {
#define F8_GEMMS(FROM, ...) {FROM, {__VA_ARGS__}},
#include "lib/Driver/F8Gemms.def"
  };
  if (const Row *row = rowFor<Row>(target.arch, rows))
    target.scales = row->scales;
}

/// The host program computes nothing, so any CPU will do.
Expected<Target> fromArchitecture(StringRef arch) {
  if (!is_contained(emit::gpuArchitectures(), arch))
    return createStringError("no GPU architecture is called '" + arch + "'; there are " +
                             join(emit::gpuArchitectures(), ", "));
  Target target{.cpu = levels[0].name.str(), .arch = arch.str(), .workspace = workspaceOf(arch)};
  setAttentionLimits(target);
  setF8Gemms(target);
  return target;
}

} // namespace

Expected<std::vector<Target>> findTargets(StringRef text) {
  SmallVector<StringRef> names;
  text.split(names, ',');
  std::vector<Target> targets;
  for (StringRef name : names) {
    Expected<Target> target = findTarget(name);
    if (!target)
      return target.takeError();
    if (llvm::any_of(targets, [&](const Target &t) { return t.program() == target->program(); }))
      return createStringError("a binary is for one " + Twine(target->isGpu() ? "GPU" : "CPU") +
                               " architecture, found two: " + text);
    targets.push_back(*target);
  }
  for (Target &target : targets) {
    target.hasMain = &target == &targets.back();
    if (&target != &targets.back())
      targets.back().others.push_back(target.program());
  }
  return targets;
}

Expected<Target> findTarget(StringRef text) {
  auto [kind, arch] = text.split(':');
  if (kind == "cuda")
    return fromArchitecture(arch);
  if (kind != "cpu")
    return createStringError("no target is called '" + text +
                             "'; there are cpu, cpu:ARCH and cuda:ARCH");
  StringSet<> present;
  if (arch.empty()) {
    if (text.ends_with(":"))
      return createStringError("--target=cpu: lacks the ARCH after the colon; leave out the colon "
                               "for this machine");
    for (const auto &feature : sys::getHostCPUFeatures())
      if (feature.second)
        present.insert(feature.first());
    return fromFeatures(present);
  }
  SmallVector<StringRef> legal;
  X86::fillValidCPUArchList(legal, /*Only64Bit=*/true);
  if (!is_contained(legal, arch)) {
    StringRef closest = *llvm::min_element(legal, [&, arch = arch](StringRef a, StringRef b) {
      return arch.edit_distance(a) < arch.edit_distance(b);
    });
    return createStringError("no CPU is called '" + arch + "'; did you mean '" + closest +
                             "'? There are " + join(legal, ", "));
  }
  // LLVM lists a level without the features that other features of it imply.
  const Level *named =
      llvm::find_if(levels, [&, arch = arch](const Level &l) { return l.name == arch; });
  if (named != std::end(levels)) {
    for (const Level *level = levels; level <= named; ++level)
      present.insert(level->features.begin(), level->features.end());
    return fromFeatures(present);
  }
  SmallVector<StringRef> features;
  X86::getFeaturesForCPU(arch, features, /*NeedPlus=*/false);
  present.insert(features.begin(), features.end());
  return fromFeatures(present);
}

} // namespace tplan

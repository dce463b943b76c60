//===- Target.cpp - the machine that a plan is compiled for ---------------===//
#include "lib/Driver/Target.h"

#include "mlir/IR/Builders.h"
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
/// Beyond the last level, and used by our code where they are.
const StringRef extras[] = {"avx512bf16"};

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
  Target target{best->name.str(), "", best->name.str(), best->vectorBytes, best->registers};
  if (best != std::prev(std::end(levels)))
    return target;
  for (StringRef extra : make_filter_range(extras, has)) {
    target.features += (target.features.empty() ? "+" : ",+") + extra.str();
    needs.push_back(extra);
    target.needs = join(needs, ",");
  }
  return target;
}

} // namespace

Expected<Target> findTarget(StringRef text) {
  auto [kind, arch] = text.split(':');
  if (kind != "cpu")
    return createStringError("no target is called '" + text + "'; there are cpu and cpu:ARCH");
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
  // LLVM lists a level without the features that its own ones imply.
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

mlir::DictionaryAttr Target::asAttribute(mlir::MLIRContext *context) const {
  mlir::Builder b(context);
  return b.getDictionaryAttr({b.getNamedAttr("cpu", b.getStringAttr(cpu)),
                              b.getNamedAttr("features", b.getStringAttr(features)),
                              b.getNamedAttr("needs", b.getStringAttr(needs)),
                              b.getNamedAttr("vector_bytes", b.getI64IntegerAttr(vectorBytes)),
                              b.getNamedAttr("registers", b.getI64IntegerAttr(registers))});
}

} // namespace tplan

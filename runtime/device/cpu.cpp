//===- cpu.cpp - does this machine run the code? --------------------------===//

#include "runtime/device/cpu.h"

using namespace tplan::runtime;

namespace {

struct Feature {
  const char *name;
  bool (*present)();
};
#define FEATURE(name, builtin) {name, [] { return __builtin_cpu_supports(builtin) != 0; }}
constexpr Feature features[] = {
    FEATURE("sse3", "sse3"),
    FEATURE("ssse3", "ssse3"),
    FEATURE("sse4.1", "sse4.1"),
    FEATURE("sse4.2", "sse4.2"),
    FEATURE("popcnt", "popcnt"),
    FEATURE("avx", "avx"),
    FEATURE("avx2", "avx2"),
    FEATURE("fma", "fma"),
    FEATURE("f16c", "f16c"),
    FEATURE("bmi", "bmi"),
    FEATURE("bmi2", "bmi2"),
    FEATURE("lzcnt", "lzcnt"),
    FEATURE("movbe", "movbe"),
    FEATURE("avx512f", "avx512f"),
    FEATURE("avx512bw", "avx512bw"),
    FEATURE("avx512cd", "avx512cd"),
    FEATURE("avx512dq", "avx512dq"),
    FEATURE("avx512vl", "avx512vl"),
    FEATURE("avx512bf16", "avx512bf16"),
    FEATURE("avx512vnni", "avx512vnni"),
};
#undef FEATURE

struct Level {
  const char *name, *needs;
};
constexpr Level levels[] = {
#define LEVEL(NAME, FEATURES, BYTES, REGISTERS) {NAME, FEATURES},
#include "tplan/cpu_levels.def"
};

Status checkFeatures(const std::string &list, const char *needs) {
  for (size_t begin = 0; begin < list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (!name.empty() && name[0] == '+')
      name.erase(0, 1);
    if (name.empty())
      continue;
    const Feature *found = nullptr;
    for (const Feature &feature : features)
      if (name == feature.name)
        found = &feature;
    if (!found)
      return errorf("this program needs a CPU feature that its runtime does not know: '%s'",
                    name.c_str());
    if (!found->present())
      return errorf("this program was compiled for %s, and this CPU lacks %s; compile it with "
                    "--target=cpu on this machine, or with --target=cpu:x86-64-v2",
                    needs, found->name);
  }
  return {};
}

} // namespace

Status tplan::runtime::checkCpu(const char *needs) {
  if (!needs || !*needs)
    return {};
  __builtin_cpu_init();
  bool isLevel = false;
  for (const Level &level : levels)
    isLevel |= std::string(needs) == level.name;
  if (!isLevel)
    return checkFeatures(needs, needs);
  for (const Level &level : levels) {
    TP_TRY(checkFeatures(level.needs, needs));
    if (std::string(needs) == level.name)
      break;
  }
  return {};
}

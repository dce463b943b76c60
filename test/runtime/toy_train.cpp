//===- toy_train.cpp - the toy as a binary of its own: toy-train LAYOUT [options] ---===//

#include "toy_program.h"
#include "toy_stages.h"

#include <cstdio>
#include <memory>
#include <vector>

/// The plan of stages with this name, or null.
static std::unique_ptr<toy::StagedPlan> stagedPlan(std::string_view name) {
  if (name == "Stages")
    return std::make_unique<toy::StagedPlan>();
  for (const toy::Stages &how : toy::stagedPlans())
    if (name == how.name)
      return std::make_unique<toy::StagedPlan>(how);
  return nullptr;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: toy-train LAYOUT [options]; layouts: Serial");
    for (const toy::Layout &layout : toy::layouts())
      fprintf(stderr, " %s", layout.name);
    fprintf(stderr, "; with stages: Stages");
    for (const toy::Stages &how : toy::stagedPlans())
      fprintf(stderr, " %s", how.name);
    fprintf(stderr, "\n");
    return 2;
  }
  std::string_view name = argv[1];
  tp_program program = toy::program(name == "Serial" ? toy::Layout() : toy::named(name));
  std::vector<char *> arguments(argv + 1, argv + argc);
  arguments[0] = argv[0];
  auto staged = stagedPlan(name);
  const tp_program *programs[] = {staged ? &staged->program() : &program};
  return tp_main((int)arguments.size(), arguments.data(), programs, 1);
}

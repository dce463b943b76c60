//===- toy_train.cpp - the toy as a binary of its own: toy-train LAYOUT [options] ---===//

#include "toy_program.h"

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: toy-train LAYOUT [options]; layouts: Serial");
    for (const toy::Layout &layout : toy::layouts())
      fprintf(stderr, " %s", layout.name);
    fprintf(stderr, "\n");
    return 2;
  }
  std::string_view name = argv[1];
  tp_program program = toy::program(name == "Serial" ? toy::Layout() : toy::named(name));
  std::vector<char *> arguments(argv + 1, argv + argc);
  arguments[0] = argv[0];
  const tp_program *programs[] = {&program};
  return tp_main((int)arguments.size(), arguments.data(), programs, 1);
}

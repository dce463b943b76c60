//===- recorded-program.cpp - programs compiled elsewhere, found here -----===//
//
// RECORDED_PROGRAMS names the folder: NAME.so, whose main hands over its tp_program, and NAME.txt,
// as test/gradients/compiled-program.cpp writes it.
//
//===----------------------------------------------------------------------===//
#include "test/gradients/program.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>

using namespace gradients;

static const tp_program *handedOver = nullptr;

/// Takes the place of the runtime's function, because this one is in the executable.
extern "C" int tp_main(int, char **, const tp_program *const *programs, int64_t) {
  handedOver = programs[0];
  return 0;
}

/// The executable must hold what programs call, though nothing here calls it.
[[gnu::used]] static void *const forPrograms[] = {(void *)tp_launch, (void *)tp_copy,
                                                  (void *)tp_train};

static bool readAbout(const std::string &file, Loaded &loaded) {
  std::ifstream about(file);
  for (std::string word, name; about >> word >> name;) {
    if (word == "loss")
      about >> loaded.lossWeights[name];
    else
      loaded.states.push_back(name);
  }
  return !loaded.lossWeights.empty();
}

Loaded gradients::load(const std::string &text, std::string &error) {
  const char *folder = getenv("RECORDED_PROGRAMS");
  std::string path = std::string(folder ? folder : ".") + "/" + recordName(text);
  Loaded loaded;
  loaded.code = {dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL),
                 [](void *library) { library ? dlclose(library) : 0; }};
  void *entry = loaded.code ? dlsym(loaded.code.get(), "main") : nullptr;
  if (!entry || !readAbout(path + ".txt", loaded)) {
    const char *why = loaded.code ? "its facts are missing" : dlerror();
    error = "no program is recorded for this text, make the pack anew: " + path + ": " + why;
    return {};
  }
  reinterpret_cast<int (*)(int, char **)>(entry)(0, nullptr);
  loaded.program = handedOver;
  return loaded;
}

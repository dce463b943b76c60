//===- order3.cpp - scores files by an order-3 byte model -----------------===//
//
// order3 --train FILE... --eval FILE...   @LIST stands for the files named in LIST, one
// a line. Prints nats per byte, bytes scored, bytes fitted.
//
//===----------------------------------------------------------------------===//
#include "bench/order3.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

bool read(const std::string &path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  if (file.good() || file.eof())
    return true;
  std::fprintf(stderr, "order3: error: cannot read '%s'\n", path.c_str());
  return false;
}

/// Appends the content of `name`, or of the files that a list names.
bool add(const std::string &name, std::vector<std::string> &contents) {
  if (name[0] != '@') {
    contents.emplace_back();
    return read(name, contents.back());
  }
  std::string list;
  if (!read(name.substr(1), list))
    return false;
  for (size_t begin = 0, end; begin < list.size(); begin = end + 1) {
    end = std::min(list.find('\n', begin), list.size());
    if (end == begin)
      continue;
    contents.emplace_back();
    if (!read(list.substr(begin, end - begin), contents.back()))
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> train, eval, *target = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--train"))
      target = &train;
    else if (!std::strcmp(argv[i], "--eval"))
      target = &eval;
    else if (!target || !*argv[i] || !add(argv[i], *target))
      target = nullptr, i = argc;
  }
  if (!target || train.empty() || eval.empty()) {
    std::fprintf(stderr, "usage: order3 --train FILE... --eval FILE...  (@LIST: files by name)\n");
    return 2;
  }
  order3::Model model({train.begin(), train.end()});
  double nats = 0;
  size_t bytes = 0, fitted = 0;
  for (const std::string &file : eval) {
    nats += model.nats(file);
    bytes += file.size();
  }
  for (const std::string &file : train)
    fitted += file.size();
  std::printf("%.6f nats/byte over %zu bytes, fitted on %zu\n", nats / bytes, bytes, fitted);
}

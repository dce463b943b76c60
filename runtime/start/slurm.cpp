//===- slurm.cpp - lists as Slurm writes them -----------------------------===//

#include "runtime/start/slurm.h"

#include <cctype>
#include <cstdlib>

using namespace tplan::runtime;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

Status tplan::runtime::firstHost(const std::string &nodes, std::string &host) {
  Status malformed =
      errorf("a list of nodes reads like n1,n2 or n[001,007-015]; found '%s'", nodes.c_str());
  std::string first;
  for (size_t at = 0; at < nodes.size() && nodes[at] != ',';) {
    if (nodes[at] != '[') {
      char c = nodes[at++];
      if (!isalnum((unsigned char)c) && c != '-' && c != '.' && c != '_')
        return malformed;
      first += c;
      continue;
    }
    // Leading zeros belong to the name, so the number stays text.
    size_t end = at + 1;
    while (end < nodes.size() && isDigit(nodes[end]))
      ++end;
    size_t close = nodes.find(']', end);
    if (end == at + 1 || close == std::string::npos ||
        nodes.find_first_not_of("0123456789,-", at + 1) < close)
      return malformed;
    first += nodes.substr(at + 1, end - at - 1);
    at = close + 1;
  }
  if (first.empty())
    return malformed;
  host = first;
  return {};
}

Status tplan::runtime::tasksOfNode(const std::string &tasks, int64_t node, int64_t &count) {
  Status malformed = errorf("tasks of nodes read like 4(x2),3, and node %lld has none; found '%s'",
                            (long long)node, tasks.c_str());
  const char *at = tasks.c_str();
  auto number = [&](int64_t &value) {
    char *end = nullptr;
    value = isDigit(*at) ? strtoll(at, &end, 10) : 0;
    if (end)
      at = end;
    return value > 0;
  };
  for (int64_t first = 0, nodes = 1;; first += nodes, nodes = 1) {
    if (!number(count))
      return malformed;
    if (at[0] == '(' && at[1] == 'x') {
      at += 2;
      if (!number(nodes) || *at++ != ')')
        return malformed;
    }
    if (node - first < nodes)
      return {};
    if (*at++ != ',')
      return malformed;
  }
}

//===- rows.cpp - rows of the table as programs ---------------------------===//
//
// One decision: the sizes are those that no tile, vector or column partial divides,
// and the same for every row: S is some tiles of attention and a rest, and B * S some
// partials of a column sum and a rest, in each of two microbatches.
//
//===----------------------------------------------------------------------===//
#include "test/gradients/rows.h"
#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

using namespace gradients;

std::string Row::source() const {
  bool hasLoss = std::regex_search(statements, std::regex("\\bloss +main\\b"));
  bool cut = std::any_of(planLines.begin(), planLines.end(),
                         [](const std::string &line) { return line.starts_with("microbatch"); });
  std::string plan = cut ? "" : "  microbatch 4 sequences\n";
  for (const std::string &line : planLines)
    plan += "  " + line + "\n";
  return "import \"layers.tplan\"\n"
         "model row(V = 259, D = 72, H = 6, G = 2, K = 24, F = 40) {\n"
         "  input tokens : i32[B, S]\n"
         "  next = shift(tokens, 1)\n"
         "  table embed : V -> D\n"
         "  x = embed(tokens)\n" +
         statements +
         (hasLoss ? ""
                  : "  weight probe : [S, D]\n"
                    "  loss main = mean(y * probe over B, S, D)\n") +
         "}\n"
         "recipe once { model row  data S = 333  batch 8 sequences  length 1 steps  lr 0 }\n"
         "plan p : once {\n  precision f64\n" +
         plan + "}\n";
}

std::vector<Row> gradients::readRows(const std::string &text) {
  static const std::regex head("^(\\w+)( \\[(.*)\\])?: ?(.*)$");
  std::vector<Row> rows;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (line.empty() || line[0] == '#')
      continue;
    if (line[0] == ' ' && !rows.empty()) {
      rows.back().statements += line + "\n";
      continue;
    }
    if (!std::regex_match(line, match, head)) {
      fprintf(stderr, "rows.txt:%d: no row: %s\n", number, line.c_str());
      exit(1);
    }
    Row row{match[1], "  " + match[4].str() + "\n", {}, false, number};
    std::istringstream flags(match[3]);
    for (std::string flag; std::getline(flags >> std::ws, flag, ';');)
      if (flag == "padding")
        row.padding = true;
      else
        row.planLines.push_back(flag);
    rows.push_back(row);
  }
  return rows;
}

const std::vector<Row> &gradients::rows() {
  static const std::vector<Row> all = [] {
    const char *named = getenv("ROWS_TXT");
    std::ifstream file(named ? named : TPLAN_SOURCE "/test/gradients/rows.txt");
    return readRows({std::istreambuf_iterator<char>(file), {}});
  }();
  return all;
}

bool gradients::calls(const Row &row, const std::string &function) {
  return std::regex_search(row.statements, std::regex("(^|[^.\\w])" + function + "\\("));
}

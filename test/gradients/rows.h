//===- rows.h - the table of models in rows.txt ---------------------------===//
#ifndef TPLAN_TEST_GRADIENTS_ROWS_H
#define TPLAN_TEST_GRADIENTS_ROWS_H

#include <ostream>
#include <string>
#include <vector>

namespace gradients {

struct Row {
  std::string name, statements;
  std::vector<std::string> planLines; // "recompute full"
  bool padding = false;               // some ids are below zero
  int line = 0;

  /// The row as a whole program.
  std::string source() const;
};

/// The rows of a table in text; ends the process at a line that is no row.
std::vector<Row> readRows(const std::string &text);
/// The rows of rows.txt, or of the file that ROWS_TXT names.
const std::vector<Row> &rows();

/// For GoogleTest: where the row stands.
void PrintTo(const Row &row, std::ostream *os);

/// Whether the row calls a function.
bool calls(const Row &row, const std::string &function);

} // namespace gradients

#endif // TPLAN_TEST_GRADIENTS_ROWS_H

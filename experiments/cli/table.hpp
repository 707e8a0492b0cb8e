// Tables for people.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace danaus {

struct Column {
  std::string title;
  std::size_t width = 0;  // at least this many characters; a longer cell pushes its row to the right
  enum class Align { left, right } align = Align::left;
};

// Printed row by row as the rows are made.
class Table {
 public:
  Table(std::ostream& out, std::vector<Column> columns);  // prints the titles
  void row(const std::vector<std::string>& cells);

 private:
  std::ostream& out_;
  std::vector<Column> columns_;
};

// All rows at once, each column as wide as its longest cell.
void print_table(std::ostream& out, std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows);

std::string scientific(double value);           // 1.23e-04; "-" for NaN
std::string fixed(double value, int decimals);  // 12.3; "-" for NaN
std::string human_bytes(double bytes);          // 1536 -> "1.5 KiB"

// "a, b, c"
std::string join(const std::vector<std::string>& words);

}  // namespace danaus

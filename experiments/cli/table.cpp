#include "experiments/cli/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace danaus {
namespace {

std::string formatted(const char* format, int precision, double value) {
  if (std::isnan(value)) return "-";
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), format, precision, value);
  return text.data();
}

}  // namespace

Table::Table(std::ostream& out, std::vector<Column> columns) : out_(out), columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (Column& column : columns_) {
    column.width = std::max(column.width, column.title.size());
    titles.push_back(column.title);
  }
  row(titles);
}

void Table::row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& cell = cells.at(i);
    const std::string padding(columns_[i].width - std::min(columns_[i].width, cell.size()), ' ');
    line += (i == 0 ? "" : "  ") + (columns_[i].align == Column::Align::right ? padding + cell : cell + padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << line << '\n';
}

void print_table(std::ostream& out, std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows) {
  for (const auto& cells : rows)
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].width = std::max(columns[i].width, cells.at(i).size());
  Table table(out, std::move(columns));
  for (const auto& cells : rows) table.row(cells);
}

std::string scientific(double value) { return formatted("%.*e", 2, value); }

std::string fixed(double value, int decimals) { return formatted("%.*f", decimals, value); }

std::string human_bytes(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) bytes /= 1024, ++unit;
  return fixed(bytes, unit == 0 ? 0 : 1) + ' ' + kUnits[unit];
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace danaus

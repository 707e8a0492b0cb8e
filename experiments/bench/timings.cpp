#include "experiments/bench/timings.hpp"

#include <limits>

namespace danaus {
namespace {

using enum Column::Align;

double number(const Json& row, const char* pointer) {
  const Json value = row.value(Json::json_pointer(pointer), Json());
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Column> columns(std::size_t token_width) {
  return {{"case", token_width, left},  {"method", 17, left},  {"variant", 36, left},     {"burst, us", 9, right},
          {"q3 - q1", 7, right},        {"x floor", 7, right}, {"MHz", 5, right},         {"warm, us", 9, right},
          {"sustained, us", 13, right}, {"MHz", 5, right},     {"filter, us", 10, right}, {"call, us", 9, right},
          {"error/bound", 11, right},   {"verdict", 0, left}};
}

std::vector<std::string> cells_of(const Json& row) {
  const double burst = number(row, "/time_us/burst_cold/median");
  return {row.at("case"),
          row.at("method"),
          row.value("variant", "-"),
          fixed(burst, 1),
          fixed(number(row, "/time_us/burst_cold/q3") - number(row, "/time_us/burst_cold/q1"), 1),
          fixed(burst / number(row, "/floor/us"), 2),
          fixed(number(row, "/time_us/burst_cold/clock_mhz"), 0),
          fixed(number(row, "/time_us/burst_warm/median"), 1),
          fixed(number(row, "/time_us/sustained_cold/median"), 1),
          fixed(number(row, "/time_us/sustained_cold/clock_mhz"), 0),
          fixed(number(row, "/filter_us/median"), 1),
          fixed(number(row, "/call_us/graph/median"), 1),
          fixed(number(row, "/verify/clearance"), 2),
          row.at("verify").at("status")};
}

// Of a row that has parts, each with its time.
std::string parts_of(const Json& row) {
  std::string words;
  const Json parts = row.value("parts_us", Json::object());
  for (const auto& [name, series] : parts.items())
    words += (words.empty() ? "  alone, us: " : ", ") + name + " " + fixed(series.at("median").get<double>(), 1);
  return words.empty() ? words : words + '\n';
}

}  // namespace

Timings::Timings(std::ostream& out, std::ostream& notices, std::size_t token_width)
    : out_(out), notices_(notices), token_width_(token_width) {}

void Timings::add(const Json& row) {
  ++statuses_[row.at("verify").at("status")];
  if (!table_) table_.emplace(out_, columns(token_width_));
  table_->row(cells_of(row));
  out_ << parts_of(row);
  out_.flush();
  if (row.at("verify").contains("reason")) notices_ << "  " << row["verify"]["reason"].get<std::string>() << '\n';
  ++added_;
}

void Timings::print_summary() {
  out_ << '\n'
       << added_ << " rows: " << statuses_["passed"] << " passed and timed, " << statuses_["failed"] << " failed, "
       << statuses_["skipped"] << " skipped\n";
}

}  // namespace danaus

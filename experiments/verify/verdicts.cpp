#include "experiments/verify/verdicts.hpp"

#include <limits>
#include <sstream>

namespace danaus {
namespace {

using enum Column::Align;

double figure(const Json& block, const char* field) {
  const bool finite = block.contains(field) && block[field].is_number();
  return finite ? block[field].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Column> table_columns(std::size_t token_width) {
  return {{"case", token_width, left}, {"method", 8, left}, {"data, scale, filter", 22, left},
          {"error", 9, right},         {"bound", 9, right}, {"error/bound", 0, right},
          {"worst row", 9, left},      {"verdict", 0, left}};
}

std::vector<std::string> cells_of(const Trial& trial, const Json& row) {
  const Json& verdict = row.at("verify");
  std::ostringstream data;
  data << name(trial.data.data) << ' ' << trial.data.scale << ' ' << name(trial.data.filter);
  return {row.at("case"),
          std::string(trial.method.name) + (trial.method.scaling == Scaling::one_side ? " (one side)" : ""),
          data.str(),
          scientific(figure(verdict, "rel_l2")),
          scientific(figure(verdict, "bound")),
          fixed(figure(verdict, "clearance"), 2),
          verdict.contains("row") ? verdict.at("row").at("place").get<std::string>() : "",
          verdict.at("status").get<std::string>() +
              (verdict.contains("output") ? " (" + verdict.at("output").get<std::string>() + ')' : "")};
}

}  // namespace

Verdicts::Verdicts(std::ostream& out, std::ostream& failures, const Options& options)
    : out_(out), failures_(failures), options_(options) {}

void Verdicts::add(const Trial& trial, const Json& row) {
  const std::string status = row.at("verify").at("status");
  if (!groups_.contains(trial.group)) order_.push_back(trial.group);
  Group& group = groups_[trial.group];
  ++group.rows[status];
  ++statuses_[status];
  const double clearance = figure(row.at("verify"), "clearance");
  if (clearance > group.clearance || group.where.empty()) {
    group.clearance = clearance;
    group.where = row.at("case").get<std::string>() + ", " + row.at("method").get<std::string>();
  }

  const bool failure = options_.judges && status == "failed";
  if (failure || !options_.failures_only) {
    if (!table_) table_.emplace(out_, table_columns(options_.token_width));
    table_->row(cells_of(trial, row));
  }
  if (const std::string reason = row.at("verify").value("reason", ""); !reason.empty()) {
    if (failure)
      failures_ << "  " << reason << '\n';
    else
      ++reasons_[text(status, ", ", row.at("method").get<std::string>(), ": ", reason)];
  }
  if (failure) failures_ << "  repeat: " << repeat_command(trial) << '\n';
  ++added_;
}

int Verdicts::count(const std::string& status) const { return statuses_.contains(status) ? statuses_.at(status) : 0; }

void Verdicts::print_summary() {
  if (table_) out_ << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const std::string& name : order_) {
    Group& group = groups_[name];
    cells.push_back({name, std::to_string(group.rows["passed"]), std::to_string(group.rows["failed"]),
                     std::to_string(group.rows["skipped"]), fixed(group.clearance, 2), group.where});
  }
  print_table(out_,
              {{"varied", 0, left},
               {"passed", 0, right},
               {"failed", 0, right},
               {"skipped", 0, right},
               {"error/bound", 0, right},
               {"largest at", 0, left}},
              cells);
  out_ << '\n'
       << added_ << " rows: " << count("passed") << " passed, " << count("failed") << " failed, " << count("skipped")
       << " skipped\n";
  for (const auto& [reason, rows] : reasons_) out_ << rows << ' ' << reason << '\n';
  if (!options_.judges && count("failed") > 0) out_ << "(this sweep is there to show what fails)\n";
}

}  // namespace danaus

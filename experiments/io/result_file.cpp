#include "experiments/io/result_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "experiments/io/asked_fields.hpp"
#include "experiments/io/schema.hpp"
#include "reference/basics.hpp"

namespace danaus {

namespace {

bool has_these_sources(const Json& row) { return row.value("sources", Json()) == kRevision.sources; }

}  // namespace

std::string identity(const Json& row) {
  constexpr std::array kFields = {"case",     "method",    "operation", "states",      "data",    "scaling",
                                  "profile",  "model",     "overlap",   "warp_rate",   "wait_us", "device",
                                  "protocol", "shared_kb", "seed",      "first",       "count",   "program",
                                  "family",   "field",     "digest",    "asked_kernel"};
  Json asked = Json::object();
  for (const char* field : kFields)
    if (row.contains(field)) asked[field] = row[field];
  return asked.dump();
}

ResultFile::ResultFile(Console& console, const std::string& path, const std::string& kind,
                       const std::set<std::string>& planned, std::function<bool(const Json& row)> is_current)
    : console_(console),
      path_(path),
      kind_(kind),
      is_current_(is_current ? std::move(is_current) : has_these_sources),
      provenance_(provenance(console)) {
  if (path_.empty() || path_ == "-") return;
  file_ = std::make_unique<LockedFile>(path_);
  if (std::error_code ignored; std::filesystem::is_regular_file(path_, ignored)) read(planned);
}

void ResultFile::read(const std::set<std::string>& planned) {
  std::ifstream file(path_, std::ios::binary);
  if (!file) fail("cannot read ", path_, ": ", std::strerror(errno));
  std::string kept, line;
  std::size_t number = 0, stale = 0;
  bool half_written = false;
  const auto refuse = [&](const auto&... why) { fail("result file ", path_, ", line ", number, ": ", why...); };
  while (std::getline(file, line)) {
    ++number;
    const bool complete = !file.eof();  // getline met the end of the line, not of the file
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) {
      half_written = !complete && begins_a_row(line, number > 1);
      if (half_written) break;
      refuse("not a JSON object; is this a result file?");
    }
    if (row.value("schema", Json()) != kSchema)
      refuse("schema ", row.value("schema", Json()).dump(), ", must be ", kSchema);
    if (row.value("kind", Json()) != kind_)
      refuse("kind ", row.value("kind", Json()).dump(), ", must be \"", kind_, '"');
    if (const auto damage = violation(kind_, row)) refuse(*damage);
    const std::string asked = identity(row);
    if (planned.contains(asked)) {
      const bool skipped = row.value(Json::json_pointer("/verify/status"), "") == "skipped";
      if (skipped) continue;  // perhaps it can be made now
      if (!is_current_(row)) {
        ++stale;
        continue;
      }
      standing_[asked] = row;
    }
    kept += line + '\n';
  }
  if (half_written)
    console_.err << "notice: " << path_ << ", line " << number << ": half-written (a crash?), dropped\n";
  if (stale > 0) console_.err << "notice: " << path_ << ": " << stale << " rows are not current, made anew\n";
  if (std::error_code ignored; std::filesystem::file_size(path_, ignored) != kept.size()) file_->replace(kept);
}

bool ResultFile::begins_a_row(std::string_view line, bool after_others) const {
  std::string header = Json{{"schema", kSchema}, {"kind", kind_}}.dump();
  header.back() = ',';  // where the fields of the row follow
  return line.starts_with(header) || (after_others && header.starts_with(line));
}

const Json* ResultFile::standing(const std::string& asked) const {
  const auto found = standing_.find(asked);
  return found == standing_.end() ? nullptr : &found->second;
}

Json ResultFile::append(const Json& row) {
  Json whole = {{"schema", kSchema}, {"kind", kind_}};
  whole.update(row);
  if (row.contains("case")) whole["asked"] = asked_fields(row["case"].get<std::string>());
  whole.update(provenance_);
  const std::string line = whole.dump() + '\n';
  if (path_ == "-") {
    console_.out << line << std::flush;
  } else if (!path_.empty()) {
    file_->append(line);
  }
  return whole;
}

}  // namespace danaus

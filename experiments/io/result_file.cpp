#include "experiments/io/result_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "experiments/io/pending_file.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

std::string identity(const Json& row) {
  constexpr std::array kFields = {"case", "method", "data", "scaling", "profile", "model", "device", "protocol"};
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
      is_current_(std::move(is_current)),
      provenance_(provenance(console)) {
  if (path_.empty() || path_ == "-") return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path_, ignored)) read(planned);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot write ", path_, ": ", std::strerror(errno));
}

ResultFile::~ResultFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool ResultFile::has_these_sources(const Json& row) { return row.value("sources", Json()) == kRevision.sources; }

void ResultFile::read(const std::set<std::string>& planned) {
  std::ifstream file(path_, std::ios::binary);
  if (!file) fail("cannot read ", path_, ": ", std::strerror(errno));
  std::string kept, line;
  std::size_t number = 0, stale = 0;
  bool half_written = false;
  while (std::getline(file, line)) {
    ++number;
    const bool complete = !file.eof();  // getline met the end of the line, not of the file
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) {
      if (!complete) {
        half_written = true;
        break;
      }
      fail("result file ", path_, ", line ", number, ": not a JSON object; is this a result file?");
    }
    if (row.value("schema", Json()) != kSchema)
      fail("result file ", path_, ", line ", number, ": schema ", row.value("schema", Json()).dump(), ", must be ",
           kSchema);
    if (row.value("kind", Json()) != kind_)
      fail("result file ", path_, ", line ", number, ": kind ", row.value("kind", Json()).dump(), ", must be \"", kind_,
           '"');
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
  if (stale > 0)
    console_.err << "notice: " << path_ << ": " << stale << " rows were made from other sources, made anew\n";
  if (std::error_code ignored; std::filesystem::file_size(path_, ignored) != kept.size()) {
    PendingFile rewritten(path_);
    rewritten.write(kept);
    rewritten.commit();
  }
}

const Json* ResultFile::standing(const std::string& asked) const {
  const auto found = standing_.find(asked);
  return found == standing_.end() ? nullptr : &found->second;
}

Json ResultFile::append(const Json& row) {
  Json whole = {{"schema", kSchema}, {"kind", kind_}};
  whole.update(row);
  whole.update(provenance_);
  const std::string line = whole.dump() + '\n';
  if (path_ == "-") {
    console_.out << line << std::flush;
  } else if (!path_.empty()) {
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    try {
      write_all(descriptor_, line, path_);
    } catch (...) {
      // What a full disk took of this row goes again; a device has nothing to cut.
      if (end >= 0 && ::ftruncate(descriptor_, end) != 0) errno = 0;
      throw;
    }
  }
  return whole;
}

RowsFile::RowsFile(Console& console, const std::string& path) : console_(console), to_stdout_(path == "-") {
  if (!path.empty() && !to_stdout_) file_ = std::make_unique<PendingFile>(path);
}

RowsFile::~RowsFile() = default;

void RowsFile::append(const Json& row) {
  Json whole = {{"schema", kSchema}};
  whole.update(row);
  whole.update(provenance(console_));
  lines_ += whole.dump() + '\n';
}

void RowsFile::commit() {
  if (to_stdout_) console_.out << lines_;
  if (!file_) return;
  file_->write(lines_);
  file_->commit();
}

std::string ResultFile::place() const {
  return path_.empty() ? "nowhere (no --json)" : path_ == "-" ? "on stdout" : "in " + path_;
}

}  // namespace danaus

#include "experiments/io/rows_file.hpp"

#include "experiments/io/asked_fields.hpp"

namespace danaus {

RowsFile::RowsFile(Console& console, const std::string& path) : console_(console), to_stdout_(path == "-") {
  if (!path.empty() && !to_stdout_) file_ = std::make_unique<PendingFile>(path);
}

RowsFile::~RowsFile() = default;

void RowsFile::append(const Json& row) {
  Json whole = {{"schema", kSchema}};
  whole.update(row);
  if (row.contains("case")) whole["asked"] = asked_fields(row["case"].get<std::string>());
  whole.update(provenance(console_));
  lines_ += whole.dump() + '\n';
}

void RowsFile::commit() {
  if (to_stdout_) console_.out << lines_;
  if (!file_) return;
  file_->write(lines_);
  file_->commit();
}

}  // namespace danaus

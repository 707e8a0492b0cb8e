// Rows that are made all at once.
#pragma once

#include <memory>
#include <string>

#include "experiments/io/pending_file.hpp"
#include "experiments/io/result_file.hpp"

namespace danaus {

// A file of rows that are made all at once, each with its "kind": written whole, in place of what was there, or not at
// all. "" keeps nothing, "-" writes to stdout. Throws std::invalid_argument where the file cannot be written.
class RowsFile {
 public:
  RowsFile(Console& console, const std::string& path);
  ~RowsFile();
  void append(const Json& row);
  void commit();

 private:
  Console& console_;
  std::string lines_;
  bool to_stdout_;
  std::unique_ptr<PendingFile> file_;
};

}  // namespace danaus

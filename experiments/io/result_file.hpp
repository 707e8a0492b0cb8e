// Result files: one JSON object a line, one line a case, written as it is made.
//
// A run that dies keeps the rows it finished; the same command then goes on with the rows that are missing. A row
// stands when it answers the same question (identity) and was made from the same sources.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "experiments/cli/environment.hpp"

namespace danaus {

class PendingFile;

inline constexpr int kSchema = 1;

// The fields of a row that say what was asked, as one word: case, method, data, scaling, profile, model, device,
// protocol.
std::string identity(const Json& row);

class ResultFile {
 public:
  // Opens `path` for rows of `kind`; "" keeps nothing, "-" writes to stdout. `planned` are the identities that this run
  // will ask for: of those, rows from other sources and skipped ones are dropped, all other rows of the file stay as
  // they are. A last line that a crash left half-written is dropped with a notice on console.err. `is_current` says
  // whether a row is from these sources. Throws std::invalid_argument where the file cannot be read or written, or
  // holds another schema or kind.
  ResultFile(Console& console, const std::string& path, const std::string& kind, const std::set<std::string>& planned,
             std::function<bool(const Json& row)> is_current = has_these_sources);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // The row that already answers this, or null.
  const Json* standing(const std::string& identity) const;

  // Adds {"schema", "kind"} in front and the provenance behind `row`, and writes it out completely or, where the disk
  // is full, not at all. Returns the row as written.
  Json append(const Json& row);

  // "in FILE" for a notice, or where the rows went instead.
  std::string place() const;

 private:
  static bool has_these_sources(const Json& row);
  void read(const std::set<std::string>& planned);

  Console& console_;
  std::string path_, kind_;
  std::function<bool(const Json& row)> is_current_;
  Json provenance_;
  std::map<std::string, Json> standing_;
  int descriptor_ = -1;
};

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

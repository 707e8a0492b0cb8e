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
#include "experiments/io/locked_file.hpp"

namespace danaus {

inline constexpr int kSchema = 1;

// The fields of a row that say what was asked, as one word: case, method, operation, states, data, scaling, profile,
// model, overlap, warp_rate, wait_us, device, protocol, shared_kb, seed, first, count, program, family, field, digest.
std::string identity(const Json& row);

class ResultFile {
 public:
  // Opens `path` for rows of `kind`; "" keeps nothing, "-" writes to stdout. `planned` are the identities that this run
  // will ask for: of those, rows that are not current and skipped ones are dropped, all other rows of the file stay as
  // they are. A last line that a crash left half-written is dropped with a notice on console.err. `is_current` says
  // whether a row still answers what it was asked; by default where it has the digest of these sources. Throws
  // std::invalid_argument if the file cannot be read or written, or another process writes to it. The same goes for a
  // file with anything but rows of this kind as their schema has them (schema.hpp); it stays as it is.
  ResultFile(Console& console, const std::string& path, const std::string& kind, const std::set<std::string>& planned,
             std::function<bool(const Json& row)> is_current = {});

  // The row that already answers this, or null.
  const Json* standing(const std::string& identity) const;

  // Adds {"schema", "kind"} in front of `row`, and behind it what its case asks (asked_fields) and the provenance.
  // Writes the row out completely or, where the disk is full, not at all. Returns the row as written.
  Json append(const Json& row);

 private:
  void read(const std::set<std::string>& planned);
  // Whether a line without an end is what a crash left of a row of this kind.
  bool begins_a_row(std::string_view line, bool after_others) const;

  Console& console_;
  std::string path_, kind_;
  std::function<bool(const Json& row)> is_current_;
  Json provenance_;
  std::map<std::string, Json> standing_;
  std::unique_ptr<LockedFile> file_;  // null where rows go to stdout or nowhere
};

}  // namespace danaus

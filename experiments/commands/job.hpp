// One run of a command: the options that all commands have, what it says before it begins, the files that it may touch,
// and the rows that it makes.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "experiments/cli/command_line.hpp"
#include "experiments/cli/environment.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/io/result_file.hpp"
#include "kernels/plan/named_kernel.hpp"
#include "model/profile.hpp"

namespace danaus {

// Rows to come, one for each entry of `asked`.
struct RowsToMake {
  std::string kind;
  std::vector<Json> asked;                                   // of each the fields that say what is asked: identity()
  std::function<Json(std::size_t i)> make;                   // the other fields of row i
  std::function<void(std::size_t i, const Json& row)> show;  // called for every row, i ascending; may be empty
  unsigned threads = 1;                                      // that make() is called on; 1: the caller's own
  std::function<bool(const Json& row)> is_current = {};      // as ResultFile has it
};

// Of rows that every run makes anew.
inline bool never_current(const Json&) { return false; }

// An option as it was typed: "--case TOKEN ..."; empty where it was not given.
std::string typed(const std::string& option, const std::string& value);
std::string typed(const std::string& option, const std::vector<std::string>& values);

class Job {
 public:
  Job(Console& console, const std::string& command, const std::string& description);

  // Takes the options and arguments of the command itself; --json FILE is the job's own.
  CommandLine line;

  // False when only help was wanted. `help` is that of --json.
  bool parse(std::span<const std::string> words,
             const std::string& help = "result rows, one JSON object a line; - for stdout, in place of the tables");

  // A file that the user named, and how a message calls it. Throws std::invalid_argument where a file would be written
  // that is also read, or written as something else. Pipes and devices may be both; "" is no file.
  void reads(const std::string& what, const std::string& path);
  void writes(const std::string& what, const std::string& path);

  // Options of which one at most goes, as they were typed; empty where one was not. Throws std::invalid_argument where
  // two were.
  void exclude(const std::vector<std::string>& options) const;

  // --kernel NAME, for the cases given by --case.
  void add_kernel_option();
  // Makes plans take the kernel of --kernel, if it was given, as long as the job lives. Throws where it does not
  // compute one of the cases on the device.
  void ask_for_kernel(const std::vector<Case>& cases, const Device& device);
  const std::string& kernel() const { return kernel_; }  // empty: plans choose

  // A hardware profile by name, or from a file that the job then reads.
  HardwareProfile profile(const std::string& name_or_path);

  // Says on stderr what the command is about to do, and where its rows go.
  void configure(Settings settings) const;

  // Makes the rows that do not stand in the file yet. What was made stays, whatever happens; an interrupt ends it by
  // Interrupted, which says how far it came.
  void make(const RowsToMake& rows);

  // A file for rows that stand for themselves, however often the same was asked before.
  ResultFile log(const std::string& kind) const;

  // For people: stdout, or nowhere where stdout carries the rows.
  std::ostream& out() { return prints_ ? console_.out : nowhere_; }
  bool prints() const { return prints_; }
  const std::string& json() const { return json_; }
  Console& console() { return console_; }

 private:
  struct NamedFile {
    std::string what, path;
    bool written;
  };
  void name(const NamedFile& file);
  std::string interrupted(std::size_t done, std::size_t of) const;

  Console& console_;
  std::string command_, json_, kernel_;
  std::unique_ptr<NamedKernel> named_;
  bool prints_ = true;
  std::ostream nowhere_{nullptr};
  std::vector<NamedFile> files_;
};

}  // namespace danaus

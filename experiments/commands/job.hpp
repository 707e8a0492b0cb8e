// One run of a command: the options of all commands, the settings that it prints first, its files and its rows.
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

// Result rows to make, one for each entry of `asked`.
struct RowsToMake {
  std::string kind;
  std::vector<Json> asked;                                   // the fields that identify each row: identity()
  std::function<Json(std::size_t i)> make;                   // the other fields of row i
  std::function<void(std::size_t i, const Json& row)> show;  // called for every row, i ascending; may be empty
  unsigned threads = 1;                                      // threads that call make(); 1: the caller's thread
  std::function<bool(const Json& row)> is_current = {};      // see ResultFile
};

// For rows that every run makes again.
inline bool never_current(const Json&) { return false; }

// An option as the user typed it, "--case TOKEN ..."; empty if it was not given.
std::string typed(const std::string& option, const std::string& value);
std::string typed(const std::string& option, const std::vector<std::string>& values);

class Job {
 public:
  Job(Console& console, const std::string& command, const std::string& description);

  // Options and arguments of the command. The job adds --json FILE.
  CommandLine line;

  // False if --help was asked for. `help` describes --json.
  bool parse(std::span<const std::string> words,
             const std::string& help = "result rows, one JSON object a line; - for stdout, in place of the tables");

  // Registers a file of the command line; `what` names it in messages. Throws std::invalid_argument if a written file
  // is also read, or written twice. Pipes and devices may be both; "" is no file.
  void reads(const std::string& what, const std::string& path);
  void writes(const std::string& what, const std::string& path);

  // Throws std::invalid_argument if more than one of these options, each as typed() gives it, is not empty.
  void exclude(const std::vector<std::string>& options) const;

  // --kernel NAME, for the cases given by --case.
  void add_kernel_option();
  // Makes plans take the kernel of --kernel, if it was given, as long as the job lives. Throws where it does not
  // compute one of the cases on the device.
  void ask_for_kernel(const std::vector<Case>& cases, const Device& device);
  const std::string& kernel() const { return kernel_; }  // empty: plans choose

  // A hardware profile by name, or from a .json file.
  HardwareProfile profile(const std::string& name_or_path);

  // Prints the settings, and where the rows go, on stderr.
  void configure(Settings settings) const;

  // Makes the rows that the file lacks, and appends each at once. An interrupt throws Interrupted, whose message says
  // how many rows are done.
  void make(const RowsToMake& rows);

  // A file to which every run appends all of its rows.
  ResultFile log(const std::string& kind) const;

  // Output for people: stdout, or nowhere if stdout carries the rows.
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

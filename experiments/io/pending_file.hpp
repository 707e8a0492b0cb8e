// A file that appears complete or not at all: written beside its place under another name, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "experiments/cli/interrupt.hpp"

namespace danaus {

class PendingFile {
 public:
  // Creates the file under its other name, so that a place that cannot be written is known before any work.
  // A device or a pipe (/dev/stdout) is opened as it is. A file that is replaced keeps its mode. Throws
  // std::invalid_argument naming path and reason.
  explicit PendingFile(const std::string& path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void write(std::string_view bytes);  // throws where the disk is full
  const std::string& path() const { return path_; }
  const std::string& written_path() const { return written_; }  // for a library that opens files by name
  void commit();                                                // puts the file in its place

 private:
  std::string path_, written_;
  int descriptor_ = -1;
  std::unique_ptr<RemovedWhenKilled> removed_when_killed_;
};

// Writes all of `bytes`; on failure the message names `path` and the system's reason.
void write_all(int descriptor, std::string_view bytes, const std::string& path);

}  // namespace danaus

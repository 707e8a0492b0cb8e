// A file that grows line by line, and that no other process of this program writes to meanwhile.
#pragma once

#include <string>
#include <string_view>

namespace danaus {

class LockedFile {
 public:
  // Creates the file where there is none. Throws std::invalid_argument where it cannot be written, or another process
  // has it open so. A device or a pipe is opened as it is.
  explicit LockedFile(const std::string& path);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Writes all of a line or, where the disk is full, nothing, and throws.
  void append(std::string_view line);

  // Other content, whole or not at all; the lock stays.
  void replace(std::string_view content);

 private:
  void open();

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace danaus

// Ctrl-C between two rows, not in the middle of one: what was finished stays.
#pragma once

#include <stdexcept>
#include <string>

namespace danaus {

class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// From here on the first SIGINT or SIGTERM only raises a flag; a second one ends the process at once, without the files
// of RemovedWhenKilled. A file beyond the process's limit is a write that fails.
void watch_for_interrupt();

// By a signal, or of the calling thread by its InterruptedBy.
bool interrupt_requested();

// Raises the flag as SIGINT would (true), or lowers it again (false).
void set_interrupt(bool requested);

// For as long as it lives, what the calling thread does is interrupted too once *flag is not 0, which any thread may
// set; null for no flag.
class InterruptedBy {
 public:
  explicit InterruptedBy(const int* flag);
  ~InterruptedBy();
  InterruptedBy(const InterruptedBy&) = delete;
  InterruptedBy& operator=(const InterruptedBy&) = delete;

 private:
  const int* before_;
};

// A file that a second signal takes away with the process.
class RemovedWhenKilled {
 public:
  explicit RemovedWhenKilled(const std::string& path);
  ~RemovedWhenKilled();
  RemovedWhenKilled(const RemovedWhenKilled&) = delete;
  RemovedWhenKilled& operator=(const RemovedWhenKilled&) = delete;

 private:
  char* path_;  // what the signal's handler sees
};

}  // namespace danaus

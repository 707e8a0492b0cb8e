// Ctrl-C between two rows, not in the middle of one: what was finished stays.
#pragma once

#include <stdexcept>

namespace danaus {

class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// From here on the first SIGINT only raises a flag; a second one ends the process at once.
void watch_for_interrupt();

bool interrupt_requested();

// Raises the flag as SIGINT would (true), or lowers it again (false).
void set_interrupt(bool requested);

}  // namespace danaus

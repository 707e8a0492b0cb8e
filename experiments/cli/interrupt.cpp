#include "experiments/cli/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace danaus {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch only lock-free atomics");

extern "C" void raise_flag(int signal) {
  requested = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_for_interrupt() { std::signal(SIGINT, raise_flag); }

bool interrupt_requested() { return requested; }

void set_interrupt(bool value) { requested = value; }

}  // namespace danaus

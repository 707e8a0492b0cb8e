#include "experiments/cli/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace danaus {
namespace {

// A signal's handler may touch only lock-free atomics, and call little more than unlink().
std::atomic<bool> requested{false};
thread_local const int* flag_of_thread = nullptr;
std::array<std::atomic<char*>, 16> removed_when_killed{};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<char*>::is_always_lock_free);

extern "C" void raise_flag_or_end(int signal) {
  if (!requested.exchange(true)) return;
  for (const std::atomic<char*>& path : removed_when_killed)
    if (const char* place = path) ::unlink(place);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void watch_for_interrupt() {
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, raise_flag_or_end);
  std::signal(SIGXFSZ, SIG_IGN);  // else a limit of file sizes ends the process, where a full disk is an error
}

bool interrupt_requested() {
  return requested || (flag_of_thread && __atomic_load_n(flag_of_thread, __ATOMIC_ACQUIRE) != 0);
}

InterruptedBy::InterruptedBy(const int* flag) : before_(std::exchange(flag_of_thread, flag)) {}
InterruptedBy::~InterruptedBy() { flag_of_thread = before_; }

void set_interrupt(bool value) { requested = value; }

RemovedWhenKilled::RemovedWhenKilled(const std::string& path) : path_(::strdup(path.c_str())) {
  for (std::atomic<char*>& place : removed_when_killed) {
    char* nothing = nullptr;
    if (place.compare_exchange_strong(nothing, path_)) return;
  }
}

RemovedWhenKilled::~RemovedWhenKilled() {
  for (std::atomic<char*>& place : removed_when_killed) {
    char* mine = path_;
    if (place.compare_exchange_strong(mine, nullptr)) break;
  }
  std::free(path_);
}

}  // namespace danaus

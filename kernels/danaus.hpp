// Code that danaus.h shares with the C interfaces built upon it: handles, and structs that may grow. Every exception
// becomes a status here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/danaus.h"
#include "kernels/plan/plan.hpp"

namespace danaus {

// A plan behind a handle.
struct OpenPlan {
  explicit OpenPlan(Plan made) : plan(std::move(made)), description(plan.description()) {}
  Plan plan;
  std::string description;
};

// A number that no handle of this library has yet, in steps as addresses have them.
inline std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> last = 0;
  return last += 16;
}

// Handles of callers, and the values behind them. A handle is a number that is typed as a pointer. Nobody follows it,
// and none comes twice, so that a destroyed one, or one of another kind, is known. A value that is removed during a
// call lasts until the call's end.
template <class Handle, class Value>
class Handles {
 public:
  Handle* add(std::shared_ptr<Value> value) {
    const std::uintptr_t number = next_handle();
    const std::lock_guard lock(guard_);
    values_.emplace(number, std::move(value));
    return reinterpret_cast<Handle*>(number);
  }
  void remove(const Handle* handle) {
    typename decltype(values_)::node_type removed;  // ends after the lock
    const std::lock_guard lock(guard_);
    removed = values_.extract(number_of(handle));
  }
  // Null where there is none.
  std::shared_ptr<Value> find(const Handle* handle) {
    const std::lock_guard lock(guard_);
    const auto found = values_.find(number_of(handle));
    return found == values_.end() ? nullptr : found->second;
  }

 private:
  static std::uintptr_t number_of(const Handle* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

  std::mutex guard_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Value>> values_;
};

Handles<danaus_plan, OpenPlan>& plans();

// Throws where the plan is null, or has been destroyed.
std::shared_ptr<OpenPlan> plan_of(const char* operation, const danaus_plan* plan);

// Keeps the words for danaus_last_error(); returns the status.
danaus_status failed(danaus_status status, const char* what) noexcept;

template <class Action>
danaus_status guarded(Action action) noexcept {
  try {
    action();
    return DANAUS_OK;
  } catch (const NoDevice& error) {
    return failed(DANAUS_NO_DEVICE, error.what());
  } catch (const std::invalid_argument& error) {
    return failed(DANAUS_BAD_INPUT, error.what());
  } catch (const OutOfMemory& error) {
    return failed(DANAUS_OUT_OF_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return failed(DANAUS_OUT_OF_MEMORY, "out of memory");
  } catch (const CudaError& error) {
    return failed(DANAUS_CUDA_ERROR, error.what());
  } catch (const std::exception& error) {
    return failed(DANAUS_INTERNAL, error.what());
  } catch (...) {
    return failed(DANAUS_INTERNAL, "an unknown error");
  }
}

template <class Pointer>
void require(const char* operation, const char* what, Pointer pointer) {
  if (!pointer) fail(operation, ": ", what, " is null");
}

// Throws unless the size is that of the struct in this version or another.
void check_size(const char* operation, const char* what, std::size_t size, std::size_t known);

// A struct of the caller: what its header did not have is 0. Throws where a later header has set what is not known
// here.
template <class Struct>
Struct read_struct(const char* operation, const char* what, const Struct* given) {
  check_size(operation, what, given->size, sizeof(Struct));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t at = sizeof(Struct); at < given->size; ++at)
    if (bytes[at] != 0) fail(operation, ": ", what, " sets a field that this version, ", DANAUS_VERSION, ", has not");
  Struct read{};
  std::memcpy(&read, given, std::min(given->size, sizeof(Struct)));
  return read;
}

// danaus_selftest() on any machine.
danaus_selftest_report selftest_report(const std::shared_ptr<const Machine>& machine, unsigned threads);

// To a struct of the caller, as far as its header has it; what a later header has is 0.
template <class Struct>
void write_struct(const char* operation, const char* what, Struct values, Struct* to) {
  check_size(operation, what, to->size, sizeof(Struct));
  values.size = to->size;
  auto* const bytes = reinterpret_cast<unsigned char*>(to);
  std::memset(bytes, 0, values.size);
  std::memcpy(bytes, &values, std::min(values.size, sizeof(Struct)));
}

std::vector<Buffer> buffers_of(const char* operation, const danaus_array* arrays, std::size_t count);

}  // namespace danaus

// What the C interfaces share, danaus.h and those that are built upon it: plans behind a handle, and the one place
// where every exception becomes a status.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "kernels/danaus.h"
#include "kernels/plan/plan.hpp"

struct danaus_plan {
  explicit danaus_plan(danaus::Plan made) : plan(std::move(made)), description(plan.description()) {}
  danaus::Plan plan;
  std::string description;
};

namespace danaus {

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
  } catch (const std::logic_error& error) {
    return failed(DANAUS_INTERNAL, error.what());
  } catch (const std::exception& error) {
    return failed(DANAUS_CUDA_ERROR, error.what());
  } catch (...) {
    return failed(DANAUS_INTERNAL, "an unknown error");
  }
}

template <class Pointer>
void require(const char* operation, const char* what, Pointer pointer) {
  if (!pointer) fail(operation, ": ", what, " is null");
}

std::vector<Buffer> buffers_of(const char* operation, const danaus_array* arrays, std::size_t count);

}  // namespace danaus

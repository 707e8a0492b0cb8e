// Doors that take any case by its token: plans of C++, and those of the C interface.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "kernels/plan/plan.hpp"

namespace danaus::conformance {

// A struct of the C interface, which says its size.
template <class Struct>
Struct sized() {
  Struct of{};
  of.size = sizeof of;
  return of;
}

struct Bytes {
  std::int64_t prepared, workspace, constants;
};

// A plan whose refusals are std::invalid_argument. Memory is the host's: on a GPU what a call takes is copied there and
// back.
class Door {
 public:
  virtual ~Door() = default;
  virtual void prepare(std::span<const Buffer> filters, const CallOptions& options) = 0;
  virtual void execute(std::span<const Buffer> arrays, const CallOptions& options) = 0;
  virtual void whole_call(std::span<const Buffer> arrays, const CallOptions& options) = 0;
  virtual Bytes bytes(std::int64_t batch) = 0;
  virtual std::string kernel() = 0;
  virtual std::string layout() = 0;  // of what is prepared, as CallOptions::prepared_for has it
  virtual std::string description() = 0;
};

std::unique_ptr<Door> door_of_cpp(const std::string& token);
std::unique_ptr<Door> door_of_c(const std::string& token);
// On the executor as on a GPU, with copies.
std::unique_ptr<Door> door_with_copies(const std::string& token);
// On the first GPU.
std::unique_ptr<Door> door_of_cpp_on_gpu(const std::string& token);
std::unique_ptr<Door> door_of_c_on_gpu(const std::string& token);

}  // namespace danaus::conformance

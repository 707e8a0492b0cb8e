// What a plan asks of the executor and of CUDA.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/choice.hpp"
#include "kernels/device.hpp"

namespace danaus {

struct Setup {
  Convolution problem;
  Choice choice;
  Device device;
  std::vector<std::uint32_t> tables;          // make_tables()
  std::vector<std::uint32_t> spectrum_table;  // make_spectrum_table()
  int size() const { return choice.variant->size(); }
  // Two batch rows (pair) or one (right angle) of one channel.
  std::int64_t items() const {
    const std::int64_t rows = choice.variant->geometry.fold == Fold::pair ? 2 : 1;
    return (problem.batch + rows - 1) / rows * problem.channels;
  }
};

struct Rows {  // [B, H, L] each, of the case's dtype; gates null where the case has none
  const void* u;
  void* y;
  const void* pregate;
  const void* postgate;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Throws unless the memory is where the kernels can reach it; `what` names it.
  virtual void check_memory(const char* operation, const char* what, const void* data) const = 0;
  // Throws unless the stream is of the device.
  virtual void check_stream(const char* operation, Stream stream) const = 0;

  // k [H, K]. Both return what the executor counted.
  virtual std::optional<host::Counters> transform_filter(const float* k, Stream stream) = 0;
  virtual std::optional<host::Counters> execute(const Rows& rows, Stream stream) const = 0;
};

std::unique_ptr<Backend> make_executor_backend(Setup setup);
std::unique_ptr<Backend> make_cuda_backend(Setup setup);  // where CUDA is built

}  // namespace danaus

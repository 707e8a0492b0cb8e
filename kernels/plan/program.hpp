// Programs: what a plan runs for a case, as a list of launches and the bytes between them.
//
// A fused convolution is one launch; its filter's transform is another, made once for many calls. A program is made
// once; batch, pointers, stream and workspace come with each call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/families/kernel_id.hpp"
#include "kernels/families/variant.hpp"
#include "kernels/memory/arguments.hpp"
#include "reference/limits.hpp"
#include "reference/operation.hpp"

namespace danaus {

// Memory that a launch touches.
struct Region {
  const char* name;
  const void* data;
  std::int64_t bytes;
  bool written;
  bool constant;  // no kernel writes it; of everything else the stream's previous kernel may still be writing
};

struct Launch {
  std::string_view description;  // of case and kernel, for messages; the step's
  KernelId kernel;
  Path path = Path::any;
  std::int64_t blocks = 1;
  int threads = 0, shared_bytes = 0, cluster = 1;
  bool overlapping = false;  // begins where the stream's previous kernel leaves room, and waits for it by itself
  std::array<Region, 16> regions{};
  int region_count = 0;
  alignas(TensorMap) std::array<std::byte, 1536> arguments;
  std::size_t argument_bytes = 0;

  void touches(const Region& region) { regions.at(region_count++) = region; }
  template <class Arguments>
  void give(const Arguments& values) {
    static_assert(std::is_trivially_copyable_v<Arguments> && sizeof(Arguments) <= sizeof(arguments));
    std::memcpy(arguments.data(), &values, argument_bytes = sizeof(Arguments));
  }
};

// What comes with each call.
struct Call {
  std::int64_t batch = 0;
  std::array<void*, kMaxArrays> arrays{};  // in the order of the case's arrays(); those of the call's role
  void* prepared = nullptr;
  void* workspace = nullptr;
  std::array<RowStrides, kMaxArrays> strides{};  // of rows [B, H, L]; {0, 0}: contiguous
};

class Machine;

using LaunchTo = std::function<void(const Launch&)>;

// Launches of a program that belong together, before a call has bound them.
class Step {
 public:
  virtual ~Step() = default;
  virtual std::string_view name() const = 0;
  // Constants that its kernel reads: uploaded once, by the plan.
  virtual std::vector<std::uint32_t> constants() const { return {}; }
  // Learns what the machine has room for. Throws std::invalid_argument where it has no code for the kernel, or no room.
  virtual void fit(const Machine& machine) = 0;
  // Whether filters have to be looked at before they are prepared: throws std::invalid_argument for what cannot be.
  // They are in memory of the machine; what was asked before of the device is waited for.
  virtual bool reads_filters_on_host() const { return false; }
  virtual void check_filters(const Call&, const Machine&) const {}
  // That its launches need between them; known once it fits.
  virtual std::int64_t workspace_bytes(std::int64_t batch) const { return static_cast<void>(batch), 0; }
  // `constants` are in memory of the machine.
  virtual void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                    const LaunchTo& to) const = 0;
};

struct Program {
  std::vector<std::unique_ptr<Step>> prepare, execute;
  const Variant* variant = nullptr;  // the kernel that has most of the work
  std::int64_t prepared_bytes = 0;   // that prepare makes of the filters, for any number of calls of execute
  std::string layout;                // what two programs with the same prepare for each other: a word
  std::string live_words;            // of a case that removes frequencies: what is left to compute, or why all is
  bool prepared_is_filter = false;   // there is nothing to prepare: the filter's taps as they are
};

// Of steps that run one after the other.
inline std::int64_t workspace_bytes(const std::vector<std::unique_ptr<Step>>& steps, std::int64_t batch) {
  std::int64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step->workspace_bytes(batch));
  return most;
}

// Throws where no kernel computes the case on the device. `kept` [N] are the marks of kept frequencies (make_table() in
// families/spectrum/family.hpp) where the case removes some, else empty.
Program make_program(const Case& asked, const Device& device, std::span<const std::uint8_t> kept = {});

// The fastest that length, alignment and strides of the rows, and the device allow.
Transfer choose_transfer(const ConvolutionArguments& rows, const Variant& variant, const Device& device);
// Of contiguous rows at aligned addresses.
Transfer choose_transfer(std::int64_t length, std::int64_t channels, const Variant& variant, const Device& device);

}  // namespace danaus

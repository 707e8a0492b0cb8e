// Launches of the devices that the project names. How do their blocks share out the work? Which memory is known, where
// only the blocks that differ are executed?
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "kernels/cpu/blocks.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/truth.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

// Arrays in memory of the machine.
class OnMachine {
 public:
  OnMachine(const Case& asked, const ExecutorOptions& options)
      : asked_(asked), machine_(executor_machine(options)), plan_(asked, machine_, marks_of(asked)) {
    const Values values = make_values(asked);
    for (const Array& array : asked.arrays()) {
      std::vector<std::byte> host(static_cast<std::size_t>(bytes(array.dtype) * array.size()), std::byte{0xff});
      if (array.role != Role::output) host = host::encode_bytes(array.dtype, values.find(array.name)->second);
      memory_.push_back(machine_->upload(host.data(), std::ssize(host)));
      (array.role == Role::filter ? filters_ : others_).emplace_back(array.name, memory_.back().get(), host.size());
    }
  }
  void run() {
    plan_.prepare(filters_);
    plan_.execute(others_);
  }
  // Visits each output: its bytes, of a number, and which numbers are known.
  template <class Visit>
  void for_each_output(Visit visit) const {
    const std::vector<Array> arrays = asked_.arrays();
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].role != Role::output) continue;
      const int size = bytes(arrays[i].dtype);
      const auto* data = static_cast<const std::byte*>(memory_[i].get());
      visit(i, std::span(data, static_cast<std::size_t>(size * arrays[i].size())), size,
            known_numbers(*machine_, data, arrays[i].size(), size));
    }
  }

 private:
  Case asked_;
  std::shared_ptr<const Machine> machine_;
  Plan plan_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Buffer> filters_, others_;
};

// The same numbers of each class of blocks.
using Work = std::map<std::string_view, std::uint64_t>;
Work work_of(const host::Counters& counters) {
  Work work;
  for (const auto& [name, value] : host::kCounterFields)
    if (!name.ends_with("sectors") && !name.ends_with("conflicts") && !name.ends_with("wavefronts"))
      work[name] = counters.*value;
  return work;
}

// Every block of a launch does as much as that which stands for its class.
TEST(Launches, BlocksOfOneClassDoTheSame) {
  for (const char* token :
       unless_sanitized({"fftconv_f16_circular_l256_b7_h60", "fftconv_bf16_causal_l1024_b5_h9_pregate",
                         "fftconvgrad_f16_circular_l256_b5_h7", "fftconvgrad_f16_causal_l2048_b3_h2",
                         "spectral_f32_tf32_complex_b37_c40x40_l32_m20",
                         "spectral_f32_tf32_complex_b2_c5x3_l40x96_m20x40", "spectral_f32_b3_c20x20_l64x32_m9x5",
                         "spectralgrad_f16_complex_b9_c40x40_l32_m20", "shortconv_f16_causal_k40_l600_b3_h9",
                         "shortconv_bf16_same_k40_l600_b3_h40_channelslast", "shortconvgrad_f16_causal_k3_l600_b3_h9",
                         "shortconvgrad_bf16_causal_k40_l600_b3_h9", "ssmconv_f16_s16_l300_b70_h2_final"},
                        4)) {
    ExecutorOptions options;
    options.observer = [&](const Launch& launch, const host::Counters&) {
      SCOPED_TRACE(testing::Message() << launch.description << ", " << launch.kernel.family);
      const WorkDivision division = work_division(launch);
      if (division.of_elements) return;
      std::map<BlockClass, Work> of_class;
      for (const std::int64_t block : all_blocks(launch)) {
        const Work work = work_of(run_blocks(launch, std::array{block}));
        const auto [first, added] = of_class.emplace(class_of(division, block), work);
        EXPECT_TRUE(added || work == first->second) << "block " << block << " of " << launch.blocks;
      }
    };
    OnMachine(parse_case(token), options).run();
  }
}

struct Sampled {
  const char* token;
  bool is_known;  // some of its outputs; of several launches none where each of one's blocks needs all of another's
};

// What is known of outputs is what the whole launches give, bit by bit.
TEST(Launches, KnownNumbersAreThoseOfWholeLaunches) {
  for (const auto& [token, is_known] :
       {Sampled{"fftconv_f16_circular_l256_b3_h100", true}, Sampled{"fftconvgrad_bf16_causal_l512_b2_h40", true},
        Sampled{"spectral_f16_complex_b60_c3x5_l32_m8_shared", true},
        Sampled{"spectral_f32_tf32_complex_b9_c5x40_l64x16_m20x5", false},
        Sampled{"shortconv_f16_causal_k4_l300_b3_h200_channelslast", true},
        Sampled{"ssmconv_f16_s16_l60_b90_h6_final", true}}) {
    SCOPED_TRACE(token);
    const Case asked = parse_case(token);
    OnMachine whole(asked, {}), some(asked, {.whole_blocks = 8});
    whole.run(), some.run();
    std::map<std::size_t, std::vector<std::byte>> right;
    whole.for_each_output([&](std::size_t i, std::span<const std::byte> data, int, const std::vector<bool>& known) {
      EXPECT_TRUE(known.empty());
      right[i].assign(data.begin(), data.end());
    });
    std::size_t known_numbers = 0, wrong = 0;
    some.for_each_output([&](std::size_t i, std::span<const std::byte> data, int size, const std::vector<bool>& known) {
      EXPECT_FALSE(known.empty());
      for (std::size_t n = 0; n < known.size(); ++n) {
        if (!known[n]) continue;
        ++known_numbers;
        wrong += !std::ranges::equal(data.subspan(n * size, size), std::span(right[i]).subspan(n * size, size));
      }
    });
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(known_numbers > 0, is_known);
  }
}

// By the blocks that differ.
void expect_accepted(const char* token, const Device& device) {
  SCOPED_TRACE(testing::Message() << token << ", " << device.name);
  try {
    OnMachine(parse_case(token), {.device = device, .whole_blocks = 0}).run();
  } catch (const host::ExecutionError& error) {
    ADD_FAILURE() << error.what();
  } catch (const std::invalid_argument& error) {
    ADD_FAILURE() << error.what();
  } catch (const std::logic_error&) {  // a kernel of a device whose class this build has not
    EXPECT_EQ(device.name, a100().name);
  }
}

// Slices of frequencies that do not divide the tiles, by a table in shared memory and by one in global memory.
TEST(Launches, OfOneMultiprocessorAreAccepted) {
  for (const char* token :
       {"spectral_f32_tf32_b1_c1x1_l64x160_m4x66", "spectral_f32_tf32_complex_b1_c1x1_l160x160_m66x66",
        "spectral_f32_b1_c1x1_l288x288_m100x130"})
    expect_accepted(token, Device());
}

class OnDevices : public testing::TestWithParam<const char*> {};

// Slices, clusters and shares depend on the number of multiprocessors.
TEST_P(OnDevices, LaunchesAreAccepted) {
  for (const Device& device : {h200(), h100(), a100()}) expect_accepted(GetParam(), device);
}

INSTANTIATE_TEST_SUITE_P(Cases, OnDevices,
                         testing::Values(
                             // Slices of frequencies that do not divide the tiles.
                             "spectral_f32_tf32_complex_b5_c20x3_l128x96_m27x33_twosided",
                             "spectral_f32_tf32_b1_c96x3_l33x256_m4x78_twosided_adjoint",
                             "spectralgrad_f16_complex_b2_c24x16_l16x256_m6x77_twosided",
                             "spectralgrad_f32_tf32_b1_c45x1_l200x160_m34x69_twosided",
                             "spectral_f32_tf32_b1_c128x256_l20x160_m1x72_shared_channelmajor",
                             // Slices of channels that do not divide the tiles.
                             "spectral_f16_complex_b32_c3x100_l128_m25", "spectral_f32_tf32_b40_c2x112_l64_m9"));

}  // namespace
}  // namespace danaus

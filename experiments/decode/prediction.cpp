// What a position takes by counted work: that of plans as the executor counts it, and of the small kernels beside them
// the bytes that they move (kernels/families/decode/kernel.hpp), as they do little else.
#include <algorithm>

#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/decode/decoding.hpp"
#include "kernels/families/decode/layout.hpp"
#include "model/roofline.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kWindow = decode::kWindow;

class Predictor {
 public:
  Predictor(const DecodeCase& asked, const HardwareProfile& profile)
      : asked_(asked),
        profile_(profile),
        device_(imitation(profile)),
        rows_(static_cast<double>(asked.whole.batch * asked.whole.channels)),
        channels_(static_cast<double>(asked.whole.channels)) {}

  double of_octave(const Octave& octave) {
    switch (asked_.method) {
      case DecodeMethod::dot: return of_dot(octave);
      case DecodeMethod::tiles: return of_tiles(octave);
      case DecodeMethod::recurrence: return of_recurrence();
    }
    fail("decode: method ", int(asked_.method), " is unknown");
  }

 private:
  // One launch that moves so many bytes, of which these come from memory; the others, of which there are few, are in
  // L2. So many loads wait for one another.
  double of_bytes(double waits, double from_memory, double from_l2) const {
    KernelWork work;
    work.dtype = asked_.whole.dtype;
    work.waits = waits;
    work.l2_bytes = from_memory + from_l2;
    work.hbm_bytes = from_memory;
    return predict_roofline(work, profile_).total_us;
  }
  double of_plan(const Case& asked) const {
    return predict_launches(kernel_work(asked, count_program(asked, device_), device_), profile_).total_us;
  }

  // What half of L2 holds, states and filters, stays there from one position to the next.
  double of_recurrence() const {
    const Case one = state_of(asked_, 1);
    std::vector<RepeatedWork> launches = kernel_work(one, count_program(one, device_), device_);
    for (RepeatedWork& launch : launches)
      if (launch.work.hbm_bytes < static_cast<double>(device_.cache_bytes) / 2) launch.work.hbm_bytes = 0;
    return predict_launches(launches, profile_).total_us;
  }

  static constexpr double kSamplesThenSums = 2, kSamples = 1;  // kernels/families/decode/kernel.hpp

  // u is read, y written, u kept; the kept samples, at the octave's middle position, and as many taps, likewise.
  double of_dot(const Octave& octave) const {
    const double position = 0.5 * static_cast<double>(octave.from + octave.to - 1);
    const double taps = std::min(position, static_cast<double>(asked_.whole.filter_length - 1));
    const double kept = taps * (2 * rows_ + 4 * channels_);
    const bool in_cache = kept < static_cast<double>(device_.cache_bytes) / 2;
    return of_bytes(kSamplesThenSums, 6 * rows_ + (in_cache ? 0 : kept), in_cache ? kept : 0);
  }

  // A launch for each position, of half a window on average, and tiles: of U samples at every odd multiple of U.
  double of_tiles(const Octave& octave) {
    const double newest = 0.5 * static_cast<double>(kWindow - 1);
    double sum = static_cast<double>(octave.to - octave.from) *
                 of_bytes(kSamplesThenSums, (2 + 2 + 2 + 4) * rows_, newest * (2 * rows_ + 4 * channels_));
    for (std::int64_t size = kWindow; size < octave.to; size *= 2)
      sum += static_cast<double>(tiles_before(octave.to, size) - tiles_before(octave.from, size)) * of_tile(size);
    return sum / static_cast<double>(octave.to - octave.from);
  }
  // How many tiles of this size end before a position.
  static std::int64_t tiles_before(std::int64_t position, std::int64_t size) {
    return position == 0 ? 0 : ((position - 1) / size + 1) / 2;
  }
  // Samples moved to it, with as many zeros; its convolution; what it gives, added to sums in fp32.
  double of_tile(std::int64_t size) {
    const auto known = std::ranges::find(tiles_, size, &std::pair<std::int64_t, double>::first);
    if (known != tiles_.end()) return known->second;
    Convolution tile = asked_.whole;
    tile.length = 2 * size, tile.filter_length = std::min(tile.filter_length, tile.length);
    const double samples = rows_ * static_cast<double>(size);
    const bool in_cache = 4 * samples < static_cast<double>(device_.cache_bytes) / 2;
    const double us = of_bytes(kSamples, (in_cache ? 2 : 6) * samples, in_cache ? 4 * samples : 0) + of_plan(tile) +
                      of_bytes(kSamples, (in_cache ? 8 : 10) * samples, in_cache ? 2 * samples : 0);
    tiles_.emplace_back(size, us);
    return us;
  }

  DecodeCase asked_;
  HardwareProfile profile_;
  Device device_;
  double rows_, channels_;
  std::vector<std::pair<std::int64_t, double>> tiles_;
};

}  // namespace

Json predicted(const DecodeCase& asked, const HardwareProfile& profile) {
  validate(asked);
  Predictor predictor(asked, profile);
  Json positions = Json::array();
  for (const Octave& octave : octaves_of(asked.whole.length))
    positions.push_back({{"from", octave.from}, {"to", octave.to}, {"us", predictor.of_octave(octave)}});
  return {{"positions", positions}};
}

}  // namespace danaus

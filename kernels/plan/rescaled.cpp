#include "kernels/plan/rescaled.hpp"

#include <algorithm>
#include <bit>

#include "kernels/tile/limits.hpp"

namespace danaus {
namespace {

rescaled::Layout layout_of(Dtype dtype, Fold fold, bool gradients) {
  return {{dtype, fold, gradients}, rescaled::Family::instances(0).list[0].tuning};
}

// Odd radices first: the others then divide what is left of N.
rescaled::Stages stages_of(int size) {
  rescaled::Stages stages{size, 0, {}};
  while (size > 1) {
    constexpr std::array kRadices = {7, 5, 3, 16, 8, 4, 2};
    const auto radix = std::ranges::find_if(kRadices, [&](int r) { return size % r == 0; });
    if (radix == kRadices.end() || stages.count == std::ssize(stages.radices))
      throw std::logic_error(text("rescaled: no stages of ", stages.size, " points"));
    size /= stages.radices[stages.count++] = *radix;
  }
  return stages;
}

void append_slots(std::vector<std::uint32_t>& words, const std::vector<std::int32_t>& slots) {
  for (std::int32_t slot : slots) words.push_back(static_cast<std::uint32_t>(slot));
}

}  // namespace

RescaledItems::RescaledItems(const LongVariant& variant, std::span<const int> rows, std::string description)
    : layout_(layout_of(variant.dtype, variant.fold, false)),
      size_(variant.size),
      outer_rows_(variant.outer_rows()),
      live_(rows.empty() ? outer_rows_ : static_cast<int>(rows.size())),
      units_(variant.inner().size / 8),
      scale_(1 / (variant.spectrum_scale() * size_)),
      slots_(outer_rows_, ~0u),
      block_points_(size_),
      description_(std::move(description)) {
  for (int i = 0; i < live_; ++i) slots_[rows.empty() ? i : rows[i]] = static_cast<std::uint32_t>(i);
  append_slots(slots_, variant.inner().spectrum_slots());
}

RescaledItems::RescaledItems(const Convolution& problem, const Correlator& correlator, Fold fold, int size, int units,
                             std::string description)
    : layout_(layout_of(problem.dtype, fold, true)),
      size_(size),
      outer_rows_(1),
      live_(1),
      units_(units),
      correlation_size_(static_cast<int>(std::bit_ceil(std::max<std::uint64_t>(2 * problem.length, 8)))),
      filter_length_(problem.filter_length),
      circular_(problem.mode == Mode::circular),
      least_share_(dynamic_range::kLeastSquareOfGradients / dynamic_range::kLeastSquare),
      description_(std::move(description)) {
  block_points_ = std::int64_t{correlation_size_} + correlation_size_ / 2 + 1;  // and the sums
  if (!correlator.all) return;
  block_points_ = std::max<std::int64_t>(block_points_, size_);
  const Variant& convolution = correlator.convolution();
  scale_ = 1 / (convolution.spectrum_scale() * size_);
  slots_ = {0};
  append_slots(slots_, convolution.spectrum_slots());
}

KernelId RescaledItems::kernel() const {
  const Instances<rescaled::Family> all = rescaled::Family::instances(0);
  std::size_t number = 0;
  while (!(all.list.at(number).key == layout_.key)) ++number;
  return {rescaled::Family::name, 0, number};
}

void RescaledItems::fit(const Machine& machine) {
  if (exist()) concurrent_ = machine.concurrent_blocks(kernel(), Path::threads, layout_.threads, layout_.shared_bytes);
}

void RescaledItems::launch(const ConvolutionArguments& of, int channels, std::span<const Rows> rows,
                           const std::optional<Taps>& taps, void* memory, std::int64_t bytes, const Machine& machine,
                           std::span<const std::uint32_t> constants, const LaunchTo& to) const {
  rescaled::Arguments a{};
  a.channels = channels, a.items_of_channel = items_of_channel(of.batch), a.units = units_;
  a.block_points = block_points_;
  std::vector<Region> regions;
  const auto touch = [&](const char* name, const void* data, std::int64_t of_bytes, bool written) {
    if (data && std::ranges::find(regions, data, &Region::data) == regions.end())
      regions.push_back({name, data, of_bytes, written, false});
  };
  const auto arrays_of = [&](const Rows& from) {
    const auto touch_rows = [&](const char* name, const RowArray& rows, bool written) {
      touch(name, rows.data, reach_of(rows.strides, of.batch, channels, of.length), written);
    };
    touch_rows("results", from.y, true), touch_rows("rows", from.u, false);
    touch_rows("pregate", from.pregate, false), touch_rows("postgate", from.postgate, false);
    touch("energies", from.energies, energy_bytes(channels, of.batch), false);
    const bool aligned = of.length % 8 == 0 && are_aligned({from.u, from.y, from.pregate, from.postgate});
    return rescaled::RowArrays{from.u.data,
                               from.pregate.data,
                               from.postgate.data,
                               from.y.data,
                               from.u.strides,
                               from.pregate.strides,
                               from.postgate.strides,
                               from.y.strides,
                               of.batch,
                               of.length,
                               of.length,
                               aligned ? Transfer::vector : Transfer::element,
                               from.energies,
                               from.conjugate};
  };
  for (const Rows& each : rows) a.rows[a.convolutions++] = arrays_of(each);
  if (!rows.empty()) {
    a.spectrum = of.spectrum, a.spectrum_factors = of.spectrum_factors;
    a.spectrum_ranges = of.spectrum_ranges, a.spectrum_parts = of.spectrum_parts;
    a.least_share = least_share_, a.slots = constants.data();
    a.outer_rows = outer_rows_, a.live = live_, a.scale = static_cast<float>(scale_), a.stages = stages_of(size_);
    touch("spectrum", a.spectrum, std::int64_t{4} * channels * live_ * (size_ / outer_rows_), false);
    touch("factors", a.spectrum_factors, std::int64_t{4} * channels * live_, false);
    touch("ranges", a.spectrum_ranges, std::int64_t{8} * channels * of.spectrum_parts, false);
    regions.push_back({"slots", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
  }
  if (taps) {
    a.correlated[0] = arrays_of(taps->u), a.correlated[1] = arrays_of(taps->dy);
    a.dk = taps->dk, a.filter_length = filter_length_, a.circular = circular_;
    a.taps_aligned = filter_length_ % 4 == 0 && are_aligned({a.dk});
    a.least_energy = static_cast<float>(size_) * dynamic_range::kLeastSquareOfGradients;
    a.correlation = stages_of(correlation_size_);
    touch("dk", a.dk, 4 * channels * filter_length_, true);
  }
  const auto add = [&](rescaled::Task task, std::int64_t blocks) {
    a.task = task;
    const bool looks = task == rescaled::Task::look;
    Launch launch =
        make_launch(machine, description_, kernel(), Path::threads, blocks, layout_.threads, layout_.shared_bytes);
    for (Region region : regions) {
      region.written &= !looks;
      launch.touches(region);
    }
    if (a.found) launch.touches({"found", a.found, 4 * a.looking, looks, false});
    if (!looks) launch.touches({"points", a.points, blocks * block_bytes(), true, false});
    launch.give(a);
    to(launch);
  };
  const bool reads_taps = taps && layout_.dtype == Dtype::f16;  // by all blocks that look; channels and items by fewer
  const std::int64_t items = std::int64_t{a.channels} * (taps ? 1 : a.items_of_channel);
  const std::int64_t most = std::min(concurrent_, items);
  const std::int64_t blocks = std::min((bytes - kFoundBytes) / block_bytes(), most);
  const std::int64_t looking = std::min(reads_taps ? concurrent_ : most, kMostLooking);
  std::int64_t looked_at = (a.convolutions + (taps ? 2 : 0)) * energy_bytes(channels, of.batch);
  if (reads_taps) looked_at += 4 * channels * filter_length_;
  a.points = reinterpret_cast<float*>(static_cast<std::byte*>(memory) + kFoundBytes);
  if (blocks >= looking || looked_at <= blocks * kMostLookedAt) return add(rescaled::Task::look_and_compute, blocks);
  a.found = static_cast<std::uint32_t*>(memory), a.looking = static_cast<int>(looking);
  add(rescaled::Task::look, looking);
  add(rescaled::Task::compute, blocks);
}

}  // namespace danaus

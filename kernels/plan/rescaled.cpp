#include "kernels/plan/rescaled.hpp"

#include <algorithm>

namespace danaus {
namespace {

rescaled::Layout layout_of(Dtype dtype, Fold fold) {
  return {{dtype, fold}, rescaled::Family::instances(0).list[0].tuning};
}

// Odd radices first: the others then divide what is left of N.
int next_radix(int size) {
  for (int radix : {7, 5, 3, 16, 8, 4, 2})
    if (size % radix == 0) return radix;
  throw std::logic_error(text("rescaled: N has the factor ", size));
}

}  // namespace

RescaledItems::RescaledItems(const LongVariant& variant, std::span<const int> rows, std::string description)
    : layout_(layout_of(variant.dtype, variant.fold)),
      size_(variant.size),
      outer_rows_(variant.outer_rows()),
      columns_(variant.inner().size),
      live_(rows.empty() ? outer_rows_ : static_cast<int>(rows.size())),
      scale_(1 / (variant.spectrum_scale() * size_)),
      slots_(outer_rows_, ~0u),
      description_(std::move(description)) {
  for (int i = 0; i < live_; ++i) slots_[rows.empty() ? i : rows[i]] = static_cast<std::uint32_t>(i);
  for (std::int32_t slot : variant.inner().spectrum_slots()) slots_.push_back(static_cast<std::uint32_t>(slot));
}

std::vector<std::uint32_t> RescaledItems::constants() const { return exist() ? slots_ : std::vector<std::uint32_t>{}; }

KernelId RescaledItems::kernel() const {
  const Instances<rescaled::Family> all = rescaled::Family::instances(0);
  std::size_t number = 0;
  while (!(all.list.at(number).key == layout_.key)) ++number;
  return {rescaled::Family::name, 0, number};
}

void RescaledItems::fit(const Machine& machine) {
  if (exist()) concurrent_ = machine.concurrent_blocks(kernel(), Path::threads, layout_.threads, layout_.shared_bytes);
}

Launch RescaledItems::launch(const ConvolutionArguments& rows, const float* energies, void* points, std::int64_t bytes,
                             const Machine& machine, std::span<const std::uint32_t> constants) const {
  rescaled::Arguments a{};
  a.rows = rows;
  a.rows.channel_pitch = rows.length, a.rows.row_pitch = std::int64_t{rows.channels} * rows.length;
  a.rows.result_length = rows.length;
  const bool aligned = rows.length % 8 == 0 && are_aligned({rows.u, rows.y, rows.pregate, rows.postgate});
  a.rows.transfer = aligned ? Transfer::vector : Transfer::element;
  a.energies = energies, a.points = static_cast<float*>(points), a.slots = constants.data();
  a.size = size_, a.outer_rows = outer_rows_, a.live = live_;
  a.items_of_channel = items_of_channel(rows.batch), a.items = a.items_of_channel * rows.channels;
  for (int left = size_; left > 1; left /= a.radices[a.stages++]) a.radices[a.stages] = next_radix(left);
  a.scale = static_cast<float>(scale_);
  const std::int64_t most = std::min<std::int64_t>(concurrent_, a.items);
  const std::int64_t blocks = std::clamp<std::int64_t>(bytes / block_bytes(), 1, most);
  Launch launch = make_launch(machine, description_, kernel(), Path::threads, blocks, layout_.threads,
                              layout_.shared_bytes);
  const std::int64_t of_rows = std::int64_t{2} * rows.batch * rows.channels * rows.length;
  launch.touches({"u", rows.u, of_rows, false, false});
  if (rows.pregate) launch.touches({"pregate", rows.pregate, of_rows, false, false});
  if (rows.postgate) launch.touches({"postgate", rows.postgate, of_rows, false, false});
  launch.touches({"y", rows.y, of_rows, true, false});
  launch.touches({"energies", energies, energy_bytes(rows.channels, rows.batch), false, false});
  launch.touches({"points", points, blocks * block_bytes(), true, false});
  launch.touches({"spectrum", rows.spectrum, std::int64_t{4} * rows.channels * live_ * columns_, false, false});
  launch.touches({"factors", rows.spectrum_factors, std::int64_t{4} * rows.channels * live_, false, false});
  if (rows.spectrum_ranges)
    launch.touches({"ranges", rows.spectrum_ranges, std::int64_t{8} * rows.channels, false, false});
  launch.touches({"slots", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
  launch.give(a);
  return launch;
}

}  // namespace danaus

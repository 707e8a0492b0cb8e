#include "kernels/plan/filter.hpp"

#include <algorithm>

#include "kernels/families/mask/family.hpp"
#include "kernels/families/spectrum/family.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/product/slots.hpp"

namespace danaus {
namespace {

Launch launch_of(const spectrum::Split& split, std::int64_t blocks, const std::string& description,
                 const Machine& machine) {
  const spectrum::Layout layout = split.layout();
  return make_launch(machine, description, {spectrum::Family::name, split.line, 0}, Path::threads, blocks,
                     layout.threads, layout.shared_bytes);
}

void fit(const spectrum::Split& split, const Machine& machine) {
  const spectrum::Layout layout = split.layout();
  machine.concurrent_blocks({spectrum::Family::name, split.line, 0}, Path::threads, layout.threads,
                            layout.shared_bytes);
}

// Constants of a transform, which stand from `constants` on.
void bind_table(const spectrum::Table& table, const std::uint32_t* constants, spectrum::Arguments& a) {
  a.entries = constants, a.roots = constants + table.roots_at;
  if (table.numbers_at >= 0) a.numbers = constants + table.numbers_at;
  if (table.marks_at >= 0) a.marks = constants + table.marks_at;
}

// What is written, from a number of the spectrum and a factor on.
void bind_spectra(const Call& call, const Prepared& prepared, std::int64_t first, std::int64_t first_factor,
                  spectrum::Arguments& a) {
  const auto from = [&](std::int64_t word, std::int64_t skipped) {
    return word < 0 ? nullptr : prepared_at(call, word) + skipped;
  };
  a.spectrum = from(prepared.spectrum, first), a.conjugate = from(prepared.conjugate, first);
  a.factors = reinterpret_cast<float*>(from(prepared.factors, first_factor));
  a.ranges = reinterpret_cast<float*>(from(prepared.ranges, 0));
}
void touch_spectra(Launch& launch, const spectrum::Arguments& a, std::int64_t numbers, std::int64_t factors) {
  if (a.spectrum) launch.touches({"spectrum", a.spectrum, 4 * numbers, true, false});
  if (a.conjugate) launch.touches({"conjugate spectrum", a.conjugate, 4 * numbers, true, false});
  if (a.factors) launch.touches({"factors", a.factors, 4 * factors, true, false});
  if (a.ranges)
    launch.touches({"ranges", a.ranges, 8 * (a.sums ? factors / a.rows_of_channel : factors * a.parts), true, false});
}

// Taps as a case has them.
class Taps {
 public:
  Taps(const Case& asked, const Convolution& problem)
      : problem_(problem), array_(array_of(asked.arrays(), "k")), dtype_(filter_dtype(problem)) {}

  const Convolution& problem() const { return problem_; }
  // From channel `first` on.
  spectrum::Arguments arguments(const Call& call, std::int64_t first = 0) const {
    spectrum::Arguments a{};
    a.k = static_cast<const std::byte*>(at(call, array_)) + bytes(dtype_) * first * problem_.filter_length;
    a.k_dtype = dtype_;
    a.filter_length = problem_.filter_length, a.period = static_cast<int>(problem_.length);
    a.circular = problem_.mode == Mode::circular;
    return a;
  }
  Region region(const void* k, std::int64_t channels) const {
    return {"k", k, std::int64_t{bytes(dtype_)} * channels * problem_.filter_length, false, false};
  }

 private:
  Convolution problem_;
  int array_;
  Dtype dtype_;
};

Region table_region(std::span<const std::uint32_t> words) {
  return {"table", words.data(), static_cast<std::int64_t>(words.size_bytes()), false, true};
}

class Transform final : public Step {
 public:
  Transform(const Case& asked, const Convolution& problem, const Prepared& prepared, const Variant& convolution,
            const Device& device, std::span<const std::uint8_t> kept)
      : taps_(asked, problem),
        prepared_(prepared),
        convolution_(convolution),
        split_(spectrum::split_of(convolution.wraps(), convolution.size, device.block_bytes)),
        table_(spectrum::make_table(convolution, split_, kept)),
        description_("filter of " + asked.token() + " for " + convolution.name) {}

  std::string_view name() const override { return "filter"; }
  std::vector<std::uint32_t> constants() const override { return table_.words; }
  void fit(const Machine& machine) override { danaus::fit(split_, machine); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = taps_.problem();
    spectrum::Arguments a = taps_.arguments(call);
    bind_table(table_, constants.data(), a);
    bind_spectra(call, prepared_, 0, 0, a);
    a.channels = static_cast<int>(p.channels);
    a.size = kPieceNumbers * table_.entries * split_.parts, a.parts = split_.parts;
    a.scale = static_cast<float>(convolution_.spectrum_scale());
    a.right_angle = convolution_.fold == Fold::right_angle, a.real_pairs = split_.real_pairs;
    const int of_block = split_.layout().tuning.transforms;
    Launch launch = launch_of(split_, (p.channels * a.parts + of_block - 1) / of_block, description_, machine);
    launch.touches(taps_.region(a.k, p.channels));
    launch.touches(table_region(constants));
    touch_spectra(launch, a, p.channels * a.size, p.channels);
    launch.give(a);
    to(launch);
  }

 private:
  Taps taps_;
  Prepared prepared_;
  const Variant& convolution_;
  spectrum::Split split_;
  spectrum::Table table_;
  std::string description_;
};

class LongTransform final : public Step {
 public:
  LongTransform(const Case& asked, const Convolution& problem, const Prepared& prepared, const LongVariant& convolution,
                const Device& device, std::span<const std::uint8_t> kept, std::span<const int> rows)
      : taps_(asked, problem),
        prepared_(prepared),
        convolution_(convolution),
        inner_(convolution.inner()),
        rows_(convolution.outer_rows()),
        columns_split_(spectrum::split_of_columns(rows_)),
        split_(spectrum::split_of(false, inner_.size, device.block_bytes)),
        table_(spectrum::make_table(inner_, split_, {})),
        columns_words_(spectrum::roots_of(rows_)),
        chunk_bytes_(chunk_bytes(device, problem)),
        description_("filter of " + asked.token() + " for " + convolution.name) {
    if (kept.empty()) return;
    live_.assign(rows.begin(), rows.end());
    for (int row = 0; rows.empty() && row < rows_; ++row) live_.push_back(row);
    find_weights(kept);
  }

  std::string_view name() const override { return "filter"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = columns_words_;
    words.insert(words.end(), table_.words.begin(), table_.words.end());
    words.resize(weights_at());
    words.insert(words.end(), weights_.begin(), weights_.end());
    words.insert(words.end(), live_.begin(), live_.end());
    return words;
  }
  void fit(const Machine& machine) override {
    danaus::fit(columns_split_, machine), danaus::fit(split_, machine);
    if (masks()) blocks_ = machine.concurrent_blocks(kMask, Path::threads, kMaskLayout.threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t) const override { return channels_at_once() * channel_bytes(); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    for (std::int64_t first = 0; first < taps_.problem().channels; first += channels_at_once()) {
      const std::int64_t count = std::min(channels_at_once(), taps_.problem().channels - first);
      to(columns_launch(call, machine, constants.first(columns_words_.size()), first, count));
      to(rows_launch(call, machine, constants.subspan(columns_words_.size(), table_.words.size()), first, count));
      if (masks()) to(mask_launch(call, machine, constants.subspan(weights_at()), first, count));
    }
  }

 private:
  // Of a channel in the workspace: rows, and where there is a mask the spectrum that it takes from, and factors.
  std::int64_t row_bytes() const { return std::int64_t{8} * convolution_.size; }
  std::int64_t channel_bytes() const {
    return row_bytes() + (masks() ? 4 * (convolution_.size + rows_) : 0) + 8 * sums_of_channel();
  }
  // Over the taps that a warp of the pass down columns has; of filters whose channels have ranges.
  std::int64_t sums_of_channel() const {
    if (prepared_.ranges < 0) return 0;
    const spectrum::Layout layout = columns_split_.layout();
    return inner_.size / layout.tuning.transforms * (layout.threads / 32);
  }
  bool masks() const { return !live_.empty(); }
  std::int64_t weights_at() const {
    const auto words = std::ssize(columns_words_) + std::ssize(table_.words);
    return masks() ? aligned_words(words) : words;
  }

  // Of the live rows, in the order of the inner kernel's spectrum.
  void find_weights(std::span<const std::uint8_t> kept) {
    const std::vector<std::int32_t> slots = inner_.spectrum_slots();
    constexpr std::uint32_t kHalf = 0x3800;  // 1/2 as a half, whose double is the next exponent
    const std::size_t size = kept.size();
    weights_.assign(live_.size() * inner_.size / 2, 0);
    for (std::size_t i = 0; i < live_.size(); ++i)
      for (int k_lo = 0; k_lo < inner_.size; ++k_lo) {
        const std::size_t k = live_[i] + std::size_t(rows_) * k_lo, slot = i * inner_.size + slots[k_lo];
        const int marks = (kept[k] != 0) + (kept[(size - k) % size] != 0);
        if (marks > 0) weights_[slot / 2] |= (kHalf + (marks == 2 ? 0x400u : 0)) << 16 * (slot % 2);
      }
  }
  // Of which the workspace has the rows.
  std::int64_t channels_at_once() const {
    return std::clamp<std::int64_t>(chunk_bytes_ / channel_bytes(), 1, taps_.problem().channels);
  }
  Launch columns_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                        std::int64_t first, std::int64_t count) const {
    spectrum::Arguments a = taps_.arguments(call, first);
    a.roots = constants.data(), a.rows = static_cast<float*>(call.workspace);
    a.channels = static_cast<int>(count), a.size = convolution_.size;
    a.right_angle = convolution_.fold == Fold::right_angle;
    give_sums(call, count, a);
    Launch launch = launch_of(columns_split_, count * (inner_.size / columns_split_.layout().tuning.transforms),
                              description_, machine);
    launch.touches(taps_.region(a.k, count));
    launch.touches(table_region(constants));
    launch.touches({"rows", a.rows, count * row_bytes(), true, false});
    if (a.sums) launch.touches({"sums of taps", a.sums, 8 * count * sums_of_channel(), true, false});
    launch.give(a);
    return launch;
  }
  // Behind all else that so many channels have in the workspace.
  void give_sums(const Call& call, std::int64_t count, spectrum::Arguments& a) const {
    a.sums_of_channel = static_cast<int>(sums_of_channel()), a.rows_of_channel = rows_;
    if (a.sums_of_channel > 0)
      a.sums = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) +
                                        count * (channel_bytes() - 8 * sums_of_channel()));
  }
  // Each row of a channel is one.
  Launch rows_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                     std::int64_t first, std::int64_t count) const {
    spectrum::Arguments a{};
    bind_table(table_, constants.data(), a);
    a.rows = static_cast<float*>(call.workspace);
    if (masks()) {
      a.spectrum = unmasked(call, count);
      if (prepared_.factors >= 0) a.factors = reinterpret_cast<float*>(a.spectrum + count * convolution_.size);
    } else {
      bind_spectra(call, prepared_, first * convolution_.size, first * rows_, a);
    }
    if (prepared_.ranges >= 0) a.ranges = reinterpret_cast<float*>(prepared_at(call, prepared_.ranges)) + 2 * first;
    give_sums(call, count, a);
    a.channels = static_cast<int>(count * rows_);
    a.size = inner_.size, a.parts = split_.parts;
    a.scale = static_cast<float>(convolution_.spectrum_scale());
    const int of_block = split_.layout().tuning.transforms;
    Launch launch =
        launch_of(split_, (std::int64_t{a.channels} * a.parts + of_block - 1) / of_block, description_, machine);
    launch.touches({"rows", a.rows, count * row_bytes(), false, false});
    if (a.sums) launch.touches({"sums of taps", a.sums, 8 * count * sums_of_channel(), false, false});
    launch.touches(table_region(constants));
    touch_spectra(launch, a, count * convolution_.size, count * rows_);
    launch.give(a);
    return launch;
  }
  // Behind the rows of so many channels.
  std::uint32_t* unmasked(const Call& call, std::int64_t count) const {
    return reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(call.workspace) + count * row_bytes());
  }
  Launch mask_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                     std::int64_t first, std::int64_t count) const {
    const std::int64_t live = std::ssize(live_), numbers = live * inner_.size;
    mask::Arguments a{};
    a.spectrum = unmasked(call, count), a.left = prepared_at(call, prepared_.spectrum) + first * numbers;
    if (prepared_.factors >= 0) {
      a.factors = reinterpret_cast<const float*>(a.spectrum + count * convolution_.size);
      a.left_factors = reinterpret_cast<float*>(prepared_at(call, prepared_.factors)) + first * live;
    }
    a.weights = constants.data(), a.rows = constants.last(live_.size()).data();
    a.channels = static_cast<int>(count);
    a.rows_of_channel = rows_, a.live = static_cast<int>(live), a.columns = inner_.size;
    Launch launch = make_launch(machine, description_, kMask, Path::threads, std::min(blocks_, count * live),
                                kMaskLayout.threads, 0);
    launch.touches({"spectrum", a.spectrum, 4 * count * convolution_.size, false, false});
    launch.touches({"spectrum of live rows", a.left, 4 * count * numbers, true, false});
    if (a.factors) {
      launch.touches({"factors", a.factors, 4 * count * rows_, false, false});
      launch.touches({"factors of live rows", a.left_factors, 4 * count * live, true, false});
    }
    launch.touches(table_region(constants));
    launch.give(a);
    return launch;
  }

  static constexpr KernelId kMask{mask::Family::name, 0, 0};
  static constexpr mask::Layout kMaskLayout{{Dtype::f16}, mask::Family::instances(0).list[0].tuning};

  Taps taps_;
  Prepared prepared_;
  const Variant& convolution_;
  const Variant& inner_;
  int rows_;  // N1
  spectrum::Split columns_split_, split_;
  spectrum::Table table_;
  std::vector<std::uint32_t> columns_words_, weights_, live_;  // of a mask: [R, N2] halves, and which rows they are
  std::int64_t chunk_bytes_, blocks_ = 1;
  std::string description_;
};

// Of a channel's transform; without one 0.
int range_parts(const Variant& variant, const Device& device) {
  if (variant.size == 0) return 0;
  if (variant.outer_rows() > 1) return 1;
  const int parts = spectrum::split_of(variant.wraps(), variant.size, device.block_bytes).parts;
  if (parts > 1 && !may_have_range_parts(variant.fold, variant.size))
    throw std::logic_error(text("plan: ", variant.name, " reads one range of a channel, not ", parts));
  return parts;
}

// Whatever the batch and the gates are.
std::string layout_of(Convolution p, const Variant& variant) {
  p.batch = 1, p.pregate = p.postgate = false;
  return text(variant.name, '/', token(p));
}

}  // namespace

std::unique_ptr<Step> make_filter_transform(const Case& asked, const Convolution& problem, const Prepared& prepared,
                                            const Variant& variant, const Device& device,
                                            std::span<const std::uint8_t> kept, std::span<const int> rows) {
  if (variant.outer_rows() > 1)
    return std::make_unique<LongTransform>(asked, problem, prepared, static_cast<const LongVariant&>(variant), device,
                                           kept, rows);
  return std::make_unique<Transform>(asked, problem, prepared, variant, device, kept);
}

Filters make_filters(const Case& asked, const Convolution& problem, bool forward, bool adjoint, const Variant& variant,
                     const Device& device, std::span<const std::uint8_t> kept) {
  Filters filters;
  filters.layout = layout_of(problem, variant);
  const int parts = range_parts(variant, device);
  if (variant.way() == Way::pieces) {
    const auto& of_chunks = static_cast<const ChunkVariant&>(variant);
    filters.layout += text("/x", chunk_filters(problem, of_chunks, device).channels / problem.channels);
    const auto prepare = [&](Pass pass, SpectrumPlace& place) {
      const bool plain = pass == Pass::forward;
      const Prepared prepared(chunk_filters(problem, of_chunks, device), variant.size, 1, parts, plain, !plain,
                              aligned_words(filters.bytes / 4));
      filters.steps.push_back(make_chunk_filter(asked, problem, prepared, of_chunks, device, pass));
      filters.bytes = prepared.bytes();
      place = {plain ? prepared.spectrum : prepared.conjugate, prepared.factors, prepared.ranges, parts};
    };
    if (forward) prepare(Pass::forward, filters.forward);
    if (adjoint) prepare(Pass::adjoint, filters.adjoint);
    return filters;
  }
  if (variant.sparse) filters.live = live_part(variant, live_with_mirrors(kept));
  int numbers = spectrum_numbers(variant, filters.live), rows = variant.outer_rows();
  if (!kept.empty()) {
    filters.rows = variant.live_rows(live_with_mirrors(kept));
    if (!filters.rows.empty()) numbers = numbers / rows * std::ssize(filters.rows), rows = std::ssize(filters.rows);
  }
  const Prepared prepared(problem, numbers, rows, parts, forward, adjoint);
  if (variant.size > 0)
    filters.steps.push_back(make_filter_transform(asked, problem, prepared, variant, device, kept, filters.rows));
  filters.bytes = prepared.bytes();
  filters.forward = {prepared.spectrum, prepared.factors, prepared.ranges, parts};
  filters.adjoint = {prepared.conjugate, prepared.factors, prepared.ranges, parts};
  return filters;
}

SpectrumPlace add_spectrum(Filters& filters, const Case& asked, const Convolution& problem, const Variant& variant,
                           const Variant& convolution, const Device& device) {
  if (variant.spectrum_scale() == convolution.spectrum_scale() &&
      variant.spectrum_slots() == convolution.spectrum_slots())
    return filters.forward;
  const Prepared prepared(problem, convolution.size, 1, range_parts(convolution, device), true, false,
                          aligned_words(filters.bytes / 4));
  filters.steps.push_back(make_filter_transform(asked, problem, prepared, convolution, device, {}));
  filters.bytes = prepared.bytes();
  return {prepared.spectrum, prepared.factors, prepared.ranges, range_parts(convolution, device)};
}

}  // namespace danaus

#include "kernels/plan/filter.hpp"

#include <algorithm>

#include "kernels/families/spectrum/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {
namespace {

Launch launch_of(const spectrum::Split& split, std::int64_t blocks, const std::string& description,
                 const Machine& machine) {
  const spectrum::Layout layout = split.layout();
  Launch launch;
  launch.description = description;
  launch.kernel = {spectrum::Family::name, split.line, 0}, launch.path = Path::threads;
  launch.blocks = blocks, launch.threads = layout.threads, launch.shared_bytes = layout.shared_bytes;
  launch.overlapping = machine.device().sm >= 90;
  return launch;
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

// Taps as a case has them.
class Taps {
 public:
  explicit Taps(const Case& asked)
      : problem_(*asked.as<Convolution>()), arrays_(asked), dtype_(asked.arrays().at(arrays_.k).dtype) {}

  const Convolution& problem() const { return problem_; }
  // From channel `first` on.
  spectrum::Arguments arguments(const Call& call, std::int64_t first = 0) const {
    spectrum::Arguments a{};
    a.k = static_cast<const std::byte*>(at(call, arrays_.k)) + bytes(dtype_) * first * problem_.filter_length;
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
  ConvolutionArrays arrays_;
  Dtype dtype_;
};

Region table_region(std::span<const std::uint32_t> words) {
  return {"table", words.data(), static_cast<std::int64_t>(words.size_bytes()), false, true};
}

class Transform final : public Step {
 public:
  Transform(const Case& asked, const Variant& convolution, const Device& device, std::span<const std::uint8_t> kept)
      : taps_(asked),
        convolution_(convolution),
        split_(spectrum::split_of(convolution.fold == Fold::pair, convolution.size, device.block_bytes)),
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
    a.spectrum = static_cast<std::uint32_t*>(call.prepared);
    a.channels = static_cast<int>(p.channels);
    a.size = convolution_.size, a.parts = split_.parts;
    a.scale = static_cast<float>(convolution_.spectrum_scale());
    if (p.dtype == Dtype::bf16) a.factors = factors_of(call.prepared, p, convolution_);
    a.right_angle = convolution_.fold == Fold::right_angle, a.real_pairs = split_.real_pairs;
    const int of_block = split_.layout().tuning.transforms;
    Launch launch = launch_of(split_, (p.channels * a.parts + of_block - 1) / of_block, description_, machine);
    launch.touches(taps_.region(a.k, p.channels));
    launch.touches(table_region(constants));
    launch.touches({"spectrum", a.spectrum, prepared_bytes_of(p, convolution_), true, false});
    launch.give(a);
    to(launch);
  }

 private:
  Taps taps_;
  const Variant& convolution_;
  spectrum::Split split_;
  spectrum::Table table_;
  std::string description_;
};

class LongTransform final : public Step {
 public:
  LongTransform(const Case& asked, const Variant& convolution, const Variant& inner, const Device& device)
      : taps_(asked),
        convolution_(convolution),
        inner_(inner),
        rows_(convolution.size / inner.size),
        columns_split_(spectrum::split_of_columns(rows_)),
        split_(spectrum::split_of(false, inner.size, device.block_bytes)),
        table_(spectrum::make_table(inner, split_, {})),
        columns_words_(spectrum::roots_of(rows_)),
        chunk_bytes_(chunk_bytes(device)),
        description_("filter of " + asked.token() + " for " + convolution.name) {}

  // Rows of that many channels are in the workspace at a time, and in L2.
  std::int64_t channels_at_once() const {
    return std::clamp<std::int64_t>(chunk_bytes_ / row_bytes(), 1, taps_.problem().channels);
  }
  std::int64_t row_bytes() const { return std::int64_t{8} * convolution_.size; }

  std::string_view name() const override { return "filter"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = columns_words_;
    words.insert(words.end(), table_.words.begin(), table_.words.end());
    return words;
  }
  void fit(const Machine& machine) override { danaus::fit(columns_split_, machine), danaus::fit(split_, machine); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    for (std::int64_t first = 0; first < taps_.problem().channels; first += channels_at_once()) {
      const std::int64_t count = std::min(channels_at_once(), taps_.problem().channels - first);
      to(columns_launch(call, machine, constants.first(columns_words_.size()), first, count));
      to(rows_launch(call, machine, constants.subspan(columns_words_.size()), first, count));
    }
  }

 private:
  Launch columns_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                        std::int64_t first, std::int64_t count) const {
    spectrum::Arguments a = taps_.arguments(call, first);
    a.roots = constants.data(), a.rows = static_cast<float*>(call.workspace);
    a.channels = static_cast<int>(count), a.size = convolution_.size;
    a.right_angle = convolution_.fold == Fold::right_angle;
    Launch launch = launch_of(columns_split_, count * (inner_.size / columns_split_.layout().tuning.transforms),
                              description_, machine);
    launch.touches(taps_.region(a.k, count));
    launch.touches(table_region(constants));
    launch.touches({"rows", a.rows, count * row_bytes(), true, false});
    launch.give(a);
    return launch;
  }
  // Each row of a channel is one.
  Launch rows_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                     std::int64_t first, std::int64_t count) const {
    const Convolution& p = taps_.problem();
    spectrum::Arguments a{};
    bind_table(table_, constants.data(), a);
    a.rows = static_cast<float*>(call.workspace);
    a.spectrum = static_cast<std::uint32_t*>(call.prepared) + first * convolution_.size;
    if (p.dtype == Dtype::bf16) a.factors = factors_of(call.prepared, p, convolution_) + first * rows_;
    a.channels = static_cast<int>(count * rows_);
    a.size = inner_.size, a.parts = split_.parts;
    a.scale = static_cast<float>(convolution_.spectrum_scale());
    const int of_block = split_.layout().tuning.transforms;
    Launch launch =
        launch_of(split_, (std::int64_t{a.channels} * a.parts + of_block - 1) / of_block, description_, machine);
    launch.touches({"rows", a.rows, count * row_bytes(), false, false});
    launch.touches(table_region(constants));
    launch.touches({"spectrum", a.spectrum, 4 * count * convolution_.size, true, false});
    if (a.factors) launch.touches({"factors", a.factors, 4 * count * rows_, true, false});
    launch.give(a);
    return launch;
  }

  Taps taps_;
  const Variant& convolution_;
  const Variant& inner_;
  int rows_;  // N1
  spectrum::Split columns_split_, split_;
  spectrum::Table table_;
  std::vector<std::uint32_t> columns_words_;
  std::int64_t chunk_bytes_;
  std::string description_;
};

}  // namespace

std::unique_ptr<Step> make_filter_transform(const Case& asked, const Variant& convolution, const Device& device,
                                            std::span<const std::uint8_t> kept) {
  return std::make_unique<Transform>(asked, convolution, device, kept);
}

LongFilterTransform make_long_filter_transform(const Case& asked, const Variant& convolution, const Variant& inner,
                                               const Device& device) {
  auto step = std::make_unique<LongTransform>(asked, convolution, inner, device);
  const std::int64_t bytes = step->channels_at_once() * step->row_bytes();
  return {std::move(step), bytes};
}

}  // namespace danaus

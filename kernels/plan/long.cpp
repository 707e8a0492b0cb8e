#include "kernels/plan/long.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

// Outer passes and what is between them, channels by channels.
class LongConvolution final : public Step {
 public:
  LongConvolution(const Case& asked, const LongVariant& variant, const Device& device)
      : problem_(*asked.as<Convolution>()),
        arrays_(asked),
        variant_(variant),
        inner_(variant.inner(), asked.token() + ", between outer passes, " + variant.inner().name),
        description_(asked.token() + ", outer pass, " + variant.name) {
    const std::int64_t bytes = plane_rows(problem_.batch) * row_bytes();
    channels_ = std::clamp<std::int64_t>(chunk_bytes(device) / bytes, 1, problem_.channels);
  }

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = variant_.make_tables();
    const std::vector<std::uint32_t> inner = variant_.inner().make_tables();
    words.insert(words.end(), inner.begin(), inner.end());
    return words;
  }
  void fit(const Machine& machine) override {
    inner_.fit(machine);
    const outer::Layout layout = variant_.outer_layout(false);
    for (bool back : {false, true})
      concurrent_ =
          machine.concurrent_blocks(variant_.outer_kernel(back), Path::threads, layout.threads, layout.shared_bytes);
  }
  // Of the planes of two rows of the batch.
  std::int64_t bytes_of_two_rows() const { return plane_rows(2) * channels_ * row_bytes(); }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    for (std::int64_t first = 0; first < problem_.channels; first += channels_) {
      const std::int64_t count = std::min(channels_, problem_.channels - first);
      to(outer_launch(call, machine, constants, first, count, false));
      to(inner_launch(call, machine, constants, first, count));
      to(outer_launch(call, machine, constants, first, count, true));
    }
  }

 private:
  std::int64_t row_bytes() const { return std::int64_t{2} * variant_.size; }
  std::int64_t plane_rows(std::int64_t batch) const { return 2 * variant_.items_of_channel(batch); }

  Launch outer_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                      std::int64_t first, std::int64_t count, bool back) const {
    const Convolution& p = problem_;
    const outer::Layout layout = variant_.outer_layout(back);
    outer::Arguments a{};
    void* const u = at(call, arrays_.u);
    void* const y = at(call, arrays_.y);
    a.samples = u, a.result = y, a.gate = at(call, back ? arrays_.postgate : arrays_.pregate);
    a.planes = call.workspace, a.tables = constants.data();
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p.channels);
    a.length = static_cast<int>(p.length);
    a.first_channel = static_cast<int>(first), a.channel_count = static_cast<int>(count);
    a.columns = variant_.inner().size;
    const auto is_aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
    a.aligned = p.length % 8 == 0 && is_aligned(back ? y : u) && is_aligned(a.gate);
    const std::int64_t tiles = a.columns / 64, items = count * variant_.items_of_channel(call.batch);
    Launch launch;
    launch.description = description_;
    launch.kernel = variant_.outer_kernel(back), launch.path = Path::threads;
    launch.blocks = std::clamp<std::int64_t>(concurrent_ / tiles, 1, items) * tiles;
    launch.threads = layout.threads, launch.shared_bytes = layout.shared_bytes;
    launch.overlapping = machine.device().sm >= 90;
    const std::int64_t bytes = std::int64_t{2} * call.batch * p.channels * p.length;
    if (back)
      launch.touches({"y", y, bytes, true, false});
    else
      launch.touches({"u", u, bytes, false, false});
    if (a.gate) launch.touches({back ? "postgate" : "pregate", a.gate, bytes, false, false});
    launch.touches({"planes", a.planes, plane_rows(call.batch) * count * row_bytes(), !back, false});
    launch.touches({"tables", a.tables, static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    return launch;
  }

  Launch inner_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                      std::int64_t first, std::int64_t count) const {
    const int rows = variant_.outer_rows();
    const std::size_t tables_at = variant_.make_tables().size();
    ConvolutionArguments a{};
    a.u = a.y = call.workspace;
    a.spectrum = static_cast<const std::uint32_t*>(call.prepared) + first * variant_.size;
    if (problem_.dtype == Dtype::bf16)
      a.spectrum_factors = factors_of(call.prepared, problem_, variant_) + first * rows;
    a.tables = constants.data() + tables_at;
    a.batch = static_cast<int>(plane_rows(call.batch)), a.channels = static_cast<int>(count * rows);
    a.length = variant_.inner().size;
    return inner_.launch(a, machine, prepared_bytes_of(problem_, variant_, rows) - 4 * first * variant_.size,
                         static_cast<std::int64_t>(4 * (constants.size() - tables_at)));
  }

  Convolution problem_;
  ConvolutionArrays arrays_;
  const LongVariant& variant_;
  FusedKernel inner_;
  std::string description_;
  std::int64_t channels_ = 1;  // at a time
  std::int64_t concurrent_ = 1;
};

}  // namespace

LongVariant::LongVariant(const Variant& fused, Fold of_fold, bool with_gates, std::size_t outer_line) : inner_(fused) {
  const int radix = outer::kLines[outer_line].radix;
  family = outer::Family::name, line = outer_line, instance = 0;
  dtype = fused.dtype, fold = of_fold, gated = with_gates, size = 64 * radix * fused.size;
  factors = outer::factors_of(outer_layout(false));
  factors.insert(factors.end(), fused.factors.begin(), fused.factors.end());
  preferred = false, classes = 0;
  const outer::Layout layout = outer_layout(false);
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (fused.suits(static_cast<int>(i)) && kDeviceClasses[i].fits(layout.shared_bytes, 1)) classes |= 1u << i;
  compiled = fused.compiled;
  threads = layout.threads, shared_bytes = layout.shared_bytes, blocks_per_sm = outer::kLines[outer_line].tuning.blocks;
  name = text("outer_", 64 * radix, 'x', fused.size, '_', danaus::name(dtype), '_', danaus::name(fold),
              gated ? "_gated" : "", '_', fused.name);
}

KernelId LongVariant::outer_kernel(bool back) const {
  const Instances<outer::Family> all = outer::Family::instances(line);
  const outer::Key key = outer_layout(back).key;
  std::size_t number = 0;
  while (!(all.list.at(number).key == key)) ++number;
  return {family, line, number};
}

std::vector<std::int32_t> LongVariant::spectrum_slots() const {
  const std::vector<std::int32_t> of_inner = inner_.spectrum_slots();
  std::vector<std::int32_t> slots(size);
  const int rows = outer_rows();
  for (int k = 0; k < size; ++k) slots[k] = k % rows * inner_.size + of_inner[k / rows];
  return slots;
}

double LongVariant::spectrum_scale() const {
  const double outer_scale = outer_layout(false).scale;
  return inner_.spectrum_scale() / (outer_rows() * outer_scale * outer_scale);
}

int LongVariant::roundings() const { return inner_.roundings() + 2 * outer::roundings_of_pass(outer_layout(false)); }

std::span<const std::unique_ptr<const LongVariant>> long_variants() {
  static const std::vector<std::unique_ptr<const LongVariant>> kVariants = [] {
    std::vector<std::unique_ptr<LongVariant>> all;
    const int longest = variants().back()->size;
    for (const auto& fused : variants()) {
      if (fused->size == 0 || fused->fold != Fold::pair || fused->gated || !fused->preferred) continue;
      for (std::size_t line = 0; line < outer::kLines.size(); ++line)
        for (Fold fold : {Fold::pair, Fold::right_angle})
          for (bool gated : {false, true})
            if (64 * outer::kLines[line].radix * fused->size > longest)
              all.push_back(std::make_unique<LongVariant>(*fused, fold, gated, line));
    }
    // The fewest rows first, and preferred: outer passes are then one radix shorter. Not measured yet.
    std::ranges::stable_sort(all, {}, [](const auto& v) { return std::pair(v->size, v->outer_rows()); });
    std::set<std::tuple<int, Dtype, Fold, bool>> known;
    for (const auto& v : all) v->preferred = known.insert({v->size, v->dtype, v->fold, v->gated}).second;
    return std::vector<std::unique_ptr<const LongVariant>>(std::move_iterator(all.begin()),
                                                           std::move_iterator(all.end()));
  }();
  return kVariants;
}

Program make_long_program(const Case& asked, const LongVariant& variant, const Device& device) {
  const Convolution& p = *asked.as<Convolution>();
  Program program;
  program.variant = &variant;
  LongFilterTransform filter = make_long_filter_transform(asked, variant, variant.inner(), device);
  program.prepare.push_back(std::move(filter.step));
  program.prepare_workspace_bytes = filter.workspace_bytes;
  program.prepared_bytes = prepared_bytes_of(p, variant, variant.outer_rows());
  auto step = std::make_unique<LongConvolution>(asked, variant, device);
  program.workspace_bytes_per_two_rows = step->bytes_of_two_rows();
  program.execute.push_back(std::move(step));
  return program;
}

}  // namespace danaus

#include "kernels/plan/long.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/outer_pass.hpp"
#include "kernels/plan/registry.hpp"
#include "kernels/plan/rescaled.hpp"

namespace danaus {
namespace {

// Outer passes and what is between them, channels by channels, or where one is too much rows by rows.
class LongConvolution final : public Step {
 public:
  LongConvolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                  const SpectrumPlace& place, const LongVariant& variant, std::span<const int> rows,
                  const Device& device)
      : problem_(problem),
        arrays_(arrays),
        place_(place),
        variant_(variant),
        numbers_((rows.empty() ? variant.outer_rows() : std::ssize(rows)) * variant.inner().size),
        there_(variant.outer_pass(false, asked.token() + ", outer pass, " + variant.name, rows)),
        inner_(variant.inner(), asked.token() + ", between outer passes, " + variant.inner().name),
        back_(variant.outer_pass(true, asked.token() + ", outer pass back, " + variant.name, rows)),
        rescaled_(variant, rows, asked.token() + ", rows out of range of " + variant.name),
        outer_words_(there_.constants().size()),
        rescaled_words_(rescaled_.constants().size()) {
    const std::int64_t items = variant.items_of_channel(problem.batch);
    const std::int64_t at_once = std::max<std::int64_t>(chunk_bytes(device, problem) / (2 * plane_bytes(numbers_)), 1);
    channels_ = std::clamp<std::int64_t>(at_once / items, 1, problem.channels);
    rows_ = std::min(at_once * variant.item_rows(), problem.batch);
  }

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = there_.constants();  // which are those of the pass back
    const std::vector<std::uint32_t> of_inner = variant_.inner().make_tables();
    words.insert(words.end(), of_inner.begin(), of_inner.end());
    words.resize(words.size() + words.size() % 2);
    words.insert(words.end(), {0, std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity())});
    const std::vector<std::uint32_t> of_rescaled = rescaled_.constants();
    words.insert(words.end(), of_rescaled.begin(), of_rescaled.end());
    return words;
  }
  void fit(const Machine& machine) override {
    there_.fit(machine), inner_.fit(machine), back_.fit(machine), rescaled_.fit(machine);
  }
  // Planes, and once these have been read points of single items; then energies.
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return room(batch) + rescaled_.energy_bytes(problem_.channels, batch);
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const auto of_outer = constants.first(outer_words_), of_rescaled = constants.last(rescaled_words_);
    const auto of_inner = constants.subspan(outer_words_, constants.size() - outer_words_ - rescaled_words_);
    auto* const energies = rescaled_.exist()
                               ? reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + room(call.batch))
                               : nullptr;
    const int items = rescaled_.items_of_channel(call.batch);
    for (std::int64_t first = 0; first < problem_.channels; first += channels_)
      for (std::int64_t row = 0; row < call.batch; row += rows_) {
        const std::int64_t count = std::min(channels_, problem_.channels - first);
        const std::int64_t batch = std::min(rows_, call.batch - row);
        float* const of_items =
            energies ? energies + (first * items + row / variant_.item_rows()) * rescaled_.item_energies() : nullptr;
        // The pass back of bf16 leaves nothing there.
        const auto rows = [&](const char* name, int array, const char* gate, int gate_array,
                              float* of_pass) -> OuterPass::Rows {
          return {name,
                  rows_at(call, array, problem_).from(row, 0),
                  gate,
                  rows_at(call, gate_array, problem_).from(row, 0),
                  call.workspace,
                  batch,
                  problem_.channels,
                  problem_.length,
                  first,
                  count,
                  of_pass,
                  items};
        };
        to(there_.launch(rows("u", arrays_.u, "pregate", arrays_.pregate, of_items), machine, of_outer));
        to(inner_launch(call, machine, of_inner, batch, first, count));
        to(back_.launch(
            rows("y", arrays_.y, "postgate", arrays_.postgate, variant_.dtype == Dtype::f16 ? of_items : nullptr),
            machine, of_outer));
      }
    if (!energies) return;
    const ConvolutionArguments a = arguments_of_rows(call, problem_, arrays_, place_, constants);
    const RescaledItems::Rows rows{u_of(a), pregate_of(a), postgate_of(a), y_of(a), energies};
    rescaled_.launch(a, a.channels, {&rows, 1}, {}, call.workspace, room(call.batch), machine, of_rescaled, to);
  }

 private:
  std::int64_t room(std::int64_t batch) const {
    const std::int64_t planes = plane_rows(variant_.fold, std::min(batch, rows_)) * channels_ * plane_bytes(numbers_);
    return std::max(planes, rescaled_.least_bytes());
  }
  Launch inner_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                      std::int64_t batch, std::int64_t first, std::int64_t count) const {
    const std::int64_t rows = numbers_ / variant_.inner().size;
    ConvolutionArguments a{};
    a.u = a.y = call.workspace;
    a.spectrum = prepared_at(call, place_.spectrum) + first * numbers_;
    if (variant_.dtype == Dtype::bf16)  // of f16 the last launch alone reads them
      a.spectrum_factors = reinterpret_cast<float*>(prepared_at(call, place_.factors)) + first * rows;
    a.tables = constants.data();
    a.spectrum_ranges =
        reinterpret_cast<const float*>(constants.last(2).data());  // any: planes have no rows of their own
    a.batch = static_cast<int>(plane_rows(variant_.fold, batch)), a.channels = static_cast<int>(count * rows);
    a.length = variant_.inner().size;
    a.u_strides = a.y_strides = contiguous(a.channels, a.length);
    return inner_.launch(a, machine, 4 * count * numbers_, static_cast<std::int64_t>(constants.size_bytes()));
  }

  Convolution problem_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  const LongVariant& variant_;
  std::int64_t numbers_;  // of a channel between the passes
  OuterPass there_;
  FusedKernel inner_;
  OuterPass back_;
  RescaledItems rescaled_;
  std::size_t outer_words_, rescaled_words_;
  std::int64_t channels_ = 1, rows_ = 1;  // at a time: all rows of some channels, or some of one
};

}  // namespace

LongVariant::LongVariant(const Variant& fused, Fold of_fold, bool with_gates, std::size_t outer_line)
    : inner_(fused), outer_line_(outer_line) {
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

OuterPass LongVariant::outer_pass(bool back, std::string description, std::span<const int> rows) const {
  return {dtype, fold, outer_line_, back, inner_.size, std::move(description), rows};
}

std::vector<int> LongVariant::live_rows(std::span<const std::uint8_t> live) const {
  std::vector<bool> is_live(outer_rows());
  for (std::size_t k = 0; k < live.size(); ++k)
    if (live[k]) is_live[k % is_live.size()] = true;
  std::vector<int> rows;
  for (int row = 0; row < outer_rows(); ++row)
    if (is_live[row]) rows.push_back(row);
  return std::ssize(rows) == outer_rows() ? std::vector<int>{} : rows;
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

ClusterVariant::ClusterVariant(const Variant& chain, std::size_t outer_line, std::size_t of_line,
                               std::size_t of_instance, const Instance<cluster::Family>& made)
    : LongVariant(chain, made.key.fold, false, outer_line), layout_(made.key, made.tuning) {
  family = cluster::Family::name, line = of_line, instance = of_instance;
  preferred = made.worth == kChosen, classes = made.classes, compiled = made.compiled;
  threads = layout_.threads, shared_bytes = layout_.shared_bytes, blocks_per_sm = made.tuning.blocks;
  name = text("cluster_", layout_.lines, 'x', layout_.columns, '_', danaus::name(dtype), '_', danaus::name(fold), "_c",
              layout_.shares, "_w", made.tuning.warps, "_ring", made.tuning.ring, "_x", blocks_per_sm);
}

std::vector<std::uint32_t> ClusterVariant::make_tables() const {
  std::vector<std::uint32_t> words = cluster::make_tables(layout_);
  const std::vector<std::uint32_t> of_chain = inner().make_tables();
  words.insert(words.end(), of_chain.begin(), of_chain.end());
  return words;
}

// Twiddles that are products of two are rounded twice more: of step A two, each way, and the chain's.
int ClusterVariant::roundings() const { return LongVariant::roundings() + 2 * 3 * 2; }

Share ClusterVariant::share(const Load& load) const {
  const std::int64_t items = load.items_of_channel * load.channels;
  return {std::min(load.concurrent, items) * layout_.shares, 1, {static_cast<int>(load.items_of_channel), 0}};
}

namespace {

void append_clusters(std::vector<std::unique_ptr<LongVariant>>& all) {
  for (std::size_t line = 0; line < cluster::kLines.size(); ++line) {
    const Instances<cluster::Family> made = cluster::Family::instances(line);
    for (int i = 0; i < made.count; ++i) {
      const cluster::Key& key = made.list[i].key;
      const auto chain = std::ranges::find_if(variants(), [&](const auto& v) {
        return v->family == "chain" && v->size == key.columns && v->dtype == key.dtype && v->fold == Fold::pair &&
               !v->gated;
      });
      const auto outer = std::ranges::find(outer::kLines, key.radix, &outer::Line::radix);
      all.push_back(std::make_unique<ClusterVariant>(**chain, outer - outer::kLines.begin(), line, i, made.list[i]));
    }
  }
}

// Rows of outer passes that take least, or the fewest where those do not make the size. On an H200 (fp16, B=64,
// N H = 12M) in us by 64, 128 and 256, of 256K where no cluster takes rows:
//   N           256K             512K             768K             1M               1.5M             2M
//   circular    2624 2588        2702 2606 2769   2935 2695 2940   2746 2705 2759   3161 2803 2963   3015 2755 2825
//   causal      4425 4547        4571 4612 4551   5148 5187 5024   4731 4834 4605   5551 5388 5078   5097 4887 4612
//   N           3M               4M
//   circular         3212 3198        2954 2905
//   causal           5999 5465        5341 4792
constexpr int rows_of(int size, Fold fold) {
  if (fold == Fold::pair) return size < 512 << 10 ? 64 : size < 3 << 20 ? 128 : 256;
  return size < 768 << 10 ? 64 : 256;
}

}  // namespace

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
    std::erase_if(all, [](const auto& v) { return v->classes == 0; });  // no device has room for both
    std::ranges::stable_sort(all, {}, [](const auto& v) {
      return std::tuple(v->size, v->outer_rows() != rows_of(v->size, v->fold), v->outer_rows());
    });
    append_clusters(all);
    std::ranges::stable_sort(all, {}, [](const auto& v) { return v->size; });
    // Clusters that are chosen are preferred, else the first that is not of clusters.
    std::set<std::tuple<int, Dtype, Fold, bool>> known;
    const auto kind_of = [](const auto& v) { return std::tuple(v->size, v->dtype, v->fold, v->gated); };
    for (const auto& v : all)
      if (v->preferred) known.insert(kind_of(v));
    for (const auto& v : all)
      if (v->family == outer::Family::name) v->preferred = known.insert(kind_of(v)).second;
    return std::vector<std::unique_ptr<const LongVariant>>(std::move_iterator(all.begin()),
                                                           std::move_iterator(all.end()));
  }();
  return kVariants;
}

std::unique_ptr<Step> make_long_convolution(const Case& asked, const Convolution& problem,
                                            const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                            const LongVariant& variant, std::span<const int> rows,
                                            const Device& device) {
  return std::make_unique<LongConvolution>(asked, problem, arrays, place, variant, rows, device);
}

}  // namespace danaus

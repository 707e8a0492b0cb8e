#include "kernels/plan/correlation.hpp"

#include <algorithm>

#include "kernels/families/chain_gradient/family.hpp"
#include "kernels/families/exchange_gradient/family.hpp"
#include "kernels/families/taps/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/named_kernel.hpp"
#include "kernels/plan/outer_pass.hpp"
#include "kernels/plan/rescaled.hpp"

namespace danaus {
namespace {

// N = N1 N2: the kernel of N2 points, and the line of the outer passes of N1 rows, if there are any.
struct Split {
  const Correlator* correlator = nullptr;
  bool pair = false;  // fold, of rows as they are given
  int line = -1;
  int outer_rows() const { return line < 0 ? 1 : 64 * outer::kLines[line].radix; }
  int size() const { return outer_rows() * correlator->size; }
};

// The smallest that holds the rows, with the fewest launches; by the pair fold where N is L.
Split split_of(const Convolution& p, bool gates, const Device& device) {
  const int device_class = device_class_of(device);
  std::int64_t longest = 0;  // rows that are not circular
  const Correlator* const named = named_correlator();
  const auto best_of = [&](bool pair) {
    Split best;
    const auto consider = [&](const Split& split) {
      if (!pair) longest = std::max<std::int64_t>(longest, split.size());
      if (pair ? split.size() != p.length : split.size() < p.length) return;
      const auto rank = [](const Split& s) { return std::pair(s.size(), s.outer_rows()); };
      if (!best.correlator || rank(split) < rank(best)) best = split;
    };
    for (const auto& c : correlators()) {
      if (c->all || c->dtype != p.dtype || !c->suits(device_class) || (named && c.get() != named)) continue;
      if (c->pair == pair && (c->gated || !gates)) consider({c.get(), pair});
      if (!c->pair || c->shares > 1) continue;  // between outer passes rows are complex
      for (int line = 0; line < static_cast<int>(outer::kLines.size()); ++line) {
        const outer::Layout layout({p.dtype, pair ? Fold::pair : Fold::right_angle, outer::kLines[line].radix, false},
                                   outer::kLines[line].tuning);
        if (kDeviceClasses[device_class].fits(layout.shared_bytes, 1)) consider({c.get(), pair, line});
      }
    }
    return best;
  };
  if (p.mode == Mode::circular && p.batch > 1)
    if (const Split pair = best_of(true); pair.correlator) return pair;
  const Split split = best_of(false);
  if (!split.correlator && named)
    fail("plan: the kernel ", named->name, " does not make dk of ", token(p), ": other type, gates, N or device");
  if (!split.correlator)
    fail("plan: L=", p.length, ", kernels for gradients of filters have room for ", longest, " samples on ",
         device.name);
  return split;
}

// Of a kernel that makes all gradients: where it writes them, and reads the filter's spectrum.
struct OfRows {
  RowGradients arrays{-1, -1, -1};
  SpectrumPlace place{-1, -1};
};

class Correlation final : public Step {
 public:
  Correlation(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays, const Split& split,
              const OfRows& of_rows, const Device& device)
      : problem_(problem),
        arrays_(arrays),
        split_(split),
        of_rows_(of_rows),
        rescaled_(problem, *split.correlator, fold(), split.size(), units_of(split),
                  "rows out of range of " + asked.token() + ", " + split.correlator->name),
        description_("dk of " + asked.token() + ", " + split.correlator->name) {
    if (split.line >= 0) {
      there_.emplace(problem.dtype, fold(), split.line, false, split.correlator->size, description_);
      words_.push_back(there_->constants());
    } else {
      words_.emplace_back();
    }
    words_.emplace_back();
    if (there_) {
      columns_ = spectrum::split_of_columns(split.outer_rows());
      words_.back() = spectrum::roots_of(split.outer_rows());
    }
    rows_ = spectrum::split_of(false, split.correlator->size, device.block_bytes);
    if (rows_.parts > 2) throw std::logic_error("plan: sums have no room in two transforms");
    words_.push_back(split.correlator->make_tables());
    words_.push_back(taps::make_table(split.correlator->spectrum_slots(), rows_.parts));
    const std::int64_t all = problem.channels, limit = chunk_bytes(device);
    channels_ =
        split.line < 0 ? all : std::clamp<std::int64_t>(limit / (2 * bytes_of_planes(problem.batch, 1)), 1, all);
  }

  std::string_view name() const override { return split_.correlator->all ? "gradients" : "filter's gradient"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> all;
    for (const auto& words : words_) all.insert(all.end(), words.begin(), words.end());
    const std::vector<std::uint32_t> of_rescaled = rescaled_.constants();
    all.insert(all.end(), of_rescaled.begin(), of_rescaled.end());
    return all;
  }
  void fit(const Machine& machine) override {
    if (there_) there_->fit(machine);
    if (there_) fit_taps(columns_, machine);
    fit_taps(rows_, machine);
    rescaled_.fit(machine);
    const Correlator& c = *split_.correlator;
    std::int64_t blocks = machine.concurrent_blocks(kernel(), Path::threads, c.threads, c.shared_bytes);
    if (machine.device().has_tensor_copies())
      blocks = std::min(blocks, machine.concurrent_blocks(kernel(), Path::tensor, c.threads, c.shared_bytes));
    const std::int64_t workers = blocks * c.warps_of_block / c.shares;
    // A part a worker, as far as there are items: of the case's batch, whatever a call's, so that sums keep their
    // order.
    const std::int64_t rows = channels_ * split_.outer_rows();
    parts_ = std::clamp<std::int64_t>((workers + rows - 1) / rows, 1, items(problem_.batch));
  }
  // Planes, sums and rows, and once these have been read points of single channels; then energies of u and dy.
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return room(batch) + 2 * rescaled_.energy_bytes(channels_, batch);
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    std::span<const std::uint32_t> words[4];
    std::size_t begin = 0;
    for (int i = 0; i < 4; ++i) words[i] = constants.subspan(begin, words_[i].size()), begin += words_[i].size();
    for (std::int64_t first = 0; first < problem_.channels; first += channels_) {
      const std::int64_t count = std::min(channels_, problem_.channels - first);
      auto* workspace = static_cast<std::byte*>(call.workspace);
      const auto take = [&](std::int64_t bytes) { return std::exchange(workspace, workspace + bytes); };
      void* const planes[2] = {there_ ? take(bytes_of_planes(call.batch, count)) : nullptr,
                               there_ ? take(bytes_of_planes(call.batch, count)) : nullptr};
      auto* sums = reinterpret_cast<float*>(take(sum_bytes(count)));
      auto* rows = there_ ? reinterpret_cast<float*>(workspace) : nullptr;
      float* const energies = rescaled_.exist() ? energies_at(call) : nullptr;
      if (there_) {
        const Convolution& p = problem_;
        const auto pass = [&](const char* name, int array, const char* gate, int gate_array, void* to_planes,
                              float* of_pass) {
          to(there_->launch({name, rows_at(call, array, p), gate, rows_at(call, gate_array, p), to_planes, call.batch,
                             p.channels, p.length, first, count, of_pass, rescaled_.items_of_channel(call.batch)},
                            machine, words[0]));
        };
        pass("u", arrays_.u, "pregate", arrays_.pregate, planes[0], energies);
        pass("dy", arrays_.dy, "postgate", arrays_.postgate, planes[1],
             energies ? energies + energies_of_array(call, count) : nullptr);
      }
      to(sums_launch(call, machine, words[2], planes, sums, count));
      to(rows_launch(call, machine, words[3], sums, rows, first, count, false));
      if (!rows && wraps() && rows_.parts > 1) to(rows_launch(call, machine, words[3], sums, rows, first, count, true));
      if (rows) to(columns_launch(call, machine, words[1], rows, first, count, false));
      if (rows && wraps()) to(columns_launch(call, machine, words[1], rows, first, count, true));
      if (energies) launch_rescaled(call, machine, constants.subspan(begin), energies, first, count, to);
    }
  }

 private:
  Fold fold() const { return split_.pair ? Fold::pair : Fold::right_angle; }
  // Of an item, that have energies of their own.
  static int units_of(const Split& split) {
    return split.line >= 0 ? split.correlator->size / 8 : split.correlator->units();
  }
  std::int64_t room(std::int64_t batch) const {
    const std::int64_t planes = there_ ? 2 * bytes_of_planes(batch, channels_) : 0;
    const std::int64_t used = planes + sum_bytes(channels_) + (there_ ? row_bytes(channels_) : 0);
    return std::max(used, rescaled_.least_bytes());
  }
  float* energies_at(const Call& call) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + room(call.batch));
  }
  // Numbers of u, which those of dy follow.
  std::int64_t energies_of_array(const Call& call, std::int64_t channels) const {
    return rescaled_.energy_bytes(channels, call.batch) / 4;
  }
  bool wraps() const { return problem_.mode == Mode::circular && !split_.pair; }
  KernelId kernel() const { return {split_.correlator->family, split_.correlator->line, split_.correlator->instance}; }
  std::int64_t bytes_of_planes(std::int64_t batch, std::int64_t channels) const {
    return plane_rows(fold(), batch) * channels * plane_bytes(split_.size());
  }
  std::int64_t row_bytes(std::int64_t channels) const { return 8 * channels * split_.size(); }
  std::int64_t sum_bytes(std::int64_t channels) const { return parts_ * row_bytes(channels); }
  // Of the correlator, of each of its channels.
  std::int64_t items(std::int64_t batch) const {
    const int rows = split_.correlator->item_rows();
    return ((there_ ? plane_rows(fold(), batch) : batch) + rows - 1) / rows;
  }

  static void fit_taps(const spectrum::Split& split, const Machine& machine) {
    const taps::Layout layout = split.layout();
    machine.concurrent_blocks({taps::Family::name, split.line, 0}, Path::threads, layout.threads, layout.shared_bytes);
  }
  Launch launch_of(const Machine& machine, const KernelId& id, std::int64_t blocks, int threads,
                   int shared_bytes) const {
    return make_launch(machine, description_, id, Path::threads, blocks, threads, shared_bytes);
  }

  Launch sums_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                     void* const (&planes)[2], float* sums, std::int64_t count) const {
    const Correlator& c = *split_.correlator;
    CorrelationArguments a{};
    ConvolutionArguments& rows = a.rows;
    const auto array = [&](int number) { return rows_at(call, number, problem_); };
    const RowStrides of_planes = contiguous(count * split_.outer_rows(), c.size);
    const RowArray u = there_ ? RowArray{planes[0], of_planes} : array(arrays_.u);
    const RowArray dy = there_ ? RowArray{planes[1], of_planes} : array(arrays_.dy);
    const RowArray pregate = there_ ? RowArray() : array(arrays_.pregate);
    const RowArray postgate = there_ ? RowArray() : array(arrays_.postgate);
    RowArray du, dpregate, dpostgate;
    if (c.all) {
      const RowGradients& to = of_rows_.arrays;
      du = array(to.du), dpregate = array(to.dpregate), dpostgate = array(to.dpostgate);
    }
    give_rows(rows, u, pregate, postgate, du);
    a.dy = dy.data, a.dy_strides = dy.strides;
    a.dpregate = dpregate.data, a.dpregate_strides = dpregate.strides;
    a.dpostgate = dpostgate.data, a.dpostgate_strides = dpostgate.strides;
    rows.tables = constants.data();
    rows.batch = static_cast<int>(there_ ? plane_rows(fold(), call.batch) : call.batch);
    rows.channels = static_cast<int>(count * split_.outer_rows());
    rows.length = static_cast<int>(there_ ? c.size : problem_.length);
    rows.division.items_of_channel = static_cast<int>(items(call.batch));
    if (c.all) {
      rows.spectrum = prepared_at(call, of_rows_.place.spectrum);
      rows.spectrum_factors = reinterpret_cast<const float*>(prepared_at(call, of_rows_.place.factors));
    }
    const bool aligned = rows.length % 8 == 0 && are_aligned({u, dy, pregate, postgate, du, dpregate, dpostgate});
    rows.transfer = aligned ? Transfer::vector : Transfer::element;
    const bool whole_lines = rows.length % c.rows().line_step == 0;
    if (aligned && has_maps(machine.device(), {u, dy, pregate, postgate}) && whole_lines) {
      rows.transfer = Transfer::tensor;
      const auto make = [&](TensorMap& map, const RowArray& of) {
        if (of.data)
          map = machine.make_tensor_map(tensor_shape(c.rows(), rows.batch, rows.channels, rows.length, of.strides),
                                        of.data);
      };
      make(rows.u_map, u), make(rows.y_map, dy), make(rows.pregate_map, pregate), make(rows.postgate_map, postgate);
    }
    a.sums = sums, a.parts = static_cast<int>(parts_);
    if (rescaled_.exist() && !there_) a.energies = energies_at(call);
    const std::int64_t workers = parts_ * rows.channels;
    Launch launch = make_launch(machine, description_, kernel(), path_of(rows.transfer),
                                ratio_up(workers, c.warps_of_block) * c.shares, c.threads, c.shared_bytes);
    launch.cluster = c.shares;
    const auto touches = [&](const char* what, const RowArray& of, bool written) {
      if (of.data)
        launch.touches({what, of.data, reach_of(of.strides, rows.batch, rows.channels, rows.length), written, false});
    };
    touches(there_ ? "planes of u" : "u", u, false), touches(there_ ? "planes of dy" : "dy", dy, false);
    touches("pregate", pregate, false), touches("postgate", postgate, false);
    touches("du", du, true), touches("dpregate", dpregate, true), touches("dpostgate", dpostgate, true);
    if (c.all) launch.touches({"spectrum", rows.spectrum, 4 * count * c.size, false, false});
    if (rows.spectrum_factors) launch.touches({"factors", rows.spectrum_factors, 4 * count, false, false});
    launch.touches({"sums", sums, sum_bytes(count), true, false});
    if (a.energies)
      launch.touches({"energies", a.energies, 2 * rescaled_.energy_bytes(count, call.batch), true, false});
    launch.touches({"tables", rows.tables, static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    return launch;
  }

  void launch_rescaled(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                       const float* energies, std::int64_t first, std::int64_t count, const LaunchTo& to) const {
    const auto array = [&](int number) { return rows_at(call, number, problem_).from(0, first); };
    ConvolutionArguments a{};
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(problem_.channels);
    a.length = static_cast<int>(problem_.length);
    const float* const of_dy = energies + energies_of_array(call, count);
    const RowArray u = array(arrays_.u), w = array(arrays_.pregate), dy = array(arrays_.dy),
                   v = array(arrays_.postgate);
    std::vector<RescaledItems::Rows> rows;
    if (split_.correlator->all) {
      a.spectrum = prepared_at(call, of_rows_.place.spectrum);
      give_factors(call, of_rows_.place, 0, a);
      const RowGradients& to = of_rows_.arrays;
      rows.push_back({dy, v, w, array(to.du), of_dy, true});
      if (w.data) rows.push_back({dy, v, u, array(to.dpregate), of_dy, true});
      if (v.data) rows.push_back({u, w, dy, array(to.dpostgate), energies, false});
    }
    auto* const dk = static_cast<float*>(at(call, arrays_.dk)) + first * problem_.filter_length;
    rescaled_.launch(a, static_cast<int>(count), rows,
                     RescaledItems::Taps{{u, w, {}, {}, energies}, {dy, v, {}, {}, of_dy}, dk}, call.workspace,
                     room(call.batch), machine, constants, to);
  }

  taps::Arguments taps_arguments(const Call& call, float* rows, std::int64_t first, std::int64_t count) const {
    taps::Arguments a{};
    a.rows = rows, a.dk = static_cast<float*>(at(call, arrays_.dk)) + first * problem_.filter_length;
    a.filter_length = problem_.filter_length;
    a.channels = static_cast<int>(count), a.period = static_cast<int>(problem_.length);
    a.size = split_.size(), a.outer_rows = split_.outer_rows();
    a.parts = static_cast<int>(parts_), a.phases = rows_.parts;
    a.circular = problem_.mode == Mode::circular, a.right_angle = !split_.pair;
    return a;
  }
  Region dk_region(const taps::Arguments& a) const {
    return {"dk", a.dk, std::int64_t{4} * a.channels * problem_.filter_length, true, false};
  }

  Launch rows_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                     const float* sums, float* rows, std::int64_t first, std::int64_t count, bool wraps) const {
    const Correlator& c = *split_.correlator;
    taps::Arguments a = taps_arguments(call, rows, first, count);
    a.sums = sums, a.entries = constants.data(), a.roots = constants.data() + c.size;
    a.wraps = wraps;
    double scale = c.spectrum_scale();
    if (there_) scale /= split_.outer_rows() * there_->layout().scale * there_->layout().scale;
    a.scale = static_cast<float>(scale);
    const taps::Layout layout = rows_.layout();
    const std::int64_t of_block = layout.tuning.transforms, all = count * split_.outer_rows() * rows_.parts;
    Launch launch = launch_of(machine, {taps::Family::name, rows_.line, 0}, (all + of_block - 1) / of_block,
                              layout.threads, layout.shared_bytes);
    launch.touches({"sums", sums, sum_bytes(count), false, false});
    launch.touches({"table", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.touches(rows ? Region{"rows", rows, row_bytes(count), true, false} : dk_region(a));
    launch.give(a);
    return launch;
  }
  Launch columns_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants, float* rows,
                        std::int64_t first, std::int64_t count, bool wraps) const {
    taps::Arguments a = taps_arguments(call, rows, first, count);
    a.roots = constants.data(), a.wraps = wraps;
    const taps::Layout layout = columns_.layout();
    Launch launch =
        launch_of(machine, {taps::Family::name, columns_.line, 0},
                  count * (split_.correlator->size / layout.tuning.transforms), layout.threads, layout.shared_bytes);
    launch.touches({"rows", rows, row_bytes(count), false, false});
    launch.touches({"table", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.touches(dk_region(a));
    launch.give(a);
    return launch;
  }

  Convolution problem_;
  CorrelationArrays arrays_;
  Split split_;
  OfRows of_rows_;
  RescaledItems rescaled_;
  std::string description_;
  std::optional<OuterPass> there_;
  spectrum::Split columns_{}, rows_{};             // the inverse transforms
  std::vector<std::vector<std::uint32_t>> words_;  // constants: of the outer pass, columns, correlator, rows
  std::int64_t channels_ = 1, parts_ = 1;          // at a time; of each channel
};

}  // namespace

std::span<const std::unique_ptr<const Correlator>> correlators() {
  static const std::vector<std::unique_ptr<const Correlator>> kAll = [] {
    std::vector<std::unique_ptr<const Correlator>> all = chain_gradient::correlators();
    std::ranges::move(exchange_gradient::correlators(), std::back_inserter(all));
    return all;
  }();
  return kAll;
}

std::unique_ptr<Step> make_correlation(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays,
                                       const Device& device) {
  const bool gates = arrays.pregate >= 0 || arrays.postgate >= 0;
  return std::make_unique<Correlation>(asked, problem, arrays, split_of(problem, gates, device), OfRows{}, device);
}

const Correlator* kernel_of_all_gradients(const Convolution& p, const Variant& variant, const Device& device) {
  // Samples that do not come in vectors of eight are too slow by threads.
  if (takes_several_launches(variant) || variant.size == 0 || !p.factors.empty() || p.length % 8 != 0) return nullptr;
  // Without gates it saves 2 of 8 bytes a sample and costs registers: fp16 on an H200 took 0.80 to 1.01 of the time of
  // both apart at 256 and 512 points, 1.02 to 1.18 from 768 on.
  constexpr int kMostWithoutGates = 512;
  const Correlator* const named = named_correlator();
  if (!named && !p.pregate && !p.postgate && variant.size > kMostWithoutGates) return nullptr;
  const int device_class = device_class_of(device);
  for (const auto& c : correlators())
    if (c->all && (!named || c.get() == named) && c->dtype == p.dtype && c->size == variant.size &&
        c->suits(device_class) && (c->pair ? Fold::pair : Fold::right_angle) == variant.fold)
      return c.get();
  return nullptr;
}

std::unique_ptr<Step> make_all_gradients(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays,
                                         const RowGradients& rows, const SpectrumPlace& place, const Correlator& kernel,
                                         const Device& device) {
  return std::make_unique<Correlation>(asked, problem, arrays, Split{&kernel, kernel.pair}, OfRows{rows, place},
                                       device);
}

RoundingsOfGradients roundings_of_gradients(const Convolution& p, const Variant& variant, const Device& device) {
  if (const Correlator* all = kernel_of_all_gradients(p, variant, device)) return {all->roundings(), all->roundings()};
  const Split split = split_of(p, p.pregate || p.postgate, device);
  int of_sums = split.correlator->roundings();
  if (split.line >= 0) {
    const outer::Line& line = outer::kLines[split.line];
    of_sums +=
        2 * outer::roundings_of_pass(outer::Layout({p.dtype, Fold::right_angle, line.radix, false}, line.tuning));
  }
  return {variant.roundings(), of_sums};
}

}  // namespace danaus

#include "kernels/plan/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/families/mix/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/tile/table.hpp"

namespace danaus {
namespace {

using mix::Product;
using mix::Stage;

constexpr int kLeastLength = 16, kMostLength = 1024, kMostChannels = 256;
constexpr int kMostColumns = 8;  // items of the batch that one product with weights of a frequency takes
constexpr int kManyItems = 0x7fffffff;

// A layer's kernel as those see it that ask a plan for its variant. It computes no convolution.
class LayerVariant final : public Variant {
 public:
  LayerVariant(const mix::Choice& choice, int bytes, std::size_t axes) : axes_(axes) {
    const mix::Layout layout = choice.layout();
    family = mix::Family::name, line = choice.line, instance = choice.instance;
    dtype = layout.key.dtype, fold = Fold::plain, gated = false, size = 0;
    preferred = compiled = true, classes = 0b111;
    threads = layout.threads, shared_bytes = bytes, blocks_per_sm = layout.tuning.blocks;
    name = choice.name();
  }
  bool takes(const Convolution&) const override { return false; }
  std::vector<std::uint32_t> make_tables() const override { refuse(); }
  std::vector<std::int32_t> spectrum_slots() const override { refuse(); }
  double spectrum_scale() const override { refuse(); }
  int roundings() const override { return mix::roundings(axes_); }
  const RowLayout& rows() const override { refuse(); }
  Share share(const Load&) const override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw std::logic_error(text(name, " is no kernel of a convolution")); }
  std::size_t axes_;
};

std::int64_t matrices_of(const Spectral& p) { return p.shared ? 1 : kept_count(p); }
Product product_of(const Spectral& p) { return p.shared ? Product::shared : Product::each; }
int kept(const Spectral& p, std::size_t axis) { return static_cast<int>(kept_on_axis(p, axis).size()); }

void check(const Spectral& p) {
  validate(p);
  for (int length : p.lengths)
    if (length < kLeastLength || length > kMostLength)
      fail("spectral: no kernel for ", p.lengths.size() == 1 ? "X=" : "an axis of ", length, "; there are some from ",
           kLeastLength, " to ", kMostLength, ", the nearest for ", std::clamp(length, kLeastLength, kMostLength));
  for (std::int64_t channels : {p.inputs, p.outputs})
    if (channels > kMostChannels)
      fail("spectral: no kernel for ", channels, " channels; there are some up to ", kMostChannels);
  if (p.batch * std::max(p.inputs, p.outputs) > kManyItems)
    fail("spectral: no kernel for B*C = ", p.batch, "*", std::max(p.inputs, p.outputs), "; there are some below 2^31");
}

// The plan has seen that numbers are aligned.
void check_samples(const Spectral& p, const char* name, const void* data) {
  const std::int64_t size = 2 * bytes(p.dtype);
  if (p.complex && reinterpret_cast<std::uintptr_t>(data) % size != 0)
    fail("execute: ", name, " is not aligned to the ", size, " bytes of its complex samples");
}

// What a pass multiplies by: the layer's weights, or the matrix of the first of two axes.
enum class Factor { none, weights, axis_there, axis_back };

// What a launch does, whatever the batch of a call.
struct Shape {
  Stage stage;
  Factor factor;
  std::int64_t items;  // of a call, at most
  int inputs, outputs, frequencies;
  Product product(const Spectral& p) const {
    return factor == Factor::none ? Product::none : factor == Factor::weights ? product_of(p) : Product::shared;
  }
};

// How an item is shared out among blocks: into as few slices as shared memory and multiprocessors allow.
struct Cut {
  mix::Places places;
  int slices, slice;
};

std::optional<Cut> cut(const Shape& shape, const mix::Layout& layout, const Device& device) {
  const bool by_frequency = layout.key.slices_frequencies();
  const int grain = by_frequency && layout.halves ? 2 : 1;
  const int tiles = by_frequency ? layout.tiles_of(shape.frequencies) : (shape.outputs + 15) / 16;
  const auto made = [&](int slice, int columns) -> Cut {
    const int frequencies = by_frequency ? std::min(8 * slice, shape.frequencies) : shape.frequencies;
    const int outputs = by_frequency ? shape.outputs : std::min(16 * slice, shape.outputs);
    return {layout.places(shape.inputs, outputs, frequencies, columns), (tiles + slice - 1) / slice, slice};
  };
  const int most_columns =
      layout.key.product == Product::each ? static_cast<int>(std::min<std::int64_t>(shape.items, kMostColumns)) : 1;
  // With room for as many blocks on a multiprocessor as registers are limited for, or else for one.
  for (int blocks = shape.stage == Stage::layer ? 1 : layout.tuning.blocks; blocks > 0; --blocks)
    for (int columns = most_columns; columns > 0; --columns) {
      std::optional<Cut> best;
      for (int slice = tiles; slice > 0; slice = slice / 2 / grain * grain) {
        const Cut next = made(slice, columns);
        const bool fits = blocks * (next.places.bytes + kReservedBytes) <= device.block_bytes + kReservedBytes;
        if (fits) best = next;
        const std::int64_t count = (shape.items + columns - 1) / columns * next.slices;
        if (shape.stage == Stage::layer || (fits && count >= device.multiprocessors)) break;
      }
      if (best) return best;
    }
  return std::nullopt;
}

mix::Choice choose(const Spectral& p, const Shape& shape) {
  return mix::choose(p, shape.stage, shape.product(p), shape.items, std::max(shape.inputs, shape.outputs));
}

// A launch of the family, as far as it is known before a call.
class Pass {
 public:
  Pass(const Spectral& p, const Shape& shape, const Cut& cut)
      : problem_(p), shape_(shape), choice_(choose(p, shape)), layout_(choice_.layout()), cut_(cut) {
    const std::size_t last = p.lengths.size() - 1;
    if (layout_.key.from_samples() || layout_.key.to_samples()) {
      mix::Tables tables = mix::make_tables(layout_, p.lengths[last], kept_on_axis(p, last));
      words_ = std::move(tables.words), inverse_at_ = tables.inverse_at, scale_ = tables.scale;
    }
    matrix_at_ = std::ssize(words_);
    if (shape.factor != Factor::axis_there && shape.factor != Factor::axis_back) return;
    const int length = p.lengths[0];
    const std::vector<int> frequencies = kept_on_axis(p, 0);
    const bool there = shape.factor == Factor::axis_there;
    const auto matrix = mix::arrange(layout_, shape.outputs, shape.inputs, [&](int output, int input) {
      const int k = frequencies[there ? output : input], n = there ? input : output;
      return there ? mix::scale_of(length) * root(length, std::int64_t{k} * n) : root(length, -std::int64_t{k} * n);
    });
    words_.insert(words_.end(), matrix.begin(), matrix.end());
  }
  // Where shared memory has no room for a slice there is none.
  static std::optional<Pass> make(const Spectral& p, const Shape& shape, const Device& device) {
    const auto made = cut(shape, choose(p, shape).layout(), device);
    if (!made) return std::nullopt;
    return Pass(p, shape, *made);
  }

  const mix::Choice& choice() const { return choice_; }
  const mix::Layout& layout() const { return layout_; }
  int shared_bytes() const { return cut_.places.bytes; }
  const std::vector<std::uint32_t>& words() const { return words_; }
  void fit(const Machine& machine) const {
    // A device keeps one limit for a kernel: that of a plan for fewer channels is not to undercut another plan's.
    machine.concurrent_blocks(id(), Path::threads, layout_.threads, machine.device().block_bytes);
  }

  // Of arrays, rows and items in `a`. Weights are the case's, unless the pass has its own.
  Launch launch(const Machine& machine, const std::string& description, mix::Arguments a,
                std::span<const std::uint32_t> constants, std::initializer_list<Region> regions) const {
    a.forward = constants.data(), a.inverse = constants.data() + inverse_at_;
    if (shape_.factor == Factor::axis_there || shape_.factor == Factor::axis_back)
      a.weights = constants.data() + matrix_at_;
    a.inputs = shape_.inputs, a.outputs = shape_.outputs, a.frequencies = shape_.frequencies;
    a.length = problem_.lengths.back();
    a.table_tiles = layout_.tiles_of(kept(problem_, problem_.lengths.size() - 1));
    a.matrices = static_cast<int>(matrices_of(problem_));
    a.slices = cut_.slices, a.slice = cut_.slice;
    const auto is_aligned = [&](const void* data) {
      return reinterpret_cast<std::uintptr_t>(data) % (4 * layout_.words) == 0;
    };
    a.aligned = a.length % (2 * layout_.lane_points) == 0 && is_aligned(a.u) && is_aligned(a.y);
    a.scale = static_cast<float>(scale_);
    if (problem_.lengths.size() == 2) {
      const int length = problem_.lengths[0];
      a.scale = static_cast<float>(scale_ / (mix::scale_of(length) * length));
    }
    a.places = cut_.places;
    Launch launch;
    launch.description = description;
    launch.kernel = id(), launch.path = Path::threads;
    launch.blocks = (std::int64_t{a.batch} + cut_.places.columns - 1) / cut_.places.columns * cut_.slices;
    launch.threads = layout_.threads, launch.shared_bytes = cut_.places.bytes;
    launch.overlapping = machine.device().sm >= 90;
    for (const Region& region : regions) launch.touches(region);
    if (!constants.empty())
      launch.touches({"tables", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    return launch;
  }

 private:
  KernelId id() const { return {mix::Family::name, choice_.line, choice_.instance}; }

  Spectral problem_;
  Shape shape_;
  mix::Choice choice_;
  mix::Layout layout_;
  Cut cut_;
  std::vector<std::uint32_t> words_;
  std::int64_t inverse_at_ = 0, matrix_at_ = 0;
  double scale_ = 1;
};

Pass needed(const Spectral& p, const Shape& shape, const Device& device) {
  if (auto pass = Pass::make(p, shape, device)) return *std::move(pass);
  fail("spectral: no kernel for ", join(p.modes, "x"), " modes of ", p.inputs, " and ", p.outputs,
       " channels has room in the ", device.block_bytes, " bytes of shared memory of a block");
}

std::int64_t weight_bytes(const Spectral& p, const mix::Layout& layout) {
  return std::int64_t{1024} * matrices_of(p) * ((p.outputs + 15) / 16) * ((p.inputs + 15) / 16) * layout.steps_of_tile;
}

constexpr int kU = 0, kW = 1, kY = 2;  // places among a layer's arrays

class Arrangement final : public Step {
 public:
  Arrangement(const Spectral& problem, std::string description)
      : problem_(problem),
        choice_(mix::choose(problem, Stage::arrange, Product::none, 1, 1)),
        bytes_(weight_bytes(problem, choice_.layout())),
        description_(std::move(description)) {}

  std::int64_t bytes() const { return bytes_; }  // of what it prepares

  std::string_view name() const override { return "weights"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(id(), Path::threads, choice_.layout().threads, 0);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const mix::Layout layout = choice_.layout();
    mix::Arguments a{};
    a.inputs = static_cast<int>(problem_.inputs), a.outputs = static_cast<int>(problem_.outputs);
    a.matrices = static_cast<int>(matrices_of(problem_)), a.adjoint = problem_.adjoint;
    a.places = layout.places(a.inputs, a.outputs, 1, 1);
    a.w = static_cast<const float*>(call.arrays[kW]);
    a.arranged = static_cast<std::uint32_t*>(call.prepared);
    const std::int64_t of_block = std::int64_t{16} * layout.threads;
    Launch launch;
    launch.description = description_;
    launch.kernel = id(), launch.path = Path::threads, launch.threads = layout.threads;
    launch.blocks = std::clamp<std::int64_t>((bytes_ + of_block - 1) / of_block, 1, blocks_);
    launch.overlapping = machine.device().sm >= 90;
    launch.touches({"w", a.w, 8 * problem_.inputs * problem_.outputs * a.matrices, false, false});
    launch.touches({"weights", a.arranged, bytes_, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  KernelId id() const { return {mix::Family::name, choice_.line, choice_.instance}; }
  Spectral problem_;
  mix::Choice choice_;
  std::int64_t bytes_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

// Rows of a field of so many channels: of the whole of it by items and channels, or, of two axes, by planes of some
// items, whose rows along X are channels.
struct Field {
  const Spectral& p;
  std::int64_t channels, batch;
  std::int64_t plane() const { return points_of_row(p); }
  std::int64_t bytes() const { return danaus::bytes(p.dtype) * (p.complex ? 2 : 1) * plane() * channels * batch; }
  mix::Rows rows() const {
    return p.channel_major ? mix::Rows{0, plane(), plane() * batch} : mix::Rows{0, plane() * channels, plane()};
  }
  mix::Rows planes() const {
    const std::int64_t row = p.lengths.back();
    return p.channel_major ? mix::Rows{plane() * batch, plane(), row} : mix::Rows{0, plane(), row};
  }
  // In bytes, to an item.
  std::int64_t offset(std::int64_t item) const {
    return item * (p.channel_major ? 1 : channels) * plane() * danaus::bytes(p.dtype) * (p.complex ? 2 : 1);
  }
};

// Spectra of some items in a workspace: [items, channels, frequencies] or [channels, items, frequencies].
struct Workspace {
  const Spectral& p;
  std::int64_t channels;
  std::int64_t row() const { return (kept_count(p) + 1) / 2 * 2; }  // of a channel, in complex numbers
  static std::int64_t number_bytes(const Spectral& p) { return p.dtype == Dtype::f32 ? 8 : 4; }
  std::int64_t bytes(std::int64_t items) const {
    return (items * channels * row() * number_bytes(p) + 255) / 256 * 256;
  }
  mix::Spectra by_channels(void* data, std::int64_t items) const {
    return {static_cast<std::uint32_t*>(data), p.channel_major ? row() : channels * row(),
            p.channel_major ? items * row() : row(), true};
  }
  mix::Spectra by_planes(void* data) const {
    const int inner = kept(p, p.lengths.size() - 1);
    return {static_cast<std::uint32_t*>(data), row(), inner, inner % 2 == 0};
  }
};

int inner_items(const Spectral& p, std::int64_t items) {
  return p.channel_major && p.lengths.size() == 2 ? static_cast<int>(items) : kManyItems;
}

// Samples to spectra.
class There {
 public:
  There(const Spectral& p, std::int64_t channels, const Device& device)
      : problem_(p), channels_(channels), pass_(needed(p, shape_of(p, channels), device)) {}

  const Pass& pass() const { return pass_; }
  // Of `count` items from `first` on, of the `batch` of the call.
  Launch launch(const Machine& machine, const std::string& description, std::span<const std::uint32_t> constants,
                const char* name, const void* samples, void* spectra, std::int64_t batch, std::int64_t first,
                std::int64_t count) const {
    const Field field{problem_, channels_, batch};
    const Workspace workspace{problem_, channels_};
    const bool planes = problem_.lengths.size() == 2;
    check_samples(problem_, name, samples);
    mix::Arguments a{};
    a.u = static_cast<const std::byte*>(samples) + field.offset(first);
    a.u_rows = planes ? field.planes() : field.rows();
    a.inner = inner_items(problem_, count);
    a.to = planes ? workspace.by_planes(spectra) : workspace.by_channels(spectra, count);
    a.batch = static_cast<int>(planes ? count * channels_ : count);
    return pass_.launch(
        machine, description + ", there", a, constants,
        {{name, samples, field.bytes(), false, false}, {"spectra", spectra, workspace.bytes(count), true, false}});
  }

 private:
  static Shape shape_of(const Spectral& p, std::int64_t channels) {
    const int c = static_cast<int>(channels);
    if (p.lengths.size() == 1) return {Stage::there, Factor::none, p.batch, c, c, kept(p, 0)};
    return {Stage::there, Factor::axis_there, p.batch * channels, p.lengths[0], kept(p, 0), kept(p, 1)};
  }
  Spectral problem_;
  std::int64_t channels_;
  Pass pass_;
};

// A layer in one launch, or in passes: there, middle, back, of so many items at a time that what is between them fits
// the chunk. Back is two passes where shared memory has no room for both axes.
class Layer final : public Step {
 public:
  // `u` and `y` are numbers of arrays of the case that the step is of.
  Layer(const Case& asked, const Spectral& problem, int u, int y, const Device& device)
      : problem_(problem), u_(u), y_(y), chunk_(chunk_bytes(device)) {
    const Spectral& p = problem_;
    const int inputs = static_cast<int>(p.inputs), outputs = static_cast<int>(p.outputs);
    const int frequencies = static_cast<int>(kept_count(p));
    if (p.lengths.size() == 1 && mix::kPassesBelow * p.batch > device.multiprocessors)
      if (auto pass = Pass::make(p, {Stage::layer, Factor::weights, p.batch, inputs, outputs, frequencies}, device))
        fused_ = std::move(pass);
    if (!fused_) {
      there_.emplace(p, p.inputs, device);
      const auto add = [&](const Shape& shape) { passes_.push_back(needed(p, shape, device)); };
      add({Stage::middle, Factor::weights, p.batch, inputs, outputs, frequencies});
      if (p.lengths.size() == 1) {
        add({Stage::back, Factor::none, p.batch, outputs, outputs, frequencies});
      } else {
        const int length = p.lengths[0], of_x = kept(p, 0), of_y = kept(p, 1);
        const std::int64_t planes = p.batch * p.outputs;
        if (auto back = Pass::make(p, {Stage::back, Factor::axis_back, planes, of_x, length, of_y}, device)) {
          passes_.push_back(*std::move(back));
        } else {
          add({Stage::middle, Factor::axis_back, planes, of_x, length, of_y});
          add({Stage::back, Factor::none, planes, length, length, of_y});
        }
      }
    }
    const Pass& most = fused_ ? *fused_ : there_->pass();
    variant_.emplace(most.choice(), most.shared_bytes(), p.lengths.size());
    description_ = text(asked.token(), ", ", variant_->name);
  }

  const LayerVariant& variant() const { return *variant_; }
  const std::string& description() const { return description_; }

  std::string_view name() const override { return "spectral layer"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words;
    for_each_pass([&](const Pass& pass) { words.insert(words.end(), pass.words().begin(), pass.words().end()); });
    return words;
  }
  void fit(const Machine& machine) override {
    for_each_pass([&](const Pass& pass) { pass.fit(machine); });
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return fused_ ? 0 : bytes_of(items_at_once(batch_of(batch)));
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const std::int64_t batch = batch_of(call.batch);
    check_samples(problem_, "u", call.arrays[u_]), check_samples(problem_, "y", call.arrays[y_]);
    std::vector<std::span<const std::uint32_t>> words;
    for_each_pass([&](const Pass& pass) {
      words.push_back(constants.first(pass.words().size()));
      constants = constants.subspan(pass.words().size());
    });
    if (fused_) {
      to(fused_launch(call, machine, words[0], batch));
      return;
    }
    const std::int64_t at_once = items_at_once(batch);
    for (std::int64_t first = 0; first < batch; first += at_once)
      bind_items(call, machine, words, to, batch, first, std::min(at_once, batch - first));
  }

 private:
  template <class Visit>
  void for_each_pass(Visit visit) const {
    if (fused_) return visit(*fused_);
    visit(there_->pass());
    for (const Pass& pass : passes_) visit(pass);
  }
  // The batch of a channel-major field is not its first extent: a call has all of it.
  std::int64_t batch_of(std::int64_t of_call) const { return problem_.channel_major ? problem_.batch : of_call; }

  Workspace inputs() const { return {problem_, problem_.inputs}; }
  Workspace outputs() const { return {problem_, problem_.outputs}; }
  // Rows of planes [C_out, X, M_y], between the passes of both axes.
  std::int64_t plane_row() const { return (kept(problem_, 1) + 1) / 2 * 2; }
  std::int64_t plane_bytes(std::int64_t items) const {
    if (passes_.size() < 3) return 0;
    return items * problem_.outputs * problem_.lengths[0] * plane_row() * Workspace::number_bytes(problem_);
  }
  std::int64_t bytes_of(std::int64_t items) const {
    return inputs().bytes(items) + outputs().bytes(items) + plane_bytes(items);
  }
  std::int64_t items_at_once(std::int64_t batch) const {
    return std::clamp<std::int64_t>(chunk_ / bytes_of(1), 1, batch);
  }

  Region weights_region(const Call& call) const {
    return {"weights", call.prepared, weight_bytes(problem_, fused_ ? fused_->layout() : passes_[0].layout()), false,
            false};
  }

  Launch fused_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                      std::int64_t batch) const {
    const Field u{problem_, problem_.inputs, batch}, y{problem_, problem_.outputs, batch};
    mix::Arguments a{};
    a.u = call.arrays[u_], a.y = call.arrays[y_];
    a.u_rows = u.rows(), a.y_rows = y.rows(), a.inner = kManyItems;
    a.weights = static_cast<std::uint32_t*>(call.prepared);
    a.batch = static_cast<int>(batch);
    return fused_->launch(
        machine, description_, a, constants,
        {{"u", a.u, u.bytes(), false, false}, weights_region(call), {"y", a.y, y.bytes(), true, false}});
  }

  void bind_items(const Call& call, const Machine& machine, std::span<const std::span<const std::uint32_t>> words,
                  const LaunchTo& to, std::int64_t batch, std::int64_t first, std::int64_t count) const {
    const Spectral& p = problem_;
    auto* const u_spectra = static_cast<std::byte*>(call.workspace);
    auto* const y_spectra = u_spectra + inputs().bytes(count);
    to(there_->launch(machine, description_, words[0], "u", call.arrays[u_], u_spectra, batch, first, count));

    const Region of_u{"spectra of u", u_spectra, inputs().bytes(count), false, false};
    Region of_y{"spectra of y", y_spectra, outputs().bytes(count), true, false};
    mix::Arguments middle{};
    middle.from = inputs().by_channels(u_spectra, count), middle.to = outputs().by_channels(y_spectra, count);
    middle.weights = static_cast<std::uint32_t*>(call.prepared);
    middle.batch = static_cast<int>(count), middle.inner = kManyItems;
    to(passes_[0].launch(machine, description_ + ", middle", middle, words[1], {of_u, weights_region(call), of_y}));

    of_y.written = false;
    const bool planes = p.lengths.size() == 2;
    const Field y{p, p.outputs, batch};
    mix::Arguments back{};
    back.from = planes ? outputs().by_planes(y_spectra) : outputs().by_channels(y_spectra, count);
    back.batch = static_cast<int>(planes ? count * p.outputs : count), back.inner = inner_items(p, count);
    Region between = of_y;
    if (passes_.size() == 3) {
      auto* const rows = y_spectra + outputs().bytes(count);
      const mix::Spectra to_rows{reinterpret_cast<std::uint32_t*>(rows), p.lengths[0] * plane_row(), plane_row(), true};
      between = {"rows of spectra", rows, plane_bytes(count), true, false};
      mix::Arguments axis = back;
      axis.to = to_rows;
      to(passes_[1].launch(machine, description_ + ", back along X", axis, words[2], {of_y, between}));
      between.written = false;
      back.from = to_rows;
    }
    back.y = static_cast<std::byte*>(call.arrays[y_]) + y.offset(first);
    back.y_rows = planes ? y.planes() : y.rows();
    to(passes_.back().launch(machine, description_ + ", back", back, words.back(),
                             {between, {"y", call.arrays[y_], y.bytes(), true, false}}));
  }

  Spectral problem_;
  int u_, y_;
  std::int64_t chunk_;
  std::optional<Pass> fused_;
  std::optional<There> there_;
  std::vector<Pass> passes_;  // middle, back
  std::optional<LayerVariant> variant_;
  std::string description_;
};

}  // namespace

Program make_spectral_program(const Case& asked, const Device& device) {
  const Spectral& p = *asked.as<Spectral>();
  check(p);
  auto layer = std::make_unique<Layer>(asked, p, kU, kY, device);
  auto arrangement = std::make_unique<Arrangement>(p, "weights of " + layer->description());
  Program program;
  program.variant = &layer->variant();
  program.prepared_bytes = arrangement->bytes();
  program.prepare.push_back(std::move(arrangement));
  program.execute.push_back(std::move(layer));
  return program;
}

}  // namespace danaus

#include "kernels/plan/spectral.hpp"

#include <algorithm>
#include <optional>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/other_variant.hpp"
#include "kernels/plan/spectral_axes.hpp"
#include "kernels/plan/spectral_gradient.hpp"
#include "kernels/plan/spectral_passes.hpp"

namespace danaus {
namespace {

using layer::Product;
using layer::Stage;
using spectral::batch_of;
using spectral::Factor;
using spectral::Field;
using spectral::kept;
using spectral::kManyItems;
using spectral::LayerStep;
using spectral::make_pass;
using spectral::matrices_of;
using spectral::Pass;
using spectral::Shape;
using spectral::There;
using spectral::weight_bytes;
using spectral::Workspace;

constexpr int kLeastPoints = 16, kMostPoints = 1024, kMostChannels = 256;

void check(const Spectral& p) {
  validate(p);
  for (int length : p.lengths)
    if (length < kLeastPoints || length > kMostPoints)
      fail("spectral: no kernel for ", p.lengths.size() == 1 ? "X=" : "an axis of ", length, "; there are some from ",
           kLeastPoints, " to ", kMostPoints, ", the nearest for ", std::clamp(length, kLeastPoints, kMostPoints));
  for (std::int64_t channels : {p.inputs, p.outputs})
    if (channels > kMostChannels)
      fail("spectral: no kernel for ", channels, " channels; there are some up to ", kMostChannels);
  if (p.batch * std::max(p.inputs, p.outputs) > kManyItems)
    fail("spectral: no kernel for B*C = ", p.batch, "*", std::max(p.inputs, p.outputs), "; there are some below 2^31");
}

constexpr int kU = 0, kW = 1, kY = 2;     // places among a layer's arrays
constexpr int kDy = 2, kDu = 3, kDw = 4;  // places among those of gradients, which has u and w where a layer has

class Weights final : public Step {
 public:
  Weights(const Spectral& problem, std::string description)
      : problem_(problem),
        choice_(layer::choose(problem, Stage::arrange, Product::none, {1, 1, 1, 1})),
        bytes_(weight_bytes(problem, choice_.layout())),
        description_(std::move(description)) {}

  std::int64_t bytes() const { return bytes_; }  // of what it prepares

  std::string_view name() const override { return "weights"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(spectral::id_of(choice_), Path::threads, choice_.layout().threads, 0);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const layer::Layout layout = choice_.layout();
    layer::Arguments a{};
    a.inputs = static_cast<int>(problem_.inputs), a.outputs = static_cast<int>(problem_.outputs);
    a.matrices = static_cast<int>(matrices_of(problem_)), a.adjoint = problem_.adjoint;
    a.places = layout.places(a.inputs, a.outputs, 1, 1);
    a.w = static_cast<const float*>(call.arrays[kW]);
    a.arranged = static_cast<std::uint32_t*>(call.prepared);
    const std::int64_t of_block = std::int64_t{16} * layout.threads;
    Launch launch =
        make_launch(machine, description_, spectral::id_of(choice_), Path::threads,
                    std::clamp<std::int64_t>((bytes_ + of_block - 1) / of_block, 1, blocks_), layout.threads, 0);
    launch.touches({"w", a.w, 8 * problem_.inputs * problem_.outputs * a.matrices, false, false});
    launch.touches({"weights", a.arranged, bytes_, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  Spectral problem_;
  layer::Choice choice_;
  std::int64_t bytes_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

// A layer in one launch, or in passes: there, middle, back, of so many items at a time that what is between them fits
// the chunk. Back is two passes where shared memory has no room for both axes.
class Layer final : public LayerStep {
 public:
  // `u` and `y` are numbers of arrays of the case that the step is of.
  Layer(const Case& asked, const Spectral& problem, int u, int y, const Device& device)
      : problem_(problem), u_(u), y_(y), chunk_(chunk_bytes(device)) {
    const Spectral& p = problem_;
    const std::string token = asked.token();
    const int inputs = static_cast<int>(p.inputs), outputs = static_cast<int>(p.outputs);
    const int frequencies = static_cast<int>(kept_count(p));
    if (p.lengths.size() == 1)
      fused_ = Pass::make(p, {Stage::layer, Factor::weights, p.batch, inputs, outputs, frequencies}, device, token);
    if (!fused_) {
      there_.emplace(p, p.inputs, device, token);
      const auto add = [&](const Shape& shape) { passes_.push_back(make_pass(p, shape, device, token)); };
      add({Stage::middle, Factor::weights, p.batch, inputs, outputs, frequencies});
      if (p.lengths.size() == 1) {
        add({Stage::back, Factor::none, p.batch, outputs, outputs, frequencies});
      } else {
        const int length = p.lengths[0], of_x = kept(p, 0), of_y = kept(p, 1);
        const std::int64_t planes = p.batch * p.outputs;
        if (auto back = Pass::make(p, {Stage::back, Factor::axis_back, planes, of_x, length, of_y}, device, token)) {
          passes_.push_back(*std::move(back));
        } else {
          add({Stage::middle, Factor::axis_back, planes, of_x, length, of_y});
          add({Stage::back, Factor::none, planes, length, length, of_y});
        }
      }
    }
    const Pass& most = fused_ ? *fused_ : there_->pass();
    const layer::Choice& choice = most.choice();
    variant_.emplace(spectral::id_of(choice), choice.layout(), choice.name(), most.shared_bytes(),
                     layer::roundings(p.lengths.size()));
    description_ = text(token, ", ", variant_->name);
  }

  const Variant& variant() const override { return *variant_; }
  const std::string& description() const override { return description_; }

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
    return fused_ ? 0 : bytes_of(items_at_once(batch_of(problem_, batch)));
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const std::int64_t batch = batch_of(problem_, call.batch);
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

  Workspace inputs() const { return {problem_, problem_.inputs}; }
  Workspace outputs() const { return {problem_, problem_.outputs}; }
  // Rows of planes [C_out, X, M_y], between the passes of both axes.
  std::int64_t plane_row() const { return spectral::in_pairs(kept(problem_, 1)); }
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
    layer::Arguments a{};
    a.u = call.arrays[u_], a.y = call.arrays[y_];
    a.u_rows = u.rows(), a.y_rows = y.rows(), a.inner = kManyItems;
    a.weights = static_cast<std::uint32_t*>(call.prepared);
    a.batch = static_cast<int>(batch);
    return fused_->launch(
        machine, a, constants,
        {{"u", a.u, u.bytes(), false, false}, weights_region(call), {"y", a.y, y.bytes(), true, false}});
  }

  void bind_items(const Call& call, const Machine& machine, std::span<const std::span<const std::uint32_t>> words,
                  const LaunchTo& to, std::int64_t batch, std::int64_t first, std::int64_t count) const {
    const Spectral& p = problem_;
    auto* const u_spectra = static_cast<std::byte*>(call.workspace);
    auto* const y_spectra = u_spectra + inputs().bytes(count);
    to(there_->launch(machine, words[0], "u", call.arrays[u_], u_spectra, batch, first, count));

    const Region of_u{"spectra of u", u_spectra, inputs().bytes(count), false, false};
    Region of_y{"spectra of y", y_spectra, outputs().bytes(count), true, false};
    layer::Arguments middle{};
    middle.from = inputs().by_channels(u_spectra, count), middle.to = outputs().by_channels(y_spectra, count);
    middle.weights = static_cast<std::uint32_t*>(call.prepared);
    middle.batch = static_cast<int>(count), middle.inner = kManyItems;
    to(passes_[0].launch(machine, middle, words[1], {of_u, weights_region(call), of_y}));

    of_y.written = false;
    const bool planes = p.lengths.size() == 2;
    const Field y{p, p.outputs, batch};
    layer::Arguments back{};
    back.from = planes ? outputs().by_planes(y_spectra) : outputs().by_channels(y_spectra, count);
    back.batch = static_cast<int>(planes ? count * p.outputs : count), back.inner = spectral::inner_items(p, count);
    Region between = of_y;
    if (passes_.size() == 3) {
      auto* const rows = y_spectra + outputs().bytes(count);
      const layer::Spectra to_rows{reinterpret_cast<std::uint32_t*>(rows), p.lengths[0] * plane_row(), plane_row(),
                                   true};
      between = {"rows of spectra", rows, plane_bytes(count), true, false};
      layer::Arguments axis = back;
      axis.to = to_rows;
      to(passes_[1].launch(machine, axis, words[2], {of_y, between}));
      between.written = false;
      back.from = to_rows;
    }
    back.y = static_cast<std::byte*>(call.arrays[y_]) + y.offset(first);
    back.y_rows = planes ? y.planes() : y.rows();
    to(passes_.back().launch(machine, back, words.back(), {between, {"y", call.arrays[y_], y.bytes(), true, false}}));
  }

  Spectral problem_;
  int u_, y_;
  std::int64_t chunk_;
  std::optional<Pass> fused_;
  std::optional<There> there_;
  std::vector<Pass> passes_;  // middle, back
  std::optional<OtherVariant> variant_;
  std::string description_;
};

// u and y are numbers of arrays of the case.
Program make_layer(const Case& asked, const Spectral& p, int u, int y, const Device& device) {
  check(p);
  std::unique_ptr<LayerStep> layer = spectral::make_layer_by_axes(asked, p, u, y, device);
  if (!layer) layer = std::make_unique<Layer>(asked, p, u, y, device);
  auto arrangement = std::make_unique<Weights>(p, "weights of " + layer->description());
  Program program;
  program.variant = &layer->variant();
  program.prepared_bytes = arrangement->bytes();
  Spectral of_weights = p;
  of_weights.batch = 1;
  program.layout = text(layer->variant().name, '/', token(of_weights));
  program.prepare.push_back(std::move(arrangement));
  program.execute.push_back(std::move(layer));
  return program;
}

}  // namespace

Program make_spectral_program(const Case& asked, const Device& device) {
  return make_layer(asked, *asked.as<Spectral>(), kU, kY, device);
}

Program make_spectral_gradient_program(const Case& asked, const Device& device) {
  const Spectral& p = asked.as<SpectralGradient>()->forward;
  Program program = make_layer(asked, adjoint_of(p), kDy, kDu, device);
  program.execute.push_back(spectral::make_gradient_of_weights(p, {kU, kDy, kDw}, device, asked.token()));
  return program;
}

}  // namespace danaus

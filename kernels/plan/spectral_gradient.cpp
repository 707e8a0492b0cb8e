#include "kernels/plan/spectral_gradient.hpp"

#include <algorithm>

#include "kernels/families/layer_gradient/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/spectral_passes.hpp"

namespace danaus::spectral {
namespace {

namespace sums = layer_gradient;

// Transforms of u and of dy there, products summed over the batch by parts, of so many items at a time that spectra fit
// the chunk; then the sum of the parts.
class GradientOfWeights final : public Step {
 public:
  GradientOfWeights(const Spectral& p, const GradientArrays& arrays, const Device& device,
                    const std::string& description)
      : problem_(p),
        arrays_(arrays),
        chunk_(chunk_bytes(device)),
        description_(text("dw of ", description)),
        of_u_(p, p.inputs, device, description_),
        of_dy_(p, p.outputs, device, description_),
        sums_(sums::instance_of({p.dtype, p.tf32, sums::Stage::sums})),
        total_(sums::instance_of({Dtype::f32, true, sums::Stage::total})) {
    const std::int64_t tiles = ratio_up(p.inputs, sums::kChannels) * ratio_up(p.outputs, sums::kChannels);
    const std::int64_t groups = ratio_up(kept_count(p), sums::kFrequencies);
    frequency_parts_ = p.shared ? std::min(groups, ratio_up(sums::kBlocks, tiles)) : groups;
    part_groups_ = ratio_up(groups, frequency_parts_);
    item_parts_ = std::min(ratio_up(sums::kBlocks, tiles * frequency_parts_), ratio_up(p.batch, 4 * sums::kItems));
  }

  std::string_view name() const override { return "weights' gradient"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = of_u_.pass().words();
    words.insert(words.end(), of_dy_.pass().words().begin(), of_dy_.pass().words().end());
    return words;
  }
  void fit(const Machine& machine) override {
    of_u_.pass().fit(machine), of_dy_.pass().fit(machine);
    machine.concurrent_blocks(id(sums_), Path::threads, layout(sums_).threads, layout(sums_).shared_bytes);
    total_blocks_ = machine.concurrent_blocks(id(total_), Path::threads, layout(total_).threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return bytes_of(items_at_once(batch_of(problem_, batch))) + sum_bytes();
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const auto words_of_u = constants.first(of_u_.pass().words().size());
    const auto words_of_dy = constants.subspan(words_of_u.size());
    const std::int64_t batch = batch_of(problem_, call.batch), at_once = items_at_once(batch);
    auto* const workspace = static_cast<std::byte*>(call.workspace);
    auto* const parts = reinterpret_cast<float*>(workspace + bytes_of(at_once));
    for (std::int64_t first = 0; first < batch; first += at_once) {
      const std::int64_t count = std::min(at_once, batch - first);
      auto* const u = workspace;
      auto* const dy = workspace + spectra_of_u().bytes(count);
      to(of_u_.launch(machine, words_of_u, "u", call.arrays[arrays_.u], u, batch, first, count));
      to(of_dy_.launch(machine, words_of_dy, "dy", call.arrays[arrays_.dy], dy, batch, first, count));
      to(sums_launch(machine, u, dy, parts, count, first > 0));
    }
    to(total_launch(machine, parts, static_cast<float*>(call.arrays[arrays_.dw])));
  }

 private:
  static KernelId id(std::size_t instance) { return {sums::Family::name, 0, instance}; }
  static sums::Layout layout(std::size_t instance) {
    const auto made = sums::Family::instances(0).list[instance];
    return {made.key, made.tuning};
  }
  Workspace spectra_of_u() const { return {problem_, problem_.inputs}; }
  Workspace spectra_of_dy() const { return {problem_, problem_.outputs}; }
  std::int64_t bytes_of(std::int64_t items) const { return spectra_of_u().bytes(items) + spectra_of_dy().bytes(items); }
  std::int64_t items_at_once(std::int64_t batch) const {
    return std::clamp<std::int64_t>(chunk_ / bytes_of(1), 1, batch);
  }
  std::int64_t numbers() const { return problem_.inputs * problem_.outputs * matrices_of(problem_); }
  std::int64_t parts() const { return item_parts_ * (problem_.shared ? frequency_parts_ : 1); }
  std::int64_t sum_bytes() const { return 8 * parts() * numbers(); }

  sums::Arguments arguments() const {
    const Spectral& p = problem_;
    sums::Arguments a{};
    a.inputs = static_cast<int>(p.inputs), a.outputs = static_cast<int>(p.outputs);
    a.frequencies = static_cast<int>(kept_count(p)), a.shared = p.shared;
    a.parts = static_cast<int>(parts());
    return a;
  }
  Launch launch(const Machine& machine, std::size_t instance, std::int64_t blocks) const {
    return make_launch(machine, description_, id(instance), Path::threads, blocks, layout(instance).threads,
                       layout(instance).shared_bytes);
  }
  Launch sums_launch(const Machine& machine, void* u, void* dy, float* to, std::int64_t items, bool more) const {
    const Spectral& p = problem_;
    sums::Arguments a = arguments();
    a.u = spectra_of_u().by_channels(u, items), a.dy = spectra_of_dy().by_channels(dy, items);
    a.sums = to;
    a.items = static_cast<int>(items);
    a.item_parts = static_cast<int>(item_parts_), a.part_items = static_cast<int>(ratio_up(items, item_parts_));
    a.frequency_parts = static_cast<int>(frequency_parts_), a.part_groups = static_cast<int>(part_groups_);
    a.last_frequencies = kept(p, p.lengths.size() - 1), a.last_length = p.complex ? 0 : p.lengths.back();
    a.more = more;
    const std::int64_t tiles = ratio_up(p.inputs, sums::kChannels) * ratio_up(p.outputs, sums::kChannels);
    Launch made = launch(machine, sums_, tiles * frequency_parts_ * item_parts_);
    made.touches({"spectra of u", u, spectra_of_u().bytes(items), false, false});
    made.touches({"spectra of dy", dy, spectra_of_dy().bytes(items), false, false});
    made.touches({"sums", to, sum_bytes(), true, false});
    made.give(a);
    return made;
  }
  Launch total_launch(const Machine& machine, float* from, float* dw) const {
    sums::Arguments a = arguments();
    a.sums = from, a.dw = dw;
    double scale = 1;
    for (int length : problem_.lengths) scale *= length * layer::scale_of(length) * layer::scale_of(length);
    a.scale = static_cast<float>(1 / scale);
    Launch made = launch(machine, total_,
                         std::clamp<std::int64_t>(ratio_up(numbers(), layout(total_).threads), 1, total_blocks_));
    made.touches({"sums", from, sum_bytes(), false, false});
    made.touches({"dw", dw, 8 * numbers(), true, false});
    made.give(a);
    return made;
  }

  Spectral problem_;
  GradientArrays arrays_;
  std::int64_t chunk_;
  std::string description_;
  There of_u_, of_dy_;
  std::size_t sums_, total_;  // instances
  std::int64_t frequency_parts_ = 1, part_groups_ = 1, item_parts_ = 1, total_blocks_ = 1;
};

}  // namespace

std::unique_ptr<Step> make_gradient_of_weights(const Spectral& p, const GradientArrays& arrays, const Device& device,
                                               const std::string& description) {
  return std::make_unique<GradientOfWeights>(p, arrays, device, description);
}

}  // namespace danaus::spectral

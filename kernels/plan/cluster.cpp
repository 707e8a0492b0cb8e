// A long convolution by clusters as a launch.
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/rescaled.hpp"

namespace danaus {
namespace {

class ClusterConvolution final : public Step {
 public:
  ClusterConvolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                     const SpectrumPlace& place, const ClusterVariant& variant, const Device& device)
      : problem_(problem),
        arrays_(arrays),
        place_(place),
        variant_(variant),
        rescaled_(variant, {}, asked.token() + ", rows out of range of " + variant.name),
        room_(rescaled_.exist() ? std::max(rescaled_.least_bytes(), chunk_bytes(device, problem) / kPartOfRows) : 0),
        description_(asked.token() + ", " + variant.name) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = variant_.make_tables();
    const std::vector<std::uint32_t> of_rescaled = rescaled_.constants();
    words.insert(words.end(), of_rescaled.begin(), of_rescaled.end());
    return words;
  }
  void fit(const Machine& machine) override {
    const auto fit = [&](Path path) {
      return machine.concurrent_clusters(kernel(), path, variant_.threads, variant_.shared_bytes,
                                         variant_.layout().shares);
    };
    by_threads_ = fit(Path::threads), in_bulk_ = fit(Path::tensor);
    rescaled_.fit(machine);
  }
  // Points of single items, then energies.
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return room_ + rescaled_.energy_bytes(problem_.channels, batch);
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = problem_;
    const auto of_rescaled = constants.last(rescaled_.constants().size());
    ConvolutionArguments a = arguments_of_rows(call, p, arrays_, place_, constants);
    if (rescaled_.exist()) a.energies = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + room_);
    a.transfer = transfer(a, machine);
    const Path path = path_of(a.transfer);
    const Share share = variant_.share(
        {variant_.items_of_channel(a.batch), a.channels, a.transfer, path == Path::tensor ? in_bulk_ : by_threads_});
    a.division = share.division;
    if (path == Path::tensor) {
      const auto map_of = [&](const RowArray& rows) {
        TensorShape shape = variant_.tensor_shape(a.batch, a.channels, a.length, rows.strides);
        shape.box[4] = 1;  // a row at a time
        return machine.make_tensor_map(shape, rows.data);
      };
      a.u_map = map_of(u_of(a)), a.y_map = map_of(y_of(a));
    }
    Launch launch =
        make_launch(machine, description_, kernel(), path, share.blocks, variant_.threads, variant_.shared_bytes);
    launch.cluster = variant_.layout().shares;
    const auto bytes = [&](const RowStrides& strides) { return reach_of(strides, a.batch, a.channels, a.length); };
    if (a.u != a.y) launch.touches({"u", a.u, bytes(a.u_strides), false, false});
    launch.touches({"y", a.y, bytes(a.y_strides), true, false});
    launch.touches({"spectrum", a.spectrum, 4 * p.channels * variant_.size, false, false});
    if (a.spectrum_factors)
      launch.touches({"factors", a.spectrum_factors, 4 * p.channels * variant_.outer_rows(), false, false});
    if (a.energies)
      launch.touches({"energies", a.energies, rescaled_.energy_bytes(p.channels, call.batch), true, false});
    launch.touches({"tables", a.tables, static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    to(launch);
    if (!a.energies) return;
    const RescaledItems::Rows rows{u_of(a), pregate_of(a), postgate_of(a), y_of(a), a.energies};
    rescaled_.launch(a, a.channels, {&rows, 1}, {}, call.workspace, room_, machine, of_rescaled, to);
  }

 private:
  static constexpr std::int64_t kPartOfRows = 4;  // that room for points may take

  KernelId kernel() const { return {variant_.family, variant_.line, variant_.instance}; }
  Transfer transfer(const ConvolutionArguments& a, const Machine& machine) const {
    if (a.length % 8 != 0 || !are_aligned({u_of(a), y_of(a)})) return Transfer::element;
    const bool whole_lines = a.length % variant_.tensor_grain() == 0;
    return whole_lines && has_maps(machine.device(), {u_of(a), y_of(a)}) ? Transfer::tensor : Transfer::vector;
  }

  Convolution problem_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  const ClusterVariant& variant_;
  RescaledItems rescaled_;
  std::int64_t room_;
  std::string description_;
  std::int64_t by_threads_ = 1, in_bulk_ = 1;  // clusters that the machine runs at once
};

}  // namespace

std::unique_ptr<Step> make_cluster_convolution(const Case& asked, const Convolution& problem,
                                               const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                               const ClusterVariant& variant, const Device& device) {
  return std::make_unique<ClusterConvolution>(asked, problem, arrays, place, variant, device);
}

}  // namespace danaus

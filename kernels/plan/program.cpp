#include "kernels/plan/program.hpp"

#include <algorithm>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/spectral.hpp"

namespace danaus {
namespace {

// A convolution in one launch.
class FusedConvolution final : public Step {
 public:
  FusedConvolution(const Case& asked, const Variant& variant)
      : problem_(*asked.as<Convolution>()), arrays_(asked), kernel_(variant, asked.token() + ", " + variant.name) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override { return kernel_.variant().make_tables(); }
  void fit(const Machine& machine) override { kernel_.fit(machine); }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = problem_;
    const Variant& variant = kernel_.variant();
    ConvolutionArguments a{};
    a.u = at(call, arrays_.u), a.y = at(call, arrays_.y);
    a.pregate = at(call, arrays_.pregate), a.postgate = at(call, arrays_.postgate);
    a.spectrum = static_cast<const std::uint32_t*>(call.prepared), a.tables = constants.data();
    if (p.dtype == Dtype::bf16 && variant.size > 0) a.spectrum_factors = factors_of(call.prepared, p, variant);
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p.channels);
    a.length = static_cast<int>(p.length);
    to(kernel_.launch(a, machine, prepared_bytes_of(p, variant), std::ssize(constants) * 4));
  }

 private:
  Convolution problem_;
  ConvolutionArrays arrays_;
  FusedKernel kernel_;
};

}  // namespace

Program make_program(const Case& asked, const Device& device, std::span<const std::uint8_t> kept) {
  if (asked.as<Spectral>()) return make_spectral_program(asked, device);
  const Convolution* p = asked.as<Convolution>();
  if (!p) fail("plan: ", asked.token(), " is of an operation that has no kernel");
  const Variant& variant = choose(*p, device);
  if (p->mask.zeroed.empty() != kept.empty())
    fail("plan: the case removes ", p->mask.zeroed.empty() ? "no" : "some", " frequencies, but ", kept.size(),
         " marks of kept ones are given");
  if (const auto* of_passes = dynamic_cast<const LongVariant*>(&variant))
    return make_long_program(asked, *of_passes, device);
  Program program;
  program.variant = &variant;
  program.prepared_bytes = prepared_bytes_of(*p, variant);
  program.prepared_is_filter = variant.size == 0;
  if (!program.prepared_is_filter) program.prepare.push_back(make_filter_transform(asked, variant, device, kept));
  program.execute.push_back(std::make_unique<FusedConvolution>(asked, variant));
  return program;
}

}  // namespace danaus

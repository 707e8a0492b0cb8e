#include "kernels/plan/named_kernel.hpp"

#include <algorithm>
#include <atomic>

#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/spelling.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

std::atomic<const Variant*> variant_by_name = nullptr;
std::atomic<const Correlator*> correlator_by_name = nullptr;

}  // namespace

NamedKernel::NamedKernel(std::string_view name) : name_(name) {
  const auto is_named = [=](const auto& kernel) { return kernel->name == name; };
  const Variant* variant = nullptr;
  if (const auto fused = std::ranges::find_if(variants(), is_named); fused != variants().end()) variant = fused->get();
  if (const auto of_passes = std::ranges::find_if(long_variants(), is_named); of_passes != long_variants().end())
    variant = of_passes->get();
  const auto correlator = std::ranges::find_if(correlators(), is_named);
  const bool is_correlator = correlator != correlators().end();
  if (!variant && !is_correlator) {
    if (std::ranges::any_of(sparse_variants(), is_named))
      fail("kernel '", name, "' leaves out what a mask removes; a plan takes it for masks that pay, it has no choice");
    std::vector<std::string> names;
    for (const auto& kernel : variants()) names.push_back(kernel->name);
    for (const auto& kernel : long_variants()) names.push_back(kernel->name);
    for (const auto& kernel : correlators()) names.push_back(kernel->name);
    fail("kernel '", name, "' is none of this build", did_you_mean(name, names),
         " (danaus list kernels --case TOKEN names those of a case)");
  }
  variant_by_name = variant;
  correlator_by_name = is_correlator ? correlator->get() : nullptr;
}

NamedKernel::~NamedKernel() { variant_by_name = nullptr, correlator_by_name = nullptr; }

void NamedKernel::require(const Case& asked, const Device& device) const {
  const Convolution* p = convolution_of(asked);
  if (!p)
    fail("kernel '", name_, "': only kernels of fftconv, fftconvgrad and fftconvstep have names; ", asked.token(),
         " is of another operation");
  if (const Variant* variant = named_variant()) {
    if (const std::string why = obstacle_of(*variant, *p, device); !why.empty())
      fail("kernel '", name_, "': cannot compute ", asked.token(), ", ", why);
    return;
  }
  if (asked.as<Convolution>())
    fail("kernel '", name_, "': makes gradients of filters; ", asked.token(), " asks for none");
  roundings_of_gradients(*p, choose(*p, device), device);  // says why the kernel does not make these
}

const Variant* named_variant() { return variant_by_name; }
const Correlator* named_correlator() { return correlator_by_name; }

std::string obstacle_of(const Variant& v, const Convolution& p, const Device& device) {
  const bool gated = p.pregate || p.postgate;
  if (v.dtype != p.dtype) return text("its samples are ", name(v.dtype), ", the case's ", name(p.dtype));
  if (v.gated != gated) return text("it computes ", v.gated ? "with" : "without", " gates only");
  if (p.fold && *p.fold != v.fold) return text("its fold is ", name(v.fold), ", the case's ", name(*p.fold));
  if (p.fft_size != 0 && p.fft_size != v.size) return text("its FFT size is ", v.size, ", the case's N=", p.fft_size);
  if (!p.factors.empty() && p.factors != v.factors)
    return text("its factors are ", join(v.factors), ", the case's ", join(p.factors));
  if (!v.suits(device_class_of(device)))
    return text("it is tuned for other devices than ", device.name, ", or needs more shared memory");
  if (!v.takes(p)) return text("it does not take such rows or filters");
  if (v.size == 0) return "";
  if (!p.mask.empty() && v.fold == Fold::right_angle) return "a frequency mask needs the pair fold or the plain one";
  const bool circular = p.mode == Mode::circular;
  if (v.wraps() && circular && v.size != p.length)
    return text("its N=", v.size, " must be L=", p.length, " in the ", name(v.fold), " fold");
  const std::int64_t least = v.wraps() ? smallest_linear_fft_size(p) : p.length;
  if (!(v.wraps() && circular) && v.size < least) return text("its N=", v.size, " must be at least ", least);
  return "";
}

}  // namespace danaus

#include "kernels/plan/gated.hpp"

#include <algorithm>

#include "kernels/families/skip/family.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/composed.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/short/short.hpp"

namespace danaus {
namespace {

// Where a step of what prepares writes: a place of the scratch, or so many bytes into what is prepared.
struct Written {
  Written(const Scratch& of, int number) : scratch(of), place(number) {}
  explicit Written(std::int64_t bytes) : prepared(bytes) {}

  float* at(const Call& call) const {
    auto* const begin = static_cast<std::byte*>(place >= 0 ? call.workspace : call.prepared);
    return reinterpret_cast<float*>(begin + (place >= 0 ? scratch.begin(place, call.batch) : prepared));
  }

  Scratch scratch;
  int place = -1;
  std::int64_t prepared = 0;
};

// Filters [channels, taps] of an array in fp32; those of k with the skip in their first tap, where there is one.
class Copy final : public Step {
 public:
  Copy(const Case& asked, int array, Dtype filter, int skip, std::int64_t channels, std::int64_t taps,
       const Written& written)
      : array_(array), skip_(skip), filter_(filter), channels_(channels), taps_(taps), written_(written) {
    description_ = text(asked.token(), ", filters in fp32");
    kernel_ = {skip::Family::name, 0, filter == Dtype::f32 ? 0u : filter == Dtype::f16 ? 1u : 2u};
  }

  std::string_view name() const override { return skip_ >= 0 ? "skip" : "copy"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(kernel_, Path::threads, layout().threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return written_.scratch.bytes(batch); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    skip::Arguments a{};
    a.k = at(call, array_), a.skip = static_cast<const float*>(at(call, skip_)), a.sum = written_.at(call);
    a.channels = static_cast<int>(channels_), a.taps = static_cast<int>(taps_);
    Launch launch =
        make_launch(machine, description_, kernel_, Path::threads, std::min(channels_, blocks_), layout().threads, 0);
    launch.touches({"filters", a.k, bytes(filter_) * channels_ * taps_, false, false});
    if (a.skip) launch.touches({"skip", a.skip, 4 * channels_, false, false});
    launch.touches({"filters in fp32", a.sum, 4 * channels_ * taps_, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  skip::Layout layout() const {
    const auto of = skip::Family::instances(0).list[kernel_.instance];
    return {of.key, of.tuning};
  }
  int array_, skip_;
  Dtype filter_;
  std::int64_t channels_, taps_, blocks_ = 1;
  Written written_;
  KernelId kernel_;
  std::string description_;
};

// All in one launch. Short filters are so many bytes into what is prepared.
class FilteredConvolution final : public Step {
 public:
  FilteredConvolution(const Case& asked, const GatedConvolution& gated, const SpectrumPlace& place,
                      const Variant& variant, std::int64_t taps, std::int64_t bias)
      : gated_(gated),
        arrays_(asked),
        place_(place),
        kernel_(variant, asked.token() + ", " + variant.name),
        taps_(taps),
        bias_(bias) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override { return kernel_.variant().make_tables(); }
  void fit(const Machine& machine) override { kernel_.fit(machine); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = gated_.conv;
    ConvolutionArguments a = arguments_of_rows(call, p, arrays_, place_, constants);
    a.rows_apart = true;
    const float* const taps = Written(taps_).at(call);
    const float* const bias = gated_.bias ? Written(bias_).at(call) : nullptr;
    to(kernel_.launch_filtered(a, taps, bias, gated_.taps, machine,
                               4 * p.channels * kernel_.variant().spectrum_numbers(),
                               static_cast<std::int64_t>(constants.size_bytes())));
  }

 private:
  GatedConvolution gated_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  FusedKernel kernel_;
  std::int64_t taps_, bias_;
};

// The kernel that computes it in one launch; null where there is none.
const Variant* filtered_variant(const GatedConvolution& gated, const Device& device) {
  if (gated.taps == 0) return nullptr;
  const Variant& plain = choose(gated.conv, device);
  if (plain.way() != Way::fused) return nullptr;
  const int device_class = device_class_of(device);
  for (const auto& v : filtered_variants())
    if (v->dtype == plain.dtype && v->fold == plain.fold && v->preferred && v->compiled && v->suits(device_class) &&
        (v->size == plain.size || (v->fold == Fold::right_angle && v->size > plain.size && v->size < 2 * plain.size)))
      return v.get();
  return nullptr;
}

Program make_filtered_program(const Case& asked, const GatedConvolution& gated, const Convolution& of_filter,
                              const Source& k, const Scratch& preparing, const Variant& variant, const Device& device,
                              Program program) {
  const Case inner(of_filter);
  const std::vector<Array> arrays = asked.arrays();
  Filters filters = make_filters(inner, of_filter, true, false, variant, device, {});
  for (auto& step : filters.steps)
    program.prepare.push_back(make_inner(std::move(step), inner, std::span(&k, 1), preparing, 0));
  const std::int64_t count = parts(gated) * gated.conv.channels, taps = aligned(filters.bytes);
  const std::int64_t bias = aligned(taps + 4 * count * gated.taps);
  const auto copy = [&](std::string_view name, std::int64_t numbers, std::int64_t to) {
    program.prepare.push_back(
        std::make_unique<Copy>(asked, array_of(arrays, name), Dtype::f32, -1, count, numbers, Written(to)));
  };
  copy("taps", gated.taps, taps);
  if (gated.bias) copy("bias", 1, bias);
  program.execute.push_back(std::make_unique<FilteredConvolution>(asked, gated, filters.forward, variant, taps, bias));
  program.variant = &variant;
  program.prepared_bytes = bias + (gated.bias ? 4 * count : 0);
  program.layout = filters.layout + "+taps";
  return program;
}

}  // namespace

Program make_gated_program(const Case& asked, const GatedConvolution& gated, const Device& device) {
  Convolution p = gated.conv;
  const std::vector<Array> arrays = asked.arrays();
  const auto of = [&](std::string_view name) { return array_of(arrays, name); };
  Scratch preparing, executing;
  std::vector<Source> sources;  // of the long convolution
  Program program;
  std::int64_t part = 0;
  for (const std::string_view name : {"u", "pregate", "postgate"})
    if (of(name) >= 0)
      sources.push_back(gated.taps == 0 ? Source{name, of(name)}
                                        : Source{name, -1, executing.add(2 * p.channels * p.length, true)});
  sources.push_back({"y", of("y")});
  if (gated.skip) {
    const int place = preparing.add(4 * p.channels * p.filter_length, false);
    program.prepare.push_back(std::make_unique<Copy>(asked, of("k"), filter_dtype(p), of("skip"), p.channels,
                                                     p.filter_length, Written(preparing, place)));
    sources.push_back({"k", -1, place});
    p.filter = Dtype::f32;
  } else {
    sources.push_back({"k", of("k")});
  }
  if (const Variant* variant = filtered_variant(gated, device))
    return make_filtered_program(asked, gated, p, sources.back(), preparing, *variant, device, std::move(program));
  if (gated.taps > 0) {
    ShortConvolution filter;
    filter.dtype = p.dtype, filter.taps = gated.taps, filter.bias = gated.bias;
    filter.length = p.length, filter.batch = p.batch, filter.channels = p.channels;
    for (const Source& source : std::vector(sources)) {
      if (source.name == "y" || source.name == "k") continue;
      std::vector<Source> own = {
          {"u", of(source.name)}, {"k", of("taps"), -1, 4 * part * p.channels * gated.taps}, {"y", -1, source.place}};
      if (gated.bias) own.push_back({"bias", of("bias"), -1, 4 * part * p.channels});
      append(program, make_program(filter, device), filter, own, preparing, executing);
      ++part;
    }
  }
  if (choose(p, device).size == 0) p.fold = Fold::right_angle;  // what needs no FFT prepares nothing
  Program convolution = make_program(p, device);
  program.variant = convolution.variant;
  append(program, std::move(convolution), p, sources, preparing, executing);
  return program;
}

}  // namespace danaus

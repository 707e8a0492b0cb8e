#include "kernels/plan/gated.hpp"

#include <algorithm>

#include "kernels/families/filtered_rows/family.hpp"
#include "kernels/families/skip/family.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/composed.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/registry.hpp"

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

// Where short filters are, behind what is prepared of the long one.
struct ShortFilterPlace {
  Written taps{0}, bias{0};
  std::int64_t end = 0;
  bool has_bias = false;

  ShortFilterPlace(const GatedConvolution& gated, std::int64_t before) : has_bias(gated.bias) {
    const std::int64_t bytes = 4 * parts(gated) * gated.conv.channels;
    taps = Written(aligned(before)), bias = Written(aligned(taps.prepared + bytes * gated.taps));
    end = bias.prepared + (has_bias ? bytes : 0);
  }
  const float* taps_at(const Call& call) const { return taps.at(call); }
  const float* bias_at(const Call& call) const { return has_bias ? bias.at(call) : nullptr; }
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

// All in one launch.
class FilteredConvolution final : public Step {
 public:
  FilteredConvolution(const Case& asked, const GatedConvolution& gated, const SpectrumPlace& place,
                      const Variant& variant, const ShortFilterPlace& filters)
      : gated_(gated),
        arrays_(asked),
        place_(place),
        kernel_(variant, asked.token() + ", " + variant.name),
        filters_(filters) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override { return kernel_.variant().make_tables(); }
  void fit(const Machine& machine) override { kernel_.fit(machine); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = gated_.conv;
    ConvolutionArguments a = arguments_of_rows(call, p, arrays_, place_, constants);
    a.rows_apart = true;
    to(kernel_.launch_filtered(a, filters_.taps_at(call), filters_.bias_at(call), gated_.taps, machine,
                               4 * p.channels * kernel_.variant().spectrum_numbers(),
                               static_cast<std::int64_t>(constants.size_bytes())));
  }

 private:
  GatedConvolution gated_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  FusedKernel kernel_;
  ShortFilterPlace filters_;
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

// Rows and gates through short filters into scratch, before a convolution that has none.
class FilteredRows final : public Step {
 public:
  FilteredRows(const Case& asked, const GatedConvolution& gated, const Scratch& scratch, int x, int v,
               const ShortFilterPlace& filters)
      : gated_(gated), arrays_(asked), x_(scratch, x), v_(scratch, v), filters_(filters) {
    description_ = text(asked.token(), ", short filters");
    kernel_ = {filtered_rows::Family::name, 0, gated.conv.dtype == Dtype::f16 ? 0u : 1u};
  }

  std::string_view name() const override { return "filter"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(kernel_, Path::threads, layout().threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return x_.scratch.bytes(batch); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const Convolution& p = gated_.conv;
    const RowArray u = rows_at(call, arrays_.u, p), pregate = rows_at(call, arrays_.pregate, p),
                   postgate = rows_at(call, arrays_.postgate, p);
    filtered_rows::Arguments a{};
    a.u = u.data, a.u_strides = u.strides;
    a.pregate = pregate.data, a.pregate_strides = pregate.strides;
    a.postgate = postgate.data, a.postgate_strides = postgate.strides;
    a.x = x_.at(call), a.v = postgate.data ? v_.at(call) : nullptr;
    a.taps = filters_.taps_at(call), a.bias = filters_.bias_at(call);
    a.tap_count = static_cast<int>(gated_.taps), a.batch = static_cast<int>(call.batch);
    a.channels = static_cast<int>(p.channels), a.length = static_cast<int>(p.length);
    a.transfer = are_aligned({u, pregate, postgate}) && p.length % 8 == 0 ? Transfer::vector : Transfer::element;
    const std::int64_t parts_of_row = ratio_up(p.length, 8 * layout().part_chunks());
    Launch launch = make_launch(machine, description_, kernel_, Path::threads,
                                std::min(call.batch * p.channels * parts_of_row, blocks_), layout().threads, 0);
    const auto reads = [&](const char* name, const RowArray& rows) {
      if (rows.data)
        launch.touches({name, rows.data, reach_of(rows.strides, call.batch, p.channels, p.length), false, false});
    };
    reads("u", u), reads("pregate", pregate), reads("postgate", postgate);
    const std::int64_t filters = parts(gated_) * p.channels, bytes = 2 * call.batch * p.channels * p.length;
    launch.touches({"taps", a.taps, 4 * filters * gated_.taps, false, false});
    if (a.bias) launch.touches({"bias", a.bias, 4 * filters, false, false});
    launch.touches({"filtered u", a.x, bytes, true, false});
    if (a.v) launch.touches({"filtered postgate", a.v, bytes, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  filtered_rows::Layout layout() const {
    const auto of = filtered_rows::Family::instances(0).list[kernel_.instance];
    return {of.key, of.tuning};
  }
  GatedConvolution gated_;
  ConvolutionArrays arrays_;
  Written x_, v_;
  ShortFilterPlace filters_;
  KernelId kernel_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

}  // namespace

Program make_gated_program(const Case& asked, const GatedConvolution& gated, const Device& device) {
  Convolution p = gated.conv;
  const std::vector<Array> arrays = asked.arrays();
  const auto of = [&](std::string_view name) { return array_of(arrays, name); };
  Scratch preparing, executing;
  Program program;
  std::vector<Source> sources = {{"y", of("y")}};  // of the long convolution
  if (gated.skip) {
    const int place = preparing.add(4 * p.channels * p.filter_length, false);
    program.prepare.push_back(std::make_unique<Copy>(asked, of("k"), filter_dtype(p), of("skip"), p.channels,
                                                     p.filter_length, Written(preparing, place)));
    sources.push_back({"k", -1, place});
    p.filter = Dtype::f32;
  } else {
    sources.push_back({"k", of("k")});
  }
  const auto prepare_short_filters = [&](const ShortFilterPlace& place) {
    const std::int64_t count = parts(gated) * p.channels;
    const auto copy = [&](std::string_view name, std::int64_t taps, const Written& to) {
      program.prepare.push_back(std::make_unique<Copy>(asked, of(name), Dtype::f32, -1, count, taps, to));
    };
    copy("taps", gated.taps, place.taps);
    if (gated.bias) copy("bias", 1, place.bias);
    program.prepared_bytes = place.end, program.layout += "+taps";
  };

  if (const Variant* variant = filtered_variant(gated, device)) {
    Filters filters = make_filters(Case(p), p, true, false, *variant, device, {});
    for (auto& step : filters.steps)
      program.prepare.push_back(make_inner(std::move(step), Case(p), std::span(sources).last(1), preparing, 0));
    const ShortFilterPlace place(gated, filters.bytes);
    program.layout = filters.layout, program.variant = variant;
    prepare_short_filters(place);
    program.execute.push_back(std::make_unique<FilteredConvolution>(asked, gated, filters.forward, *variant, place));
    return program;
  }

  if (gated.taps > 0) {
    const std::int64_t bytes = 2 * p.channels * p.length;
    const int x = executing.add(bytes, true), v = p.postgate ? executing.add(bytes, true) : -1;
    sources.push_back({"u", -1, x});
    if (p.postgate) sources.push_back({"postgate", -1, v});
    p.pregate = false;
    const ShortFilterPlace place(gated, 0);
    prepare_short_filters(place);
    program.execute.push_back(std::make_unique<FilteredRows>(asked, gated, executing, x, v, place));
  } else {
    for (const std::string_view name : {"u", "pregate", "postgate"})
      if (of(name) >= 0) sources.push_back({name, of(name)});
  }
  if (choose(p, device).size == 0) p.fold = Fold::right_angle;  // what needs no FFT prepares nothing
  Program convolution = make_program(p, device);
  program.variant = convolution.variant;
  append(program, std::move(convolution), p, sources, preparing, executing);
  return program;
}

}  // namespace danaus

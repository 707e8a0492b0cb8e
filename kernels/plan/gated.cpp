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

// k with the skip in its first tap, in fp32, at a place of the scratch of what prepares.
class Skip final : public Step {
 public:
  Skip(const Case& asked, const Convolution& p, const Scratch& scratch, int place)
      : p_(p), scratch_(scratch), place_(place), description_("skip of " + asked.token()) {
    const std::vector<Array> arrays = asked.arrays();
    k_ = array_of(arrays, "k"), skip_ = array_of(arrays, "skip");
    const Dtype filter = filter_dtype(p);
    kernel_ = {skip::Family::name, 0, filter == Dtype::f32 ? 0u : filter == Dtype::f16 ? 1u : 2u};
  }

  std::string_view name() const override { return "skip"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(kernel_, Path::threads, layout().threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return scratch_.bytes(batch); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    skip::Arguments a{};
    a.k = at(call, k_), a.skip = static_cast<const float*>(at(call, skip_));
    a.sum = static_cast<float*>(scratch_.at(place_, call));
    a.channels = static_cast<int>(p_.channels), a.taps = static_cast<int>(p_.filter_length);
    Launch launch =
        make_launch(machine, description_, kernel_, Path::threads, std::min(p_.channels, blocks_), layout().threads, 0);
    const std::int64_t taps = p_.channels * p_.filter_length;
    launch.touches({"k", a.k, bytes(filter_dtype(p_)) * taps, false, false});
    launch.touches({"skip", a.skip, 4 * p_.channels, false, false});
    launch.touches({"k and skip", a.sum, 4 * taps, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  skip::Layout layout() const {
    const auto of = skip::Family::instances(0).list[kernel_.instance];
    return {of.key, of.tuning};
  }
  Convolution p_;
  Scratch scratch_;
  int place_, k_, skip_;
  KernelId kernel_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

// The short filters among a case's arrays.
struct ShortFilterArrays {
  int taps, bias;
  explicit ShortFilterArrays(const Case& asked) {
    const std::vector<Array> arrays = asked.arrays();
    taps = array_of(arrays, "taps"), bias = array_of(arrays, "bias");
  }
  const float* taps_at(const Call& call) const { return static_cast<const float*>(at(call, taps)); }
  const float* bias_at(const Call& call) const { return static_cast<const float*>(at(call, bias)); }
};

// All in one launch.
class FilteredConvolution final : public Step {
 public:
  FilteredConvolution(const Case& asked, const GatedConvolution& gated, const SpectrumPlace& place,
                      const Variant& variant)
      : gated_(gated),
        arrays_(asked),
        filters_(asked),
        place_(place),
        kernel_(variant, asked.token() + ", " + variant.name) {}

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
  ShortFilterArrays filters_;
  SpectrumPlace place_;
  FusedKernel kernel_;
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
  FilteredRows(const Case& asked, const GatedConvolution& gated, const Scratch& scratch, int x, int v)
      : gated_(gated), arrays_(asked), filters_(asked), scratch_(scratch), x_(x), v_(v) {
    description_ = text(asked.token(), ", short filters");
    kernel_ = {filtered_rows::Family::name, 0, gated.conv.dtype == Dtype::f16 ? 0u : 1u};
  }

  std::string_view name() const override { return "filter"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(kernel_, Path::threads, layout().threads, 0);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return scratch_.bytes(batch); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const Convolution& p = gated_.conv;
    const RowArray u = rows_at(call, arrays_.u, p), pregate = rows_at(call, arrays_.pregate, p),
                   postgate = rows_at(call, arrays_.postgate, p);
    filtered_rows::Arguments a{};
    a.u = u.data, a.u_strides = u.strides;
    a.pregate = pregate.data, a.pregate_strides = pregate.strides;
    a.postgate = postgate.data, a.postgate_strides = postgate.strides;
    a.x = scratch_.at(x_, call), a.v = postgate.data ? scratch_.at(v_, call) : nullptr;
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
  ShortFilterArrays filters_;
  Scratch scratch_;
  int x_, v_;  // places
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
    program.prepare.push_back(std::make_unique<Skip>(asked, p, preparing, place));
    sources.push_back({"k", -1, place});
    p.filter = Dtype::f32;
  } else {
    sources.push_back({"k", of("k")});
  }
  if (const Variant* variant = filtered_variant(gated, device)) {
    Filters filters = make_filters(Case(p), p, true, false, *variant, device, {});
    for (auto& step : filters.steps)
      program.prepare.push_back(make_inner(std::move(step), Case(p), std::span(sources).last(1), preparing, 0));
    program.layout = filters.layout, program.prepared_bytes = filters.bytes, program.variant = variant;
    program.execute.push_back(std::make_unique<FilteredConvolution>(asked, gated, filters.forward, *variant));
    return program;
  }

  if (gated.taps > 0) {
    const std::int64_t bytes = 2 * p.channels * p.length;
    const int x = executing.add(bytes, true), v = p.postgate ? executing.add(bytes, true) : -1;
    sources.push_back({"u", -1, x});
    if (p.postgate) sources.push_back({"postgate", -1, v});
    p.pregate = false;
    program.execute.push_back(std::make_unique<FilteredRows>(asked, gated, executing, x, v));
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

#include "kernels/plan/gated.hpp"

#include <algorithm>

#include "kernels/families/skip/family.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/composed.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/short/short.hpp"

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
    a.sum = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + scratch_.begin(place_, call.batch));
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
    program.prepare.push_back(std::make_unique<Skip>(asked, p, preparing, place));
    sources.push_back({"k", -1, place});
    p.filter = Dtype::f32;
  } else {
    sources.push_back({"k", of("k")});
  }
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

#include "kernels/plan/spectral.hpp"

#include <algorithm>

#include "kernels/families/mix/family.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {
namespace {

constexpr int kLeastLength = 16, kMostLength = 1024, kMostChannels = 256;
constexpr int kMostColumns = 8;  // items of the batch that one product with weights of a frequency takes

// A layer's kernel as those see it that ask a plan for its variant. It computes no convolution.
class LayerVariant final : public Variant {
 public:
  LayerVariant(const mix::Choice& choice, int bytes) {
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
  int roundings() const override { return mix::kRoundings; }
  const RowLayout& rows() const override { refuse(); }
  Share share(const Load&) const override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw std::logic_error(text(name, " is no kernel of a convolution")); }
};

std::int64_t matrices_of(const Spectral& p) { return p.shared ? 1 : kept_count(p); }

mix::Places places_of(const Spectral& p, const mix::Layout& layout, int columns) {
  return layout.places(static_cast<int>(p.inputs), static_cast<int>(p.outputs), static_cast<int>(kept_count(p)),
                       columns);
}

// As many items of the batch as a product has columns and shared memory has room for; of shared weights one.
mix::Places choose_places(const Spectral& p, const mix::Layout& layout, const Device& device) {
  const int most = p.shared ? 1 : static_cast<int>(std::min<std::int64_t>(p.batch, kMostColumns));
  for (int columns = most; columns > 0; --columns)
    if (const mix::Places places = places_of(p, layout, columns); places.bytes <= device.block_bytes) return places;
  Spectral fewer = p;
  do {
    --fewer.modes[0];
  } while (fewer.modes[0] > 0 && places_of(fewer, layout, 1).bytes > device.block_bytes);
  const std::string nearest =
      fewer.modes[0] > 0 ? text("; there is one for ", fewer.modes[0], " modes") : std::string();
  fail("spectral: no kernel for ", p.modes[0], " modes of ", p.inputs, " and ", p.outputs,
       " channels, whose spectra take ", places_of(p, layout, 1).bytes, " of the ", device.block_bytes,
       " bytes of shared memory of a block", nearest);
}

void check(const Spectral& p) {
  validate(p);
  if (p.lengths.size() != 1) fail("spectral: no kernel for ", p.lengths.size(), " axes; there are some for 1");
  if (const int length = p.lengths[0]; length < kLeastLength || length > kMostLength)
    fail("spectral: no kernel for X=", length, "; there are some from ", kLeastLength, " to ", kMostLength);
  for (std::int64_t channels : {p.inputs, p.outputs})
    if (channels > kMostChannels)
      fail("spectral: no kernel for ", channels, " channels; there are some up to ", kMostChannels);
  if (p.batch > 0x7fffffff) fail("spectral: no kernel for B=", p.batch, "; there are some below 2^31");
}

struct Weights {
  std::int64_t matrices, bytes;
  Weights(const Spectral& p, const mix::Layout& layout, const mix::Places& places)
      : matrices(matrices_of(p)),
        bytes(std::int64_t{1024} * matrices * places.output_tiles * places.input_tiles * layout.steps_of_tile) {}
};

Launch launch_of(const mix::Choice& choice, const std::string& description, std::int64_t blocks, int shared_bytes,
                 const Machine& machine) {
  return make_launch(machine, description, {mix::Family::name, choice.line, choice.instance}, Path::threads, blocks,
                     choice.layout().threads, shared_bytes);
}

// The plan has seen that numbers are aligned.
void check_samples(const Spectral& p, const char* name, const void* data) {
  const std::int64_t size = 2 * bytes(p.dtype);
  if (p.complex && reinterpret_cast<std::uintptr_t>(data) % size != 0)
    fail("execute: ", name, " is not aligned to the ", size, " bytes of its complex samples");
}

mix::Arguments arguments_of(const Spectral& p, const mix::Places& places) {
  mix::Arguments a{};
  a.inputs = static_cast<int>(p.inputs), a.outputs = static_cast<int>(p.outputs);
  a.length = p.lengths[0], a.frequencies = static_cast<int>(kept_count(p));
  a.matrices = static_cast<int>(matrices_of(p));
  a.adjoint = p.adjoint;
  a.places = places;
  return a;
}

constexpr int kW = 1, kU = 0, kY = 2;  // places among the case's arrays

class Arrangement final : public Step {
 public:
  Arrangement(const Spectral& problem, const mix::Places& places, std::string description)
      : problem_(problem),
        places_(places),
        choice_(mix::choose_arrangement(problem)),
        weights_(problem, choice_.layout(), places),
        description_(std::move(description)) {}

  std::string_view name() const override { return "weights"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks({mix::Family::name, choice_.line, choice_.instance}, Path::threads,
                                        choice_.layout().threads, 0);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    mix::Arguments a = arguments_of(problem_, places_);
    a.w = static_cast<const float*>(call.arrays[kW]);
    a.weights = static_cast<std::uint32_t*>(call.prepared);
    const std::int64_t of_block = std::int64_t{16} * choice_.layout().threads;
    Launch launch =
        launch_of(choice_, description_,
                  std::clamp<std::int64_t>((weights_.bytes + of_block - 1) / of_block, 1, blocks_), 0, machine);
    launch.touches({"w", a.w, 8 * problem_.inputs * problem_.outputs * weights_.matrices, false, false});
    launch.touches({"weights", a.weights, weights_.bytes, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  Spectral problem_;
  mix::Places places_;
  mix::Choice choice_;
  Weights weights_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

class Layer final : public Step {
 public:
  Layer(const Case& asked, const mix::Choice& choice, const mix::Places& places)
      : problem_(*asked.as<Spectral>()),
        places_(places),
        choice_(choice),
        variant_(choice, places.bytes),
        weights_(problem_, choice.layout(), places),
        tables_(mix::make_tables(choice.layout(), problem_.lengths[0], kept_on_axis(problem_, 0))),
        description_(text(asked.token(), ", ", variant_.name)) {}

  const LayerVariant& variant() const { return variant_; }
  const std::string& description() const { return description_; }

  std::string_view name() const override { return "spectral layer"; }
  std::vector<std::uint32_t> constants() const override { return tables_.words; }
  void fit(const Machine& machine) override {
    // A device keeps one limit for a kernel: that of a plan for fewer channels is not to undercut another plan's.
    machine.concurrent_blocks({mix::Family::name, choice_.line, choice_.instance}, Path::threads, variant_.threads,
                              machine.device().block_bytes);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Spectral& p = problem_;
    // The batch of a channel-major field is not its first extent: a call has all of it.
    const std::int64_t batch = p.channel_major ? p.batch : call.batch;
    mix::Arguments a = arguments_of(p, places_);
    a.u = call.arrays[kU], a.y = call.arrays[kY];
    check_samples(p, "u", a.u), check_samples(p, "y", a.y);
    a.forward = constants.data(), a.inverse = constants.data() + tables_.inverse_at;
    a.weights = static_cast<std::uint32_t*>(call.prepared);
    a.batch = static_cast<int>(batch), a.scale = static_cast<float>(tables_.scale);
    const std::int64_t length = p.lengths[0];
    a.u_batch = p.channel_major ? length : length * p.inputs, a.u_channel = p.channel_major ? length * batch : length;
    a.y_batch = p.channel_major ? length : length * p.outputs, a.y_channel = a.u_channel;
    const mix::Layout layout = choice_.layout();
    const auto is_aligned = [&](const void* data) {
      return reinterpret_cast<std::uintptr_t>(data) % (4 * layout.words) == 0;
    };
    a.aligned = length % (2 * layout.lane_points) == 0 && is_aligned(a.u) && is_aligned(a.y);
    Launch launch =
        launch_of(choice_, description_, (batch + places_.columns - 1) / places_.columns, places_.bytes, machine);
    const std::int64_t row_bytes = bytes(p.dtype) * (p.complex ? 2 : 1) * length;
    launch.touches({"u", a.u, row_bytes * batch * p.inputs, false, false});
    launch.touches({"weights", a.weights, weights_.bytes, false, false});
    launch.touches({"tables", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.touches({"y", a.y, row_bytes * batch * p.outputs, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  Spectral problem_;
  mix::Places places_;
  mix::Choice choice_;
  LayerVariant variant_;
  Weights weights_;
  mix::Tables tables_;
  std::string description_;
};

}  // namespace

Program make_spectral_program(const Case& asked, const Device& device) {
  const Spectral& p = *asked.as<Spectral>();
  check(p);
  const mix::Choice choice = mix::choose_layer(p);
  const mix::Places places = choose_places(p, choice.layout(), device);
  auto layer = std::make_unique<Layer>(asked, choice, places);
  Program program;
  program.variant = &layer->variant();
  program.prepared_bytes = Weights(p, choice.layout(), places).bytes;
  program.prepare.push_back(std::make_unique<Arrangement>(p, places, "weights of " + layer->description()));
  program.execute.push_back(std::move(layer));
  return program;
}

}  // namespace danaus

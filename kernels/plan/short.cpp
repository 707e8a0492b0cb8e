#include "kernels/plan/short.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "kernels/families/direct/family.hpp"
#include "kernels/families/short_filter/family.hpp"
#include "kernels/families/short_gradient/family.hpp"
#include "kernels/families/toeplitz/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/other_variant.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMostLength = std::int64_t{1} << 30;

// The first kernel of a family's table that is chosen and fits; `fits` says it of a line.
template <class Family, class Lines, class Fits>
std::optional<KernelId> find(const Lines& lines, const ShortConvolution& p, Fits fits) {
  for (std::size_t line = 0; line < lines.size(); ++line)
    if (lines[line].worth == kChosen && lines[line].channels_last == p.channels_last && fits(lines[line]))
      return KernelId{Family::name, line, p.dtype == Dtype::bf16 ? 1u : 0u};
  return std::nullopt;
}
template <class Family>
typename Family::Layout layout_of(const KernelId& kernel) {
  const auto made = Family::instances(kernel.line).list[kernel.instance];
  return {made.key, made.tuning};
}

// How a filter lies to its samples: y[n] = sum of k[m] u[n + ahead - m]. In rows [B, H, L] the stream of u is ahead by
// whole chunks, and the taps are delayed by what that is too much.
struct Reach {
  std::int64_t ahead, lead, delay, taps;
  Reach(const ShortConvolution& p, std::int64_t reaches_ahead)
      : ahead(reaches_ahead),
        lead(p.channels_last ? ahead : (ahead + 7) / 8 * 8),
        delay(lead - ahead),
        taps(p.taps + delay) {}
  void delay_by(std::int64_t samples) { lead += samples, delay += samples, taps += samples; }
};

// Samples that streams of a row read: those after its end and the halos too.
std::int64_t samples_read(std::int64_t length, const StreamLayout& stream) {
  return ratio_up(length, stream.samples()) * (stream.samples() + kStreamBlock * stream.halo);
}
// Where streams of a row end: what tiles of 2^line blocks to a line repeat and compute in vain is least.
int choose_line(std::int64_t length, int fewest, int most, int halo) {
  int best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int line = std::countr_zero(static_cast<unsigned>(fewest)); 1 << line <= most; ++line) {
    const std::int64_t samples = samples_read(length, {line, halo});
    if (samples <= least) least = samples, best = line;
  }
  return best;
}
int choose_line(std::int64_t length, const toeplitz::Layout& layout) {
  return choose_line(length, layout.least_line, layout.tuning.line, layout.halo);
}
// Of kernels for as many taps that are chosen, the one whose streams read least.
void choose_streams(KernelId& kernel, std::int64_t length) {
  const auto read = [&](std::size_t line) {
    const auto layout = layout_of<toeplitz::Family>({kernel.family, line, kernel.instance});
    return samples_read(length, layout.stream(choose_line(length, layout)));
  };
  const toeplitz::Line& found = toeplitz::kLines[kernel.line];
  for (std::size_t line = kernel.line + 1; line < toeplitz::kLines.size(); ++line) {
    const toeplitz::Line& other = toeplitz::kLines[line];
    if (other.worth == kChosen && other.channels_last == found.channels_last && other.blocks == found.blocks &&
        read(line) < read(kernel.line))
      kernel.line = line;
  }
}

// Where arrays that are read and written together begin: from aligned addresses that they all share, or anywhere.
struct Alignment {
  Transfer transfer = Transfer::vector;
  int shift = 0;
  std::int64_t length;  // of a row from there on, at most

  Alignment(const ShortConvolution& p, std::initializer_list<const void*> arrays) : length(p.length) {
    const auto phase = [](const void* data) {
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) / 2 % 8);
    };
    shift = phase(*arrays.begin());
    const bool alike = std::ranges::all_of(arrays, [&](const void* data) { return !data || phase(data) == shift; });
    if (!alike || (p.channels_last && (shift != 0 || p.channels % 8 != 0))) transfer = Transfer::element;
    if (!p.channels_last && transfer == Transfer::vector && (shift != 0 || p.length % 8 != 0)) length += 7;
  }
};

Launch launch_of(const KernelId& kernel, std::string_view description, std::int64_t blocks, int threads,
                 int shared_bytes, const Machine& machine) {
  if (blocks > 0x7fffffff)
    fail("shortconv: ", description, " needs ", blocks, " blocks, a launch has at most 2^31 - 1");
  return make_launch(machine, description, kernel, Path::threads, blocks, threads, shared_bytes);
}

std::int64_t bytes_of(const ShortConvolution& p, std::int64_t batch) {
  return bytes(p.dtype) * batch * p.channels * p.length;
}
void touch_rows(Launch& launch, const char* name, const void* data, const ShortConvolution& p, std::int64_t batch,
                bool written = false) {
  if (data) launch.touches({name, data, bytes_of(p, batch), written, false});
}

// The kernel of few taps that has dk beside du, or only y.
std::optional<KernelId> find_direct(const ShortConvolution& p, const Reach& reach, bool correlates) {
  return find<direct::Family>(direct::kLines, p, [&](const direct::Line& line) {
    return line.correlates == correlates && line.skipped <= reach.delay && reach.taps <= line.skipped + line.taps;
  });
}

// A filter as a kernel reads it, in the prepared memory.
struct Filter {
  KernelId kernel;  // that reads it
  Reach reach;
  bool flipped;
  std::int64_t begin, words;  // biases behind it
  bool is_direct() const { return kernel.family == direct::Family::name; }
  int blocks() const { return toeplitz::kLines[kernel.line].blocks; }
  int pairs() const { return is_direct() ? 0 : toeplitz::pairs_of(blocks()); }
  int taps() const { return is_direct() ? direct::kLines[kernel.line].taps : 0; }
  bool correlates() const { return is_direct() && direct::kLines[kernel.line].correlates; }
  // Taps of the kernel before the filter's first.
  std::int64_t delay() const { return reach.delay - (is_direct() ? direct::kLines[kernel.line].skipped : 0); }

  Filter(const ShortConvolution& p, bool from_its_end, std::int64_t at)
      : reach(p, from_its_end ? p.taps - 1 - danaus::ahead(p) : danaus::ahead(p)), flipped(from_its_end), begin(at) {
    // One pass has all gradients where there are no gates, whose own would need others.
    auto found = from_its_end && !p.pregate && !p.postgate ? find_direct(p, reach, true) : std::nullopt;
    if (!found) found = find_direct(p, reach, false);
    if (!found)
      found = find<toeplitz::Family>(toeplitz::kLines, p, [&](const toeplitz::Line& line) {
        return reach.taps <= toeplitz::Key{{}, {}, line.blocks}.most_taps();
      });
    if (!found) throw std::logic_error(text("shortconv: no line of the tables has ", reach.taps, " taps"));
    kernel = *found;
    if (!is_direct()) choose_streams(kernel, p.length);
    // Zeros that fill up the kernel's taps meet what is ahead: a gradient shows no NaN after its cause.
    if (is_direct() && p.channels_last && from_its_end) reach.delay_by(taps() - p.taps);
    words = is_direct() ? taps() * ((p.channels + 7) / 8 * 8) : 2 * pairs() * p.channels;
    words = (words + p.channels + 63) / 64 * 64;
  }
  std::uint32_t* filters(const Call& call) const { return prepared_at(call, begin); }
  float* biases(const Call& call, const ShortConvolution& p) const {
    return reinterpret_cast<float*>(prepared_at(call, begin + words)) - p.channels;
  }
};

class Arrangement final : public Step {
 public:
  Arrangement(const Case& asked, const ShortConvolution& p, const Filter& filter)
      : p_(p),
        filter_(filter),
        kernel_{short_filter::Family::name, 0, 2u * (p.dtype == Dtype::bf16) + (p.filter != Dtype::f32)},
        k_(array_of(asked.arrays(), "k")),
        bias_(array_of(asked.arrays(), "bias")),
        description_("filter of " + asked.token()) {}

  std::string_view name() const override { return "filter"; }
  void fit(const Machine& machine) override {
    blocks_ = machine.concurrent_blocks(kernel_, Path::threads, layout().threads, 0);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    short_filter::Arguments a{};
    a.k = at(call, k_), a.bias = at(call, bias_);
    a.filters = filter_.filters(call), a.biases = filter_.biases(call, p_);
    a.channels = static_cast<int>(p_.channels), a.count = static_cast<int>(p_.taps);
    a.delay = static_cast<int>(filter_.delay()), a.flipped = filter_.flipped;
    a.pairs = filter_.pairs(), a.taps = filter_.taps();
    const std::int64_t blocks = std::clamp<std::int64_t>(ratio_up(filter_.words, layout().threads), 1, blocks_);
    Launch launch = launch_of(kernel_, description_, blocks, layout().threads, 0, machine);
    launch.touches({"k", a.k, bytes(p_.filter) * p_.channels * p_.taps, false, false});
    if (a.bias) launch.touches({"bias", a.bias, bytes(p_.filter) * p_.channels, false, false});
    launch.touches({"filters", a.filters, 4 * filter_.words, true, false});
    launch.give(a);
    to(launch);
  }

 private:
  short_filter::Layout layout() const { return layout_of<short_filter::Family>(kernel_); }
  ShortConvolution p_;
  Filter filter_;
  KernelId kernel_;
  int k_, bias_;
  std::string description_;
  std::int64_t blocks_ = 1;
};

// Adds up what parts of a channel gave for dk and dbias.
class Total {
 public:
  Total(const ShortConvolution& p, const std::vector<Array>& arrays)
      : p_(p), dk_(array_of(arrays, "dk")), dbias_(array_of(arrays, "dbias")) {
    const auto is_total = [](const short_gradient::Line& line) { return line.total; };
    kernel_ = {short_gradient::Family::name,
               static_cast<std::size_t>(std::ranges::find_if(short_gradient::kLines, is_total) -
                                        short_gradient::kLines.begin())};
  }

  std::int64_t bytes(std::int64_t parts) const { return 4 * parts * sums(); }
  void fit(const Machine& machine) const {
    machine.concurrent_blocks(kernel_, Path::threads, layout().threads, layout().shared_bytes(0));
  }
  void bind(const Call& call, const Machine& machine, float* sums_of_parts, std::int64_t parts,
            std::string_view description, const LaunchTo& to) const {
    short_gradient::Arguments a{};
    a.sums = sums_of_parts, a.parts = static_cast<int>(parts);
    a.dk = static_cast<float*>(at(call, dk_)), a.dbias = static_cast<float*>(at(call, dbias_));
    a.channels = static_cast<int>(p_.channels), a.count = static_cast<int>(p_.taps);
    Launch add =
        launch_of(kernel_, description, ratio_up(sums(), 32), layout().threads, layout().shared_bytes(0), machine);
    add.touches({"sums", a.sums, bytes(parts), false, false});
    add.touches({"dk", a.dk, 4 * p_.channels * p_.taps, true, false});
    if (a.dbias) add.touches({"dbias", a.dbias, 4 * p_.channels, true, false});
    add.give(a);
    to(add);
  }

 private:
  short_gradient::Layout layout() const { return layout_of<short_gradient::Family>(kernel_); }
  std::int64_t sums() const { return p_.channels * (p_.taps + 1); }
  ShortConvolution p_;
  int dk_, dbias_;
  KernelId kernel_;
};

// One convolution: which arrays of the case it reads and writes, -1 where there is none.
struct Operands {
  int u, pregate, postgate, y;
  bool bias;
  int x = -1;  // of du with dk: the samples that the filter met
};

class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(const Case& asked, const ShortConvolution& p, const Filter& filter, const Operands& operands,
                  std::string_view what)
      : p_(p),
        filter_(filter),
        operands_(operands),
        line_(filter.is_direct() ? 0 : choose_line(p.length, wide())),
        variant_(filter.is_direct() ? OtherVariant(filter.kernel, few(), direct::name_of(few()),
                                                   few().shared_bytes(1 + (operands.pregate >= 0) +
                                                                      (operands.postgate >= 0 || operands.x >= 0)),
                                                   direct::kRoundings)
                                    : OtherVariant(filter.kernel, wide(), toeplitz::name_of(wide()), shared_bytes(),
                                                   toeplitz::kRoundings - (p.filter == p.dtype))),
        description_(text(what, " of ", asked.token(), ", ", variant_.name)) {
    if (filter.correlates()) total_.emplace(p, asked.arrays());
  }

  const Variant& variant() const { return variant_; }
  std::string_view name() const override { return "short convolution"; }
  void fit(const Machine& machine) override {
    if (variant_.shared_bytes > machine.device().block_bytes)
      fail("shortconv: ", variant_.name, " needs ", variant_.shared_bytes, " bytes of shared memory, a block has ",
           machine.device().block_bytes);
    // A device keeps one limit for a kernel: that of a plan for shorter lines is not to undercut another plan's.
    machine.concurrent_blocks(filter_.kernel, Path::threads, variant_.threads,
                              variant_.shared_bytes > 0 ? machine.device().block_bytes : 0);
    if (total_)
      total_->fit(machine);
    else if (filter_.is_direct())
      runs_of_channel_ = ratio_up(warps_at_once(machine, few().tuning), across());
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return total_ ? total_->bytes(parts(batch)) : 0; }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const Alignment alignment(p_, {at(call, operands_.u), at(call, operands_.pregate), at(call, operands_.postgate),
                                   at(call, operands_.y), at(call, operands_.x)});
    if (filter_.is_direct())
      bind_direct(call, machine, alignment, to);
    else
      bind_toeplitz(call, machine, alignment, to);
  }

 private:
  direct::Layout few() const { return layout_of<direct::Family>(filter_.kernel); }
  toeplitz::Layout wide() const { return layout_of<toeplitz::Family>(filter_.kernel); }
  int shared_bytes() const { return wide().streams * wide().stream(line_).bytes(); }

  static std::int64_t warps_at_once(const Machine& machine, const auto& tuning) {
    return std::int64_t{machine.device().multiprocessors} * tuning.blocks * tuning.warps;
  }

  void bind_direct(const Call& call, const Machine& machine, const Alignment& alignment, const LaunchTo& to) const {
    auto a = arguments<direct::Arguments>(call, alignment);
    const std::int64_t samples = run(call.batch);
    a.run = static_cast<int>(samples), a.runs = static_cast<int>(ratio_up(alignment.length, samples));
    a.parts = static_cast<int>(parts(call.batch));
    if (total_) a.x = at(call, operands_.x), a.sums = static_cast<float*>(call.workspace);
    const std::int64_t items = p_.channels_last ? a.parts * across()
                               : total_         ? a.parts * p_.channels
                                                : call.batch * p_.channels * a.runs;
    Launch launch = launch_of_rows(a, call, machine, ratio_up(items, few().tuning.warps));
    touch_rows(launch, "x", a.x, p_, call.batch);
    if (total_) launch.touches({"sums", a.sums, total_->bytes(a.parts), true, false});
    to(launch);
    if (total_) total_->bind(call, machine, a.sums, a.parts, description_, to);
  }

  void bind_toeplitz(const Call& call, const Machine& machine, const Alignment& alignment, const LaunchTo& to) const {
    auto a = arguments<toeplitz::Arguments>(call, alignment);
    const toeplitz::Layout layout = wide();
    a.line = line_, a.tiles = static_cast<int>(ratio_up(alignment.length, layout.stream(line_).samples()));
    // No longer runs than leave each warp of the device one.
    const std::int64_t tiles = call.batch * p_.channels * a.tiles, warps = warps_at_once(machine, layout.tuning);
    a.run = static_cast<int>(std::clamp<std::int64_t>(tiles / warps, 1, layout.tuning.run));
    to(launch_of_rows(a, call, machine,
                      p_.channels_last ? call.batch * a.tiles * ratio_up(p_.channels, layout.streams)
                                       : ratio_up(ratio_up(tiles, a.run), layout.tuning.warps)));
  }

  // What both families are given.
  template <class Arguments>
  Arguments arguments(const Call& call, const Alignment& alignment) const {
    Arguments a{};
    a.u = at(call, operands_.u), a.pregate = at(call, operands_.pregate);
    a.postgate = at(call, operands_.postgate), a.y = at(call, operands_.y);
    a.filters = reinterpret_cast<decltype(a.filters)>(filter_.filters(call));
    a.bias = operands_.bias ? filter_.biases(call, p_) : nullptr;
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p_.channels);
    a.count = static_cast<int>(p_.taps), a.delay = static_cast<int>(filter_.delay());
    a.length = static_cast<int>(p_.length), a.lead = static_cast<int>(filter_.reach.lead);
    a.shift = alignment.shift, a.transfer = alignment.transfer;
    return a;
  }
  template <class Arguments>
  Launch launch_of_rows(const Arguments& a, const Call& call, const Machine& machine, std::int64_t blocks) const {
    Launch launch = launch_of(filter_.kernel, description_, blocks, variant_.threads, variant_.shared_bytes, machine);
    touch_rows(launch, "u", a.u, p_, call.batch);
    touch_rows(launch, "pregate", a.pregate, p_, call.batch);
    touch_rows(launch, "postgate", a.postgate, p_, call.batch);
    launch.touches({"filters", a.filters, 4 * filter_.words, false, false});
    touch_rows(launch, "y", a.y, p_, call.batch, true);
    launch.give(a);
    return launch;
  }

  // Of direct kernels. Of [B, L, H]: warps side by side over the channels; samples of a warp's run, fewer where there
  // would be too few runs.
  std::int64_t across() const { return ratio_up(p_.channels, direct::kWarpChannels); }
  std::int64_t run(std::int64_t batch) const {
    std::int64_t samples = few().tuning.run;
    if (!p_.channels_last) return 8 * 32 * samples;
    while (samples > direct::kLeastRun && batch * ratio_up(p_.length, samples) < runs_of_channel_) samples /= 2;
    return samples;
  }
  std::int64_t parts(std::int64_t batch) const {
    const std::int64_t runs = batch * ratio_up(p_.length, run(batch));
    if (!total_) return runs;
    return std::min<std::int64_t>(runs, p_.channels_last ? direct::kMostPartsOfColumns : direct::kMostParts);
  }

  ShortConvolution p_;
  Filter filter_;
  Operands operands_;
  int line_;
  OtherVariant variant_;
  std::optional<Total> total_;
  // That are enough: of sums as many on every device, so that these are the same there; else for its warps.
  std::int64_t runs_of_channel_ = direct::kMostPartsOfColumns;
  std::string description_;
};

// dk and dbias.
class ShortCorrelation final : public Step {
 public:
  ShortCorrelation(const Case& asked, const ShortConvolution& p)
      : p_(p), reach_(p, danaus::ahead(p)), total_(p, asked.arrays()), description_("dk of " + asked.token()) {
    const std::vector<Array> arrays = asked.arrays();
    u_ = array_of(arrays, "u"), pregate_ = array_of(arrays, "pregate"), postgate_ = array_of(arrays, "postgate");
    dy_ = array_of(arrays, "dy");
    kernel_ = find<short_gradient::Family>(short_gradient::kLines, p, [&](const short_gradient::Line& line) {
                return reach_.taps <= short_gradient::Key{{}, {}, line.blocks}.most_taps();
              }).value();
    line_ = choose_line(p.length, kLeastLine, layout().tuning.line, layout().halo);
  }

  std::string_view name() const override { return "filter's gradient"; }
  void fit(const Machine& machine) override {
    if (const int needed = layout().shared_bytes(line_); needed > machine.device().block_bytes)
      fail("shortconvgrad: dk needs ", needed, " bytes of shared memory, a block has ", machine.device().block_bytes);
    machine.concurrent_blocks(kernel_, Path::threads, layout().threads, machine.device().block_bytes);
    total_.fit(machine);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override { return total_.bytes(parts(batch)); }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    short_gradient::Arguments a{};
    a.u = at(call, u_), a.dy = at(call, dy_), a.pregate = at(call, pregate_), a.postgate = at(call, postgate_);
    a.sums = static_cast<float*>(call.workspace);
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p_.channels);
    a.length = static_cast<int>(p_.length), a.count = static_cast<int>(p_.taps);
    a.lead = static_cast<int>(reach_.lead), a.delay = static_cast<int>(reach_.delay);
    const Alignment alignment(p_, {a.u, a.dy, a.pregate, a.postgate});
    a.shift = alignment.shift, a.transfer = alignment.transfer;
    a.line = line_, a.tiles = static_cast<int>(ratio_up(alignment.length, layout().u(line_).samples()));
    a.parts = static_cast<int>(parts(call.batch));

    const std::int64_t blocks = p_.channels_last ? a.parts * ratio_up(p_.channels, layout().tuning.warps)
                                                 : ratio_up(a.parts * p_.channels, layout().tuning.warps);
    Launch correlate =
        launch_of(kernel_, description_, blocks, layout().threads, layout().shared_bytes(line_), machine);
    touch_rows(correlate, "u", a.u, p_, call.batch);
    touch_rows(correlate, "dy", a.dy, p_, call.batch);
    touch_rows(correlate, "pregate", a.pregate, p_, call.batch);
    touch_rows(correlate, "postgate", a.postgate, p_, call.batch);
    correlate.touches({"sums", a.sums, total_.bytes(a.parts), true, false});
    correlate.give(a);
    to(correlate);
    total_.bind(call, machine, a.sums, a.parts, description_, to);
  }

 private:
  short_gradient::Layout layout() const { return layout_of<short_gradient::Family>(kernel_); }
  std::int64_t parts(std::int64_t batch) const {
    const std::int64_t streams = batch * ratio_up(p_.length, layout().u(line_).samples());
    return std::clamp<std::int64_t>(streams / short_gradient::kStreamsOfPart, 1, short_gradient::kMostParts);
  }

  ShortConvolution p_;
  Reach reach_;
  Total total_;
  int u_, pregate_, postgate_, dy_;
  KernelId kernel_;
  int line_ = 1;
  std::string description_;
};

void check(const ShortConvolution& p) {
  validate(p);
  if (bytes(p.dtype) != 2) fail("shortconv: dtype ", name(p.dtype), " has no kernel; f16 and bf16 have");
  for (const auto& [what, value] : {std::pair("L", p.length), {"B", p.batch}, {"H", p.channels}})
    if (value > kMostLength) fail("shortconv: no kernel for ", what, "=", value, "; there are some up to 2^30");
}

template <class Asked>
std::string layout_of(Asked asked, const Variant& variant) {
  if constexpr (requires { asked.forward; })
    asked.forward.batch = 1;
  else
    asked.batch = 1;
  return text(variant.name, '/', token(asked));
}

}  // namespace

Program make_short_program(const Case& asked, const ShortConvolution& p, const Device&) {
  check(p);
  const std::vector<Array> arrays = asked.arrays();
  const auto of = [&](std::string_view name) { return array_of(arrays, name); };
  const Filter filter(p, false, 0);
  auto step = std::make_unique<ConvolutionStep>(asked, p, filter,
                                                Operands{of("u"), of("pregate"), of("postgate"), of("y"), p.bias}, "y");
  Program program;
  program.variant = &step->variant();
  program.prepared_bytes = 4 * filter.words, program.layout = layout_of(p, step->variant());
  program.prepare.push_back(std::make_unique<Arrangement>(asked, p, filter));
  program.execute.push_back(std::move(step));
  return program;
}

// With g = v dy and c the convolution with the filter from its end on: du = w c(g), dw = u c(g), dv = dy (conv(w u, k)
// + bias).
Program make_short_backward_program(const Case& asked, const ShortBackward& backward, const Device&) {
  const ShortConvolution& p = backward.forward;
  check(p);
  const std::vector<Array> arrays = asked.arrays();
  const auto of = [&](std::string_view name) { return array_of(arrays, name); };
  const Filter filter(p, true, 0);
  Program program;
  program.prepared_bytes = 4 * filter.words;
  program.prepare.push_back(std::make_unique<Arrangement>(asked, p, filter));
  const auto add = [&](const Filter& by, const Operands& operands, std::string_view what) {
    auto step = std::make_unique<ConvolutionStep>(asked, p, by, operands, what);
    if (!program.variant) program.variant = &step->variant(), program.layout = layout_of(backward, step->variant());
    program.execute.push_back(std::move(step));
  };
  if (filter.correlates()) {
    add(filter, {of("dy"), -1, -1, of("du"), false, of("u")}, "gradients");
    return program;
  }
  add(filter, {of("dy"), of("postgate"), of("pregate"), of("du"), false}, "du");
  if (p.pregate) add(filter, {of("dy"), of("postgate"), of("u"), of("dpregate"), false}, "dpregate");
  if (p.postgate) {
    const Filter forward(p, false, filter.words);
    program.prepared_bytes += 4 * forward.words;
    program.prepare.push_back(std::make_unique<Arrangement>(asked, p, forward));
    add(forward, {of("u"), of("pregate"), of("dy"), of("dpostgate"), p.bias}, "dpostgate");
  }
  program.execute.push_back(std::make_unique<ShortCorrelation>(asked, p));
  return program;
}

}  // namespace danaus

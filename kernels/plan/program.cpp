#include "kernels/plan/program.hpp"

#include <algorithm>

#include "kernels/families/spectrum/family.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {
namespace {

// Where the arrays of a convolution stand among those of its case.
struct ConvolutionArrays {
  int u = -1, pregate = -1, postgate = -1, k = -1, y = -1;
  explicit ConvolutionArrays(const Case& asked) {
    const std::vector<Array> arrays = asked.arrays();
    const auto find = [&](std::string_view name) {
      const auto found = std::ranges::find(arrays, name, &Array::name);
      return found == arrays.end() ? -1 : static_cast<int>(found - arrays.begin());
    };
    u = find("u"), pregate = find("pregate"), postgate = find("postgate"), k = find("k"), y = find("y");
  }
};

void* at(const Call& call, int array) { return array < 0 ? nullptr : call.arrays[array]; }

// Spectra [H, N], of bf16 samples then the factors [H] of their channels; without an FFT the filter.
std::int64_t prepared_bytes_of(const Convolution& p, const Variant& variant) {
  if (variant.size == 0) return 4 * p.channels * p.filter_length;
  return 4 * p.channels * (variant.size + (p.dtype == Dtype::bf16));
}
float* factors_of(void* prepared, const Convolution& p, const Variant& variant) {
  return static_cast<float*>(prepared) + p.channels * variant.size;
}

// A filter's transform into the order of a convolution's kernel.
class Transform final : public Step {
 public:
  Transform(const Case& asked, const Variant& convolution, const Device& device, std::span<const std::uint8_t> kept)
      : problem_(*asked.as<Convolution>()),
        arrays_(asked),
        k_dtype_(asked.arrays().at(arrays_.k).dtype),
        convolution_(convolution),
        split_(spectrum::split_of(convolution.fold, convolution.size, device.block_bytes)),
        table_(spectrum::make_table(convolution, split_, kept)),
        description_("filter of " + asked.token() + " for " + convolution.name) {}

  std::string_view name() const override { return "filter"; }
  std::vector<std::uint32_t> constants() const override { return table_.words; }
  void fit(const Machine& machine) override {
    const spectrum::Layout layout = split_.layout();
    machine.concurrent_blocks(kernel(), Path::threads, layout.threads, layout.shared_bytes);
  }
  Launch bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants) const override {
    const Convolution& p = problem_;
    const spectrum::Layout layout = split_.layout();
    spectrum::Arguments a{};
    a.k = at(call, arrays_.k);
    a.entries = constants.data(), a.roots = constants.data() + table_.roots_at;
    if (table_.numbers_at >= 0) a.numbers = constants.data() + table_.numbers_at;
    if (table_.marks_at >= 0) a.marks = constants.data() + table_.marks_at;
    a.spectrum = static_cast<std::uint32_t*>(call.prepared);
    a.filter_length = p.filter_length;
    a.channels = static_cast<int>(p.channels), a.period = static_cast<int>(p.length);
    a.size = convolution_.size, a.parts = split_.parts;
    a.scale = static_cast<float>(convolution_.spectrum_scale());
    a.k_dtype = k_dtype_;
    if (p.dtype == Dtype::bf16) a.factors = factors_of(call.prepared, p, convolution_);
    a.circular = p.mode == Mode::circular, a.right_angle = convolution_.fold == Fold::right_angle;
    Launch launch;
    launch.description = description_;
    launch.kernel = kernel(), launch.path = Path::threads;
    launch.blocks = (p.channels * a.parts + layout.tuning.transforms - 1) / layout.tuning.transforms;
    launch.threads = layout.threads, launch.shared_bytes = layout.shared_bytes;
    launch.overlapping = machine.device().sm >= 90;
    launch.touches({"k", a.k, std::int64_t{bytes(k_dtype_)} * p.channels * p.filter_length, false, false});
    launch.touches({"table", a.entries, static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.touches({"spectrum", a.spectrum, prepared_bytes_of(p, convolution_), true, false});
    launch.give(a);
    return launch;
  }

 private:
  KernelId kernel() const { return {spectrum::Family::name, split_.line, 0}; }

  Convolution problem_;
  ConvolutionArrays arrays_;
  Dtype k_dtype_;
  const Variant& convolution_;
  spectrum::Split split_;
  spectrum::Table table_;
  std::string description_;
};

// A convolution in one launch.
class FusedConvolution final : public Step {
 public:
  FusedConvolution(const Case& asked, const Variant& variant)
      : problem_(*asked.as<Convolution>()),
        arrays_(asked),
        variant_(variant),
        description_(asked.token() + ", " + variant.name) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override { return variant_.make_tables(); }
  void fit(const Machine& machine) override {
    const auto fit = [&](Path path) { concurrent(path) = concurrent_blocks(machine, path); };
    fit(Path::threads);
    if (!machine.device().has_tensor_copies()) return;
    fit(Path::tensor);
    if (variant_.takes_any_alignment()) fit(Path::enclosing), fit(Path::overhang);
  }

  Launch bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants) const override {
    const Convolution& p = problem_;
    ConvolutionArguments a{};
    a.u = at(call, arrays_.u), a.y = at(call, arrays_.y);
    a.pregate = at(call, arrays_.pregate), a.postgate = at(call, arrays_.postgate);
    a.spectrum = static_cast<const std::uint32_t*>(call.prepared), a.tables = constants.data();
    if (p.dtype == Dtype::bf16 && variant_.size > 0) a.spectrum_factors = factors_of(call.prepared, p, variant_);
    a.batch = static_cast<int>(call.batch), a.channels = static_cast<int>(p.channels);
    a.length = static_cast<int>(p.length);
    a.transfer = choose_transfer(p, variant_, machine.device(), {a.u, a.y, a.pregate, a.postgate});
    const Path path = path_of(a.transfer);
    const Share share =
        variant_.share({variant_.items_of_channel(call.batch), p.channels, a.transfer, concurrent(path)});
    a.division = share.division;
    if (a.transfer == Transfer::tensor) {
      const TensorShape shape = variant_.tensor_shape(a.batch, a.channels, a.length);
      a.u_map = machine.make_tensor_map(shape, a.u);
      a.y_map = machine.make_tensor_map(shape, a.y);
      if (a.pregate) a.pregate_map = machine.make_tensor_map(shape, a.pregate);
      if (a.postgate) a.postgate_map = machine.make_tensor_map(shape, a.postgate);
    }
    if (encloses(path)) bind_enclosing(machine, a);
    Launch launch;
    launch.description = description_;
    launch.kernel = kernel(), launch.path = path;
    launch.blocks = share.blocks, launch.threads = variant_.threads, launch.shared_bytes = variant_.shared_bytes;
    launch.overlapping = machine.device().sm >= 90;
    const std::int64_t row_bytes = bytes(p.dtype) * call.batch * p.channels * p.length;
    const auto reads = [&](const char* name, const void* rows) {  // with what stands before, at aligned addresses
      launch.touches({name, samples_before(rows, a.shift), row_bytes + 2 * a.shift, false, false});
    };
    reads("u", a.u);
    launch.touches({"y", a.y, row_bytes, true, false});
    if (a.pregate) reads("pregate", a.pregate);
    if (a.postgate) reads("postgate", a.postgate);
    launch.touches({"spectrum", a.spectrum, prepared_bytes_of(p, variant_), false, false});
    launch.touches({"tables", a.tables, static_cast<std::int64_t>(constants.size_bytes()), false, true});
    launch.give(a);
    return launch;
  }

 private:
  std::int64_t& concurrent(Path path) { return concurrent_.at(static_cast<std::size_t>(path)); }
  std::int64_t concurrent(Path path) const { return concurrent_.at(static_cast<std::size_t>(path)); }

  static const void* samples_before(const void* rows, int samples) {
    return static_cast<const std::uint16_t*>(rows) - samples;
  }

  // Maps of the arrays from the aligned address before them on, as one sequence of samples, which the boxes of a slab
  // begin anywhere in.
  void bind_enclosing(const Machine& machine, ConvolutionArguments& a) const {
    const std::int64_t grain = variant_.tensor_grain(), reach = (a.length + 7 + grain - 1) / grain * grain;
    const std::int64_t rows = std::int64_t{a.batch} * a.channels;
    a.shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(a.u) % 16 / 2);
    const std::int64_t samples = a.shift + rows * a.length;
    a.late = samples - reach + 1;
    a.lines_begin = std::max<std::int64_t>(samples - kMapBlock, 0) / 8 * 8;
    TensorShape slab = variant_.tensor_shape(1, 1, static_cast<int>(reach));
    slab.extent[0] = std::min<std::uint64_t>(samples, kMapBlock + 64 * variant_.rows().slabs);
    slab.extent[3] = (samples + kMapBlock - 1) / kMapBlock, slab.stride[3] = kMapBlock;
    slab.extent[4] = 1, slab.stride[4] = kMapBlock, slab.box[3] = slab.box[4] = 1;
    const TensorShape line = {
        {static_cast<std::uint64_t>(samples - a.lines_begin), 1, 1, 1, 1}, {1, 64, 64, 64, 64}, {64, 1, 1, 1, 1}};
    const auto bind = [&](const void* data, TensorMap& map, TensorMap& line_map) {
      const void* begin = samples_before(data, a.shift);
      map = machine.make_tensor_map(slab, begin);
      line_map = machine.make_tensor_map(line, static_cast<const std::uint16_t*>(begin) + a.lines_begin);
    };
    bind(a.u, a.u_map, a.u_line);
    if (a.pregate) bind(a.pregate, a.pregate_map, a.pregate_line);
    if (a.postgate) bind(a.postgate, a.postgate_map, a.postgate_line);

    // Of y whole lines: in planes from the second on, and in the first those from the second on.
    const RowLayout& rows_of = variant_.rows();
    if (!rows_of.stores_in_bulk) return;
    a.whole_lines = static_cast<int>(a.length / grain);
    const auto part_of_y = [&](int planes, int lines, std::int64_t begin) {
      TensorShape part = slab;
      part.extent[1] = std::max(a.whole_lines - (rows_of.plane_lines - lines), 1), part.box[1] = lines;
      part.extent[2] = part.box[2] = planes;
      return machine.make_tensor_map(part, static_cast<const std::uint16_t*>(samples_before(a.y, a.shift)) + begin);
    };
    a.y_map = part_of_y(rows_of.planes - 1, rows_of.plane_lines, rows_of.plane_step);
    a.y_line = part_of_y(1, rows_of.plane_lines - 1, rows_of.line_step);
  }

  KernelId kernel() const { return {variant_.family, variant_.line, variant_.instance}; }
  std::int64_t concurrent_blocks(const Machine& machine, Path path) const {
    return machine.concurrent_blocks(kernel(), path, variant_.threads, variant_.shared_bytes);
  }

  Convolution problem_;
  ConvolutionArrays arrays_;
  const Variant& variant_;
  std::string description_;
  std::array<std::int64_t, kPaths> concurrent_{1, 1, 1, 1};  // blocks that the machine runs at once
};

}  // namespace

Transfer choose_transfer(const Convolution& p, const Variant& variant, const Device& device,
                         std::initializer_list<const void*> rows) {
  const auto shift_of = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 / 2; };  // samples
  const std::uintptr_t shift = rows.size() > 0 ? shift_of(*rows.begin()) : 0;
  const bool alike = std::ranges::all_of(rows, [&](const void* data) { return !data || shift_of(data) == shift; });
  const bool aligned = alike && shift == 0;
  const bool whole_lines = p.length % variant.tensor_grain() == 0;
  const bool addressable = 2 * p.length * p.channels < std::int64_t{1} << 40;  // by a tensor map
  if (device.has_tensor_copies() && addressable) {
    if (aligned && whole_lines) return Transfer::tensor;
    const std::int64_t before = p.length % 8 == 0 ? static_cast<std::int64_t>(shift) : 7;  // at most
    if (alike && variant.takes_any_alignment())
      return before + p.length > variant.size ? Transfer::overhang : Transfer::enclosing;
  }
  return aligned && p.length % 8 == 0 ? Transfer::vector : Transfer::element;
}

Program make_program(const Case& asked, const Device& device, std::span<const std::uint8_t> kept) {
  const Convolution* p = asked.as<Convolution>();
  if (!p) fail("plan: ", asked.token(), " is of an operation that has no kernel");
  const Variant& variant = choose(*p, device);
  if (p->mask.zeroed.empty() != kept.empty())
    fail("plan: the case removes ", p->mask.zeroed.empty() ? "no" : "some", " frequencies, but ", kept.size(),
         " marks of kept ones are given");
  Program program;
  program.variant = &variant;
  program.prepared_bytes = prepared_bytes_of(*p, variant);
  program.prepared_is_filter = variant.size == 0;
  if (variant.size > 0) program.prepare.push_back(std::make_unique<Transform>(asked, variant, device, kept));
  program.execute.push_back(std::make_unique<FusedConvolution>(asked, variant));
  return program;
}

}  // namespace danaus

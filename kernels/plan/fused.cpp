#include "kernels/plan/fused.hpp"

#include <algorithm>

namespace danaus {
namespace {

const void* samples_before(const void* rows, int samples) { return static_cast<const std::uint16_t*>(rows) - samples; }

class FusedConvolution final : public Step {
 public:
  FusedConvolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                   const SpectrumPlace& place, const Variant& variant, const LivePart& live)
      : problem_(problem),
        arrays_(arrays),
        place_(place),
        kernel_(variant, asked.token() + ", " + variant.name),
        live_(live) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override {
    std::vector<std::uint32_t> words = kernel_.variant().make_tables();
    words.insert(words.end(), live_.marks.begin(), live_.marks.end());
    return words;
  }
  void fit(const Machine& machine) override { kernel_.fit(machine); }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const Convolution& p = problem_;
    const int size = kernel_.variant().size;
    const std::int64_t spectrum_bytes =
        4 * p.channels * (size > 0 ? spectrum_numbers(kernel_.variant(), live_) : p.filter_length);
    ConvolutionArguments a = arguments_of_rows(call, p, arrays_, place_, constants);
    a.rows_apart = true;
    to(kernel_.launch(a, machine, spectrum_bytes, static_cast<std::int64_t>(constants.size_bytes())));
  }

 private:
  Convolution problem_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  FusedKernel kernel_;
  LivePart live_;  // of a sparse kernel
};

}  // namespace

Transfer choose_transfer(std::int64_t length, std::int64_t channels, const Variant& variant, const Device& device,
                         std::initializer_list<const void*> rows) {
  const auto shift_of = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 / 2; };  // samples
  const std::uintptr_t shift = rows.size() > 0 ? shift_of(*rows.begin()) : 0;
  const bool alike = std::ranges::all_of(rows, [&](const void* data) { return !data || shift_of(data) == shift; });
  const bool aligned = alike && shift == 0;
  const bool whole_lines = length % variant.tensor_grain() == 0;
  if (has_maps(device, length, channels)) {
    if (aligned && whole_lines) return Transfer::tensor;
    const std::int64_t before = length % 8 == 0 ? static_cast<std::int64_t>(shift) : 7;  // at most
    if (alike && variant.takes_any_alignment())
      return before + length > variant.size ? Transfer::overhang : Transfer::enclosing;
  }
  return aligned && length % 8 == 0 ? Transfer::vector : Transfer::element;
}

void FusedKernel::fit(const Machine& machine) {
  const auto fit = [&](Path path) {
    concurrent(path) = machine.concurrent_blocks(kernel(), path, variant_.threads, variant_.shared_bytes);
  };
  fit(Path::threads);
  if (!machine.device().has_tensor_copies()) return;
  fit(Path::tensor);
  if (variant_.takes_any_alignment()) fit(Path::enclosing), fit(Path::overhang);
}

Launch FusedKernel::launch(ConvolutionArguments a, const Machine& machine, std::int64_t spectrum_bytes,
                           std::int64_t table_bytes) const {
  a.transfer = choose_transfer(a.length, a.channels, variant_, machine.device(), {a.u, a.y, a.pregate, a.postgate});
  const std::int64_t row_bytes = std::int64_t{2} * a.batch * a.channels * a.length;
  if (a.transfer == Transfer::tensor) {
    const TensorShape shape = variant_.tensor_shape(a.batch, a.channels, a.length);
    return launch(a, {shape, shape, row_bytes, row_bytes}, machine, spectrum_bytes, table_bytes);
  }
  if (encloses(path_of(a.transfer))) bind_enclosing(machine, a);
  return launch_of(a, machine, row_bytes, row_bytes, spectrum_bytes, table_bytes);
}

Launch FusedKernel::launch(ConvolutionArguments a, const RowMaps& maps, const Machine& machine,
                           std::int64_t spectrum_bytes, std::int64_t table_bytes) const {
  a.transfer = Transfer::tensor;
  a.u_map = machine.make_tensor_map(maps.from, a.u);
  a.y_map = machine.make_tensor_map(maps.into, a.y);
  if (a.pregate) a.pregate_map = machine.make_tensor_map(maps.from, a.pregate);
  if (a.postgate) a.postgate_map = machine.make_tensor_map(maps.into, a.postgate);
  return launch_of(a, machine, maps.bytes_from, maps.bytes_into, spectrum_bytes, table_bytes);
}

Launch FusedKernel::launch_of(ConvolutionArguments& a, const Machine& machine, std::int64_t bytes_from,
                              std::int64_t bytes_into, std::int64_t spectrum_bytes, std::int64_t table_bytes) const {
  const Path path = path_of(a.transfer);
  const Share share = variant_.share({variant_.items_of_channel(a.batch), a.channels, a.transfer, concurrent(path)});
  a.division = share.division;
  if (a.row_pitch == 0)
    a.channel_pitch = a.length, a.row_pitch = std::int64_t{a.channels} * a.length, a.result_length = a.length;
  Launch launch =
      make_launch(machine, description_, kernel(), path, share.blocks, variant_.threads, variant_.shared_bytes);
  const auto reads = [&](const char* name, const void* rows, std::int64_t bytes) {
    // with what stands before, at aligned addresses
    launch.touches({name, samples_before(rows, a.shift), bytes + 2 * a.shift, false, false});
  };
  if (a.u != a.y) reads("u", a.u, bytes_from);
  launch.touches({"y", a.y, bytes_into, true, false});
  if (a.pregate) reads("pregate", a.pregate, bytes_from);
  if (a.postgate) reads("postgate", a.postgate, bytes_into);
  launch.touches({"spectrum", a.spectrum, spectrum_bytes, false, false});
  if (a.spectrum_factors) launch.touches({"factors", a.spectrum_factors, std::int64_t{4} * a.channels, false, false});
  if (a.spectrum_parts > 0 && a.spectrum_ranges)
    launch.touches({"ranges", a.spectrum_ranges, std::int64_t{8} * a.channels * a.spectrum_parts, false, false});
  launch.touches({"tables", a.tables, table_bytes, false, true});
  launch.give(a);
  return launch;
}

// Maps of the arrays from the aligned address before them on, as one sequence of samples, which the boxes of a slab
// begin anywhere in.
void FusedKernel::bind_enclosing(const Machine& machine, ConvolutionArguments& a) const {
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

std::unique_ptr<Step> make_fused_convolution(const Case& asked, const Convolution& problem,
                                             const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                             const Variant& variant, const LivePart& live) {
  return std::make_unique<FusedConvolution>(asked, problem, arrays, place, variant, live);
}

}  // namespace danaus

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

Transfer choose_transfer(const ConvolutionArguments& a, const Variant& variant, const Device& device) {
  const RowArray reads[] = {u_of(a), pregate_of(a), postgate_of(a)}, y = y_of(a);
  const auto shift_of = [](const RowArray& rows) {
    return reinterpret_cast<std::uintptr_t>(rows.data) % 16 / 2;  // samples
  };
  const std::uintptr_t shift = shift_of(reads[0]);
  const auto has_shift = [&](const RowArray& rows) { return !rows.data || shift_of(rows) == shift; };
  const auto has_strides_of_u = [&](const RowArray& rows) { return !rows.data || rows.strides == reads[0].strides; };
  const auto differ_by_chunks = [](long long one, long long other) { return (one - other) % 8 == 0; };
  const bool alike = std::ranges::all_of(reads, has_shift) && has_shift(y) &&
                     std::ranges::all_of(reads, has_strides_of_u) &&
                     differ_by_chunks(reads[0].strides.row, y.strides.row) &&
                     differ_by_chunks(reads[0].strides.channel, y.strides.channel);
  const bool aligned = are_aligned({reads[0], reads[1], reads[2], y});
  if (has_maps(device, {reads[0], reads[1], reads[2], y})) {
    if (aligned && a.length % variant.tensor_grain() == 0) return Transfer::tensor;
    const bool all_alike = reads[0].strides.row % 8 == 0 && reads[0].strides.channel % 8 == 0;
    const std::int64_t before = all_alike ? static_cast<std::int64_t>(shift) : 7;  // at most
    if (alike && variant.takes_any_alignment())
      return before + a.length > variant.size ? Transfer::overhang : Transfer::enclosing;
  }
  return aligned && a.length % 8 == 0 ? Transfer::vector : Transfer::element;
}

Transfer choose_transfer(std::int64_t length, std::int64_t channels, const Variant& variant, const Device& device) {
  ConvolutionArguments a{};
  a.length = static_cast<int>(length);
  a.u_strides = a.pregate_strides = a.postgate_strides = a.y_strides = contiguous(channels, length);
  return choose_transfer(a, variant, device);
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
  Launch launch = prepared(a, machine, spectrum_bytes, table_bytes);
  launch.give(a);
  return launch;
}

Launch FusedKernel::launch_filtered(ConvolutionArguments a, const float* taps, const float* bias,
                                    std::int64_t tap_count, const Machine& machine, std::int64_t spectrum_bytes,
                                    std::int64_t table_bytes) const {
  Launch launch = prepared(a, machine, spectrum_bytes, table_bytes);
  const std::int64_t filters = (1 + (a.pregate != nullptr) + (a.postgate != nullptr)) * a.channels;
  launch.touches({"taps", taps, 4 * filters * tap_count, false, false});
  if (bias) launch.touches({"bias", bias, 4 * filters, false, false});
  launch.give(FilteredArguments{a, taps, bias, static_cast<int>(tap_count)});
  return launch;
}

Launch FusedKernel::prepared(ConvolutionArguments& a, const Machine& machine, std::int64_t spectrum_bytes,
                             std::int64_t table_bytes) const {
  if (a.result_length == 0) a.result_length = a.length;
  a.transfer = choose_transfer(a, variant_, machine.device());
  const Path path = path_of(a.transfer);
  if (path == Path::tensor) bind_maps(machine, a);
  if (encloses(path)) bind_enclosing(machine, a);
  const Share share = variant_.share({variant_.items_of_channel(a.batch), a.channels, a.transfer, concurrent(path)});
  a.division = share.division;
  Launch launch =
      make_launch(machine, description_, kernel(), path, share.blocks, variant_.threads, variant_.shared_bytes);
  const auto bytes_of = [&](const RowArray& rows, int length) {
    return reach_of(rows.strides, a.batch, a.channels, length);
  };
  const auto reads = [&](const char* name, const RowArray& rows, int length) {
    // with what stands before, at aligned addresses
    launch.touches({name, samples_before(rows.data, a.shift), bytes_of(rows, length) + 2 * a.shift, false, false});
  };
  if (a.u != a.y) reads("u", u_of(a), a.length);
  launch.touches({"y", a.y, bytes_of(y_of(a), a.result_length), true, false});
  if (a.pregate) reads("pregate", pregate_of(a), a.length);
  if (a.postgate) reads("postgate", postgate_of(a), a.result_length);
  launch.touches({"spectrum", a.spectrum, spectrum_bytes, false, false});
  if (a.spectrum_factors) launch.touches({"factors", a.spectrum_factors, std::int64_t{4} * a.channels, false, false});
  if (a.spectrum_parts > 0 && a.spectrum_ranges)
    launch.touches({"ranges", a.spectrum_ranges, std::int64_t{8} * a.channels * a.spectrum_parts, false, false});
  launch.touches({"tables", a.tables, table_bytes, false, true});
  return launch;
}

void FusedKernel::bind_maps(const Machine& machine, ConvolutionArguments& a) const {
  const auto bind = [&](const RowArray& rows, int length, TensorMap& map) {
    if (rows.data)
      map = machine.make_tensor_map(variant_.tensor_shape(a.batch, a.channels, length, rows.strides), rows.data);
  };
  bind(u_of(a), a.length, a.u_map), bind(pregate_of(a), a.length, a.pregate_map);
  bind(postgate_of(a), a.result_length, a.postgate_map), bind(y_of(a), a.result_length, a.y_map);
}

// Maps of the arrays from the aligned address before them on, as one sequence of samples, which the boxes of a slab
// begin anywhere in.
void FusedKernel::bind_enclosing(const Machine& machine, ConvolutionArguments& a) const {
  const std::int64_t grain = variant_.tensor_grain(), reach = (a.length + 7 + grain - 1) / grain * grain;
  a.shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(a.u) % 16 / 2);
  const auto sequence_of = [&](std::int64_t samples) {
    TensorShape slab = variant_.tensor_shape(1, 1, static_cast<int>(reach), contiguous(1, reach));
    slab.extent[0] = std::min<std::uint64_t>(samples, kMapBlock + 64 * variant_.rows().slabs);
    slab.extent[3] = (samples + kMapBlock - 1) / kMapBlock, slab.stride[3] = kMapBlock;
    slab.extent[4] = 1, slab.stride[4] = kMapBlock, slab.box[3] = slab.box[4] = 1;
    return slab;
  };
  const auto samples_of = [&](const RowStrides& strides) {
    return a.shift + reach_of(strides, a.batch, a.channels, a.length) / 2;
  };
  const std::int64_t samples = samples_of(a.u_strides);
  a.late = samples - reach + 1;
  a.lines_begin = std::max<std::int64_t>(samples - kMapBlock, 0) / 8 * 8;
  const TensorShape slab = sequence_of(samples);
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
    TensorShape part = sequence_of(samples_of(a.y_strides));
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

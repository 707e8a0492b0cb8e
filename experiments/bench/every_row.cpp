#include "experiments/bench/every_row.hpp"

#include <optional>

#include "experiments/methods/as_convolution.hpp"
#include "experiments/methods/rearranged.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/row_terms.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus {
namespace {

struct Other {
  const Method& method;
  Case asked;
};

const Convolution* masked_case(const Case& asked) {
  const auto* p = asked.as<Convolution>();
  return p && !p->mask.empty() ? p : nullptr;
}

// The circular convolution by what the mask leaves of the filter, which has N taps.
Case by_masked_filter(const Convolution& p) {
  if (p.mode != Mode::circular || resolved(p).fft_size != p.length)
    fail("rows of ", p.length, " samples, masked at N=", resolved(p).fft_size, ": no other method knows masks");
  Convolution by = *subject_of(p, "bench")->however_computed(true).as<Convolution>();
  by.mask = {}, by.filter_length = p.length;
  return by;
}

// That filter, made on the host of filters in fp32.
MakeFilter masked_filter(const Convolution& p) {
  const auto taps = std::make_shared<DeviceBuffer<float>>();
  const int number = array_of(arrays(p), "k");
  return [=](const DeviceArrays& at, Stream stream) -> void* {
    std::vector<float> k(static_cast<std::size_t>(p.channels * p.filter_length));
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    DANAUS_CUDA(cudaMemcpy(k.data(), at[number], sizeof(float) * k.size(), cudaMemcpyDeviceToHost));
    const std::vector<double> masked = masked_filters(p, std::vector<double>(k.begin(), k.end()));
    *taps = uploaded(std::vector<float>(masked.begin(), masked.end()));
    return taps->data();
  };
}

// Who computes the same by other means; nothing where nobody does, and why.
std::optional<Other> other_than(const Method& method, const Case& asked, const Device& device, std::string& why) {
  const Convolution* masked = masked_case(asked);
  const bool by_baseline = method.name == kPlan;
  const Other other{timed_method(!by_baseline           ? kPlan
                                 : asked.as<Spectral>() ? "cufft_cublas_f32"
                                                        : "cufft_f32"),
                    masked ? by_masked_filter(*masked) : subject_of(asked, "bench")->however_computed(by_baseline)};
  const auto refusal = obstacle(other.method, other.asked, device);
  if (!refusal) return other;
  why = *refusal;
  return std::nullopt;
}

std::unique_ptr<Runner> make_other(const Case& asked, const Other& other, const Device& device) {
  auto runner = make_runner(other.method, other.asked, device);
  if (const Convolution* masked = masked_case(asked))
    return as_convolution(asked, other.asked, std::move(runner), masked_filter(*masked));
  return other.method.name == kPlan ? std::move(runner) : rearranged(asked, other.asked, std::move(runner));
}

// Rows that are compared by themselves: those of an output or, where channels are last or rows are very many, so many
// that lie together.
struct Pieces {
  explicit Pieces(const Array& output) : order(row_order(output)) {
    constexpr std::int64_t kMostPieces = 1 << 16;
    const std::int64_t blocks = order.rows() / order.inner;
    blocks_of_piece = (blocks + kMostPieces - 1) / kMostPieces;
    numbers = blocks_of_piece * order.length * order.inner;
    count = (output.size() + numbers - 1) / numbers;
  }
  std::string place(std::int64_t piece) const { return order.place(piece * blocks_of_piece * order.inner); }

  RowOrder order;
  std::int64_t blocks_of_piece, numbers, count;
};

// Of one output in all sets.
struct Compared {
  std::string_view output;
  double bound;
  Difference all{};
  std::int64_t samples = 0;
  RowVerdict row;

  void add(const std::vector<Difference>& pieces, const Pieces& of, std::int64_t set, double excess) {
    Difference whole{};
    for (const Difference& piece : pieces) whole.merge(piece);
    all.merge(whole);
    // Rows of noise are as loud as each other; what few samples are louder by is in their bound.
    const double rms = std::sqrt(whole.expected_square / static_cast<double>(of.count));
    const double allowed = bound * excess * excess_of_few(static_cast<double>(of.numbers));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const double size = std::max(std::sqrt(pieces[i].expected_square), rms);
      const double error = pieces[i].error_square == 0 ? 0 : std::sqrt(pieces[i].error_square) / size;
      const double taken = pieces[i].nonfinite > 0 ? INFINITY : share(error, allowed);
      if (row.place.empty() || taken > row.clearance)
        row = {static_cast<std::int64_t>(i),
               text(of.place(static_cast<std::int64_t>(i)), ", set ", set),
               error,
               allowed,
               taken,
               ""};
    }
  }
  static double share(double error, double bound) { return error == 0 ? 0 : error / bound; }
  double clearance() const {
    if (all.nonfinite > 0) return INFINITY;
    return std::max({share(all.rel_l2(), bound), share(all.rel_max(), bound_max(bound, samples)), row.clearance});
  }
};

Json verdict_of(const Compared& worst, const Sets& sets, std::int64_t rows, std::string_view against) {
  const Difference& all = worst.all;
  const RowVerdict& row = worst.row;
  Json fields = {
      {"against", against},
      {"rows", rows * sets.count()},
      {"sets", sets.count()},
      {"rel_l2", all.rel_l2()},
      {"rel_max", all.rel_max()},
      {"bound", worst.bound},
      {"row", {{"place", row.place}, {"error", row.error}, {"bound", row.bound}, {"clearance", row.clearance}}}};
  if (all.nonfinite > 0)
    fields["reason"] =
        text(all.nonfinite, " numbers of ", worst.output, " of all sets are not finite, the first at ", row.place);
  else if (!(row.clearance <= 1))
    fields["reason"] = text(worst.output, " at ", row.place, " differs from ", against, " by ", row.error,
                            ", must be at most ", row.bound);
  else if (!(worst.clearance() <= 1))
    fields["reason"] = text("in all rows of all sets ", worst.output, " differs from ", against, " by ", all.rel_l2(),
                            " (L2) and ", all.rel_max(), " (largest), must be at most ", worst.bound, " and ",
                            bound_max(worst.bound, worst.samples));
  return fields;
}

// Of each piece of an output in one set.
std::vector<Difference> differences(const Array& output, const Pieces& pieces, const void* judged, const void* expected,
                                    Stream stream) {
  std::vector<Difference> all(static_cast<std::size_t>(pieces.count));
  const DeviceBuffer<Difference> buffer = uploaded(all);
  for (std::int64_t i = 0; i < pieces.count; ++i) {
    const std::int64_t first = i * pieces.numbers, offset = bytes(output.dtype) * first;
    add_difference(output.dtype, static_cast<const std::byte*>(judged) + offset,
                   static_cast<const std::byte*>(expected) + offset, std::min(pieces.numbers, output.size() - first),
                   buffer.data() + i, stream);
  }
  DANAUS_CUDA(cudaStreamSynchronize(stream));
  DANAUS_CUDA(cudaMemcpy(all.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return all;
}

}  // namespace

Json compare_every_row(const Sets& sets, const Method& method, const Runner& runner, const Device& device,
                       std::int64_t rows, const std::function<double(std::string_view)>& size_of_sums,
                       Stream stream) try {
  std::string why;
  const auto other = runner.computes() ? other_than(method, sets.asked(), device, why)
                                       : std::optional<Other>({timed_method(kCopy), sets.asked()});
  if (!other) return {{"skipped", why}};
  const std::vector<Array>& arrays = sets.arrays();
  std::vector<DeviceBuffer<std::byte>> outputs(arrays.size());
  std::vector<Compared> compared(arrays.size());
  const auto reference = runner.computes() ? make_other(sets.asked(), *other, device) : nullptr;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].role == Role::output) {
      if (reference)
        outputs[i] = room_for<std::byte>(bytes(arrays[i].dtype) * arrays[i].size(), "an output of another method");
      const double bound =
          reference ? kUsualShare * (runner.bound(arrays[i].name) + reference->bound(arrays[i].name)) : 0;
      compared[i] = {.output = arrays[i].name, .bound = bound * size_of_sums(arrays[i].name)};
    }
  if (reference) reference->set_filters(other->method.name == kPlan ? sets.filters() : sets.filters_in_f32(), stream);
  const bool in_pairs = runner.promise().shared_rows != 1 || (reference && reference->promise().shared_rows != 1);
  for (std::int64_t set = 0; set < sets.count(); ++set) {
    const DeviceArrays judged = sets.set(set);
    DeviceArrays expected = judged;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i].role == Role::output) expected[i] = reference ? outputs[i].data() : judged[array_of(arrays, "u")];
    if (reference) reference->launch(expected, stream);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].role != Role::output) continue;
      const Pieces pieces(arrays[i]);
      compared[i].add(differences(arrays[i], pieces, judged[i], expected[i], stream), pieces, set,
                      in_pairs ? kPairExcess : 1);
      compared[i].samples += arrays[i].size();
    }
  }
  const Compared* worst = nullptr;
  for (const Compared& here : compared)
    if (!here.output.empty() && (!worst || here.clearance() > worst->clearance())) worst = &here;
  return verdict_of(*worst, sets, rows, reference ? other->method.name : "u");
} catch (const std::invalid_argument& refusal) {
  return {{"skipped", refusal.what()}};  // too little memory for another method
}

std::vector<unsigned long long> checksums(const Sets& sets, std::int64_t set, Stream stream) {
  std::vector<unsigned long long> sums(sets.arrays().size());
  const DeviceBuffer<unsigned long long> buffer = uploaded(sums);
  const DeviceArrays at = sets.set(set);
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (const Array& array = sets.arrays()[i]; array.role == Role::output)
      add_checksum(at[i], bytes(array.dtype) * array.size(), buffer.data() + i, stream);
  DANAUS_CUDA(cudaStreamSynchronize(stream));
  DANAUS_CUDA(cudaMemcpy(sums.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return sums;
}

}  // namespace danaus

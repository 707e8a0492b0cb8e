#include "experiments/bench/every_row.hpp"

#include <array>
#include <optional>

#include "reference/bounds.hpp"

namespace danaus {
namespace {

// What is computed, whatever was said about how.
Convolution what_is_asked(const Convolution& problem) {
  Convolution p = problem;
  p.fold.reset(), p.fft_size = 0, p.factors.clear();
  return p;
}

struct Other {
  Contender contender;
  Convolution problem;
};

// Who computes the same by other means; nothing where nobody does, and why.
std::optional<Other> other_than(Contender contender, const Convolution& problem, const Device& device,
                                std::string& why) {
  Other other{contender == Contender::kernel ? Contender::cufft_f32 : Contender::kernel, what_is_asked(problem)};
  if (other.contender == Contender::cufft_f32) other.problem.filter = Dtype::f32;  // of the rounded values
  const auto refusal = obstacle(other.contender, other.problem, device);
  if (!refusal) return other;
  why = *refusal;
  return std::nullopt;
}

Json verdict_of(const Difference& all, double bound, const Sets& sets, std::string_view against) {
  const Convolution& p = sets.problem();
  const std::int64_t rows = p.batch * p.channels * sets.count(), samples = rows * p.length;
  Json fields = {{"against", against},       {"rows", rows},  {"sets", sets.count()}, {"rel_l2", all.rel_l2()},
                 {"rel_max", all.rel_max()}, {"bound", bound}};
  if (all.nonfinite > 0)
    fields["reason"] = text(all.nonfinite, " samples of all sets are not finite");
  else if (!(all.rel_l2() <= bound) || !(all.rel_max() <= bound_max(bound, samples)))
    fields["reason"] = text("in all rows of all sets y differs from ", against, " by ", all.rel_l2(), " (L2) and ",
                            all.rel_max(), " (largest), must be at most ", bound, " and ", bound_max(bound, samples));
  return fields;
}

Difference fetched(const DeviceBuffer<Difference>& buffer, Stream stream) {
  Difference difference{};
  DANAUS_CUDA(cudaStreamSynchronize(stream));
  DANAUS_CUDA(cudaMemcpy(&difference, buffer.data(), sizeof(difference), cudaMemcpyDeviceToHost));
  return difference;
}

}  // namespace

Json compare_every_row(const Sets& sets, Contender contender, const Runner& runner, const Device& device,
                       Stream stream) try {
  const Convolution& p = sets.problem();
  const DeviceBuffer<Difference> all = uploaded(std::array{Difference{}});
  if (!runner.convolves()) {
    for (std::int64_t i = 0; i < sets.count(); ++i)
      add_difference(p.dtype, sets.set(i).y, sets.set(i).u, sets.samples(), all.data(), stream);
    return verdict_of(fetched(all, stream), 0, sets, "u");
  }
  std::string why;
  const auto other = other_than(contender, p, device, why);
  if (!other) return {{"skipped", why}};
  const auto y = room_for<std::uint16_t>(sets.samples(), "y of another method");
  const auto reference = make_runner(other->contender, other->problem, device);
  reference->set_filter(other->contender == Contender::kernel ? sets.k() : sets.k_in_f32(), stream);
  for (std::int64_t i = 0; i < sets.count(); ++i) {
    DeviceArrays arrays = sets.set(i);
    const std::uint16_t* const judged = arrays.y;
    arrays.y = y.data();
    reference->launch(arrays, stream);
    add_difference(p.dtype, judged, y.data(), sets.samples(), all.data(), stream);
  }
  return verdict_of(fetched(all, stream), kUsualShare * (runner.bound() + reference->bound()), sets,
                    name_in(kContenders, other->contender));
} catch (const std::invalid_argument& refusal) {
  return {{"skipped", refusal.what()}};  // too little memory for another method
}

std::vector<unsigned long long> checksums(const Sets& sets, Stream stream) {
  std::vector<unsigned long long> sums(static_cast<std::size_t>(sets.count()));
  const DeviceBuffer<unsigned long long> buffer = uploaded(sums);
  for (std::int64_t i = 0; i < sets.count(); ++i)
    add_checksum(sets.set(i).y, sets.samples(), buffer.data() + i, stream);
  DANAUS_CUDA(cudaStreamSynchronize(stream));
  DANAUS_CUDA(cudaMemcpy(sums.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return sums;
}

}  // namespace danaus

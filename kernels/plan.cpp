#include "kernels/plan.hpp"

#include <utility>

#include "kernels/backend.hpp"
#include "kernels/geometry.hpp"
#include "kernels/spectrum_table.hpp"

namespace danaus {
namespace {

std::unique_ptr<Backend> make_backend(const Convolution& problem, const Device& device, const Choice& choice,
                                      std::span<const std::uint8_t> kept) {
  if (problem.mask.zeroed.empty() != kept.empty())
    fail("plan: the case removes ", problem.mask.zeroed.empty() ? "no" : "some", " frequencies, but ", kept.size(),
         " marks of kept ones are given");
  const Geometry& geometry = choice.variant->geometry;
  Setup setup{problem, choice, device, make_tables(geometry), make_spectrum_table(geometry, kept)};
#if DANAUS_CUDA_ENABLED
  if (device.kind == Device::Kind::cuda) return make_cuda_backend(std::move(setup));
#endif
  return make_executor_backend(std::move(setup));
}

struct Range {
  const char* name;
  const void* data;
  std::size_t bytes;
  bool overlaps(const Range& other) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data),
               other_begin = reinterpret_cast<std::uintptr_t>(other.data);
    return begin < other_begin + other.bytes && other_begin < begin + bytes;
  }
};

}  // namespace

Plan::Plan(const Convolution& problem, const Device& device, std::span<const std::uint8_t> kept)
    : problem_(problem),
      device_(device),
      choice_(choose(problem, device)),
      backend_(make_backend(problem, device, choice_, kept)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::optional<host::Counters> Plan::set_filter(std::span<const float> k, Stream stream) {
  constexpr const char* kOperation = "set_filter";
  if (!k.data()) fail(kOperation, ": k is null");
  if (std::ssize(k) != problem_.channels * problem_.filter_length)
    fail(kOperation, ": k has ", k.size(), " samples, the plan needs H*K = ", problem_.channels, '*',
         problem_.filter_length);
  if (reinterpret_cast<std::uintptr_t>(k.data()) % alignof(float) != 0)
    fail(kOperation, ": k is not aligned to its 4 bytes");
  backend_->check_stream(kOperation, stream);
  auto counters = backend_->transform_filter(k.data(), stream);
  has_filter_ = true;
  return counters;
}

std::optional<host::Counters> Plan::execute(Samples u, OutputSamples y, Samples pregate, Samples postgate,
                                            Stream stream) const {
  constexpr const char* kOperation = "execute";
  const auto range = [&](const char* what, Samples samples) {
    if (!samples.data()) fail(kOperation, ": ", what, " is null");
    if (std::ssize(samples) != problem_.batch * problem_.channels * problem_.length)
      fail(kOperation, ": ", what, " has ", samples.size(), " samples, the plan needs B*H*L = ", problem_.batch, '*',
           problem_.channels, '*', problem_.length);
    if (reinterpret_cast<std::uintptr_t>(samples.data()) % 2 != 0)
      fail(kOperation, ": ", what, " is not aligned to its 2 bytes");
    return Range{what, samples.data(), samples.size_bytes()};
  };
  if (!has_filter_) fail(kOperation, ": the plan has no filter yet; call set_filter first");
  const Range output = range("y", y);
  std::vector<Range> inputs = {range("u", u)};
  const auto gate = [&](const char* what, Samples samples, bool wanted) {
    const bool given = samples.data() || !samples.empty();
    if (wanted && !given) fail(kOperation, ": the plan has a ", what, ", but none is given");
    if (!wanted && given) fail(kOperation, ": a ", what, " is given, but the plan has none");
    if (wanted) inputs.push_back(range(what, samples));
  };
  gate("pregate", pregate, problem_.pregate);
  gate("postgate", postgate, problem_.postgate);
  for (const Range& input : inputs)
    if (output.overlaps(input)) fail(kOperation, ": y overlaps ", input.name);
  inputs.push_back(output);
  for (const Range& memory : inputs) backend_->check_memory(kOperation, memory.name, memory.data);
  backend_->check_stream(kOperation, stream);
  return backend_->execute({u.data(), y.data(), pregate.data(), postgate.data()}, stream);
}

PlanBytes plan_bytes(const Convolution& problem, const Device& device) {
  const Geometry& geometry = choose(problem, device).variant->geometry;
  const std::size_t words = make_tables(geometry).size() + make_spectrum_table(geometry, {}).size();
  return {4 * problem.channels * geometry.size(), static_cast<std::int64_t>(4 * words)};
}

std::string Plan::description() const {
  const Variant& v = variant();
  return text(name(v), ": N=", v.size(), " = ", join(factors(v.geometry), " x "), ", ", v.threads, " threads and ",
              v.shared_bytes, " bytes of shared memory a block, on ", device_.name);
}

#if !DANAUS_CUDA_ENABLED
Device Device::cuda(int ordinal) { fail("device: CUDA device ", ordinal, " is asked for, but this build has no CUDA"); }
int Device::cuda_count() { return 0; }
#endif

}  // namespace danaus

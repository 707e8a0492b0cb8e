// Plans on the executor. Each call has an executor of its own, so that any number of threads may execute.
#include "kernels/backend.hpp"

#include <utility>

#include "kernels/executor/aligned.hpp"
#include "kernels/executor/tensor_view.hpp"
#include "kernels/launch.hpp"
#include "kernels/spectrum_table.hpp"

namespace danaus {
namespace {

TensorMap make_map(const TensorShape& shape, const void* data) {
  host::TensorView view;
  view.base = const_cast<void*>(data);
  view.extent = shape.extent;
  view.box = shape.box;
  for (int d = 0; d < host::TensorView::kRank; ++d) view.stride_bytes[d] = 2 * shape.stride[d];
  return host::make_tensor_map(view);
}

class ExecutorBackend final : public Backend {
 public:
  explicit ExecutorBackend(Setup setup)
      : s_(std::move(setup)),
        tables_(std::span(std::as_const(s_.tables))),
        spectrum_table_(std::span(std::as_const(s_.spectrum_table))),
        spectrum_(s_.problem.channels * s_.size()) {}

  void check_memory(const char*, const char*, const void*) const override {}

  void check_stream(const char* operation, Stream stream) const override {
    if (stream) fail(operation, ": a CUDA stream is given, but the plan is for the executor");
  }

  std::optional<host::Counters> transform_filter(const float* k, Stream) override {
    const Convolution& p = s_.problem;
    const int parts = spectrum_parts(s_.size());
    host::Executor executor;
    executor.declare("k", k, sizeof(float) * p.channels * p.filter_length, false);
    executor.declare("table", spectrum_table_.data(), spectrum_table_.bytes(), false);
    executor.declare("spectrum", spectrum_.data(), spectrum_.bytes(), true);
    const SpectrumArguments a = make_spectrum_arguments(s_, k, spectrum_table_.data(), spectrum_.data(), parts);
    return run(executor, p.channels * parts, spectrum::kThreads, spectrum::kPointBytes * s_.size() / parts,
               token(p) + ", filter",
               [&] { p.dtype == Dtype::f16 ? filter_spectrum<Dtype::f16>(a) : filter_spectrum<Dtype::bf16>(a); });
  }

  std::optional<host::Counters> execute(const Rows& rows, Stream) const override {
    const Convolution& p = s_.problem;
    const Variant& v = *s_.choice.variant;
    const std::size_t bytes = bytes_of_rows();
    host::Executor executor;
    // The launch overlaps with the one before it, which may be making all of these.
    executor.declare("u", rows.u, bytes, false, true);
    executor.declare("y", rows.y, bytes, true, true);
    if (p.pregate) executor.declare("pregate", rows.pregate, bytes, false, true);
    if (p.postgate) executor.declare("postgate", rows.postgate, bytes, false, true);
    executor.declare("spectrum", spectrum_.data(), spectrum_.bytes(), false, true);
    executor.declare("tables", tables_.data(), tables_.bytes(), false);
    const Spread over = spread(s_, choose_transfer(s_, rows), s_.device.blocks);
    const FusedArguments a = make_arguments(s_, rows, spectrum_.data(), tables_.data(), over, make_map);
    const auto name_of = [](Transfer transfer) {
      return transfer == Transfer::tensor ? "tensor" : transfer == Transfer::vector ? "vector" : "element";
    };
    const std::string description =
        text(token(p), ", ", name(v), ", transfer ", name_of(a.transfer), ", ", over.blocks, " blocks, ",
             s_.device.order == host::Order::random ? "random" : "ascending", " order, seed ", s_.device.seed,
             ", u at ", reinterpret_cast<std::uintptr_t>(rows.u) % 16, " modulo 16 bytes");
    return run(executor, over.blocks, v.threads, v.shared_bytes, description, [&] { v.host(&a); });
  }

 private:
  std::size_t bytes_of_rows() const {
    return bytes(s_.problem.dtype) * s_.problem.batch * s_.problem.channels * s_.problem.length;
  }

  host::Counters run(host::Executor& executor, std::int64_t blocks, int threads, int shared_bytes,
                     const std::string& description, const std::function<void()>& kernel) const {
    return executor.run({.blocks = static_cast<int>(blocks),
                         .threads = threads,
                         .shared_bytes = shared_bytes,
                         .order = s_.device.order,
                         .seed = s_.device.seed,
                         .description = description},
                        kernel);
  }

  Setup s_;
  host::AlignedArray<u32> tables_, spectrum_table_, spectrum_;
};

}  // namespace

std::unique_ptr<Backend> make_executor_backend(Setup setup) {
  return std::make_unique<ExecutorBackend>(std::move(setup));
}

}  // namespace danaus

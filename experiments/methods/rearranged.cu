#include <algorithm>

#include "experiments/methods/baselines/elementwise.cuh"
#include "experiments/methods/rearranged.hpp"
#include "experiments/timing/device_memory.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/bounds.hpp"

namespace danaus {
namespace {

// out [n, columns, rows] = in [n, rows, columns]
template <class In, class Out>
__global__ void rearrange(const In* in, Out* out, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = first; i < n * rows * columns; i += step) {
    const std::int64_t row = i % rows, column = i / rows % columns, matrix = i / rows / columns;
    out[i] = Out(float(in[(matrix * rows + row) * columns + column]));
  }
}

class Rearranged final : public Runner {
 public:
  Rearranged(const Case& asked, const Case& by, std::unique_ptr<Runner> runner)
      : arrays_(asked.arrays()), others_(by.arrays()), runner_(std::move(runner)) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array &array = arrays_[i], &other = others_.at(i);
      if (array.name != other.name || array.size() != other.size())
        throw std::logic_error(text(by.token(), " is no other form of ", asked.token(), ": ", array.name));
      const bool differs = array.role != Role::filter && (array.dtype != other.dtype || array.extents != other.extents);
      copies_.push_back(
          room_for<std::byte>(differs ? bytes(other.dtype) * other.size() : 0, "an array in another form"));
    }
  }

  void set_filters(const DeviceArrays& arrays, Stream stream) override { runner_->set_filters(arrays, stream); }
  void launch(const DeviceArrays& arrays, Stream stream) override {
    DeviceArrays at = arrays;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (copies_[i].size() == 0) continue;
      at[i] = copies_[i].data();
      if (arrays_[i].role == Role::input) bring(arrays_[i], arrays[i], others_[i], at[i], stream);
    }
    runner_->launch(at, stream);
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].role == Role::output && copies_[i].size() > 0)
        bring(others_[i], copies_[i].data(), arrays_[i], arrays[i], stream);
  }
  std::string variant() const override { return runner_->variant(); }
  std::int64_t fft_size() const override { return runner_->fft_size(); }
  Promise promise() const override { return runner_->promise(); }
  // And the rounding to the case's type, where the runner has another.
  double bound(std::string_view output) const override {
    const int i = array_of(arrays_, output);
    const bool is_rounded = arrays_[i].dtype != others_[i].dtype;
    return runner_->bound(output) + (is_rounded ? bound_l2_of_roundings(arrays_[i].dtype, 1) : 0);
  }

 private:
  // Where extents differ, the last two have changed places.
  static void bring(const Array& from, const void* in, const Array& to, void* out, Stream stream) {
    const bool turned = from.extents != to.extents;
    const std::int64_t columns = turned ? from.extents.back() : 1;
    const std::int64_t rows = turned ? from.extents.at(from.extents.size() - 2) : 1;
    constexpr std::int64_t kThreads = 256, kMostBlocks = 4096;
    const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (from.size() + kThreads - 1) / kThreads));
    const auto launch = [&]<class In, class Out>(In, Out) {
      rearrange<<<blocks, kThreads, 0, stream>>>(static_cast<const In*>(in), static_cast<Out*>(out),
                                                 from.size() / rows / columns, rows, columns);
    };
    with_half_type(from.dtype == Dtype::f32 ? to.dtype : from.dtype, [&]<class T>() {
      if (from.dtype == Dtype::f32)
        launch(float(), T());
      else if (to.dtype == Dtype::f32)
        launch(T(), float());
      else
        launch(T(), T());
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  std::vector<Array> arrays_, others_;
  std::unique_ptr<Runner> runner_;
  std::vector<DeviceBuffer<std::byte>> copies_;  // empty where the array serves as it is
};

}  // namespace

std::unique_ptr<Runner> rearranged(const Case& asked, const Case& by, std::unique_ptr<Runner> runner) {
  return std::make_unique<Rearranged>(asked, by, std::move(runner));
}

}  // namespace danaus

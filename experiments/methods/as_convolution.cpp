#include "experiments/methods/as_convolution.hpp"

#include "kernels/plan/arrays.hpp"

namespace danaus {
namespace {

class AsConvolution final : public Runner {
 public:
  AsConvolution(const Case& asked, const Case& by, std::unique_ptr<Runner> runner, MakeFilter make_filter,
                std::int64_t made_bytes)
      : runner_(std::move(runner)), make_filter_(std::move(make_filter)), made_bytes_(made_bytes) {
    const std::vector<Array> of_asked = asked.arrays();
    for (const Array& array : by.arrays()) {
      is_made_.push_back(make_filter_ && array.role == Role::filter);
      places_.push_back(is_made_.back() ? 0 : array_of(of_asked, array.name));
      if (places_.back() < 0) throw std::logic_error(text(asked.token(), " has no array ", array.name));
    }
  }

  void set_filters(const DeviceArrays& arrays, Stream stream) override {
    runner_->set_filters(of_convolution(arrays, make_filter_ ? make_filter_(arrays, stream) : nullptr), stream);
  }
  void launch(const DeviceArrays& arrays, Stream stream) override {
    runner_->launch(of_convolution(arrays, nullptr), stream);
  }
  std::string variant() const override { return runner_->variant(); }
  std::int64_t fft_size() const override { return runner_->fft_size(); }
  std::vector<int> factors() const override { return runner_->factors(); }
  double bound(std::string_view output) const override { return runner_->bound(output); }
  Promise promise() const override { return runner_->promise(); }
  std::int64_t prepared_bytes() const override { return runner_->prepared_bytes(); }
  std::int64_t kept_bytes() const override { return runner_->kept_bytes() + made_bytes_; }

 private:
  DeviceArrays of_convolution(const DeviceArrays& arrays, void* made) const {
    DeviceArrays at{};
    for (std::size_t i = 0; i < places_.size(); ++i) at[i] = is_made_[i] ? made : arrays[places_[i]];
    return at;
  }

  std::unique_ptr<Runner> runner_;
  MakeFilter make_filter_;
  std::int64_t made_bytes_;
  std::vector<bool> is_made_;  // of the convolution's arrays
  std::vector<int> places_;    // of the others among those of the case
};

}  // namespace

std::unique_ptr<Runner> as_convolution(const Case& asked, const Case& by, std::unique_ptr<Runner> runner,
                                       MakeFilter make_filter, std::int64_t made_bytes) {
  return std::make_unique<AsConvolution>(asked, by, std::move(runner), std::move(make_filter), made_bytes);
}

}  // namespace danaus

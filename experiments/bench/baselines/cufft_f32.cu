// cuFFT in fp32: samples converted and padded, R2C, times the filter's spectrum, C2R, converted back. Gates in fp32.
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/baselines/cufft.hpp"
#include "experiments/bench/baselines/elementwise.cuh"

namespace danaus {
namespace {

// x [rows, N] = u [rows, L] times its gate, then zeros. N and L are multiples of `wide`.
template <class T, int wide>
__global__ void widen(const T* u, const T* gate, float* x, std::int64_t length, std::int64_t n) {
  for (std::int64_t i = first_item(); i < n / wide; i += item_step()) {
    Vector<float, wide> out{};
    if (i * wide < length) {
      const std::int64_t at = blockIdx.x * (length / wide) + i;
      const auto in = reinterpret_cast<const Vector<T, wide>*>(u)[at];
      for (int j = 0; j < wide; ++j) out.at[j] = to_float(in.at[j]);
      if (gate) {
        const auto by = reinterpret_cast<const Vector<T, wide>*>(gate)[at];
        for (int j = 0; j < wide; ++j) out.at[j] *= to_float(by.at[j]);
      }
    }
    reinterpret_cast<Vector<float, wide>*>(x)[blockIdx.x * (n / wide) + i] = out;
  }
}

// y [rows, L] = the first L of x [rows, N] times its gate
template <class T, int wide>
__global__ void narrow(const float* x, const T* gate, T* y, std::int64_t length, std::int64_t n) {
  for (std::int64_t i = first_item(); i < length / wide; i += item_step()) {
    auto in = reinterpret_cast<const Vector<float, wide>*>(x)[blockIdx.x * (n / wide) + i];
    const std::int64_t at = blockIdx.x * (length / wide) + i;
    if (gate) {
      const auto by = reinterpret_cast<const Vector<T, wide>*>(gate)[at];
      for (int j = 0; j < wide; ++j) in.at[j] *= to_float(by.at[j]);
    }
    Vector<T, wide> out;
    for (int j = 0; j < wide; ++j) out.at[j] = T(in.at[j]);
    reinterpret_cast<Vector<T, wide>*>(y)[at] = out;
  }
}

// spectrum [B * H, points] *= filter [H, points] * scale
__global__ void multiply(float2* spectrum, const float2* filter, std::int64_t channels, std::int64_t points,
                         float scale) {
  const float2* by = filter + blockIdx.x % channels * points;
  float2* row = spectrum + blockIdx.x * points;
  for (std::int64_t i = first_item(); i < points; i += item_step()) {
    const float2 a = row[i], b = by[i];
    row[i] = {scale * (a.x * b.x - a.y * b.y), scale * (a.x * b.y + a.y * b.x)};
  }
}

class CufftF32 final : public Runner {
 public:
  explicit CufftF32(const Convolution& p)
      : p_(p),
        n_(baseline_fft_size(Contender::cufft_f32, p)),
        rows_(p.batch * p.channels),
        filter_(room_for<float2>(p.channels * points(), "the filter's spectrum")),
        x_(room_for<float>(rows_ * n_, "the samples in fp32")),
        spectrum_(room_for<float2>(rows_ * points(), "the spectrum in fp32")),
        filter_plan_(n_, p.channels, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        forward_(n_, rows_, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        inverse_(n_, rows_, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F) {}

  void set_filter(const void* k, Stream stream) override {
    const RowLaunch over(p_.channels, n_);
    pad_filter<<<over.grid, over.threads, 0, stream>>>(static_cast<const float*>(k), x_.data(), p_.filter_length,
                                                       taken_samples(p_), n_);
    DANAUS_CUDA(cudaGetLastError());
    filter_plan_.execute(x_.data(), filter_.data(), CUFFT_FORWARD, stream);
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    with_half_type(p_.dtype, [&]<class T>() {
      p_.length % kWide == 0 && n_ % kWide == 0 ? run<T, kWide>(arrays, stream) : run<T, 1>(arrays, stream);
    });
  }

  std::string variant() const override { return "r2c_f32"; }
  std::int64_t fft_size() const override { return n_; }
  double bound() const override { return baseline_bound(Contender::cufft_f32, p_); }

 private:
  std::int64_t points() const { return n_ / 2 + 1; }

  template <class T, int wide>
  void run(const DeviceArrays& arrays, Stream stream) {
    const auto typed = [](const std::uint16_t* samples) { return reinterpret_cast<const T*>(samples); };
    const RowLaunch over_n(rows_, n_ / wide), over_spectrum(rows_, points()), over_y(rows_, p_.length / wide);
    widen<T, wide>
        <<<over_n.grid, over_n.threads, 0, stream>>>(typed(arrays.u), typed(arrays.pregate), x_.data(), p_.length, n_);
    DANAUS_CUDA(cudaGetLastError());
    forward_.execute(x_.data(), spectrum_.data(), CUFFT_FORWARD, stream);
    multiply<<<over_spectrum.grid, over_spectrum.threads, 0, stream>>>(spectrum_.data(), filter_.data(), p_.channels,
                                                                       points(), 1 / static_cast<float>(n_));
    DANAUS_CUDA(cudaGetLastError());
    inverse_.execute(spectrum_.data(), x_.data(), CUFFT_INVERSE, stream);
    narrow<T, wide><<<over_y.grid, over_y.threads, 0, stream>>>(x_.data(), typed(arrays.postgate),
                                                                reinterpret_cast<T*>(arrays.y), p_.length, n_);
    DANAUS_CUDA(cudaGetLastError());
  }

  Convolution p_;
  std::int64_t n_, rows_;
  DeviceBuffer<float2> filter_;
  DeviceBuffer<float> x_;  // also the padded filter: [H, N] is no more than [B * H, N]
  DeviceBuffer<float2> spectrum_;
  CufftPlan filter_plan_, forward_, inverse_;
};

}  // namespace

std::unique_ptr<Runner> make_cufft_f32(const Convolution& problem) { return std::make_unique<CufftF32>(problem); }

}  // namespace danaus

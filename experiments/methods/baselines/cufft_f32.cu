// cuFFT in fp32: samples converted and padded, R2C, times the filter's spectrum, C2R, converted back. Gates in fp32. Of
// gradients, spectra multiplied and summed over the batch, and C2R of the sums.
#include "experiments/methods/baselines/baselines.hpp"
#include "experiments/methods/baselines/cufft.hpp"
#include "experiments/methods/baselines/cufft_passes.cuh"

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

// out [B * H, points] = spectrum [B * H, points] times filter [H, points], or its conjugate, times `scale`
__global__ void multiply(const float2* spectrum, const float2* filter, float2* out, std::int64_t channels,
                         std::int64_t points, bool conjugated, float scale) {
  const float2* by = filter + blockIdx.x % channels * points;
  const std::int64_t row = blockIdx.x * points;
  const float sign = conjugated ? -1 : 1;
  for (std::int64_t i = first_item(); i < points; i += item_step()) {
    const float2 a = spectrum[row + i], b = {by[i].x, sign * by[i].y};
    out[row + i] = {scale * (a.x * b.x - a.y * b.y), scale * (a.x * b.y + a.y * b.x)};
  }
}

class RealRows {
 public:
  static constexpr Baseline kBaseline = Baseline::cufft_f32;

  RealRows(const Convolution& p, int spectra)
      : p_(p),
        n_(baseline_fft_size(kBaseline, p)),
        rows_(p.batch * p.channels),
        filter_(room_for<float2>(p.channels * points(), "the filter's spectrum")),
        x_(room_for<float>(rows_ * n_, "the samples in fp32")),
        of_filter_(n_, p.channels, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        to_filter_(n_, p.channels, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F),
        forward_(n_, rows_, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        inverse_(n_, rows_, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F) {
    for (int i = 0; i < spectra; ++i) spectra_.push_back(room_for<float2>(rows_ * points(), "the spectrum in fp32"));
    if (spectra > 1) sums_ = room_for<float2>(p.channels * points(), "sums over the batch");
    work_ = shared_work_area({&of_filter_, &to_filter_, &forward_, &inverse_});
  }

  std::string variant() const { return "r2c_f32"; }
  std::int64_t fft_size() const { return n_; }
  std::int64_t bytes() const {
    std::size_t sum = filter_.bytes() + x_.bytes() + sums_.bytes() + work_.bytes();
    for (const auto& spectrum : spectra_) sum += spectrum.bytes();
    return static_cast<std::int64_t>(sum);
  }

  void set_filter(const float* k, Stream stream) {
    const RowLaunch over(p_.channels, n_);
    pad_filter<<<over.grid, over.threads, 0, stream>>>(k, x_.data(), p_.filter_length, taken_samples(p_), n_);
    DANAUS_CUDA(cudaGetLastError());
    of_filter_.execute(x_.data(), filter_.data(), CUFFT_FORWARD, stream);
  }

  void forward(const void* samples, const void* gate, int to, Stream stream) {
    with_width(p_, n_, [&]<class T, int wide>() {
      const RowLaunch over(rows_, n_ / wide);
      widen<T, wide><<<over.grid, over.threads, 0, stream>>>(static_cast<const T*>(samples),
                                                             static_cast<const T*>(gate), x_.data(), p_.length, n_);
    });
    DANAUS_CUDA(cudaGetLastError());
    forward_.execute(x_.data(), spectra_[to].data(), CUFFT_FORWARD, stream);
  }

  void multiply(int from, int to, bool conjugated, Stream stream) {
    const RowLaunch over(rows_, points());
    danaus::multiply<<<over.grid, over.threads, 0, stream>>>(spectra_[from].data(), filter_.data(), spectra_[to].data(),
                                                             p_.channels, points(), conjugated,
                                                             1 / static_cast<float>(n_));
    DANAUS_CUDA(cudaGetLastError());
  }

  void inverse(int from, Stream stream) { inverse_.execute(spectra_[from].data(), x_.data(), CUFFT_INVERSE, stream); }

  void store(int, const void* gate, void* out, Stream stream) {
    with_width(p_, n_, [&]<class T, int wide>() {
      const RowLaunch over(rows_, p_.length / wide);
      narrow<T, wide><<<over.grid, over.threads, 0, stream>>>(x_.data(), static_cast<const T*>(gate),
                                                              static_cast<T*>(out), p_.length, n_);
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  void correlate(int of_u, int of_dy, float* dk, Stream stream) {
    const RowLaunch over(p_.channels, points()), taps(p_.channels, p_.filter_length);
    sum_over_batch<<<over.grid, over.threads, 0, stream>>>(spectra_[of_u].data(), spectra_[of_dy].data(), sums_.data(),
                                                           p_.batch, points(), 1 / static_cast<float>(n_));
    DANAUS_CUDA(cudaGetLastError());
    to_filter_.execute(sums_.data(), x_.data(), CUFFT_INVERSE, stream);
    write_taps<<<taps.grid, taps.threads, 0, stream>>>(x_.data(), dk, p_.filter_length, p_.length,
                                                       p_.mode == Mode::circular, n_, 1);
    DANAUS_CUDA(cudaGetLastError());
  }

 private:
  std::int64_t points() const { return n_ / 2 + 1; }

  Convolution p_;
  std::int64_t n_, rows_;
  DeviceBuffer<float2> filter_, sums_;
  DeviceBuffer<float> x_;  // also rows of channels: [H, N] is no more than [B * H, N]
  std::vector<DeviceBuffer<float2>> spectra_;
  CufftPlan of_filter_, to_filter_, forward_, inverse_;
  DeviceBuffer<std::byte> work_;
};

}  // namespace

std::unique_ptr<Runner> make_cufft_f32(const Case& asked) { return std::make_unique<CufftPasses<RealRows>>(asked); }

}  // namespace danaus

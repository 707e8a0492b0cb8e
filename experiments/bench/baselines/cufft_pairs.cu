// cuFFT in 16 bits: two batch rows packed as one complex sequence (the filter is real, so that the real and the
// imaginary part of the result are the two answers), C2C in place, times the filter's spectrum, C2C, unpacked. The
// gates are part of packing and unpacking. The strongest unfused way: it moves the fewest bytes.
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/baselines/cufft.hpp"
#include "experiments/bench/baselines/elementwise.cuh"

namespace danaus {
namespace {

template <class T>
struct Complex16 {
  T re, im;
};

// Where row `packed` of [ceil(B / 2), H] has its two rows of [B, H]; the second is -1 after an odd last one.
struct PairOfRows {
  std::int64_t first, second;
  __device__ PairOfRows(std::int64_t packed, std::int64_t batch, std::int64_t channels) {
    const std::int64_t pair = packed / channels, channel = packed % channels;
    first = 2 * pair * channels + channel;
    second = 2 * pair + 1 < batch ? first + channels : -1;
  }
};

template <class T, int wide>
__device__ Vector<float, wide> gated(const T* u, const T* gate, std::int64_t at) {
  const auto in = reinterpret_cast<const Vector<T, wide>*>(u)[at];
  Vector<float, wide> out;
  for (int j = 0; j < wide; ++j) out.at[j] = to_float(in.at[j]);
  if (gate) {
    const auto by = reinterpret_cast<const Vector<T, wide>*>(gate)[at];
    for (int j = 0; j < wide; ++j) out.at[j] *= to_float(by.at[j]);
  }
  return out;
}

template <class T, int wide>
__global__ void pack(const T* u, const T* gate, Complex16<T>* z, std::int64_t batch, std::int64_t channels,
                     std::int64_t length, std::int64_t n) {
  const PairOfRows rows(blockIdx.x, batch, channels);
  for (std::int64_t i = first_item(); i < n / wide; i += item_step()) {
    Vector<float, wide> re{}, im{};
    if (i * wide < length) {
      re = gated<T, wide>(u, gate, rows.first * (length / wide) + i);
      if (rows.second >= 0) im = gated<T, wide>(u, gate, rows.second * (length / wide) + i);
    }
    Vector<Complex16<T>, wide> out;
    for (int j = 0; j < wide; ++j) out.at[j] = {T(re.at[j]), T(im.at[j])};
    reinterpret_cast<Vector<Complex16<T>, wide>*>(z)[blockIdx.x * (n / wide) + i] = out;
  }
}

template <class T, int wide>
__global__ void unpack(const Complex16<T>* z, const T* gate, T* y, std::int64_t batch, std::int64_t channels,
                       std::int64_t length, std::int64_t n) {
  const PairOfRows rows(blockIdx.x, batch, channels);
  const auto put = [&](Vector<T, wide> out, std::int64_t at) {
    if (gate) {
      const auto by = reinterpret_cast<const Vector<T, wide>*>(gate)[at];
      for (int j = 0; j < wide; ++j) out.at[j] = T(to_float(out.at[j]) * to_float(by.at[j]));
    }
    reinterpret_cast<Vector<T, wide>*>(y)[at] = out;
  };
  for (std::int64_t i = first_item(); i < length / wide; i += item_step()) {
    const auto in = reinterpret_cast<const Vector<Complex16<T>, wide>*>(z)[blockIdx.x * (n / wide) + i];
    Vector<T, wide> re, im;
    for (int j = 0; j < wide; ++j) re.at[j] = in.at[j].re, im.at[j] = in.at[j].im;
    put(re, rows.first * (length / wide) + i);
    if (rows.second >= 0) put(im, rows.second * (length / wide) + i);
  }
}

// z [rows, N] *= filter [H, N] / N, in fp32: 1/N in the filter would be too small for fp16.
template <class T, int wide>
__global__ void multiply(Complex16<T>* z, const Complex16<T>* filter, std::int64_t channels, std::int64_t n) {
  const auto by = reinterpret_cast<const Vector<Complex16<T>, wide>*>(filter) + blockIdx.x % channels * (n / wide);
  const auto row = reinterpret_cast<Vector<Complex16<T>, wide>*>(z) + blockIdx.x * (n / wide);
  const float scale = 1 / static_cast<float>(n);
  for (std::int64_t i = first_item(); i < n / wide; i += item_step()) {
    const auto a = row[i], b = by[i];
    Vector<Complex16<T>, wide> out;
    for (int j = 0; j < wide; ++j) {
      const float ar = to_float(a.at[j].re), ai = to_float(a.at[j].im);
      const float br = to_float(b.at[j].re), bi = to_float(b.at[j].im);
      out.at[j] = {T(scale * (ar * br - ai * bi)), T(scale * (ar * bi + ai * br))};
    }
    row[i] = out;
  }
}

// The whole spectrum of a real filter from its first half, rounded.
template <class T>
__global__ void mirror(const float2* half, Complex16<T>* whole, std::int64_t n) {
  const float2* row = half + blockIdx.x * (n / 2 + 1);
  for (std::int64_t i = first_item(); i < n; i += item_step()) {
    const float2 value = row[i <= n / 2 ? i : n - i];
    whole[blockIdx.x * n + i] = {T(value.x), T(i <= n / 2 ? value.y : -value.y)};
  }
}

class CufftPairs final : public Runner {
 public:
  explicit CufftPairs(const Convolution& p)
      : p_(p),
        n_(baseline_fft_size(Contender::cufft_pairs, p)),
        rows_((p.batch + 1) / 2 * p.channels),
        filter_samples_(room_for<float>(p.channels * n_, "the padded filter")),
        half_spectrum_(room_for<float2>(p.channels * (n_ / 2 + 1), "the filter's spectrum in fp32")),
        filter_(room_for<std::uint32_t>(p.channels * n_, "the filter's spectrum")),
        z_(room_for<std::uint32_t>(rows_ * n_, "the packed rows")),
        filter_plan_(n_, p.channels, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        plan_(n_, rows_, type(), type(), type()) {}

  void set_filter(const void* k, Stream stream) override {
    const RowLaunch over(p_.channels, n_);
    pad_filter<<<over.grid, over.threads, 0, stream>>>(static_cast<const float*>(k), filter_samples_.data(),
                                                       p_.filter_length, taken_samples(p_), n_);
    DANAUS_CUDA(cudaGetLastError());
    filter_plan_.execute(filter_samples_.data(), half_spectrum_.data(), CUFFT_FORWARD, stream);
    with_half_type(p_.dtype, [&]<class T>() {
      mirror<T><<<over.grid, over.threads, 0, stream>>>(half_spectrum_.data(), packed<T>(filter_), n_);
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    with_half_type(p_.dtype, [&]<class T>() {
      p_.length % kWide == 0 && n_ % kWide == 0 ? run<T, kWide>(arrays, stream) : run<T, 1>(arrays, stream);
    });
  }

  std::string variant() const override { return p_.dtype == Dtype::f16 ? "c2c_f16" : "c2c_bf16"; }
  std::int64_t fft_size() const override { return n_; }
  double bound() const override { return baseline_bound(Contender::cufft_pairs, p_); }

 private:
  cudaDataType type() const { return p_.dtype == Dtype::f16 ? CUDA_C_16F : CUDA_C_16BF; }

  template <class T>
  static Complex16<T>* packed(const DeviceBuffer<std::uint32_t>& words) {
    return reinterpret_cast<Complex16<T>*>(words.data());
  }

  template <class T, int wide>
  void run(const DeviceArrays& arrays, Stream stream) {
    const auto typed = [](const std::uint16_t* samples) { return reinterpret_cast<const T*>(samples); };
    const RowLaunch over_z(rows_, n_ / wide), over_y(rows_, p_.length / wide);
    Complex16<T>* const z = packed<T>(z_);
    pack<T, wide><<<over_z.grid, over_z.threads, 0, stream>>>(typed(arrays.u), typed(arrays.pregate), z, p_.batch,
                                                              p_.channels, p_.length, n_);
    DANAUS_CUDA(cudaGetLastError());
    plan_.execute(z, z, CUFFT_FORWARD, stream);
    multiply<T, wide><<<over_z.grid, over_z.threads, 0, stream>>>(z, packed<T>(filter_), p_.channels, n_);
    DANAUS_CUDA(cudaGetLastError());
    plan_.execute(z, z, CUFFT_INVERSE, stream);
    unpack<T, wide><<<over_y.grid, over_y.threads, 0, stream>>>(
        z, typed(arrays.postgate), reinterpret_cast<T*>(arrays.y), p_.batch, p_.channels, p_.length, n_);
    DANAUS_CUDA(cudaGetLastError());
  }

  Convolution p_;
  std::int64_t n_, rows_;
  DeviceBuffer<float> filter_samples_;
  DeviceBuffer<float2> half_spectrum_;
  DeviceBuffer<std::uint32_t> filter_, z_;  // complex numbers of two 16-bit parts
  CufftPlan filter_plan_, plan_;
};

}  // namespace

std::unique_ptr<Runner> make_cufft_pairs(const Convolution& problem) { return std::make_unique<CufftPairs>(problem); }

}  // namespace danaus

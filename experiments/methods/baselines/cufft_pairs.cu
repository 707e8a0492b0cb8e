// cuFFT in 16 bits: two batch rows packed as one complex sequence, C2C in place, times the filter's spectrum, C2C,
// unpacked. The filter is real, so the real and the imaginary part of the result are the two answers. The gates are
// part of packing and unpacking. The strongest unfused way: it moves the fewest bytes. Of gradients, spectra
// multiplied and summed over the batch in fp32; what two rows of a pair have in common is imaginary after the way back.
#include "experiments/methods/baselines/baselines.hpp"
#include "experiments/methods/baselines/cufft.hpp"
#include "experiments/methods/baselines/cufft_passes.cuh"

namespace danaus {
namespace {

template <class T>
struct Complex16 {
  T re, im;
};
template <class T>
__device__ float2 to_float2(Complex16<T> value) {
  return {to_float(value.re), to_float(value.im)};
}

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

// out [rows, N] = z [rows, N] times filter [H, N], or its conjugate, over N, in fp32: 1/N in the filter would be too
// small for fp16.
template <class T, int wide>
__global__ void multiply(const Complex16<T>* z, const Complex16<T>* filter, Complex16<T>* out, std::int64_t channels,
                         std::int64_t n, bool conjugated) {
  const auto by = reinterpret_cast<const Vector<Complex16<T>, wide>*>(filter) + blockIdx.x % channels * (n / wide);
  const auto row = reinterpret_cast<const Vector<Complex16<T>, wide>*>(z) + blockIdx.x * (n / wide);
  const auto row_out = reinterpret_cast<Vector<Complex16<T>, wide>*>(out) + blockIdx.x * (n / wide);
  const float scale = 1 / static_cast<float>(n), sign = conjugated ? -1 : 1;
  for (std::int64_t i = first_item(); i < n / wide; i += item_step()) {
    const auto a = row[i], b = by[i];
    Vector<Complex16<T>, wide> product;
    for (int j = 0; j < wide; ++j) {
      const float2 x = to_float2(a.at[j]), f = to_float2(b.at[j]);
      product.at[j] = {T(scale * (x.x * f.x - sign * x.y * f.y)), T(scale * (sign * x.x * f.y + x.y * f.x))};
    }
    row_out[i] = product;
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

class PackedPairs {
 public:
  static constexpr Baseline kBaseline = Baseline::cufft_pairs;

  PackedPairs(const Convolution& p, int spectra)
      : p_(p),
        n_(baseline_fft_size(kBaseline, p)),
        pairs_((p.batch + 1) / 2),
        rows_(pairs_ * p.channels),
        filter_samples_(room_for<float>(p.channels * n_, "the padded filter")),
        half_spectrum_(room_for<float2>(p.channels * (n_ / 2 + 1), "the filter's spectrum in fp32")),
        filter_(room_for<std::uint32_t>(p.channels * n_, "the filter's spectrum")),
        filter_plan_(n_, p.channels, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F),
        sums_plan_(n_, p.channels, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F),
        plan_(n_, rows_, type(), type(), type()) {
    for (int i = 0; i < spectra; ++i) z_.push_back(room_for<std::uint32_t>(rows_ * n_, "the packed rows"));
    if (spectra > 1) sums_ = room_for<float2>(p.channels * n_, "sums over the batch");
    work_ = shared_work_area({&filter_plan_, &sums_plan_, &plan_});
  }

  std::string variant() const { return p_.dtype == Dtype::f16 ? "c2c_f16" : "c2c_bf16"; }
  std::int64_t fft_size() const { return n_; }
  std::int64_t bytes() const {
    std::size_t sum =
        filter_samples_.bytes() + half_spectrum_.bytes() + filter_.bytes() + sums_.bytes() + work_.bytes();
    for (const auto& z : z_) sum += z.bytes();
    return static_cast<std::int64_t>(sum);
  }

  void set_filter(const float* k, Stream stream) {
    const RowLaunch over(p_.channels, n_);
    pad_filter<<<over.grid, over.threads, 0, stream>>>(k, filter_samples_.data(), p_.filter_length, taken_samples(p_),
                                                       n_);
    DANAUS_CUDA(cudaGetLastError());
    filter_plan_.execute(filter_samples_.data(), half_spectrum_.data(), CUFFT_FORWARD, stream);
    with_half_type(p_.dtype, [&]<class T>() {
      mirror<T><<<over.grid, over.threads, 0, stream>>>(half_spectrum_.data(), packed<T>(filter_), n_);
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  void forward(const void* samples, const void* gate, int to, Stream stream) {
    with_width(p_, n_, [&]<class T, int wide>() {
      const RowLaunch over(rows_, n_ / wide);
      pack<T, wide><<<over.grid, over.threads, 0, stream>>>(static_cast<const T*>(samples), static_cast<const T*>(gate),
                                                            packed<T>(z_[to]), p_.batch, p_.channels, p_.length, n_);
    });
    DANAUS_CUDA(cudaGetLastError());
    plan_.execute(z_[to].data(), z_[to].data(), CUFFT_FORWARD, stream);
  }

  void multiply(int from, int to, bool conjugated, Stream stream) {
    with_width(p_, n_, [&]<class T, int wide>() {
      const RowLaunch over(rows_, n_ / wide);
      danaus::multiply<T, wide><<<over.grid, over.threads, 0, stream>>>(packed<T>(z_[from]), packed<T>(filter_),
                                                                        packed<T>(z_[to]), p_.channels, n_, conjugated);
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  void inverse(int from, Stream stream) { plan_.execute(z_[from].data(), z_[from].data(), CUFFT_INVERSE, stream); }

  void store(int from, const void* gate, void* out, Stream stream) {
    with_width(p_, n_, [&]<class T, int wide>() {
      const RowLaunch over(rows_, p_.length / wide);
      unpack<T, wide><<<over.grid, over.threads, 0, stream>>>(
          packed<T>(z_[from]), static_cast<const T*>(gate), static_cast<T*>(out), p_.batch, p_.channels, p_.length, n_);
    });
    DANAUS_CUDA(cudaGetLastError());
  }

  void correlate(int of_u, int of_dy, float* dk, Stream stream) {
    const RowLaunch over(p_.channels, n_), taps(p_.channels, p_.filter_length);
    with_half_type(p_.dtype, [&]<class T>() {
      sum_over_batch<<<over.grid, over.threads, 0, stream>>>(packed<T>(z_[of_u]), packed<T>(z_[of_dy]), sums_.data(),
                                                             pairs_, n_, 1 / static_cast<float>(n_));
    });
    DANAUS_CUDA(cudaGetLastError());
    sums_plan_.execute(sums_.data(), sums_.data(), CUFFT_INVERSE, stream);
    write_taps<<<taps.grid, taps.threads, 0, stream>>>(reinterpret_cast<const float*>(sums_.data()), dk,
                                                       p_.filter_length, p_.length, p_.mode == Mode::circular, 2 * n_,
                                                       2);
    DANAUS_CUDA(cudaGetLastError());
  }

 private:
  cudaDataType type() const { return p_.dtype == Dtype::f16 ? CUDA_C_16F : CUDA_C_16BF; }

  template <class T>
  static Complex16<T>* packed(const DeviceBuffer<std::uint32_t>& words) {
    return reinterpret_cast<Complex16<T>*>(words.data());
  }

  Convolution p_;
  std::int64_t n_, pairs_, rows_;
  DeviceBuffer<float> filter_samples_;
  DeviceBuffer<float2> half_spectrum_, sums_;
  DeviceBuffer<std::uint32_t> filter_;  // complex numbers of two 16-bit parts, and likewise
  std::vector<DeviceBuffer<std::uint32_t>> z_;
  CufftPlan filter_plan_, sums_plan_, plan_;
  DeviceBuffer<std::byte> work_;
};

}  // namespace

std::unique_ptr<Runner> make_cufft_pairs(const Case& asked) {
  return std::make_unique<CufftPasses<PackedPairs>>(asked);
}

}  // namespace danaus

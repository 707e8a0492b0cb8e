// Spectral layers by cuFFT and cuBLAS: whole transforms, a copy of what is kept, a product over channels, zeros around
// it, whole transforms back. All in fp32, products also in TF32. cuFFT's way back to real samples is defined for
// Hermitian spectra alone, which a product with weights is not where a half has both signs of a frequency: its
// Hermitian part is taken, whose samples are the real parts of its own.
#include "experiments/bench/baselines/baselines.hpp"
#include "experiments/bench/baselines/cublas.hpp"
#include "experiments/bench/baselines/cufft.hpp"
#include "experiments/bench/baselines/elementwise.cuh"

namespace danaus {
namespace {

// Where a row of the batch has its channels, in a field and among what is kept.
struct Places {
  std::int64_t batch, channels, points, kept;  // points: of a spectrum, X, X*Y, of real samples about half of it
  unsigned columns, nyquist;                   // of real samples: of the half, and the column of Y/2 where Y is even
  bool real, channel_major, shared;

  __device__ std::int64_t row(std::int64_t b, std::int64_t c) const {
    return channel_major ? c * batch + b : b * channels + c;
  }
  // Whether the half of a spectrum has the negatives of these frequencies too.
  __device__ bool has_both(unsigned point) const {
    return real && (point % columns == 0 || point % columns == nyquist);
  }
  __device__ unsigned negative_of(unsigned point) const {
    return point < columns ? point : static_cast<unsigned>(points) - point + 2 * (point % columns);
  }
  // Shared weights make one product of [C, B*M], others one of [C, B] at each of M frequencies.
  __device__ std::int64_t kept_at(std::int64_t b, std::int64_t c, std::int64_t m) const {
    return shared ? (c * batch + b) * kept + m : (m * channels + c) * batch + b;
  }
};

// kept = what is kept of spectrum; frequencies [M] are points of it. blockIdx.x: a row of the batch and a channel.
__global__ void truncate(const float2* spectrum, const int* frequencies, float2* kept, Places at) {
  const std::int64_t b = blockIdx.x / at.channels, c = blockIdx.x % at.channels;
  const float2* row = spectrum + at.row(b, c) * at.points;
  for (std::int64_t m = first_item(); m < at.kept; m += item_step()) kept[at.kept_at(b, c, m)] = row[frequencies[m]];
}

// spectrum = kept at its frequencies, and zeros, made Hermitian; numbers [points] say which of the kept a point is, or
// -1.
__global__ void pad(const float2* kept, const int* numbers, float2* spectrum, Places at) {
  const std::int64_t b = blockIdx.x / at.channels, c = blockIdx.x % at.channels;
  float2* row = spectrum + at.row(b, c) * at.points;
  const auto value = [&](std::int64_t i) { return numbers[i] < 0 ? float2{0, 0} : kept[at.kept_at(b, c, numbers[i])]; };
  for (std::int64_t i = first_item(); i < at.points; i += item_step()) {
    float2 z = value(i);
    if (at.has_both(static_cast<unsigned>(i))) {
      const float2 negative = value(at.negative_of(static_cast<unsigned>(i)));
      z = {(z.x + negative.x) / 2, (z.y - negative.y) / 2};
    }
    row[i] = z;
  }
}

// out [matrices, C_in, C_out] = w [C_in, C_out, matrices], of an adjoint the conjugate of w [C_out, C_in, matrices],
// times `scale`.
__global__ void arrange(const float2* w, float2* out, std::int64_t inputs, std::int64_t outputs, std::int64_t matrices,
                        bool adjoint, float scale) {
  const std::int64_t in = blockIdx.x / outputs, channel = blockIdx.x % outputs;
  const std::int64_t pair = adjoint ? channel * inputs + in : blockIdx.x;
  for (std::int64_t m = first_item(); m < matrices; m += item_step()) {
    const float2 value = w[pair * matrices + m];
    out[m * inputs * outputs + blockIdx.x] = {scale * value.x, adjoint ? -scale * value.y : scale * value.y};
  }
}

// Points of the last axis of a spectrum.
std::int64_t last_points(const Spectral& p) { return p.complex ? p.lengths.back() : p.lengths.back() / 2 + 1; }

std::int64_t points_of_spectrum(const Spectral& p) {
  return p.lengths.size() == 1 ? last_points(p) : p.lengths[0] * last_points(p);
}

// The points of a spectrum that are kept, ascending.
std::vector<int> kept_points(const Spectral& p) {
  std::vector<int> points = kept_on_axis(p, 0);
  if (p.lengths.size() == 1) return points;
  std::vector<int> all;
  for (int x : points)
    for (int y : kept_on_axis(p, 1)) all.push_back(static_cast<int>(x * last_points(p)) + y);
  return all;
}

class CufftCublas final : public Runner {
 public:
  CufftCublas(const Spectral& p, bool tf32)
      : p_(p),
        tf32_(tf32),
        matrices_(p.shared ? 1 : kept_count(p)),
        weights_(room_for<float2>(matrices_ * p.inputs * p.outputs, "the weights")),
        spectrum_(room_for<float2>(p.batch * std::max(p.inputs, p.outputs) * points_of_spectrum(p), "the spectrum")),
        kept_(room_for<float2>(p.batch * p.inputs * kept_count(p), "the kept spectrum")),
        mixed_(room_for<float2>(p.batch * p.outputs * kept_count(p), "the mixed spectrum")),
        forward_(extents(), p.batch * p.inputs, type(), CUDA_C_32F, CUDA_C_32F),
        inverse_(extents(), p.batch * p.outputs, CUDA_C_32F, type(), CUDA_C_32F),
        work_(shared_work_area({&forward_, &inverse_})) {
    const std::vector<int> points = kept_points(p);
    std::vector<int> numbers(static_cast<std::size_t>(points_of_spectrum(p)), -1);
    for (std::size_t m = 0; m < points.size(); ++m) numbers[static_cast<std::size_t>(points[m])] = static_cast<int>(m);
    frequencies_ = uploaded(points), numbers_ = uploaded(numbers);
  }

  void set_filters(const DeviceArrays& arrays, Stream stream) override {
    const void* const w = arrays[kW];
    const RowLaunch over(p_.inputs * p_.outputs, matrices_);
    arrange<<<over.grid, over.threads, 0, stream>>>(static_cast<const float2*>(w), weights_.data(), p_.inputs,
                                                    p_.outputs, matrices_, p_.adjoint,
                                                    1 / static_cast<float>(points_of_row(p_)));
    DANAUS_CUDA(cudaGetLastError());
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    forward_.execute(arrays[kU], spectrum_.data(), CUFFT_FORWARD, stream);
    const RowLaunch over_kept(p_.batch * p_.inputs, kept_count(p_));
    truncate<<<over_kept.grid, over_kept.threads, 0, stream>>>(spectrum_.data(), frequencies_.data(), kept_.data(),
                                                               places(p_.inputs));
    DANAUS_CUDA(cudaGetLastError());
    const std::int64_t rows = p_.shared ? p_.batch * kept_count(p_) : p_.batch;
    cublas_.multiply({static_cast<int>(rows), static_cast<int>(p_.outputs), static_cast<int>(p_.inputs), kept_.data(),
                      weights_.data(), mixed_.data(), matrices_, p_.inputs * p_.outputs},
                     tf32_, stream);
    const RowLaunch over_points(p_.batch * p_.outputs, points_of_spectrum(p_));
    pad<<<over_points.grid, over_points.threads, 0, stream>>>(mixed_.data(), numbers_.data(), spectrum_.data(),
                                                              places(p_.outputs));
    DANAUS_CUDA(cudaGetLastError());
    inverse_.execute(spectrum_.data(), arrays[kY], CUFFT_INVERSE, stream);
  }

  std::string variant() const override { return tf32_ ? "cgemm_tf32" : "cgemm_f32"; }
  std::int64_t fft_size() const override { return points_of_row(p_); }
  double bound(std::string_view output) const override {
    return baseline_bound(tf32_ ? Contender::cufft_cublas_tf32 : Contender::cufft_cublas_f32, p_, output);
  }
  std::int64_t kept_bytes() const override {
    return static_cast<std::int64_t>(weights_.bytes() + spectrum_.bytes() + kept_.bytes() + mixed_.bytes() +
                                     work_.bytes());
  }

 private:
  cudaDataType type() const { return p_.complex ? CUDA_C_32F : CUDA_R_32F; }
  std::vector<long long> extents() const { return {p_.lengths.begin(), p_.lengths.end()}; }
  Places places(std::int64_t channels) const {
    const auto columns = static_cast<unsigned>(last_points(p_));
    const unsigned nyquist = p_.lengths.back() % 2 == 0 ? columns - 1 : 0;
    return {p_.batch, channels,    points_of_spectrum(p_), kept_count(p_), columns,
            nyquist,  !p_.complex, p_.channel_major,       p_.shared};
  }

  static constexpr int kU = 0, kW = 1, kY = 2;  // of the case's arrays

  Spectral p_;
  bool tf32_;
  std::int64_t matrices_;
  Cublas cublas_;
  DeviceBuffer<float2> weights_, spectrum_, kept_, mixed_;
  DeviceBuffer<int> frequencies_, numbers_;
  CufftPlan forward_, inverse_;
  DeviceBuffer<std::byte> work_;
};

}  // namespace

std::unique_ptr<Runner> make_cufft_cublas(const Spectral& problem, bool tf32) {
  return std::make_unique<CufftCublas>(problem, tf32);
}

}  // namespace danaus

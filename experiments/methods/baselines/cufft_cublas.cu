// Spectral layers by cuFFT and cuBLAS: whole transforms, a copy of what is kept, a product over channels, zeros around
// it, whole transforms back. All in fp32, products also in TF32. cuFFT's way back to real samples is defined for
// Hermitian spectra alone, which a product with weights is not where a half has both signs of a frequency: its
// Hermitian part is taken, whose samples are the real parts of its own.
#include "experiments/methods/baselines/baselines.hpp"
#include "experiments/methods/baselines/cublas.hpp"
#include "experiments/methods/baselines/cufft.hpp"
#include "experiments/methods/baselines/elementwise.cuh"

namespace danaus {
namespace {

// Rows [B C] of a field, as they lie in it, and what is kept of each.
struct Places {
  std::int64_t rows, points, kept;  // points: of a spectrum, X, X*Y, of real samples about half of it
  std::int64_t batch, channels;
  unsigned columns, nyquist;  // of real samples: of the half, and the column of Y/2 where Y is even
  bool real, permuted;        // permuted: of shared weights what is kept lies [C, B, M], the field [B, C, ...]

  __device__ std::int64_t kept_row(std::int64_t row) const {
    return permuted ? row % channels * batch + row / channels : row;
  }
  // Whether the half of a spectrum has the negatives of these frequencies too.
  __device__ bool has_both(unsigned point) const {
    return real && (point % columns == 0 || point % columns == nyquist);
  }
  __device__ unsigned negative_of(unsigned point) const {
    return point < columns ? point : static_cast<unsigned>(points) - point + 2 * (point % columns);
  }
};

// Of a point of the spectrum, Hermitian, what is kept of it and its negative by `kept`(number); numbers [points] say
// which of the kept a point is, or -1.
template <class Kept>
__device__ float2 point_of(unsigned point, const int* numbers, const Places& at, Kept kept) {
  const auto value = [&](unsigned i) { return numbers[i] < 0 ? float2{0, 0} : kept(numbers[i]); };
  const float2 z = value(point);
  if (!at.has_both(point)) return z;
  const float2 negative = value(at.negative_of(point));
  return {(z.x + negative.x) / 2, (z.y - negative.y) / 2};
}

// Shared weights make one product of [C, B*M]: rows stay rows. A thread has one place in kRowsOfThread of them, whose
// loads are on their way together.
constexpr int kRowsOfThread = 4, kThreads = 256;

template <class Load, class Store>
__device__ void for_rows(std::int64_t rows, Load load, Store store) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kRowsOfThread * blockDim.y + threadIdx.y;
  float2 values[kRowsOfThread];
#pragma unroll
  for (int i = 0; i < kRowsOfThread; ++i)
    if (first + i * blockDim.y < rows) values[i] = load(first + i * blockDim.y);
#pragma unroll
  for (int i = 0; i < kRowsOfThread; ++i)
    if (first + i * blockDim.y < rows) store(first + i * blockDim.y, values[i]);
}

// kept [C, B, M] = what is kept of the spectrum; frequencies [M] are points of it.
__global__ void truncate_rows(const float2* __restrict__ spectrum, const int* __restrict__ frequencies,
                              float2* __restrict__ kept, Places at) {
  const std::int64_t m = first_item();
  if (m >= at.kept) return;
  const int frequency = frequencies[m];
  for_rows(
      at.rows, [&](std::int64_t row) { return spectrum[row * at.points + frequency]; },
      [&](std::int64_t row, float2 value) { kept[at.kept_row(row) * at.kept + m] = value; });
}

// spectrum = kept [C, B, M] at its frequencies, and zeros.
__global__ void pad_rows(const float2* __restrict__ kept, const int* __restrict__ numbers,
                         float2* __restrict__ spectrum, Places at) {
  const std::int64_t point = first_item();
  if (point >= at.points) return;
  for_rows(
      at.rows,
      [&](std::int64_t row) {
        const float2* values = kept + at.kept_row(row) * at.kept;
        return point_of(static_cast<unsigned>(point), numbers, at, [&](int m) { return values[m]; });
      },
      [&](std::int64_t row, float2 value) { spectrum[row * at.points + point] = value; });
}

// One matrix for each frequency makes a product of [B, C] at each of them: rows become columns, a tile at a time.
constexpr int kTile = 32, kRowsOfTile = 8;  // threads: 32 x 8

// out [n, rows] of in [rows, n] or the other way round: load(row, i) with i along lanes, store(row, i) with the row, or
// so with `rows_first`.
template <bool rows_first, class Load, class Store>
__device__ void transpose(std::int64_t rows, std::int64_t n, Load load, Store store) {
  __shared__ float2 tile[kTile][kTile + 1];
  const std::int64_t row = std::int64_t{blockIdx.x} * kTile, item = std::int64_t{blockIdx.y} * kTile;
  const auto at = [&](bool lanes_are_rows, int line, auto visit) {
    const std::int64_t r = row + (lanes_are_rows ? threadIdx.x : line),
                       i = item + (lanes_are_rows ? line : threadIdx.x);
    if (r < rows && i < n) visit(r, i, tile[r - row][i - item]);
  };
#pragma unroll
  for (int line = threadIdx.y; line < kTile; line += kRowsOfTile)
    at(rows_first, line, [&](std::int64_t r, std::int64_t i, float2& value) { value = load(r, i); });
  __syncthreads();
#pragma unroll
  for (int line = threadIdx.y; line < kTile; line += kRowsOfTile)
    at(!rows_first, line, [&](std::int64_t r, std::int64_t i, const float2& value) { store(r, i, value); });
}

// kept [M, B C] of the spectrum.
__global__ void truncate_columns(const float2* __restrict__ spectrum, const int* __restrict__ frequencies,
                                 float2* __restrict__ kept, Places at) {
  transpose<false>(
      at.rows, at.kept, [&](std::int64_t row, std::int64_t m) { return spectrum[row * at.points + frequencies[m]]; },
      [&](std::int64_t row, std::int64_t m, float2 value) { kept[m * at.rows + row] = value; });
}

// spectrum = kept [M, B C] at its frequencies, and zeros.
__global__ void pad_columns(const float2* __restrict__ kept, const int* __restrict__ numbers,
                            float2* __restrict__ spectrum, Places at) {
  transpose<true>(
      at.rows, at.points,
      [&](std::int64_t row, std::int64_t point) {
        return point_of(static_cast<unsigned>(point), numbers, at, [&](int m) { return kept[m * at.rows + row]; });
      },
      [&](std::int64_t row, std::int64_t point, float2 value) { spectrum[row * at.points + point] = value; });
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
    truncate(spectrum_.data(), kept_.data(), places(p_.inputs), stream);
    const std::int64_t rows = p_.shared ? p_.batch * kept_count(p_) : p_.batch;
    cublas_.multiply({static_cast<int>(rows), static_cast<int>(p_.outputs), static_cast<int>(p_.inputs), kept_.data(),
                      weights_.data(), mixed_.data(), matrices_, p_.inputs * p_.outputs, has_rows_first()},
                     tf32_, stream);
    pad(mixed_.data(), spectrum_.data(), places(p_.outputs), stream);
    inverse_.execute(spectrum_.data(), arrays[kY], CUFFT_INVERSE, stream);
  }

  std::string variant() const override { return tf32_ ? "cgemm_tf32" : "cgemm_f32"; }
  std::int64_t fft_size() const override { return points_of_row(p_); }
  double bound(std::string_view output) const override {
    return baseline_bound(tf32_ ? Baseline::cufft_cublas_tf32 : Baseline::cufft_cublas_f32, p_, output);
  }
  std::int64_t kept_bytes() const override {
    return static_cast<std::int64_t>(weights_.bytes() + spectrum_.bytes() + kept_.bytes() + mixed_.bytes() +
                                     work_.bytes());
  }

 private:
  cudaDataType type() const { return p_.complex ? CUDA_C_32F : CUDA_R_32F; }
  std::vector<long long> extents() const { return {p_.lengths.begin(), p_.lengths.end()}; }
  // Whether a product's rows are of the batch, each with all of its channels, as they lie in the field.
  bool has_rows_first() const { return !p_.shared && !p_.channel_major; }
  Places places(std::int64_t channels) const {
    const auto columns = static_cast<unsigned>(last_points(p_));
    const unsigned nyquist = p_.lengths.back() % 2 == 0 ? columns - 1 : 0;
    return {p_.batch * channels, points_of_spectrum(p_),        kept_count(p_), p_.batch, channels, columns, nyquist,
            !p_.complex,         p_.shared && !p_.channel_major};
  }
  void truncate(const float2* spectrum, float2* kept, const Places& at, Stream stream) const {
    launch_over(at.rows, at.kept, stream, p_.shared ? truncate_rows : truncate_columns, spectrum, frequencies_.data(),
                kept, at);
  }
  void pad(const float2* kept, float2* spectrum, const Places& at, Stream stream) const {
    launch_over(at.rows, at.points, stream, p_.shared ? pad_rows : pad_columns, kept, numbers_.data(), spectrum, at);
  }
  template <class Kernel, class... Arguments>
  void launch_over(std::int64_t rows, std::int64_t items, Stream stream, Kernel kernel, Arguments... arguments) const {
    const int along = p_.shared ? static_cast<int>(std::min<std::int64_t>(kThreads, (items + 31) / 32 * 32)) : kTile;
    const int across = p_.shared ? kThreads / along : kRowsOfTile,
              rows_of_block = p_.shared ? kRowsOfThread * across : kTile;
    const dim3 grid(static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block),
                    static_cast<unsigned>((items + along - 1) / along));
    kernel<<<grid, dim3(along, across), 0, stream>>>(arguments...);
    DANAUS_CUDA(cudaGetLastError());
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

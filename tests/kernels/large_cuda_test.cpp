// Cases of more than 2^31 and 2^32 samples on a CUDA device, of which sampled rows are compared with the truth. Skipped
// where there is none, or not as much memory.
#include <random>

#include "tests/kernels/on_device.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

// Rows of u are some that come again and again: so many that no power of two is a multiple of theirs, and an offset
// that lost its upper bits finds another one.
constexpr std::int64_t kRows = 97;

std::vector<double> draw(std::mt19937& random, std::int64_t count, Dtype dtype) {
  std::normal_distribution<float> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return host::decode(dtype, host::encode(dtype, values));
}

// [B, H, L] on the device, of kRows rows over and over.
DeviceBuffer<std::uint16_t> repeated(Dtype dtype, const std::vector<double>& rows, std::int64_t samples) {
  DeviceBuffer<std::uint16_t> all(samples);
  const std::vector<std::uint16_t> first = host::encode(dtype, rows);
  std::int64_t done = std::min<std::int64_t>(std::ssize(first), samples);
  DANAUS_CUDA(cudaMemcpy(all.data(), first.data(), 2 * done, cudaMemcpyHostToDevice));
  for (; done < samples; done = std::min(2 * done, samples))
    DANAUS_CUDA(
        cudaMemcpy(all.data() + done, all.data(), 2 * std::min(done, samples - done), cudaMemcpyDeviceToDevice));
  return all;
}

// The first and the last row, those where the number of samples, of bytes and of words passes a power of two, and some.
std::vector<std::int64_t> sampled_rows(const Convolution& p, std::mt19937& random) {
  const std::int64_t rows = p.batch * p.channels;
  std::vector<std::int64_t> list = {0, rows - 1};
  for (int bits : {30, 31, 32})
    for (std::int64_t row : {(std::int64_t{1} << bits) / p.length - 1, (std::int64_t{1} << bits) / p.length})
      if (row < rows) list.push_back(row);
  for (int i = 0; i < 8; ++i) list.push_back(std::int64_t(random() % std::uint64_t(rows)));
  return list;
}

class CudaLarge : public OnCuda, public testing::WithParamInterface<const char*> {};

TEST_P(CudaLarge, SampledRowsAreRight) {
  const auto machine = cuda_machine();
  const Convolution p = parse_convolution(GetParam());
  const std::int64_t samples = p.batch * p.channels * p.length;
  ASSERT_GT(samples, std::int64_t{1} << 32);
  Plan plan(p, machine);
  const std::int64_t needed = 2 * samples * (2 + p.postgate) + plan.workspace_bytes(p.batch) + plan.prepared_bytes();
  std::size_t left = 0, total = 0;
  DANAUS_CUDA(cudaMemGetInfo(&left, &total));
  if (std::int64_t(left) < needed + (std::int64_t{1} << 30)) GTEST_SKIP() << needed << " bytes are needed";

  std::mt19937 random(samples);
  const std::vector<double> rows = draw(random, kRows * p.length, p.dtype);
  const std::vector<double> gates = p.postgate ? draw(random, kRows * p.length, p.dtype) : std::vector<double>();
  const std::vector<double> k = draw(random, p.channels * p.filter_length, Dtype::f16);
  const auto u = repeated(p.dtype, rows, samples);
  const auto v = p.postgate ? repeated(p.dtype, gates, samples) : DeviceBuffer<std::uint16_t>(1);
  DeviceBuffer<std::uint16_t> y(samples);
  DANAUS_CUDA(cudaMemset(y.data(), 0xff, y.bytes()));  // NaN
  plan.set_filter(host::encode_bytes(filter_dtype(p), k));
  std::vector<Buffer> buffers = {{"u", u.data(), u.bytes()}, {"y", y.data(), y.bytes()}};
  if (p.postgate) buffers.emplace_back("postgate", v.data(), v.bytes());
  plan.execute(buffers);
  DANAUS_CUDA(cudaDeviceSynchronize());

  Convolution one = p;
  one.batch = one.channels = 1;
  for (std::int64_t row : sampled_rows(p, random)) {
    SCOPED_TRACE(testing::Message() << plan.variant().name << ", b=" << row / p.channels << ", h=" << row % p.channels);
    const auto part_of = [](const std::vector<double>& all, std::int64_t number, std::int64_t length) {
      if (all.empty()) return all;
      return std::vector<double>(all.begin() + number * length, all.begin() + (number + 1) * length);
    };
    Inputs inputs;
    inputs.u = part_of(rows, row % kRows, p.length), inputs.postgate = part_of(gates, row % kRows, p.length);
    inputs.k = part_of(k, row % p.channels, p.filter_length);
    std::vector<std::uint16_t> words(p.length);
    DANAUS_CUDA(cudaMemcpy(words.data(), y.data() + row * p.length, 2 * p.length, cudaMemcpyDeviceToHost));
    expect_right(one, inputs, host::decode(p.dtype, words), plan.variant());
  }
}

// Fused with tensor maps, enclosed rows, gates; outer passes of both folds, aligned or not; chunks, direct or copied.
INSTANTIATE_TEST_SUITE_P(Cases, CudaLarge,
                         testing::Values("fftconv_f16_circular_l4096_b1100_h1000",
                                         "fftconv_f16_causal_l256_b17000_h1000",
                                         "fftconv_bf16_causal_l4001_k999_b1100_h1000_postgate",
                                         "fftconv_f16_circular_l1048576_k65536_b65_h64",
                                         "fftconv_bf16_causal_l1000001_k65536_b68_h64",
                                         "fftconv_f16_causal_l1048576_k2048_b65_h64_postgate",
                                         "fftconv_f16_circular_l1000001_k2048_b68_h64"));

}  // namespace
}  // namespace danaus

// Plans on a CUDA device: every variant that suits it, and what only a device can refuse. Skipped where there is none.
#include <gmock/gmock.h>

#include <random>

#include "kernels/cuda/runtime.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// The words of guarded samples on the device, from there and back.
class OnDevice {
 public:
  explicit OnDevice(GuardedSamples& samples) : host_(samples), words_(uploaded(samples.words())) {}
  OutputSamples samples() const { return {words_.data() + host_.begin(), host_.samples().size()}; }
  void fetch() { DANAUS_CUDA(cudaMemcpy(host_.words().data(), words_.data(), words_.bytes(), cudaMemcpyDeviceToHost)); }

 private:
  GuardedSamples& host_;
  DeviceBuffer<std::uint16_t> words_;
};

std::vector<double> execute_on_gpu(const Convolution& problem, const Inputs& inputs, const Device& device,
                                   int offset = 0) {
  Plan plan(problem, device);
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  GuardedSamples u(problem.dtype, inputs.u, offset), y(std::ssize(inputs.u), offset);
  GuardedSamples pregate(problem.dtype, inputs.pregate, offset), postgate(problem.dtype, inputs.postgate, offset);
  OnDevice device_u(u), device_y(y), device_pregate(pregate), device_postgate(postgate);
  const CudaStream stream;
  plan.execute(device_u.samples(), device_y.samples(), problem.pregate ? device_pregate.samples() : OutputSamples(),
               problem.postgate ? device_postgate.samples() : OutputSamples(), stream);
  stream.synchronize();
  device_y.fetch();
  EXPECT_TRUE(y.guards_are_whole());
  return host::decode(problem.dtype, y.samples());
}

void expect_right_on_gpu(const Convolution& problem, const DataSpec& spec, const Device& device, int offset = 0) {
  const Variant& variant = *choose(problem, device).variant;
  SCOPED_TRACE(testing::Message() << token(problem) << ", scale " << spec.scale << ", " << name(variant));
  const Inputs inputs = make_inputs(problem, spec);
  expect_right(problem, inputs, execute_on_gpu(problem, inputs, device, offset), variant);
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::cuda_count() == 0) GTEST_SKIP() << "no CUDA device";
    device_ = Device::cuda();
  }
  Device device_;
};

// One test a size, so that they can be shared out among processes.
class CudaSizes : public Cuda, public testing::WithParamInterface<int> {};

TEST_P(CudaSizes, EveryVariantIsWithinItsBound) {
  std::mt19937 random(GetParam());
  const auto draw = [&](auto... options) { return std::array{options...}[random() % sizeof...(options)]; };
  const std::int64_t n = GetParam();
  const int many = n < 8192 ? 200 : 80;  // channels: more items than run at once
  for (const Variant& v : variants()) {
    if (v.size() != n) continue;
    const bool pair = v.geometry.fold == Fold::pair;
    for (std::int64_t length : {n, pair ? n : n - 8, pair ? n : n - 13}) {
      Convolution p = problem_for(v, draw(1, 2, 7), draw(1, 3, many), length);
      p.filter_length = draw(length, length / 7, std::int64_t{1});
      if (!pair && length != n) p.mode = draw(Mode::causal, Mode::circular);
      if (v.gated) p.pregate = draw(true, false), p.postgate = !p.pregate || draw(true, false);
      if (choose(p, device_).variant != &v) continue;  // for another device
      DataSpec spec;
      spec.scale = p.filter_length == 1 ? draw(1., 100.) : draw(1., 0.02, 1e-4, 100.);
      for (int offset : {0, 1}) expect_right_on_gpu(p, spec, device_, offset);
    }
  }
}

// So few blocks that each takes many items, of several channels; little enough for compute-sanitizer.
TEST_P(CudaSizes, BlocksThatTakeManyItemsAreRight) {
  Device few = device_;
  few.multiprocessors = 1;
  const int n = GetParam(), channels = n <= 2048 ? 40 : 7;
  for (const Variant& v : variants()) {
    if (v.size() != n) continue;
    for (int length : {n, n - 13}) {
      Convolution p = problem_for(v, 5, channels, length);
      if ((v.geometry.fold == Fold::pair && length != n) || choose(p, few).variant != &v) continue;
      p.pregate = p.postgate = v.gated;
      expect_right_on_gpu(p, {}, few);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaSizes,
                         testing::Values(256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
                                         32768),
                         [](const auto& info) { return std::string("n").append(std::to_string(info.param)); });

// Lengths 1 to 600 and a sample of longer ones, in twelve parts.
class CudaLengths : public Cuda, public testing::WithParamInterface<int> {};

TEST_P(CudaLengths, AreAllWithinTheirBound) {
  std::mt19937 random(GetParam());
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 1 + GetParam(); length <= 600; length += 12) lengths.push_back(length);
  for (int i = 0; i < 10; ++i) lengths.push_back(1 + random() % 32768);
  for (std::int64_t length : lengths)
    for (Mode mode : {Mode::circular, Mode::causal}) {
      Convolution p;
      p.mode = mode, p.batch = 3, p.channels = 2, p.length = p.filter_length = length;
      expect_right_on_gpu(p, {}, device_);
    }
}

INSTANTIATE_TEST_SUITE_P(Parts, CudaLengths, testing::Range(0, 12));

TEST_F(Cuda, FiltersFromHostAndDeviceGiveTheSame) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l8192_b2_h3");
  const Inputs inputs = make_inputs(p, {});
  const std::vector<float> k(inputs.k.begin(), inputs.k.end());
  const DeviceBuffer<float> device_k = uploaded(k);
  GuardedSamples u(p.dtype, inputs.u, 0), first(std::ssize(inputs.u), 0), second(std::ssize(inputs.u), 0);
  OnDevice device_u(u), device_first(first), device_second(second);
  Plan plan(p, device_);
  plan.set_filter(k);
  plan.execute(device_u.samples(), device_first.samples());
  plan.set_filter({device_k.data(), k.size()});
  plan.execute(device_u.samples(), device_second.samples());
  device_first.fetch(), device_second.fetch();
  EXPECT_TRUE(std::ranges::equal(first.samples(), second.samples()));
}

TEST_F(Cuda, MemoryAndStreamsOfOthersAreRefused) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l100_b2_h3");
  Plan plan(p, device_);
  plan.set_filter(std::vector<float>(300));
  std::vector<std::uint16_t> host(600);
  const auto u = uploaded(host);
  DeviceBuffer<std::uint16_t> y(600);
  const auto refused = [&](Samples from, OutputSamples to, Stream stream = nullptr) -> std::string {
    try {
      plan.execute(from, to, {}, {}, stream);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no refusal";
  };
  const Samples device_u{u.data(), 600};
  const OutputSamples device_y{y.data(), 600};
  EXPECT_THAT(refused(host, device_y), HasSubstr("u is in host memory"));
  EXPECT_THAT(refused(device_u, host), HasSubstr("y is in host memory"));
  if (Device::cuda_count() > 1) {
    const DeviceScope other(1);
    const CudaStream stream;
    EXPECT_THAT(refused(device_u, device_y, stream), HasSubstr("the stream is of CUDA device 1"));
    DeviceBuffer<std::uint16_t> far(600);
    EXPECT_THAT(refused({far.data(), 600}, device_y), HasSubstr("u is on CUDA device 1"));
  }
  EXPECT_EQ(refused(device_u, device_y), "no refusal");
  DANAUS_CUDA(cudaDeviceSynchronize());
}

TEST_F(Cuda, ErrorsOfCudaNameTheCallAndItsPlace) {
  try {
    DANAUS_CUDA(cudaSetDevice(1000));
    FAIL() << "device 1000 exists";
  } catch (const CudaError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuda_test.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr("cudaSetDevice(1000): cudaErrorInvalidDevice"));
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace danaus

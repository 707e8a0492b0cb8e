// Plans on a CUDA device: every variant that suits it, and what only a device can refuse. Skipped where there is none.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <ranges>

#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/sparse_support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// The words of guarded samples on the device, from there and back.
class SamplesOnDevice {
 public:
  explicit SamplesOnDevice(GuardedSamples& samples) : host_(samples), words_(uploaded(samples.words())) {}
  std::span<std::uint16_t> samples() const { return {words_.data() + host_.begin(), host_.samples().size()}; }
  void fetch() { DANAUS_CUDA(cudaMemcpy(host_.words().data(), words_.data(), words_.bytes(), cudaMemcpyDeviceToHost)); }

 private:
  GuardedSamples& host_;
  DeviceBuffer<std::uint16_t> words_;
};

using OnMachine = std::shared_ptr<const Machine>;

std::vector<double> execute_on_gpu(const Convolution& problem, const Inputs& inputs, const OnMachine& machine,
                                   int offset = 0) {
  Plan plan(problem, machine, marks_of(problem));
  plan.set_filter(host::encode_bytes(filter_dtype(problem), inputs.k));
  GuardedSamples u(problem.dtype, inputs.u, offset), y(std::ssize(inputs.u), offset);
  GuardedSamples pregate(problem.dtype, inputs.pregate, offset), postgate(problem.dtype, inputs.postgate, offset);
  SamplesOnDevice device_u(u), device_y(y), device_pregate(pregate), device_postgate(postgate);
  const CudaStream stream;
  plan.execute(
      buffers_of(problem, device_u.samples(), device_y.samples(), device_pregate.samples(), device_postgate.samples()),
      {.stream = stream});
  stream.synchronize();
  device_y.fetch();
  EXPECT_TRUE(y.guards_are_whole());
  return host::decode(problem.dtype, y.samples());
}

void expect_right_on_gpu(const KnownCase& known, const OnMachine& machine, int offset, const Convolution& problem) {
  const Variant& variant = choose(problem, machine->device());
  SCOPED_TRACE(testing::Message() << token(problem) << ", " << variant.name << ", offset " << offset);
  const Promise promise = promise_of(problem, variant, machine->device());
  expect_right(known, {{"y", execute_on_gpu(problem, inputs_of(known.inputs), machine, offset)}}, promise);
}

// At each of these offsets in samples from 16-byte alignment.
void expect_right_on_gpu(const Convolution& problem, const DataSpec& spec, const OnMachine& machine,
                         std::initializer_list<int> offsets = {0}) {
  SCOPED_TRACE(testing::Message() << "scale " << spec.scale);
  const KnownCase known(problem, values_of(make_inputs(problem, spec)));
  for (int offset : offsets) expect_right_on_gpu(known, machine, offset, problem);
}

// Whether this build has the kernel's code for the machine.
bool has_code(const Machine& machine, const Variant& v) {
  return v.compiled && machine.has({v.family, v.line, v.instance});
}

class Cuda : public OnCuda {
 protected:
  void SetUp() override {
    OnCuda::SetUp();
    if (!IsSkipped()) machine_ = cuda_machine();
  }
  OnMachine machine_;
};

class CudaSizes : public Cuda, public testing::WithParamInterface<SizeAndDtype> {
 protected:
  // Of these variants those of this size and type that have code for the machine.
  template <class List>
  std::vector<const Variant*> candidates(const List& of) const {
    std::vector<const Variant*> list;
    for (const auto& v : of)
      if (std::pair(v->size, v->dtype) == GetParam() && has_code(*machine_, *v)) list.push_back(v.get());
    return list;
  }
};

TEST_P(CudaSizes, EveryVariantIsWithinItsBound) {
  const std::int64_t n = GetParam().first;
  std::mt19937 random(n);
  const auto draw = [&](auto... options) { return std::array{options...}[random() % sizeof...(options)]; };
  const int many = n < 8192 ? 200 : 80;  // channels: more items than run at once
  for (const Variant* variant : candidates(variants())) {
    const Variant& v = *variant;
    const bool whole = v.wraps();
    for (std::int64_t length : {n, whole ? n : n - 8, whole ? n : n - 13}) {
      Convolution p = problem_for(v, draw(1, 2, 7), draw(1, 3, many), length);
      p.filter_length = draw(length, length / 7, std::int64_t{1});
      if (!whole && length != n) p.mode = draw(Mode::causal, Mode::circular);
      if (v.gated) p.pregate = draw(true, false), p.postgate = !p.pregate || draw(true, false);
      if (&choose(p, machine_->device()) != &v) continue;  // for another device
      DataSpec spec;
      spec.scale = p.filter_length == 1 ? draw(1., 100.) : draw(1., 0.02, 1e-4, 100.);
      expect_right_on_gpu(p, spec, machine_, {0, 1});
    }
  }
}

// So few blocks that each takes many items, of several channels; little enough for compute-sanitizer.
TEST_P(CudaSizes, BlocksThatTakeManyItemsAreRight) {
  const OnMachine few = cuda_machine(0, 1);
  const int n = GetParam().first, channels = n <= 2048 ? 40 : 7;
  for (const Variant* variant : candidates(variants())) {
    const Variant& v = *variant;
    for (int length : {n, n - 13}) {
      Convolution p = problem_for(v, 5, channels, length);
      if ((v.wraps() && length != n) || &choose(p, few->device()) != &v) continue;
      expect_right_on_gpu(p, {}, few);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaSizes, testing::ValuesIn(sizes_of(variants())), name_of_size);

// By outer passes and by clusters; to a million samples, since the truth takes long.
class CudaLong : public CudaSizes {};

TEST_P(CudaLong, EveryVariantIsWithinItsBound) {
  for (const auto& [batch, channels, less, offset] : {std::array{1, 3, 0, 0}, {3, 2, 13, 1}}) {
    std::map<std::pair<bool, bool>, KnownCase> known;  // of those that wrap, that have gates
    for (const auto& v : long_variants()) {
      if (std::pair(v->size, v->dtype) != GetParam() || !v->compiled) continue;
      const Convolution p = problem_for(*v, batch, channels, v->wraps() ? v->size : v->size - less);
      if (&choose(p, machine_->device()) != v.get()) continue;
      const auto [at, _] = known.try_emplace({v->wraps(), v->gated}, p, make_values(p));
      expect_right_on_gpu(at->second, machine_, offset, p);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaLong,
                         testing::ValuesIn(sizes_of(long_variants() | std::views::filter([](const auto& v) {
                                                      return v->size <= 1 << 20;
                                                    }))),
                         name_of_size);

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
      if (has_code(*machine_, choose(p, machine_->device()))) expect_right_on_gpu(p, {}, machine_);
    }
}

INSTANTIATE_TEST_SUITE_P(Parts, CudaLengths, testing::Range(0, 12));

// By kernels that leave out what is dead, of many items and of all in few blocks.
TEST_F(Cuda, MasksAreWithinTheirBound) {
  const OnMachine few = cuda_machine(0, 1);
  for (const Masked& masked : kMasked)
    for (const OnMachine& machine : {machine_, few}) {
      Convolution p = masked.problem();
      if (!has_code(*machine, choose(p, machine->device(), marks_of(p)))) continue;
      expect_right_on_gpu(p, {}, machine, {0, 1});
      p.batch = 7, p.channels = p.length <= 4096 ? 200 : 20;
      if (machine != few) expect_right_on_gpu(p, {}, machine);
    }
}

TEST_F(Cuda, LongMasksAreWithinTheirBound) {
  for (const MaskedLong& masked : kMaskedLong) {
    Convolution p = masked.problem();
    if (!choose(p, machine_->device(), marks_of(p)).compiled) continue;
    expect_right_on_gpu(p, {}, machine_, {0, 1});
    p.batch = 9, p.channels = 7;
    expect_right_on_gpu(p, {}, machine_);
  }
}

// Out of rows, by pieces and, where so many rows are not much, by rows; and by copies of what is not aligned.
class CudaChunks : public CudaSizes {};

TEST_P(CudaChunks, AreWithinTheirBound) {
  for (const Variant* v : candidates(chunk_variants())) {
    if (!v->preferred) continue;
    for (const auto& [length, batch, offset] :
         {std::array{200000, 5, 0}, {200000, 2, 1}, {199997, 2, 0}, {3 * v->size, 300, 0}}) {
      if (batch == 300 && v->size > 2048) continue;
      Convolution p;
      p.dtype = v->dtype, p.mode = batch == 2 ? Mode::circular : Mode::causal;
      p.batch = batch, p.channels = 3, p.length = length, p.filter_length = v->size / (batch == 2 ? 2 : 7);
      p.pregate = p.postgate = v->gated, p.fft_size = v->size;
      expect_right_on_gpu(p, {}, machine_, {offset});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaChunks, testing::ValuesIn(sizes_of(chunk_variants())), name_of_size);

TEST_F(Cuda, FiltersFromHostAndDeviceGiveTheSame) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l8192_b2_h3");
  const Inputs inputs = make_inputs(p, {});
  const std::vector<float> k(inputs.k.begin(), inputs.k.end());
  const DeviceBuffer<float> device_k = uploaded(k);
  GuardedSamples u(p.dtype, inputs.u, 0), first(std::ssize(inputs.u), 0), second(std::ssize(inputs.u), 0);
  SamplesOnDevice device_u(u), device_first(first), device_second(second);
  Plan plan(p, machine_);
  plan.set_filter(k);
  plan.execute({{"u", device_u.samples()}, {"y", device_first.samples()}});
  plan.set_filter(std::span(device_k.data(), k.size()));
  plan.execute({{"u", device_u.samples()}, {"y", device_second.samples()}});
  device_first.fetch(), device_second.fetch();
  EXPECT_TRUE(std::ranges::equal(first.samples(), second.samples()));
}

TEST_F(Cuda, MemoryAndStreamsOfOthersAreRefused) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l100_b2_h3");
  Plan plan(p, machine_);
  plan.set_filter(std::vector<float>(300));
  std::vector<std::uint16_t> host(600);
  const auto u = uploaded(host);
  DeviceBuffer<std::uint16_t> y(600);
  using Samples = std::span<const std::uint16_t>;
  const auto refused = [&](Samples from, Samples to, Stream stream = nullptr) -> std::string {
    try {
      plan.execute({{"u", from}, {"y", to}}, {.stream = stream});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no refusal";
  };
  const Samples device_u{u.data(), 600};
  const Samples device_y{y.data(), 600};
  EXPECT_THAT(refused(host, device_y), HasSubstr("u is in host memory"));
  EXPECT_THAT(refused(device_u, host), HasSubstr("y is in host memory"));
  if (cuda_device_count() > 1) {
    const DeviceScope other(1);
    const CudaStream stream;
    EXPECT_THAT(refused(device_u, device_y, stream), HasSubstr("the stream is of CUDA device 1"));
    DeviceBuffer<std::uint16_t> far(600);
    EXPECT_THAT(refused({far.data(), 600}, device_y), HasSubstr("u is on CUDA device 1"));
  }
  EXPECT_EQ(refused(device_u, device_y), "no refusal");
  DANAUS_CUDA(cudaDeviceSynchronize());
}

// Each call of a stream begins while the one before it still runs: what it reads may not have been written yet.
TEST_F(Cuda, CallsThatReadWhatTheOneBeforeThemWroteWaitForIt) {
  for (const char* word : {"fftconv_f16_circular_l1024_b40_h700", "fftconv_f16_circular_l4096_b8_h700",
                           "fftconv_bf16_causal_l504_b5_h900"}) {
    SCOPED_TRACE(word);
    const Convolution p = parse_convolution(word);
    if (!has_code(*machine_, choose(p, machine_->device()))) continue;
    const Inputs inputs = make_inputs(p, {});
    Plan plan(p, machine_);
    plan.set_filter(host::encode_bytes(filter_dtype(p), inputs.k));
    const auto start = uploaded(host::encode(p.dtype, inputs.u));
    const auto chained = [&](bool wait) {
      const CudaStream stream;
      DeviceBuffer<std::uint16_t> even(start.size()), odd(start.size());
      DANAUS_CUDA(cudaMemcpyAsync(even.data(), start.data(), start.bytes(), cudaMemcpyDeviceToDevice, stream));
      for (int call = 0; call < 20; ++call) {
        const auto& from = call % 2 == 0 ? even : odd;
        const auto& to = call % 2 == 0 ? odd : even;
        plan.execute({{"u", from.data(), from.bytes()}, {"y", to.data(), to.bytes()}}, {.stream = stream});
        if (wait) stream.synchronize();
      }
      stream.synchronize();
      std::vector<std::uint16_t> words(start.size());
      DANAUS_CUDA(cudaMemcpy(words.data(), even.data(), even.bytes(), cudaMemcpyDeviceToHost));
      return words;
    };
    const std::vector<std::uint16_t> one_by_one = chained(true);
    for (int repetition = 0; repetition < 5; ++repetition) EXPECT_TRUE(chained(false) == one_by_one);
  }
}

TEST_F(Cuda, ACapturedCallGivesWhatTheCallGives) {
  const Convolution p = parse_convolution("fftconv_f16_causal_l1024_b3_h5");
  const Inputs inputs = make_inputs(p, {});
  const auto k = uploaded(std::vector<float>(inputs.k.begin(), inputs.k.end()));
  const auto u = uploaded(host::encode(p.dtype, inputs.u));
  DeviceBuffer<std::uint16_t> y(u.size());
  Plan plan(p, machine_);
  const CudaStream stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  const auto capture = [&] {
    DANAUS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    std::string refusal;
    try {
      plan.set_filter(std::span<const float>(k.data(), k.size()), {.stream = stream});
      plan.execute({{"u", u.data(), u.bytes()}, {"y", y.data(), y.bytes()}}, {.stream = stream});
    } catch (const std::invalid_argument& error) {
      refusal = error.what();
    }
    DANAUS_CUDA(cudaStreamEndCapture(stream, &graph));
    return refusal;
  };
  EXPECT_THAT(capture(), HasSubstr("prepare: the stream is being captured, where nothing can be allocated"));
  DANAUS_CUDA(cudaGraphDestroy(graph));
  plan.set_filter(std::span<const float>(k.data(), k.size()), {.stream = stream});
  EXPECT_EQ(capture(), "");
  DANAUS_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  DANAUS_CUDA(cudaMemset(y.data(), 0xff, y.bytes()));
  for (int launch = 0; launch < 3; ++launch) DANAUS_CUDA(cudaGraphLaunch(executable, stream));
  stream.synchronize();
  std::vector<std::uint16_t> words(y.size());
  DANAUS_CUDA(cudaMemcpy(words.data(), y.data(), y.bytes(), cudaMemcpyDeviceToHost));
  expect_right(p, inputs, host::decode(p.dtype, words), plan.variant());
  DANAUS_CUDA(cudaGraphExecDestroy(executable));
  DANAUS_CUDA(cudaGraphDestroy(graph));
}

// A filter from the host is there when set_filter() returns; calls on other streams still read the one before it.
TEST_F(Cuda, AFilterFromTheHostWaitsForCallsThatReadTheOneBeforeIt) {
  const Convolution p = parse_convolution("fftconv_f16_circular_l1024_b64_h700");
  const Inputs inputs = make_inputs(p, {});
  Plan plan(p, machine_);
  const std::vector<float> k(inputs.k.begin(), inputs.k.end()), zeros(k.size(), 0.f);
  const auto u = uploaded(host::encode(p.dtype, inputs.u));
  // Written before, since initcheck takes no bulk store for a write.
  const auto y = uploaded(std::vector<std::uint16_t>(u.size())), last = uploaded(std::vector<std::uint16_t>(u.size()));
  const CudaStream stream;
  const auto call = [&](const DeviceBuffer<std::uint16_t>& to) {
    plan.execute({{"u", u.data(), u.bytes()}, {"y", to.data(), to.bytes()}}, {.stream = stream});
  };
  plan.set_filter(k);
  call(last);
  stream.synchronize();
  std::vector<std::uint16_t> right(u.size()), words(u.size());
  DANAUS_CUDA(cudaMemcpy(right.data(), last.data(), last.bytes(), cudaMemcpyDeviceToHost));
  for (int repetition = 0; repetition < 5; ++repetition) {
    plan.set_filter(k);
    for (int i = 0; i < 200; ++i) call(y);
    call(last);
    plan.set_filter(zeros);
    stream.synchronize();
    DANAUS_CUDA(cudaMemcpy(words.data(), last.data(), last.bytes(), cudaMemcpyDeviceToHost));
    ASSERT_TRUE(words == right) << "call " << repetition << " read the filter that came after it";
  }
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

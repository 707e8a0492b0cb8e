// What plans on a GPU may have in common: streams, threads, captures, devices.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/kernels/on_device.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// By pieces, so that there is a workspace.
constexpr const char* kToken = "fftconv_f16_causal_l30011_k20_b8_h16_n256";

class Captures : public OnCuda {
 protected:
  void SetUp() override {
    OnCuda::SetUp();
    if (IsSkipped()) return;
    machine_ = cuda_machine();
    for (unsigned seed = 1; seed <= 3; ++seed) {
      DataSpec spec;
      spec.seed = seed;
      inputs_.push_back(make_inputs(problem_, spec));
      u_.push_back(uploaded(host::encode(problem_.dtype, inputs_.back().u)));
      y_.push_back(uploaded(std::vector<std::uint16_t>(u_.back().size())));
    }
    k_.assign(inputs_[0].k.begin(), inputs_[0].k.end());
    plan_ = std::make_unique<Plan>(problem_, machine_);
    plan_->set_filter(k_);
    ASSERT_GT(plan_->workspace_bytes(8), 0);
    for (std::size_t i = 0; i < u_.size(); ++i) {
      execute(i, nullptr);
      right_.push_back(result(i));
    }
  }
  // Number i of the inputs, of so many rows.
  void execute(std::size_t i, Stream stream, std::int64_t batch = 8) const {
    const std::size_t bytes = u_[i].bytes() / 8 * static_cast<std::size_t>(batch);
    plan_->execute({{"u", u_[i].data(), bytes}, {"y", y_[i].data(), bytes}}, {.stream = stream, .batch = batch});
  }
  std::vector<std::uint16_t> result(std::size_t i) const {
    DANAUS_CUDA(cudaDeviceSynchronize());
    std::vector<std::uint16_t> words(y_[i].size());
    DANAUS_CUDA(cudaMemcpy(words.data(), y_[i].data(), y_[i].bytes(), cudaMemcpyDeviceToHost));
    DANAUS_CUDA(cudaMemset(y_[i].data(), 0xff, y_[i].bytes()));
    return words;
  }

  Convolution problem_ = parse_convolution(kToken);
  std::shared_ptr<const Machine> machine_;
  std::unique_ptr<Plan> plan_;
  std::vector<Inputs> inputs_;
  std::vector<float> k_;
  std::vector<DeviceBuffer<std::uint16_t>> u_, y_;
  std::vector<std::vector<std::uint16_t>> right_;
};

TEST_F(Captures, StreamsOfOneThreadAtOnce) {
  const CudaStream streams[3];
  for (int repetition = 0; repetition < 10; ++repetition) {
    for (std::size_t i = 0; i < 3; ++i)
      for (int again = 0; again < 4; ++again) execute(i, streams[i]);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(result(i) == right_[i]) << "stream " << i;
  }
}

// On streams of their own, and all on one.
TEST_F(Captures, ThreadsAtOnce) {
  const CudaStream streams[3], shared;
  for (const bool apart : {true, false}) {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
          for (int again = 0; again < 20; ++again) execute(i, apart ? streams[i] : shared);
        });
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(result(i) == right_[i]) << "thread " << i;
  }
}

TEST_F(Captures, AGraphKeepsItsWorkspaceBesideLaterCalls) {
  const CudaStream stream, other;
  Plan fresh(problem_, machine_);
  fresh.set_filter(k_);
  std::swap(*plan_, fresh);
  execute(0, other, 1);            // which the capture takes the workspace of
  const auto one_row = result(0);  // a row beside others may differ from it in the last bit
  const CudaGraph graph(stream, [&](cudaStream_t on) { execute(0, on, 1); });
  EXPECT_THAT(
      [&] {
        try {
          CudaGraph(stream, [&](cudaStream_t on) { execute(0, on, 1); });
        } catch (const std::invalid_argument& error) {
          return std::string(error.what());
        }
        return std::string("captured");
      }(),
      HasSubstr("make the same call once before each capture"));
  // Larger calls on the graph's stream and on another, while it runs again and again.
  for (int repetition = 0; repetition < 20; ++repetition) {
    graph.launch(stream);
    execute(1, other), execute(2, stream);
  }
  const auto row = static_cast<std::ptrdiff_t>(right_[0].size() / 8);
  const auto first = result(0);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + row, one_row.begin()));
  EXPECT_TRUE(result(1) == right_[1]);
  EXPECT_TRUE(result(2) == right_[2]);
}

// A capture in the strictest mode, while another thread makes plans, gives them filters of the host, frees them and
// copies.
TEST_F(Captures, WhatAnotherThreadAllocatesAndFreesLeavesACaptureWhole) {
  const CudaStream stream;
  execute(0, stream);
  DANAUS_CUDA(cudaDeviceSynchronize());
  DANAUS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::string failed;
  std::jthread([&] {
    try {
      Plan another(problem_, machine_);
      another.set_filter(k_, {.stream = nullptr});
      const auto memory = machine_->upload(k_.data(), 4 * std::ssize(k_));
    } catch (const std::exception& error) {
      failed = error.what();
    }
  }).join();
  execute(0, stream);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "the other thread: " << failed;
  EXPECT_EQ(failed, "");
  if (graph) DANAUS_CUDA(cudaGraphDestroy(graph));
  cudaGetLastError();
}

TEST_F(Captures, PolesAreNotReadBackInACapture) {
  Plan plan(parse_case("ssmconv_f16_s4_l64_b2_h1"), machine_);
  const auto values = uploaded(std::vector<float>(8, 0.5f));
  const auto bytes = values.bytes();
  const std::vector<Buffer> filters = {
      {"a", values.data(), bytes}, {"b", values.data(), bytes}, {"c", values.data(), bytes}};
  const CudaStream stream;
  plan.prepare(filters, {.stream = stream});
  std::string refusal;
  CudaGraph(stream, [&](cudaStream_t on) {
    try {
      plan.prepare(filters, {.stream = on});
    } catch (const std::invalid_argument& error) {
      refusal = error.what();
    }
    execute(0, on);  // of another plan, so that the graph is not empty
  });
  EXPECT_THAT(refusal, HasSubstr("reads its filters back to check them"));
}

// Whatever device is current: all that a machine does is on its own.
TEST_F(Captures, AnotherDeviceIsCurrent) {
  if (cuda_device_count() < 2) GTEST_SKIP() << "one CUDA device";
  const DeviceScope other(1);
  {
    Plan plan(problem_, machine_);
    plan.set_filter(k_);
    const auto memory = machine_->upload(k_.data(), 4 * std::ssize(k_));
    std::vector<float> back(k_.size());
    machine_->copy_to_host(back.data(), memory.get(), 4 * std::ssize(k_));
    EXPECT_EQ(back, k_);
    cudaPointerAttributes attributes;
    DANAUS_CUDA(cudaPointerGetAttributes(&attributes, memory.get()));
    EXPECT_EQ(attributes.device, 0);
    std::swap(*plan_, plan);
    execute(0, nullptr);
    machine_->synchronize();
  }
  int current = -1;
  DANAUS_CUDA(cudaGetDevice(&current));
  EXPECT_EQ(current, 1);
  const DeviceScope first(0);
  EXPECT_TRUE(result(0) == right_[0]);
}

}  // namespace
}  // namespace danaus

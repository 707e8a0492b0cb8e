// Whose a plan's own workspaces are: what streams, captures and threads may have in common, and what not.
#include "kernels/plan/workspaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "kernels/cpu/machine.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "kernels/plan/plan.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// Streams whose handles are addresses of these; a handle may stand for another stream later.
class Streams final : public ForwardingMachine {
 public:
  Streams() : ForwardingMachine(executor_machine()) {}
  struct Of {
    std::uint64_t id, capture = 0;
  };
  mutable std::array<Of, 4> streams{Of{1}, Of{2}, Of{3}, Of{4}};
  mutable std::int64_t left = 1 << 30;

  Stream handle(std::size_t i) const { return reinterpret_cast<Stream>(&streams.at(i)); }
  std::uint64_t stream_id(Stream stream) const override {
    if (of(stream).capture != 0) fail("a stream that is captured has no number");  // as in CUDA
    return of(stream).id;
  }
  std::uint64_t capture_id(Stream stream) const override { return of(stream).capture; }
  void check_stream(const char*, Stream) const override {}
  std::shared_ptr<void> allocate(std::int64_t bytes) const override {
    if (bytes > left) throw OutOfMemory(text(left, " are free"));
    left -= bytes;
    const std::shared_ptr<void> memory = ForwardingMachine::allocate(bytes);
    return {memory.get(), [this, memory, bytes](void*) { left += bytes; }};
  }

 private:
  static const Of& of(Stream stream) { return *reinterpret_cast<const Of*>(stream); }
};

struct WorkspacesOf {
  Streams machine;
  Workspaces workspaces;

  Workspaces::Lease take(std::size_t stream, std::int64_t bytes) {
    return workspaces.take("execute", bytes, machine, machine.handle(stream),
                           [](const OutOfMemory& why) { return OutOfMemory(text("explained: ", why.what())); });
  }
  void* after_call(std::size_t stream, std::int64_t bytes) { return take(stream, bytes).data(); }
  std::string refused(std::size_t stream, std::int64_t bytes) {
    try {
      take(stream, bytes);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "taken";
  }
};

TEST(Workspaces, AStreamTakesItsOwnAgainAndNoOther) {
  WorkspacesOf w;
  void* const first = w.after_call(0, 512);
  EXPECT_EQ(w.after_call(0, 512), first);
  EXPECT_EQ(w.after_call(0, 256), first);
  EXPECT_NE(w.after_call(1, 512), first);
  w.machine.streams[0].id = 9;  // destroyed, and another one made at the same address
  EXPECT_NE(w.after_call(0, 512), first);
}

TEST(Workspaces, TwoCallsAtOnceHaveTwo) {
  WorkspacesOf w;
  const auto first = w.take(0, 512), second = w.take(0, 512);
  EXPECT_NE(first.data(), second.data());
}

TEST(Workspaces, WhatAStreamHasOutgrownIsFreed) {
  WorkspacesOf w;
  w.after_call(0, 512), w.after_call(1, 512), w.after_call(0, 1024);
  EXPECT_EQ(w.machine.left, (1 << 30) - 1024 - 512);
}

TEST(Workspaces, OfStreamsWithoutNumberTheLongestIdleAreFreed) {
  WorkspacesOf w;
  for (std::uint64_t id = 1; id <= 100; ++id) w.machine.streams[0].id = id, w.after_call(0, 512);
  EXPECT_EQ(w.machine.left, (1 << 30) - 32 * 512);
}

TEST(Workspaces, AFailedAllocationLeavesWhatWas) {
  WorkspacesOf w;
  w.machine.left = 1000;
  w.after_call(0, 512);
  EXPECT_EQ(w.refused(0, 2048), "explained: 1000 are free");
  EXPECT_EQ(w.machine.left, 488) << "it is there again";
  EXPECT_EQ(w.refused(0, 512), "taken");
  EXPECT_EQ(w.refused(0, 900), "taken") << "the smaller one makes room";
  EXPECT_EQ(w.machine.left, 100);
}

TEST(Workspaces, ACaptureKeepsItsOwnWhateverIsCalledAfterIt) {
  WorkspacesOf w;
  const std::uint64_t capture = 77;
  w.machine.streams[1].capture = capture;
  EXPECT_THAT(w.refused(1, 512),
              HasSubstr("execute: the stream is being captured, where nothing can be allocated; give "
                        "a workspace of 512 bytes, or make the same call once before each capture"));
  void* const before = w.after_call(0, 512);
  void* const captured = w.after_call(1, 512);
  EXPECT_EQ(captured, before);
  EXPECT_EQ(w.after_call(1, 512), captured) << "the next call of the capture";
  EXPECT_NE(w.after_call(0, 512), captured) << "a call beside the graph";
  w.machine.streams[1].capture = 0;
  EXPECT_NE(w.after_call(1, 512), captured) << "a call on the stream, after the capture";
  w.after_call(1, 4096), w.after_call(0, 4096);
  EXPECT_EQ(w.machine.left, (1 << 30) - 512 - 2 * 4096) << "the graph's is not freed";
  w.machine.streams[1].capture = capture + 1;
  EXPECT_NE(w.after_call(1, 512), captured) << "another graph";
  EXPECT_NE(w.after_call(2, 512), captured);
}

TEST(Workspaces, ACapturePrefersWhatItsOwnStreamHasLeft) {
  WorkspacesOf w;
  w.after_call(0, 512);
  void* const own = w.after_call(1, 512);
  w.machine.streams[1].capture = 77;
  EXPECT_EQ(w.after_call(1, 512), own);
}

// ---- of plans

TEST(PlanWorkspaces, AreApartForEachStream) {
  const auto machine = std::make_shared<Streams>();
  const Convolution p = parse_convolution("fftconv_f16_causal_l999_k20_b3_h2_n256");
  Plan plan(p, machine);
  const Inputs inputs = make_inputs(p, {});
  plan.set_filter(std::vector<float>(inputs.k.begin(), inputs.k.end()), {.stream = machine->handle(0)});
  GuardedSamples u(p.dtype, inputs.u, 0), y(std::ssize(inputs.u), 0);
  const auto taken_by = [&](std::size_t stream) {
    const std::int64_t before = machine->left;
    plan.execute({{"u", u.samples()}, {"y", y.samples()}}, {.stream = machine->handle(stream)});
    return before - machine->left;
  };
  EXPECT_EQ(taken_by(1), plan.workspace_bytes(3));
  EXPECT_EQ(taken_by(2), plan.workspace_bytes(3));
  EXPECT_EQ(taken_by(1), 0);
  EXPECT_EQ(taken_by(2), 0);
}

TEST(PlanWorkspaces, ACaptureReadsNoFiltersBack) {
  const auto machine = std::make_shared<Streams>();
  Plan plan(parse_case("ssmconv_f16_s4_l64_b2_h1"), machine);
  std::vector<float> a(8, 0.5f), b(8, 1.f), c(8, 1.f);
  const std::vector<Buffer> filters = {{"a", std::span(a)}, {"b", std::span(b)}, {"c", std::span(c)}};
  const auto refused = [&] {
    try {
      plan.prepare(filters, {.stream = machine->handle(0)});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("prepared");
  };
  EXPECT_EQ(refused(), "prepared");
  machine->streams[0].capture = 5;
  EXPECT_THAT(refused(), HasSubstr("prepare: ssmconv_f16_s4_l64_b2_h1 reads its filters back to check them, which a "
                                   "captured stream cannot wait for"));
}

}  // namespace
}  // namespace danaus

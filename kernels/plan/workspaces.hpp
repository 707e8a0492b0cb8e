// A plan's own workspaces. Calls that may run at the same time never share one.
//
// stream    The calls of a stream run one after the other. They share a workspace.
// threads   A call owns its workspace until its last launch is made.
// capture   A graph may be launched at any time, on any stream. It keeps its calls' workspaces until the plan ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/plan/machine.hpp"

namespace danaus {

class Workspaces {
  struct Workspace {
    std::shared_ptr<void> memory;
    std::int64_t bytes = 0;
    std::uint64_t stream = 0, capture = 0;  // their numbers
    Stream handle = nullptr;                // of the stream that had it last
  };

 public:
  // The workspace of one call, until its launches are made.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : of_(std::exchange(other.of_, nullptr)), its_(std::move(other.its_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (of_) of_->give_back(std::move(its_));
    }
    void* data() const { return its_.memory.get(); }

   private:
    friend class Workspaces;
    Lease(Workspaces* of, Workspace its) : of_(of), its_(std::move(its)) {}
    Workspaces* of_ = nullptr;
    Workspace its_;
  };

  // So many bytes for a call on the stream: a workspace that is idle, or a new one. A captured call gets one that an
  // earlier call left, and throws std::invalid_argument where there is none. Where memory lacks, the stream's smaller
  // idle ones are freed for it. If that is not enough they are allocated again, and explained(error) is thrown.
  using Explain = std::function<OutOfMemory(const OutOfMemory&)>;
  Lease take(const char* operation, std::int64_t bytes, const Machine& machine, Stream stream,
             const Explain& explained);

 private:
  static constexpr std::size_t kMostIdle = 32;  // of more, those that have been idle longest are freed

  Workspace take_captured(const char* operation, std::int64_t bytes, Stream stream, std::uint64_t capture);
  std::optional<Workspace> take_from(std::vector<Workspace>& list, const std::function<bool(const Workspace&)>& suits);
  std::vector<Workspace> take_outgrown(std::uint64_t stream, std::int64_t bytes);
  std::shared_ptr<void> allocate(std::int64_t bytes, const Machine& machine, std::uint64_t stream,
                                 const Explain& explained);
  void give_back(Workspace its);

  std::mutex guard_;
  std::vector<Workspace> idle_, of_captures_;  // the longest idle first
};

}  // namespace danaus

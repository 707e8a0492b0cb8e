// Functions on stacks of their own that switch to each other: Boost.Context, with each switch told to AddressSanitizer.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace danaus::host {

// Stacks, kept for the next fiber: a block of 512 threads would otherwise map 64 MiB for each launch.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool() {
    for (auto& stack : free_) source_.deallocate(stack);
  }
  boost::context::stack_context take() {
    if (free_.empty()) return source_.allocate();
    const auto stack = free_.back();
    free_.pop_back();
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - stack.size, stack.size);
#endif
    return stack;
  }
  void give_back(const boost::context::stack_context& stack) { free_.push_back(stack); }

 private:
  boost::context::fixedsize_stack source_{128 * 1024};
  std::vector<boost::context::stack_context> free_;
};

// Must have finished before it is destroyed. One without a body stands for the stack that the program runs on.
class Fiber {
 public:
  Fiber() = default;
  // `body` runs when the fiber is switched to for the first time, and returns the fiber to go on with when it is over.
  template <class Body>
  Fiber(StackPool& pool, Body body) {
    const auto stack = pool.take();
    bottom_ = static_cast<char*>(stack.sp) - stack.size, size_ = stack.size;
    suspended_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                       Returner{&pool}, [this, body](boost::context::fiber&& before) {
                                         arrived(nullptr, std::move(before));
                                         Fiber& next = *body();
                                         departs(nullptr, next);
                                         departing_ = this;
                                         return std::move(next.suspended_);
                                       });
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(Fiber&& other) = delete;

  // From this fiber, which runs: goes on with `next` until something switches back.
  void switch_to(Fiber& next) {
    void* frames = nullptr;
    departs(&frames, next);
    departing_ = this;
    arrived(frames, std::move(next.suspended_).resume());
  }

 private:
  struct Returner {
    StackPool* pool;
    boost::context::stack_context allocate() { return pool->take(); }
    void deallocate(boost::context::stack_context& stack) { pool->give_back(stack); }
  };

  // In the fiber that was switched to: keeps the one that was left, unless that is over.
  static void arrived([[maybe_unused]] void* frames, boost::context::fiber&& before) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(frames, &departing_->bottom_, &departing_->size_);
#endif
    departing_->suspended_ = std::move(before);
  }
  static void departs([[maybe_unused]] void** frames, [[maybe_unused]] const Fiber& next) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(frames, next.bottom_, next.size_);
#endif
  }

  static inline thread_local Fiber* departing_ = nullptr;
  boost::context::fiber suspended_;  // while it does not run
  const void* bottom_ = nullptr;     // of its stack
  std::size_t size_ = 0;
};

}  // namespace danaus::host

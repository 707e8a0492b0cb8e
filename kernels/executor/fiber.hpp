// A function on a stack of its own, left and entered again: Boost.Context, with each switch told to AddressSanitizer.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstddef>
#include <functional>
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

// Must have finished before it is destroyed.
class Fiber {
 public:
  Fiber(StackPool& pool, std::function<void()> body) : body_(std::move(body)), stack_(pool.take()) {
    inside_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack_.sp, stack_.size, stack_),
                                    Returner{&pool}, [this](boost::context::fiber&& outside) {
                                      outside_ = std::move(outside);
                                      arrived(nullptr, &outside_bottom_, &outside_size_);
                                      body_();
                                      departs(nullptr, outside_bottom_, outside_size_);
                                      return std::move(outside_);
                                    });
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: goes on with the body until it leaves or ends.
  void enter() {
    void* frames = nullptr;
    departs(&frames, static_cast<char*>(stack_.sp) - stack_.size, stack_.size);
    inside_ = std::move(inside_).resume();
    arrived(frames, nullptr, nullptr);
  }

  // From inside the body: goes on where enter() was called.
  void leave() {
    void* frames = nullptr;
    departs(&frames, outside_bottom_, outside_size_);
    outside_ = std::move(outside_).resume();
    arrived(frames, nullptr, nullptr);
  }

 private:
  struct Returner {
    StackPool* pool;
    boost::context::stack_context allocate() { return pool->take(); }
    void deallocate(boost::context::stack_context& stack) { pool->give_back(stack); }
  };

#if defined(__SANITIZE_ADDRESS__)
  static void departs(void** frames, const void* bottom, std::size_t size) {
    __sanitizer_start_switch_fiber(frames, bottom, size);
  }
  static void arrived(void* frames, const void** bottom, std::size_t* size) {
    __sanitizer_finish_switch_fiber(frames, bottom, size);
  }
#else
  static void departs(void**, const void*, std::size_t) {}
  static void arrived(void*, const void**, std::size_t*) {}
#endif

  std::function<void()> body_;
  boost::context::stack_context stack_;
  boost::context::fiber inside_;   // the body, while the outside runs
  boost::context::fiber outside_;  // the outside, while the body runs
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace danaus::host

#include "experiments/cli/in_order.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "experiments/cli/interrupt.hpp"

namespace danaus {

void compute_in_order(std::size_t count, unsigned threads, const std::function<Json(std::size_t)>& compute,
                      const std::function<void(std::size_t, const Json&)>& deliver) {
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      if (interrupt_requested()) throw Interrupted("interrupted");
      deliver(i, compute(i));
    }
    return;
  }
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::optional<Json>> results(count);
  std::exception_ptr failure;
  std::atomic<std::size_t> next{0};

  const auto work = [&] {
    for (std::size_t i; (i = next++) < count;) {
      std::optional<Json> result;
      std::exception_ptr thrown;
      try {
        result = compute(i);
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      results[i] = std::move(result);
      if (thrown && !failure) failure = thrown;
      ready.notify_one();
    }
  };

  const auto stop = [&] { next = count; };
  struct Joined {
    std::vector<std::jthread> workers;
    std::function<void()> stop;
    ~Joined() { stop(); }  // then the workers are joined
  } joined{{}, stop};
  for (unsigned i = 0; i < threads; ++i) joined.workers.emplace_back(work);

  for (std::size_t i = 0; i < count; ++i) {
    std::unique_lock lock(mutex);
    while (!results[i] && !failure && !interrupt_requested()) ready.wait_for(lock, std::chrono::milliseconds(100));
    if (!results[i] && failure) std::rethrow_exception(failure);
    if (!results[i] || interrupt_requested()) throw Interrupted("interrupted");
    const Json result = std::move(*results[i]);
    lock.unlock();
    deliver(i, result);
  }
}

}  // namespace danaus

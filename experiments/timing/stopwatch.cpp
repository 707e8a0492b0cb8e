#include "experiments/timing/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "experiments/timing/statistics.hpp"

namespace danaus {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::shared_ptr<int> shared_with_device() {
  void* memory = nullptr;
  DANAUS_CUDA(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped));
  return {static_cast<int*>(memory), [](int* flag) { cudaFreeHost(flag); }};
}

// Enough launches for a group that events time well, few enough for many groups.
int launches_for(double near_us) {
  constexpr double kGroupUs = 5000;
  return std::clamp(static_cast<int>(kGroupUs / near_us), 1, 1000);
}

}  // namespace

// Closed from its construction to open(), or to its end: an error must not leave the device waiting.
class Stopwatch::Gate {
 public:
  Gate(volatile int* released, Stream stream) : released_(released) {
    *released_ = 0;
    hold(released_, stream);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { open(); }
  void open() { *released_ = 1; }

 private:
  volatile int* released_;
};

Stopwatch::Stopwatch(const Device& device, const Protocol& protocol)
    : protocol_(protocol),
      multiprocessors_(device.multiprocessors),
      before_(device.multiprocessors),
      after_(device.multiprocessors),
      released_(shared_with_device()) {
  // A kernel that is launched for the first time may have to be loaded, which waits for the device.
  held_group([](Stream) {}, 0, 1);
}

double Stopwatch::held_group(const Launch& launch, int warmups, int launches) {
  DANAUS_CUDA(cudaMemsetAsync(before_.data(), 0, before_.bytes(), stream_));
  DANAUS_CUDA(cudaMemsetAsync(after_.data(), 0, after_.bytes(), stream_));
  Gate gate(released_.get(), stream_);
  for (int i = 0; i < warmups; ++i) launch(stream_);
  stamp_clocks(before_.data(), multiprocessors_, stream_);
  start_.record(stream_);
  const Clock::time_point queueing = Clock::now();
  for (int i = 0; i < launches; ++i) launch(stream_);
  queue_us_ = us_since(queueing) / launches;
  stop_.record(stream_);
  stamp_clocks(after_.data(), multiprocessors_, stream_);
  gate.open();
  stream_.synchronize();
  return stop_.microseconds_since(start_) / launches;
}

// The device's timer ticks about once a microsecond.
void Stopwatch::read_clocks(std::vector<double>& mhz) const {
  constexpr unsigned long long kShortestNs = 100000;
  std::vector<ClockStamp> before(multiprocessors_), after(multiprocessors_);
  DANAUS_CUDA(cudaMemcpy(before.data(), before_.data(), before_.bytes(), cudaMemcpyDeviceToHost));
  DANAUS_CUDA(cudaMemcpy(after.data(), after_.data(), after_.bytes(), cudaMemcpyDeviceToHost));
  for (int i = 0; i < multiprocessors_; ++i)
    if (before[i].ns != 0 && after[i].ns > before[i].ns + kShortestNs)
      mhz.push_back(1e3 * static_cast<double>(after[i].cycles - before[i].cycles) /
                    static_cast<double>(after[i].ns - before[i].ns));
}

void Stopwatch::add_burst(const Launch& launch, Series& series, std::vector<double>& mhz) {
  std::this_thread::sleep_for(std::chrono::milliseconds(protocol_.idle_ms));
  series.us.push_back(held_group(launch, protocol_.warmups, protocol_.launches));
  read_clocks(mhz);
}

Series Stopwatch::burst(const Launch& launch) {
  return bursts({launch}, [](std::size_t) {}).front();
}

std::vector<Series> Stopwatch::bursts(const std::vector<Launch>& launches,
                                      const std::function<void(std::size_t)>& after) {
  std::vector<Series> series(launches.size(), {{}, protocol_.launches, {}});
  std::vector<std::vector<double>> mhz(launches.size());
  for (int turn = 0; turn < protocol_.repetitions; ++turn)
    for (std::size_t i = 0; i < launches.size(); ++i) {
      add_burst(launches[i], series[i], mhz[i]);
      if (turn == protocol_.repetitions - 1) after(i);
    }
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (!mhz[i].empty()) series[i].clock_mhz = quartiles(mhz[i]).median;
  return series;
}

Series Stopwatch::plain(const Launch& launch) {
  Series series{{}, protocol_.launches, {}};
  for (int i = 0; i < protocol_.repetitions; ++i)
    series.us.push_back(held_group(launch, protocol_.warmups, protocol_.launches));
  return series;
}

Series Stopwatch::sustained(const Launch& launch, double near_us, const std::function<void()>& under_load) {
  constexpr int kGroups = 20;
  Series series{{}, launches_for(near_us), {}};
  // Where the host is slower than the device, the load has gaps and each group is held back until it is queued whole;
  // the stream takes some hundred launches before it makes the host wait.
  const bool host_is_slower = queue_us_ > 0.7 * near_us;
  if (host_is_slower) series.launches = std::min(series.launches, 50);

  CudaEvent groups[2];  // one is queued while the other runs
  int turn = 0;
  for (const Clock::time_point start = Clock::now(); us_since(start) < 1e3 * protocol_.load_ms; turn ^= 1) {
    for (int i = 0; i < series.launches; ++i) launch(stream_);
    groups[turn].record(stream_);
    DANAUS_CUDA(cudaEventSynchronize(groups[turn ^ 1]));
  }

  std::vector<double> mhz;
  if (host_is_slower) {
    for (int i = 0; i < kGroups; ++i) {
      series.us.push_back(held_group(launch, 0, series.launches));
      read_clocks(mhz);
    }
    under_load();
  } else {
    std::vector<CudaEvent> events(kGroups + 1);
    stamp_clocks(before_.data(), multiprocessors_, stream_);
    events[0].record(stream_);
    for (int group = 1; group <= kGroups; ++group) {
      for (int i = 0; i < series.launches; ++i) launch(stream_);
      events[group].record(stream_);
    }
    stamp_clocks(after_.data(), multiprocessors_, stream_);
    under_load();
    stream_.synchronize();
    for (int group = 1; group <= kGroups; ++group)
      series.us.push_back(events[group].microseconds_since(events[group - 1]) / series.launches);
    read_clocks(mhz);
  }
  if (!mhz.empty()) series.clock_mhz = quartiles(mhz).median;
  return series;
}

}  // namespace danaus

// Times launches on a stream by the device's own events, in the two protocols of protocol.hpp.
//
// Launches are queued before the first one starts (a kernel holds the stream back), so that what the host needs for a
// launch is not measured. Beside each time stands the SM clock over the timed launches: cycles that the multiprocessors
// counted over the time that passed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/timing/device_kernels.hpp"
#include "experiments/timing/protocol.hpp"
#include "kernels/cuda/runtime.hpp"

namespace danaus {

struct Series {
  std::vector<double> us;           // of one launch, a value for each group of launches timed together
  int launches = 0;                 // in each group
  std::optional<double> clock_mhz;  // median over multiprocessors and bursts; nothing where the time was too short
};

class Stopwatch {
 public:
  // What is to be timed; asynchronous on the stream.
  using Launch = std::function<void(Stream)>;

  Stopwatch(const Device& device, const Protocol& protocol);

  Stream stream() const { return stream_; }

  Series burst(const Launch& launch);
  // Bursts of several by turns, so that what drifts drifts for all: sample i of one and of another are of the same
  // turn. `after` is called behind each last burst, before another's.
  std::vector<Series> bursts(const std::vector<Launch>& launches, const std::function<void(std::size_t)>& after);
  // `near_us` is about what a launch takes. `under_load` is called once while the device works.
  Series sustained(const Launch& launch, double near_us, const std::function<void()>& under_load);
  // Without idling before, for what is not the main thing.
  Series plain(const Launch& launch);

 private:
  // Times `launches` launches after `warmups`, held back until all are queued.
  double held_group(const Launch& launch, int warmups, int launches);
  void read_clocks(std::vector<double>& mhz) const;
  void add_burst(const Launch& launch, Series& series, std::vector<double>& mhz);

  class Gate;  // holds the stream back
  Protocol protocol_;
  int multiprocessors_;
  CudaStream stream_;
  CudaEvent start_, stop_;
  DeviceBuffer<ClockStamp> before_, after_;
  std::shared_ptr<int> released_;  // host memory that the device sees
  double queue_us_ = 0;            // of the host, for a launch
};

}  // namespace danaus

#include <algorithm>
#include <chrono>
#include <set>

#include "experiments/calibrate/calibration.hpp"
#include "experiments/calibrate/kernels.hpp"
#include "experiments/timing/device_bus.hpp"
#include "experiments/timing/device_memory.hpp"
#include "experiments/timing/monitor.hpp"
#include "experiments/timing/noise.hpp"
#include "experiments/timing/statistics.hpp"
#include "experiments/timing/stopwatch.hpp"

namespace danaus {
namespace {

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  DANAUS_CUDA(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

DeviceLimits limits_of(const Device& device) {
  DeviceLimits limits;
  limits.sm = device.sm;
  limits.multiprocessors = device.multiprocessors;
  limits.block_bytes = device.block_bytes;
  limits.clock_mhz = 1e-3 * attribute(cudaDevAttrClockRate, device.ordinal);
  limits.hbm_bytes_per_s = 2e3 * attribute(cudaDevAttrMemoryClockRate, device.ordinal) *
                           (attribute(cudaDevAttrGlobalMemoryBusWidth, device.ordinal) / 8.);
  limits.l2_bytes = attribute(cudaDevAttrL2CacheSize, device.ordinal);
  return limits;
}

class Calibrator {
 public:
  Calibrator(const Device& device, const std::function<void(const std::string&)>& say)
      : device_(device),
        scope_(device.ordinal),
        limits_(limits_of(device)),
        monitor_(bus_of(device.ordinal)),
        stopwatch_(device, Protocol{}),
        sink_(sink_words(device.multiprocessors)),
        say_(say) {
    calibration_.device = device.name;
    if (const auto driver = monitor_.driver()) calibration_.device += ", driver " + *driver;
    if (const auto watts = monitor_.power_limit_watts())
      calibration_.device += ", " + std::to_string(static_cast<int>(*watts)) + " W";
  }

  Calibration run() {
    note_other_processes();
    report({"matrix_side", "elements", "side of a tile of mma.sync m16n8k16", 16});
    memory();
    for (const Drill& drill : drills())
      if (device_.sm >= drill.least_sm && device_.sm <= drill.most_sm) measure(drill);
    launches();
    report({"shared_memory_per_block", "KiB", "as the device reports", limits_.block_bytes / 1024.});
    report({"sms", "SMs", "as the device reports", double(limits_.multiprocessors)});
    report({"l2_size", "MiB", "as the device reports", limits_.l2_bytes / 1048576});
    note_other_processes();
    calibration_.notes.insert(calibration_.notes.end(), notes_.begin(), notes_.end());
    return calibration_;
  }

 private:
  using Launch = Stopwatch::Launch;

  void note_other_processes() {
    if (monitor_.processes().value_or(0) > 1) notes_.insert("another process computed on the GPU");
  }

  void report(const Measurement& measurement) {
    require_possible(measurement);
    calibration_.measurements.push_back(measurement);
  }

  // After a third of a second of load.
  Series steady(const Launch& launch) {
    launch(stopwatch_.stream());  // what is launched for the first time may have to be loaded
    const double near_us = quartiles(stopwatch_.plain(launch).us).median;
    return stopwatch_.sustained(launch, near_us, [&] {
      for (const std::string& reason : monitor_.throttled_by())
        if (reason != Monitor::kPowerCap) notes_.insert("the clock was held back: " + reason);
    });
  }

  static Measurement of(std::string key, std::string unit, std::string source, const Series& series, double work) {
    const Quartiles q = quartiles(series.us);
    Measurement m{std::move(key), std::move(unit), std::move(source), 1e-6 * work / q.median};
    m.spread = (q.q3 - q.q1) / 2 / q.median;
    m.clock_mhz = series.clock_mhz;
    return m;
  }

  // 10^12 bytes in a microsecond are 10^6 TB/s: work / us * 1e-6 is in 10^12 a second.
  void measure(const Drill& drill) {
    say_(std::string(drill.what));
    std::int64_t instructions = 0;
    const Launch launch = [&](Stream stream) {
      instructions = drill.launch(device_.multiprocessors, sink_.data(), stream);
    };
    const Series series = steady(launch);
    const bool bytes = drill.limit == Limit::shared_bytes, operations = drill.units_of_thread == 1;
    Measurement m = of(std::string(drill.key),
                       bytes        ? "TB/s"
                       : operations ? "Top/s"
                                    : "TFLOP/s",
                       std::string(drill.what) + ", random operands, sustained", series,
                       drill.units * static_cast<double>(instructions));
    const Ceiling ceiling =
        ceiling_of(drill.limit, drill.units_of_thread, limits_, m.clock_mhz.value_or(limits_.clock_mhz));
    m.ceiling = 1e-12 * ceiling.per_second, m.ceiling_source = ceiling.source;
    report(m);
    if (drill.key != "mma_f32acc_rate") return;
    m.key = "matrix_rate";
    report(m);
    const Series burst = stopwatch_.burst(launch);
    if (burst.clock_mhz)
      report({"load_clock", "MHz", "SM clock in bursts of " + std::string(drill.what), *burst.clock_mhz});
  }

  void memory() {
    std::size_t left = 0, total = 0;
    DANAUS_CUDA(cudaMemGetInfo(&left, &total));
    const auto samples = static_cast<std::int64_t>(std::min<std::size_t>(left / 4, std::size_t{2} << 30) / 4096 * 2048);
    const auto from = room_for<std::uint16_t>(samples, "a copy"), to = room_for<std::uint16_t>(samples, "a copy");
    const auto size = static_cast<std::int64_t>(from.bytes());
    fill_noise(Dtype::f16, from.data(), samples, noise_key(0, 0), 1, stopwatch_.stream());
    constexpr const char* kCopy = "device-to-device copy of gigabytes, both directions counted, sustained";
    say_(kCopy);
    const Series copies = steady([&](Stream stream) {
      DANAUS_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
    });
    Measurement hbm = of("hbm_bandwidth", "TB/s", kCopy, copies, 2. * static_cast<double>(size));
    hbm.ceiling = 1e-12 * limits_.hbm_bytes_per_s,
    hbm.ceiling_source = "memory clock and bus width, as the device reports";
    if (hbm.clock_mhz) report({"clock", "MHz", "SM clock under a copy", *hbm.clock_mhz});
    report(hbm);

    say_("reading from L2");
    std::int64_t bytes = 0;
    const auto part = std::min(size, static_cast<std::int64_t>(limits_.l2_bytes / 4));
    const Series series = steady(
        [&](Stream stream) { bytes = read_again(from.data(), part, device_.multiprocessors, sink_.data(), stream); });
    Measurement m = of("l2_bandwidth", "TB/s", "reading a quarter of L2 again and again past L1, sustained", series,
                       static_cast<double>(bytes));
    const Ceiling ceiling = ceiling_of(Limit::l2_bytes, 0, limits_, m.clock_mhz.value_or(limits_.clock_mhz));
    m.ceiling = 1e-12 * ceiling.per_second, m.ceiling_source = ceiling.source;
    report(m);
  }

  void launches() {
    say_("empty kernels");
    using Clock = std::chrono::steady_clock;
    constexpr int kTimes = 500;
    Series alone{{}, 1, {}};
    for (int i = 0; i < kTimes; ++i) {
      const Clock::time_point start = Clock::now();
      do_nothing(stopwatch_.stream());
      DANAUS_CUDA(cudaStreamSynchronize(stopwatch_.stream()));
      alone.us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    report(time_of("launch_latency", "an empty kernel, from its launch to its end as the host sees it", alone));
    Protocol many;
    many.launches = 100, many.repetitions = 20;
    Stopwatch stopwatch(device_, many);
    report(time_of("launch_interval", "from one empty kernel to the next, queued beforehand",
                   stopwatch.plain([](Stream stream) { do_nothing(stream); })));
  }

  static Measurement time_of(std::string key, std::string source, const Series& series) {
    const Quartiles q = quartiles(series.us);
    Measurement m{std::move(key), "us", std::move(source), q.median};
    m.spread = (q.q3 - q.q1) / 2 / q.median;
    return m;
  }

  Device device_;
  DeviceScope scope_;
  DeviceLimits limits_;
  Monitor monitor_;
  Stopwatch stopwatch_;
  DeviceBuffer<std::uint32_t> sink_;
  std::function<void(const std::string&)> say_;
  Calibration calibration_;
  std::set<std::string> notes_;
};

}  // namespace

Calibration calibrate(const Device& device, const std::function<void(const std::string& what)>& say) {
  return Calibrator(device, say).run();
}

}  // namespace danaus

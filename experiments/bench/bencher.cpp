#include "experiments/bench/bencher.hpp"

#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/device_memory.hpp"
#include "experiments/bench/monitor.hpp"
#include "experiments/bench/noise.hpp"
#include "experiments/bench/statistics.hpp"
#include "experiments/bench/stopwatch.hpp"
#include "experiments/bench/work.hpp"
#include "experiments/verify/candidates.hpp"
#include "experiments/verify/verification.hpp"
#include "kernels/device/halves.hpp"
#include "reference/compare.hpp"

namespace danaus {
namespace {

// Sets together exceed the L2 this many times.
constexpr std::int64_t kTimesL2 = 4;

template <class T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string version(int number) { return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10); }

std::string bus_of(const Device& device) {
  char bus[32] = "";
  DANAUS_CUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), device.ordinal));
  return bus;
}

cudaDeviceProp properties_of(const Device& device) {
  cudaDeviceProp properties;
  DANAUS_CUDA(cudaGetDeviceProperties(&properties, device.ordinal));
  return properties;
}

Json describe(const Series& series) {
  const Quartiles q = quartiles(series.us);
  return {{"median", q.median},
          {"q1", q.q1},
          {"q3", q.q3},
          {"samples", series.us},
          {"launches", series.launches},
          {"clock_mhz", known(series.clock_mhz)}};
}

// The arrays of a case in device memory: as many sets of u, y and gates as are together several times the L2.
class Sets {
 public:
  Sets(const Convolution& p, std::int64_t l2_bytes, Stream stream)
      : problem_(p), samples_(p.batch * p.channels * p.length), step_((samples_ + kGrain - 1) / kGrain * kGrain) {
    const auto set_bytes = static_cast<std::int64_t>(moved_bytes(p));
    count_ = (kTimesL2 * l2_bytes + set_bytes - 1) / set_bytes;
    const auto filled = [&](BenchArray array, const char* what) {
      auto buffer = room_for<std::uint16_t>(step_ * count_, what);
      fill_noise(p.dtype, buffer.data(), buffer.size(), array_key(p, array), stream);
      return buffer;
    };
    fill_filter(stream);
    u_ = filled(BenchArray::u, "u");
    if (p.pregate) pregate_ = filled(BenchArray::pregate, "pregate");
    if (p.postgate) postgate_ = filled(BenchArray::postgate, "postgate");
    y_ = room_for<std::uint16_t>(step_ * count_, "y");
  }

  const Convolution& problem() const { return problem_; }
  std::int64_t count() const { return count_; }
  std::int64_t samples() const { return samples_; }
  const void* k() const { return k_.data(); }
  DeviceArrays set(std::int64_t which) const {
    const auto at = [&](const DeviceBuffer<std::uint16_t>& buffer) {
      return buffer.data() ? buffer.data() + which * step_ : nullptr;
    };
    return {at(u_), at(y_), at(pregate_), at(postgate_)};
  }
  // NaN everywhere in y, in either type.
  void poison(Stream stream) const { DANAUS_CUDA(cudaMemsetAsync(y_.data(), 0xff, y_.bytes(), stream)); }

 private:
  static constexpr std::int64_t kGrain = 64;  // samples: sets begin at whole cache lines

  void fill_filter(Stream stream) {
    const Convolution& p = problem_;
    const std::int64_t count = p.channels * p.filter_length;
    k_ = room_for<std::byte>(bytes(Dtype::f32) * count, "k");
    fill_noise(reinterpret_cast<float*>(k_.data()), count, array_key(p, BenchArray::k), filter_scale(p), stream);
    if (filter_dtype(p) == Dtype::f32) return;
    std::vector<float> values(static_cast<std::size_t>(count));
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    DANAUS_CUDA(cudaMemcpy(values.data(), k_.data(), k_.bytes(), cudaMemcpyDeviceToHost));
    const auto encoded = host::encode_bytes(filter_dtype(p), std::vector<double>(values.begin(), values.end()));
    k_ = room_for<std::byte>(std::ssize(encoded), "k");
    DANAUS_CUDA(cudaMemcpy(k_.data(), encoded.data(), encoded.size(), cudaMemcpyHostToDevice));
  }

  Convolution problem_;
  std::int64_t samples_, step_, count_;
  DeviceBuffer<std::byte> k_;
  DeviceBuffer<std::uint16_t> u_, pregate_, postgate_, y_;
};

class CudaBencher final : public Bencher {
 public:
  CudaBencher(const Device& device, const Protocol& protocol)
      : device_(device),
        scope_(device.ordinal),
        properties_(properties_of(device)),
        monitor_(bus_of(device)),
        protocol_(protocol),
        stopwatch_(device, protocol),
        nonfinite_(1) {
    copy_rate_ = measured_copy_rate();
  }

  Json device() const override {
    int driver = 0, runtime = 0, cufft = 0;
    DANAUS_CUDA(cudaDriverGetVersion(&driver));
    DANAUS_CUDA(cudaRuntimeGetVersion(&runtime));
    cufftGetVersion(&cufft);
    return {{"name", device_.name},
            {"sm", device_.sm},
            {"multiprocessors", device_.multiprocessors},
            {"l2_bytes", properties_.l2CacheSize},
            {"memory_bytes", properties_.totalGlobalMem},
            {"driver", monitor_.driver().value_or("for CUDA " + version(driver))},
            {"runtime", version(runtime)},
            {"cufft", std::to_string(cufft)},
            {"mig", known(monitor_.mig())},
            {"power_limit_watts", known(monitor_.power_limit_watts())}};
  }

  double copy_rate() const override { return copy_rate_; }

  Json row(const Convolution& problem, Contender contender) override {
    Json row = Json::object();
    const std::int64_t moved = static_cast<std::int64_t>(moved_bytes(problem));
    try {
      prepare(problem);
      const auto runner = make_runner(contender, problem, device_);
      row["variant"] = runner->variant();
      row["fft_size"] = runner->fft_size();
      row["verify"] = verify(*runner);
      if (row["verify"]["status"] == "passed") time(*runner, row);
    } catch (const std::invalid_argument& refusal) {
      row["verify"] = {{"status", "skipped"}, {"reason", refusal.what()}};
    }
    row["work"] = {{"bytes", moved}, {"useful_flops", useful_flops(problem)}};
    row["floor"] = {{"us", 1e6 * static_cast<double>(moved) / copy_rate_}, {"copy_bytes_per_s", copy_rate_}};
    return row;
  }

 private:
  double measured_copy_rate() {
    std::size_t left = 0, total = 0;
    DANAUS_CUDA(cudaMemGetInfo(&left, &total));
    const auto samples = static_cast<std::int64_t>(std::min<std::size_t>(left / 4, std::size_t{2} << 30) / 2);
    const auto from = room_for<std::uint16_t>(samples, "a copy"), to = room_for<std::uint16_t>(samples, "a copy");
    fill_noise(Dtype::f16, from.data(), samples, noise_key(0, 0), stopwatch_.stream());
    const auto copy = [&](Stream stream) {
      DANAUS_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    copy(stopwatch_.stream());  // what is launched for the first time may have to be loaded
    const Series series = stopwatch_.burst(copy);
    return 2 * static_cast<double>(from.bytes()) / (1e-6 * quartiles(series.us).median);
  }

  // Arrays and truth of the case, kept for the next contender.
  void prepare(const Convolution& problem) {
    if (sets_ && sets_->problem() == problem) return;
    sets_.reset();  // gives the memory back first
    rows_ = checked_rows(problem);
    sets_ = std::make_unique<Sets>(problem, properties_.l2CacheSize, stopwatch_.stream());
  }

  // The checked rows of y of set 0.
  std::vector<std::uint16_t> fetched_rows() const {
    const Convolution& p = sets_->problem();
    std::vector<std::uint16_t> words(rows_.y.size());
    auto out = words.data();
    for (std::int64_t b : rows_.batch)
      for (std::int64_t h : rows_.channels) {
        const std::uint16_t* row = sets_->set(0).y + (b * p.channels + h) * p.length;
        DANAUS_CUDA(cudaMemcpy(out, row, sizeof(*out) * p.length, cudaMemcpyDeviceToHost));
        out += p.length;
      }
    return words;
  }

  Json verify(Runner& runner) {
    const Convolution& p = sets_->problem();
    const Stream stream = stopwatch_.stream();
    runner.set_filter(sets_->k(), stream);
    sets_->poison(stream);
    runner.launch(sets_->set(0), stream);
    DANAUS_CUDA(cudaMemsetAsync(nonfinite_.data(), 0, nonfinite_.bytes(), stream));
    count_nonfinite(p.dtype, sets_->set(0).y, sets_->samples(), nonfinite_.data(), stream);
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    unsigned long long nonfinite = 0;
    DANAUS_CUDA(cudaMemcpy(&nonfinite, nonfinite_.data(), sizeof(nonfinite), cudaMemcpyDeviceToHost));

    first_rows_ = fetched_rows();
    const auto& expected = runner.convolves() ? rows_.y : rows_.inputs.u;
    const double bound = runner.convolves() ? runner.bound() + fftw_bound(planned(p)) : 0;
    const std::int64_t samples = std::ssize(rows_.y);
    Json verdict = danaus::verdict(compare(expected, host::decode(p.dtype, first_rows_)),
                                   {bound, bound_gain(bound, samples), samples, kUsualShare});
    if (nonfinite > 0) verdict["status"] = "failed";
    verdict["truth"] = runner.convolves() ? "fftw" : "u";
    verdict["rows"] = rows_.batch.size() * rows_.channels.size();
    verdict["of"] = p.batch * p.channels;
    verdict["nonfinite"] = nonfinite;
    return verdict;
  }

  // They may come and go while a case is timed.
  void note_other_processes(std::set<std::string>& notes) const {
    if (monitor_.processes().value_or(0) > 1) notes.insert("another process computes on this GPU");
  }

  void time(Runner& runner, Json& row) {
    std::set<std::string> notes;
    note_other_processes(notes);

    sets_->poison(stopwatch_.stream());
    std::int64_t next = 0;
    const auto rotate = [&](Stream stream) { runner.launch(sets_->set(next++ % sets_->count()), stream); };
    const Series cold = stopwatch_.burst(rotate);
    for (const std::string& reason : monitor_.throttled_by())
      if (reason != Monitor::kPowerCap) notes.insert("clock held back in bursts: " + reason);
    row["time_us"]["burst_cold"] = describe(cold);
    if (sets_->count() > 1)
      row["time_us"]["burst_warm"] =
          describe(stopwatch_.burst([&](Stream stream) { runner.launch(sets_->set(0), stream); }));
    if (protocol_.sustained) {
      Json load;
      const Series sustained = stopwatch_.sustained(rotate, quartiles(cold.us).median, [&] {
        load = {{"sm_clock_mhz", known(monitor_.sm_clock_mhz())},
                {"power_watts", known(monitor_.power_watts())},
                {"temperature_celsius", known(monitor_.temperature_celsius())}};
        for (const std::string& reason : monitor_.throttled_by())
          notes.insert("clock held back under sustained load: " + reason);
      });
      row["time_us"]["sustained_cold"] = describe(sustained);
      row["load"] = load;
    }
    if (runner.convolves()) time_whole_call(runner, row);
    row["sets"] = sets_->count();
    note_other_processes(notes);
    row["notes"] = notes;

    if (fetched_rows() != first_rows_) {
      row["verify"]["status"] = "failed";
      row["verify"]["reason"] = "timed launches gave other results than the one that was verified";
      row.erase("time_us");
    }
  }

  // With the filter's transform, as who has another filter at each call pays it: launched, and replayed as a graph.
  void time_whole_call(Runner& runner, Json& row) {
    const auto call = [&](std::int64_t number, Stream stream) {
      runner.set_filter(sets_->k(), stream);
      runner.launch(sets_->set(number % sets_->count()), stream);
    };
    std::int64_t next = 0;
    row["filter_us"] = describe(stopwatch_.plain([&](Stream stream) { runner.set_filter(sets_->k(), stream); }));
    row["call_us"]["stream"] = describe(stopwatch_.plain([&](Stream stream) { call(next++, stream); }));
    std::vector<CudaGraph> graphs;
    for (std::int64_t i = 0; i < sets_->count(); ++i)
      graphs.emplace_back(stopwatch_.stream(), [&](Stream stream) { call(i, stream); });
    row["call_us"]["graph"] = describe(stopwatch_.plain(
        [&](Stream stream) { graphs[static_cast<std::size_t>(next++ % sets_->count())].launch(stream); }));
  }

  Device device_;
  DeviceScope scope_;
  cudaDeviceProp properties_;
  Monitor monitor_;
  Protocol protocol_;
  Stopwatch stopwatch_;
  DeviceBuffer<unsigned long long> nonfinite_;
  double copy_rate_ = 0;
  std::unique_ptr<Sets> sets_;
  CheckedRows rows_;
  std::vector<std::uint16_t> first_rows_;
};

}  // namespace

std::unique_ptr<Bencher> make_bencher(const Device& device, const Protocol& protocol) {
  return std::make_unique<CudaBencher>(device, protocol);
}

}  // namespace danaus

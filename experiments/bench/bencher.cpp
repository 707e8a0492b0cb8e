#include "experiments/bench/bencher.hpp"

#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/every_row.hpp"
#include "experiments/bench/parts.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/operations/work.hpp"
#include "experiments/timing/device_bus.hpp"
#include "experiments/timing/device_memory.hpp"
#include "experiments/timing/monitor.hpp"
#include "experiments/timing/sets.hpp"
#include "experiments/timing/statistics.hpp"
#include "experiments/timing/stopwatch.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

template <class T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string version(int number) { return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10); }

cudaDeviceProp properties_of(const Device& device) {
  cudaDeviceProp properties;
  DANAUS_CUDA(cudaGetDeviceProperties(&properties, device.ordinal));
  return properties;
}

Json skipped(const std::exception& refusal) { return {{"status", "skipped"}, {"reason", refusal.what()}}; }

Json describe(const Series& series) {
  const Quartiles q = quartiles(series.us);
  return {{"median", q.median},
          {"q1", q.q1},
          {"q3", q.q3},
          {"samples", series.us},
          {"launches", series.launches},
          {"clock_mhz", known(series.clock_mhz)}};
}

class CudaBencher final : public Bencher {
 public:
  CudaBencher(const Device& device, const Protocol& protocol)
      : device_(device),
        scope_(device.ordinal),
        properties_(properties_of(device)),
        monitor_(bus_of(device.ordinal)),
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

  std::vector<Json> rows(const Case& asked, const std::vector<const Method*>& methods) override {
    std::vector<Entry> entries;
    for (const Method* method : methods) {
      Entry& entry = entries.emplace_back(*method);
      try {
        prepare(asked);
        const auto runner = make_runner(*method, asked, device_);
        entry.row["variant"] = runner->variant();
        entry.row["fft_size"] = runner->fft_size();
        if (!runner->factors().empty()) entry.row["factors"] = runner->factors();
        verify(*runner, entry);
      } catch (const std::invalid_argument& refusal) {
        entry.row["verify"] = skipped(refusal);
      } catch (const OutOfMemory& refusal) {
        entry.row["verify"] = skipped(refusal);
      }
    }
    std::vector<Entry*> untimed;
    for (Entry& entry : entries)
      if (entry.row["verify"]["status"] == "passed") untimed.push_back(&entry);
    while (!untimed.empty()) time_some(untimed);

    std::vector<Json> rows;
    for (Entry& entry : entries) {
      add_work(asked, entry);
      rows.push_back(std::move(entry.row));
    }
    return rows;
  }

 private:
  // A method and its row.
  struct Entry {
    explicit Entry(const Method& timed) : method(timed) {}
    const Method& method;
    Json row = Json::object();
    std::vector<std::vector<unsigned long long>> sums;  // of the outputs of every set, as verified
    std::int64_t prepared_bytes = 0;                    // by the runner
    std::unique_ptr<Runner> runner;                     // while it is timed
    Series bursts;
    std::int64_t next = 0;  // set to be launched with
  };

  void add_work(const Case& asked, Entry& entry) const {
    const double moved = moved_bytes(asked);
    entry.row["work"] = {{"bytes", static_cast<std::int64_t>(moved)}, {"useful_flops", asked.useful_flops()}};
    entry.row["floor"] = {{"us", 1e6 * moved / copy_rate_}, {"copy_bytes_per_s", copy_rate_}};
    if (entry.prepared_bytes > 0)
      entry.row["floor"]["with_spectrum_us"] = 1e6 * (moved + static_cast<double>(entry.prepared_bytes)) / copy_rate_;
  }

  double measured_copy_rate() {
    std::size_t left = 0, total = 0;
    DANAUS_CUDA(cudaMemGetInfo(&left, &total));
    const auto samples = static_cast<std::int64_t>(std::min<std::size_t>(left / 4, std::size_t{2} << 30) / 2);
    const auto from = room_for<std::uint16_t>(samples, "a copy"), to = room_for<std::uint16_t>(samples, "a copy");
    fill_noise(Dtype::f16, from.data(), samples, 0, 1, stopwatch_.stream());
    const auto copy = [&](Stream stream) {
      DANAUS_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    copy(stopwatch_.stream());  // what is launched for the first time may have to be loaded
    const Series series = stopwatch_.burst(copy);
    return 2 * static_cast<double>(from.bytes()) / (1e-6 * quartiles(series.us).median);
  }

  // Arrays and truth of the case, kept for the next method.
  void prepare(const Case& asked) {
    if (sets_ && sets_->asked().token() == asked.token()) return;
    sets_.reset();  // gives the memory back first
    rows_.emplace(checked_rows(asked));
    sets_ = std::make_unique<Sets>(asked, properties_.l2CacheSize, stopwatch_.stream());
  }

  // The checked rows of an array of set 0. Blocks near each other come in one copy: where channels are last, a block is
  // a sample.
  std::vector<double> fetched_rows(std::size_t number) const {
    constexpr std::int64_t kNear = 4096, kMostNumbers = 1 << 25;
    const Array& array = sets_->arrays()[number];
    const std::int64_t size = bytes(array.dtype);
    const auto* const begin = static_cast<const std::byte*>(sets_->set(0).at(number));
    const std::vector<Block>& blocks = rows_->places[number];
    std::vector<double> values;
    for (std::size_t i = 0, next; i < blocks.size(); i = next) {
      const std::int64_t first = blocks[i].first;
      std::int64_t end = first + blocks[i].count;
      for (next = i + 1; next < blocks.size(); end = blocks[next].first + blocks[next].count, ++next) {
        const std::int64_t apart = blocks[next].first - end;
        if (apart < 0 || apart > kNear || end - first > kMostNumbers) break;
      }
      std::vector<std::byte> words(static_cast<std::size_t>(size * (end - first)));
      DANAUS_CUDA(cudaMemcpy(words.data(), begin + size * first, words.size(), cudaMemcpyDeviceToHost));
      for (std::size_t j = i; j < next; ++j) {
        const std::span block = std::span(words).subspan(size * (blocks[j].first - first), size * blocks[j].count);
        const std::vector<double> decoded = decoded_bytes(array.dtype, block);
        values.insert(values.end(), decoded.begin(), decoded.end());
      }
    }
    return values;
  }

  // NaN and infinities in the outputs of all sets.
  unsigned long long count_nonfinite_outputs() const {
    const Stream stream = stopwatch_.stream();
    DANAUS_CUDA(cudaMemsetAsync(nonfinite_.data(), 0, nonfinite_.bytes(), stream));
    for (std::int64_t set = 0; set < sets_->count(); ++set)
      for (std::size_t i = 0; i < sets_->arrays().size(); ++i)
        if (const Array& array = sets_->arrays()[i]; array.role == Role::output)
          count_nonfinite(array.dtype, sets_->set(set).at(i), array.size(), nonfinite_.data(), stream);
    unsigned long long count = 0;
    DANAUS_CUDA(cudaStreamSynchronize(stream));
    DANAUS_CUDA(cudaMemcpy(&count, nonfinite_.data(), sizeof(count), cudaMemcpyDeviceToHost));
    return count;
  }

  // Some rows against the truth, all of every set against another method, and what each set's outputs are to remain.
  void verify(Runner& runner, Entry& entry) {
    const Stream stream = stopwatch_.stream();
    runner.set_filters(sets_->filters(), stream);
    sets_->poison(stream);
    for (std::int64_t i = 0; i < sets_->count(); ++i) runner.launch(sets_->set(i), stream);
    const unsigned long long nonfinite = count_nonfinite_outputs();

    Values computed;
    for (std::size_t i = 0; i < sets_->arrays().size(); ++i)
      if (sets_->arrays()[i].role == Role::output) computed[std::string(sets_->arrays()[i].name)] = fetched_rows(i);
    Json verdict = verdict_on_rows(*rows_, computed, runner);
    if (nonfinite > 0) verdict["status"] = "failed";
    verdict["nonfinite"] = nonfinite;
    entry.sums.clear();
    for (std::int64_t i = 0; i < sets_->count(); ++i) entry.sums.push_back(checksums(*sets_, i, stream));
    Json every = compare_every_row(
        *sets_, entry.method, runner, device_, rows_->of,
        [&](std::string_view output) { return rows_->size_of_sums(output); }, stream);
    if (every.contains("reason"))
      verdict["status"] = "failed", verdict["reason"] = every["reason"], every.erase("reason");
    verdict["every"] = every;
    entry.row["verify"] = verdict;
    entry.prepared_bytes = runner.prepared_bytes();
    std::int64_t arrays_bytes = 0;
    for (const Array& array : sets_->arrays()) arrays_bytes += bytes(array.dtype) * array.size();
    entry.row["memory"] = {{"arrays_bytes", arrays_bytes}, {"kept_bytes", runner.kept_bytes()}};
  }

  // They may come and go while a case is timed.
  void note_other_processes(std::set<std::string>& notes) const {
    if (monitor_.processes().value_or(0) > 1) notes.insert("another process computes on this GPU");
  }

  // Those that the device has memory for together take turns in bursts; the others stay untimed.
  void time_some(std::vector<Entry*>& untimed) {
    std::vector<Entry*> together, later;
    const auto put_off = [&](Entry* entry, const std::exception& refusal) {
      entry->runner.reset();
      if (together.empty())
        entry->row["verify"] = skipped(refusal);
      else
        later.push_back(entry);
    };
    for (Entry* entry : untimed) try {
        entry->runner = make_runner(entry->method, sets_->asked(), device_);
        entry->runner->set_filters(sets_->filters(), stopwatch_.stream());
        entry->runner->launch(sets_->set(0), stopwatch_.stream());  // takes its workspace
        together.push_back(entry);
      } catch (const std::invalid_argument& refusal) {
        put_off(entry, refusal);
      } catch (const OutOfMemory& refusal) {
        put_off(entry, refusal);
      }
    untimed = later;
    if (together.empty()) return;
    time_bursts(together);
    for (Entry* entry : together) {
      if (entry->row["verify"]["status"] == "passed") time_alone(*entry);
      entry->runner.reset();
    }
  }

  Stopwatch::Launch rotation(Entry& entry) {
    return [&](Stream stream) { entry.runner->launch(sets_->set(entry.next++ % sets_->count()), stream); };
  }

  void time_bursts(const std::vector<Entry*>& together) {
    sets_->poison(stopwatch_.stream());
    std::vector<Stopwatch::Launch> launches;
    for (Entry* entry : together) launches.push_back(rotation(*entry));
    const std::int64_t last = protocol_.warmups + protocol_.launches;
    const std::vector<Series> bursts =
        stopwatch_.bursts(launches, [&](std::size_t i) { require_same(*together[i], together[i]->next - last); });
    for (std::size_t i = 0; i < together.size(); ++i) {
      together[i]->bursts = bursts[i];
      together[i]->row["time_us"]["burst_cold"] = describe(bursts[i]);
    }
    for (Entry* entry : together)
      for (const Entry* other : together) {
        const bool is_a_measure = other->method.name == kCopy || other->method.name == kPlan;
        if (other == entry || !is_a_measure) continue;
        const Quartiles q = ratios(entry->bursts.us, other->bursts.us);
        entry->row["ratios"][std::string(other->method.name)] = {{"median", q.median}, {"q1", q.q1}, {"q3", q.q3}};
      }
  }

  // Fails a row whose timed launches, those numbered from `first` to the last, left other results than were verified.
  void require_same(Entry& entry, std::int64_t first) {
    std::set<std::int64_t> launched;
    for (std::int64_t launch = std::max<std::int64_t>(first, 0); launch < entry.next; ++launch)
      launched.insert(launch % sets_->count());
    for (std::int64_t set : launched) {
      if (checksums(*sets_, set, stopwatch_.stream()) == entry.sums[static_cast<std::size_t>(set)]) continue;
      entry.row["verify"]["status"] = "failed";
      entry.row["verify"]["reason"] = "timed launches gave other results than the one that was verified";
    }
  }

  // What is not in turns: of one set, under load, with the filter's transform.
  void time_alone(Entry& entry) {
    Json& row = entry.row;
    Runner& runner = *entry.runner;
    std::set<std::string> notes;
    note_other_processes(notes);
    for (const std::string& reason : monitor_.throttled_by())
      if (reason != Monitor::kPowerCap) notes.insert("clock held back in bursts: " + reason);
    sets_->poison(stopwatch_.stream());
    const std::int64_t first = entry.next;
    if (sets_->count() > 1)
      row["time_us"]["burst_warm"] =
          describe(stopwatch_.burst([&](Stream stream) { runner.launch(sets_->set(0), stream); }));
    if (protocol_.sustained) {
      Json load;
      const Series sustained = stopwatch_.sustained(rotation(entry), quartiles(entry.bursts.us).median, [&] {
        load = {{"sm_clock_mhz", known(monitor_.sm_clock_mhz())},
                {"power_watts", known(monitor_.power_watts())},
                {"temperature_celsius", known(monitor_.temperature_celsius())}};
        for (const std::string& reason : monitor_.throttled_by())
          notes.insert("clock held back under sustained load: " + reason);
      });
      row["time_us"]["sustained_cold"] = describe(sustained);
      row["load"] = load;
    }
    if (runner.computes()) time_whole_call(runner, row);
    require_same(entry, first);
    row["sets"] = sets_->count();
    note_other_processes(notes);
    row["notes"] = notes;
    if (row["verify"]["status"] != "passed")
      row.erase("time_us");
    else if (entry.method.name == kPlan)
      time_parts(row);
  }

  // With the filter's transform, as who has another filter at each call pays it: launched, and replayed as a graph.
  void time_whole_call(Runner& runner, Json& row) {
    const auto call = [&](std::int64_t number, Stream stream) {
      runner.set_filters(sets_->filters(), stream);
      runner.launch(sets_->set(number % sets_->count()), stream);
    };
    std::int64_t next = 0;
    row["filter_us"] = describe(stopwatch_.plain([&](Stream stream) { runner.set_filters(sets_->filters(), stream); }));
    row["call_us"]["stream"] = describe(stopwatch_.plain([&](Stream stream) { call(next++, stream); }));
    std::vector<CudaGraph> graphs;
    for (std::int64_t i = 0; i < sets_->count(); ++i)
      graphs.emplace_back(stopwatch_.stream(), [&](Stream stream) { call(i, stream); });
    row["call_us"]["graph"] = describe(stopwatch_.plain(
        [&](Stream stream) { graphs[static_cast<std::size_t>(next++ % sets_->count())].launch(stream); }));
  }

  // Each part of a plan alone, where it has several: those of a step, the passes of a long convolution.
  void time_parts(Json& row) try {
    const auto* masked = sets_->asked().as<Convolution>();
    if (masked && !masked->mask.empty()) return;
    const Parts parts(sets_->asked(), cuda_machine(device_.ordinal));
    std::vector<std::vector<Part>> of_sets;
    for (std::int64_t i = 0; i < sets_->count(); ++i) of_sets.push_back(parts.bound_to(sets_->set(i)));
    constexpr std::size_t kFilter = 0;
    const std::size_t count = of_sets.front().size();
    if (count == kFilter + 2) return;  // one part, which is timed already
    const auto launch = [&](const Part& part, Stream stream) {
      for (const Launch& each : part.launches) parts.machine().launch(each, stream);
    };
    for (const Part& part : of_sets.front()) launch(part, stopwatch_.stream());  // so that each finds what it reads
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t next = 0;
      row["parts_us"][of_sets.front()[i].name] =
          describe(stopwatch_.plain([&](Stream stream) { launch(of_sets[next++ % of_sets.size()][i], stream); }));
    }
  } catch (const OutOfMemory&) {
    row["notes"].push_back("parts are not timed: too little memory for them beside the plan");
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
  std::optional<CheckedRows> rows_;
};

}  // namespace

std::unique_ptr<Bencher> make_bencher(const Device& device, const Protocol& protocol) {
  return std::make_unique<CudaBencher>(device, protocol);
}

}  // namespace danaus

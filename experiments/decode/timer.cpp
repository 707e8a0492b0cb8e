#include <algorithm>
#include <cmath>
#include <functional>

#include "experiments/decode/decoding.hpp"
#include "experiments/methods/execution.hpp"
#include "experiments/operations/some_rows.hpp"
#include "experiments/timing/device_kernels.hpp"
#include "experiments/timing/device_memory.hpp"
#include "experiments/timing/noise.hpp"
#include "experiments/timing/statistics.hpp"
#include "experiments/verify/verification.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/decode.hpp"
#include "reference/half.hpp"
#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

constexpr std::uint64_t kKeyOfU = 1, kKeyOfK = 2;

// u and y of all positions, [L, B, H], and a way to go from one to the next.
class Sequence {
 public:
  Sequence(const DecodeCase& asked, const Device& device)
      : asked_(asked),
        rows_(asked.whole.batch * asked.whole.channels),
        checked_(some_of(rows_, 8, false)),
        u_(room_for<std::uint16_t>(rows_ * asked.whole.length, "u of all positions")),
        y_(room_for<std::uint16_t>(rows_ * asked.whole.length, "y of all positions")) {
    fill_noise(asked.whole.dtype, u_.data(), rows_ * asked.whole.length, kKeyOfU, 1, stream_);
    const std::shared_ptr<const Machine> machine = cuda_machine(device.ordinal);
    asked.method == DecodeMethod::recurrence ? by_recurrence(machine) : by_decoding(machine);
  }

  // Microseconds of a position of each octave, on average; y is written.
  std::vector<double> run() {
    const std::vector<Octave> octaves = octaves_of(asked_.whole.length);
    std::vector<CudaEvent> marks(octaves.size() + 1);
    DANAUS_CUDA(cudaMemsetAsync(y_.data(), 0xff, y_.bytes(), stream_));  // NaN
    begin_();
    DANAUS_CUDA(cudaEventRecord(marks.front(), stream_));
    for (std::size_t i = 0; i < octaves.size(); ++i) {
      for (std::int64_t n = octaves[i].from; n < octaves[i].to; ++n)
        next_(u_.data() + n * rows_, y_.data() + n * rows_, n);
      DANAUS_CUDA(cudaEventRecord(marks[i + 1], stream_));
    }
    DANAUS_CUDA(cudaStreamSynchronize(stream_));
    std::vector<double> us;
    for (std::size_t i = 0; i < octaves.size(); ++i) {
      float ms = 0;
      DANAUS_CUDA(cudaEventElapsedTime(&ms, marks[i], marks[i + 1]));
      us.push_back(1e3 * ms / static_cast<double>(octaves[i].to - octaves[i].from));
    }
    return us;
  }

  // Some rows at all positions against the truth.
  Json verify() const {
    const std::int64_t length = asked_.whole.length;
    std::vector<double> y;
    for (std::int64_t row : checked_) {
      std::vector<std::byte> of_row(static_cast<std::size_t>(2 * length));
      DANAUS_CUDA(cudaMemcpy2D(of_row.data(), 2, y_.data() + row, 2 * rows_, 2, length, cudaMemcpyDeviceToHost));
      const std::vector<double> decoded = decoded_bytes(asked_.whole.dtype, of_row);
      y.insert(y.end(), decoded.begin(), decoded.end());
    }
    const auto [fewer, inputs] = fewer_();
    const auto judge = judge_of(fewer);
    const Expected expected = judge->expected(inputs);
    const Verdict verdict = verdict_on(*judge, inputs, {{"y", std::move(y)}}, expected, judge->terms(inputs, promise_),
                                       {.usual_share = kUsualShare});
    Json fields = verdict_row(verdict, expected.by);
    fields["rows"] = checked_.size(), fields["of"] = rows_;
    return fields;
  }

 private:
  // Of the checked rows, u by position.
  std::vector<double> checked_u() const {
    std::vector<double> u;
    for (std::int64_t row : checked_)
      for (std::int64_t n = 0; n < asked_.whole.length; ++n)
        u.push_back(round_to(asked_.whole.dtype, noise(kKeyOfU, n * rows_ + row)));
    return u;
  }

  void by_decoding(const std::shared_ptr<const Machine>& machine) {
    const Convolution& p = asked_.whole;
    const DecodeBy by = asked_.method == DecodeMethod::dot ? DecodeBy::dot : DecodeBy::tiles;
    const auto decoding = std::make_shared<Decoding>(p, machine, by);
    const std::int64_t taps = p.filter_length;
    const float scale = 1 / std::sqrt(static_cast<float>(taps));
    {
      std::vector<float> k(static_cast<std::size_t>(p.channels * taps));
      for (std::size_t i = 0; i < k.size(); ++i) k[i] = scale * noise(kKeyOfK, static_cast<std::int64_t>(i));
      decoding->set_filter(k);
    }
    begin_ = [=, this] { decoding->prefill(nullptr, nullptr, 0, stream_); };
    next_ = [=, this](const void* u, void* y, std::int64_t) { decoding->next(u, y, stream_); };
    promise_.roundings.forward = decoding->roundings();
    fewer_ = [=, this] {
      Convolution fewer = asked_.whole;
      fewer.batch = 1, fewer.channels = std::ssize(checked_);
      std::vector<double> k;
      for (std::int64_t row : checked_)
        for (std::int64_t m = 0; m < taps; ++m)
          k.push_back(scale * noise(kKeyOfK, row % asked_.whole.channels * taps + m));
      return std::pair<Case, Values>(fewer, {{"u", checked_u()}, {"k", std::move(k)}});
    };
  }

  // Two states by turns: one is read while the other is written.
  void by_recurrence(const std::shared_ptr<const Machine>& machine) {
    StateSpace one = state_of(asked_, 1);
    const StateSpace whole = state_of(asked_, asked_.whole.length);
    const StateInputs made = make_filters(whole);
    const auto plan = std::make_shared<Plan>(one, machine);
    const auto as_floats = [](const std::vector<double>& values) {
      return std::vector<float>(values.begin(), values.end());
    };
    const std::vector<float> a = as_floats(made.a), b = as_floats(made.b), c = as_floats(made.c);
    const std::array<Buffer, 3> filters = {Buffer("a", std::as_bytes(std::span(a))),
                                           Buffer("b", std::as_bytes(std::span(b))),
                                           Buffer("c", std::as_bytes(std::span(c)))};
    plan->prepare(filters, {.stream = stream_});
    const auto states = std::make_shared<std::array<DeviceBuffer<float>, 2>>();
    for (auto& state : *states) state = room_for<float>(2 * rows_ * asked_.states, "states");
    begin_ = [=, this] { DANAUS_CUDA(cudaMemsetAsync((*states)[0].data(), 0, (*states)[0].bytes(), stream_)); };
    next_ = [=, this](const void* u, void* y, std::int64_t n) {
      const auto bytes = static_cast<std::size_t>(2 * rows_);
      const auto &before = (*states)[n % 2], &after = (*states)[(n + 1) % 2];
      plan->execute({{"u", u, bytes},
                     {"y", y, bytes},
                     {"x_initial", before.data(), before.bytes()},
                     {"x_final", after.data(), after.bytes()}},
                    {.stream = stream_});
    };
    promise_.roundings.forward = plan->variant().roundings();
    fewer_ = [=, this] {
      StateSpace fewer = whole;
      fewer.batch = 1, fewer.channels = std::ssize(checked_);
      Values values = {{"u", checked_u()}};
      const std::int64_t of_channel = 2 * asked_.states;
      for (std::int64_t row : checked_) {
        const std::int64_t first = row % asked_.whole.channels * of_channel;
        const auto take = [&](const std::vector<double>& from, const char* name) {
          values[name].insert(values[name].end(), from.begin() + first, from.begin() + first + of_channel);
        };
        take(made.a, "a"), take(made.b, "b"), take(made.c, "c");
      }
      return std::pair<Case, Values>(fewer, std::move(values));
    };
  }

  DecodeCase asked_;
  std::int64_t rows_;
  std::vector<std::int64_t> checked_;
  CudaStream stream_;
  DeviceBuffer<std::uint16_t> u_, y_;
  std::function<void()> begin_;
  std::function<void(const void* u, void* y, std::int64_t position)> next_;
  std::function<std::pair<Case, Values>()> fewer_;  // the checked rows and their inputs, as a case of its own
  Promise promise_;
};

}  // namespace

Json timed(const DecodeCase& asked, const Device& device, int repetitions) {
  validate(asked);
  const DeviceScope scope(device.ordinal);
  Sequence sequence(asked, device);
  sequence.run();  // also loads what is launched for the first time
  Json row = {{"verify", sequence.verify()}};
  if (row["verify"]["status"] != "passed") return row;
  std::vector<std::vector<double>> of_runs;
  for (int i = 0; i < repetitions; ++i) of_runs.push_back(sequence.run());
  row["positions"] = Json::array();
  const std::vector<Octave> octaves = octaves_of(asked.whole.length);
  for (std::size_t i = 0; i < octaves.size(); ++i) {
    std::vector<double> us;
    for (const auto& run : of_runs) us.push_back(run[i]);
    const Quartiles q = quartiles(us);
    row["positions"].push_back(
        {{"from", octaves[i].from}, {"to", octaves[i].to}, {"us", q.median}, {"q1", q.q1}, {"q3", q.q3}});
  }
  if (const Json after = sequence.verify(); after["status"] != "passed") row.erase("positions"), row["verify"] = after;
  return row;
}

}  // namespace danaus

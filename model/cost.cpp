#include "model/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace danaus {
namespace {

constexpr double kPico = 1e-12;

struct Step {
  double compute_seconds;
  double memory_seconds;
  bool matrix;
};

// Eq. 2 for one sequence and one factor.
Step cost_of_step(double points, int factor, Memory memory, const HardwareProfile& profile) {
  const bool matrix = factor >= profile.matrix_side.value;
  const double rate = at_load_clock(matrix ? profile.matrix_rate : profile.general_rate, profile) * kTera;
  const double bandwidth =
      (memory == Memory::sram ? at_load_clock(profile.sram_bandwidth, profile) : profile.hbm_bandwidth.value) * kTera;
  return {16 * points * factor / rate, 4 * points / bandwidth, matrix};
}

double cost_of_transform(const std::vector<int>& factors, const HardwareProfile& profile) {
  const std::vector<Place> place = places(factors, profile);
  double points = 1;
  for (int factor : factors) points *= factor;
  double seconds = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Step step = cost_of_step(points, factors[i], place[i].memory, profile);
    seconds += step.compute_seconds + step.memory_seconds;
  }
  return seconds;
}

std::string reason(int factor, bool matrix, const Place& place, std::int64_t points, const HardwareProfile& profile) {
  const auto side = static_cast<std::int64_t>(profile.matrix_side.value);
  const std::string unit = matrix ? text(factor, " reaches the matrix unit's ", side, ": matrix multiply")
                                  : text(factor, " is below the matrix unit's ", side, ": general arithmetic");
  return text(unit, "; ", place.points < points ? "what the outer steps leave, " : "the sequence, ",
              half_complex_bytes(place.points) / 1024.0, " KiB, ",
              place.memory == Memory::sram ? "fits in a block's " : "does not fit in a block's ",
              profile.shared_memory_per_block.value, " KiB: ", place.memory == Memory::sram ? "SRAM" : "HBM");
}

void add_notes(const Convolution& p, const HardwareProfile& profile, std::vector<std::string>& notes) {
  notes.push_back("compute and memory times are added, as if nothing overlapped");
  notes.push_back("factors and memories by the rule of model/factorization.hpp; the paper leaves both open");
  std::string peaks;
  for (const auto& [name, quantity] :
       {std::pair{"matrix rate", &profile.matrix_rate}, std::pair{"general rate", &profile.general_rate},
        std::pair{"HBM bandwidth", &profile.hbm_bandwidth}, std::pair{"SRAM bandwidth", &profile.sram_bandwidth}})
    if (quantity->kind == "datasheet") peaks += (peaks.empty() ? "" : ", ") + std::string(name);
  if (!peaks.empty()) notes.push_back(text("datasheet peaks, so a lower bound: ", peaks));
  if (profile.sram_bandwidth.source.starts_with("derived"))
    notes.push_back("SRAM bandwidth " + profile.sram_bandwidth.source);
  if (p.fold == Fold::pair && p.batch > 1)
    notes.push_back("pair fold: one sequence for two batch rows, where Eq. 2 has one for each");
  if (p.fold == Fold::half) notes.push_back("half fold: sequences of N/2 points, where Eq. 2 has N");
  if (p.pregate || p.postgate) notes.push_back("gates are not counted by Eq. 2");
  if (!p.mask.empty()) notes.push_back("blocks that the frequency mask skips are not saved by Eq. 2");
}

}  // namespace

int choose_order(std::int64_t points, const HardwareProfile& profile) {
  if (points < 4) fail("choose order: N=", points, ", must be at least 4");
  int best_order = 0;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int order : kOrders) {
    if (points < (1 << order)) continue;
    const double seconds = cost_of_transform(choose_factors(points, order, profile), profile);
    if (seconds < best_seconds) best_seconds = seconds, best_order = order;
  }
  return best_order;
}

Convolution with_factors(Convolution p, const HardwareProfile& profile, int order) {
  validate(p);
  p.fold = resolved(p).fold;
  const auto next_power_of_two = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  };
  if (!p.factors.empty()) {
    if (order != 0 && order != static_cast<int>(p.factors.size()))
      fail("choose factors: order ", order, ", the case has ", p.factors.size(), " factors already");
    p = resolved(p);
  } else {
    if (p.fft_size == 0) {
      const bool needs_only_length =
          p.fold == Fold::right_angle || (p.mode == Mode::circular && next_power_of_two(p.length) == p.length);
      p.fft_size = next_power_of_two(needs_only_length ? p.length : smallest_linear_fft_size(p));
    }
    const std::int64_t points = complex_points(p);
    p.factors = choose_factors(points, order != 0 ? order : choose_order(points, profile), profile);
  }
  validate(p);
  return p;
}

Prediction predict_eq2(const Convolution& problem, const HardwareProfile& profile) {
  validate(problem);
  if (problem.factors.empty()) fail("predict: ", token(problem), " has no factors, Eq. 2 needs them");
  if (bytes(problem.dtype) != 2) fail("predict: ", name(problem.dtype), ", Eq. 2 is for 16-bit types (f16, bf16)");
  const Convolution p = resolved(problem);
  if (p.fft_size < p.length) fail("predict: N=", p.fft_size, " < L=", p.length, ", Eq. 2 knows no chunks");
  const std::int64_t points = complex_points(p);
  const std::int64_t rows = p.fold == Fold::pair ? (p.batch + 1) / 2 : p.batch;
  const double sequences = static_cast<double>(rows) * static_cast<double>(p.channels);

  Prediction prediction;
  prediction.profile = profile.name;
  prediction.model = "eq2";
  std::array<std::pair<const char*, double>, 4> shares = {{{"matrix", 0}, {"general", 0}, {"sram", 0}, {"hbm", 0}}};
  const std::vector<Place> place = places(p.factors, profile);
  for (std::size_t i = 0; i < p.factors.size(); ++i) {
    const int factor = p.factors[i];
    const Memory memory = place[i].memory;
    const Step step = cost_of_step(static_cast<double>(points), factor, memory, profile);
    Term term;
    term.factor = factor;
    term.compute_us = sequences * step.compute_seconds / kMicro;
    term.memory_us = sequences * step.memory_seconds / kMicro;
    term.unit = step.matrix ? "matrix" : "general";
    term.memory = name(memory);
    term.reason = reason(factor, step.matrix, place[i], points, profile);
    shares[step.matrix ? 0 : 1].second += term.compute_us;
    shares[memory == Memory::sram ? 2 : 3].second += term.memory_us;
    prediction.total_us += term.compute_us + term.memory_us;
    prediction.terms.push_back(std::move(term));
  }
  const double tokens =
      static_cast<double>(p.batch) * static_cast<double>(p.channels) * static_cast<double>(p.fft_size);
  prediction.ps_per_token_bh = prediction.total_us * kMicro / kPico / tokens;
  prediction.limit = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  add_notes(p, profile, prediction.notes);
  return prediction;
}

}  // namespace danaus

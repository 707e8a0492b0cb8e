#include "experiments/predict/ways.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "model/roofline.hpp"

namespace danaus {
namespace {

constexpr const char* kFused = "fused";
constexpr const char* kPasses = "outer passes";
constexpr const char* kPieces = "pieces";
constexpr const char* kTaps = "taps";
constexpr const char* kNotBuilt = "its kernel is not in this build (CMake option DANAUS_ALL)";

// Of the variant that a plan takes.
const char* way_of(const Variant& variant) {
  switch (variant.way()) {
    case Way::pieces: return kPieces;
    case Way::passes:
    case Way::clusters: return kPasses;
    case Way::taps: return kTaps;
    default: return kFused;
  }
}

bool is_gated(const Convolution& p) { return p.pregate || p.postgate; }

// The case that asks for it this way, or a refusal by std::invalid_argument.
Convolution by_fused_kernel(Convolution p, const Device&) {
  const bool is_pair = p.mode == Mode::circular && std::ranges::any_of(variants(), [&](const auto& v) {
                         return v->size == p.length && v->fold == Fold::pair;
                       });
  if (const int longest = variants().back()->size; p.length > longest)
    fail("L=", p.length, ", fused kernels have at most ", longest, " points");
  p.fold = is_pair ? Fold::pair : Fold::right_angle;
  return p;
}

Convolution by_outer_passes(Convolution p, const Device& device) {
  const int device_class = device_class_of(device);
  const auto found = std::ranges::find_if(long_variants(), [&](const auto& v) {
    const bool is_pair = p.mode == Mode::circular && v->size == p.length;
    return v->size >= p.length && v->dtype == p.dtype && v->fold == (is_pair ? Fold::pair : Fold::right_angle) &&
           v->gated == is_gated(p) && v->suits(device_class);
  });
  if (found == long_variants().end()) fail("L=", p.length, ", no outer passes of so many points fit ", device.name);
  if ((*found)->size > 2 * p.length) fail("L=", p.length, ", outer passes have at least ", (*found)->size, " points");
  p.fold = (*found)->fold, p.fft_size = (*found)->size;
  return p;
}

Convolution by_pieces(Convolution p, const Device& device) {
  const ChunkVariant* const variant = cheaper_chunks(p, nullptr, device);
  if (!variant) fail("pieces need 2 K <= N < L, K=", p.filter_length, ", L=", p.length);
  p.fft_size = variant->size;
  return p;
}

// Why a plan goes so, whatever is sooner by counted work: choose() of kernels/plan/choice.hpp counts none.
std::string why_of_plan(const Convolution& p, const std::string& way) {
  const int longest = variants().back()->size;
  if (p.length <= longest)
    return text("a plan cuts no row of up to ", longest, " samples, of which none is measured in pieces");
  return text("a plan's own constants, from measured times, find ", way, " sooner");
}

// What is predicted of it, or why there is none.
Json predicted(const char* way, const std::function<Convolution(Convolution, const Device&)>& asking,
               const WaysCase& asked) {
  const Device device = imitation(asked.profile);
  try {
    const Case by(asking(asked.asked, device));
    if (!choose(*by.as<Convolution>(), device).compiled) return {{"way", way}, {"reason", kNotBuilt}};
    const ProgramWork program = count_program(by, device);
    const RooflinePrediction prediction = predict_launches(kernel_work(by, program, device), asked.profile);
    std::int64_t launches = 0;
    for (const LaunchWork& each : program.launches) launches += each.prepares ? 0 : each.times;
    return {{"way", way},
            {"case", by.token()},
            {"n", choose(*by.as<Convolution>(), device).size},
            {"kernel", program.variant},
            {"launches", launches},
            {"us", prediction.total_us},
            {"limit", prediction.limit}};
  } catch (const std::invalid_argument& refusal) {
    return {{"way", way}, {"reason", refusal.what()}};
  }
}

// The way of a plan that is asked without saying how.
const char* way_of_plan(const WaysCase& asked) {
  try {
    return way_of(choose(asked.asked, imitation(asked.profile)));
  } catch (const std::invalid_argument&) {
    return "none";
  }
}

}  // namespace

WaysCase ways_case(const Case& asked, const HardwareProfile& profile) {
  const auto* problem = asked.as<Convolution>();
  if (!problem) fail("what-if: ", asked.token(), " is no convolution, which alone goes several ways");
  if (problem->fold || problem->fft_size != 0 || !problem->factors.empty() || !problem->mask.empty())
    fail("what-if: ", asked.token(), " says how it goes; leave its fold, N, factors and mask out");
  return {*problem, profile};
}

std::vector<WaysCase> ways_cases(const std::vector<HardwareProfile>& profiles) {
  constexpr std::int64_t kWhole = 0, kLongest = 4 << 20, kMostSamples = std::int64_t{192} << 16;  // of a batch row
  std::vector<WaysCase> cases;
  for (const HardwareProfile& profile : profiles)
    for (std::int64_t taps : {kWhole, std::int64_t{2048}, std::int64_t{256}})
      for (std::int64_t length = 256; length <= kLongest; length *= 2) {
        if (taps != kWhole && taps >= length) continue;
        Convolution problem;
        problem.mode = Mode::causal, problem.length = length;
        problem.filter_length = taps == kWhole ? length : taps;
        problem.batch = 64, problem.channels = std::min<std::int64_t>(768, kMostSamples / length);
        cases.push_back({problem, profile});
      }
  return cases;
}

Json describe(const WaysCase& asked) {
  const Convolution& p = asked.asked;
  return {{"case", token(p)}, {"profile", asked.profile.name}, {"l", p.length}, {"k", p.filter_length},
          {"batch", p.batch}, {"channels", p.channels}};
}

Json ways(const WaysCase& asked) {
  std::vector<Json> found, others;
  for (const Json& way : std::array{predicted(kFused, by_fused_kernel, asked),
                                    predicted(kPasses, by_outer_passes, asked), predicted(kPieces, by_pieces, asked)})
    (way.contains("us") ? found : others).push_back(way);
  std::ranges::stable_sort(found, {}, [](const Json& way) { return way["us"].get<double>(); });
  const bool is_complete = std::ranges::none_of(others, [](const Json& way) { return way["reason"] == kNotBuilt; });
  const std::string plan = way_of_plan(asked);
  Json row = {{"ways", found}, {"others", others}, {"complete", is_complete}, {"plan", plan}};
  if (!is_complete || found.empty() || found.front()["way"] == plan) return row;
  row["why"] = text(why_of_plan(asked.asked, plan), "; ", found.front()["case"].get<std::string>(), " asks for ",
                    found.front()["way"].get<std::string>());
  return row;
}

}  // namespace danaus

#include "python/native/study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/memory.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/verify/verification.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/danaus.hpp"
#include "kernels/plan/choice.hpp"
#include "reference/bounds.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/half.hpp"

using namespace danaus;

struct danaus_text {
  std::string words;
};

namespace {

constexpr const char* kKernel = "kernel";

// The commands that need no GPU.
constexpr std::array kCommands = {
    Command{"verify", "", &run_verify}, Command{"model", "", &run_model},     Command{"what-if", "", &run_what_if},
    Command{"count", "", &run_count},   Command{"factors", "", &run_factors}, Command{"memory", "", &run_memory},
    Command{"list", "", &run_list},
};

const Command& command(std::string_view word) {
  std::string names;
  for (const Command& each : kCommands) {
    if (each.name == word) return each;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  fail("run: command '", word, "', must be one of ", names);
}

Device device_of(int ordinal) { return ordinal < 0 ? Device() : cuda_machine(ordinal)->device(); }

// A case's arrays in double, as they were given.
struct Given {
  Inputs inputs;
  std::span<double> y;
};

Given given(const char* operation, const Convolution& problem, const danaus_array* list, std::size_t count) {
  const std::vector<Buffer> buffers = buffers_of(operation, list, count);
  const std::vector<Array> known = arrays(problem);
  for (const Buffer& buffer : buffers)
    if (std::ranges::find(known, buffer.name, &Array::name) == known.end())
      fail(operation, ": a ", buffer.name, " is given, but ", token(problem), " has none");
  const auto values_of = [&](const Array& array) {
    const auto buffer = std::ranges::find(buffers, array.name, &Buffer::name);
    if (buffer == buffers.end()) fail(operation, ": ", token(problem), " has a ", array.name, ", but none is given");
    if (!buffer->data) fail(operation, ": ", array.name, " is null");
    if (buffer->bytes != sizeof(double) * static_cast<std::size_t>(array.size()))
      fail(operation, ": ", array.name, " has ", buffer->bytes, " bytes, must be the ", array.size(), " doubles of ",
           array.shape);
    auto* const data = static_cast<double*>(const_cast<void*>(buffer->data));
    return std::span(data, static_cast<std::size_t>(array.size()));
  };
  Given of;
  for (const Array& array : known) {
    const std::span<double> values = values_of(array);
    if (array.name == "y") of.y = values;
    if (array.name == "u") of.inputs.u.assign(values.begin(), values.end());
    if (array.name == "k") of.inputs.k.assign(values.begin(), values.end());
    if (array.name == "pregate") of.inputs.pregate.assign(values.begin(), values.end());
    if (array.name == "postgate") of.inputs.postgate.assign(values.begin(), values.end());
  }
  return of;
}

bool is_finite(const Inputs& inputs) {
  const auto finite = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  return finite(inputs.u) && finite(inputs.k) && finite(inputs.pregate) && finite(inputs.postgate);
}

// Of a method in double whose result was rounded to the case's type.
double bound_of(const Candidate& candidate, const Convolution& planned) {
  const double rounding = planned.dtype == Dtype::f64 ? 0 : bound_l2_of_roundings(planned.dtype, 1);
  return candidate.bound(planned) + (candidate.in_double ? rounding : 0);
}

Json judgement(const Convolution& problem, std::string_view method, const Plan* plan, const Inputs& inputs,
               std::span<const double> y) {
  if (!is_finite(inputs)) return {{"status", "skipped"}, {"reason", "u, k or gates have values that are not finite"}};
  const std::vector<double> computed(y.begin(), y.end());
  if (method == kKernel) {
    if (!plan) fail("judge: method kernel, which needs the plan that computed y");
    const Convolution by = planned(problem, plan->variant());
    return judged(by, method, inputs, computed, bound_l2_of_kernel(by, plan->variant().roundings()));
  }
  for (const Candidate& candidate : candidates())
    if (candidate.name == method && candidate.in_double) {
      const Convolution by = candidate.planned(problem);
      return judged(by, method, inputs, computed, bound_of(candidate, by));
    }
  const Method direct = parse_in(kMethods, "judge: method", std::string(method));
  const Convolution by = planned(problem);
  return judged(by, name(direct), inputs, computed, bound_of(candidates().front(), by));
}

danaus_text* text_of(std::string words) { return new danaus_text{std::move(words)}; }

}  // namespace

// In place of the program's own, so that the library needs neither libsndfile nor cuFFT.
namespace danaus {

// Rows with a recording are skipped.
std::vector<double> read_recording(const std::string&) { return {}; }

// For a profiler, which has no business in an interpreter.
void launch_once(const Convolution& problem, const Device&) {
  fail("run: ", token(problem), " is to be launched for a profiler, which the program danaus does");
}

}  // namespace danaus

danaus_status danaus_plan_create_on_executor(const char* token, danaus_plan** plan) {
  return guarded([&] {
    require("plan", "token", token);
    require("plan", "plan", plan);
    *plan = nullptr;
    const Case asked = parse_case(token);
    *plan = new danaus_plan(Plan(asked, executor_machine(), marks_of(asked)));
  });
}

danaus_status danaus_case_mask(const char* token, uint8_t* kept, size_t room, size_t* count) {
  return guarded([&] {
    require("case_mask", "token", token);
    require("case_mask", "count", count);
    const std::vector<std::uint8_t> mask = marks_of(parse_case(token));
    *count = mask.size();
    if (kept && room >= mask.size()) std::ranges::copy(mask, kept);
  });
}

danaus_status danaus_case_bytes(const char* token, int device, danaus_bytes* bytes) {
  return guarded([&] {
    require("case_bytes", "token", token);
    require("case_bytes", "bytes", bytes);
    const PlanBytes kept = plan_bytes(parse_case(token), device_of(device));
    *bytes = {kept.spectrum, 0, kept.tables};
  });
}

danaus_status danaus_case_kernel(const char* token, int device, danaus_text** kernel) {
  return guarded([&] {
    require("case_kernel", "token", token);
    require("case_kernel", "kernel", kernel);
    *kernel = nullptr;
    const Case asked = parse_case(token);
    *kernel = text_of(make_program(asked, device_of(device), marks_of(asked)).variant->name);
  });
}

danaus_status danaus_convolve(const char* token, const char* method, const danaus_array* arrays, size_t count) {
  return guarded([&] {
    require("convolve", "token", token);
    require("convolve", "method", method);
    const Convolution problem = parse_convolution(token);
    const Method by = parse_in(kMethods, "convolve: method", method);
    require_memory("convolve", memory_of(planned(problem)));
    const Given of = given("convolve", problem, arrays, count);
    const std::vector<double> y = convolve(problem, of.inputs, by);
    std::ranges::transform(y, of.y.begin(), [&](double value) { return round_to(problem.dtype, value); });
  });
}

const char* danaus_text_data(const danaus_text* text) { return text ? text->words.c_str() : ""; }

void danaus_text_destroy(danaus_text* text) { delete text; }

danaus_status danaus_judge(const char* token, const char* method, const danaus_plan* plan, const danaus_array* arrays,
                           size_t count, danaus_text** verdict) {
  return guarded([&] {
    require("judge", "token", token);
    require("judge", "method", method);
    require("judge", "verdict", verdict);
    *verdict = nullptr;
    const Convolution problem = parse_convolution(token);
    require_memory("judge", memory_of(planned(problem)));
    const Given of = given("judge", problem, arrays, count);
    *verdict = text_of(judgement(problem, method, plan ? &plan->plan : nullptr, of.inputs, of.y).dump());
  });
}

danaus_status danaus_run(const char* const* words, size_t count, danaus_text** rows) {
  return guarded([&] {
    require("run", "words", words);
    require("run", "rows", rows);
    *rows = nullptr;
    std::vector<std::string> line = {"danaus"};
    for (size_t i = 0; i < count; ++i) {
      require("run", "a word", words[i]);
      line.emplace_back(words[i]);
      for (const char* other : {"--hardware", "--launch"})
        if (line.back() == other) fail("run: ", other, " starts a profiler on the program danaus itself; call that");
    }
    const Command& asked = command(count > 0 ? line[1] : std::string_view());
    std::ostringstream out, err;
    Console console{out, err, false, line};
    line.insert(line.end(), {"--json", "-"});
    asked.run(std::span(line).subspan(2), console);
    *rows = text_of(out.str());
  });
}

void danaus_interrupt(int requested) { set_interrupt(requested != 0); }

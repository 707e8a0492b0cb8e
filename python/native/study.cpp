#include "python/native/study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/memory.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/io/asked_fields.hpp"
#include "experiments/io/mask_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/verify/verification.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/danaus.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/promise.hpp"
#include "reference/bounds.hpp"
#include "reference/claim.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/terms.hpp"
#include "reference/half.hpp"
#include "reference/state/state.hpp"
#include "reference/token.hpp"

using namespace danaus;

namespace {

constexpr const char *kKernel = "kernel", *kDefinition = "definition";

// The commands that need no GPU.
constexpr std::array kCommands = {
    Command{"verify", "", &run_verify}, Command{"model", "", &run_model},     Command{"what-if", "", &run_what_if},
    Command{"count", "", &run_count},   Command{"factors", "", &run_factors}, Command{"memory", "", &run_memory},
    Command{"list", "", &run_list},     Command{"explore", "", &run_explore},
};

const Command& command(std::string_view word) {
  std::string names;
  for (const Command& each : kCommands) {
    if (each.name == word) return each;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  fail("run: command '", word, "', must be one of ", names);
}

Device device_of(const char* operation, int ordinal) {
  if (ordinal < -1) fail(operation, ": device=", ordinal, ", must be -1 (the executor) or a CUDA device");
  return (ordinal == -1 ? executor_machine() : cuda_machine(ordinal))->device();
}

// A case's arrays in double, as they were given; outputs to be written or judged.
struct Given {
  Values inputs;
  std::map<std::string, std::span<double>, std::less<>> outputs;
  Values values_of_outputs() const {
    Values values;
    for (const auto& [name, numbers] : outputs) values.emplace(name, std::vector(numbers.begin(), numbers.end()));
    return values;
  }
};

// `outputs`: whether all must be there, or may be left out; `alone`: whether inputs are no matter.
enum class Outputs { all, some, alone };
Given given(const char* operation, const Case& asked, const danaus_array* list, std::size_t count,
            Outputs which = Outputs::all) {
  const std::vector<Buffer> buffers = buffers_of(operation, list, count);
  const std::vector<Array> known = asked.arrays();
  for (const Buffer& buffer : buffers)
    if (std::ranges::find(known, buffer.name, &Array::name) == known.end())
      fail(operation, ": a ", buffer.name, " is given, but ", asked.token(), " has none");
  Given of;
  for (const Array& array : known) {
    const auto buffer = std::ranges::find(buffers, array.name, &Buffer::name);
    if (buffer == buffers.end()) {
      if (which == Outputs::alone || (which == Outputs::some && array.role == Role::output)) continue;
      fail(operation, ": ", asked.token(), " has a ", array.name, ", but none is given");
    }
    if (!buffer->data) fail(operation, ": ", array.name, " is null");
    if (reinterpret_cast<std::uintptr_t>(buffer->data) % alignof(double) != 0)
      fail(operation, ": ", array.name, " is at ", buffer->data, ", must be aligned to doubles");
    check_range(operation, *buffer);
    for (const Buffer& other : buffers)
      if (array.role == Role::output && other.name != array.name && overlap(*buffer, other))
        fail(operation, ": ", array.name, " overlaps ", other.name);
    if (buffer->bytes != sizeof(double) * static_cast<std::size_t>(array.size()))
      fail(operation, ": ", array.name, " has ", buffer->bytes, " bytes, must be the ", array.size(), " doubles of ",
           array.shape);
    auto* const data = static_cast<double*>(const_cast<void*>(buffer->data));
    const std::span values(data, static_cast<std::size_t>(array.size()));
    if (array.role == Role::output)
      of.outputs.emplace(array.name, values);
    else
      of.inputs.emplace(array.name, std::vector(values.begin(), values.end()));
  }
  return of;
}

// Outputs in double.
Values computed(const Case& asked, const char* method, const Values& inputs) {
  if (const auto* problem = asked.as<Convolution>())
    return {
        {"y", convolve(*problem, inputs_of(inputs), parse_in(kAlgorithms, "compute: method", std::string(method)))}};
  if (std::string_view(method) != kDefinition)
    fail("compute: method '", method, "', must be ", kDefinition, ", which computes ", asked.token());
  if (const auto* problem = asked.as<StateSpace>()) {
    const std::vector<double>& a = inputs.find("a")->second;
    check_poles(*problem, std::vector<float>(a.begin(), a.end()));
  }
  return truth(asked, inputs);
}

double memory_to_compute(const Case& asked) {
  const auto* problem = asked.as<Convolution>();
  return problem ? memory_of(planned(*problem)) : memory_of(asked);
}

// Of a method in double whose result was rounded to the case's type.
double bound_of(const Method& method, const Convolution& planned) {
  const double rounding = planned.dtype == Dtype::f64 ? 0 : bound_l2_of_roundings(planned.dtype, 1);
  return method.bound(planned) + (method.in_double ? rounding : 0);
}

// How a method rounds: "kernel" as the plan's kernels do; others in double, and once to the types of outputs.
void set_terms(const Case& asked, std::string_view method, const Plan* plan, Promise& promise, JudgeOptions& options) {
  if (method == kKernel) {
    if (!plan) fail("judge: method kernel, which needs the plan that computed the outputs");
    if (plan->asked().token() != asked.token())
      fail("judge: the plan is of ", plan->asked().token(), ", must be of ", asked.token());
    promise = promise_of(asked, plan->variant(), plan->machine().device());
    return;
  }
  options.bounds = double_bounds(asked);
  const auto* problem = asked.as<Convolution>();
  if (!problem) {
    if (method != kDefinition) fail("judge: method '", method, "', must be one of ", kKernel, ", ", kDefinition);
    promise.nonfinite_reach = 0;
    return;
  }
  parse_in(kAlgorithms, "judge: method", std::string(method));  // or says which there are
  for (const Method& each : judged_methods())
    if (each.name == method && each.in_double) {
      const Convolution by = planned_by(each, *problem);
      promise = promise_of_method(by), options.bounds["y"] = bound_of(each, by);
    }
}

Json judgement(const Case& asked, std::string_view method, const Plan* plan, const Given& of) {
  Promise promise;
  JudgeOptions options;
  set_terms(asked, method, plan, promise, options);
  const Values outputs = of.values_of_outputs();
  const auto judge = judge_of(asked);
  const auto expected = expected_of(asked, *judge, of.inputs, outputs, method == name(Algorithm::fftw), options.known);
  if (!expected) return without_truth();
  const std::vector<OutputTerms> terms = judge->terms(of.inputs, promise);
  return verdict_row(verdict_on(*judge, of.inputs, outputs, *expected, terms, options), expected->by);
}

Json claimed_judgement(const Case& asked, const danaus_claim& claimed, const Given& of) {
  require("judge", "arithmetic", claimed.arithmetic);
  const Claim claim{parse_in(kClaims, "judge: arithmetic", claimed.arithmetic), claimed.roundings,
                    claimed.results == 0 ? 1 : claimed.results};
  if (of.outputs.empty()) fail("judge: no output is given");
  if (!claimed.expected) return verdict_row(claimed_verdict(asked, of.inputs, of.values_of_outputs(), claim), "own");
  const Values expected =
      given("judge", asked, claimed.expected, claimed.expected_count, Outputs::alone).values_of_outputs();
  return verdict_row(claimed_verdict(asked, of.inputs, of.values_of_outputs(), claim, &expected), "given");
}

// The fields of a token, of which any may be missing.
Json fields_of(std::string_view token) {
  const Grammar& grammar = grammar_of(token);
  const TokenFields fields(token, grammar, false);
  const Json asked = asked_fields(token);
  Json list = Json::array();
  for (const TokenField& field : grammar.fields) {
    if (!field.refused.empty()) continue;
    const std::string name = name_in_rows(field);
    Json of = {{"name", name}, {"kind", kind_in_rows(field)}};
    if (field.kind == TokenField::Kind::one_of) of["values"] = field.words();
    if (field.kind == TokenField::Kind::number) static_cast<void>(fields.number(field.name));  // throws
    if (field.kind == TokenField::Kind::list) static_cast<void>(fields.list(field.name));
    if (asked.contains(name)) of["value"] = asked[name];
    list.push_back(std::move(of));
  }
  return {{"operation", grammar.operation}, {"fields", list}};
}

Handles<danaus_text, const std::string>& texts() {
  static auto* const kept = new Handles<danaus_text, const std::string>;
  return *kept;
}

// What a command prints last to stderr before it gives up, as an error has it.
std::string last_message(std::string_view errors) {
  constexpr std::string_view kProgram = "danaus: ";
  while (errors.ends_with('\n')) errors.remove_suffix(1);
  errors.remove_prefix(errors.rfind('\n') + 1);  // npos + 1 is 0
  if (errors.starts_with(kProgram)) errors.remove_prefix(kProgram.size());
  return std::string(errors);
}

danaus_text* text_of(std::string words) { return texts().add(std::make_shared<const std::string>(std::move(words))); }

}  // namespace

// In place of the program's own, so that the library needs neither libsndfile nor cuFFT.
namespace danaus {

// Rows with a recording are skipped.
std::vector<double> read_recording(const std::string&) { return {}; }

Signal read_wav(const std::string& path) { fail(path, ": .wav files are for the program danaus alone; give an array"); }

void write_wav(PendingFile&, const Signal&) { fail("a .wav file is written by the program danaus alone"); }

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
    *plan = plans().add(std::make_shared<OpenPlan>(Plan(asked, executor_machine(), marks_of(asked))));
  });
}

danaus_status danaus_selftest_on_executor(danaus_selftest_report* report) {
  return guarded([&] {
    require("selftest", "report", report);
    check_size("selftest", "report", report->size, sizeof *report);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    write_struct("selftest", "report", selftest_report(executor_machine(), threads), report);
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
    const PlanBytes kept = plan_bytes(parse_case(token), device_of("case_bytes", device));
    write_struct("case_bytes", "bytes", {0, kept.spectrum, 0, kept.tables}, bytes);
  });
}

danaus_status danaus_case_layout(const char* token, int device, danaus_text** layout) {
  return guarded([&] {
    require("case_layout", "token", token);
    require("case_layout", "layout", layout);
    *layout = nullptr;
    const Case asked = parse_case(token);
    *layout = text_of(make_program(asked, device_of("case_layout", device), marks_of(asked)).layout);
  });
}

danaus_status danaus_case_asked(const char* token, danaus_text** asked) {
  return guarded([&] {
    require("case_asked", "token", token);
    require("case_asked", "asked", asked);
    *asked = nullptr;
    *asked = text_of(asked_fields(parse_case(token).token()).dump());
  });
}

danaus_status danaus_token_fields(const char* token, danaus_text** fields) {
  return guarded([&] {
    require("token_fields", "token", token);
    require("token_fields", "fields", fields);
    *fields = nullptr;
    *fields = text_of(fields_of(token).dump());
  });
}

danaus_status danaus_case_masked(const char* token, const double* kept, size_t count, danaus_text** masked) {
  return guarded([&] {
    require("case_masked", "token", token);
    require("case_masked", "kept", kept);
    require("case_masked", "masked", masked);
    *masked = nullptr;
    *masked = text_of(danaus::token(with_mask(parse_convolution(token), mask_of_marks("of conv", {kept, count}))));
  });
}

danaus_status danaus_compute(const char* token, const char* method, const danaus_array* arrays, size_t count) {
  return guarded([&] {
    require("compute", "token", token);
    require("compute", "method", method);
    const Case asked = parse_case(token);
    require_memory("compute", memory_to_compute(asked));
    const Given of = given("compute", asked, arrays, count);
    const Values outputs = computed(asked, method, of.inputs);
    for (const Array& array : asked.arrays())
      if (array.role == Role::output)
        std::ranges::transform(outputs.find(array.name)->second, of.outputs.find(array.name)->second.begin(),
                               [&](double value) { return round_to(array.dtype, value); });
  });
}

const char* danaus_text_data(const danaus_text* text) {
  const auto words = texts().find(text);
  return words ? words->c_str() : "";
}

void danaus_text_destroy(danaus_text* text) { texts().remove(text); }

danaus_status danaus_judge(const char* token, const char* method, const danaus_plan* plan, const danaus_array* arrays,
                           size_t count, danaus_text** verdict) {
  return guarded([&] {
    require("judge", "token", token);
    require("judge", "method", method);
    require("judge", "verdict", verdict);
    *verdict = nullptr;
    const Case asked = parse_case(token);
    require_memory("judge", memory_to_compute(asked));
    const Given of = given("judge", asked, arrays, count);
    const auto open = plan ? plan_of("judge", plan) : nullptr;
    *verdict = text_of(judgement(asked, method, open ? &open->plan : nullptr, of).dump());
  });
}

danaus_status danaus_judge_claim(const char* token, const danaus_claim* claim, const danaus_array* arrays, size_t count,
                                 danaus_text** verdict) {
  return guarded([&] {
    require("judge", "token", token);
    require("judge", "claim", claim);
    require("judge", "verdict", verdict);
    *verdict = nullptr;
    const danaus_claim claimed = read_struct("judge", "claim", claim);
    const Case asked = parse_case(token);
    require_memory("judge", memory_to_compute(asked));
    *verdict = text_of(claimed_judgement(asked, claimed, given("judge", asked, arrays, count, Outputs::some)).dump());
  });
}

danaus_status danaus_run(const char* const* words, size_t count, const int* stop, danaus_text** rows) {
  std::string interrupted;
  const danaus_status status = guarded([&] {
    require("run", "words", words);
    require("run", "rows", rows);
    *rows = nullptr;
    std::vector<std::string> line = {"danaus"};
    for (size_t i = 0; i < count; ++i) {
      require("run", "a word", words[i]);
      line.emplace_back(words[i]);
      for (const char* other : {"--hardware", "--launch"})
        if (line.back() == other) fail("run: ", other, " starts a profiler on the program danaus itself; call that");
      for (const char* other : {"--help", "-h"})
        if (line.back() == other) fail("run: ", other, " has no rows, must be given to the program danaus");
      if (line.back() == "--json" || line.back().starts_with("--json="))
        fail("run: --json is of the program danaus, must be left out; the rows are what is returned");
    }
    const Command& asked = command(count > 0 ? line[1] : std::string_view());
    std::ostringstream out, err;
    Console console{out, err, false, line};
    line.insert(line.end(), {"--json", "-"});
    const InterruptedBy interrupted_by(stop);
    try {
      if (asked.run(std::span(line).subspan(2), console) == kExitNoDevice) throw NoDevice(last_message(err.str()));
    } catch (const Interrupted& error) {
      interrupted = error.what();
      return;
    }
    *rows = text_of(out.str());
  });
  return interrupted.empty() ? status : failed(DANAUS_INTERRUPTED, interrupted.c_str());
}

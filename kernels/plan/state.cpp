#include "kernels/plan/state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/families/state/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/other_variant.hpp"

namespace danaus {
namespace {

using state::Choice;

KernelId id_of(const Choice& choice) { return {state::Family::name, choice.line, choice.instance}; }
OtherVariant variant_of(const Choice& choice, int bytes) {
  const state::Layout layout = choice.layout();
  return {id_of(choice), layout, choice.name(), bytes, state::roundings(layout.key.work)};
}

bool is_step(const StateSpace& p) { return p.chunk == 0 && p.length < state::kStepLength; }

void check(const StateSpace& p, const state::Layout& layout, const Device& device) {
  validate(p);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (p.length > kMost - layout.tuning.chunk)
    fail("ssmconv: no kernel for L=", p.length, "; there are some up to 2^31 - 1 - ", layout.tuning.chunk);
  if (p.batch > kMost / p.channels)
    fail("ssmconv: no kernel for B*H = ", p.batch, '*', p.channels, "; there are some up to 2^31 - 1");
  if (layout.shared_bytes > device.block_bytes)
    fail("ssmconv: no kernel for S=", p.states, " on ", device.name, ": it needs ", layout.shared_bytes, " of the ",
         device.block_bytes, " bytes of shared memory of a block");
}

Choice choose_ends(const StateSpace& p, const Device& device, const StateParts& parts) {
  return state::choose(p, device, state::Work::ends, p.batch * parts.count);
}

// What all launches of a case have in common.
struct Plans {
  StateSpace problem;
  std::string description;
  Choice convolve;
  state::Layout layout;  // of the matrices
  StateParts parts;
  Choice ends, carry, prepare, step;
  int u, y, a, b, c, x_initial, x_final;  // places among the case's arrays

  Plans(const Case& asked, const Device& device)
      : problem(*asked.as<StateSpace>()),
        description(asked.token()),
        convolve(state::choose(problem, device, state::Work::convolve)),
        layout(convolve.layout()),
        parts(state_parts(problem, device)),
        ends(choose_ends(problem, device, parts)),
        carry(state::choose(problem, device, state::Work::carry)),
        prepare(state::choose(problem, device, state::Work::prepare)),
        step(state::choose(problem, device, state::Work::step)) {
    const std::vector<Array> list = asked.arrays();
    u = array_of(list, "u"), y = array_of(list, "y"), a = array_of(list, "a"), b = array_of(list, "b");
    c = array_of(list, "c"), x_initial = array_of(list, "x_initial"), x_final = array_of(list, "x_final");
  }

  bool has_wide_ends() const { return parts.count > 1 && ends.layout().tuning.chunk > layout.tuning.chunk; }
  int channel_words() const { return has_wide_ends() ? layout.pass_end : layout.pass_begin; }
  std::int64_t prepared_bytes() const { return 4 * problem.channels * channel_words(); }
  std::int64_t state_bytes(std::int64_t rows) const { return 8 * rows * problem.channels * problem.states; }

  state::Arguments arguments(const Call& call) const {
    state::Arguments given{};
    given.layout = layout;
    given.u = at(call, u), given.y = at(call, y);
    given.x_initial = static_cast<const float*>(at(call, x_initial));
    given.x_final = static_cast<float*>(at(call, x_final));
    given.prepared = static_cast<std::uint32_t*>(call.prepared);
    given.part_length = parts.length, given.parts = static_cast<int>(parts.count);
    given.ends = given.parts - (given.x_final ? 0 : 1);
    given.ends_begin = has_wide_ends() ? layout.pass_begin : 0, given.channel_words = channel_words();
    given.length = static_cast<int>(problem.length), given.batch = static_cast<int>(call.batch);
    given.channels = static_cast<int>(problem.channels), given.states = problem.states;
    given.aligned = problem.length % 8 == 0 && are_aligned({given.u, given.y});
    return given;
  }

  Launch launch(const Choice& choice, const state::Arguments& asked, std::int64_t blocks, int shared_bytes,
                const Machine& machine) const {
    state::Arguments given = asked;
    given.in_bulk =
        choice.layout().key.group && given.aligned && has_maps(machine.device(), problem.length * problem.channels);
    if (given.in_bulk) {
      const auto length = static_cast<std::uint64_t>(problem.length),
                 rows = static_cast<std::uint64_t>(problem.channels);
      const auto batch = static_cast<std::uint64_t>(given.batch);
      const TensorShape shape = {{length, rows, batch, 1, 1},
                                 {1, length, rows * length, rows * length * batch, rows * length * batch},
                                 {64, 1, static_cast<std::uint32_t>(choice.layout().warp_rows), 1, 1}};
      given.u_map = machine.make_tensor_map(shape, given.u);
      if (given.y) given.y_map = machine.make_tensor_map(shape, given.y);
    }
    Launch launch = make_launch(machine, description, id_of(choice), given.in_bulk ? Path::tensor : Path::threads,
                                blocks, choice.layout().threads, shared_bytes);
    const bool prepares = choice.layout().key.work == state::Work::prepare;
    launch.touches({"prepared", given.prepared, prepared_bytes(), prepares, false});
    const auto touch = [&](const char* name, const void* data, std::int64_t bytes, bool written) {
      if (data) launch.touches({name, data, bytes, written, false});
    };
    const std::int64_t samples = 2 * given.batch * problem.channels * problem.length;
    touch("u", given.u, samples, false), touch("y", given.y, samples, true);
    touch("a", given.a, state_bytes(1), false), touch("b", given.b, state_bytes(1), false);
    touch("c", given.c, state_bytes(1), false);
    // Of one part the caller's, else the workspace.
    if (given.x_initial != given.x_parts) touch("x_initial", given.x_initial, state_bytes(given.batch), false);
    touch("x_final", given.x_final, state_bytes(given.batch), true);
    touch("x_parts", given.x_parts, state_bytes(given.batch * parts.count), true);
    launch.give(given);
    return launch;
  }
};

class Preparation final : public Step {
 public:
  explicit Preparation(const Plans& plans) : plans_(plans) {}

  std::string_view name() const override { return "matrices"; }
  void fit(const Machine& machine) override {
    machine.concurrent_blocks(id_of(plans_.prepare), Path::threads, plans_.prepare.layout().threads,
                              machine.device().block_bytes);
  }
  bool reads_filters_on_host() const override { return !plans_.problem.unstable; }
  void check_filters(const Call& call, const Machine& machine) const override {
    std::vector<float> poles(2 * plans_.problem.channels * plans_.problem.states);
    machine.copy_to_host(poles.data(), at(call, plans_.a), 4 * std::ssize(poles));
    check_poles(plans_.problem, poles);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    state::Arguments given = plans_.arguments(call);
    given.a = static_cast<const float*>(at(call, plans_.a)), given.b = static_cast<const float*>(at(call, plans_.b));
    given.c = static_cast<const float*>(at(call, plans_.c));
    to(plans_.launch(plans_.prepare, given, plans_.problem.channels, plans_.layout.prepare_bytes, machine));
  }

 private:
  Plans plans_;
};

class StateChunks final : public Step {
 public:
  explicit StateChunks(const Plans& plans)
      : plans_(plans), variant_(variant_of(plans.convolve, plans.layout.shared_bytes)) {}

  const Variant& variant() const { return variant_; }

  std::string_view name() const override { return "chunks"; }
  void fit(const Machine& machine) override {
    for (const Choice& choice : {plans_.convolve, plans_.ends, plans_.carry})
      for (Path path : {Path::threads, Path::tensor})
        if (choice.layout().key.has_path(path))
          machine.concurrent_blocks(id_of(choice), path, choice.layout().threads, shared_bytes(choice));
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return plans_.parts.count > 1 ? plans_.state_bytes(batch * plans_.parts.count) : 0;
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const state::Arguments asked = plans_.arguments(call);
    const auto blocks_of = [&](const Choice& choice, std::int64_t parts) {
      return plans_.problem.channels * state::blocks_of_channel(choice.layout(), call.batch, parts);
    };
    state::Arguments given = asked;
    if (plans_.parts.count > 1) {
      auto* const parts = static_cast<float*>(call.workspace);
      given.y = nullptr, given.x_initial = nullptr, given.x_final = nullptr, given.x_parts = parts;
      to(plans_.launch(plans_.ends, given, blocks_of(plans_.ends, given.ends), shared_bytes(plans_.ends), machine));
      given.u = nullptr, given.x_initial = asked.x_initial, given.x_final = asked.x_final;
      const std::int64_t states = call.batch * plans_.problem.channels * plans_.problem.states;
      const std::int64_t threads = plans_.carry.layout().threads;
      to(plans_.launch(plans_.carry, given, std::min<std::int64_t>(ratio_up(states, threads), 1 << 20), 0, machine));
      given = asked;
      given.x_initial = given.x_parts = parts, given.x_final = nullptr;
    }
    to(plans_.launch(plans_.convolve, given, blocks_of(plans_.convolve, plans_.parts.count),
                     shared_bytes(plans_.convolve), machine));
  }

 private:
  static int shared_bytes(const Choice& choice) {
    const state::Layout layout = choice.layout();
    return layout.is_product ? layout.shared_bytes : 0;
  }

  Plans plans_;
  OtherVariant variant_;
};

class FewSamples final : public Step {
 public:
  explicit FewSamples(const Plans& plans) : plans_(plans), variant_(variant_of(plans.step, 0)) {}

  const Variant& variant() const { return variant_; }

  std::string_view name() const override { return "recurrence"; }
  void fit(const Machine& machine) override {
    machine.concurrent_blocks(id_of(plans_.step), Path::threads, plans_.step.layout().threads, 0);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t>,
            const LaunchTo& to) const override {
    const std::int64_t rows = call.batch * plans_.problem.channels, warps = plans_.step.layout().tuning.warps;
    to(plans_.launch(plans_.step, plans_.arguments(call), ratio_up(rows, warps), 0, machine));
  }

 private:
  Plans plans_;
  OtherVariant variant_;
};

}  // namespace

int ends_chunk(const StateSpace& p, const Device& device) {
  const StateParts parts = state_parts(p, device);
  return parts.count > 1 ? choose_ends(p, device, parts).layout().tuning.chunk : 1;
}

// The number of parts that takes least, in samples of a row times rounds of blocks: of the convolution, of the ends,
// and what the states that pass through memory take.
StateParts state_parts(const StateSpace& p, const Device& device) {
  if (is_step(p)) return {1, p.length};
  const state::Layout layout = state::choose(p, device, state::Work::convolve).layout();
  const auto slots_of = [&](const state::Layout& of) {
    return std::int64_t{device.multiprocessors} * of.tuning.blocks;
  };
  const auto rounds = [&](const state::Layout& of, std::int64_t parts) {
    const std::int64_t slots = slots_of(of), blocks = p.channels * state::blocks_of_channel(of, p.batch, parts);
    const std::int64_t rest = blocks % slots;
    return static_cast<double>(blocks / slots) + (rest == 0 ? 0 : 2 * rest <= slots ? state::kHalfRound : 1);
  };
  const std::int64_t slots = slots_of(layout);
  const double states_of_part =
      state::kStates * static_cast<double>(p.batch * p.channels * p.states) / static_cast<double>(slots);
  const auto cost = [&](const StateParts& parts) {
    const auto samples = static_cast<double>(parts.length), count = static_cast<double>(parts.count);
    const double convolve = rounds(layout, parts.count) * (samples + state::kBlock);
    if (parts.count == 1) return convolve;
    const state::Layout of_ends = choose_ends(p, device, parts).layout();
    const double rows = 1. * of_ends.block_rows * of_ends.tuning.blocks / (layout.block_rows * layout.tuning.blocks);
    const double ends = rounds(of_ends, parts.count - 1) * (state::kEnds * rows * samples + state::kBlock);
    return convolve + ends + state::kCut + count * (state::kCarry + states_of_part);
  };
  const std::int64_t rows_at_once = std::max(slots / p.channels, std::int64_t{1}) * layout.block_rows;
  const std::int64_t most = std::min(p.length / layout.pass, state::kMostRounds * rows_at_once / p.batch);
  StateParts best{1, p.length};
  double best_cost = cost(best);
  std::int64_t last = p.length;
  for (std::int64_t wanted = 2; wanted <= most; ++wanted) {
    const std::int64_t length = ratio_up(ratio_up(p.length, layout.pass), wanted) * layout.pass;
    if (length == std::exchange(last, length)) continue;  // the same parts, as of most of many
    const StateParts parts{ratio_up(p.length, length), length};
    if (const double its = cost(parts); its < best_cost) best = parts, best_cost = its;
  }
  return best;
}

Program make_state_program(const Case& asked, const Device& device) {
  const StateSpace& p = *asked.as<StateSpace>();
  const Plans plans(asked, device);
  check(p, plans.layout, device);
  Program program;
  program.prepared_bytes = plans.prepared_bytes();
  StateSpace of_matrices = p;
  of_matrices.batch = 1;
  program.layout = text(plans.convolve.name(), '/', token(of_matrices), "/part", plans.parts.length,
                        plans.has_wide_ends() ? "/ends" : "");
  program.prepare.push_back(std::make_unique<Preparation>(plans));
  const auto execute = [&](auto step) {
    program.variant = &step->variant();
    program.execute.push_back(std::move(step));
  };
  is_step(p) ? execute(std::make_unique<FewSamples>(plans)) : execute(std::make_unique<StateChunks>(plans));
  return program;
}

}  // namespace danaus

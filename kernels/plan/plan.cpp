#include "kernels/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/workspaces.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

std::int64_t constant_bytes_of(const Program& program) {
  std::int64_t bytes = 0;
  for (const auto* steps : {&program.prepare, &program.execute})
    for (const auto& step : *steps) bytes += 4 * std::ssize(step->constants());
  return bytes;
}

// `own` is memory that a caller gives beside the arrays, which kernels read 16 bytes at a time.
void check_own(const char* operation, std::span<const Buffer> buffers, const Buffer& own) {
  check_range(operation, own);
  if (reinterpret_cast<std::uintptr_t>(own.data) % 16 != 0)
    fail(operation, ": ", own.name, " is at ", own.data, ", must be aligned to 16 bytes; to 256 it is read fastest");
  for (const Buffer& buffer : buffers)
    if (overlap(buffer, own)) fail(operation, ": ", buffer.name, " overlaps ", own.name);
}

// The extents of an array as a message has them: B*H*L = 2*3*100.
std::string product_of(const Array& array, std::int64_t batch) {
  std::string factors;
  for (std::size_t i = 0; i < array.extents.size(); ++i)
    factors += text(i > 0 ? "*" : "", i == 0 && array.batched ? batch : array.extents[i]);
  return text(array.shape, " = ", factors);
}

}  // namespace

void check_range(const char* operation, const Buffer& buffer) {
  if (reinterpret_cast<std::uintptr_t>(buffer.data) > std::numeric_limits<std::uintptr_t>::max() - buffer.bytes)
    fail(operation, ": ", buffer.name, " is at ", buffer.data, ", where no memory has ", buffer.bytes, " bytes");
}

bool overlap(const Buffer& a, const Buffer& b) {
  const auto begin = reinterpret_cast<std::uintptr_t>(a.data), other = reinterpret_cast<std::uintptr_t>(b.data);
  return a.bytes > 0 && b.bytes > 0 && begin < other + b.bytes && other < begin + a.bytes;
}

namespace {

// Whether rows of two arrays of the same strides share a sample, the second of which begins so many samples later;
// `apart` 0: different rows of one array.
bool share_samples(std::int64_t apart, const RowStrides& strides, std::int64_t batch, std::int64_t channels,
                   std::int64_t length) {
  for (std::int64_t row = 1 - batch; row < batch; ++row) {
    const std::int64_t from = apart + row * strides.row,
                       nearest = std::clamp<std::int64_t>(-from / strides.channel, 1 - channels, channels - 1);
    for (std::int64_t channel = nearest - 1; channel <= nearest + 1; ++channel) {
      const bool is_itself = apart == 0 && row == 0 && channel == 0;
      if (!is_itself && std::abs(channel) < channels && std::abs(from + channel * strides.channel) < length)
        return true;
    }
  }
  return false;
}

// Throws unless rows [B, H, L] of the array may have the buffer's strides.
void check_strides(const char* operation, const Buffer& buffer, const Array& array, std::int64_t batch) {
  const std::int64_t channels = array.extents[1], length = array.extents[2];
  const RowStrides& s = buffer.strides;
  if (s.row <= 0 || s.channel <= 0)
    fail(operation, ": ", array.name, " has strides of ", s.row, " and ", s.channel, " samples, must be at least 1");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (s.row > kMost || s.channel > kMost)
    fail(operation, ": ", array.name, " has strides of ", s.row, " and ", s.channel, " samples, must be at most 2^40");
  if (static_cast<double>(batch) * static_cast<double>(s.row) +
          static_cast<double>(channels) * static_cast<double>(s.channel) >
      0x1p60)
    fail(operation, ": ", array.name, " has ", batch, " x ", channels, " rows with strides of ", s.row, " and ",
         s.channel, " samples, must reach over at most 2^60");
  if (array.role == Role::output && share_samples(0, s, batch, channels, length))
    fail(operation, ": rows of ", array.name, " share samples, with strides of ", s.row, " and ", s.channel,
         " for rows of ", length);
  if (const std::int64_t reach = reach_of(s, batch, channels, length); static_cast<std::int64_t>(buffer.bytes) < reach)
    fail(operation, ": ", array.name, " has ", buffer.bytes, " bytes, its rows reach over ", reach);
}

// Whether two arrays of a call share a sample, one of them an output. Of rows with other strides each, that is not
// looked at: what they reach over must be apart.
bool share_samples(const Buffer& output, const Buffer& other, const Array& array, std::int64_t batch) {
  if (!overlap(output, other)) return false;
  const std::ptrdiff_t apart = static_cast<const std::byte*>(other.data) - static_cast<const std::byte*>(output.data);
  if (output.strides == RowStrides{} || output.strides != other.strides || apart == 0 || apart % 2 != 0) return true;
  return share_samples(apart / 2, output.strides, batch, array.extents[1], array.extents[2]);
}

}  // namespace

struct Plan::State {
  struct Constants {
    std::shared_ptr<void> memory;
    std::size_t count;  // words
  };

  State(Case asked_case, std::shared_ptr<const Machine> on, std::span<const std::uint8_t> kept)
      : asked(std::move(asked_case)),
        arrays(asked.arrays()),
        takes_strides(convolution_of(asked)),
        machine(std::move(on)) {
    if (!machine) fail("plan: there is no machine");
    program = make_program(asked, machine->device(), kept);
    if (const Variant& v = *program.variant; !v.compiled)
      throw KernelNotBuilt(text("plan: this build has not the kernel ", v.name,
                                "; configure it with DANAUS_ALL=ON, or with DANAUS_VARIANT=", v.family, ':', v.line,
                                " for this one alone"));
    for (const auto* steps : {&program.prepare, &program.execute})
      for (const auto& step : *steps) {
        step->fit(*machine);
        const std::vector<std::uint32_t> words = step->constants();
        constants.push_back({machine->upload(words.data(), 4 * std::ssize(words)), words.size()});
      }
  }

  using Steps = std::vector<std::unique_ptr<Step>>;

  // The buffers of the arrays of these roles, checked, in the order of the arrays.
  Call call_of(const char* operation, std::span<const Buffer> buffers, std::initializer_list<Role> roles,
               std::int64_t batch) const;
  // That what comes with the call is the machine's, but for filters.
  void check_places(const char* operation, const Call& call, const CallOptions& options) const;
  // Filters that have to be looked at on the host. Before any work.
  void check_filters(const char* operation, const Call& call, const CallOptions& options) const;
  // In memory of the machine: what had to be copied there.
  using Copies = std::vector<std::shared_ptr<void>>;
  Copies bring_filters(const char* operation, Call& call, const CallOptions& options) const;
  // Of the plan's own filter, where the call writes that.
  std::unique_lock<std::shared_mutex> alone(const CallOptions& options) const {
    return options.prepared ? std::unique_lock<std::shared_mutex>() : std::unique_lock(own_filter);
  }
  // The memory that prepare() writes.
  void* prepared_for(const char* operation, const CallOptions& options, bool copied);
  void run_prepare(const Call& call, const CallOptions& options, const Copies& copies);
  void run_execute(const Call& call, Stream stream) const {
    launch(program.execute, program.prepare.size(), call, stream);
  }
  void launch(const Steps& steps, std::size_t first_constants, const Call& call, Stream stream) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Constants& words = constants[first_constants + i];
      const std::span on_machine(static_cast<const std::uint32_t*>(words.memory.get()), words.count);
      steps[i]->bind(call, *machine, on_machine, [&](const Launch& launch) { machine->launch(launch, stream); });
    }
  }
  std::int64_t batch_of(const char* operation, std::int64_t asked_batch) const;
  static bool is_rows(const Array& array) { return array.shape == "B*H*L"; }
  // Of all steps of these lists; null where they need none.
  using Lists = std::initializer_list<const Steps*>;
  static std::int64_t workspace_bytes(Lists lists, std::int64_t batch) {
    std::int64_t most = 0;
    for (const Steps* steps : lists) most = std::max(most, danaus::workspace_bytes(*steps, batch));
    return most;
  }
  // The caller's, where the call has one; of the plan's own a lease, for as long as launches are made.
  Workspaces::Lease workspace_for(const char* operation, std::span<const Buffer> buffers, const CallOptions& options,
                                  Lists lists, Call& call, std::int64_t batch) const;
  OutOfMemory without_workspace(const char* operation, Lists lists, std::int64_t batch, const OutOfMemory& why) const;
  // The caller's own, as far as it is used.
  Buffer prepared_of(const CallOptions& options) const {
    return {"prepared", options.prepared, static_cast<std::size_t>(program.prepared_bytes)};
  }
  void check_prepared(const char* operation, std::span<const Buffer> buffers, const CallOptions& options) const;

  Case asked;
  std::vector<Array> arrays;
  bool takes_strides;  // rows of all steps may have some
  std::shared_ptr<const Machine> machine;
  Program program;
  std::vector<Constants> constants;  // of the steps of prepare, then of execute
  // Whoever reads the plan's own filter while launches are made has it shared, who writes it has it alone.
  mutable std::shared_mutex own_filter;
  std::shared_ptr<void> prepared;  // the plan's own, once it has some
  bool has_filter = false;         // in there
  mutable Workspaces workspaces;
};

// Nothing is allocated here: it is of every call's time on the host.
Call Plan::State::call_of(const char* operation, std::span<const Buffer> buffers, std::initializer_list<Role> roles,
                          std::int64_t batch) const {
  Call call;
  call.batch = batch;
  const auto is_wanted = [&](const Array& array) { return std::ranges::find(roles, array.role) != roles.end(); };
  std::array<const Buffer*, std::tuple_size_v<decltype(call.arrays)>> given{};  // by the number of the array
  for (const Buffer& buffer : buffers) {
    const auto array =
        std::ranges::find_if(arrays, [&](const Array& a) { return a.name == buffer.name && is_wanted(a); });
    if (array == arrays.end()) fail(operation, ": a ", buffer.name, " is given, but the plan has none");
    const Buffer*& place = given.at(static_cast<std::size_t>(array - arrays.begin()));
    if (place) fail(operation, ": a ", buffer.name, " is given twice");
    place = &buffer;
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    if (!is_wanted(array)) continue;
    const Buffer* buffer = given[i];
    if (!buffer) fail(operation, ": the plan has a ", array.name, ", but none is given");
    if (!buffer->data) fail(operation, ": ", array.name, " is null");
    const std::int64_t size = bytes(array.dtype);
    const std::int64_t samples = array.batched ? array.size() / array.extents.front() * batch : array.size();
    const bool is_strided = buffer->strides != RowStrides{};
    if (is_strided && !takes_strides)
      fail(operation, ": ", array.name, " has strides, which ", asked.token(), " does not take");
    if (is_strided && !is_rows(array))
      fail(operation, ": ", array.name, " [", array.shape, "] has strides, must be contiguous");
    if (is_strided)
      check_strides(operation, *buffer, array, batch);
    else if (buffer->bytes != static_cast<std::size_t>(size * samples))
      fail(operation, ": ", array.name, " has ", buffer->bytes / static_cast<std::size_t>(size), " samples of ",
           name(array.dtype), ", the plan needs ", product_of(array, batch));
    const std::int64_t of_number = size * array.parts();
    if (reinterpret_cast<std::uintptr_t>(buffer->data) % of_number != 0)
      fail(operation, ": ", array.name, " is not aligned to the ", of_number, " bytes of its numbers");
    check_range(operation, *buffer);
    call.arrays[i] = const_cast<void*>(buffer->data), call.strides[i] = buffer->strides;
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!given[i] || arrays[i].role != Role::output) continue;
    for (std::size_t other = 0; other < arrays.size(); ++other)
      if (given[other] && other != i && share_samples(*given[i], *given[other], arrays[i], batch))
        fail(operation, ": ", arrays[i].name, " overlaps ", arrays[other].name);
  }
  return call;
}

void Plan::State::check_places(const char* operation, const Call& call, const CallOptions& options) const {
  if (options.vouched) return;
  machine->check_stream(operation, options.stream);
  if (options.prepared) machine->check_memory(operation, "prepared", options.prepared);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (call.arrays[i] && arrays[i].role != Role::filter)
      machine->check_memory(operation, arrays[i].name.data(), call.arrays[i]);
}

Plan::State::Copies Plan::State::bring_filters(const char* operation, Call& call, const CallOptions& options) const {
  Copies copies;
  if (options.vouched) return copies;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    if (array.role != Role::filter || !machine->is_host_memory(operation, array.name.data(), call.arrays[i])) continue;
    if (machine->is_capturing(options.stream))
      fail(operation, ": ", array.name, " is in host memory, which is copied at once; while the stream is captured ",
           "give memory of the device");
    copies.push_back(machine->upload(call.arrays[i], bytes(array.dtype) * array.size()));
    call.arrays[i] = copies.back().get();
  }
  return copies;
}

void Plan::State::check_filters(const char* operation, const Call& call, const CallOptions& options) const {
  for (const auto& step : program.prepare) {
    if (!step->reads_filters_on_host()) continue;
    if (machine->is_capturing(options.stream))
      fail(operation, ": ", asked.token(),
           " reads its filters back to check them, which a captured stream cannot wait ",
           "for; prepare before the capture, or say _unstable");
    step->check_filters(call, *machine);
  }
}

void* Plan::State::prepared_for(const char* operation, const CallOptions& options, bool copied) {
  if (options.prepared) return options.prepared;
  if (!prepared) {
    if (machine->is_capturing(options.stream))
      fail(operation, ": the stream is being captured, where nothing can be allocated; set a filter before");
    prepared = machine->allocate(program.prepared_bytes);
  } else if (copied) {
    machine->synchronize();  // earlier calls on other streams may still read it
  }
  return prepared.get();
}

void Plan::State::run_prepare(const Call& call, const CallOptions& options, const Copies& copies) {
  if (program.prepared_is_filter)
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i].role == Role::filter)
        machine->copy(call.prepared, call.arrays[i], program.prepared_bytes, options.stream);
  launch(program.prepare, 0, call, options.stream);
  if (!copies.empty()) machine->synchronize(options.stream);
  if (!options.prepared) has_filter = true;
}

std::int64_t Plan::State::batch_of(const char* operation, std::int64_t asked_batch) const {
  const std::int64_t batch = danaus::batch_of(arrays);
  if (std::ranges::none_of(arrays, &Array::batched) && asked_batch != 0 && asked_batch != batch)
    fail(operation, ": batch=", asked_batch, ", must be the ", batch, " of the plan's case, whose ",
         arrays.front().name, " is ", arrays.front().shape, "; a smaller batch needs a plan of its own");
  if (asked_batch < 0 || asked_batch > batch)
    fail(operation, ": batch=", asked_batch, ", must be from 1 to the ", batch, " of the plan's case");
  return asked_batch > 0 ? asked_batch : batch;
}

void Plan::State::check_prepared(const char* operation, std::span<const Buffer> buffers,
                                 const CallOptions& options) const {
  if (!options.prepared) return;
  if (!options.prepared_for.empty() && options.prepared_for != program.layout)
    fail(operation, ": prepared has the layout ", options.prepared_for, ", the plan's is ", program.layout);
  if (options.prepared_bytes < static_cast<std::size_t>(program.prepared_bytes))
    fail(operation, ": prepared has ", options.prepared_bytes, " bytes, the plan needs ", program.prepared_bytes);
  check_own(operation, buffers, prepared_of(options));
}

Workspaces::Lease Plan::State::workspace_for(const char* operation, std::span<const Buffer> buffers,
                                             const CallOptions& options, Lists lists, Call& call,
                                             std::int64_t batch) const {
  const std::int64_t needed = workspace_bytes(lists, batch);
  if (needed == 0) return {};
  if (options.workspace) {
    if (options.workspace_bytes < static_cast<std::size_t>(needed))
      fail(operation, ": the workspace has ", options.workspace_bytes, " bytes, the call needs ", needed);
    const Buffer own("the workspace", options.workspace, static_cast<std::size_t>(needed));
    if (overlap(own, prepared_of(options))) fail(operation, ": prepared overlaps the workspace");
    check_own(operation, buffers, own);
    if (!options.vouched) machine->check_memory(operation, "workspace", options.workspace);
    call.workspace = options.workspace;
    return {};
  }
  Workspaces::Lease lease = workspaces.take(operation, needed, *machine, options.stream, [&](const OutOfMemory& why) {
    return without_workspace(operation, lists, batch, why);
  });
  call.workspace = lease.data();
  return lease;
}

OutOfMemory Plan::State::without_workspace(const char* operation, Lists lists, std::int64_t batch,
                                           const OutOfMemory& why) const {
  std::int64_t fits = 0, beyond = batch;
  while (beyond - fits > 1) {
    const std::int64_t some = fits + (beyond - fits) / 2;
    try {
      machine->allocate(workspace_bytes(lists, some));
      fits = some;
    } catch (const OutOfMemory&) {
      beyond = some;
    }
  }
  return OutOfMemory(text(operation, ": the workspace does not fit, ", why.what(),
                          fits > 0 ? text("; the largest batch that fits is ", fits) : ""));
}

Plan::Plan(Case asked, std::shared_ptr<const Machine> machine, std::span<const std::uint8_t> kept)
    : state_(std::make_unique<State>(std::move(asked), std::move(machine), kept)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

const Case& Plan::asked() const { return state_->asked; }
const Machine& Plan::machine() const { return *state_->machine; }
const Variant& Plan::variant() const { return *state_->program.variant; }
const std::string& Plan::layout() const { return state_->program.layout; }
std::int64_t Plan::prepared_bytes() const { return state_->program.prepared_bytes; }
std::int64_t Plan::workspace_bytes(std::int64_t batch) const {
  return State::workspace_bytes({&state_->program.prepare, &state_->program.execute},
                                state_->batch_of("plan_bytes", batch));
}
std::int64_t Plan::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& words : state_->constants) bytes += 4 * static_cast<std::int64_t>(words.count);
  return bytes;
}

void Plan::prepare(std::span<const Buffer> filters, const CallOptions& options) {
  constexpr const char* kOperation = "prepare";
  State& s = *state_;
  Call call = s.call_of(kOperation, filters, {Role::filter}, s.batch_of(kOperation, options.batch));
  s.check_prepared(kOperation, filters, options);
  s.check_places(kOperation, call, options);
  const State::Copies copies = s.bring_filters(kOperation, call, options);
  s.check_filters(kOperation, call, options);
  const std::unique_lock alone = s.alone(options);
  call.prepared = s.prepared_for(kOperation, options, !copies.empty());
  const auto lease = s.workspace_for(kOperation, filters, options, {&s.program.prepare}, call, 1);
  s.run_prepare(call, options, copies);
}

void Plan::execute(std::span<const Buffer> arrays, const CallOptions& options) const {
  constexpr const char* kOperation = "execute";
  const State& s = *state_;
  std::shared_lock<std::shared_mutex> shared;
  if (!options.prepared) shared = std::shared_lock(s.own_filter);
  if (!options.prepared && !s.has_filter) fail(kOperation, ": the plan has no filter yet; call prepare first");
  const std::int64_t batch = s.batch_of(kOperation, options.batch);
  Call call = s.call_of(kOperation, arrays, {Role::input, Role::output}, batch);
  s.check_prepared(kOperation, arrays, options);
  s.check_places(kOperation, call, options);
  call.prepared = options.prepared ? options.prepared : s.prepared.get();
  const auto lease = s.workspace_for(kOperation, arrays, options, {&s.program.execute}, call, batch);
  s.run_execute(call, options.stream);
}

void Plan::whole_call(std::span<const Buffer> arrays, const CallOptions& options) {
  constexpr const char* kOperation = "whole_call";
  State& s = *state_;
  const std::int64_t batch = s.batch_of(kOperation, options.batch);
  Call call = s.call_of(kOperation, arrays, {Role::input, Role::filter, Role::output}, batch);
  s.check_prepared(kOperation, arrays, options);
  s.check_places(kOperation, call, options);
  const State::Copies copies = s.bring_filters(kOperation, call, options);
  s.check_filters(kOperation, call, options);
  const std::unique_lock alone = s.alone(options);
  call.prepared = s.prepared_for(kOperation, options, !copies.empty());
  const auto lease =
      s.workspace_for(kOperation, arrays, options, {&s.program.prepare, &s.program.execute}, call, batch);
  s.run_prepare(call, options, copies);
  s.run_execute(call, options.stream);
}

void Plan::set_filter(std::span<const float> k, const CallOptions& options) { set_filter(std::as_bytes(k), options); }

void Plan::set_filter(std::span<const std::byte> k, const CallOptions& options) {
  const Buffer buffer("k", k);
  prepare(std::span(&buffer, 1), options);
}

PlanBytes plan_bytes(const Case& asked, const Device& device) {
  const Program program = make_program(asked, device, marks_of(asked));
  return {program.prepared_bytes, constant_bytes_of(program)};
}

Convolution planned(const Convolution& problem, const Variant& variant) {
  Convolution by = problem;
  if (variant.size > 0) by.fold = variant.fold, by.fft_size = variant.size, by.factors = variant.factors;
  return by;
}

std::string Plan::description() const {
  const Variant& v = variant();
  const std::string transform = v.size > 0 ? text("N=", v.size, " = ", join(v.factors, " x ")) : "no FFT";
  const std::string& live = state_->program.live_words;
  return text(v.name, ": ", transform, ", ", v.threads, " threads and ", v.shared_bytes,
              " bytes of shared memory a block, ", live, live.empty() ? "" : ", ", "on ", machine().device().name);
}

}  // namespace danaus

#include "kernels/danaus.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "kernels/cuda/machine.hpp"
#include "kernels/plan/selftest.hpp"

using namespace danaus;

namespace {

thread_local std::string last_error;

static_assert(DANAUS_MAX_RANK == kMaxRank);

CallOptions options_of(const char* operation, const danaus_call* given) {
  if (!given) return {};
  const danaus_call call = read_struct(operation, "call", given);
  CallOptions options;
  options.stream = static_cast<Stream>(call.stream), options.batch = call.batch;
  options.prepared = call.prepared, options.prepared_bytes = call.prepared_bytes;
  if (call.prepared_for) options.prepared_for = call.prepared_for;
  options.workspace = call.workspace, options.workspace_bytes = call.workspace_bytes;
  options.vouched = call.vouched != 0;
  return options;
}

// The call's arrays with the strides that it gives them.
std::vector<Buffer> buffers_of(const char* operation, const danaus_array* arrays, std::size_t count,
                               const danaus_call* given) {
  std::vector<Buffer> buffers = danaus::buffers_of(operation, arrays, count);
  if (!given) return buffers;
  const danaus_call call = read_struct(operation, "call", given);
  if (call.stride_count > kMaxArrays)
    fail(operation, ": ", call.stride_count, " strides, a case has at most ", kMaxArrays, " arrays");
  if (call.stride_count > 0) require(operation, "strides", call.strides);
  for (const danaus_strides& strides : std::span(call.strides, call.stride_count)) {
    require(operation, "a stride's name", strides.name);
    const auto buffer = std::ranges::find(buffers, std::string_view(strides.name), &Buffer::name);
    if (buffer == buffers.end()) continue;
    if (buffer->strides != RowStrides{}) fail(operation, ": ", buffer->name, " has strides twice");
    buffer->strides = {strides.row, strides.channel};
    if (buffer->strides == RowStrides{})
      fail(operation, ": ", buffer->name, " has strides of 0 and 0 samples, must be at least 1");
  }
  return buffers;
}

// As the machines count.
std::int64_t count_of(const char* operation, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 62;
  if (bytes > kMost) fail(operation, ": bytes=", bytes, ", must be at most 2^62");
  return static_cast<std::int64_t>(bytes);
}

// Memory that danaus_allocate() made and nobody has freed. Like plans it is never destroyed itself: an interpreter
// frees what it has left after everything else, when the driver may be gone.
std::mutex allocations_guard;
std::map<void*, std::shared_ptr<void>>& allocations() {
  static auto* const made = new std::map<void*, std::shared_ptr<void>>;
  return *made;
}

}  // namespace

namespace danaus {

Handles<danaus_plan, OpenPlan>& plans() {
  static auto* const open = new Handles<danaus_plan, OpenPlan>;
  return *open;
}

std::shared_ptr<OpenPlan> plan_of(const char* operation, const danaus_plan* plan) {
  require(operation, "plan", plan);
  std::shared_ptr<OpenPlan> open = plans().find(plan);
  if (!open) fail(operation, ": plan ", static_cast<const void*>(plan), " is none, or has been destroyed");
  return open;
}

danaus_status failed(danaus_status status, const char* what) noexcept {
  try {
    last_error = what;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

void check_size(const char* operation, const char* what, std::size_t size, std::size_t known) {
  constexpr std::size_t kLeast = 16, kMost = 4096;  // of any version; a struct without a size begins with a pointer
  if (size < kLeast || size > kMost || size % sizeof(void*) != 0)
    fail(operation, ": size=", size, " of ", what, ", must be its sizeof, ", known, " in version ", DANAUS_VERSION);
}

std::vector<Buffer> buffers_of(const char* operation, const danaus_array* arrays, std::size_t count) {
  if (count > kMaxArrays) fail(operation, ": ", count, " arrays, a case has at most ", kMaxArrays);
  if (count > 0) require(operation, "arrays", arrays);
  std::vector<Buffer> buffers;
  buffers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    require(operation, "an array's name", arrays[i].name);
    buffers.emplace_back(arrays[i].name, arrays[i].data, arrays[i].bytes);
  }
  return buffers;
}

danaus_selftest_report selftest_report(const std::shared_ptr<const Machine>& machine, unsigned threads) {
  danaus_selftest_report report{};
  const std::vector<DigestedCase> cases = read_digests("the committed table", committed_digests());
  for (const SelftestResult& result : selftest(cases, machine, threads)) {
    ++report.cases;
    ++(result.same() ? report.same : result.absent.empty() ? report.differing : report.absent);
    if (result.same() || !result.absent.empty() || report.differing > 1) continue;
    result.of->token.copy(report.first, sizeof report.first - 1);
  }
  return report;
}

}  // namespace danaus

const char* danaus_version() { return DANAUS_VERSION; }
const char* danaus_last_error() { return last_error.c_str(); }
int danaus_device_count() { return cuda_device_count(); }

danaus_status danaus_plan_create(const char* token, int device, const uint8_t* kept, size_t kept_count,
                                 danaus_plan** plan) {
  return guarded([&] {
    require("plan", "token", token);
    require("plan", "plan", plan);
    if (kept_count > 0) require("plan", "kept", kept);
    *plan = nullptr;
    const Case asked = parse_case(token);
    *plan = plans().add(std::make_shared<OpenPlan>(Plan(asked, cuda_machine(device), std::span(kept, kept_count))));
  });
}

void danaus_plan_destroy(danaus_plan* plan) { plans().remove(plan); }

const char* danaus_plan_description(const danaus_plan* plan) {
  const auto open = plans().find(plan);
  return open ? open->description.c_str() : "";
}

const char* danaus_plan_kernel(const danaus_plan* plan) {
  const auto open = plans().find(plan);
  return open ? open->plan.variant().name.c_str() : "";
}

const char* danaus_plan_layout(const danaus_plan* plan) {
  const auto open = plans().find(plan);
  return open ? open->plan.layout().c_str() : "";
}

danaus_status danaus_plan_bytes(const danaus_plan* plan, int64_t batch, danaus_bytes* bytes) {
  return guarded([&] {
    const auto open = plan_of("plan_bytes", plan);
    require("plan_bytes", "bytes", bytes);
    const Plan& of = open->plan;
    write_struct("plan_bytes", "bytes", {0, of.prepared_bytes(), of.workspace_bytes(batch), of.constant_bytes()},
                 bytes);
  });
}

danaus_status danaus_selftest(int device, danaus_selftest_report* report) {
  return guarded([&] {
    require("selftest", "report", report);
    check_size("selftest", "report", report->size, sizeof *report);
    write_struct("selftest", "report", selftest_report(cuda_machine(device), 1), report);
  });
}

danaus_status danaus_case_array(const char* token, int index, danaus_array_info* info) {
  return guarded([&] {
    require("case_array", "token", token);
    require("case_array", "info", info);
    const std::vector<Array> arrays = parse_case(token).arrays();
    if (index < 0 || index >= std::ssize(arrays))
      fail("case_array: index=", index, ", ", token, " has ", arrays.size(), " arrays");
    const Array& array = arrays[static_cast<size_t>(index)];
    danaus_array_info of{};
    of.name = array.name.data(), of.dtype = name(array.dtype).data();
    of.role = static_cast<danaus_role>(array.role), of.batched = array.batched;
    of.rank = static_cast<int>(array.extents.size());
    std::ranges::copy(array.extents, of.extents);
    write_struct("case_array", "info", of, info);
  });
}

danaus_status danaus_prepare(danaus_plan* plan, const danaus_array* filters, size_t count, const danaus_call* call) {
  return guarded([&] {
    const auto open = plan_of("prepare", plan);
    open->plan.prepare(buffers_of("prepare", filters, count, call), options_of("prepare", call));
  });
}

danaus_status danaus_execute(const danaus_plan* plan, const danaus_array* arrays, size_t count,
                             const danaus_call* call) {
  return guarded([&] {
    const auto open = plan_of("execute", plan);
    open->plan.execute(buffers_of("execute", arrays, count, call), options_of("execute", call));
  });
}

danaus_status danaus_whole_call(danaus_plan* plan, const danaus_array* arrays, size_t count, const danaus_call* call) {
  return guarded([&] {
    const auto open = plan_of("whole_call", plan);
    open->plan.whole_call(buffers_of("whole_call", arrays, count, call), options_of("whole_call", call));
  });
}

danaus_status danaus_allocate(int device, size_t bytes, void** data) {
  return guarded([&] {
    require("allocate", "data", data);
    *data = nullptr;
    const std::int64_t count = count_of("allocate", bytes);
    auto memory = cuda_machine(device)->allocate(count);
    const std::lock_guard lock(allocations_guard);
    *data = memory.get();
    allocations()[*data] = std::move(memory);
  });
}

void danaus_free(void* data) {
  std::map<void*, std::shared_ptr<void>>::node_type freed;  // after the lock
  const std::lock_guard lock(allocations_guard);
  freed = allocations().extract(data);
}

danaus_status danaus_copy_to_device(int device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    require("copy", "to", to);
    require("copy", "from", from);
    const std::int64_t count = count_of("copy", bytes);
    cuda_machine(device)->copy_from_host(to, from, count);
  });
}

danaus_status danaus_copy_to_host(int device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    require("copy", "to", to);
    require("copy", "from", from);
    const std::int64_t count = count_of("copy", bytes);
    cuda_machine(device)->copy_to_host(to, from, count);
  });
}

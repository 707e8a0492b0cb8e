#include "kernels/danaus.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "kernels/cuda/machine.hpp"

using namespace danaus;

namespace {

thread_local std::string last_error;

CallOptions options_of(const danaus_call* call) {
  if (!call) return {};
  CallOptions options;
  options.stream = static_cast<Stream>(call->stream), options.batch = call->batch;
  options.prepared = call->prepared, options.prepared_bytes = call->prepared_bytes;
  if (call->prepared_for) options.prepared_for = call->prepared_for;
  options.workspace = call->workspace, options.workspace_bytes = call->workspace_bytes;
  options.vouched = call->vouched != 0;
  return options;
}

// Memory that danaus_allocate() made and nobody has freed.
std::mutex allocations_guard;
std::map<void*, std::shared_ptr<void>>& allocations() {
  static std::map<void*, std::shared_ptr<void>> made;
  return made;
}

}  // namespace

namespace danaus {

danaus_status failed(danaus_status status, const char* what) noexcept {
  try {
    last_error = what;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

std::vector<Buffer> buffers_of(const char* operation, const danaus_array* arrays, std::size_t count) {
  if (count > 0) require(operation, "arrays", arrays);
  std::vector<Buffer> buffers;
  buffers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    require(operation, "an array's name", arrays[i].name);
    buffers.emplace_back(arrays[i].name, arrays[i].data, arrays[i].bytes);
  }
  return buffers;
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
    *plan = new danaus_plan(Plan(asked, cuda_machine(device), std::span(kept, kept_count)));
  });
}

void danaus_plan_destroy(danaus_plan* plan) { delete plan; }

const char* danaus_plan_description(const danaus_plan* plan) { return plan ? plan->description.c_str() : ""; }

const char* danaus_plan_kernel(const danaus_plan* plan) { return plan ? plan->plan.variant().name.c_str() : ""; }

danaus_status danaus_plan_bytes(const danaus_plan* plan, int64_t batch, danaus_bytes* bytes) {
  return guarded([&] {
    require("plan_bytes", "plan", plan);
    require("plan_bytes", "bytes", bytes);
    if (batch < 0) fail("plan_bytes: batch=", batch, ", must not be negative");
    *bytes = {plan->plan.prepared_bytes(), plan->plan.workspace_bytes(batch), plan->plan.constant_bytes()};
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
    *info = {array.name.data(),
             name(array.dtype).data(),
             static_cast<danaus_role>(array.role),
             array.batched,
             static_cast<int>(array.extents.size()),
             {}};
    for (size_t i = 0; i < array.extents.size(); ++i) info->extents[i] = array.extents[i];
  });
}

danaus_status danaus_prepare(danaus_plan* plan, const danaus_array* filters, size_t count, const danaus_call* call) {
  return guarded([&] {
    require("set_filter", "plan", plan);
    plan->plan.prepare(buffers_of("set_filter", filters, count), options_of(call));
  });
}

danaus_status danaus_execute(const danaus_plan* plan, const danaus_array* arrays, size_t count,
                             const danaus_call* call) {
  return guarded([&] {
    require("execute", "plan", plan);
    plan->plan.execute(buffers_of("execute", arrays, count), options_of(call));
  });
}

danaus_status danaus_whole_call(danaus_plan* plan, const danaus_array* arrays, size_t count, const danaus_call* call) {
  return guarded([&] {
    require("whole_call", "plan", plan);
    plan->plan.whole_call(buffers_of("whole_call", arrays, count), options_of(call));
  });
}

danaus_status danaus_allocate(int device, size_t bytes, void** data) {
  return guarded([&] {
    require("allocate", "data", data);
    *data = nullptr;
    auto memory = cuda_machine(device)->allocate(static_cast<std::int64_t>(bytes));
    const std::lock_guard lock(allocations_guard);
    *data = memory.get();
    allocations()[*data] = std::move(memory);
  });
}

void danaus_free(void* data) {
  const std::lock_guard lock(allocations_guard);
  allocations().erase(data);
}

danaus_status danaus_copy_to_device(int device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    require("copy", "to", to);
    require("copy", "from", from);
    cuda_machine(device)->copy_from_host(to, from, static_cast<std::int64_t>(bytes));
  });
}

danaus_status danaus_copy_to_host(int device, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    require("copy", "to", to);
    require("copy", "from", from);
    cuda_machine(device)->copy_to_host(to, from, static_cast<std::int64_t>(bytes));
  });
}

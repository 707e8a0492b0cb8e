#include "tests/conformance/doors.hpp"

#include <gtest/gtest.h>

#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "python/native/study.h"
#include "reference/convolution/mask.hpp"

namespace danaus::conformance {
namespace {

class CppDoor final : public Door {
 public:
  CppDoor(const Case& asked, std::shared_ptr<const Machine> machine) : plan_(asked, machine, marks_of(asked)) {
    EXPECT_EQ(plan_.asked().token(), asked.token());
    EXPECT_EQ(&plan_.machine(), machine.get());
  }
  void prepare(std::span<const Buffer> filters, const CallOptions& options) override {
    // A convolution's own way in, where k is the one filter.
    if (filters.size() == 1 && filters[0].name == "k")
      plan_.set_filter(std::span(static_cast<const std::byte*>(filters[0].data), filters[0].bytes), options);
    else
      plan_.prepare(filters, options);
  }
  void execute(std::span<const Buffer> arrays, const CallOptions& options) override { plan_.execute(arrays, options); }
  void whole_call(std::span<const Buffer> arrays, const CallOptions& options) override {
    plan_.whole_call(arrays, options);
  }
  Bytes bytes(std::int64_t batch) override {
    return {plan_.prepared_bytes(), plan_.workspace_bytes(batch), plan_.constant_bytes()};
  }
  std::string kernel() override { return plan_.variant().name; }
  std::string layout() override { return plan_.layout(); }
  std::string description() override { return plan_.description(); }

 private:
  Plan plan_;
};

void check(danaus_status status) {
  if (status == DANAUS_BAD_INPUT) throw std::invalid_argument(danaus_last_error());
  if (status != DANAUS_OK) throw std::runtime_error(text("status ", int(status), ": ", danaus_last_error()));
}

class CDoor final : public Door {
 public:
  explicit CDoor(const std::string& token) { check(danaus_plan_create_on_executor(token.c_str(), &plan_)); }
  CDoor(const std::string& token, int device) {
    const std::vector<std::uint8_t> kept = marks_of(parse_case(token));
    check(danaus_plan_create(token.c_str(), device, kept.data(), kept.size(), &plan_));
  }
  ~CDoor() override { danaus_plan_destroy(plan_); }
  void prepare(std::span<const Buffer> filters, const CallOptions& options) override {
    call(&danaus_prepare, filters, options);
  }
  void execute(std::span<const Buffer> arrays, const CallOptions& options) override {
    call(&danaus_execute, arrays, options);
  }
  void whole_call(std::span<const Buffer> arrays, const CallOptions& options) override {
    call(&danaus_whole_call, arrays, options);
  }
  Bytes bytes(std::int64_t batch) override {
    auto bytes = sized<danaus_bytes>();
    check(danaus_plan_bytes(plan_, batch, &bytes));
    return {bytes.prepared, bytes.workspace, bytes.constants};
  }
  std::string kernel() override { return danaus_plan_kernel(plan_); }
  std::string layout() override { return danaus_plan_layout(plan_); }
  std::string description() override { return danaus_plan_description(plan_); }

 private:
  template <class Function>
  void call(Function function, std::span<const Buffer> buffers, const CallOptions& options) {
    std::vector<std::string> names;
    std::vector<danaus_array> arrays;
    for (const Buffer& buffer : buffers) names.emplace_back(buffer.name);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      arrays.push_back({names[i].c_str(), const_cast<void*>(buffers[i].data), buffers[i].bytes});
    const std::string prepared_for(options.prepared_for);
    auto with = sized<danaus_call>();
    with.batch = options.batch;
    with.prepared = options.prepared, with.prepared_bytes = options.prepared_bytes;
    with.prepared_for = prepared_for.empty() ? nullptr : prepared_for.c_str();
    with.workspace = options.workspace, with.workspace_bytes = options.workspace_bytes;
    with.vouched = options.vouched;
    check(function(plan_, arrays.data(), arrays.size(), &with));
  }

  danaus_plan* plan_ = nullptr;
};

// What a call takes is copied to memory of the machine, and back.
class Copied final : public Door {
 public:
  Copied(std::unique_ptr<Door> plan, std::shared_ptr<const Machine> machine)
      : plan_(std::move(plan)), machine_(std::move(machine)) {}
  void prepare(std::span<const Buffer> filters, const CallOptions& options) override {
    call(&Door::prepare, filters, options);
  }
  void execute(std::span<const Buffer> arrays, const CallOptions& options) override {
    call(&Door::execute, arrays, options);
  }
  void whole_call(std::span<const Buffer> arrays, const CallOptions& options) override {
    call(&Door::whole_call, arrays, options);
  }
  Bytes bytes(std::int64_t batch) override { return plan_->bytes(batch); }
  std::string kernel() override { return plan_->kernel(); }
  std::string layout() override { return plan_->layout(); }
  std::string description() override { return plan_->description(); }

 private:
  using Function = void (Door::*)(std::span<const Buffer>, const CallOptions&);
  void call(Function function, std::span<const Buffer> buffers, CallOptions options) {
    struct Copy {
      void* host;
      std::shared_ptr<void> memory;
      std::int64_t bytes;
    };
    std::vector<Copy> copies;
    const auto there = [&](const void* host, std::size_t bytes) {
      const auto size = static_cast<std::int64_t>(bytes);
      copies.push_back({const_cast<void*>(host), machine_->upload(host, size), size});
      return copies.back().memory.get();
    };
    std::vector<Buffer> on_machine;
    for (const Buffer& buffer : buffers)
      on_machine.emplace_back(buffer.name, there(buffer.data, buffer.bytes), buffer.bytes);
    if (options.prepared) options.prepared = there(options.prepared, options.prepared_bytes);
    if (options.workspace) options.workspace = there(options.workspace, options.workspace_bytes);
    (plan_.get()->*function)(on_machine, options);
    machine_->synchronize();
    for (const Copy& copy : copies) machine_->copy_to_host(copy.host, copy.memory.get(), copy.bytes);
  }

  std::unique_ptr<Door> plan_;
  std::shared_ptr<const Machine> machine_;
};

std::unique_ptr<Door> copied(const std::string& token, const std::shared_ptr<const Machine>& machine) {
  return std::make_unique<Copied>(std::make_unique<CppDoor>(parse_case(token), machine), machine);
}

}  // namespace

std::unique_ptr<Door> door_of_cpp(const std::string& token) {
  return std::make_unique<CppDoor>(parse_case(token), executor_machine());
}
std::unique_ptr<Door> door_of_c(const std::string& token) { return std::make_unique<CDoor>(token); }
std::unique_ptr<Door> door_with_copies(const std::string& token) { return copied(token, executor_machine()); }
std::unique_ptr<Door> door_of_cpp_on_gpu(const std::string& token) { return copied(token, cuda_machine()); }
std::unique_ptr<Door> door_of_c_on_gpu(const std::string& token) {
  return std::make_unique<Copied>(std::make_unique<CDoor>(token, 0), cuda_machine());
}

}  // namespace danaus::conformance

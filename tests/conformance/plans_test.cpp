// Every case by every door that takes any: prepared and executed, in one call, with memory of the caller's, and with
// fewer rows than the plan's.
#include <gtest/gtest.h>

#include "kernels/cuda/machine.hpp"
#include "reference/token.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/doors.hpp"
#include "tests/conformance/judge.hpp"
#include "tests/conformance/memory.hpp"

namespace danaus::conformance {
namespace {

struct Entry {
  std::string door;
  std::unique_ptr<Door> (*make)(const std::string& token);
  ConformanceCase asked;
};
void PrintTo(const Entry& entry, std::ostream* out) { *out << entry.door << ", " << entry.asked.token; }

std::vector<Entry> entries() {
  std::vector<Entry> list;
  const auto add = [&](const std::string& name, auto make, const std::string& door) {
    for (const ConformanceCase& each : cases_of(door)) list.push_back({name, make, each});
  };
  add("Plan", &door_of_cpp, "Plan");
  add("danaus.h", &door_of_c, "danaus.h");
  if (cuda_device_count() == 0) {
    list.push_back({"Copies", &door_with_copies, list.front().asked});
    return list;
  }
  add("Plan on a GPU", &door_of_cpp_on_gpu, "Plan");
  add("danaus.h on a GPU", &door_of_c_on_gpu, "danaus.h");
  return list;
}

// What one plan has prepared another reads whose word is the same, and which needs no more of it.
void expect_readable(const std::string& token, const Entry& by, const Values& inputs, CallOptions options,
                     const std::string& layout) {
  SCOPED_TRACE(testing::Message() << "prepared by a plan of " << by.asked.token);
  const Case asked = parse_case(token);
  const auto other = by.make(token);
  if (other->layout() != layout) return;
  const std::int64_t batch = batch_of(asked);
  const Bytes bytes = other->bytes(batch);
  Guarded workspace(bytes.workspace);
  CaseMemory memory(asked, inputs);
  options.batch = batch;
  options.workspace = workspace.bytes().data(), options.workspace_bytes = workspace.bytes().size();
  const auto execute = [&] { other->execute(memory.buffers({Role::input, Role::output}), options); };
  if (bytes.prepared > static_cast<std::int64_t>(options.prepared_bytes)) {
    EXPECT_THROW(execute(), std::invalid_argument);
    return;
  }
  execute();
  EXPECT_TRUE(memory.guards_are_whole() && workspace.guards_are_whole());
  EXPECT_EQ(complaint(asked, inputs, memory.outputs(), by_kernel(asked)), "");
}

class Plans : public testing::TestWithParam<Entry> {};

TEST_P(Plans, KeepTheirBounds) {
  const auto& [name, make, asked_case] = GetParam();
  const Case asked = parse_case(asked_case.token);
  if (!asked_case.refused.empty()) {
    try {
      make(asked_case.token);
      FAIL() << "a plan was made, the case says: " << asked_case.refused;
    } catch (const std::invalid_argument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(asked_case.refused), std::string::npos) << refusal.what();
      EXPECT_EQ(std::string(refusal.what()).find('\n'), std::string::npos) << refusal.what();
    }
    return;
  }
  const auto door = make(asked_case.token);
  const Values inputs = make_values(asked);
  const Arithmetic bounds = by_kernel(asked);
  EXPECT_NE(door->description().find(door->kernel()), std::string::npos) << door->description();

  CaseMemory memory(asked, inputs);
  door->prepare(memory.buffers({Role::filter}), {});
  door->execute(memory.buffers({Role::input, Role::output}), {});
  EXPECT_TRUE(memory.guards_are_whole());
  EXPECT_TRUE(memory.inputs_are_whole(inputs));
  const Values outputs = memory.outputs();
  EXPECT_EQ(complaint(asked, inputs, outputs, bounds), "");

  // With memory of the caller's in one call: the same bits.
  const std::int64_t batch = batch_of(asked);
  const Bytes bytes = door->bytes(batch);
  Guarded prepared(bytes.prepared), workspace(bytes.workspace);
  CallOptions options;
  options.prepared = prepared.bytes().data(), options.prepared_bytes = prepared.bytes().size();
  options.workspace = workspace.bytes().data(), options.workspace_bytes = workspace.bytes().size();
  const std::string layout = door->layout();
  options.prepared_for = layout;
  CaseMemory again(asked, inputs);
  door->whole_call(again.buffers({Role::input, Role::filter, Role::output}), options);
  EXPECT_TRUE(again.guards_are_whole() && prepared.guards_are_whole() && workspace.guards_are_whole());
  EXPECT_EQ(again.outputs(), outputs);

  // Plans of gradients and of their convolution.
  for (std::string_view gradients : {"fftconvgrad", "fftconvstep"})
    if (operation_word(asked_case.token) == gradients)
      expect_readable(with_word("fftconv", asked_case.token), GetParam(), inputs, options, layout);

  // Fewer rows, of filters that are prepared: by this plan and by one of its own.
  const std::int64_t fewer = batch / 2;
  if (fewer == 0) return;
  const Case some = parse_case(with_number(asked_case.token, "b", fewer));
  const Values rows = first_of_batch(asked, inputs, fewer);
  CaseMemory of_rows(some, rows);
  options.batch = fewer, options.vouched = true;
  door->execute(of_rows.buffers({Role::input, Role::output}), options);
  EXPECT_TRUE(of_rows.guards_are_whole() && prepared.guards_are_whole() && workspace.guards_are_whole());
  EXPECT_EQ(complaint(some, rows, of_rows.outputs(), bounds), "");
  expect_readable(some.token(), GetParam(), rows, options, layout);
}

INSTANTIATE_TEST_SUITE_P(Cases, Plans, testing::ValuesIn(entries()),
                         [](const auto& info) { return name_of(info.param.door + "_" + info.param.asked.token); });

}  // namespace
}  // namespace danaus::conformance

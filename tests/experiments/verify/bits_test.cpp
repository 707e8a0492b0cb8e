// Outputs of two machines, bit for bit: the same of two executors, and of one that is wrong the place and the launch.
#include "experiments/verify/bits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/io/schema.hpp"
#include "experiments/methods/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/forwarding_machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kToken = "fftconv_f16_circular_l256_b3_h2";

// Changes the last bit of one number that a launch writes.
class WrongMachine final : public ForwardingMachine {
 public:
  WrongMachine(int launch, const char* region, std::int64_t number)
      : ForwardingMachine(executor_machine()), launch_(launch), region_(region), number_(number) {}
  void launch(const Launch& launch, Stream stream) const override {
    ForwardingMachine::launch(launch, stream);
    if (count_++ != launch_) return;
    for (int i = 0; i < launch.region_count; ++i)
      if (launch.regions[i].written && std::string_view(launch.regions[i].name) == region_)
        static_cast<std::uint16_t*>(const_cast<void*>(launch.regions[i].data))[number_] ^= 1;
  }

 private:
  int launch_;
  const char* region_;
  std::int64_t number_;
  mutable int count_ = 0;
};

Json bits_of_wrong(const std::shared_ptr<const Machine>& machine) {
  const Case asked = parse_case(kToken);
  const Values values = make_values(asked, {});
  return compared_bits(asked, values, machine, executor_like(machine->device()));
}

TEST(Bits, OfTheExecutorAreItsOwn) {
  const Json bits = bits_of_wrong(executor_machine());
  EXPECT_EQ(bits, (Json{{"status", "same"}, {"numbers", 3 * 2 * 256}}));
}

TEST(Bits, OneWrongBitIsFound) {
  const Json bits = bits_of_wrong(std::make_shared<WrongMachine>(1, "y", 2 * 256 + 7));
  EXPECT_EQ(bits.at("status"), "different");
  EXPECT_EQ(bits.at("differing"), 1);
  EXPECT_EQ(bits.at("first").at("output"), "y");
  EXPECT_EQ(bits.at("first").at("row"), 2);
  EXPECT_EQ(bits.at("first").at("sample"), 7);
  EXPECT_EQ(bits.at("first").at("ulps"), 1);
  EXPECT_NE(bits.at("first").at("on_device"), bits.at("first").at("on_executor"));
  EXPECT_THAT(bits.at("launch").get<std::string>(), StartsWith("2 of 2: chain "));
}

TEST(Bits, TheFirstLaunchThatDiffersIsNamed) {
  const Json bits = bits_of_wrong(std::make_shared<WrongMachine>(0, "spectrum", 2 * 9));
  EXPECT_EQ(bits.at("status"), "different");
  EXPECT_GT(bits.at("differing"), 1);
  EXPECT_THAT(bits.at("launch").get<std::string>(), StartsWith("1 of 2: spectrum "));
  BitVerdicts verdicts;
  verdicts.add({{"case", kToken}, {"bits", bits}});
  verdicts.add({{"case", kToken}, {"bits", {{"status", "same"}, {"numbers", 5}}}});
  verdicts.add({{"case", kToken}});
  std::ostringstream out;
  verdicts.print(out);
  EXPECT_EQ(verdicts.different(), 1);
  EXPECT_THAT(out.str(), HasSubstr("bits: 1 rows are the executor's in every bit, 1 are not"));
  EXPECT_THAT(out.str(), HasSubstr(kToken + ": "));
}

TEST(Bits, TakeAGpu) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "has one";
  EXPECT_EQ(run({"verify", "--bits", "--case", kToken}).code, 77);
  EXPECT_EQ(run({"verify", "--device", "0", "--bits", "--case", kToken}).code, 77);
  EXPECT_THAT(run({"verify", "--device", "1", "--bits"}).err, HasSubstr("device=1, must be 0"));
  EXPECT_THAT(run({"verify", "--bits", "--method", "kernel"}).err, HasSubstr("--bits compares outputs of method gpu"));
}

TEST(Bits, HaveASchema) {
  Json row = Json::parse(run({"verify", "--case", kToken, "--method", "kernel", "--json", "-"}).out);
  row["bits"] = bits_of_wrong(std::make_shared<WrongMachine>(1, "y", 5));
  row["asked_bits"] = true;
  EXPECT_EQ(violation("verify", row).value_or(""), "");
  row["bits"].erase("status");
  EXPECT_NE(violation("verify", row).value_or(""), "");
}

}  // namespace
}  // namespace danaus

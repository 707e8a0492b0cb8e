// danaus selftest: a table's digests against those of the executor.
#include "kernels/plan/selftest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kToken = "shortconv_f16_causal_k4_l100_b1_h1", kOther = "fftconv_f16_causal_l100_b1_h1";

std::string digest_of(const std::string& token) {
  return digest_in_words(digest_of_outputs(parse_case(token), executor_machine()));
}

TEST(Selftest, OfRightDigestsPassesAndOfWrongOnesFails) {
  const Folder folder;
  const std::string wrong(16, '0'), table = folder / "table.txt", mended = folder / "mended.txt";
  const std::string absent = "0123456789abcdef fftconv_f64_circular_l64_b1_h1\n";
  const std::string right = "# why\n" + digest_of(kToken) + ' ' + kToken + "\n" + absent;
  write_file(table, right);
  const Ran passed = run({"selftest", "--table", table});
  EXPECT_EQ(passed.code, 0) << passed.err;
  EXPECT_EQ(passed.out, "executor (H200): 2 cases, 1 the same, 0 differ, 1 not in this build\n");
  const std::string spelled = "fftconv_f16_causal_l100_k100_b1_h1  # K = L in words";
  write_file(table, right + "  " + wrong + ' ' + spelled + '\n');
  const Ran failed = run({"selftest", "--table", table, "--output", mended});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out, AllOf(HasSubstr(kOther), HasSubstr(wrong), HasSubstr(digest_of(kOther)),
                                HasSubstr("3 cases, 1 the same, 1 differ, 1 not in this build")));
  EXPECT_EQ(read_file(mended), right + "  " + digest_of(kOther) + ' ' + spelled + '\n');
  write_file(table, absent);
  EXPECT_EQ(run({"selftest", "--table", table}).code, 1) << "nothing was computed";
}

TEST(Selftest, RefusesWhatIsNoTable) {
  const Folder folder;
  const std::string table = folder / "table.txt";
  EXPECT_THAT(run({"selftest", "--table", table}).err, HasSubstr("cannot be read"));
  write_file(table, "# nothing\n");
  EXPECT_THAT(run({"selftest", "--table", table}).err, HasSubstr("has no case"));
  write_file(table, "12 " + kToken + "\n");
  const Ran ran = run({"selftest", "--table", table});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("line 1: '12 shortconv"));
  EXPECT_EQ(run({"selftest", "--device", "-1"}).code, 2);
  if (cuda_device_count() == 0) {
    EXPECT_EQ(run({"selftest", "--device", "0"}).code, 77);
  }
}

}  // namespace
}  // namespace danaus

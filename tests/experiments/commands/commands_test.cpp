// The command line as a person meets it: words in, text and exit code out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiments/cli/command_line.hpp"
#include "experiments/cli/environment.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/convolution.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(Program, SaysWhatItCanDo) {
  const Ran help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr(command.question));
  const Ran nothing = run({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_THAT(nothing.err, HasSubstr("usage: danaus COMMAND"));
}

TEST(Program, EveryCommandExplainsItself) {
  for (const Command& command : commands()) {
    const Ran ran = run({std::string(command.name), "--help"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("usage: danaus " + std::string(command.name)));
    if (command.name != "stale") EXPECT_THAT(ran.out, HasSubstr("--json FILE"));
  }
}

TEST(Program, RefusesWhatItDoesNotKnow) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } kWrong[] = {
      {{"prove"},
       "unknown command 'prove', must be one of verify, random, record, bench, stale, decode, calibrate, count, "},
      {{"verify", "--speed"}, "verify: unrecognised option '--speed' (see danaus verify --help)"},
      {{"verify", "--met", "fftw"}, "unrecognised option '--met'"},
      {{"verify", "--case"}, "option '--case' is missing"},
      {{"verify", "--scale", "big"}, "the argument ('big') for option '--scale' is invalid"},
      {{"verify", "--scale", "0"}, "scale=0, must be positive"},
      {{"verify", "--scale", "nan"}, "scale=nan, must be positive"},
      {{"verify", "--seed", "-1x"}, "--seed"},
      {{"verify", "--sweep", "all"}, "sweep 'all', must be one of matrix, error, range"},
      {{"verify", "--method", "cufft"}, "method 'cufft', must be one of fftw, monarch, rounded"},
      {{"verify", "--scaling", "both"}, "scaling 'both', must be one of unitary, one_side"},
      {{"verify", "--data", "pink"}, "pink"},
      {{"verify", "--filter", "box"}, "box"},
      {{"verify", "--sweep", "range", "--scale", "3"}, "no row of the sweep 'range'"},
      {{"verify", "--sweep", "range", "--case", "x"},
       "verify: --case x and --sweep range were both given, must be one of them; leave one out"},
      {{"bench", "--sweep", "long", "--case", "x", "--case", "y"},
       "bench: --case x ... and --sweep long were both given"},
      {{"count", "--sweep", "long", "--case", "x"}, "count: --case x and --sweep long were both given"},
      {{"count", "--hardware", "--launch"}, "count: --hardware and --launch were both given"},
      {{"model", "--sweep", "long", "--case", "x"}, "model: --case x and --sweep long were both given"},
      {{"model", "--sweep", "long", "--measured", "x"}, "model: --sweep long and --measured x were both given"},
      {{"random", "--only", "3", "--count", "4"}, "random: --only 3 and --count 4 were both given"},
      {{"decode", "--profile", "H200", "--device", "0"}, "decode: --profile H200 and --device 0 were both given"},
      {{"verify", "--case", "fftconv_f8_causal_l4_b1_h1"}, "unknown field 'f8'"},
      {{"verify", "--case", "fftconv_f16_causal_l0_b1_h1"}, "L=0, must be at least 1"},
      {{"verify", "--case", "fftconv_f16_causal_l4_k0_b1_h1"}, "K=0, must be at least 1"},
      {{"verify", "--case", "fftconv_f16_circular_l16_b1_h1_n16_r4x8"}, "multiply to 32, must be 16"},
      {{"verify", "--case", "fftconv_f16_causal_l8_b1_h1", "--json", "/no/such/folder/a.jsonl"},
       "cannot write /no/such/folder/a.jsonl: No such file or directory"},
      {{"verify", "word"}, "verify: more words without an option than the 0 it takes"},
      {{"model"}, "one of --case, --sweep and --measured must be given"},
      {{"model", "--sweep", "figure5"}, "sweep 'figure5', must be figure4"},
      {{"model", "--sweep", "figure4", "--order", "9"}, "order=9, must be from 1 to 5"},
      {{"model", "--sweep", "figure4", "--order", "5"}, "order=5, the sweep has orders 2, 3 and 4"},
      {{"model", "--sweep", "figure4", "--profile", "B200"}, "B200"},
      {{"model", "--case", "fftconv_f16_circular_l16_b1_h1_r4x4", "--order", "3"}, "order=3, but"},
      {{"memory", "--sweep", "long", "--case", "fftconv_f16_causal_l64_b1_h1"},
       "memory: --case fftconv_f16_causal_l64_b1_h1 and --sweep long were both given"},
      {{"memory", "--sweep", "nowhere"}, "memory: sweep 'nowhere', must be one of"},
      {{"factors", "--case", "fftconv_f64_circular_l4096_b1_h1"}, "N=4096, must be at most 1024"},
      {{"list", "colours"}, "topic 'colours', must be one of operations"},
      {{"convolve"}, "U is missing"},
      {{"convolve", "u.npy"}, "K is missing"},
      {{"convolve", "u.npy", "k.npy"}, "no output file, -o FILE must name one"},
  };
  const int configured = 8 + (cuda_device_count() == 0 ? 1 : 0);  // lines of what verify leaves out, and of all else
  for (const auto& [words, message] : kWrong) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << message;
    EXPECT_EQ(ran.out, "") << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), ran.err.find("danaus: ") == 0 ? 1 : configured)
        << ran.err;
  }
}

TEST(Program, RefusesWhatDoesNotFitInMemoryBeforeAllocating) {
  for (const char* word : {"fftconv_f16_causal_l1000000000_b64_h768", "fftconv_f16_causal_l100_k100000000000_b1_h1",
                           "fftconv_f16_circular_l1000000000000_b1_h1"}) {
    const Ran ran = run({"verify", "--case", word});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, testing::ContainsRegex("needs [0-9]+ bytes .* of memory, must be at most the [0-9]+ bytes"));
  }
}

TEST(Program, SaysWhenStdoutCannotBeWritten) {
  std::ostringstream err;
  std::ofstream full("/dev/full");
  Console console{full, err, false, {"danaus", "list"}};
  EXPECT_EQ(run_program(console), 2);
  EXPECT_THAT(err.str(), HasSubstr("stdout"));
}

TEST(List, NamesEverythingOfATopic) {
  const Ran profiles = run({"list", "profiles"});
  EXPECT_EQ(profiles.code, 0);
  for (const char* name : {"A100-40GB", "H100", "H200"}) EXPECT_THAT(profiles.out, HasSubstr(name));
  const Ran cases = run({"list", "cases", "--json", "-"});
  std::istringstream lines(cases.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string word = Json::parse(line).at("case");
    EXPECT_EQ(parse_case(word).token(), word);
  }
  EXPECT_GT(count, 300);
}

TEST(List, TellsEveryKernelFromTheOthers) {
  const Ran ran = run({"list", "kernels", "--json", "-"});
  std::istringstream lines(ran.out);
  std::set<std::string> kernels;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    const std::string kernel = row.at("kernel").get<std::string>() + row.at("blocks per SM").get<std::string>();
    EXPECT_TRUE(kernels.insert(kernel).second) << line;
    EXPECT_FALSE(row.at("devices").get<std::string>().empty()) << line;
  }
  EXPECT_EQ(kernels.size(),
            variants().size() + sparse_variants().size() + long_variants().size() + correlators().size());
}

TEST(List, NamesEveryOperationAndItsKernels) {
  const Ran ran = run({"list", "operations"});
  for (const Operation& operation : operations()) EXPECT_THAT(ran.out, HasSubstr(operation.word));
  EXPECT_THAT(ran.out, HasSubstr("correlate_chain"));
  EXPECT_THAT(ran.out, HasSubstr("mix"));
}

TEST(Info, NamesSourcesAndCompiler) {
  const Ran ran = run({"info"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr(kRevision.sources));
  EXPECT_THAT(ran.out, HasSubstr("g++"));
}

}  // namespace
}  // namespace danaus

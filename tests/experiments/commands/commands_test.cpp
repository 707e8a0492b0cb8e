// The command line as a person meets it: words in, text and exit code out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiments/cli/command_line.hpp"
#include "experiments/cli/environment.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/named_kernel.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/grammar.hpp"
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
    const bool makes_rows =
        command.name != "stale" && command.name != "help" && command.name != "explain" && command.name != "selftest";
    EXPECT_EQ(ran.out.find("--json FILE") != std::string::npos, makes_rows) << command.name;
  }
}

TEST(Program, RefusesWhatItDoesNotKnow) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } kWrong[] = {
      {{"prove"},
       "unknown command 'prove', must be one of verify, random, selftest, record, bench, stale, decode, calibrate, "
       "arithmetic, count, "},
      {{"verfiy"}, "did you mean 'verify'?"},
      {{"help", "token"}, "help: topic 'token', must be one of tokens, verify, "},
      {{"help", "tokens", "ffconv"}, "help: operation 'ffconv', must be one of fftconv, "},
      {{"explain"}, "explain: TOKEN is missing"},
      {{"explain", "fftconv_f16_casual_l4_b1_h1"}, "did you mean 'causal'?"},
      {{"verify", "--method", "kernal"}, "did you mean 'kernel'?"},
      {{"list", "kernel"}, "did you mean 'kernels'?"},
      {{"list", "sweeps", "--details"}, "--case and --details are of the topic kernels"},
      {{"list", "kernels", "--case", "ssmconv_f16_s4_l256_b2_h2"}, "has no kernels to choose among"},
      {{"verify", "--kernel", "chain_4x256_f16"}, "verify: --kernel is for the cases given by --case"},
      {{"count", "--kernel", "exchange", "--case", "fftconv_f16_causal_l1024_b2_h3"},
       "count: kernel 'exchange' is none of this build"},
      {{"verify", "--speed"},
       "verify: unrecognised option '--speed'; did you mean '--seed'? (see danaus verify --help)"},
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
      {{"convolve", "", "k.npy", "-o", "y.npy"}, "convolve: U is empty, must be a word"},
      {{"convolve", "u.npy", "", "-o", "y.npy"}, "convolve: K is empty, must be a word"},
      {{"convolve", "u.npy", "k.npy", "-o", "y.npy", "--pregate", ""}, "convolve: --pregate is empty, must be a word"},
      {{"convolve", "u.npy", "k.npy", "-o", "y.npy", "--json", ""}, "convolve: --json is empty"},
      {{"verify", "--case", "fftconv_f16_causal_l4_b1_h1", "--kernel", ""}, "verify: --kernel is empty"},
      {{"verify", "--case", "fftconv_f16_causal_l4_b1_h1", "--case", ""}, "verify: --case is empty"},
      {{"list", ""}, "list: TOPIC is empty, must be a word"},
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
            variants().size() + sparse_variants().size() + filtered_variants().size() + long_variants().size() + correlators().size());
}

TEST(List, NamesEveryOperationAndItsKernels) {
  const Ran ran = run({"list", "operations"});
  for (const Operation& operation : operations()) EXPECT_THAT(ran.out, HasSubstr(operation.word));
  EXPECT_THAT(ran.out, HasSubstr("chain_gradient"));
  EXPECT_THAT(ran.out, HasSubstr("layer"));
}

constexpr const char* kPair = "fftconv_f16_circular_l4096_b2_h2";

// The most columns of any line, and how many lines there are.
std::pair<std::size_t, std::int64_t> size_of(const std::string& screen) {
  std::size_t most = 0;
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return {most, std::count(screen.begin(), screen.end(), '\n')};
}

TEST(List, KernelsFitAScreen) {
  for (const Ran& ran : {run({"list", "kernels"}), run({"list", "kernels", "--case", kPair})}) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto [columns, lines] = size_of(ran.out);
    EXPECT_LE(columns, 100u) << ran.out;  // names of kernels are long
    EXPECT_LE(lines, 40) << ran.out;
  }
  EXPECT_LE(size_of(run({"list", "kernels"}).out).first, 80u);
  EXPECT_THAT(run({"list", "kernels", "--details"}).out, HasSubstr(variants().front()->name));
}

// A variant of the case's kernel that is not the plan's choice, as far as this build has one.
std::string another_kernel() {
  const Variant& chosen = choose(parse_convolution(kPair), Device());
  for (const auto& v : variants())
    if (v.get() != &chosen && v->compiled && obstacle_of(*v, parse_convolution(kPair), Device()).empty())
      return v->name;
  return "";
}

TEST(Kernels, AreAskedForByName) {
  const std::string chosen = choose(parse_convolution(kPair), Device()).name, other = another_kernel();
  EXPECT_THAT(run({"list", "kernels", "--case", kPair}).out, HasSubstr(chosen));
  for (const std::string& name : {chosen, other}) {
    if (name.empty()) continue;
    const Ran counted = run({"count", "--case", kPair, "--kernel", name});
    EXPECT_THAT(counted.out, HasSubstr(std::string(kPair) + ": " + name)) << counted.err;
    EXPECT_THAT(counted.err, HasSubstr(name + ", asked for by name"));
    const Ran verified = run({"verify", "--case", "fftconv_f16_circular_l4096_b2_h1", "--kernel", name});
    EXPECT_EQ(verified.code, 0) << verified.err;
    EXPECT_THAT(verified.out, HasSubstr("kernel"));
  }
  EXPECT_EQ(named_variant(), nullptr) << "a command leaves the choice as it was";
  EXPECT_THAT(run({"count", "--case", kPair}).err, HasSubstr("the choice of a plan"));
}

TEST(Kernels, RefuseCasesThatTheyDoNotCompute) {
  const std::string name = choose(parse_convolution(kPair), Device()).name;
  const auto refusal = [&](const std::string& token) { return run({"count", "--kernel", name, "--case", token}).err; };
  EXPECT_THAT(refusal("fftconv_bf16_circular_l4096_b2_h2"), HasSubstr("its samples are f16, the case's bf16"));
  EXPECT_THAT(refusal("fftconv_f16_circular_l4096_b2_h2_pregate"), HasSubstr("without gates only"));
  EXPECT_THAT(refusal("fftconv_f16_circular_l2048_b2_h2"), HasSubstr("its N=4096 must be L=2048"));
  EXPECT_THAT(refusal("fftconv_f16_causal_l4096_b2_h2_rightangle"), HasSubstr("its fold is pair"));
  EXPECT_THAT(refusal("ssmconv_f16_s4_l256_b2_h2"), HasSubstr("is of another operation"));
  std::string misspelt = name;
  misspelt[3] = '?';
  EXPECT_THAT(run({"count", "--kernel", misspelt, "--case", kPair}).err, HasSubstr("did you mean '" + name + "'?"));
}

TEST(Kernels, OfGradientsAreAskedForByName) {
  const std::string token = "fftconvgrad_f16_causal_l1024_b2_h2";
  std::string other;
  for (const auto& c : correlators())
    if (c->compiled && c->dtype == Dtype::f16 && !c->pair && !c->all && c->shares == 1 && c->size > 1024 && c->suits(0))
      other = c->name;
  ASSERT_NE(other, "");
  EXPECT_THAT(run({"explain", token}).out, testing::Not(HasSubstr(other)));
  const Ran ran = run({"verify", "--case", token, "--kernel", other});
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_THAT(run({"verify", "--case", "fftconv_f16_causal_l1024_b2_h2", "--kernel", other}).err,
              HasSubstr("makes gradients of filters"));
  EXPECT_THAT(run({"verify", "--case", "fftconvgrad_bf16_causal_l1024_b2_h2", "--kernel", other}).err,
              HasSubstr("does not make dk"));
}

TEST(Kernels, OfACaseComputeIt) {
  for (const char* token : {"fftconv_f16_circular_l512_b1_h1", "fftconvgrad_bf16_causal_l512_b2_h1_pregate"}) {
    std::istringstream lines(run({"list", "kernels", "--case", token}).out);
    int kernels = 0;
    for (std::string line; std::getline(lines, line) && !line.empty();) {
      const std::string name = line.substr(0, line.find(' '));
      if (name == "kernel" || line.find("DANAUS_ALL") != line.npos) continue;
      const Ran ran = run({"verify", "--case", token, "--kernel", name});
      EXPECT_EQ(ran.code, 0) << line << '\n' << ran.err << ran.out;
      ++kernels;
    }
    EXPECT_GT(kernels, 1) << token;
  }
}

TEST(Help, NamesEveryFieldOfATokenAndFitsAScreen) {
  const Ran all = run({"help", "tokens"});
  EXPECT_EQ(all.code, 0);
  EXPECT_LE(size_of(all.out).first, 80u) << all.out;
  for (const Grammar& grammar : grammars()) {
    EXPECT_THAT(all.out, HasSubstr(grammar.example));
    const Ran one = run({"help", "tokens", std::string(grammar.operation)});
    for (const TokenField& field : grammar.fields) {
      if (!field.refused.empty()) continue;
      EXPECT_THAT(one.out, HasSubstr("  " + std::string(field.form)));
      EXPECT_THAT(one.out, HasSubstr(field.example));
    }
  }
  EXPECT_THAT(all.out, HasSubstr("The fields are those of shortconv.\n"));
  EXPECT_THAT(all.out, HasSubstr("The fields are those of fftconv, without zero, keep, blocks.\n"));
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "verify"}).out, run({"verify", "--help"}).out);
}

TEST(Explain, SaysWhatACaseAsksAndWhatAPlanDoes) {
  const Ran ran = run({"explain", "fftconv_f16_causal_l1024_k100_b2_h3_pregate"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_LE(size_of(ran.out).first, 80u) << ran.out;
  for (const char* words : {"2 batch rows", "3 channels", "1024 samples", "100 taps", "pregate [2, 3, 1024]",
                            "The kernel is chain_", "Floor: ", "predicts", "largest batch"})
    EXPECT_THAT(ran.out, HasSubstr(words));
  for (const Grammar& grammar : grammars()) {
    const Ran other = run({"explain", std::string(grammar.example), "--profile", "H100"});
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_THAT(other.out, HasSubstr("The plan on H100"));
    EXPECT_THAT(other.out, HasSubstr("Floor: "));
  }
  const Ran none = run({"explain", "fftconv_f64_causal_l1024_b2_h3"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, HasSubstr("No plan: "));
  EXPECT_THAT(run({"explain", "fftconv_f16_circular_l1024_b2_h2_keep0to63"}).out,
              HasSubstr("keeps 127 of 1024 frequencies"));
}

TEST(Info, NamesSourcesAndCompiler) {
  const Ran ran = run({"info"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr(kRevision.sources));
  EXPECT_THAT(ran.out, HasSubstr("g++"));
}

}  // namespace
}  // namespace danaus

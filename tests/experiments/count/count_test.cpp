// danaus count: its rows, and how a GPU's own counters are read and compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/code/machine_code.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(Count, ARowHoldsTheLaunchAndItsParts) {
  const Ran ran = run({"count", "--case", "fftconv_f16_circular_l1024_b5_h6", "--profile", "H100", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json row = Json::parse(ran.out);
  EXPECT_EQ(row.at("kind"), "count");
  EXPECT_EQ(row.at("launch").at("items"), 12);
  EXPECT_EQ(row.at("launch").at("half_items"), 6);
  EXPECT_EQ(row.at("launch").at("blocks"), 18);  // fewer than run at once
  const Json& counts = row.at("counts");
  EXPECT_EQ(counts.at("launch").at("bulk_load_bytes"), 5 * 6 * 1024 * 2);
  EXPECT_EQ(counts.at("launch").at("mma_f16acc"), 18 * counts.at("item").at("mma_f16acc").get<int>());
  EXPECT_GT(counts.at("filter").at("fp32_operations"), 0);
}

// A file of machine_code.py: a kernel has 24 bytes of local memory on one path, none on another.
std::string made_of(const KernelId& id, const std::string& sources) {
  const std::string name = text(id.line, '.', id.instance, '.');
  const Json kernels = {{name + "tensor", {"abc", 128, 24}}, {name + "threads", {"def", 126, 0}}};
  const Json family = {{"architecture", "90a"},
                       {"family", id.family},
                       {"sources", sources},
                       {"compiler", "NVIDIA 13, -O3"},
                       {"kernels", kernels}};
  return Json{{"families", Json::array({family})}}.dump();
}

TEST(Count, MachineCodeIsKnownOfKernelsAsTheyAre) {
  const KernelId id = {"exchange", 7, 3};
  const MachineCode ours(made_of(id, sources_of_family("exchange")));
  ASSERT_TRUE(ours.of(id, Path::tensor, 90));
  EXPECT_EQ(ours.of(id, Path::tensor, 90)->digest, "abc");
  EXPECT_EQ(ours.of(id, Path::tensor, 90)->local_bytes, 24);
  EXPECT_EQ(ours.of(id, Path::threads, 90)->registers, 126);
  EXPECT_FALSE(ours.of(id, Path::overhang, 90));
  EXPECT_FALSE(ours.of(id, Path::any, 90));
  EXPECT_FALSE(ours.of(id, Path::tensor, 80));
  EXPECT_FALSE(ours.of({"exchange", 7, 2}, Path::tensor, 90));
  EXPECT_TRUE(ours.of({"exchange"}, 90));
  EXPECT_FALSE(ours.of({"chain", "exchange"}, 90)) << "nothing is said of one";
  EXPECT_TRUE(ours.is_made_by("NVIDIA 13, -O3, sm_90a, sm_80"));
  EXPECT_FALSE(ours.is_made_by("NVIDIA 13, -O3 -G, sm_90a"));
  EXPECT_FALSE(MachineCode(made_of(id, "another")).of(id, Path::tensor, 90));
}

TEST(Count, NumbersWithoutARegisterAreStoredAndLoadedInEachTurn) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l4096_b6_h4");
  const Device device = imitation(load_profile("H200"));
  const ProgramWork program = count_program(problem, device);
  const LaunchWork& launch = program.launches.back();
  const MachineCode said(made_of(launch.id, sources_of_family(launch.id.family))), silent("");
  const KernelWork with = kernel_work(problem, program, device, false, said).back().work,
                   without = kernel_work(problem, program, device, false, silent).back().work;
  EXPECT_EQ(with.local_accesses, 2 * (24 / 4) * 6 / 2 * 4 * 4) << "of three pairs of four channels by four warps";
  EXPECT_TRUE(with.local_is_known);
  EXPECT_EQ(without.local_accesses, 0);
  EXPECT_FALSE(without.local_is_known);
}

TEST(Count, PrintsEachCounter) {
  const Ran ran = run({"count", "--case", "fftconv_f16_causal_l300_b1_h1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const auto& field : {"mma f16acc", "packed operations", "shared wavefronts", "block barriers"})
    EXPECT_THAT(ran.out, HasSubstr(field));
}

TEST(Count, ProgramsOfSeveralLaunchesLaunchByLaunch) {
  const Ran ran = run({"count", "--case", "fftconvgrad_f16_circular_l1024_b5_h6", "--case",
                       "spectral_f32_tf32_b3_c5x4_l512_m8", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::string line;
  for (const std::vector<const char*>& kernels :
       {std::vector{"spectrum", "exchange", "exchange_gradient", "taps", "rescaled"},
        std::vector{"layer", "layer", "layer", "layer"}}) {
    std::getline(lines, line);
    const Json row = Json::parse(line);
    ASSERT_EQ(row.at("launches").size(), kernels.size()) << line;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      EXPECT_THAT(row.at("launches").at(i).at("kernel").get<std::string>(), testing::StartsWith(kernels[i]));
      EXPECT_EQ(row.at("launches").at(i).at("part"), i == 0 ? "prepare" : "execute");
    }
    EXPECT_GT(row.at("sums").at("execute").at("global_load_sectors"), 0);
  }
  const Ran printed = run({"count", "--case", "fftconvgrad_f16_circular_l1024_b5_h6"});
  EXPECT_THAT(printed.out, HasSubstr("exchange_gradient"));
  EXPECT_THAT(printed.out, HasSubstr("mma f16acc"));
}

TEST(Count, TakesTheKernelsOfTheProfile) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l16384_b2_h1");
  const Device a100 = imitation(load_profile("A100-40GB")), h200 = imitation(load_profile("H200"));
  EXPECT_EQ(a100.multiprocessors, 108);
  EXPECT_FALSE(a100.has_tensor_copies());
  EXPECT_TRUE(h200.has_tensor_copies());
  EXPECT_NE(&choose(problem, a100), &choose(problem, h200));
}

// As ncu prints it: its own lines, then quoted cells, numbers with commas.
constexpr const char* kPrinted = R"csv(==PROF== Connected to process 17
==PROF== Profiling "fused_kernel" - 0: 0%....100% - 3 passes
"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
"0","17","void fused_kernel<a, b>(c)","(64, 1, 1)","(18, 1, 1)","launch__grid_size","","18"
"0","17","void fused_kernel<a, b>(c)","(64, 1, 1)","(18, 1, 1)","sm__inst_executed_pipe_tensor_op_hmma.sum","inst","1,536"
"0","17","void fused_kernel<a, b>(c)","(64, 1, 1)","(18, 1, 1)","sass__inst_executed_per_opcode","inst","9,000 (HADD2: 1,000; HFMA2.MMA: 20; PRMT: 300)"
"1","17","void fused_kernel<a, b>(c)","(64, 1, 1)","(7, 1, 1)","launch__grid_size","","7"
)csv";

TEST(Count, ReadsWhatTheProfilerPrints) {
  const std::vector<Readings> readings = parse_readings(kPrinted);
  ASSERT_EQ(readings.size(), 2);
  EXPECT_EQ(readings[0].at("sm__inst_executed_pipe_tensor_op_hmma.sum"), 1536);
  EXPECT_EQ(readings[0].at("sass:HADD2"), 1000);
  EXPECT_EQ(readings[0].at("sass:HFMA2"), 20);
  EXPECT_EQ(readings[0].at("sass:PRMT"), 300);
  EXPECT_EQ(readings[1].at("launch__grid_size"), 7);
  EXPECT_TRUE(parse_readings("==ERROR== ERR_NVGPUCTRPERM\n").empty());
}

TEST(Count, ComparesQuantitiesThatBothHave) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l1024_b5_h6");
  const Json row = comparison(problem, imitation(load_profile("H200")), parse_readings(kPrinted).front());
  EXPECT_EQ(row.at("blocks"), 18);
  std::set<std::string> names;
  for (const Json& quantity : row.at("quantities")) {
    names.insert(quantity.at("name").get<std::string>());
    if (quantity.at("ratio").is_null()) {
      EXPECT_EQ(quantity.at("counted"), 0);
      continue;
    }
    EXPECT_DOUBLE_EQ(quantity.at("ratio").get<double>() * quantity.at("counted").get<double>(),
                     quantity.at("hardware").get<double>());
    if (quantity.at("name") == "packed half instructions") {
      EXPECT_EQ(quantity.at("hardware"), 1020);
      EXPECT_TRUE(quantity.contains("why"));
    }
  }
  EXPECT_TRUE(names.contains("matrix instructions"));
  EXPECT_FALSE(names.contains("shared wavefronts")) << "ncu did not read them";
}

// A launch of which ncu read one metric.
class Explained : public testing::Test {
 protected:
  Json quantity(const char* metric, double value) const {
    return comparison(problem_, device_, {{"launch__grid_size", 18}, {metric, value}}).at("quantities").at(0);
  }
  double counted(const char* metric) const { return quantity(metric, 1).at("counted"); }
  bool is_explained_at(const char* metric, double value) const { return is_explained(quantity(metric, value)); }

  Convolution problem_ = parse_convolution("fftconv_f16_circular_l1024_b16_h264");
  Device device_ = imitation(load_profile("H200"));
  static constexpr double kCopied = 2. * 2 * 16 * 264 * 1024;  // bytes of u and y
};

TEST_F(Explained, ProductsAreExact) {
  const char* products = "sm__inst_executed_pipe_tensor_op_hmma.sum";
  EXPECT_TRUE(is_explained_at(products, counted(products)));
  EXPECT_FALSE(is_explained_at(products, counted(products) + 1)) << "this case has no tail";
  EXPECT_FALSE(is_explained_at(products, counted(products) - 1));
}

TEST_F(Explained, OnlyACausalRowInTheRightAngleLeavesProductsByWeightsUnused) {
  const char* packed = "sass:HFMA2";
  EXPECT_FALSE(is_explained_at(packed, 0.94 * counted(packed)));
  problem_ = parse_convolution("fftconv_f16_causal_l1024_b16_h264");
  EXPECT_TRUE(is_explained_at(packed, 0.94 * counted(packed)));
  EXPECT_FALSE(is_explained_at(packed, 0.9 * counted(packed)));
}

TEST_F(Explained, CopiesTakeATurnOfSharedMemoryForEach128Bytes) {
  const char *wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
             *conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
  const double turns = kCopied / 128;
  EXPECT_TRUE(is_explained_at(wavefronts, counted(wavefronts) + turns));
  EXPECT_FALSE(is_explained_at(wavefronts, counted(wavefronts) + 1.5 * turns));
  EXPECT_FALSE(is_explained_at(wavefronts, 0.9 * counted(wavefronts)));
  EXPECT_EQ(counted(conflicts), 0);
  EXPECT_TRUE(is_explained_at(conflicts, turns));
  EXPECT_FALSE(is_explained_at(conflicts, 1.5 * turns));
}

TEST_F(Explained, OnlyAChainInTheRightAngleKeepsItsWeightsInRegisters) {
  const char* wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
  problem_ = parse_convolution("fftconv_f16_causal_l1024_b16_h264");
  EXPECT_TRUE(is_explained_at(wavefronts, 0.7 * counted(wavefronts)));
  EXPECT_FALSE(is_explained_at(wavefronts, 0.6 * counted(wavefronts)));
  problem_ = parse_convolution("fftconv_f16_causal_l4096_b8_h132");
  EXPECT_FALSE(is_explained_at(wavefronts, 0.7 * counted(wavefronts)));
}

TEST_F(Explained, CachesSaveWhatIsReadAgainAndNothingElse) {
  const char *memory = "dram__bytes_read.sum", *l2 = "lts__t_sectors_srcunit_tex_op_read.sum";
  EXPECT_TRUE(is_explained_at(memory, counted(memory)));
  EXPECT_FALSE(is_explained_at(memory, 1.1 * counted(memory)));
  EXPECT_TRUE(is_explained_at(l2, counted(memory) / 32));
  EXPECT_FALSE(is_explained_at(l2, 0.9 * counted(memory) / 32)) << "less than u and the spectra have";
}

TEST_F(Explained, InstructionsThatAreNoOperationsAreNotWithoutEnd) {
  const char* instructions = "smsp__inst_executed.sum";
  EXPECT_TRUE(is_explained_at(instructions, 2 * counted(instructions)));
  EXPECT_FALSE(is_explained_at(instructions, 4.1 * counted(instructions)));
  EXPECT_FALSE(is_explained_at(instructions, 0.9 * counted(instructions)));
}

TEST(Count, AsksTheProfilerAgainWithoutOpcodesWhereItRefusesThem) {
  const Folder folder;
  const std::string profiler = folder / "ncu";
  write_file(profiler,
             "#!/bin/sh\n"
             "echo \"$@\" >> " +
                 folder / "asked" +
                 "\n"
                 "case \"$*\" in *--query-metrics*) echo 'dram__bytes_read  Counter  byte'; exit;; esac\n"
                 "case \"$*\" in *opcode*) echo '==ERROR== no'; exit 1;; esac\n"
                 "echo '\"ID\",\"Metric Name\",\"Metric Value\"'; echo '\"0\",\"dram__bytes_read.sum\",\"96\"'\n");
  std::filesystem::permissions(profiler, std::filesystem::perms::owner_all);
  const std::vector<Convolution> cases = {parse_convolution("fftconv_f16_circular_l1024_b5_h6")};
  EXPECT_EQ(parse_readings(profile_launches(cases, profiler)).at(0).at("dram__bytes_read.sum"), 96);
  const std::string asked = read_file(folder / "asked");
  EXPECT_THAT(asked, HasSubstr("--metrics launch__grid_size,dram__bytes_read.sum,sass__inst_executed_per_opcode "));
  EXPECT_THAT(asked, HasSubstr("--metrics launch__grid_size,dram__bytes_read.sum /"));
  EXPECT_THAT(asked, HasSubstr(" count --launch --case fftconv_f16_circular_l1024_b5_h6\n"));
}

TEST(Count, SaysWhatTheProfilerComplainsOf) {
  const std::vector<Convolution> cases = {parse_convolution("fftconv_f16_circular_l1024_b5_h6")};
  try {
    comparisons(cases, Device(), "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n");
    FAIL() << "nothing was read";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("read 0 of 1 launches. It says:\n==ERROR== ERR_NVGPUCTRPERM"));
  }
}

TEST(Count, ComparedCasesHaveKernelsAndDiffer) {
  std::set<const Variant*> variants;
  for (const Convolution& problem : compared_cases()) variants.insert(&choose(problem, Device()));
  EXPECT_EQ(variants.size(), compared_cases().size());
}

TEST(Count, RefusesBadWordsAndSaysThatItNeedsAGpu) {
  EXPECT_THAT(run({"count"}).err, HasSubstr("either --case or --sweep must be given"));
  EXPECT_THAT(run({"count", "--sweep", "fast"}).err, HasSubstr("sweep 'fast', must be one of speed"));
  EXPECT_THAT(run({"count", "--case", "fftconv_f32_causal_l8_b1_h1"}).err, HasSubstr("f16 and bf16 have"));
  EXPECT_THAT(run({"count", "--hardware", "--blocks", "0"}).err, HasSubstr("blocks=0, must be at least 1"));
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  const Ran ran = run({"count", "--hardware"});
  EXPECT_EQ(ran.code, 77);
  EXPECT_THAT(ran.err, HasSubstr("no CUDA device"));
}

}  // namespace
}  // namespace danaus

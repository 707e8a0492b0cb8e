// danaus info: the program and the machine, for a bug report or beside a measurement.
#include <fftw3.h>
#include <sndfile.h>

#include <Eigen/Core>
#include <boost/version.hpp>

#include "experiments/cli/memory.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/io/signal_file.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {
namespace {

std::string gpus() {
  std::ostringstream text;
  for (int i = 0; i < cuda_device_count(); ++i) {
    const Device gpu = cuda_device(i);
    text << (i == 0 ? "" : "; ") << gpu.name << ", sm_" << gpu.sm << ", " << gpu.multiprocessors << " multiprocessors, "
         << gpu.block_bytes << " bytes of shared memory a block";
  }
  return text.str().empty() ? "none" : text.str();
}

}  // namespace

int run_info(std::span<const std::string> words, Console& console) {
  Job job(console, "info", "What this program was built from, and the machine it runs on.");
  if (!job.parse(words, "one JSON object; - for stdout, in place of the table")) return kExitOk;

  const Json host = host_block();
  const std::size_t recording = read_recording(kRecordingFolder).size();
  const std::vector<std::vector<std::string>> rows = {
      {"version", DANAUS_VERSION},
      {"git", std::string(kRevision.git) + (kRevision.dirty ? ", with uncommitted changes" : "")},
      {"sources", kRevision.sources},
      {"compiler", host["compiler"]},
      {"FFTW", fftw_version},
      {"Eigen", std::to_string(EIGEN_WORLD_VERSION) + '.' + std::to_string(EIGEN_MAJOR_VERSION) + '.' +
                    std::to_string(EIGEN_MINOR_VERSION)},
      {"Boost", BOOST_LIB_VERSION},
      {"libsndfile", sf_version_string()},
      {"CUDA parts", DANAUS_CUDA_PARTS},
      {"GPU", gpus()},
      {"system", host["os"]},
      {"CPU", host["cpu"].get<std::string>() + ", " + host["threads"].dump() + " threads"},
      {"memory left", human_bytes(available_memory())},
      {"recording", recording == 0 ? std::string("none in ") + kRecordingFolder
                                   : std::to_string(recording) + " samples in " + kRecordingFolder},
  };
  print_table(job.out(), {{"danaus"}, {""}}, rows);
  Json object = Json::object();
  for (const auto& row : rows) object[row[0]] = row[1];
  job.log("info").append({{"info", object}});
  return kExitOk;
}

}  // namespace danaus

#include "experiments/count/footprint.hpp"

#include <algorithm>
#include <limits>

#include "experiments/count/imitation.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/cpu/program_work.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

// The unit of the paper's tables: its numbers are of all that is allocated, u and k included.
constexpr double kPaperUnit = 1000. * 1024 * 1024;

struct Bytes {
  Json arrays = Json::object();
  std::int64_t of_arrays = 0, prepared, workspace, constants;
  std::int64_t total() const { return of_arrays + prepared + workspace + constants; }
};

Bytes bytes_of(const Case& asked, const Device& device) {
  const ProgramWork program = measure_program(asked, device);
  Bytes sizes{{}, 0, program.prepared_bytes, program.workspace_bytes, program.constant_bytes};
  for (const Array& array : asked.arrays()) {
    const std::int64_t size = bytes(array.dtype) * array.size();
    sizes.arrays[std::string(array.name)] = size, sizes.of_arrays += size;
  }
  return sizes;
}

// With which all fits into so many bytes; 0: none. What a batch adds is nearly the same for each of its rows, since
// workspaces hold so many channels as fit.
std::int64_t largest_batch(const Case& asked, const Device& device, double available) {
  const std::int64_t most = std::numeric_limits<int>::max() / shape_of(asked).channels;
  const auto total = [&](std::int64_t batch) {
    return static_cast<double>(bytes_of(with_batch(asked, batch), device).total());
  };
  const auto arrays = [&](std::int64_t batch) {
    double sum = 0;
    for (const Array& array : with_batch(asked, batch).arrays())
      sum += static_cast<double>(bytes(array.dtype)) * static_cast<double>(array.size());
    return sum;
  };
  const double of_row = arrays(2) - arrays(1);
  auto batch = std::min(most, static_cast<std::int64_t>(available / of_row));
  while (batch > 0) {
    const double beyond = total(batch) - available;
    if (beyond <= 0) break;
    batch -= std::max<std::int64_t>(1, static_cast<std::int64_t>(beyond / of_row / 2));
  }
  return std::max<std::int64_t>(batch, 0);
}

}  // namespace

std::vector<Case> footprint_cases() {
  std::vector<Case> cases;
  for (bool gated : {false, true})
    for (std::int64_t length = 256; length <= 4 << 20; length *= 2) {
      Convolution problem;
      problem.batch = 64, problem.channels = 768;
      problem.length = problem.filter_length = length;
      problem.pregate = problem.postgate = gated;
      cases.emplace_back(problem);
    }
  return cases;
}

Json footprint(const Case& asked, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  const Bytes sizes = bytes_of(asked, device);
  const Shape shape = shape_of(asked);
  Json row = {{"case", asked.token()},
              {"profile", profile.name},
              {"dtype", name(asked.arrays().front().dtype)},
              {"batch", shape.batch},
              {"channels", shape.channels},
              {"workspace_bytes", sizes.workspace},
              {"total_bytes", sizes.total()},
              {"paper_unit", static_cast<double>(sizes.total()) / kPaperUnit}};
  if (const auto* p = asked.as<Convolution>()) {
    const std::int64_t rows = sizes.arrays.at("u"), k = sizes.arrays.at("k");
    row["mode"] = name(p->mode), row["gated"] = p->pregate || p->postgate;
    row["n"] = measure_program(asked, device).size;
    row["u_bytes"] = row["y_bytes"] = rows, row["k_bytes"] = k;
    row["gates_bytes"] = sizes.of_arrays - 2 * rows - k;
    row["spectrum_bytes"] = sizes.prepared, row["tables_bytes"] = sizes.constants;
    row["additional_bytes"] = rows + sizes.prepared + sizes.workspace + sizes.constants;
  } else {
    row["arrays"] = sizes.arrays, row["prepared_bytes"] = sizes.prepared, row["tables_bytes"] = sizes.constants;
  }
  if (!profile.memory_size) return row;
  const double available = profile.memory_size->value * 1e9;
  row["device_bytes"] = static_cast<std::int64_t>(available);
  row["largest_batch"] = largest_batch(asked, device, available);
  return row;
}

}  // namespace danaus

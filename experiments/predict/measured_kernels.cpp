#include "experiments/judging/measured_kernels.hpp"

#include <algorithm>
#include <fstream>

#include "experiments/files/record.hpp"
#include "experiments/program/terminal.hpp"
#include "kernels/choice.hpp"

namespace danaus {
namespace {

MeasuredKernel measured_kernel(const Json& row, double us, const Convolution& asked, const Device& device) {
  const Variant& variant = *choose(asked, device).variant;
  Convolution problem = asked;
  problem.fold = variant.geometry.fold;
  problem.fft_size = variant.size();
  problem.factors = factors(variant.geometry);
  const Json clock = row.value(Json::json_pointer("/time_us/burst_cold/clock_mhz"), Json());
  return {row["case"],
          problem,
          !asked.factors.empty(),
          &variant,
          us,
          clock.is_number() ? std::optional<double>(clock) : std::nullopt,
          row.value("code", "") != kRevision.kernels,
          row.value("notes", std::vector<std::string>())};
}

void require_same_device(const Json& row, const std::string& where, const Device& device, std::string& name) {
  const std::string found = row.value(Json::json_pointer("/device/name"), "");
  const int multiprocessors = row.value(Json::json_pointer("/device/multiprocessors"), 0);
  if (!name.empty() && found != name)
    fail("model: ", where, ": measured on ", found, ", the rows before it on ", name, "; judge one device at a time");
  if (multiprocessors != device.multiprocessors)
    fail("model: ", where, ": measured on ", found, " with ", multiprocessors, " multiprocessors, profile ",
         device.name, " has ", device.multiprocessors);
  name = found;
}

}  // namespace

MeasuredKernels read_measured_kernels(const std::vector<std::string>& paths, const Device& device) {
  MeasuredKernels measured;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) fail("model: cannot read ", path);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      const std::string where = text(path, ", line ", number);
      const Json row = Json::parse(line, nullptr, false);
      if (!row.is_object() || row.value("schema", Json()) != kSchema || row.value("kind", "") != "bench")
        fail("model: ", where, ": is no row of danaus bench");
      const Json us = row.value(Json::json_pointer("/time_us/burst_cold/median"), Json());
      const bool passed = row.value(Json::json_pointer("/verify/status"), "") == "passed";
      if (row.value("method", "") != "kernel" || !passed || !us.is_number()) continue;
      require_same_device(row, where, device, measured.device);
      const Convolution asked = parse_convolution(row.at("case").get<std::string>());
      if (!has_kernel(asked, device)) {
        ++measured.without_kernel;
        continue;
      }
      const MeasuredKernel kernel = measured_kernel(row, us, asked, device);
      const auto again = std::find_if(measured.kernels.begin(), measured.kernels.end(),
                                      [&](const MeasuredKernel& known) { return known.token == kernel.token; });
      if (again == measured.kernels.end())
        measured.kernels.push_back(kernel);
      else
        *again = kernel;
    }
  }
  if (measured.kernels.empty())
    fail("model: ", join(paths),
         measured.without_kernel > 0 ? ": rows of kernels that this build has not"
                                     : ": no kernel that passed and was timed");
  return measured;
}

}  // namespace danaus

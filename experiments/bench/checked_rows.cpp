#include "experiments/bench/checked_rows.hpp"

#include "experiments/bench/noise.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

std::uint64_t hash_of(std::string_view word) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::uint64_t array_key(const Case& asked, std::string_view array) {
  return noise_key(hash_of(asked.token()), hash_of(array));
}

float array_scale(const Case& asked, const Array& array) {
  return array.role == Role::filter ? static_cast<float>(subject_of(asked, "bench")->filter_deviation()) : 1;
}

double CheckedRows::size_of_sums(std::string_view output) const {
  return subject_of(asked, "bench")->size_of_sums(output, inputs, outputs);
}

CheckedRows checked_rows(const Case& asked) {
  const auto subject = subject_of(asked, "bench");
  CheckedRows rows{subject->some_rows(), {}, {}};
  const Values filters = subject->filters();
  const std::vector<Array> arrays = asked.arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    if (array.role == Role::output) continue;
    const std::uint64_t key = array_key(asked, array.name);
    const float scale = array_scale(asked, array);
    const auto made = filters.find(array.name);
    std::vector<double>& values = rows.inputs[std::string(array.name)];
    for (const Block& block : rows.places[i])
      for (std::int64_t n = block.first; n < block.first + block.count; ++n)
        values.push_back(made != filters.end() ? made->second[n] : round_to(array.dtype, scale * noise(key, n)));
  }
  rows.outputs = truth(rows.asked, rows.inputs);
  return rows;
}

}  // namespace danaus

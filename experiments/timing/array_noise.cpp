#include "experiments/timing/array_noise.hpp"

#include "experiments/operations/subject.hpp"
#include "experiments/timing/noise.hpp"

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

}  // namespace danaus

#include "experiments/bench/checked_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "experiments/bench/noise.hpp"
#include "reference/backward/bounds.hpp"
#include "reference/half.hpp"
#include "reference/spectral/spectral.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kMost = 8;                             // of batch and of channels
constexpr std::int64_t kMostSamples = std::int64_t{1} << 23;  // but for the first and the last, of all of them

// At most `most` of `count`, in order, the first and the last among them. With `pairs`, i comes with the other of 2 j
// and 2 j + 1.
std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t most, bool pairs) {
  std::set<std::int64_t> chosen;
  const auto take = [&](std::int64_t i) {
    chosen.insert(i);
    if (pairs && (i ^ 1) < count) chosen.insert(i ^ 1);
  };
  take(0), take(count - 1);
  std::mt19937_64 random;
  while (std::ssize(chosen) < std::min(count, most))
    take(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
  return {chosen.begin(), chosen.end()};
}

std::vector<std::int64_t> all_of(std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// How many of kMost leave each of so many samples below kMostSamples together.
std::int64_t most_of(std::int64_t samples) { return std::clamp<std::int64_t>(kMostSamples / samples, 1, kMost); }

// Rows (first, second) of an array whose first extents are these; each has `count` numbers.
std::vector<Block> rows_of(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second,
                           std::int64_t seconds, std::int64_t count) {
  std::vector<Block> blocks;
  for (std::int64_t i : first)
    for (std::int64_t j : second) blocks.push_back({(i * seconds + j) * count, count});
  return blocks;
}

CheckedRows rows_of_convolution(const Case& asked, const Convolution& p) {
  const bool whole_batch = !asked.as<Convolution>();
  const auto batch = whole_batch ? all_of(p.batch) : some_of(p.batch, most_of(2 * p.length), true);
  const auto channels = some_of(p.channels, most_of(p.length * std::ssize(batch)), false);
  Convolution fewer = p;
  fewer.batch = std::ssize(batch), fewer.channels = std::ssize(channels);
  const auto same_operation = [&]() -> Case {
    if (asked.as<Backward>()) return Backward{fewer};
    if (asked.as<TrainingStep>()) return TrainingStep{fewer};
    return fewer;
  };
  CheckedRows rows{same_operation(), {}, fewer.batch * fewer.channels, p.batch * p.channels, {}, {}};
  for (const Array& array : asked.arrays())
    rows.places.push_back(array.batched ? rows_of(batch, channels, p.channels, p.length)
                                        : rows_of({0}, channels, p.channels, p.filter_length));
  return rows;
}

CheckedRows rows_of_layer(const Case& asked, const Spectral& p) {
  const std::int64_t points = points_of_row(p);
  const auto items = some_of(p.batch, most_of(points * (p.inputs + p.outputs)), false);
  Spectral fewer = p;
  fewer.batch = std::ssize(items);
  CheckedRows rows{fewer, {}, fewer.batch, p.batch, {}, {}};
  const std::int64_t numbers = points * (p.complex ? 2 : 1);
  for (const Array& array : asked.arrays()) {
    const std::int64_t channels = array.name == "u" ? p.inputs : p.outputs;
    if (array.role == Role::filter)
      rows.places.push_back({{0, array.size()}});
    else if (p.channel_major)
      rows.places.push_back(rows_of(all_of(channels), items, p.batch, numbers));
    else
      rows.places.push_back(rows_of(items, all_of(channels), channels, numbers));
  }
  return rows;
}

std::uint64_t hash_of(std::string_view word) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.)); }

}  // namespace

std::uint64_t array_key(const Case& asked, std::string_view array) {
  return noise_key(hash_of(asked.token()), hash_of(array));
}

float array_scale(const Case& asked, const Array& array) {
  if (array.role != Role::filter) return 1;
  std::int64_t summed = 1;
  if (const Convolution* p = convolution_of(asked))
    summed = p->mode == Mode::causal ? std::min(p->filter_length, p->length) : p->filter_length;
  else if (const auto* layer = asked.as<Spectral>())
    summed = layer->inputs;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(summed)));
}

double CheckedRows::size_of_sums(std::string_view output) const {
  if (output != "dk") return 1;
  return summed_to_taps(*convolution_of(asked), inputs_of(inputs), inputs.at("dy"), 1) / norm(outputs.at("dk"));
}

CheckedRows checked_rows(const Case& asked) {
  const auto chosen = [&] {
    if (const Convolution* p = convolution_of(asked)) return rows_of_convolution(asked, *p);
    if (const auto* layer = asked.as<Spectral>()) return rows_of_layer(asked, *layer);
    fail("bench: ", asked.token(), " is of an operation that is not timed");
  };
  CheckedRows rows = chosen();
  const std::vector<Array> arrays = asked.arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    if (array.role == Role::output) continue;
    const std::uint64_t key = array_key(asked, array.name);
    const float scale = array_scale(asked, array);
    std::vector<double>& values = rows.inputs[std::string(array.name)];
    for (const Block& block : rows.places[i])
      for (std::int64_t n = block.first; n < block.first + block.count; ++n)
        values.push_back(round_to(array.dtype, scale * noise(key, n)));
  }
  rows.outputs = truth(rows.asked, rows.inputs);
  return rows;
}

}  // namespace danaus

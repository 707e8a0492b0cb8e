#include "experiments/io/mask_file.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>

#include "experiments/cli/environment.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/file_name.hpp"

namespace danaus {
namespace {

// Frequencies 0 to N/2 that are kept, as bands.
std::vector<Band> bands_of(std::span<const double> kept) {
  std::vector<Band> bands;
  for (std::int64_t k = 0; k <= std::ssize(kept) / 2; ++k) {
    if (kept[k] == 0) continue;
    if (!bands.empty() && bands.back().last == k - 1)
      bands.back().last = k;
    else
      bands.push_back({k, k});
  }
  return bands;
}

MaskFile read_marks(const std::string& path) {
  const Signal signal = read_npy(path);
  if (signal.shape.size() != 1) fail("mask ", path, ": has ", signal.shape.size(), " dimensions, must be [N]");
  return mask_of_marks(path, signal.values);
}

class JsonMask {
 public:
  explicit JsonMask(const std::string& path) : path_(path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) fail("mask ", path, ": cannot be read");
    json_ = Json::parse(in, nullptr, false);
    if (!json_.is_object()) fail("mask ", path, ": is no JSON object");
  }

  MaskFile read() {
    MaskFile file{path_, {}, 0, numbers<int>("factors")};
    FrequencyMask& mask = file.mask;
    mask.zeroed = numbers<int>("zeroed");
    if (const auto reading = take("reading")) {
      if (*reading != "literal" && *reading != "hermitian") refuse("reading", "must be literal or hermitian");
      if (*reading == "literal") mask.reading = MaskReading::literal;
    }
    for (const auto& band : take("kept").value_or(Json::array())) {
      if (!band.is_array() || band.size() != 2 || !band[0].is_number_integer() || !band[1].is_number_integer())
        refuse("kept", "must be pairs [first, last] of frequencies");
      mask.kept.push_back({band[0], band[1]});
    }
    mask.pieces = numbers<int>("pieces");
    if (!mask.pieces.empty()) mask.blocks = blocks(mask.pieces);
    file.fft_size = size(file.factors);
    if (!json_.empty()) fail("mask ", path_, ": knows no '", json_.begin().key(), "'");
    if (!mask.zeroed.empty() + !mask.kept.empty() + !mask.pieces.empty() != 1)
      fail("mask ", path_, ": must have one of kept, zeroed and pieces");
    return file;
  }

 private:
  [[noreturn]] void refuse(const char* field, const char* rule) const {
    fail("mask ", path_, ": '", field, "' ", rule);
  }

  std::optional<Json> take(const char* field) {
    if (!json_.contains(field)) return std::nullopt;
    const Json value = json_.at(field);
    json_.erase(field);
    return value;
  }

  template <class Number>
  std::vector<Number> numbers(const char* field) {
    std::vector<Number> list;
    for (const Json& value : take(field).value_or(Json::array())) {
      if (!value.is_number_integer() || value < 0 || value > (1 << 30))
        refuse(field, "must be a list of whole numbers");
      list.push_back(value.get<Number>());
    }
    return list;
  }

  std::vector<std::uint8_t> blocks(const std::vector<int>& pieces) {
    double count = 1;
    for (int each : pieces) count *= each;
    if (count < 1 || count > 1 << 24) refuse("pieces", "must multiply to 1 to 2^24 blocks");
    std::vector<std::uint8_t> kept(static_cast<std::size_t>(count), 1);
    for (std::size_t block : numbers<std::size_t>("removed")) {
      if (block >= kept.size()) refuse("removed", "must be numbers of blocks, from 0 on");
      kept[block] = 0;
    }
    return kept;
  }

  // N, as the file or its factors say.
  std::int64_t size(const std::vector<int>& factors) {
    const auto given = take("fft_size");
    if (given && (!given->is_number_integer() || *given < 1)) refuse("fft_size", "must be a positive whole number");
    const auto product = std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
    if (factors.empty() && !given) fail("mask ", path_, ": needs 'fft_size' or 'factors'");
    if (given && !factors.empty() && *given != product) refuse("fft_size", "must be the product of the factors");
    return given ? given->get<std::int64_t>() : product;
  }

  std::string path_;
  Json json_;
};

}  // namespace

MaskFile mask_of_marks(const std::string& name, std::span<const double> kept) {
  const std::int64_t n = std::ssize(kept);
  if (n == 0) fail("mask ", name, ": is [0], must be [N] of a mark for each frequency");
  for (std::int64_t k = 0; k < n; ++k) {
    if (!(kept[k] == 0 || kept[k] == 1)) fail("mask ", name, ": has ", kept[k], " at ", k, ", must be 0 or 1");
    if (kept[k] != kept[(n - k) % n])
      fail("mask ", name, ": has ", kept[k], " at ", k, " and ", kept[(n - k) % n], " at its mirror ", n - k,
           ", must be alike for a real filter");
  }
  MaskFile file{name, {}, n, {}};
  file.mask.kept = bands_of(kept);
  if (file.mask.kept.empty()) fail("mask ", name, ": removes everything");
  return file;
}

MaskFile read_mask(const std::string& path) {
  if (has_ending(path, ".npy")) return read_marks(path);
  if (has_ending(path, ".json")) return JsonMask(path).read();
  fail("mask ", path, ": must be a .npy or a .json file");
}

Convolution with_mask(Convolution problem, const MaskFile& file) {
  if (!problem.mask.empty()) fail("mask ", file.path, ": ", token(problem), " has a mask already");
  if (!problem.fold) problem.fold = Fold::pair;
  if (problem.mode == Mode::causal && problem.fft_size == 0 && problem.factors.empty())
    problem.fft_size = file.fft_size;
  if (!file.factors.empty() && !problem.factors.empty() && problem.factors != file.factors)
    fail("mask ", file.path, ": is for the factors ", join(file.factors), ", ", token(problem), " has ",
         join(problem.factors));
  if (problem.factors.empty()) problem.factors = file.factors;
  if (const std::int64_t n = resolved(problem).fft_size; n != file.fft_size)
    fail("mask ", file.path, ": has N=", file.fft_size, " frequencies, ", token(problem), " has ", n);
  problem.mask = file.mask;
  try {
    kept_frequencies(problem);
  } catch (const std::invalid_argument& error) {
    fail("mask ", file.path, ": ", error.what());
  }
  return problem;
}

void mask_tokens(std::vector<std::string>& tokens, const std::string& path) {
  const MaskFile file = read_mask(path);
  for (std::string& word : tokens) word = token(with_mask(parse_convolution(word), file));
}

void write_mask(PendingFile& file, const Convolution& problem) {
  const FrequencyMask& mask = problem.mask;
  Json json;
  json["fft_size"] = resolved(problem).fft_size;
  if (!mask.kept.empty()) {
    for (const auto& [first, last] : mask.kept) json["kept"].push_back({first, last});
  } else {
    json["factors"] = problem.factors;
    if (!mask.zeroed.empty()) {
      json["zeroed"] = mask.zeroed;
      json["reading"] = mask.reading == MaskReading::literal ? "literal" : "hermitian";
    } else {
      json["pieces"] = mask.pieces;
      json["removed"] = Json::array();
      for (std::size_t block = 0; block < mask.blocks.size(); ++block)
        if (!mask.blocks[block]) json["removed"].push_back(block);
    }
  }
  file.write(json.dump() + '\n');
}

}  // namespace danaus

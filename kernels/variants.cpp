#include "kernels/variants.hpp"

#include <algorithm>
#include <sstream>

#include "kernels/registry.hpp"

namespace danaus {
namespace {

// The sizes of the table, each once.
constexpr auto kSizes = [] {
  std::array<int, kSplits.size()> sizes{};
  std::transform(kSplits.begin(), kSplits.end(), sizes.begin(), [](const Split& split) { return split.size(); });
  return sizes;
}();
static_assert(std::is_sorted(kSizes.begin(), kSizes.end()), "splits are sorted by N");

constexpr bool one_is_preferred(int size) {
  unsigned kinds = 0;
  for (const Split& split : kSplits) {
    if (split.size() != size) continue;
    if (kinds & split.preferred) return false;
    kinds |= split.preferred;
  }
  return kinds == kAll;
}
static_assert(std::all_of(kSizes.begin(), kSizes.end(), one_is_preferred),
              "one split of each N is preferred for each kind");

constexpr bool first_of_its_size(std::size_t i) { return i == 0 || kSizes[i] != kSizes[i - 1]; }

template <int size>
void append(std::vector<Variant>& list) {
  std::vector<Variant> more = variants_of<size>();
#if DANAUS_CUDA_ENABLED
  const std::vector<CudaKernels> kernels = cuda_kernels_of<size>();
  for (std::size_t i = 0; i < more.size(); ++i) more[i].cuda = kernels.at(i);
#endif
  list.insert(list.end(), more.begin(), more.end());
}

template <std::size_t... i>
std::vector<Variant> collected(std::index_sequence<i...>) {
  std::vector<Variant> list;
  const auto one = [&]<std::size_t which>() {
    if constexpr (first_of_its_size(which)) append<kSizes[which]>(list);
  };
  (one.template operator()<i>(), ...);
  return list;
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> kVariants = collected(std::make_index_sequence<kSplits.size()>());
  return kVariants;
}

std::string name(const Variant& v) {
  const Geometry& g = v.geometry;
  const bool chain = g.algorithm == Algorithm::chain;
  std::ostringstream word;
  word << name(g.algorithm) << '_' << (chain ? g.radix : 64 * g.radix) << 'x' << g.columns << '_' << name(g.dtype)
       << '_' << name(g.fold) << (v.gated ? "_gated" : "") << "_w" << v.tuning.warps << "_ring" << v.tuning.ring;
  if (v.tuning.gates > 0) word << "_gates" << v.tuning.gates;
  if (v.tuning.spectrum) word << "_spectrum";
  if (!v.tuning.table) word << "_l1";
  word << "_x" << v.tuning.blocks_per_sm;
  return word.str();
}

// Each number that a sample meets or becomes is rounded once, each way:
//   a stage of mma     its matrix; its product; of 16 points one more, for the sum of two instructions or before them;
//                      of 24 two more
//   a radix of sums    as many additions and products as one value depends on, its constants included
//   a twiddle          itself, and two products added by a fused multiply-add
// Between the two ways the spectrum and the product with it. The right angle's weights are part of matrices and
// twiddles but where a radix of sums comes first: there, those over its blocks round as a twiddle does.
int roundings(const Geometry& g) {
  std::vector<int> stages = factors(g);
  const bool chain = g.algorithm == Algorithm::chain;
  constexpr int kTwiddle = 3;
  const bool right_angle = g.fold == Fold::right_angle;
  if (right_angle && !chain && g.radix == 3) stages.erase(stages.begin()), stages.front() = 24;
  const auto stage = [&](int factor) {
    if (factor == 16) return chain && g.dtype == Dtype::bf16 ? 2 : 3;
    if (factor == 8) return chain ? 5 : 2;
    return factor == 24 || factor == 6 ? 4 : factor == 3 ? 3 : 2;
  };
  int one_way = kTwiddle * (static_cast<int>(stages.size()) - 1);
  for (int factor : stages) one_way += stage(factor);
  if (right_angle && g.radix > (chain ? 1 : 3)) one_way += kTwiddle;
  return 2 * one_way + kTwiddle;
}

}  // namespace danaus

#include "kernels/plan/choice.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/named_kernel.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

bool is_size(std::int64_t size) {
  const auto has_size = [=](const auto& v) { return v->size == size; };
  return std::ranges::any_of(variants(), has_size) || std::ranges::any_of(long_variants(), has_size);
}

Fold fold_of(const Convolution& p) {
  if (p.fold) {
    if (*p.fold == Fold::half) fail("plan: the half fold has no kernel; plain, pair and rightangle have");
    return *p.fold;
  }
  const bool n_is_length = resolved(p).fft_size == p.length;
  if (p.mode != Mode::circular || !n_is_length || !is_size(p.length)) return Fold::right_angle;
  // A row without a partner, half of whose pair would be empty, is by half a spectrum, where a kernel has that. Else by
  // a pair: the right angle takes as long, but longer to transform a filter, whose whole spectrum it needs. On an H100,
  // H=4096, with the filter's transform: 256 11.9 us for 17.6, 1K 36.5 for 51.7, 1536 65.0 for 79.7.
  if (p.batch > 1) return Fold::pair;
  const bool plain = std::ranges::any_of(variants(), [&](const auto& v) {
    return v->fold == Fold::plain && v->size == p.length && v->dtype == p.dtype &&
           v->gated == (p.pregate || p.postgate) && (p.factors.empty() || v->factors == p.factors);
  });
  return plain ? Fold::plain : Fold::pair;
}

// A kernel that needs no FFT, where one computes the case and the case names none.
const Variant* without_fft(const Convolution& p, const Device& device) {
  if (p.fold || p.fft_size != 0 || !p.factors.empty() || !p.mask.empty()) return nullptr;
  const int device_class = device_class_of(device);
  for (const auto& v : variants())
    if (v->size == 0 && v->dtype == p.dtype && v->gated == (p.pregate || p.postgate) && v->preferred &&
        v->suits(device_class) && v->takes(p))
      return v.get();
  return nullptr;
}

void check_whole(std::string_view what, std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) fail("plan: ", what, '=', value, ", must be at most 2^31 - 1");
}

void check_ranges(const Convolution& p) {
  validate(p);
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    fail("plan: dtype ", name(p.dtype), " has no kernel; f16 and bf16 have");
  check_whole("K", p.filter_length), check_whole("B", p.batch), check_whole("H", p.channels),
      check_whole("B*H", p.batch * p.channels);
}

// Chunks of the N that the case names.
const Variant& choose_chunks(const Convolution& p, const Device& device) {
  check_whole("L + N", p.length + p.fft_size);
  Convolution of_chunk = p;  // a pair of pieces
  of_chunk.mode = Mode::circular, of_chunk.batch = 2;
  of_chunk.length = p.fft_size;
  const Variant& inner = choose_whole(of_chunk, device);
  const auto found = std::ranges::find_if(chunk_variants(), [&](const auto& v) { return &v->inner() == &inner; });
  if (found == chunk_variants().end())
    fail("plan: N=", p.fft_size, ", chunks of L=", p.length, " are of at most ", variants().back()->size, " points");
  return **found;
}

}  // namespace

int device_class_of(const Device& device) {
  if (device.sm < 80)
    fail("plan: ", device.name, " has compute capability ", device.sm / 10, '.', device.sm % 10, ", kernels need 8.0");
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (device.block_bytes >= kDeviceClasses[i].block_bytes) return static_cast<int>(i);
  fail("plan: ", device.name, " has ", device.block_bytes, " bytes of shared memory a block, kernels need at least ",
       kDeviceClasses.back().block_bytes);
}

const Variant& choose(const Convolution& p, const Device& device) {
  check_ranges(p);
  if (const Variant* named = named_variant(); named && obstacle_of(*named, p, device).empty()) return *named;
  if (asks_for_chunks(p)) return choose_chunks(p, device);
  const bool open = !p.fold && p.fft_size == 0 && p.factors.empty() && p.mask.empty();
  if (!open || p.length <= variants().back()->size) return choose_whole(p, device);
  const Variant* whole = p.length <= long_variants().back()->size ? &choose_whole(p, device) : nullptr;
  if (whole && whole->size == 0) return *whole;
  const ChunkVariant* chunks = cheaper_chunks(p, whole, device);
  return chunks ? *chunks : choose_whole(p, device);
}

const Variant& choose_whole(const Convolution& p, const Device& device) {
  check_ranges(p);
  if (const Variant* direct = without_fft(p, device)) return *direct;

  const Fold fold = fold_of(p);
  if (const std::int64_t n = resolved(p).fft_size; fold == Fold::right_angle && !p.mask.empty() && n != p.length)
    fail("plan: N=", n, ", a circular case with a frequency mask has N = L=", p.length);
  if (fold == Fold::right_angle && !p.mask.empty())
    fail(
        "plan: a frequency mask needs the pair fold or the plain one; a circular case has them where L is an FFT size, "
        "and L=",
        p.length, " is none");
  const bool linear = fold == Fold::right_angle;  // computes that, of which a circular case adds up
  const bool of_length = !linear && p.mode == Mode::circular;
  const std::int64_t asked = p.fft_size != 0 || !p.factors.empty() ? resolved(p).fft_size : of_length ? p.length : 0;
  const std::int64_t least = linear || of_length ? p.length : smallest_linear_fft_size(p);
  if (of_length && asked != p.length)
    fail("plan: N=", asked, ", a circular convolution in the ", name(fold), " fold has N = L=", p.length,
         "; rightangle takes any N >= L");
  if (asked != 0 && asked < least) fail("plan: N=", asked, ", must be at least ", least);

  const bool gated = p.pregate || p.postgate;
  std::vector<const Variant*> kin;  // right but for size, factors and device
  for (const auto& v : variants())
    if (v->size > 0 && v->dtype == p.dtype && v->fold == fold && v->gated == gated) kin.push_back(v.get());
  for (const auto& v : long_variants())
    if (v->dtype == p.dtype && v->fold == fold && v->gated == gated) kin.push_back(v.get());
  const std::string_view which = p.mask.empty() ? "" : " that masks frequencies";
  const auto only = [](const std::vector<const Variant*>& list, const std::function<bool(const Variant&)>& condition) {
    std::vector<const Variant*> rest;
    std::copy_if(list.begin(), list.end(), std::back_inserter(rest), [&](const Variant* v) { return condition(*v); });
    return rest;
  };

  if (kin.empty()) fail("plan: the ", name(fold), " fold has no kernel with gates; pair and rightangle have");

  std::vector<int> sizes;
  for (const Variant* v : kin)
    if (sizes.empty() || sizes.back() != v->size) sizes.push_back(v->size);
  if (asked != 0 && !std::count(sizes.begin(), sizes.end(), asked))
    fail("plan: N=", asked, " has no kernel", which, "; there are N = ", join(sizes, ", "));
  if (least > sizes.back())
    fail("plan: ", token(p), " needs an FFT of ", least, " points; the largest kernel", which, " has ", sizes.back());
  const int size = static_cast<int>(asked != 0 ? asked : *std::lower_bound(sizes.begin(), sizes.end(), least));

  const auto of_size = only(kin, [=](const Variant& v) { return v.size == size; });
  // Of a long mask factors may be others, since rows that it leaves nothing of have none of any factors.
  const auto exact = only(of_size, [&](const Variant& v) { return p.factors.empty() || v.factors == p.factors; });
  const auto is_long = [](const Variant& v) { return v.outer_rows() > 1; };
  const auto split = exact.empty() && !p.mask.empty() ? only(of_size, is_long) : exact;
  if (split.empty()) {
    std::string known;
    for (const Variant* v : of_size) {
      const std::string word = join(v->factors);
      if (known.find(word) == std::string::npos) known += (known.empty() ? "" : ", ") + word;
    }
    fail("plan: N=", size, " has no kernel of factors ", join(p.factors), "; there are ", known);
  }

  const int device_class = device_class_of(device);
  const auto fitting = only(split, [=](const Variant& v) { return v.suits(device_class); });
  if (fitting.empty()) {
    const auto smaller = [](const Variant* a, const Variant* b) { return a->shared_bytes < b->shared_bytes; };
    const auto nearest = only(kin, [=](const Variant& v) { return v.suits(device_class) && v.size <= size; });
    fail("plan: N=", size, " needs ", (*std::min_element(split.begin(), split.end(), smaller))->shared_bytes,
         " bytes of shared memory a block, ", device.name, " has ", device.block_bytes,
         "; the nearest that fits is N=", nearest.back()->size, " of factors ", join(nearest.back()->factors),
         ", for rows of at most ", nearest.back()->size, " samples");
  }
  const auto taking = only(fitting, [&](const Variant& v) { return v.takes(p); });
  const auto& open = taking.empty() ? fitting : taking;
  const auto first = [&](bool Variant::*is_chosen) { return std::ranges::find_if(open, is_chosen); };
  auto chosen = p.length % 8 != 0 ? first(&Variant::unaligned) : open.end();
  if (chosen == open.end()) chosen = first(&Variant::preferred);
  return chosen != open.end() ? **chosen : *open.front();
}

namespace {

// In place of `dense` those outer passes that leave the least part of their rows live, where that is a tenth less; or
// of a cluster, which is as soon as outer passes with a third of their rows: on an H100 dense ones take 1.7 times as
// long, of which what is between them is two thirds.
const Variant* fewest_rows(const Variant& dense, int device_class, std::span<const std::uint8_t> live) {
  const auto part_of = [&](const Variant& v) {
    const std::vector<int> rows = v.live_rows(live);
    return rows.empty() ? 1 : static_cast<double>(rows.size()) / v.outer_rows();
  };
  double least = dense.way() == Way::clusters ? 1. / 3 : 0.9 * part_of(dense);
  const Variant* best = nullptr;
  for (const auto& v : long_variants()) {
    if (v->size != dense.size || v->dtype != dense.dtype || v->fold != dense.fold || v->gated != dense.gated ||
        !v->compiled || !v->suits(device_class))
      continue;
    if (const double part = part_of(*v); part < least) best = v.get(), least = part;
  }
  return best;
}

// What single bf16 rows of 32K leave out takes as long as it saves on an H100, and 7 % longer on an H200.
bool saves_nothing(const Variant& sparse) {
  return sparse.dtype == Dtype::bf16 && sparse.fold == Fold::plain && sparse.size == 32768;
}

}  // namespace

SparseChoice choose_sparse(const Variant& dense, const Device& device, std::span<const std::uint8_t> kept) {
  if (std::ssize(kept) != dense.size || kept.empty() || &dense == named_variant()) return {};
  if (dense.way() == Way::passes || dense.way() == Way::clusters)
    return {fewest_rows(dense, device_class_of(device), live_with_mirrors(kept)), {}};
  const auto found = std::ranges::find_if(sparse_variants(), [&](const auto& v) {
    return v->compiled && v->dtype == dense.dtype && v->fold == dense.fold && v->gated == dense.gated &&
           v->factors == dense.factors && v->suits(device_class_of(device)) && !saves_nothing(*v);
  });
  if (found == sparse_variants().end()) return {};
  LivePart part = live_part(**found, live_with_mirrors(kept));
  return {part.pays() ? found->get() : nullptr, std::move(part)};
}

const Variant& choose(const Convolution& problem, const Device& device, std::span<const std::uint8_t> kept) {
  const Variant& dense = choose(problem, device);
  const Variant* const sparse = choose_sparse(dense, device, kept).variant;
  return sparse ? *sparse : dense;
}

bool takes_several_launches(const Variant& variant) {
  return variant.way() == Way::passes || variant.way() == Way::pieces;
}

bool has_kernel(const Convolution& problem, const Device& device) {
  try {
    return choose(problem, device).compiled;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace danaus

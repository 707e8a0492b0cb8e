// Convolutions with filters much shorter than their rows, chunk by chunk: overlap-save by a fused kernel of N < L
// points.
#pragma once

#include <memory>
#include <span>

#include "kernels/families/pieces/family.hpp"
#include "kernels/plan/arrays.hpp"

namespace danaus {

// Rows in pieces of N samples, two of them a pair.
class ChunkVariant final : public Variant {
 public:
  explicit ChunkVariant(const Variant& inner);

  const Variant& inner() const { return inner_; }
  Way way() const override { return Way::pieces; }
  bool takes(const Convolution&) const override { return true; }
  std::vector<std::uint32_t> make_tables() const override { return inner_.make_tables(); }
  std::vector<std::int32_t> spectrum_slots() const override { return inner_.spectrum_slots(); }
  double spectrum_scale() const override { return inner_.spectrum_scale(); }
  int roundings() const override { return inner_.roundings(); }
  const RowLayout& rows() const override { return inner_.rows(); }
  Share share(const Load& load) const override { return inner_.share(load); }

 private:
  const Variant& inner_;
};

// By N, of each fused kernel of pairs.
std::span<const std::unique_ptr<const ChunkVariant>> chunk_variants();

// Whether a case asks for chunks, by an N that is less than L.
inline bool asks_for_chunks(const Convolution& p) { return p.fft_size != 0 && p.fft_size < p.length; }

// How a row is cut. Piece p gives `step` samples of y from `first` + p `step` on, and has `lead` samples of u before
// them: K - 1 at least, and so many that the N - lead that it gives are whole lines of a tensor map. The last one ends
// where the row does, so that all `count` of them lie in the row. What stands before `first` is left for pieces that
// have zeros before the row, or, circular, its end.
//
// Of the adjoint, what comes behind a sample of dy gives it: pieces have none before those that they give, begin with
// the row, and leave its end.
struct Chunks {
  std::int64_t size, lead, step, first, count;  // N
  std::int64_t rest, rest_end;                  // samples of y that are left
  Chunks(const Convolution& p, const Variant& inner, Pass pass = Pass::forward);
};

// The variant of chunks that computes the case soonest, where one does it sooner than `whole`, or null; `whole` null:
// nothing else computes it.
const ChunkVariant* cheaper_chunks(Convolution p, const Variant* whole, const Device& device);

// What the filter's transform is asked for: filters of N taps, as often as the spectra are wanted.
Convolution chunk_filters(const Convolution& p, const ChunkVariant& variant, const Device& device);

// The convolution `problem` of a case, of these of its arrays, with what is prepared at the place; its adjoint with
// what is prepared for that, a conjugate spectrum of filters that are not turned.
std::unique_ptr<Step> make_chunked_convolution(const Case& asked, const Convolution& problem,
                                               const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                               const ChunkVariant& variant, const Device& device, Pass pass);
// The transform of its filters.
std::unique_ptr<Step> make_chunk_filter(const Case& asked, const Convolution& problem, const Prepared& prepared,
                                        const ChunkVariant& variant, const Device& device, Pass pass);

}  // namespace danaus

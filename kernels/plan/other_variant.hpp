// The kernel of another operation than a convolution by FFT, as those see it that ask a plan for its variant.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/plan/program.hpp"

namespace danaus {

class OtherVariant final : public Variant {
 public:
  // `words` name it; a block takes so many bytes of shared memory, and a number is rounded so often on its way.
  template <class Layout>
  OtherVariant(const KernelId& kernel, const Layout& layout, std::string words, int bytes, int roundings)
      : roundings_(roundings) {
    family = kernel.family, line = kernel.line, instance = kernel.instance;
    dtype = layout.key.dtype, fold = Fold::plain, gated = false, size = 0;
    preferred = compiled = true, classes = 0b111;
    threads = layout.threads, shared_bytes = bytes, blocks_per_sm = layout.tuning.blocks;
    name = std::move(words);
  }
  int roundings() const override { return roundings_; }

  bool takes(const Convolution&) const override { return false; }
  std::vector<std::uint32_t> make_tables() const override { refuse(); }
  std::vector<std::int32_t> spectrum_slots() const override { refuse(); }
  double spectrum_scale() const override { refuse(); }
  const RowLayout& rows() const override { refuse(); }
  Share share(const Load&) const override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw std::logic_error(text(name, " is no kernel of a convolution by FFT")); }
  int roundings_;
};

}  // namespace danaus

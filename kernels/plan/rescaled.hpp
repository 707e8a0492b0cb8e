// Items of a long convolution that its kernels have no room for, once more (families/rescaled): the last launch of a
// call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/families/rescaled/family.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

class RescaledItems {
 public:
  // Of the live rows of a masked spectrum; of none all.
  RescaledItems(const LongVariant& variant, std::span<const int> rows, std::string description);

  // Whether there are any: single rows of bf16 have powers of two of their own anyway.
  bool exist() const { return layout_.pair || layout_.dtype == Dtype::f16; }
  std::vector<std::uint32_t> constants() const;
  void fit(const Machine& machine);

  // Of all items, those that passes leave.
  std::int64_t energy_bytes(std::int64_t channels, std::int64_t batch) const {
    return exist() ? 8 * channels * items_of_channel(batch) * (columns_ / 8) : 0;
  }
  int items_of_channel(std::int64_t batch) const {
    return static_cast<int>((batch + layout_.item_rows - 1) / layout_.item_rows);
  }
  // Numbers from one item's energies to the next one's.
  std::int64_t item_energies() const { return columns_ / 4; }
  // Room for the points of one block.
  std::int64_t block_bytes() const { return std::int64_t{8} * size_; }

  // `a` are those of all rows; `points` has room for so many bytes.
  Launch launch(const ConvolutionArguments& a, const float* energies, void* points, std::int64_t bytes,
                const Machine& machine, std::span<const std::uint32_t> constants) const;

 private:
  KernelId kernel() const;

  rescaled::Layout layout_;
  int size_, outer_rows_, columns_;  // N = N1 N2
  int live_;
  double scale_;
  std::vector<std::uint32_t> slots_;  // of rows, of columns
  std::string description_;
  std::int64_t concurrent_ = 1;
};

}  // namespace danaus

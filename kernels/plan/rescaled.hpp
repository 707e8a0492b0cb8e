// The last one or two launches of a step. They compute again what kernels in f16 may have wrong (families/rescaled).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/families/correlator.hpp"
#include "kernels/families/rescaled/family.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

class RescaledItems {
 public:
  // Of a long convolution, of the live rows of a masked spectrum; of none all.
  RescaledItems(const LongVariant& variant, std::span<const int> rows, std::string description);
  // Of dk, through energies of so many units of an item, and of the gradients of rows where the kernel makes `all`.
  RescaledItems(const Convolution& problem, const Correlator& correlator, Fold fold, int size, int units,
                std::string description);

  // Whether there are any.
  bool exist() const { return rescaled::is_needed(layout_.dtype, layout_.key.fold); }
  std::vector<std::uint32_t> constants() const { return exist() ? slots_ : std::vector<std::uint32_t>{}; }
  void fit(const Machine& machine);

  // Of all items of an array of rows.
  std::int64_t energy_bytes(std::int64_t channels, std::int64_t batch) const {
    return exist() ? 4 * channels * items_of_channel(batch) * item_energies() : 0;
  }
  int items_of_channel(std::int64_t batch) const {
    return static_cast<int>((batch + layout_.item_rows - 1) / layout_.item_rows);
  }
  // Numbers from one item's energies to the next one's.
  std::int64_t item_energies() const { return 2 * units_; }
  // Room for one block that computes, and for what others have found.
  std::int64_t least_bytes() const { return exist() ? kFoundBytes + block_bytes() : 0; }

  // Convolutions of rows [B, H, L]: y of `u`, the gates, and energies of the products.
  struct Rows {
    RowArray u, pregate, postgate, y;
    const float* energies;
    bool conjugate = false;
  };
  // And what has the gradient dk.
  struct Taps {
    Rows u, dy;
    float* dk;
  };
  // `a` says where the spectrum, its factors and ranges stand, and how many rows there are, of which `channels` are
  // looked at. `memory` has so many bytes, least_bytes() or more.
  void launch(const ConvolutionArguments& a, int channels, std::span<const Rows> rows, const std::optional<Taps>& taps,
              void* memory, std::int64_t bytes, const Machine& machine, std::span<const std::uint32_t> constants,
              const LaunchTo& to) const;

 private:
  static constexpr std::int64_t kMostLooking = 1024, kFoundBytes = 4 * kMostLooking;  // blocks that look
  static constexpr std::int64_t kMostLookedAt = 128 << 10;  // bytes of a block, which take as long as one more launch

  KernelId kernel() const;
  std::int64_t block_bytes() const { return 8 * block_points_; }

  rescaled::Layout layout_;
  int size_, outer_rows_, live_, units_;  // N, N1
  double scale_ = 0;
  std::vector<std::uint32_t> slots_;  // of rows, of columns
  std::int64_t block_points_;
  int correlation_size_ = 0;
  std::int64_t filter_length_ = 0;
  bool circular_ = false;
  float least_share_ = 1;
  std::string description_;
  std::int64_t concurrent_ = 1;
};

}  // namespace danaus

// An outer pass of a long convolution as a launch (families/outer).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/families/outer/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

class OuterPass {
 public:
  // Between rows of N1 `columns` points, N1 that of the line of the family's table.
  // Of `rows` of the frequencies k_hi, ascending, those alone; of none all.
  OuterPass(Dtype dtype, Fold fold, std::size_t line, bool back, int columns, std::string description,
            std::span<const int> rows = {});

  const outer::Layout& layout() const { return layout_; }
  std::vector<std::uint32_t> constants() const;
  void fit(const Machine& machine);

  // Channels `first` to `first` + `count` - 1 of samples [B, H, L]: from them to planes, or back.
  struct Rows {
    const char* name;
    RowArray samples;
    const char* gate_name;
    RowArray gate;  // or none
    void* planes;
    std::int64_t batch, channels, length, first, count;
    float* energies = nullptr;  // of the first item, or null
    int items_of_channel = 0;   // there
  };
  Launch launch(const Rows& rows, const Machine& machine, std::span<const std::uint32_t> constants) const;

 private:
  KernelId kernel() const;

  outer::Layout layout_;
  std::size_t line_;
  int columns_;
  std::vector<std::uint32_t> slots_;  // of rows, where not all are there
  int rows_;
  std::string description_;
  std::int64_t concurrent_ = 1;
};

// Rows of planes that a batch becomes, and bytes of one of a channel.
inline std::int64_t plane_rows(Fold fold, std::int64_t batch) {
  return fold == Fold::pair ? (batch + 1) / 2 * 2 : 2 * batch;
}
inline std::int64_t plane_bytes(std::int64_t size) { return 2 * size; }

}  // namespace danaus

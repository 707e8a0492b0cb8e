// Passes of spectral layers: launches of the kernels of families/layer, as far as they are known before a call.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/families/layer/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/program.hpp"

namespace danaus::spectral {

// What a pass multiplies by: the layer's weights, or the matrix of the first of two axes.
enum class Factor { none, weights, axis_there, axis_back };

// What a launch does, whatever the batch of a call.
struct Shape {
  layer::Stage stage;
  Factor factor;
  std::int64_t items;  // of a call, at most
  int inputs, outputs, frequencies;
  bool has_own_matrix() const { return factor == Factor::axis_there || factor == Factor::axis_back; }
};

// How an item is shared out among blocks: into as few slices as shared memory and multiprocessors allow.
struct Cut {
  layer::Places places;
  int frequency_slices, channel_slices;
  int blocks;  // that run at once
  int slices() const { return frequency_slices * channel_slices; }
  // Tiles of frequencies in the table there. Slices need not divide the tiles: the last one reads zeros beyond them.
  int table_tiles() const { return frequency_slices * places.frequency_tiles; }
  std::int64_t units(std::int64_t items) const { return ratio_up(items, places.columns) * slices(); }
};

// Bytes of a table, there or back, of an axis of so many points and tiles of frequencies.
int table_bytes(const layer::Layout& layout, int length, int tiles);

// Where warps outnumber the tasks of a transform they share out the points, if `add` finds room for sums of all parts
// but the first: it is given a place and bytes.
template <class Add>
void place_parts(layer::Places& places, const layer::Layout& layout, int tasks, int length, const Add& add) {
  const int parts = std::min(layout.tuning.warps / tasks, layer::Layout::steps_of(layer::part_of(length), layout.step));
  if (!layout.in_parts || parts < 2) return;
  add(places.parts_at, parts * tasks * layout.tuning.tiles * 1024);
  if (places.parts_at >= 0) places.parts = parts;
}

// What a kernel has to know of an axis. The table has so many tiles of its kept frequencies.
void give_axis(layer::AxisArguments& a, const layer::Layout& layout, int length, int frequencies, int tiles);
// Of tiles of points, what warps make at once.
int groups_of_points(const layer::Layout& layout, int tiles);
// Whether lanes read and write their points of such rows in one access each.
bool is_aligned(const layer::Layout& layout, int length, std::initializer_list<const void*> rows);

KernelId id_of(const layer::Choice& choice);
void fit(const Machine& machine, const layer::Choice& choice);

class Pass {
 public:
  // Where shared memory has no room for a slice there is none, nor one launch of a layer that takes less time by
  // passes. `description` of what it is a pass of.
  static std::optional<Pass> make(const Spectral& problem, const Shape& shape, const Device& device,
                                  const std::string& description);

  const layer::Choice& choice() const { return choice_; }
  const layer::Layout& layout() const { return layout_; }
  int shared_bytes() const { return cut_.places.bytes; }
  const std::vector<std::uint32_t>& words() const { return words_; }
  void fit(const Machine& machine) const { spectral::fit(machine, choice_); }

  // Of arrays, rows and items in `a`. Weights are the case's, unless the pass has its own matrix.
  Launch launch(const Machine& machine, layer::Arguments a, std::span<const std::uint32_t> constants,
                std::initializer_list<Region> regions) const;

 private:
  Pass(const Spectral& problem, const Shape& shape, const layer::Choice& choice, const Cut& cut,
       const std::string& description);
  Spectral problem_;
  Shape shape_;
  layer::Choice choice_;
  layer::Layout layout_;
  Cut cut_;
  std::string description_;
  std::vector<std::uint32_t> words_;  // tables, then the pass's own matrix
  std::int64_t inverse_at_ = 0, matrix_at_ = 0;
  double scale_ = 1;
};
// The same, which throws.
Pass make_pass(const Spectral& problem, const Shape& shape, const Device& device, const std::string& description);

// Matrices of weights, and their bytes in the order of fragments; frequencies kept on an axis.
std::int64_t matrices_of(const Spectral& problem);
std::int64_t weight_bytes(const Spectral& problem, const layer::Layout& layout);
int kept(const Spectral& problem, std::size_t axis);
// Items of a call of so many: a channel-major field's are not its first extent, so that a call has all of them.
inline std::int64_t batch_of(const Spectral& problem, std::int64_t of_call) {
  return problem.channel_major ? problem.batch : of_call;
}

inline constexpr int kManyItems = 0x7fffffff;

// Rows of a field of so many channels: of the whole of it by items and channels, or, of two axes, by planes of some
// items, whose rows along X are channels, or by rows, an item for each point of X.
struct Field {
  const Spectral& p;
  std::int64_t channels, batch;
  std::int64_t plane() const { return points_of_row(p); }
  std::int64_t bytes() const { return danaus::bytes(p.dtype) * (p.complex ? 2 : 1) * plane() * channels * batch; }
  layer::Rows rows() const {
    return p.channel_major ? layer::Rows{0, plane(), plane() * batch} : layer::Rows{0, plane() * channels, plane()};
  }
  layer::Rows planes() const {
    const std::int64_t row = p.lengths.back();
    return p.channel_major ? layer::Rows{plane() * batch, plane(), row} : layer::Rows{0, plane(), row};
  }
  layer::Rows rows_of_planes() const { return {rows().item, p.lengths.back(), rows().channel}; }
  // In bytes, to an item.
  std::int64_t offset(std::int64_t item) const {
    return item * (p.channel_major ? 1 : channels) * plane() * danaus::bytes(p.dtype) * (p.complex ? 2 : 1);
  }
};

// Of a row of so many frequencies, which begins at a pair of them.
inline std::int64_t in_pairs(std::int64_t frequencies) { return (frequencies + 1) / 2 * 2; }

// Spectra of some items in a workspace: [items, channels, frequencies] or [channels, items, frequencies].
struct Workspace {
  const Spectral& p;
  std::int64_t channels;
  std::int64_t row() const { return in_pairs(kept_count(p)); }  // of a channel, in complex numbers
  static std::int64_t number_bytes(const Spectral& p) { return p.dtype == Dtype::f32 ? 8 : 4; }
  std::int64_t bytes(std::int64_t items) const {
    return (items * channels * row() * number_bytes(p) + 255) / 256 * 256;
  }
  layer::Spectra by_channels(void* data, std::int64_t items) const {
    return {static_cast<std::uint32_t*>(data), p.channel_major ? row() : channels * row(),
            p.channel_major ? items * row() : row(), true};
  }
  layer::Spectra by_planes(void* data) const {
    const int inner = kept(p, p.lengths.size() - 1);
    return {static_cast<std::uint32_t*>(data), row(), inner, inner % 2 == 0};
  }
};

// Items that are a step of the inner kind apart in a pass of some items.
inline int inner_items(const Spectral& p, std::int64_t items) {
  return p.channel_major && p.lengths.size() == 2 ? static_cast<int>(items) : kManyItems;
}

// Samples to spectra.
class There {
 public:
  There(const Spectral& problem, std::int64_t channels, const Device& device, const std::string& description);
  const Pass& pass() const { return pass_; }
  // Of `count` items from `first` on, of the `batch` of the call.
  Launch launch(const Machine& machine, std::span<const std::uint32_t> constants, const char* name, const void* samples,
                void* spectra, std::int64_t batch, std::int64_t first, std::int64_t count) const;

 private:
  Spectral problem_;
  std::int64_t channels_;
  Pass pass_;
};

}  // namespace danaus::spectral

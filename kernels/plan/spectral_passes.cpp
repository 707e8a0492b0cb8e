#include "kernels/plan/spectral_passes.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/tile/table.hpp"

namespace danaus::spectral {
namespace {

using layer::Product;
using layer::Stage;

layer::Choice choose(const Spectral& p, const Shape& shape, bool in_cluster) {
  const Product product = shape.factor == Factor::none                   ? Product::none
                          : shape.factor == Factor::weights && !p.shared ? Product::each
                                                                         : Product::shared;
  const layer::Size size{shape.items, shape.inputs, shape.outputs, shape.frequencies};
  return layer::choose(p, shape.stage, product, size, in_cluster);
}

// Items of the batch that a block may have at once: where each frequency has weights of its own columns of one product.
int most_columns(const Shape& shape, const layer::Layout& layout) {
  if (layout.in_teams) return layout.tuning.teams;
  constexpr std::int64_t kColumnsOfProduct = 8;
  return layout.key.product == Product::each ? static_cast<int>(std::min(shape.items, kColumnsOfProduct)) : 1;
}

int numbers_of_row(const layer::Layout& layout, int length) { return length * (layout.key.complex ? 2 : 1); }
std::int64_t weights_per_row(const Shape& shape, const layer::Layout& layout, int length) {
  return layer::weights_per_row(shape.frequencies, shape.outputs, numbers_of_row(layout, length));
}

// What a layer's blocks, one after the other, take for rows and for the weights of their slices, in rows of inputs:
// weights, so many for each number of a row, come from L2, which gives four numbers while memory gives one.
double rows_in_turn(const Shape& shape, const Cut& cut, std::int64_t weights) {
  return static_cast<double>(ratio_up(cut.units(shape.items), cut.blocks)) *
         (static_cast<double>(weights) / 4 / cut.slices() + cut.places.columns);
}

// Multiprocessors that blocks are cut for: of clusters half, as one begins when all its places are free at once.
int usable_multiprocessors(const layer::Layout& layout, const Device& device) {
  return device.multiprocessors / (layout.in_cluster ? 2 : 1);
}

// Blocks of a cluster, each of which transforms a share of the inputs: two where spectra are many, which take long to
// send; or 1.
int shares(const layer::Layout& layout, const Cut& cut, std::int64_t items, const Device& device) {
  constexpr int kFewestTiles = 4, kManyBytes = 64 << 10;
  const int tiles = cut.places.input_tiles, bytes = tiles * layout.steps_of_tile * cut.places.u_step;
  if (!layout.in_cluster || device.sm < 90 || tiles < kFewestTiles) return 1;
  if (cut.units(items) > usable_multiprocessors(layout, device)) return 1;
  for (int count = bytes > kManyBytes ? 2 : 8; count > 1; count /= 2)
    if (cut.channel_slices % count == 0 && tiles % count == 0) return count;
  return 1;
}

// Adds tables to shared memory, as far as there is room: those that a block would read more than once, and all of a
// layer in one launch.
template <class Room>
Cut with_tables(Cut of, const Shape& shape, const layer::Layout& layout, int length, int blocks, const Room& room) {
  of.blocks = blocks;
  const int bytes_of_table = table_bytes(layout, length, of.table_tiles());
  const std::int64_t units = of.units(shape.items);
  int taken = 0;
  const auto add = [&](int& place, int bytes) {
    if (!room(taken + bytes)) return;
    place = of.places.bytes + taken, taken += bytes;
  };
  const int tasks_of_frequency =
      of.places.columns * (layout.key.product == Product::none ? of.places.output_tiles : of.places.share_tiles);
  place_parts(of.places, layout, tasks_of_frequency * of.places.frequency_groups, length, add);
  if (layout.staged > 0) add(of.places.staged_at, layout.tuning.warps * layout.staged * layer::Layout::kStaged);
  const bool again = units > of.blocks || shape.stage == Stage::layer;
  if (layout.from_samples && (again || tasks_of_frequency > 1)) add(of.places.forward_at, bytes_of_table);
  if (layout.to_samples && (again || of.places.columns * of.places.output_tiles > 1))
    add(of.places.inverse_at, bytes_of_table);
  if (layout.key.product == Product::shared && (layout.in_teams || (!layout.split && units <= of.blocks)))
    add(of.places.weights_at, 1024 * of.places.output_tiles * of.places.input_tiles * layout.steps_of_tile);
  of.places.bytes += taken;
  return of;
}

std::optional<Cut> cut(const Shape& shape, const layer::Layout& layout, int length, const Device& device) {
  const bool by_frequency = layout.slices_frequencies;
  const int grain = by_frequency ? layout.tile_grain : 1;
  const int channel_tiles = static_cast<int>(ratio_up(shape.outputs, 16));
  const int tiles = by_frequency ? layout.tiles_of(shape.frequencies) : channel_tiles;
  const auto made = [&](int slice, int columns) -> Cut {
    const int frequencies = by_frequency ? std::min(8 * slice, shape.frequencies) : shape.frequencies;
    const int frequency_slices = by_frequency ? static_cast<int>(ratio_up(tiles, slice)) : 1;
    std::int64_t channel_slice = by_frequency ? channel_tiles : slice;
    // Where frequencies are shared out as far as they can be: channels too.
    if (by_frequency && layout.slices_channels && slice <= grain) {
      const std::int64_t units = ratio_up(shape.items, columns) * frequency_slices;
      channel_slice =
          ratio_up(channel_tiles, std::clamp<std::int64_t>(device.multiprocessors / units, 1, channel_tiles));
    }
    const int outputs = static_cast<int>(std::min<std::int64_t>(16 * channel_slice, shape.outputs));
    Cut of{layout.places(shape.inputs, outputs, frequencies, columns), frequency_slices,
           static_cast<int>(ratio_up(channel_tiles, channel_slice)), 0};
    of.places.shares = shares(layout, of, shape.items, device);
    of.places.share_tiles = of.places.input_tiles / of.places.shares;
    return of;
  };
  // With weights for each frequency a block writes no spectra of channels beyond the outputs, and its inverse reads
  // all.
  const bool takes_whole_slices = shape.stage == Stage::layer && layout.key.product == Product::each;
  const auto sliced = [&](int blocks, int columns) {
    std::optional<Cut> best;
    // Twice as many would leave some to a second turn, or halve what a block of two on a multiprocessor has.
    const int at_once = shape.stage == Stage::layer ? 1 : std::min(blocks, 2);
    const int most = at_once * usable_multiprocessors(layout, device);
    for (int slice = tiles; slice > 0; slice = slice / 2 / grain * grain) {
      if (takes_whole_slices && tiles % slice != 0) continue;
      const Cut next = made(slice, columns);
      if (takes_whole_slices && best && next.units(shape.items) > most) break;
      const auto room = [&](int bytes) {
        return blocks * (next.places.bytes + bytes + kReservedBytes) <= device.block_bytes + kReservedBytes;
      };
      const bool fits = room(0);
      if (fits) best = with_tables(next, shape, layout, length, blocks * device.multiprocessors, room);
      const std::int64_t count = next.units(shape.items);
      if (layout.in_teams) break;
      if ((fits || shape.stage == Stage::layer) && 2 * count > most) break;
    }
    return best;
  };
  // With room for as many blocks on a multiprocessor as registers are limited for, or else for one.
  const bool weighs = shape.stage == Stage::layer && layout.key.product == Product::each;
  const std::int64_t weights = weights_per_row(shape, layout, length);
  for (int blocks = layout.tuning.blocks; blocks > 0; --blocks) {
    std::optional<Cut> best;
    for (int columns = most_columns(shape, layout); columns > 0 && (weighs || !best); --columns) {
      const auto next = sliced(blocks, columns);
      if (next && (!best || rows_in_turn(shape, *next, weights) < rows_in_turn(shape, *best, weights))) best = next;
    }
    if (best) return best;
  }
  return std::nullopt;
}

// Whether a layer of one axis takes less time by one launch, so cut, than by passes.
bool is_in_one(const Shape& shape, const layer::Layout& layout, const Cut& cut, int length, const Device& device) {
  if (layout.key.product == Product::shared) return true;
  const layer::Operands operands = layer::operands_of(layout.key.dtype, layout.key.tf32);
  const std::int64_t blocks = shape.items * ratio_up(shape.outputs, 16);
  const bool few = 8 * blocks <= device.multiprocessors, many = blocks > 4 * std::int64_t{device.multiprocessors};
  if (operands != layer::Operands::halves && length >= layer::kLongRow && (few || many)) return false;
  return shape.items * std::max(shape.inputs, shape.outputs) * length <= layer::few_points(operands) ||
         weights_per_row(shape, layout, length) <= layer::few_weights(operands) * cut.places.columns;
}

Shape there_of(const Spectral& p, std::int64_t channels) {
  const int c = static_cast<int>(channels);
  if (p.lengths.size() == 1) return {Stage::there, Factor::none, p.batch, c, c, kept(p, 0)};
  return {Stage::there, Factor::axis_there, p.batch * channels, p.lengths[0], kept(p, 0), kept(p, 1)};
}
}  // namespace

int table_bytes(const layer::Layout& layout, int length, int tiles) {
  return 512 * layer::Layout::table_vectors(layer::part_of(length), layout.step, tiles);
}
void give_axis(layer::AxisArguments& a, const layer::Layout& layout, int length, int frequencies, int tiles) {
  a.length = length, a.part = layer::part_of(length), a.quarters = layer::is_folded_twice(length);
  a.frequencies = frequencies, a.table_tiles = tiles;
  a.point_groups = groups_of_points(layout, layer::Layout::tiles_of_points(a.part, layout.step));
}
int groups_of_points(const layer::Layout& layout, int tiles) {
  return static_cast<int>(ratio_up(tiles, layout.point_tiles));
}
bool is_aligned(const layer::Layout& layout, int length, std::initializer_list<const void*> rows) {
  return length % (4 * layout.lane_points) == 0 && std::ranges::all_of(rows, [&](const void* row) {
           return reinterpret_cast<std::uintptr_t>(row) % (4 * layout.words) == 0;
         });
}
KernelId id_of(const layer::Choice& choice) { return {layer::Family::name, choice.line, choice.instance}; }
void fit(const Machine& machine, const layer::Choice& choice) {
  // A device keeps one limit for a kernel: that of a plan for fewer channels is not to undercut another plan's.
  machine.concurrent_blocks(id_of(choice), Path::threads, choice.layout().threads, machine.device().block_bytes);
}

Pass::Pass(const Spectral& p, const Shape& shape, const layer::Choice& choice, const Cut& cut,
           const std::string& description)
    : problem_(p),
      shape_(shape),
      choice_(choice),
      layout_(choice.layout()),
      cut_(cut),
      description_(text(description, ", ", choice.name())) {
  const std::size_t last = p.lengths.size() - 1;
  if (layout_.from_samples || layout_.to_samples) {
    layer::Tables tables = layer::make_tables(layout_, p.lengths[last], kept_on_axis(p, last), cut.table_tiles());
    words_ = std::move(tables.words), inverse_at_ = tables.inverse_at, scale_ = tables.scale;
  }
  matrix_at_ = std::ssize(words_);
  if (!shape.has_own_matrix()) return;
  const int length = p.lengths[0];
  const std::vector<int> frequencies = kept_on_axis(p, 0);
  const bool there = shape.factor == Factor::axis_there;
  const auto matrix = layer::arrange(layout_, shape.outputs, shape.inputs, [&](int output, int input) {
    const int k = frequencies[there ? output : input], n = there ? input : output;
    return there ? layer::scale_of(length) * root(length, std::int64_t{k} * n) : root(length, -std::int64_t{k} * n);
  });
  words_.insert(words_.end(), matrix.begin(), matrix.end());
}

std::optional<Pass> Pass::make(const Spectral& p, const Shape& shape, const Device& device,
                               const std::string& description) {
  const int length = p.lengths.back();
  for (const bool in_cluster : {true, false}) {
    const layer::Choice choice = choose(p, shape, in_cluster);
    const layer::Layout layout = choice.layout();
    const auto made = cut(shape, layout, length, device);
    if (layout.in_cluster && (!made || made->places.shares == 1)) continue;
    if (!made || (shape.stage == Stage::layer && !is_in_one(shape, layout, *made, length, device))) break;
    return Pass(p, shape, choice, *made, description);
  }
  return std::nullopt;
}

Launch Pass::launch(const Machine& machine, layer::Arguments a, std::span<const std::uint32_t> constants,
                    std::initializer_list<Region> regions) const {
  a.forward = constants.data(), a.inverse = constants.data() + inverse_at_;
  if (shape_.has_own_matrix()) a.weights = constants.data() + matrix_at_;
  give_axis(a, layout_, problem_.lengths.back(), kept(problem_, problem_.lengths.size() - 1), cut_.table_tiles());
  a.inputs = shape_.inputs, a.outputs = shape_.outputs, a.frequencies = shape_.frequencies;
  a.matrices = static_cast<int>(matrices_of(problem_));
  a.frequency_slices = cut_.frequency_slices;
  a.aligned = is_aligned(layout_, a.length, {a.u, a.y});
  a.scale = static_cast<float>(scale_);
  if (problem_.lengths.size() == 2) {
    const int length = problem_.lengths[0];
    a.scale = static_cast<float>(scale_ / (layer::scale_of(length) * length));
  }
  a.places = cut_.places;
  a.units = static_cast<int>(cut_.units(a.batch));
  a.neighbours = layout_.key.product == Product::each ? a.units / cut_.slices() : cut_.slices();
  // To L2 ahead of blocks that take one item after the other, as far as a third of it has room, of chunks three fifths.
  const int row_bytes = numbers_of_row(layout_, a.length) * layout_.number_bytes;
  const bool in_bulk =
      machine.device().has_tensor_copies() && row_bytes % 16 == 0 && reinterpret_cast<std::uintptr_t>(a.u) % 16 == 0;
  const std::int64_t rows =
      std::int64_t{cut_.blocks} * cut_.places.columns * std::min(a.inputs, 16 * cut_.places.chunk_tiles);
  const std::int64_t part = layout_.in_chunks ? 9 : 5;  // of 15
  a.row_bytes = in_bulk ? row_bytes : 0;
  a.ahead = in_bulk && cut_.slices() == 1 && (cut_.places.columns == 1 || layout_.in_teams) &&
            15 * rows * row_bytes <= part * machine.device().cache_bytes;
  Launch launch = make_launch(machine, description_, id_of(choice_), Path::threads, std::min(a.units, cut_.blocks),
                              layout_.threads, cut_.places.bytes);
  launch.cluster = cut_.places.shares;
  for (const Region& region : regions) launch.touches(region);
  if (!constants.empty())
    launch.touches({"tables", constants.data(), static_cast<std::int64_t>(constants.size_bytes()), false, true});
  launch.give(a);
  return launch;
}

Pass make_pass(const Spectral& p, const Shape& shape, const Device& device, const std::string& description) {
  if (auto pass = Pass::make(p, shape, device, description)) return *std::move(pass);
  fail("spectral: no kernel for ", join(p.modes, "x"), " modes of ", p.inputs, " and ", p.outputs,
       " channels has room in the ", device.block_bytes, " bytes of shared memory of a block");
}

std::int64_t matrices_of(const Spectral& p) { return p.shared ? 1 : kept_count(p); }
std::int64_t weight_bytes(const Spectral& p, const layer::Layout& layout) {
  return 1024 * matrices_of(p) * ratio_up(p.outputs, 16) * ratio_up(p.inputs, 16) * layout.steps_of_tile;
}
int kept(const Spectral& p, std::size_t axis) { return static_cast<int>(kept_on_axis(p, axis).size()); }

There::There(const Spectral& p, std::int64_t channels, const Device& device, const std::string& description)
    : problem_(p), channels_(channels), pass_(make_pass(p, there_of(p, channels), device, description)) {}

Launch There::launch(const Machine& machine, std::span<const std::uint32_t> constants, const char* name,
                     const void* samples, void* spectra, std::int64_t batch, std::int64_t first,
                     std::int64_t count) const {
  const Field field{problem_, channels_, batch};
  const Workspace workspace{problem_, channels_};
  const bool planes = problem_.lengths.size() == 2;
  layer::Arguments a{};
  a.u = static_cast<const std::byte*>(samples) + field.offset(first);
  a.u_rows = planes ? field.planes() : field.rows();
  a.inner = inner_items(problem_, count);
  a.to = planes ? workspace.by_planes(spectra) : workspace.by_channels(spectra, count);
  a.batch = static_cast<int>(planes ? count * channels_ : count);
  return pass_.launch(
      machine, a, constants,
      {{name, samples, field.bytes(), false, false}, {"spectra", spectra, workspace.bytes(count), true, false}});
}

}  // namespace danaus::spectral

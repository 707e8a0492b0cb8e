#include "kernels/plan/decode.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/families/decode/family.hpp"

namespace danaus {
namespace {

constexpr std::int64_t kWindow = decode::kWindow, kMostBlocks = 4096;

// Of `size` samples for the positions after them, as many.
struct Tile {
  std::int64_t size;
  Plan plan;
};

const Convolution& checked(const Convolution& p) {
  validate(p);
  if (p.mode != Mode::causal) fail("decode: ", token(p), " is circular, must be causal");
  if (p.pregate || p.postgate) fail("decode: ", token(p), " has gates, which are the caller's");
  if (filter_dtype(p) != Dtype::f32) fail("decode: the filter is ", name(filter_dtype(p)), ", must be f32");
  if (p.batch * p.channels > std::numeric_limits<int>::max())
    fail("decode: B*H = ", p.batch, '*', p.channels, ", must be at most 2^31 - 1");
  return p;
}

// The case of the first samples, at most as many taps.
Convolution of_length(Convolution p, std::int64_t length) {
  p.length = length, p.filter_length = std::min(p.filter_length, length);
  return p;
}

}  // namespace

struct Decoding::State {
  State(const Convolution& asked, std::shared_ptr<const Machine> on, DecodeBy how)
      : problem(checked(asked)),
        by(how),
        machine(std::move(on)),
        description("decode, " + token(asked)),
        whole(asked, machine) {
    rows = problem.batch * problem.channels, widest = problem.length;
    for (std::int64_t size = kWindow; by == DecodeBy::tiles && size < problem.length; size *= 2) {
      tiles.push_back({size, Plan(of_length(problem, 2 * size), machine)});
      widest = std::max(widest, 2 * size);
    }
    for (decode::Work work : {decode::Work::next, decode::Work::dot, decode::Work::move, decode::Work::add}) {
      const decode::Layout layout = layout_of(work);
      machine->concurrent_blocks(id_of(work), Path::threads, layout.threads, layout.shared_bytes);
    }
    history = machine->allocate(history_bytes()), window = machine->allocate(window_bytes());
    sums = machine->allocate(2 * history_bytes()), taps = machine->allocate(taps_bytes());
    tile_u = machine->allocate(tile_bytes()), tile_y = machine->allocate(tile_bytes());
  }

  std::int64_t history_bytes() const { return 2 * rows * problem.length; }
  std::int64_t window_bytes() const { return 2 * rows * kWindow; }
  std::int64_t taps_bytes() const {
    return 4 * problem.channels * (by == DecodeBy::tiles ? kWindow : problem.filter_length);
  }
  std::int64_t tile_bytes() const { return 2 * rows * widest; }

  decode::Layout layout_of(decode::Work work) const {
    const auto made = decode::Family::instances(0).list[decode::instance_of({problem.dtype, work})];
    return {made.key, made.tuning};
  }
  KernelId id_of(decode::Work work) const {
    return {decode::Family::name, 0, decode::instance_of({problem.dtype, work})};
  }

  decode::Arguments arguments() const {
    decode::Arguments a{};
    a.history = history.get(), a.window = window.get();
    a.sums = static_cast<float*>(sums.get()), a.taps = static_cast<const float*>(taps.get());
    a.length = problem.length, a.position = position;
    a.rows = static_cast<int>(rows), a.channels = static_cast<int>(problem.channels);
    return a;
  }
  Launch launch_of(decode::Work work, std::int64_t blocks) const {
    const decode::Layout layout = layout_of(work);
    return make_launch(*machine, description, id_of(work), Path::threads, blocks, layout.threads, layout.shared_bytes);
  }
  Launch elementwise(decode::Work work, std::int64_t count) const {
    const std::int64_t threads = layout_of(work).threads;
    return launch_of(work, std::clamp<std::int64_t>((rows * count + threads - 1) / threads, 1, kMostBlocks));
  }

  // Pieces of `count` samples of each row, and zeros after them.
  void move(const void* from, std::int64_t first, std::int64_t from_stride, void* to, std::int64_t to_stride,
            std::int64_t count, std::int64_t zeros, Stream stream) const {
    decode::Arguments a = arguments();
    a.from = static_cast<const std::uint16_t*>(from) + first, a.to = to;
    a.from_stride = from_stride, a.to_stride = to_stride, a.count = count, a.zeros = zeros;
    Launch launch = elementwise(decode::Work::move, count + zeros);
    if (count > 0) launch.touches({"from", from, 2 * rows * from_stride, false, false});
    launch.touches({"to", to, 2 * rows * to_stride, true, false});
    launch.give(a);
    machine->launch(launch, stream);
  }
  // What rows of tile_y have from `from` on, to the sums of the positions from `to` on; of no tile zeros.
  void add(bool has_tile, std::int64_t to, std::int64_t from, std::int64_t stride, std::int64_t count, bool first,
           Stream stream) const {
    decode::Arguments a = arguments();
    a.position = to;
    a.from = has_tile ? static_cast<const std::uint16_t*>(tile_y.get()) + from : nullptr;
    a.from_stride = stride, a.count = count, a.first = first;
    Launch launch = elementwise(decode::Work::add, count);
    if (has_tile) launch.touches({"tile", tile_y.get(), 2 * rows * stride, false, false});
    launch.touches({"sums", a.sums, 2 * history_bytes(), true, false});
    launch.give(a);
    machine->launch(launch, stream);
  }
  void convolve(const Plan& plan, std::int64_t length, Stream stream) const {
    const auto bytes = static_cast<std::size_t>(2 * rows * length);
    plan.execute({{"u", tile_u.get(), bytes}, {"y", tile_y.get(), bytes}}, {.stream = stream});
  }

  // Where a tile ends before this position.
  void finish_tile(Stream stream) const {
    const std::int64_t samples = position - begin, size = samples & -samples;
    if (samples == 0 || size < kWindow) return;
    move(history.get(), position - size, problem.length, tile_u.get(), 2 * size, size, size, stream);
    const auto tile = std::ranges::find(tiles, size, &Tile::size);
    convolve(tile->plan, 2 * size, stream);
    add(true, position, size, 2 * size, std::min(size, problem.length - position), false, stream);
  }

  Convolution problem;
  DecodeBy by;
  std::shared_ptr<const Machine> machine;
  std::string description;
  Plan whole;
  std::vector<Tile> tiles;
  std::int64_t rows = 0, widest = 0;
  std::shared_ptr<void> history, window, sums, taps, tile_u, tile_y;  // [B, H, L], [W, B, H], [B, H, L], [W, H], tiles
  std::int64_t begin = 0, position = 0;                               // of what follows the prompt; of the next sample
  bool has_filter = false, has_begun = false;
};

Decoding::Decoding(const Convolution& whole, std::shared_ptr<const Machine> machine, DecodeBy by)
    : state_(std::make_unique<State>(whole, std::move(machine), by)) {}
Decoding::Decoding(Decoding&&) noexcept = default;
Decoding& Decoding::operator=(Decoding&&) noexcept = default;
Decoding::~Decoding() = default;

void Decoding::set_filter(std::span<const float> k) {
  State& s = *state_;
  const std::int64_t channels = s.problem.channels, length = s.problem.filter_length;
  if (std::ssize(k) != channels * length)
    fail("decode: the filter has ", k.size(), " numbers, the case needs H*K = ", channels, '*', length);
  s.whole.set_filter(k);
  for (Tile& tile : s.tiles) {
    const std::int64_t count = std::min(length, 2 * tile.size);
    std::vector<float> first(channels * count);
    for (std::int64_t h = 0; h < channels; ++h) std::copy_n(k.begin() + h * length, count, first.begin() + h * count);
    tile.plan.set_filter(first);
  }
  std::vector<float> newest(k.begin(), k.end());
  if (s.by == DecodeBy::tiles) {
    newest.assign(kWindow * channels, 0);
    for (std::int64_t m = 0; m < std::min(kWindow, length); ++m)
      for (std::int64_t h = 0; h < channels; ++h) newest[m * channels + h] = k[h * length + m];
  }
  s.machine->copy_from_host(s.taps.get(), newest.data(), s.taps_bytes());
  s.has_filter = true, s.has_begun = false;
}

void Decoding::prefill(const void* u, void* y, std::int64_t length, Stream stream) {
  State& s = *state_;
  const std::int64_t most = s.problem.length;
  if (!s.has_filter) fail("decode: there is no filter yet; call set_filter first");
  if (length < 0 || length > most) fail("decode: a prompt of ", length, " samples, must be from 0 to L=", most);
  if (length > 0 && (!u || !y)) fail("decode: ", u ? "y" : "u", " of the prompt is null");
  if (length > 0) {
    s.move(u, 0, length, s.tile_u.get(), most, length, most - length, stream);
    s.convolve(s.whole, most, stream);
    s.move(s.tile_y.get(), 0, most, y, length, length, 0, stream);
    if (s.by == DecodeBy::dot) s.move(u, 0, length, s.history.get(), most, length, 0, stream);
  }
  if (s.by == DecodeBy::tiles && length < most) s.add(length > 0, length, length, most, most - length, true, stream);
  s.begin = s.position = length, s.has_begun = true;
}

void Decoding::next(const void* u, void* y, Stream stream) {
  State& s = *state_;
  if (!s.has_begun) fail("decode: no sequence has begun; call prefill first");
  if (s.position >= s.problem.length) fail("decode: position ", s.position, " is past the end, L=", s.problem.length);
  if (!u || !y) fail("decode: ", u ? "y" : "u", " is null");
  const bool by_tiles = s.by == DecodeBy::tiles;
  if (by_tiles) s.finish_tile(stream);
  decode::Arguments a = s.arguments();
  a.from = u, a.to = y, a.newest = static_cast<int>((s.position - s.begin) % kWindow);
  a.count = s.problem.filter_length;
  const decode::Work work = by_tiles ? decode::Work::next : decode::Work::dot;
  const std::int64_t rows_of_block = by_tiles ? 32 : s.layout_of(work).tuning.warps;
  Launch launch = s.launch_of(work, (s.rows + rows_of_block - 1) / rows_of_block);
  launch.touches({"u", u, 2 * s.rows, false, false});
  launch.touches({"y", y, 2 * s.rows, true, false});
  launch.touches({"history", a.history, s.history_bytes(), true, false});
  launch.touches({"window", a.window, s.window_bytes(), true, false});
  launch.touches({"taps", a.taps, s.taps_bytes(), false, true});
  launch.touches({"sums", a.sums, 2 * s.history_bytes(), false, false});
  launch.give(a);
  s.machine->launch(launch, stream);
  ++s.position;
}

std::int64_t Decoding::position() const { return state_->position; }

std::int64_t Decoding::memory_bytes() const {
  const State& s = *state_;
  std::int64_t bytes = 3 * s.history_bytes() + s.window_bytes() + s.taps_bytes() + 2 * s.tile_bytes();
  const auto of_plan = [&](const Plan& plan) {
    return plan.prepared_bytes() + plan.constant_bytes() + plan.workspace_bytes(s.problem.batch);
  };
  bytes += of_plan(s.whole);
  for (const Tile& tile : s.tiles) bytes += of_plan(tile.plan);
  return bytes;
}

// Of the kernel that rounds most, and y.
int Decoding::roundings() const {
  int most = state_->whole.variant().roundings();
  for (const Tile& tile : state_->tiles) most = std::max(most, tile.plan.variant().roundings());
  return most + 1;
}

}  // namespace danaus

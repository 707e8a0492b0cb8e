// cluster: y = v * conv(w * u, k) of N = N1 N2 points by the blocks of a cluster, which keep an item between them; u is
// read once and y written once. N1 = 64 r, N2 a chain's.
//
// source     Bailey 1990, the four-step FFT, whose transposes go through distributed shared memory
// index      as of outer passes with a chain between them (families/outer, families/chain): n = N2 n_hi + n_lo,
//            k = k_hi + N1 k_lo; and so are the spectrum and its slots
// shapes     u, y [B, H, L], L <= N; a cluster takes two batch rows (pair fold) or one row (right angle)
// types      samples f16 or bf16; arithmetic f16; bf16 becomes f16 by a power of two of each unit's and each
//            line's own, and is bf16 between the steps
// scaling    unitary up to a power of two, in the matrices and twiddles
// steps      A  eight columns (a unit) of all N1 rows, from slabs of a ring: DFT over n_hi | twiddle | each line to the
//               block that keeps it
//            B  a line, of N2 points, in a warp's registers: the chain's transform, the spectrum, and back; each part
//               of it to the block whose columns those are
//            C  a unit's columns, in place: back to samples, which bulk copies store
// twiddle    w_N^(n_lo k_hi), n_lo = 8 unit + c: its part in unit is of the matrix and twiddle of step A, products of a
//            table of units and one that all share; its part in c is of the chain's twiddle between n1 and n2, of which
//            c are the lowest bits. The same of the right angle's weights
// exchange   in pieces of 16 bytes that the sender writes. In step B blocks write where others have lines of the same
//            number: a warp does once all blocks' warps of its number have read theirs
// ahead      the next item's planes come while this one is transformed
// range      steps A and C leave what outer passes leave (families/outer)
// error      LongVariant::roundings()
// reference  reference/convolution/convolve.hpp   test   tests/kernels/long_test.cpp
#pragma once

#include "kernels/families/chain/kernel.hpp"
#include "kernels/families/cluster/layout.hpp"
#include "kernels/memory/column.hpp"
#include "kernels/memory/energies.hpp"
#include "kernels/tile/rows64.hpp"

namespace danaus::cluster::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
  using Chain = chain::Shape<chain::Key{key.dtype, Fold::pair, false, layout.inner_radix},
                             chain::Tuning{tuning.warps, 2, tuning.blocks, Keep::cache}>;
};

template <class P, Path path>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const ConvolutionArguments& a)
      : a_(a),
        in_bulk_(path == Path::any ? a.transfer == Transfer::tensor : path == Path::tensor),
        leader_(device::thread_index() == 0),
        warp_(device::warp_index()),
        rank_(device::block_index() % layout.shares),
        items_(a.division.of(device::block_index() / layout.shares, device::block_count() / layout.shares, a.channels)),
        tables_(a.tables) {}

  DANAUS_DEVICE void run() {
    prepare();
    fetch(0, layout.tuning.ring);
    DANAUS_UNROLL_BY(1)
    for (int i = 0; i < items_.count; ++i) {
      // The compiler shall not keep constants of one step through the others.
      tables_ = a_.tables + (i >> 30);
      transform_columns(i);
      transform_lines(i);
      transform_back(i);
    }
    device::sync_cluster();  // nobody writes here or arrives any more
  }

 private:
  static constexpr Layout layout = P::layout;
  using Chain = typename P::Chain;
  using Worker = BlockWorker<layout.threads>;
  static constexpr int r = layout.radix, chain_r = layout.inner_radix;
  static constexpr int kPlanes = layout.item_rows;  // of a slab of samples
  static constexpr int kPlanesOfItem = layout.own_slabs * kPlanes;
  static constexpr int kLines = layout.own_lines;
  static constexpr SharedAddress kLinesArrived = layout.arrived_at, kColumnsArrived = layout.arrived_at + 8;
  static constexpr SharedAddress kLinesWritten = layout.written_at, kColumnsWritten = layout.written_at + 8;

  DANAUS_DEVICE void prepare() {
    for (int i = device::thread_index(); i < 64 * chain_r; i += layout.threads)
      device::store_shared<16>(16 * i,
                               device::load_constant<16>(chain_tables() + 128 * Chain::layout.outer_at + 4 * i));
    if (leader_) {
      for (int i = 0; i < layout.full_barriers; ++i) device::barrier_init(layout.full_at + 8 * i, 1);
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(free(i), 8);
      for (int i = 0; i < layout.tuning.warps; ++i) device::barrier_init(layout.lines_read_at + 8 * i, layout.shares);
      for (int i = 0; i < layout.own_slabs; ++i) device::barrier_init(layout.slabs_free_at + 8 * i, layout.shares);
      for (int i = 0; i < 2; ++i) {
        device::barrier_init(layout.arrived_at + 8 * i, 1);
        device::barrier_init(layout.written_at + 8 * i, layout.threads);
      }
    }
    device::fence_async();
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    device::sync_cluster();
  }
  DANAUS_DEVICE const u32* chain_tables() const { return tables_ + layout.chain_at; }

  // The i-th item, found anew where it is needed: registers are for what is computed with.
  struct Place {
    int channel, row;
  };
  DANAUS_DEVICE Place place_of(int i) const {
    const int number = items_.first + i, of_channel = a_.division.items_of_channel;
    return {number / of_channel, kPlanes * (number % of_channel)};
  }
  DANAUS_DEVICE Item item(int i) const { return item_at<P>(a_, items_.first + i); }
  DANAUS_DEVICE float* energies_of(int i, int slab) const {
    return a_.energies + 2 * ((items_.first + i) * (layout.columns / 8ll) + unit_of(slab));
  }

  // A place of the ring is one group's, whose warps see each of its turns; or where there is a single slab, the groups'
  // in turn, each of which has a barrier of its own.
  static DANAUS_DEVICE SharedAddress full(int place, int turn) {
    return layout.full_at + 8 * (place + (layout.takes_turns ? turn % 2 * layout.tuning.ring : 0));
  }
  static DANAUS_DEVICE u32 full_parity(int turn) { return (layout.takes_turns ? turn / 2 : turn) & 1; }
  static DANAUS_DEVICE SharedAddress free(int place) { return layout.free_at + 8 * place; }
  static DANAUS_DEVICE SharedAddress plane_at(int place) { return layout.ring_begin + place * layout.row_bytes; }
  static DANAUS_DEVICE SharedAddress kept(int slab) { return layout.kept_begin + slab * layout.kept_stride; }
  DANAUS_DEVICE int group() const { return warp_ / 8; }
  DANAUS_DEVICE int chunk() const { return warp_ % 8; }
  DANAUS_DEVICE int slab_of_stage(int stage) const { return layout.groups * stage + group(); }
  DANAUS_DEVICE int slab_of_row(int slab) const { return rank_ * layout.own_slabs + slab; }  // among all columns'
  DANAUS_DEVICE int unit_of(int slab) const { return 8 * slab_of_row(slab) + chunk(); }

  // Asks for planes `first` to `limit` - 1 of all items, where those of a ring before have been read: for all to call.
  DANAUS_DEVICE void fetch(int first, int limit) const {
    if (!in_bulk_ || !leader_) return;
    limit = min(limit, items_.count * kPlanesOfItem);
    DANAUS_UNROLL_BY(1)
    for (int number = first; number < limit; ++number) {
      const int place = number % layout.tuning.ring, turn = number / layout.tuning.ring;
      if (turn > 0) device::barrier_wait(free(place), (turn - 1) & 1);
      device::barrier_expect(full(place, turn), layout.row_bytes);
      const int of_item = number % kPlanesOfItem;
      const Place item = place_of(number / kPlanesOfItem);
      const int at[5] = {64 * slab_of_row(of_item / kPlanes), 0, 0, item.channel, item.row + of_item % kPlanes};
      device::tensor_load(plane_at(place), a_.u_map, at, full(place, turn), layout.rows);
    }
  }

  // The matrix and twiddle of step A, or back, of a unit.
  DANAUS_DEVICE RowTwiddles<P> twiddles_of(int unit, bool back) const {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const u32* const factors = tables_ + (back ? layout.units_back_at + unit * layout.unit_back_words + 2 * t
                                               : layout.units_at + unit * layout.unit_words + 2 * g);
    const int step = back ? 8 : 16;
    Complex2 of[2 * layout.base_vectors];
    DANAUS_UNROLL
    for (int i = 0; i < layout.base_vectors; ++i) {
      const Words<4> base = load_lane_words(tables_, layout.base_at + back * layout.base_vectors + i);
      of[2 * i] = {base[0], base[1]}, of[2 * i + 1] = {base[2], base[3]};
    }
    DANAUS_UNROLL
    for (int i = 0; i < layout.factors_of_unit; ++i) {
      const Words<2> factor = device::load_constant<8>(factors + step * i);
      of[i] = times<false>(of[i], {factor[0], factor[1]});
    }
    RowTwiddles<P> own;
    own.n2 = {of[0].re, of[0].im, device::negate2(of[0].im), of[0].re};
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) own.a[kr] = of[1 + kr];
    return own;
  }

  DANAUS_DEVICE void load_constants_of_rows(RowConstants<P>& rows) const { load_rows<P>(tables_, rows); }

  // Eight columns of a slab that is kept.
  struct KeptColumn : Column<P> {
    DANAUS_DEVICE KeptColumn(SharedAddress slab, int chunk) : Column<P>(0, 0, chunk) {
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) {
        this->address[b] = swizzled(slab + 128 * line(b) + 16 * chunk);
        this->imaginary[b] = this->address[b] + layout.row_bytes;
      }
    }
    // Of kr = 0, this lane's.
    static DANAUS_DEVICE int line(int b) {
      const int row = Column<P>::row(b);
      return row / 8 + 8 * r * (row % 8);
    }
  };

  // The same columns of those lines where the blocks keep them that the lines are of.
  class SentColumn {
   public:
    DANAUS_DEVICE SentColumn(SharedAddress slab, int chunk, int rank) : column_(0, 0, chunk) {
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) {
        const int line = KeptColumn::line(b), owner = line / kLines;
        here_[b] = swizzled(slab + 128 * (rank * kLines + line % kLines) + 16 * chunk);
        there_[b] = device::remote_address(here_[b], owner);
        is_own_ = rank == owner;
      }
      arrived_ = device::remote_address(kLinesArrived, KeptColumn::line(0) / kLines);
    }
    DANAUS_DEVICE void store(int plane, int kr, const u32 (&tiles)[8]) const {
      Words<4> words[2];
      column_.pack(tiles, words[0], words[1]);
      const u32 offset = plane * layout.row_bytes + 1024 * kr;
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) {
        if (is_own_)
          device::store_shared<16>(here_[b] + offset, words[b]);
        else
          device::store_remote_async<16>(there_[b] + offset, words[b], arrived_);
      }
    }

   private:
    const Column<P> column_;
    SharedAddress here_[2];
    RemoteAddress there_[2], arrived_;
    bool is_own_;  // the lines are this block's: all that a lane makes are of one block
  };

  // Of what its own block has written, whose threads arrive each for itself, as racecheck follows no lane that arrives
  // for others; and of what other blocks send.
  static DANAUS_DEVICE void wait_for_all(SharedAddress written, SharedAddress arrived, int i) {
    device::barrier_wait(written, i & 1);
    device::barrier_wait_cluster(arrived, i & 1);
  }

  // bf16 to f16 by a power of two of the warp's, whose inverse it returns.
  template <class ForEach>
  static DANAUS_DEVICE float narrow(ForEach for_each) {
    if constexpr (!layout.scaled) return 1;
    return scaled::power_of_two(scaled::narrow_all(for_each));
  }

  // Step A of the i-th item.
  DANAUS_DEVICE void transform_columns(int i) {
    if (leader_) device::barrier_expect(kLinesArrived, layout.arriving_bytes);
    RowConstants<P> rows;
    load_constants_of_rows(rows);
    RowTwiddles<P> own = twiddles_of(unit_of(slab_of_stage(0)), false);  // those of a stage come before it
    DANAUS_UNROLL_BY(1)
    for (int stage = 0; stage < layout.stages; ++stage) {
      const int slab = slab_of_stage(stage), number = i * kPlanesOfItem + slab * kPlanes;
      u32 re[r][8], im[r][8] = {};
      const auto load = [&](int first, int second) {  // places of the planes
        const Column<P> from(plane_at(first), plane_at(second), chunk());
        DANAUS_UNROLL
        for (int nr = 0; nr < r; ++nr) {
          from.load(0, nr, re[nr]);
          if constexpr (layout.pair) from.load(1, nr, im[nr]);
        }
      };
      if (in_bulk_) {
        const int first = number % layout.tuning.ring, second = (number + kPlanes - 1) % layout.tuning.ring;
        const int turn = number / layout.tuning.ring;  // of both
        device::barrier_wait(full(first, turn), full_parity(turn));
        if constexpr (layout.pair) device::barrier_wait(full(second, turn), full_parity(turn));
        load(first, second);
        device::sync_warp();
        if (device::lane_index() < kPlanes) device::barrier_arrive(free(device::lane_index() == 0 ? first : second));
        // Up to this group's slab; the others' planes before it are read at the same time.
        const int behind = number + kPlanes + layout.tuning.ring;
        fetch(stage == 0 ? behind - kPlanes : behind - layout.groups * kPlanes, behind);
      } else if constexpr (path != Path::tensor) {
        load_by_threads(i, stage, [&] { load(0, kPlanes - 1); });
      }
      if (i > 0) device::barrier_wait_released(layout.slabs_free_at + 8 * slab, (i - 1) & 1);
      send_columns(i, slab, rows, own, re, im);
      if (stage + 1 < layout.stages) own = twiddles_of(unit_of(slab_of_stage(stage + 1)), false);
    }
    device::barrier_arrive(kLinesWritten);
    const int behind = (i + 1) * kPlanesOfItem + layout.tuning.ring;
    fetch(behind - (layout.groups - 1) * kPlanes, behind);
  }
  DANAUS_DEVICE void send_columns(int i, int slab, const RowConstants<P>& rows, const RowTwiddles<P>& own,
                                  u32 (&re)[r][8], u32 (&im)[r][8]) const {
    const float factor = narrow([&](auto visit) {
      DANAUS_UNROLL
      for (int nr = 0; nr < r; ++nr) {
        DANAUS_UNROLL
        for (int n = 0; n < 8; ++n) {
          visit(re[nr][n]);
          if constexpr (layout.pair) visit(im[nr][n]);
        }
      }
    });
    if constexpr (has_energies<P>) {
      const range::Energies of_unit = unit_energies<P>(re, im, factor);
      if (a_.energies) store_energies(energies_of(i, slab), of_unit);
    }
    const SentColumn to(kept(slab), chunk(), rank_);
    rows_there<P, false>(re, im, rows, own, [&](int kr, const Complex2(&x)[8]) {
      u32 re_out[8], im_out[8];
      DANAUS_UNROLL
      for (int n = 0; n < 8; ++n)
        re_out[n] = scaled::samples_of<layout.dtype>(x[n].re, factor),
        im_out[n] = scaled::samples_of<layout.dtype>(x[n].im, factor);
      to.store(0, kr, re_out);
      to.store(1, kr, im_out);
    });
  }
  // By threads: one group's slab after the other, at the beginning of the ring; load() is for the warps of the group.
  template <class Load>
  DANAUS_DEVICE void load_by_threads(int i, int stage, Load load) const {
    const Item from = item(i);
    DANAUS_UNROLL_BY(1)
    for (int g = 0; g < layout.groups; ++g) {
      device::sync_block();
      copy_slab_by_threads<P, Worker>(a_, a_.u, a_.u_strides, from, slab_of_row(layout.groups * stage + g),
                                      plane_at(0));
      device::copy_async_commit();
      device::copy_async_wait<0>();
      device::sync_block();
      if (group() == g) load();
    }
  }

  // Step B of the i-th item.
  DANAUS_DEVICE void transform_lines(int i) {
    if (leader_) device::barrier_expect(kColumnsArrived, layout.arriving_bytes);
    chain::Constants<Chain> constants;
    chain::load_constants<Chain>(chain_tables(), constants);
    const int channel = place_of(i).channel;
    DANAUS_UNROLL_BY(1)
    for (int round = 0; round < layout.rounds; ++round) transform_line(i, round, channel, constants);
    device::barrier_arrive(kColumnsWritten);
  }
  using Samples = Words<4>[chain_r];
  DANAUS_DEVICE void transform_line(int i, int round, int channel, const chain::Constants<Chain>& constants) const {
    const int line = round * layout.tuning.warps + warp_;
    const int of_all = rank_ * kLines + line, k_hi = of_all / 8 + 8 * r * (of_all % 8);
    const int row = channel * layout.lines + k_hi, lane = device::lane_index();
    // On its way before it is needed.
    const Words<2> turns[2] = {device::load_constant<8>(tables_ + layout.turns_at + 8 * of_all + 2 * (lane % 4)),
                               device::load_constant<8>(tables_ + layout.turns_back_at + 16 * of_all + 2 * (lane / 4))};
    if (round == 0) wait_for_all(kLinesWritten, kLinesArrived, i);
    Samples re, im;
    load_line(line, re, im);
    say_read(re, im);
    float factor = narrow([&](auto visit) {
      DANAUS_UNROLL
      for (int n = 0; n < chain_r; ++n) {
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) visit(re[n][m]), visit(im[n][m]);
      }
    });
    if constexpr (layout.scaled) factor *= float_of(device::load_global<4>(a_.spectrum_factors + row)[0]);
    convolve_line(row, constants, turns, re, im);
    device::barrier_wait_released(layout.lines_read_at + 8 * warp_, (i * layout.rounds + round) & 1);
    send_line(line, factor, re, im);
  }
  // As chain::matrix_address() has it, of chunks q of the columns.
  static DANAUS_DEVICE SharedAddress place_of_chunk(int line, int q, int chunk) {
    return swizzled(kept(q % layout.own_slabs) + 128 * (q / layout.own_slabs * kLines + line) + 16 * chunk);
  }
  static DANAUS_DEVICE void load_line(int line, Samples& re, Samples& im) {
    const int lane = device::lane_index(), matrix = lane / 8;
    DANAUS_UNROLL
    for (int n = 0; n < chain_r; ++n) {
      const SharedAddress at =
          place_of_chunk(line, 4 * n + 2 * (matrix / 2) + lane % 8 / 4, 2 * (lane % 4) + matrix % 2);
      re[n] = device::load_matrices<4, true>(at);
      im[n] = device::load_matrices<4, true>(at + layout.row_bytes);
    }
  }
  // To the warps of this number, that their lines of the same number may come here.
  DANAUS_DEVICE void say_read(const Samples& re, const Samples& im) const {
    u32 word = 0;
    DANAUS_UNROLL
    for (int n = 0; n < chain_r; ++n) word ^= re[n][0] ^ im[n][0];
    device::sync_warp();
    if (const int rank = device::lane_index(); rank < layout.shares)
      device::barrier_release_remote(device::remote_address(layout.lines_read_at + 8 * warp_, rank), word);
  }
  DANAUS_DEVICE void load_spectrum(int row, int kr, Words<4> (&words)[2]) const {
    const u32* const from =
        a_.spectrum + static_cast<long long>(row) * layout.columns + 4 * (64 * kr + device::lane_index());
    words[0] = load_piece<Cache::stream>(from), words[1] = load_piece<Cache::stream>(from + 128);
  }
  DANAUS_DEVICE void convolve_line(int row, const chain::Constants<Chain>& constants, const Words<2> (&turns)[2],
                                   Samples& re, Samples& im) const {
    Complex2 inner[2][2], inner_back[2][2];
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      DANAUS_UNROLL
      for (int j = 0; j < 2; ++j) {
        inner[i][j] = times<false>(constants.inner[i][j], {turns[0][0], turns[0][1]});
        inner_back[i][j] = times<false>(constants.inner_back[i][j], {turns[1][0], turns[1][1]});
      }
    }
    chain::Tiles x[chain_r];
    chain::samples_there<Chain>(re, im, constants, x);
    if constexpr (chain_r > 1) chain::outer_twiddles<Chain, false>(x);
    DANAUS_UNROLL
    for (int kr = 0; kr < chain_r; ++kr) {
      chain::rows_there<Chain>(constants, x[kr]);
      Words<4> spectrum[2];
      load_spectrum(row, kr, spectrum);
      convolve_tiles(x[kr], constants.dft, inner, inner_back, spectrum);
      from_left<true>(constants.dft, x[kr][0][0], x[kr][1][0], x[kr][0][1], x[kr][1][1]);
    }
    if constexpr (chain_r > 1) chain::outer_twiddles<Chain, true>(x);
    chain::transform_blocks_back<Chain>(x, re, im);
  }
  // Through the warp's scratch, which makes pieces of 16 bytes of tiles.
  DANAUS_DEVICE void send_line(int line, float factor, const Samples& re, const Samples& im) const {
    const int lane = device::lane_index(), matrix = lane / 8;
    const SharedAddress scratch = layout.scratch_begin + layout.scratch_bytes * warp_;
    const int to_matrix = 2 * (8 * (matrix / 2) + lane % 8) + matrix % 2;  // chunk
    const auto in_scratch = [&](int chunk) -> SharedAddress { return scratch + 16 * (chunk ^ (chunk / 8)); };
    DANAUS_UNROLL
    for (int n = 0; n < chain_r; ++n) {
      const int q = 4 * n + lane / 8, owner = q / layout.own_slabs;
      const SharedAddress to = swizzled(kept(q % layout.own_slabs) + 128 * (rank_ * kLines + line) + 16 * (lane % 8));
      const RemoteAddress there = device::remote_address(to, owner);
      const RemoteAddress arrived = device::remote_address(kColumnsArrived, owner);
      DANAUS_UNROLL
      for (int plane = 0; plane < 2; ++plane) {
        Words<4> words = plane == 0 ? re[n] : im[n];
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) words[m] = scaled::samples_of<layout.dtype>(words[m], factor);
        device::sync_warp();
        device::store_matrices<4, true>(in_scratch(to_matrix), words);
        device::sync_warp();
        const Words<4> piece = device::load_shared<16>(in_scratch(lane));
        if (owner == rank_)
          device::store_shared<16>(to + plane * layout.row_bytes, piece);
        else
          device::store_remote_async<16>(there + plane * layout.row_bytes, piece, arrived);
      }
    }
  }

  // Step C of the i-th item.
  DANAUS_DEVICE void transform_back(int i) {
    RowConstants<P> rows;
    load_constants_of_rows(rows);
    RowTwiddles<P> own = twiddles_of(unit_of(slab_of_stage(0)), true);
    wait_for_all(kColumnsWritten, kColumnsArrived, i);
    DANAUS_UNROLL_BY(1)
    for (int stage = 0; stage < layout.stages; ++stage) {
      const int slab = slab_of_stage(stage);
      columns_back(i, slab, KeptColumn(kept(slab), chunk()), rows, own);
      if (stage + 1 < layout.stages) own = twiddles_of(unit_of(slab_of_stage(stage + 1)), true);
      device::fence_async();
      device::sync_block();
      if (in_bulk_)
        store_stage(i, stage);
      else if constexpr (path != Path::tensor)
        store_stage_by_threads(item(i), stage);
    }
    if (!in_bulk_) return;
    if (leader_) device::store_wait_read<0>();
    release_stage(layout.stages - 1);
  }
  DANAUS_DEVICE void columns_back(int i, int slab, const KeptColumn& column, const RowConstants<P>& rows,
                                  const RowTwiddles<P>& own) const {
    u32 planes[2][r][8], re[r][8], im[r][8];
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      column.load(0, kr, planes[0][kr]);
      column.load(1, kr, planes[1][kr]);
    }
    const float factor = narrow([&](auto visit) {
      DANAUS_UNROLL
      for (int kr = 0; kr < r; ++kr) {
        DANAUS_UNROLL
        for (int n = 0; n < 8; ++n) visit(planes[0][kr][n]), visit(planes[1][kr][n]);
      }
    });
    rows_back<P, false>(rows, own, re, im, [&](int kr, Complex2(&x)[8]) {
      DANAUS_UNROLL
      for (int n = 0; n < 8; ++n) x[n] = {planes[0][kr][n], planes[1][kr][n]};
    });
    if constexpr (!layout.scaled)
      if (has_overflow<P>(re, im) && a_.energies) note_overflow(energies_of(i, slab));
    const auto store = [&](int plane, int nr, u32(&tiles)[8]) {
      DANAUS_UNROLL
      for (int n = 0; n < 8; ++n) tiles[n] = scaled::samples_of<layout.dtype>(tiles[n], factor);
      column.store(plane, nr, tiles);
    };
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      store(0, nr, re[nr]);
      if constexpr (layout.pair) store(1, nr, im[nr]);
    }
  }
  // By bulk copies, once all warps have written; and lets go of the stage before.
  DANAUS_DEVICE void store_stage(int i, int stage) const {
    if (leader_) {
      const Place item = place_of(i);
      DANAUS_UNROLL_BY(1)
      for (int g = 0; g < layout.groups; ++g) {
        const int slab = layout.groups * stage + g;
        DANAUS_UNROLL_BY(1)
        for (int plane = 0; plane < kPlanes && item.row + plane < a_.batch; ++plane) {
          const int at[5] = {64 * slab_of_row(slab), 0, 0, item.channel, item.row + plane};
          device::tensor_store(a_.y_map, at, kept(slab) + plane * layout.row_bytes, layout.rows);
        }
      }
      device::store_commit();
      device::store_wait_read<1>();
    }
    if (stage > 0) release_stage(stage - 1);
  }
  DANAUS_DEVICE void store_stage_by_threads(const Item& item, int stage) const {
    DANAUS_UNROLL_BY(1)
    for (int g = 0; g < layout.groups; ++g) {
      const int slab = layout.groups * stage + g;
      for (int plane = 0; plane < kPlanes && item.row + plane < a_.batch; ++plane) {
        const RowPlace to = row_place(a_, a_.y_strides, Path::threads, item, plane);
        for (int chunk = Worker::index(); chunk < layout.row_chunks; chunk += Worker::kThreads) {
          const int n = sample_of<P>(slab_of_row(slab), chunk);
          if (n >= to.last) continue;
          store_chunk(a_.y, to, n, a_.transfer,
                      device::load_shared<16>(swizzled(kept(slab) + plane * layout.row_bytes + 16 * chunk)));
        }
      }
    }
    device::sync_block();
    release_stage(stage);
  }
  // To all blocks, that their lines of the next item may come into its slabs: what the leader has waited for.
  DANAUS_DEVICE void release_stage(int stage) const {
    if (warp_ > 0) return;
    device::sync_warp();
    const int lane = device::lane_index();
    DANAUS_UNROLL
    for (int g = 0; g < layout.groups; ++g)
      if (lane < layout.shares)
        device::barrier_release_remote(
            device::remote_address(layout.slabs_free_at + 8 * (layout.groups * stage + g), lane), 0);
  }

  const ConvolutionArguments& a_;
  const bool in_bulk_, leader_;
  const int warp_, rank_;
  const ItemRange items_;
  const u32* tables_;
};

template <class P, Path path>
DANAUS_DEVICE void run(const ConvolutionArguments& a) {
  Block<P, path>(a).run();
}

}  // namespace danaus::cluster::inline DANAUS_BACKEND

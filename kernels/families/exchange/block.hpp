// The steps of a block of an exchange: slabs in the ring, spectra, one item after the other.
#pragma once

#include "kernels/families/exchange/gates.hpp"
#include "kernels/families/exchange/steps.hpp"
#include "kernels/memory/scaled_rows.hpp"
#include "kernels/memory/short_filters.hpp"
#include "kernels/memory/walks.hpp"
#include "kernels/product/multiply.hpp"

namespace danaus::exchange::inline DANAUS_BACKEND {

// A kernel's layout, and where its samples lie.
template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  using Arguments = std::conditional_t<key.filtered, FilteredArguments, ConvolutionArguments>;
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");

  static DANAUS_DEVICE void tensor_at(Item item, int slab, int (&at)[5]) {
    at[0] = 64 * slab, at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }
};

// What follows a unit or a batch where nothing does.
struct Nothing {
  DANAUS_DEVICE void operator()(int) const {}
};

// What one block of the kernel does. A slab's place in the ring is `place`; that of an item is the place of its first
// slab.
template <class P, Path path>
class BlockSteps {
 public:
  using Arguments = typename P::Arguments;
  DANAUS_DEVICE explicit BlockSteps(const Arguments& a)
      : a_(a),
        path_(path == Path::any ? path_of(a.transfer) : path),
        leader_(device::thread_index() == 0),
        warp_(device::warp_index()),
        items_(a.division.of(device::block_index(), device::block_count(), a.channels)),
        first_(item_at<P>(a, items_.first)),
        fetch_item_(first_),
        gates_(a, path_, gates_in_ring(), postgate(), first_, items_.count) {}

  // The second walk over items that a warp has noted.
  DANAUS_DEVICE void finish(NotedItems of_warp) {
    of_warp.share(layout.notes_begin, warp_);
    device::sync_block();
    if (!NotedItems::any_of_block<layout.tuning.warps>(layout.notes_begin)) return;
    if (in_bulk() && leader_) device::store_wait<0>();
    device::fence_async_global();
    const NotedItems noted = NotedItems::of_block<layout.tuning.warps>(layout.notes_begin);
    load_registers();
    noted.for_each(items_.count, [&](int number) { compute_again(item_at<P>(a_, items_.first + number)); });
  }

 protected:
  static constexpr Layout layout = P::layout;
  // A lone row of bf16 has its own power of two anyway.
  static constexpr bool kJudges = layout.pair || layout.dtype == Dtype::f16;
  using Worker = BlockWorker<layout.threads>;
  static constexpr SharedAddress kStored = 8 * (layout.tuning.ring + layout.tuning.gate_ring);  // barrier
  static constexpr SharedAddress kSpectrum = kStored + 8;                                       // barrier
  static constexpr bool kCopiesSpectrum = layout.tuning.spectrum == Keep::bulk;
  static constexpr SharedAddress kExponents = layout.exponents_begin;
  static constexpr int kSlabsStored = layout.slabs / layout.tuning.stores;  // at a time
  // Whether refill() fills places again that threads may yet be storing from.
  static constexpr bool kWaitsForStored = layout.tuning.order != Order::in_turn || layout.lag == 0;
  static constexpr int kVectors = layout.tuning.pairs * layout.slabs;  // of a spectrum, for one batch
  using Spectra = Words<4>[kVectors];

  DANAUS_DEVICE bool in_bulk() const { return path_ != Path::threads; }  // by copies that the leader issues
  DANAUS_DEVICE bool gates_in_ring() const { return layout.tuning.gate_ring > 0 && in_bulk(); }
  DANAUS_DEVICE bool pregate() const { return layout.gated && a_.pregate; }
  DANAUS_DEVICE bool postgate() const { return layout.gated && a_.postgate; }
  DANAUS_DEVICE bool is_enclosing() const { return !layout.pair && encloses(path_); }

  // Barriers, constants.
  DANAUS_DEVICE void prepare() {
    if (leader_ && in_bulk()) {
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(8 * i, 1);
      if constexpr (layout.tuning.gate_ring > 0) GateRing<P>::init();
      if (is_enclosing()) device::barrier_init(kStored, layout.tuning.warps);
      if constexpr (kCopiesSpectrum) device::barrier_init(kSpectrum, 1);
    }
    spectrum_.put_zeros();
    for (int i = device::thread_index(); i < layout.table_bytes / 16; i += layout.threads)
      device::store_shared<16>(layout.table_begin + 16 * i,
                               device::load_constant<16>(a_.tables + 128 * layout.shared_table + 4 * i));
    if constexpr (layout.sparse)
      spectrum_.find_pieces({a_.spectrum, a_.tables},
                            [&](int i) { return spectrum_vector(i / kVectors, i % kVectors); });
    device::fence_async();
    device::sync_block();
    load_registers();
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
  }
  DANAUS_DEVICE void load_registers() {
    spectrum_.begin({a_.spectrum, a_.tables});
    if constexpr (layout.sparse) find_live();  // before constants take the registers
    load_constants<P>(a_.tables, constants_);
    if constexpr (!layout.several_groups) {
      DANAUS_UNROLL
      for (int i = 0; i < layout.batch_groups; ++i) {
        const int vector = layout.group_at + 2 * group_at(i);
        groups_[i] = {load_matrix(a_.tables, vector), load_matrix(a_.tables, vector + 1)};
      }
    }
    if constexpr (layout.lines_in_registers) {
      DANAUS_UNROLL
      for (int i = 0; i < layout.warp_lines; ++i) {
        DANAUS_UNROLL
        for (int v = 0; v < layout.line_vectors; ++v)
          lines_[i][v] = load_lane_words(a_.tables, layout.line_at + (first_line() + i) * layout.line_vectors + v);
      }
    }
    if constexpr (layout.tuning.unit_in_registers)
      there_ = load_unit<P>(a_.tables, warp_, false), back_ = load_unit<P>(a_.tables, warp_, true);
    if constexpr (layout.half) {
      const int group = device::lane_index() / 4 / layout.rows_per_line;  // of k1
      live_rows_.lane = (group <= layout.groups / 2) | (group < layout.groups / 2 ? ~1u : 0);
    }
  }

  // What the marks of the spectrum leave to compute.
  DANAUS_DEVICE void find_live() {
    const auto lanes_of = [&](int vector) { return LiveMarks<layout.marks_at>::of(a_.tables, vector).lanes; };
    DANAUS_UNROLL
    for (int batch = 0; batch < layout.batches; ++batch) {
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i)
        if (lanes_of(spectrum_vector(batch, i)) != 0) live_batches_ |= 1u << batch;
    }
  }

  // A warp's lines of step B: those from first_line() on of some groups, of which group_at() says the i-th. Where one
  // half of the groups is live, they are far apart, so that each warp has a part of that.
  DANAUS_DEVICE int first_line() const { return warp_ * layout.warp_lines % layout.group_lines; }
  DANAUS_DEVICE int group_at(int i) const {
    const int sharing = warp_ * layout.warp_lines / layout.group_lines;  // number of those who share its groups
    return layout.half && layout.several_groups ? sharing + i * (layout.groups / layout.warp_groups)
                                                : sharing * layout.warp_groups + i;
  }
  // A batch's first group among the warp's, and its first pair among the warp's of that group, and among all pairs.
  static DANAUS_DEVICE constexpr int group_of(int batch) {
    return batch * layout.batch_pairs / (layout.warp_lines / 2);
  }
  static DANAUS_DEVICE constexpr int pair_in_group(int batch) {
    return batch * layout.batch_pairs % (layout.warp_lines / 2);
  }
  DANAUS_DEVICE int first_pair(int batch) const {
    if constexpr (layout.warp_groups == 1)
      return warp_ * layout.pairs_per_warp + batch * layout.tuning.pairs;
    else
      return (group_at(group_of(batch)) * layout.group_lines + first_line()) / 2 + pair_in_group(batch);
  }
  // The vector of a spectrum that belongs to slab i mod S of a batch's pair i / S.
  DANAUS_DEVICE int spectrum_vector(int batch, int i) const {
    const int pair = i / layout.slabs, group = pair / layout.batch_pairs;
    return (first_pair(batch) + group * layout.group_lines / 2 + pair % layout.batch_pairs) * layout.slabs +
           i % layout.slabs;
  }

  static DANAUS_DEVICE bool is_beyond_end(int place, int slab) {
    return layout.tuning.ring % layout.slabs != 0 && place + slab >= layout.tuning.ring;
  }
  static DANAUS_DEVICE int place_of(int place, int slab) {
    return is_beyond_end(place, slab) ? place + slab - layout.tuning.ring : place + slab;
  }
  static DANAUS_DEVICE SharedAddress address_of(int place) { return layout.slabs_begin + place * layout.place_bytes; }
  static DANAUS_DEVICE SharedAddress slab_at(int place, int slab) { return address_of(place_of(place, slab)); }
  // Row 0 or 1 of a slab: of the right angle, real or imaginary.
  static DANAUS_DEVICE SharedAddress row_at(int place, int slab, int row) {
    if constexpr (layout.apart)
      return row == 1 ? layout.imaginary_begin + slab * layout.row_bytes : slab_at(place, slab);
    else
      return slab_at(place, slab) + row * layout.row_bytes;
  }
  static DANAUS_DEVICE Column<P> column_of(int place, int unit) {
    const int slab = unit / layout.column_chunks;
    return Column<P>(row_at(place, slab, 0), row_at(place, slab, 1), unit % layout.column_chunks);
  }
  DANAUS_DEVICE void wait_for_slab(int place, u32 parity, int slab) const {
    if (in_bulk()) device::barrier_wait(8 * place_of(place, slab), parity ^ is_beyond_end(place, slab));
  }
  // The next item's place, and its parity.
  static DANAUS_DEVICE void step(int& place, u32& parity) {
    place += layout.slabs;
    if (place >= layout.tuning.ring) place -= layout.tuning.ring, parity ^= 1;
  }

  // Asks for slabs until `limit` of all that this block computes are there or on their way.
  DANAUS_DEVICE void fetch_until(int limit) {
    limit = min(limit, items_.count * layout.slabs);
    DANAUS_UNROLL_BY(layout.tuning.fetches)
    for (; fetched_ < limit; ++fetched_) {
      const SharedAddress place = address_of(fetch_place_), barrier = 8 * fetch_place_;
      if (in_bulk()) {
        if (fetch_item_.channel != fetched_channel_)
          spectrum_.prefetch({a_.spectrum, a_.tables}, fetched_channel_ = fetch_item_.channel);
        device::barrier_expect(barrier, layout.load_bytes);
        copy_slab<P>(a_, path_, a_.u_map, a_.u_line, fetch_item_, fetch_slab_, place, barrier);
      } else {
        copy_slab_by_threads<P, Worker>(a_, a_.u, a_.u_strides, fetch_item_, fetch_slab_, place);
      }
      if (++fetch_place_ == layout.tuning.ring) fetch_place_ = 0;
      if (++fetch_slab_ == layout.slabs) fetch_slab_ = 0, advance<P>(a_, fetch_item_);
    }
  }

  // Places of slabs are free once their stores have been read; the last `pending` of those that were issued may not be.
  // `freed` slabs are then done with. Of stores by threads a block barrier stands between one and the next.
  template <int pending = 0>
  DANAUS_DEVICE void refill(int freed) {
    if (in_bulk() && !leader_) return;
    if (in_bulk()) device::store_wait_read<pending>();
    if (is_enclosing() && stored_ > 0 && freed == stored_ * layout.slabs)
      device::barrier_wait(kStored, (stored_ - 1) & 1);
    fetch_until(freed + layout.tuning.ring);
    // With tensor copies it does nothing, but without it the compiler spills (16K causal: 14 registers).
    device::copy_async_commit();
  }

  DANAUS_DEVICE void release_gates(int slabs) {
    gates_.release(slabs);
    if (leader_) gates_.fetch();
  }

  // For all threads to call, who then have no barrier.
  DANAUS_DEVICE void store_slabs(Item item, int place, int first, int last) {
    if (is_enclosing()) {
      store_enclosed<P, Worker>(a_, item, first, last, [&](int s) { return slab_at(place, s); });
      if (!kWaitsForStored || last < layout.slabs) return;
      device::sync_warp();
      if (device::lane_index() == 0) device::barrier_arrive(kStored);
      ++stored_;
    } else if (leader_) {
      for (int s = first; s < last; ++s) store_slab<P>(a_, item, s, slab_at(place, s));
    }
  }

  // Calls visit(j) for each of this warp's units of step A.
  template <class Visit>
  static DANAUS_DEVICE void for_each_unit(Visit visit) {
    if constexpr (layout.tuning.units_rolled) {
      DANAUS_UNROLL_BY(1)
      for (int j = 0; j < layout.units_per_warp; ++j) visit(j);
    } else {
      DANAUS_UNROLL
      for (int j = 0; j < layout.units_per_warp; ++j) visit(j);
    }
  }

  // This warp's blocks of a row that short filters convolve.
  DANAUS_DEVICE FilteredBlocks filtered_blocks() const {
    constexpr int kOfWarp = layout.size / 128 / layout.tuning.warps;
    return {warp_ * kOfWarp, warp_ * kOfWarp + kOfWarp - 1};
  }
  // The chunks of a row of u, or of a gate, whose slab s is at slab_at(s).
  template <class SlabAt>
  static DANAUS_DEVICE auto chunks_of(int row, SlabAt slab_at) {
    return [=](int chunk) {
      const int n = 8 * chunk;
      return swizzled(slab_at(slab_of<P>(n)) + row * layout.row_bytes + 16 * chunk_of<P>(n));
    };
  }
  // Of the gate whose turn it is; by threads the ring's first places have it.
  DANAUS_DEVICE auto gate_slabs() const {
    return [first = in_bulk() ? gates_.first() : 0](int s) { return GateRing<P>::at(first, s); };
  }
  // A gate's slabs, when all have come.
  DANAUS_DEVICE void bring_gate(const void* rows, const RowStrides& strides, const Item& item) const {
    if (in_bulk()) {
      DANAUS_UNROLL_BY(1)
      for (int s = 0; s < layout.slabs; ++s) gates_.wait(s);
    } else {
      for (int s = 0; s < layout.slabs; ++s)
        copy_slab_by_threads<P, Worker>(a_, rows, strides, item, s, gate_slabs()(s));
      device::copy_async_commit();
      device::copy_async_wait<0>();
      device::sync_block();
    }
  }
  // u times the pregate, each through its short filter, over u: all of an item before step A.
  DANAUS_DEVICE void filter_samples(const Item& item, int place, u32 parity) {
    for (int s = 0; s < layout.slabs; ++s) wait_for_slab(place, parity, s);
    if (pregate()) bring_gate(a_.pregate, a_.pregate_strides, item);
    filters_.hold(a_, item.channel);
    const FilteredBlocks blocks = filtered_blocks();
    const auto of_u = [&](int row) {
      return filtered_row<false>(blocks, true, chunks_of(row, [=](int s) { return slab_at(place, s); }));
    };
    const auto of_gate = [&](int row) { return filtered_row<false>(blocks, pregate(), chunks_of(row, gate_slabs())); };
    const auto u = of_u(0), second_u = of_u(layout.item_rows - 1);
    const auto gate = of_gate(0), second_gate = of_gate(layout.item_rows - 1);
    device::sync_block();
    filters_.filter(a_, blocks, u, gate);
    if (layout.pair && item.row + 1 < a_.batch) filters_.filter(a_, blocks, second_u, second_gate);
    device::sync_block();
  }
  DANAUS_DEVICE void filter_postgate(const Item& item) const {
    if (!postgate()) return;
    bring_gate(a_.postgate, a_.postgate_strides, item);
    const FilteredBlocks blocks = filtered_blocks();
    const auto of_gate = [&](int row) { return filtered_row<false>(blocks, true, chunks_of(row, gate_slabs())); };
    const auto gate = of_gate(0), second = of_gate(layout.item_rows - 1);
    device::sync_block();
    filters_.filter_postgate(a_, blocks, gate);
    if (layout.pair && item.row + 1 < a_.batch) filters_.filter_postgate(a_, blocks, second);
    device::sync_block();
  }

  // A gate's part for a unit, when it has come.
  DANAUS_DEVICE Gate<P> gate_of(bool present, const void* rows, const RowStrides& strides, Item item, int unit) const {
    Gate<P> gate{present, gates_in_ring(), path_, 0, {}, rows, strides, item, unit};
    if (present && layout.filtered) gate.in_ring = true;
    if (present && gate.in_ring) {
      gate.slab_begin =
          layout.filtered ? gate_slabs()(unit / layout.column_chunks) : gates_.wait(unit / layout.column_chunks);
      gate.slab = Column<P>(gate.slab_begin, gate.slab_begin + layout.row_bytes, unit % layout.column_chunks);
    }
    return gate;
  }

  // Whether the item's rows may have samples beyond N, which the unit of its first ones takes along.
  DANAUS_DEVICE bool has_beyond(int unit) const { return !layout.pair && path_ == Path::overhang && unit == 0; }
  // Those of one of the arrays, for its first lane.
  DANAUS_DEVICE Words<4> load_beyond(const void* rows, const RowPlace& row) const {
    return device::lane_index() == 0 ? load_chunk(rows, row, layout.size, Transfer::enclosing) : Words<4>{};
  }

  // Zeros for what an enclosing copy brought of other rows into the row's first and last chunks, in the slab at `slab`,
  // for the warp whose unit they belong to.
  DANAUS_DEVICE void clear_ends(const RowPlace& row, int unit, SharedAddress slab) const {
    const bool begins = unit == 0 && row.first > 0;
    const bool ends = row.last % 8 != 0 && row.last < layout.size && row.last / 8 % layout.units == unit;
    if (!begins && !ends) return;
    const int lane = device::lane_index();
    if (lane == 0 ? begins : lane == 1 && ends && (!begins || row.last >= 8)) {
      const int n = lane == 0 ? 0 : row.last & ~7;
      const SharedAddress at = swizzled(slab + 16 * chunk_of<P>(n));
      device::store_shared<16>(at, within(row, n, device::load_shared<16>(at)));
      device::fence_async();  // a bulk copy fills the place next, if it is a gate's
    }
    device::sync_warp();
  }

  // Judges the item of which this warp has units: with the last of them, or each of its own power of two by itself.
  struct Judged {
    static constexpr bool kJudges = BlockSteps::kJudges;
    static constexpr int kParts = layout.scaled ? layout.units : layout.tuning.warps;
    const BlockSteps& block;
    int channel;
    bool is_last;
    range::LaneSquares<2>& squares;
    range::Verdict& verdict;
    DANAUS_DEVICE void operator()() const {
      if (!layout.scaled && !is_last) return;
      const range::Limits limits = limits_of<layout.dtype, layout.range_parts>(block.a_, channel);
      verdict = range::Judge<layout.dtype, layout.pair, kParts>::judge(squares, limits);
      squares = {};
    }
  };

  // Step A of the block's item of that number, calling after(j) when this warp's unit j is done.
  template <class After>
  DANAUS_DEVICE void transform(Item item, int number, int place, u32 parity, After after) {
    if constexpr (layout.filtered) filter_samples(item, place, parity);
    const RowPlace row = is_enclosing() ? row_place(a_, a_.u_strides, Path::enclosing, item) : RowPlace{};
    range::LaneSquares<2> squares;
    for_each_unit([&](int j) {
      const int unit = warp_ + layout.tuning.warps * j;
      Words<4> tail{};
      if (has_beyond(unit)) {
        tail = load_beyond(a_.u, row);
        if (pregate()) tail = gated<layout.dtype>(tail, load_beyond(a_.pregate, row));
      }
      wait_for_slab(place, parity, unit / layout.column_chunks);
      if constexpr (!layout.tuning.unit_in_registers) there_ = load_unit<P>(a_.tables, unit, false);
      const Gate<P> gate = gate_of(pregate() && !layout.filtered, a_.pregate, a_.pregate_strides, item, unit);
      if (is_enclosing()) {
        clear_ends(row, unit, slab_at(place, unit / layout.column_chunks));
        if (gate.present && gate.in_ring) clear_ends(row, unit, gate.slab_begin);
      }
      const auto cut = [&](int nr, int b, Words<4> words) {
        if (!is_enclosing()) return words;  // zeros have come with the copy
        const int n = Column<P>::sample(unit, nr, b);
        const u32 present = n < row.last ? ~0u : 0;  // by a mask, not by a branch, which would cost moves
        DANAUS_UNROLL
        for (int i = 0; i < 4; ++i) words[i] &= present;
        return words;
      };
      const Column<P> column = column_of(place, unit);
      range::Verdict verdict;
      const Judged judged{*this, item.channel, j == layout.units_per_warp - 1, squares, verdict};
      if (has_beyond(unit))
        transform_column<P, !layout.pair, Walk::first>(a_, column, gate, constants_, there_, tail,
                                                       kExponents + 4 * unit, cut, LiveRows<P>(), judged);
      else
        transform_column<P, false, Walk::first>(a_, column, gate, constants_, there_, tail, kExponents + 4 * unit, cut,
                                                live_rows_, judged);
      noted_.note(number, verdict.refuses(item.row + 1 < a_.batch));
      after(j);
    });
  }

  template <class After>
  DANAUS_DEVICE void transform_back(Item item, int place, After after) {
    if constexpr (layout.filtered) filter_postgate(item);
    for_each_unit([&](int j) {
      const int unit = warp_ + layout.tuning.warps * j;
      if constexpr (!layout.tuning.unit_in_registers) back_ = load_unit<P>(a_.tables, unit, true);
      const Gate<P> gate = gate_of(postgate(), a_.postgate, a_.postgate_strides, item, unit);
      Words<4> tail{};
      if (has_beyond(unit)) {
        transform_column_back<P, !layout.pair, Walk::first>(a_, column_of(place, unit), gate, constants_, back_,
                                                            factor_, tail);
        const RowPlace row = row_place(a_, a_.y_strides, Path::enclosing, item);
        const RowPlace of_gate = row_place(a_, a_.postgate_strides, Path::enclosing, item);
        tail =
            postgate() ? samples_of<P>(tail, factor_, load_beyond(a_.postgate, of_gate)) : samples_of<P>(tail, factor_);
        if (device::lane_index() == 0) store_chunk(a_.y, row, layout.size, Transfer::enclosing, tail);
      } else {
        transform_column_back<P, false, Walk::first>(a_, column_of(place, unit), gate, constants_, back_, factor_, tail,
                                                     live_rows_);
      }
      after(j);
    });
  }

  // Asks for the spectrum of a block's first item; and, when nobody reads that of the item before any more, of the
  // next.
  DANAUS_DEVICE void copy_spectrum(int channel) {
    if constexpr (kCopiesSpectrum)
      if (in_bulk() && leader_) spectrum_.copy({a_.spectrum, a_.tables}, channel, kSpectrum);
  }
  DANAUS_DEVICE void copy_next_spectrum(Item item, int number) {
    const int channel = item.channel;
    advance<P>(a_, item);
    if (number + 1 < items_.count && item.channel != channel) copy_spectrum(item.channel);
  }
  // A block's channels follow one another.
  DANAUS_DEVICE void wait_for_spectrum(int channel) const {
    if constexpr (kCopiesSpectrum)
      if (in_bulk()) device::barrier_wait(kSpectrum, (channel - first_.channel) & 1);
  }
  DANAUS_DEVICE void hold_spectrum(int channel) {
    if (kCopiesSpectrum && in_bulk()) return;
    hold_spectrum_by_threads(channel);
  }
  DANAUS_DEVICE void hold_spectrum_by_threads(int channel) {
    spectrum_.hold(
        {a_.spectrum, a_.tables}, channel, [&](int i) { return spectrum_vector(i / kVectors, i % kVectors); },
        [&](int i) { return is_live(i / kVectors); });
  }
  // Whether some warp's batch of that number is: of groups to k1 = 4.
  static DANAUS_DEVICE constexpr bool may_be_computed(int batch) {
    return !layout.several_groups || group_of(batch) * (layout.groups / layout.warp_groups) <= layout.groups / 2;
  }
  DANAUS_DEVICE bool is_live(int batch) const {
    return is_computed(batch) && (!layout.sparse || (live_batches_ >> batch & 1));
  }
  // Of a half spectrum, whether the batch is of that half.
  DANAUS_DEVICE bool is_computed(int batch) const {
    return !layout.half || (may_be_computed(batch) && first_pair(batch) < layout.live_pairs);
  }
  DANAUS_DEVICE void load_spectra(int channel, int batch, Spectra& spectra) const {
    if (!is_live(batch)) return;
    DANAUS_UNROLL
    for (int i = 0; i < kVectors; ++i)
      spectra[i] = spectrum_.load({a_.spectrum, a_.tables}, channel, batch * kVectors + i, spectrum_vector(batch, i));
  }

  DANAUS_DEVICE LineTwiddles<P> twiddles_of(int line) const {  // of this warp's lines
    if constexpr (layout.lines_in_registers) {
      return LineTwiddles<P>(lines_[line]);
    } else {
      Words<4> w[layout.line_vectors];
      DANAUS_UNROLL
      for (int v = 0; v < layout.line_vectors; ++v) w[v] = from_table((first_line() + line) * layout.line_vectors + v);
      return LineTwiddles<P>(w);
    }
  }
  DANAUS_DEVICE void load_groups(int batch) {
    if constexpr (layout.several_groups) {
      const int vector = 2 * group_at(group_of(batch));
      groups_[0] = {matrix_of(from_table(vector)), matrix_of(from_table(vector + 1))};
    }
  }
  DANAUS_DEVICE Words<4> from_table(int vector) const {
    if constexpr (layout.tuning.twiddles == Keep::shared)
      return device::load_shared<16>(layout.table_begin + 512 * vector + 16 * device::lane_index());
    else
      return load_lane_words(a_.tables, layout.shared_table + vector);
  }

  // Step B, calling after(batch) when a batch of lines is done. Spectra are asked for a batch ahead, the first by the
  // caller.
  template <Walk walk = Walk::first, class After>
  DANAUS_DEVICE void convolve(int number, int place, int channel, Spectra& ahead, After after) {
    u32 unit_scales[layout.slabs] = {};
    if constexpr (walk == Walk::again) {
      DANAUS_UNROLL
      for (u32& scale : unit_scales) scale = Sine::k90;  // 1
    } else if constexpr (layout.scaled) {
      const int exponent = scale_units<P>(kExponents, unit_scales);
      factor_ = scaled::power_of_two(exponent) * spectrum_.factor(a_.spectrum_factors, channel);
      noted_.note(number, range::leaves_range(exponent, factor_));
    }
    DANAUS_UNROLL
    for (int batch = 0; batch < layout.batches; ++batch) {
      Spectra spectra;
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) spectra[i] = ahead[i];
      if (batch + 1 < layout.batches) load_spectra(channel, batch + 1, ahead);
      const auto row_of = [&](int s, int row) { return row_at(place, s, row); };
      if (is_live(batch)) {
        load_groups(batch);
        convolve_lines<P>(row_of, first_pair(batch), constants_, groups_, spectra, unit_scales,
                          [&](int line) { return twiddles_of(2 * pair_in_group(batch) + line); });
      } else if (layout.sparse && is_computed(batch)) {
        clear_lines<P>(row_of, first_pair(batch));
      }
      after(batch);
    }
  }

  // Of a ring of gates that cannot hold an item's: the pregate's places are filled again after each unit.
  DANAUS_DEVICE void release_pregate_of_unit() {
    if (layout.gate_groups == 1 || !pregate() || !gates_in_ring()) return;
    device::sync_block();
    release_gates(layout.slabs / layout.gate_groups);
  }
  DANAUS_DEVICE void release_pregate() {
    if (!pregate() || !gates_in_ring()) return;
    if constexpr (layout.gate_groups == 1) release_gates(layout.slabs);
    gates_.turn();
  }

  DANAUS_DEVICE void compute_again(const Item& item) {
    const auto for_each_slab = [&](auto visit) {
      DANAUS_UNROLL_BY(1)
      for (int s = 0; s < layout.slabs; ++s) visit(s, [=](int row) { return row_at(0, s, row); });
    };
    device::sync_block();  // the slabs, and what the sums need, are free
    const ScaledRows<P, Worker, Arguments> rows(a_, item);
    range::RowPowers powers;
    const range::Limits limits = limits_of<layout.dtype, layout.range_parts>(a_, item.channel);
    if (!rows.scale(limits, factor_of(a_, item.channel), layout.notes_begin, powers)) return;
    for_each_slab([&](int s, auto of_row) { rows.load_slab(s, powers, of_row); });
    hold_spectrum_by_threads(item.channel);
    device::sync_block();
    for_each_unit([&](int j) {
      const int unit = warp_ + layout.tuning.warps * j;
      if constexpr (!layout.tuning.unit_in_registers) there_ = load_unit<P>(a_.tables, unit, false);
      transform_column<P, false, Walk::again>(
          a_, column_of(0, unit), Gate<P>{}, constants_, there_, {}, kExponents,
          [](int, int, Words<4> words) { return words; }, live_rows_, NoJudge());
    });
    Spectra ahead;
    load_spectra(item.channel, 0, ahead);
    device::sync_block();
    convolve<Walk::again>(0, 0, item.channel, ahead, Nothing());
    device::sync_block();
    for_each_unit([&](int j) {
      const int unit = warp_ + layout.tuning.warps * j;
      if constexpr (!layout.tuning.unit_in_registers) back_ = load_unit<P>(a_.tables, unit, true);
      Words<4> unused{};
      transform_column_back<P, false, Walk::again>(a_, column_of(0, unit), Gate<P>{}, constants_, back_, 1, unused,
                                                   live_rows_);
    });
    device::sync_block();
    const float factor = factor_of(a_, item.channel);
    for_each_slab([&](int s, auto of_row) { rows.store_slab(s, powers, factor, of_row); });
  }

  const Arguments& a_;
  const Path path_;
  const bool leader_;  // issues the bulk copies
  const int warp_;
  const ItemRange items_;
  const Item first_;
  Constants<P> constants_;
  RowTwiddles<P> there_, back_;                // of a warp's only unit, or of the one at hand
  GroupMatrices groups_[layout.batch_groups];  // of the batch's groups
  ChannelSpectrum<layout.tuning.spectrum, layout.rows, layout.pairs_per_warp * layout.slabs, layout.spectrum_numbers,
                  layout.spectrum_begin, layout.marks_at, layout.numbers_begin>
      spectrum_;
  u32 live_batches_ = 0;  // of a masked spectrum, a bit each
  LiveRows<P> live_rows_;
  Words<4> lines_[layout.lines_in_registers ? layout.warp_lines : 1][layout.line_vectors];
  int fetched_ = 0, fetch_place_ = 0, fetch_slab_ = 0;  // slabs that have been asked for; place and number of the next
  Item fetch_item_;
  int fetched_channel_ = -1;  // whose spectrum has been asked for
  float factor_ = 0;          // of the item between steps B and A back
  int stored_ = 0;            // items whose last slabs refill() waits for
  GateRing<P> gates_;
  NotedItems noted_;
  std::conditional_t<layout.filtered, ShortFilters<layout.dtype>, Nothing> filters_;
};

}  // namespace danaus::exchange::inline DANAUS_BACKEND

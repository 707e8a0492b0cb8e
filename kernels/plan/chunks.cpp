#include "kernels/plan/chunks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/plan/choice.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/outer_pass.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

// Whether tensor copies can take pieces out of rows and put them there, as far as L and the device say.
bool may_be_direct(const Convolution& p, const Device& device) {
  return device.has_tensor_copies() && p.length % 8 == 0 && 2 * p.length < std::int64_t{1} << 40;
}

// How pieces that lie in rows share launches: a tensor map has one dimension for channels and one for what shares a
// channel's spectrum. Either all batch rows do, and every piece of a row is a launch of its own; or all pieces do, and
// batch rows are more channels, with copies of the spectra. What takes fewer launches.
//
// With so many copies a launch has 64 items a multiprocessor, a third of a millisecond of 16K points, beside which its
// beginning and end are short; but no more than L2 has room for. Of any batch beyond one as many: what is prepared
// serves them all.
std::int64_t spectrum_copies(const Convolution& p, const Chunks& chunks, const Device& device) {
  if (!may_be_direct(p, device) || p.batch == 1) return 1;
  const std::int64_t items = p.channels * ratio_up(chunks.count, 2);
  const std::int64_t most = std::clamp<std::int64_t>(device.cache_bytes / (4 * p.channels * chunks.size), 1, 64);
  return std::min(ratio_up(64 * device.multiprocessors, items), most);
}
bool shares_by_rows(std::int64_t batch, std::int64_t copies, const Chunks& chunks) {
  return chunks.count < ratio_up(batch, copies);
}

// ---- what it takes, in bytes that memory moves in the same time

// Of an m16n8k16. Fused kernels hide them in part: 27 bytes would be their whole time on an H200 (4.28 TB/s, 638
// TFLOP/s), and from 4K to 32K points rows of pairs take 1.2 to 1.45 times the copy of theirs.
constexpr double kInstructionBytes = 16;
// Of a point, what clusters take beside their rows and instructions, which are 7 to 8 bytes. In all, an H200 takes 18.6
// bytes a sample at 64K, 21.4 at 128K and 24.3 at 256K. Measured: B=64, fp16, H=192, 96, 48: 3504, 4022, 4579 us.
constexpr double kClusterBytes = 11;
// Of a launch, 5 us of an H200.
constexpr double kLaunchBytes = 20e6;

// Of a choice between them, so that it is the same for every batch beyond one, and so is what is prepared.
constexpr std::int64_t kUsualBatch = 64;

// Of a complex sequence there and back: of eight points 64 of them an instruction, of sixteen 32, of others none.
double instructions(const std::vector<int>& factors, std::int64_t size) {
  double sum = 0;
  for (int factor : factors) sum += factor == 8 ? size / 64. : factor == 16 ? size / 32. : 0;
  return 2 * sum;
}

double cost_of_chunks(const Convolution& p, const ChunkVariant& variant, const Device& device) {
  const Chunks chunks(p, variant.inner());
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  const double pair = kInstructionBytes * instructions(variant.factors, variant.size);
  const auto size = static_cast<double>(variant.size);
  const bool direct = may_be_direct(p, device);
  const std::int64_t by_copies = ratio_up(direct ? chunks.rest_end : p.length, chunks.step);
  const auto at_once = static_cast<double>(direct ? chunks.count : 0), moved = static_cast<double>(by_copies);
  const double reads = 1 + p.pregate, writes = 1 + p.postgate;  // arrays
  const double of_row = at_once * (2 * reads * size + 2 * writes * static_cast<double>(chunks.step) + pair / 2) +
                        moved * (2 * (reads + 4 + writes) * size + pair / 2);
  const std::int64_t copies = spectrum_copies(p, chunks, device);
  const bool by_rows = shares_by_rows(p.batch, copies, chunks);
  const auto launches = static_cast<double>(by_rows ? chunks.count : ratio_up(p.batch, copies));
  const double spectra = by_rows ? launches : static_cast<double>(p.batch);  // that are read
  return rows * of_row + 4 * spectra * static_cast<double>(p.channels) * size + (launches + 3) * kLaunchBytes;
}

// By outer passes, or by one kernel of clusters.
double cost_of_whole(const Convolution& p, const Variant& variant, const Device& device) {
  const double rows = static_cast<double>(p.batch) * static_cast<double>(p.channels);
  const auto size = static_cast<double>(variant.size), length = static_cast<double>(p.length);
  const bool passes = takes_several_launches(variant);
  const double planes =
      passes ? 4. * 2 * size * static_cast<double>(plane_rows(variant.fold, p.batch)) / static_cast<double>(p.batch)
             : kClusterBytes * size;
  const double of_row = 2 * (2 + p.pregate + p.postgate) * length + planes +
                        kInstructionBytes * instructions(variant.factors, variant.size) / variant.item_rows();
  const double launches = passes ? 3 * std::ceil(rows * planes / 4 / static_cast<double>(chunk_bytes(device))) : 1;
  return rows * of_row + 4 * static_cast<double>(p.channels) * size + launches * kLaunchBytes;
}

// ---- launches

// The kernel of families/pieces for one job.
class PiecesKernel {
 public:
  PiecesKernel(Dtype dtype, pieces::Job job) : layout_({dtype, job}, {}) {
    const Instances<pieces::Family> all = pieces::Family::instances(0);
    while (!(all.list.at(number_).key == layout_.key)) ++number_;
  }
  void fit(const Machine& machine) {
    concurrent_ = machine.concurrent_blocks(kernel(), Path::threads, layout_.threads, layout_.shared_bytes);
  }
  std::int64_t bytes_of_pieces(const pieces::Arguments& a) const {
    return std::int64_t{layout_.bytes} * a.rows_now * a.channels_now * a.size;
  }
  Launch launch(const pieces::Arguments& a, const Machine& machine, const std::string& description) const {
    const std::int64_t blocks = std::min<std::int64_t>(concurrent_, std::int64_t{a.rows_now} * a.channels_now);
    Launch launch =
        make_launch(machine, description, kernel(), Path::threads, blocks, layout_.threads, layout_.shared_bytes);
    launch.give(a);
    return launch;
  }

 private:
  KernelId kernel() const { return {pieces::Family::name, 0, number_}; }

  pieces::Layout layout_;
  std::size_t number_ = 0;
  std::int64_t concurrent_ = 1;
};

class ChunkedConvolution final : public Step {
 public:
  ChunkedConvolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                     const SpectrumPlace& place, const ChunkVariant& variant, const Device& device, Pass pass)
      : problem_(problem),
        arrays_(arrays),
        place_(place),
        size_(variant.size),
        chunks_(problem, variant.inner(), pass),
        copies_(spectrum_copies(problem, chunks_, device)),
        direct_(may_be_direct(problem, device)),
        chunk_bytes_(chunk_bytes(device, problem)),
        description_(asked.token() + ", " + variant.name),
        inner_(variant.inner(), description_),
        cut_(problem.dtype, pieces::Job::cut),
        join_(problem.dtype, pieces::Job::join) {}

  std::string_view name() const override { return "convolution"; }
  std::vector<std::uint32_t> constants() const override { return inner_.variant().make_tables(); }
  void fit(const Machine& machine) override { inner_.fit(machine), cut_.fit(machine), join_.fit(machine); }
  // Pieces of u, of y and of gates.
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    const int arrays = 2 + (arrays_.pregate >= 0) + (arrays_.postgate >= 0);
    return std::int64_t{2} * arrays * size_ * pieces_at_once(batch);
  }

  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    const auto array = [&](int number) { return rows_at(call, number, problem_); };
    const RowArray u = array(arrays_.u), pregate = array(arrays_.pregate), postgate = array(arrays_.postgate),
                   y = array(arrays_.y);
    // Pieces of several rows take one map where channels go on evenly from row to row. Else a launch has one row's.
    const auto is_even = [&](const RowArray& rows) {
      return !rows.data || call.batch == 1 || rows.strides.row == problem_.channels * rows.strides.channel;
    };
    const bool by_rows = shares_by_rows(call.batch, copies_, chunks_);
    const bool direct = direct_ && are_aligned({u, pregate, postgate, y});
    if (direct) {
      const std::int64_t rows = is_even(u) && is_even(pregate) && is_even(postgate) && is_even(y) ? copies_ : 1;
      const std::int64_t launches = by_rows ? chunks_.count : ratio_up(call.batch, rows);
      for (std::int64_t i = 0; i < launches; ++i) {
        const std::int64_t all = by_rows ? chunks_.count : call.batch;
        const std::int64_t first = all * i / launches, count = all * (i + 1) / launches - first;
        const Span some{first, count};
        to(by_rows ? direct_launch(call, machine, constants, {0, call.batch}, some, true)
                   : direct_launch(call, machine, constants, some, {0, chunks_.count}, false));
      }
    }
    const std::int64_t begin = direct ? chunks_.rest : 0, end = direct ? chunks_.rest_end : problem_.length;
    if (begin == end) return;
    const std::int64_t of_row = ratio_up(end - begin, chunks_.step), rows = call.batch * of_row;
    const std::int64_t room = pieces_at_once(call.batch);
    const std::int64_t channels = std::clamp<std::int64_t>(room / rows, 1, problem_.channels);
    const std::int64_t rows_at_once = std::min(rows, room);
    for (std::int64_t channel = 0; channel < problem_.channels; channel += channels)
      for (std::int64_t row = 0; row < rows; row += rows_at_once) {
        pieces::Arguments a{};
        a.pieces = call.workspace;
        a.begin = begin, a.end = end;
        a.first_row = static_cast<int>(row), a.rows_now = static_cast<int>(std::min(rows_at_once, rows - row));
        a.first_channel = static_cast<int>(channel);
        a.channels_now = static_cast<int>(std::min(channels, problem_.channels - channel));
        a.of_row = static_cast<int>(of_row);
        a.channels = static_cast<int>(problem_.channels), a.length = static_cast<int>(problem_.length);
        a.size = size_, a.step = static_cast<int>(chunks_.step), a.lead = static_cast<int>(chunks_.lead);
        a.circular = problem_.mode == Mode::circular;
        to(cut_launch(call, machine, a));
        to(inner_launch(call, machine, constants, a));
        to(join_launch(call, machine, a));
      }
  }

 private:
  std::int64_t pieces_at_once(std::int64_t batch) const {
    const std::int64_t samples = direct_ ? chunks_.rest_end - chunks_.rest : problem_.length;
    const std::int64_t of_row = std::max<std::int64_t>(ratio_up(samples, chunks_.step), 1);
    return std::min(std::max<std::int64_t>(chunk_bytes_ / (2 * size_), 1), batch * problem_.channels * of_row);
  }
  std::int64_t array_bytes(const Call& call, const RowArray& rows) const {
    return reach_of(rows.strides, call.batch, problem_.channels, problem_.length);
  }

  struct Span {
    std::int64_t first, count;
  };
  // Some of the pieces that lie in rows, of some of the batch.
  Launch direct_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                       const Span& rows, const Span& pieces, bool by_rows) const {
    const std::int64_t sample = chunks_.first + pieces.first * chunks_.step;  // of the first result
    const auto pieces_of_rows = [&](int array, std::int64_t first) {
      RowArray all = rows_at(call, array, problem_).from(rows.first, 0, first);
      if (!by_rows) all.strides.row = chunks_.step;
      return all;
    };
    ConvolutionArguments a{};
    give_rows(a, pieces_of_rows(arrays_.u, sample - chunks_.lead),
              pieces_of_rows(arrays_.pregate, sample - chunks_.lead), pieces_of_rows(arrays_.postgate, sample),
              pieces_of_rows(arrays_.y, sample));
    a.batch = static_cast<int>(by_rows ? rows.count : pieces.count);
    a.channels = static_cast<int>(by_rows ? problem_.channels : rows.count * problem_.channels);
    give_spectrum(call, 0, constants, a);
    a.length = size_, a.result_length = static_cast<int>(chunks_.step);
    return inner_.launch(a, machine, std::int64_t{4} * size_ * a.channels, words_bytes(constants));
  }

  Launch cut_launch(const Call& call, const Machine& machine, pieces::Arguments a) const {
    const RowArray u = rows_at(call, arrays_.u, problem_), pregate = rows_at(call, arrays_.pregate, problem_),
                   postgate = rows_at(call, arrays_.postgate, problem_);
    a.rows = u.data, a.rows_strides = u.strides;
    a.pregate = pregate.data, a.pregate_strides = pregate.strides;
    a.postgate = postgate.data, a.postgate_strides = postgate.strides;
    a.pregate_pieces = pieces_of(a, kOfPregate), a.postgate_pieces = pieces_of(a, of_postgate());
    a.aligned = problem_.length % 8 == 0 && are_aligned({u, pregate, postgate});
    Launch launch = cut_.launch(a, machine, description_);
    const std::int64_t bytes = cut_.bytes_of_pieces(a);
    const auto touches = [&](const char* name, const RowArray& rows, const char* cut, void* cut_rows) {
      if (!rows.data) return;
      launch.touches({name, rows.data, array_bytes(call, rows), false, false});
      launch.touches({cut, cut_rows, bytes, true, false});
    };
    touches("u", u, "pieces", a.pieces);
    touches("pregate", pregate, "pieces of the pregate", a.pregate_pieces);
    touches("postgate", postgate, "pieces of the postgate", a.postgate_pieces);
    return launch;
  }
  // The workspace has pieces of u, then of y, since a second walk reads u again, then of gates.
  static constexpr int kOfResults = 1, kOfPregate = 2;
  int of_postgate() const { return arrays_.pregate >= 0 ? 3 : 2; }
  void* pieces_of(const pieces::Arguments& a, int array) const {
    return static_cast<std::byte*>(a.pieces) + array * cut_.bytes_of_pieces(a);
  }
  Launch join_launch(const Call& call, const Machine& machine, pieces::Arguments a) const {
    a.pieces = pieces_of(a, kOfResults);
    const RowArray y = rows_at(call, arrays_.y, problem_);
    a.result = y.data, a.result_strides = y.strides;
    a.aligned = problem_.length % 8 == 0 && are_aligned({y});
    Launch launch = join_.launch(a, machine, description_);
    launch.touches({"y", a.result, array_bytes(call, y), true, false});
    launch.touches({"pieces", a.pieces, join_.bytes_of_pieces(a), false, false});
    return launch;
  }
  Launch inner_launch(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
                      const pieces::Arguments& pieces) const {
    ConvolutionArguments a{};
    a.u = pieces.pieces, a.y = pieces_of(pieces, kOfResults);
    if (arrays_.pregate >= 0) a.pregate = pieces_of(pieces, kOfPregate);
    if (arrays_.postgate >= 0) a.postgate = pieces_of(pieces, of_postgate());
    a.batch = pieces.rows_now, a.channels = pieces.channels_now, a.length = size_;
    a.u_strides = a.pregate_strides = a.postgate_strides = a.y_strides = contiguous(a.channels, a.length);
    give_spectrum(call, pieces.first_channel, constants, a);
    return inner_.launch(a, machine, std::int64_t{4} * size_ * a.channels, words_bytes(constants));
  }
  void give_spectrum(const Call& call, std::int64_t channel, std::span<const std::uint32_t> constants,
                     ConvolutionArguments& a) const {
    a.spectrum = prepared_at(call, place_.spectrum) + channel * size_, a.tables = constants.data();
    give_factors(call, place_, channel, a);
    a.rows_apart = true;
  }
  static std::int64_t words_bytes(std::span<const std::uint32_t> constants) {
    return static_cast<std::int64_t>(constants.size_bytes());
  }

  Convolution problem_;
  ConvolutionArrays arrays_;
  SpectrumPlace place_;
  int size_;  // N
  Chunks chunks_;
  std::int64_t copies_;  // of the spectra
  bool direct_;          // where arrays are aligned
  std::int64_t chunk_bytes_;
  std::string description_;
  FusedKernel inner_;
  PiecesKernel cut_, join_;
};

// Filters turned, and their transform.
class ChunkFilter final : public Step {
 public:
  ChunkFilter(const Case& asked, const Convolution& problem, const Prepared& prepared, const ChunkVariant& variant,
              const Device& device, Pass pass)
      : problem_(problem),
        turned_(chunk_filters(problem, variant, device)),
        lead_(Chunks(problem, variant.inner(), pass).lead),
        array_(array_of(asked.arrays(), "k")),
        description_("filter of " + asked.token() + " for " + variant.name),
        turn_(bytes(filter_dtype(problem)) == 2 ? Dtype::f16 : Dtype::f32, pieces::Job::turn),
        transform_(make_filter_transform(asked, turned_, prepared, variant.inner(), device, {})) {}

  std::string_view name() const override { return "filter"; }
  std::vector<std::uint32_t> constants() const override { return transform_->constants(); }
  void fit(const Machine& machine) override { turn_.fit(machine), transform_->fit(machine); }
  std::int64_t workspace_bytes(std::int64_t) const override {
    return bytes(filter_dtype(problem_)) * turned_.channels * turned_.filter_length;
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    pieces::Arguments a{};
    a.rows = at(call, array_), a.pieces = call.workspace;
    a.rows_now = 1, a.channels_now = static_cast<int>(turned_.channels);
    a.channels = static_cast<int>(problem_.channels), a.length = static_cast<int>(problem_.filter_length);
    a.size = static_cast<int>(turned_.length), a.lead = static_cast<int>(lead_);
    Launch launch = turn_.launch(a, machine, description_);
    launch.touches(
        {"k", a.rows, bytes(filter_dtype(problem_)) * problem_.channels * problem_.filter_length, false, false});
    launch.touches({"turned filters", a.pieces, turn_.bytes_of_pieces(a), true, false});
    to(launch);
    Call of_turned = call;
    of_turned.arrays.at(array_) = call.workspace;
    transform_->bind(of_turned, machine, constants, to);
  }

 private:
  Convolution problem_, turned_;
  std::int64_t lead_;
  int array_;
  std::string description_;
  PiecesKernel turn_;
  std::unique_ptr<Step> transform_;
};

}  // namespace

ChunkVariant::ChunkVariant(const Variant& fused) : inner_(fused) {
  family = fused.family, line = fused.line, instance = fused.instance;
  dtype = fused.dtype, fold = fused.fold, gated = fused.gated, size = fused.size, factors = fused.factors;
  preferred = fused.preferred, classes = fused.classes, compiled = fused.compiled;
  threads = fused.threads, shared_bytes = fused.shared_bytes, blocks_per_sm = fused.blocks_per_sm;
  name = "pieces_" + fused.name;
}

std::span<const std::unique_ptr<const ChunkVariant>> chunk_variants() {
  static const std::vector<std::unique_ptr<const ChunkVariant>> kVariants = [] {
    std::vector<std::unique_ptr<const ChunkVariant>> all;
    for (const auto& fused : variants())
      if (fused->size > 0 && fused->fold == Fold::pair) all.push_back(std::make_unique<ChunkVariant>(*fused));
    return all;
  }();
  return kVariants;
}

Chunks::Chunks(const Convolution& p, const Variant& inner, Pass pass) : size(inner.size) {
  const std::int64_t grain = inner.tensor_grain();
  step = (size - (p.filter_length - 1)) / grain * grain;
  const std::int64_t shared = size - step;
  count = (p.length - shared) / step;
  const std::int64_t left = p.length - count * step;
  if (pass == Pass::forward)
    lead = shared, first = left, rest = 0, rest_end = left;
  else
    lead = 0, first = 0, rest = p.length - left, rest_end = p.length;
}

const ChunkVariant* cheaper_chunks(Convolution p, const Variant* whole, const Device& device) {
  if (p.batch > 1) p.batch = kUsualBatch;
  const int device_class = device_class_of(device);
  const ChunkVariant* best = nullptr;
  double least = whole ? cost_of_whole(p, *whole, device) : std::numeric_limits<double>::infinity();
  for (const auto& v : chunk_variants()) {
    const bool is_kind = v->dtype == p.dtype && v->gated == (p.pregate || p.postgate) && v->preferred;
    if (!is_kind || !v->suits(device_class) || 2 * p.filter_length > v->size || v->size >= p.length) continue;
    if (p.length + v->size > std::numeric_limits<int>::max()) continue;
    if (const double cost = cost_of_chunks(p, *v, device); cost < least) best = v.get(), least = cost;
  }
  return best;
}

Convolution chunk_filters(const Convolution& p, const ChunkVariant& variant, const Device& device) {
  Convolution filters = p;
  filters.mode = Mode::causal;
  filters.length = filters.filter_length = variant.size;
  filters.channels = p.channels * spectrum_copies(p, Chunks(p, variant.inner()), device);
  return filters;
}

std::unique_ptr<Step> make_chunked_convolution(const Case& asked, const Convolution& problem,
                                               const ConvolutionArrays& arrays, const SpectrumPlace& place,
                                               const ChunkVariant& variant, const Device& device, Pass pass) {
  return std::make_unique<ChunkedConvolution>(asked, problem, arrays, place, variant, device, pass);
}

std::unique_ptr<Step> make_chunk_filter(const Case& asked, const Convolution& problem, const Prepared& prepared,
                                        const ChunkVariant& variant, const Device& device, Pass pass) {
  return std::make_unique<ChunkFilter>(asked, problem, prepared, variant, device, pass);
}

}  // namespace danaus

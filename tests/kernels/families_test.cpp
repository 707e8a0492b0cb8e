// Every variant of every family against the truth in double.
#include <bit>
#include <cmath>
#include <random>

#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

struct Part {
  std::string_view family;
  int size;
  Dtype dtype;
  friend void PrintTo(const Part& part, std::ostream* out) {
    *out << part.family << '_' << name(part.dtype) << '_' << part.size;
  }
};

// That a plan takes where the case names no factors.
bool is_choice(const Variant& v) { return v.preferred || v.unaligned; }

class Families : public testing::TestWithParam<Part> {
 protected:
  template <class Check>
  void for_each_variant(Check check) const {
    for (const auto& v : variants())
      if (v->compiled && v->family == GetParam().family && v->size == GetParam().size && v->dtype == GetParam().dtype) {
        ExecutorOptions options;
        options.device = device_like(std::countr_zero(v->classes));
        check(*v, options);
      }
  }
};

// Each variant moves rows in each way, those of large sizes by threads in one of two, those for smaller devices, which
// differ in the ring alone, only so. All else that can vary is drawn: gates, modes, batches, channels, filter lengths,
// scales, orders.
TEST_P(Families, EveryVariantIsWithinItsBound) {
  std::mt19937 random(GetParam().size);
  const auto draw = [&](auto... options) { return std::array{options...}[random() % sizeof...(options)]; };
  int number = 0;
  for_each_variant([&](const Variant& v, ExecutorOptions options) {
    const bool pair = v.item_rows() == 2, large = v.size > 4096;
    const std::int64_t n = full_length(v);
    const int sm = options.device.sm;
    const Transfer by_threads = ++number % 2 == 0 ? Transfer::vector : Transfer::element;
    constexpr std::array kTransfers = {Transfer::tensor, Transfer::enclosing, Transfer::overhang, Transfer::vector,
                                       Transfer::element};
    for (int trial = 0; trial < (large ? 1 : 3) * std::ssize(kTransfers); ++trial) {
      const Transfer transfer = kTransfers[trial % kTransfers.size()];
      if (path_of(transfer) != Path::threads && !v.suits(0)) continue;
      if (encloses(path_of(transfer)) && !v.takes_any_alignment()) continue;
      if (path_of(transfer) == Path::threads && transfer != by_threads && (large || !v.suits(0))) continue;
      // At first, and where cases are large, three items or more in one block, so that its ring goes round.
      const bool first = trial < std::ssize(kTransfers);
      const std::int64_t batch = pair ? draw(5, 6) : large ? 3 : first ? 5 : draw(1, 2, 5);
      const std::int64_t channels = large ? 1 : draw(1, 2, 3);
      options.blocks = first ? 1 : draw(1, 2);
      const std::int64_t length = v.wraps() && v.size > 0          ? n
                                  : transfer == Transfer::tensor   ? n
                                  : transfer == Transfer::vector   ? n - 8
                                  : transfer == Transfer::overhang ? draw(n - 5, n - 1)
                                                                   : draw(n - 13, n - 11, n - 9);
      Convolution p = problem_for(v, batch, channels, length);
      if (!v.wraps() && transfer != Transfer::tensor) p.mode = draw(Mode::causal, Mode::circular);
      if (v.size > 0) p.filter_length = draw(length, length, length / 7, std::int64_t{1});
      if (v.gated) p.pregate = draw(true, true, false), p.postgate = !p.pregate || draw(true, false);
      DataSpec spec;
      spec.scale = draw(1., 0.02, 1e-4, 100.);
      if (p.filter_length == 1) spec.scale = std::max(spec.scale, 0.02);  // a single tap may be small itself
      options.order = draw(host::Order::ascending, host::Order::ascending, host::Order::random);
      options.seed = random();
      options.device.sm = path_of(transfer) == Path::threads ? std::min(sm, 80) : sm;
      options.observer = [&v, transfer](const Launch& launch, const host::Counters&) {
        if (launch.kernel.family == v.family) {
          EXPECT_EQ(launch.path, path_of(transfer));
        }
      };
      expect_right(p, spec, options, transfer == Transfer::element ? 1 : encloses(path_of(transfer)) ? draw(0, 5) : 0);
      ASSERT_EQ(&choose(p, options.device), &v);
    }
  });
}

// Small integers come out exact once rounded: a sample at a wrong place would be off by one at least, rounding is not.
// A few taps of +-1, so that outputs stay below 2^5 and their error below 1/2 in bf16 too.
TEST_P(Families, SmallIntegersComeOutExactly) {
  const auto check = [](const Variant& v, const Convolution& p, const ExecutorOptions& options) {
    const std::int64_t taps = p.filter_length;
    Inputs inputs = make_inputs(p, {});
    for (double& x : inputs.u) x = std::clamp(std::round(x), -2., 2.);
    for (double& x : inputs.pregate) x = x > 0 ? 1 : -1;
    for (double& x : inputs.postgate) x = x > 0 ? 2 : 1;
    std::fill(inputs.k.begin(), inputs.k.end(), 0.);
    for (std::int64_t n : {std::int64_t{0}, std::min<std::int64_t>(1, taps - 1), taps / 3, taps - 1})
      inputs.k[n] = n % 2 == 0 ? 1 : -1;
    std::vector<double> expected = convolve(p, inputs, Algorithm::fftw), actual = execute_plan(p, inputs, options);
    for (double& x : expected) x = std::round(x);
    for (double& x : actual) x = std::round(x);
    const auto wrong = std::mismatch(expected.begin(), expected.end(), actual.begin());
    EXPECT_TRUE(wrong.first == expected.end())
        << v.name << ", " << token(p) << ": sample " << wrong.first - expected.begin() << " is " << *wrong.second
        << ", must be " << *wrong.first;
  };
  for_each_variant([&](const Variant& v, const ExecutorOptions& options) {
    if (!is_choice(v) && v.size > 4096) return;  // they share their transfers with the preferred split
    check(v, problem_for(v, 3, 1, full_length(v)), options);
    if (!v.takes_any_alignment() || !v.suits(0)) return;
    for (Mode mode : {Mode::causal, Mode::circular}) {  // rows of which samples are beyond N: up to 6, by alignment
      Convolution p = problem_for(v, 8, 1, full_length(v) - 1);
      p.mode = mode;
      check(v, p, options);
    }
  });
}

// Workers with rings of their own (warps) take so many items each that every ring goes round.
TEST_P(Families, RingsOfWarpsGoRound) {
  constexpr int kItems = 8;  // of a worker: more than any ring has places
  for_each_variant([&](const Variant& v, ExecutorOptions options) {
    const int workers = v.share({1, 1, Transfer::tensor, 1}).workers_of_block;
    if (workers == 1 || !is_choice(v)) return;
    options.blocks = 1;
    for (bool tensor : {true, false}) {
      if (tensor && !v.suits(0)) continue;
      if (!tensor) options.device.sm = 80;
      const std::int64_t n = full_length(v), length = tensor || v.wraps() ? n : n - 8;
      expect_right(problem_for(v, v.item_rows() * kItems * workers, 1, length), {}, options);
    }
  });
}

// bf16 samples far from what f16 holds: all of them, of which parts of a row are small beside others, and the filter.
TEST_P(Families, Bf16KeepsItsRange) {
  if (GetParam().dtype != Dtype::bf16) return;
  for_each_variant([&](const Variant& v, const ExecutorOptions& options) {
    if (!is_choice(v) || !v.suits(0) || v.size == 0) return;
    const Convolution p = problem_for(v, v.item_rows(), 1, full_length(v));
    for (const auto& [of_u, of_k] : {std::pair{0x1p100, 0x1p-110}, std::pair{0x1p-90, 0x1p60}}) {
      Inputs inputs = make_inputs(p, {});
      for (std::size_t i = 0; i < inputs.u.size(); ++i)
        inputs.u[i] *= of_u *
                       (i % 64 < 16  ? 0x1p-20
                        : i % 8 == 3 ? 0x1p-6
                                     : 1) *
                       (i >= std::size_t(v.size) ? 0x1p20 : 1);
      for (double& tap : inputs.k) tap *= of_k;
      SCOPED_TRACE(testing::Message() << v.name << ", u times " << of_u << ", k times " << of_k);
      expect_right(p, inputs, execute_plan(p, inputs, options), v);
    }
  });
}

// Both ends of an enclosed row may be in one chunk of 8 samples: each is stored once.
TEST_P(Families, RowsMayBeginAndEndInOneChunk) {
  for_each_variant([&](const Variant& v, const ExecutorOptions& options) {
    if (!is_choice(v) || !v.suits(0) || !v.takes_any_alignment()) return;
    SCOPED_TRACE(v.name);
    expect_right(problem_for(v, 3, 1, 2), {}, options, 3);
  });
}

// What stands before an enclosed row and behind it is others', whatever it is.
TEST_P(Families, ARowThatIsNotFiniteSpoilsNoOther) {
  for_each_variant([&](const Variant& v, const ExecutorOptions& options) {
    if (!is_choice(v) || !v.suits(0) || !v.takes_any_alignment()) return;
    Convolution p = problem_for(v, 3, 1, full_length(v) - 11);
    Inputs inputs = make_inputs(p, {});
    for (auto* array : {&inputs.u, &inputs.pregate, &inputs.postgate})
      for (std::size_t i = 0; i < array->size(); ++i)
        if (static_cast<std::int64_t>(i) / p.length == 1) (*array)[i] = NAN;
    std::vector<double> y = execute_plan(p, inputs, options);
    for (auto* array : {&inputs.u, &inputs.pregate, &inputs.postgate, &y})
      for (std::size_t i = 0; i < array->size(); ++i)
        if (static_cast<std::int64_t>(i) / p.length == 1) (*array)[i] = 0;
    SCOPED_TRACE(v.name);
    expect_right(p, inputs, y, v);
  });
}

// Tables hold roots of unity times powers of two, real and imaginary part in neighbouring words; zeros where a matrix
// is block diagonal, or where an odd count leaves room. What a whole convolution may hide in its bound shows here: 1 %
// of one entry changes a modulus by as much, two roundings by 0.1 %. bf16 has the same tables.
TEST_P(Families, TablesHoldRootsOfUnity) {
  if (GetParam().dtype != Dtype::f16) return;
  for_each_variant([&](const Variant& v, const ExecutorOptions&) {
    const std::vector<std::uint32_t> table = v.make_tables();
    ASSERT_EQ(table.size() % 2, 0u);
    for (std::size_t i = 0; i < table.size(); i += 2)
      for (int half : {0, 1}) {
        const auto part = [&](std::size_t at) {
          return host::decode<Dtype::f16>(static_cast<std::uint16_t>(table[at] >> (16 * half)));
        };
        const double modulus = std::hypot(part(i), part(i + 1));
        if (modulus == 0) continue;
        const double power = std::log2(modulus);
        ASSERT_LE(std::abs(power - std::round(power)), 2 * unit_roundoff(Dtype::f16))
            << v.name << ": words " << i << " and " << i + 1 << ", half " << half;
      }
  });
}

std::vector<Part> parts() {
  std::vector<Part> list;
  for (const auto& v : variants())
    for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      const auto same = [&](const Part& p) { return p.family == v->family && p.size == v->size && p.dtype == dtype; };
      if (std::ranges::none_of(list, same)) list.push_back({v->family, v->size, dtype});
    }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Variants, Families, testing::ValuesIn(parts()), [](const auto& info) {
  return text(info.param.family, '_', name(info.param.dtype), '_', info.param.size);
});

// Every kernel that is the choice for something has exactly one line of its kind and N.
TEST(Registry, OneVariantOfEachKindAndSizeIsPreferred) {
  for (std::size_t device_class = 0; device_class < kDeviceClasses.size(); ++device_class)
    for (const auto& v : variants()) {
      if (v->size == 0 || !v->suits(static_cast<int>(device_class))) continue;
      int preferred = 0, kin = 0;
      for (const auto& other : variants())
        if (other->size == v->size && other->dtype == v->dtype && other->fold == v->fold && other->gated == v->gated &&
            other->suits(static_cast<int>(device_class)))
          preferred += other->preferred, ++kin;
      EXPECT_TRUE(preferred == 1 || (device_class > 0 && preferred == 0 && kin > 0)) << v->name;
    }
}

}  // namespace
}  // namespace danaus

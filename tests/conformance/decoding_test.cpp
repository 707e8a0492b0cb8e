// Decoding of every case that it takes: a prompt, then one position after the other.
#include <gtest/gtest.h>

#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/decode.hpp"
#include "reference/convolution/rounding.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/judge.hpp"

namespace danaus::conformance {
namespace {

// Positions are launched one by one.
std::vector<Convolution> decoded_cases() {
  std::vector<Convolution> taken;
  for (const ConformanceCase& each : cases_of("Decoding"))
    if (const Convolution p = parse_convolution(each.token); p.length <= 400) taken.push_back(p);
  return taken;
}

TEST(Decodings, KeepTheirBounds) {
  EXPECT_GE(decoded_cases().size(), 2);
  for (const Convolution& p : decoded_cases())
    for (DecodeBy by : {DecodeBy::tiles, DecodeBy::dot}) {
      SCOPED_TRACE(token(p));
      const Values inputs = make_values(p);
      const std::int64_t rows = p.batch * p.channels, prompt = p.length / 3;
      std::vector<double> y(inputs.at("u").size());
      Decoding decoding(p, executor_machine(), by);
      const std::vector<double>& k = inputs.at("k");
      decoding.set_filter(std::vector<float>(k.begin(), k.end()));
      const auto columns = [&](std::int64_t first, std::int64_t count) {
        std::vector<double> of;
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t n = first; n < first + count; ++n) of.push_back(inputs.at("u")[row * p.length + n]);
        return host::encode(p.dtype, of);
      };
      const auto keep = [&](std::int64_t first, std::int64_t count, const std::vector<std::uint16_t>& given) {
        const std::vector<double> values = host::decode(p.dtype, given);
        for (std::int64_t i = 0; i < rows * count; ++i) y[i / count * p.length + first + i % count] = values[i];
      };
      std::vector<std::uint16_t> given(rows * prompt);
      decoding.prefill(columns(0, prompt).data(), given.data(), prompt);
      if (prompt > 0) keep(0, prompt, given);
      for (std::int64_t n = prompt; n < p.length; ++n) {
        ASSERT_EQ(decoding.position(), n);
        given.assign(rows, 0);
        decoding.next(columns(n, 1).data(), given.data());
        keep(n, 1, given);
      }
      EXPECT_GT(decoding.memory_bytes(), 0);
      EXPECT_EQ(complaint(p, inputs, {{"y", y}}, {{.roundings = {.forward = std::max(1, decoding.roundings())}}, {}}),
                "");
    }
}

}  // namespace
}  // namespace danaus::conformance

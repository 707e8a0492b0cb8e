#include "reference/names.hpp"

#include <gtest/gtest.h>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {
namespace {

template <class Table>
void round_trips(const Table& table) {
  for (const auto& entry : table) {
    EXPECT_EQ(name(entry.value), entry.name);
    EXPECT_EQ(parse_in(table, "word", entry.name), entry.value);
  }
}

TEST(Names, RoundTrip) {
  round_trips(kDataKinds);
  round_trips(kFilterKinds);
  round_trips(kAlgorithms);
  round_trips(kScalings);
}

TEST(Names, AWrongOneIsToldWhichThereAre) {
  try {
    parse_in(kAlgorithms, "method", "fft");
    FAIL() << "fft is no method";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "method 'fft', must be one of fftw, monarch, direct; did you mean 'fftw'?");
  }
}

}  // namespace
}  // namespace danaus

#include "reference/truth.hpp"

#include "reference/short/direct.hpp"

namespace danaus {
namespace {

Values make_short_values(const Case& asked, std::uint64_t seed) {
  return make_inputs(*asked.as<ShortConvolution>(), seed);
}

Values short_outputs(const Case& asked, const Values& values) {
  return {{"y", short_convolution(*asked.as<ShortConvolution>(), values)}};
}

}  // namespace

Truth short_truth() { return {"shortconv", &make_short_values, &short_outputs}; }

}  // namespace danaus

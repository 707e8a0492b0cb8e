// Cases of other operations by those who compute convolutions.
#pragma once

#include <functional>
#include <memory>

#include "experiments/methods/runner.hpp"

namespace danaus {

// The filter [H, K] of a convolution, on the device, out of the arrays of the case; asynchronous.
using MakeFilter = std::function<void*(const DeviceArrays& arrays, Stream stream)>;

// A runner for `asked` whose `runner` computes the convolution `by` with arrays of the same names. Its filter is
// what `make_filter` returns, where there is one, which takes `made_bytes` of the device.
std::unique_ptr<Runner> as_convolution(const Case& asked, const Case& by, std::unique_ptr<Runner> runner,
                                       MakeFilter make_filter = {}, std::int64_t made_bytes = 0);

}  // namespace danaus

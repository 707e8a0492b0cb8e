// What the cost models say of a case on a device: Eq. 2, and the roofline over the work that the executor counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"
#include "model/profile.hpp"
#include "model/roofline.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

enum class CostModel { eq2, roofline };

// A prediction to make. Eq. 2 needs a convolution with factors, the roofline a case that a plan computes.
struct PredictedCase {
  CostModel model;
  Case asked;
  HardwareProfile profile;
  Concurrency concurrency = {};  // of the roofline
  // Where another way computes what is asked than its own kernels: which, and the case that it computes.
  const Method* way = nullptr;
  std::optional<Case> by = {};

  const Case& counted() const { return by ? *by : asked; }
};

// The case for Eq. 2, which takes the cheapest factors of that order, or of any, where it names none.
// Throws std::invalid_argument where the order contradicts the case's own factors.
PredictedCase for_eq2(const std::string& token, std::optional<int> order, const HardwareProfile& profile);

// The case for the roofline, of any operation; nothing where the device has no kernel for it.
std::optional<PredictedCase> for_roofline(const std::string& token, const HardwareProfile& profile,
                                          const Concurrency& concurrency);

// The same by our convolutions by FFT, as danaus bench times them beside the kernels: those of them that there are.
std::vector<PredictedCase> by_other_ways(const PredictedCase& predicted);

// Fu et al. 2023, Figure 4, and the same for later devices: N = 256 to 4M by each order of kOrders, or by one.
std::vector<PredictedCase> figure4_cases(const std::vector<HardwareProfile>& profiles, std::optional<int> order);

// The fields of a result row that say what is predicted, and those that say what: "model" rows (schema model).
// Of several launches the times are sums over those of execute(); rows then have "launches", and what it takes to
// prepare the filters as "prepare_us".
Json describe(const PredictedCase& predicted);
Json prediction(const PredictedCase& predicted);

}  // namespace danaus

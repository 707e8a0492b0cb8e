// Rows of danaus explore: what a mask removes, what it would save, and what it does to the answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/explore/explored_case.hpp"
#include "experiments/explore/patterns.hpp"

namespace danaus {

class Exploration {
 public:
  // `measured` us of cases by their tokens.
  Exploration(const ExploredCase& subject, const HardwareProfile& profile, std::map<std::string, double> measured);

  const Convolution& problem() const { return problem_; }  // without a mask, with fold, N and factors
  const Effect& effect() const { return effect_; }
  const Savings& savings() const { return savings_; }

  // The fields of a row (schema explore) that say what is asked, and the others.
  Json describe(const Pattern& pattern) const;
  Json explored(const Pattern& pattern) const;

 private:
  std::optional<double> measured(const Convolution& problem) const;
  std::optional<double> measured_dense() const;

  ExploredCase subject_;
  Convolution problem_;
  HardwareProfile profile_;
  std::map<std::string, double> measured_;
  Effect effect_;
  Savings savings_;
};

// Of a row's "errors": {"input", "relative_l2", "snr_db" where something is lost}.
Json error_field(const std::string& input, double relative_l2);

// "snr_db" of a row or of one of its errors; infinite where it has none.
double snr_of(const Json& of);

// Rows that no other row beats in both predicted time and error, the fastest first.
std::vector<Json> pareto_front(std::vector<Json> rows);

// Of a front those that lose at least 1 dB less than the one before.
std::vector<Json> thinned(const std::vector<Json>& front);

// The fastest row of at least this SNR; of equally fast ones that which removes most. Throws std::invalid_argument
// where there is none.
const Json& best_above(const std::vector<Json>& rows, double snr_db);

// Whether its mask makes the kernel faster than the whole spectrum does.
bool saves_time(const Json& row);

// A partial filter: the first K taps of those of a subject, K <= L. The fields of a row (schema partial).
struct PartialFilter {
  Convolution problem;  // with K
};
std::vector<PartialFilter> partial_filters(const ExploredCase& subject);
Json describe(const PartialFilter& partial, const ExploredCase& subject, const HardwareProfile& profile);
Json partial_row(const PartialFilter& partial, const ExploredCase& subject, const HardwareProfile& profile,
                 const std::map<std::string, double>& measured);

}  // namespace danaus

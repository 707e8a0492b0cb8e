// What is asked: one convolution of a training step, forward and backward, with its filter's transform.
#pragma once

#include "reference/backward/backward.hpp"

namespace danaus {

// y, and the gradients of sum(y * dy), from u, k, the gates and dy. In training dy comes from what follows y; here both
// passes are one program, so that a step can be verified, timed and captured as a whole.
struct TrainingStep {
  Convolution forward;
  bool operator==(const TrainingStep&) const = default;
};

// The convolution's token with another first word: fftconvstep_f16_causal_l1024_b64_h768.
std::string token(const TrainingStep& asked);
TrainingStep parse_step(std::string_view token);

// The convolution that a case is about: it itself, or that of its passes. Null for other operations.
const Convolution* convolution_of(const Case& asked);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const TrainingStep& asked);
double useful_flops(const TrainingStep& asked);

}  // namespace danaus

// What a mask does to the answer: how much of the filters' spectral energy it keeps, and how far the output moves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/dft.hpp"

namespace danaus {

// Rows that the filters are applied to, one of each channel.
struct ProbeInput {
  std::string name;
  std::vector<double> u;  // [H, L]
};

class Effect {
 public:
  // Filters k [H, K] of a case without a mask, with N; B is taken to be 1.
  Effect(const Convolution& problem, std::span<const double> k, const std::vector<ProbeInput>& inputs);

  // `weights` [N/2 + 1] multiply the half spectrum: real_mask_weights(). Of sums of squares over all channels, between
  // 0 and 1.
  double energy_kept(std::span<const double> weights) const;
  // Relative L2 of y with the mask against y without it, in double, for each input. Where y has all N results, from the
  // spectra (Parseval), else from the samples that are left.
  std::vector<double> errors(std::span<const double> weights) const;

  // Of each input, at half frequency k: the energy of y, over that of all. Sums to 1.
  const std::vector<std::vector<double>>& output_energy() const { return output_energy_; }
  // Of the filters, likewise.
  const std::vector<double>& filter_energy() const { return filter_energy_; }

 private:
  struct Rows {
    std::vector<std::vector<Complex>> products;  // of half spectra, where samples are needed
    double energy = 0;                           // of y
  };
  double error_of_samples(const Rows& rows, std::span<const double> weights) const;

  Convolution problem_;
  std::vector<double> filter_energy_;
  std::vector<std::vector<double>> output_energy_;
  std::vector<Rows> rows_;  // of inputs; empty where spectra are enough
};

// 20 log10 of 1 over a relative error; infinite where there is none.
double snr_db(double relative_l2);

}  // namespace danaus

// A convolution by cuFFT, forward, backward or both, whatever the numbers between are.
#pragma once

#include "experiments/methods/baselines/elementwise.cuh"
#include "experiments/methods/runner.hpp"
#include "kernels/plan/arrays.hpp"
#include "reference/step/step.hpp"

namespace danaus {

// Rows is made for (convolution, how many spectra of all rows it keeps) and has
//   set_filter(k, stream)
//   forward(samples, gate, i, stream)          spectrum i = F(gate * samples)
//   multiply(i, j, conjugated, stream)         spectrum j = spectrum i times the filter's, over N
//   inverse(i, stream)                         F^-1 of spectrum i, which is no more
//   store(i, gate, out, stream)                out = gate * that
//   correlate(i, j, dk, stream)                dk = F^-1 of the sum over the batch of conj(spectrum i) spectrum j
//   fft_size(), bytes(), variant(), kBaseline
// Of a step the spectrum of w u serves both passes, and the forward result also makes dpostgate.
template <class Rows>
class CufftPasses final : public Runner {
 public:
  explicit CufftPasses(const Case& asked)
      : asked_(asked),
        arrays_(asked.arrays()),
        rows_(*convolution_of(asked), number("dk") < 0 ? 1 : 2),
        u_(number("u")),
        w_(number("pregate")),
        v_(number("postgate")),
        y_(number("y")),
        dy_(number("dy")),
        du_(number("du")),
        dw_(number("dpregate")),
        dv_(number("dpostgate")),
        dk_(number("dk")),
        k_(number("k")) {}

  void set_filters(const DeviceArrays& arrays, Stream stream) override {
    rows_.set_filter(static_cast<const float*>(arrays[k_]), stream);
  }

  void launch(const DeviceArrays& arrays, Stream stream) override {
    const auto at = [&](int array) { return array < 0 ? nullptr : arrays[array]; };
    const bool backward = dk_ >= 0;
    constexpr int kU = 0;
    const int other = backward ? 1 : 0;  // what is multiplied and goes back; U is kept where it is needed again
    rows_.forward(at(u_), at(w_), kU, stream);
    if (y_ >= 0 || dv_ >= 0) {
      rows_.multiply(kU, other, false, stream);
      rows_.inverse(other, stream);
      if (y_ >= 0) rows_.store(other, at(v_), at(y_), stream);
      if (dv_ >= 0) rows_.store(other, at(dy_), at(dv_), stream);
    }
    if (!backward) return;
    rows_.forward(at(dy_), at(v_), other, stream);
    rows_.correlate(kU, other, static_cast<float*>(at(dk_)), stream);
    rows_.multiply(other, other, true, stream);
    rows_.inverse(other, stream);
    rows_.store(other, at(w_), at(du_), stream);
    if (dw_ >= 0) rows_.store(other, at(u_), at(dw_), stream);
  }

  std::string variant() const override { return rows_.variant(); }
  std::int64_t fft_size() const override { return rows_.fft_size(); }
  double bound(std::string_view output) const override { return baseline_bound(Rows::kBaseline, asked_, output); }
  std::int64_t kept_bytes() const override { return rows_.bytes(); }

 private:
  int number(std::string_view name) const { return array_of(arrays_, name); }

  Case asked_;
  std::vector<Array> arrays_;
  Rows rows_;
  int u_, w_, v_, y_, dy_, du_, dw_, dv_, dk_, k_;  // among the arrays; -1: the case has none
};

}  // namespace danaus

#include "reference/judge.hpp"

#include "reference/convolution/convolve.hpp"
#include "reference/spectral/conditioning.hpp"

namespace danaus {
namespace {

class SpectralJudge final : public Judge {
 public:
  explicit SpectralJudge(const Spectral& p) : p_(p) {}

  double bound(std::string_view, const Roundings&) const override { return bound_l2(p_); }
  Expected expected(const Values& values, bool) const override {
    return {danaus::truth(p_, values), truth(), bound_of_truth()};
  }
  std::string_view truth() const override { return name(Method::fftw); }
  double bound_of_truth() const override { return bound_of_layer_truth(p_); }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    return {layer_terms(p_, array_named(arrays(p_), "y"), array_in(values, "u"), array_in(values, "w"),
                        bound("y", promise.roundings))};
  }

  Spectral p_;
};

}  // namespace

JudgeEntry spectral_judge() {
  return {"spectral", [](const Case& asked) -> std::unique_ptr<const Judge> {
            return std::make_unique<SpectralJudge>(*asked.as<Spectral>());
          }};
}

}  // namespace danaus

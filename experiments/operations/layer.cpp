// Spectral layers.
#include "reference/spectral/layer.hpp"

#include <cmath>

#include "experiments/operations/some_rows.hpp"
#include "kernels/plan/program.hpp"
#include "reference/bounds.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/spectral/conditioning.hpp"

namespace danaus {
namespace {

class LayerSubject final : public Subject {
 public:
  explicit LayerSubject(const Spectral& p) : p_(p) {}

  double bound(std::string_view, const Variant&, const Device&) const override { return bound_l2(p_); }
  std::vector<OutputBound> bounds(const Values& values, const Variant&, const Device&) const override {
    return {{"y", bound_l2(p_), summed(p_, {values.find("u")->second, values.find("w")->second})}};
  }
  std::string_view truth() const override { return name(Method::fftw); }
  double bound_of_truth() const override { return bound_l2_of_roundings(Dtype::f64, roundings_of_layer(p_)); }

  // Items of the batch with all of their channels.
  SomeRows some_rows() const override {
    const std::int64_t points = points_of_row(p_);
    const auto items = some_of(p_.batch, most_of(points * (p_.inputs + p_.outputs)), false);
    Spectral fewer = p_;
    fewer.batch = std::ssize(items);
    SomeRows rows{fewer, {}, fewer.batch, p_.batch};
    const std::int64_t numbers = points * (p_.complex ? 2 : 1);
    for (const Array& array : arrays(p_)) {
      const std::int64_t channels = array.name == "u" ? p_.inputs : p_.outputs;
      if (array.role == Role::filter)
        rows.places.push_back({{0, array.size()}});
      else if (p_.channel_major)
        rows.places.push_back(rows_of(all_of(channels), items, p_.batch, numbers));
      else
        rows.places.push_back(rows_of(items, all_of(channels), channels, numbers));
    }
    return rows;
  }
  double filter_deviation() const override { return 1 / std::sqrt(static_cast<double>(p_.inputs)); }

  Case however_computed(bool) const override { return p_; }
  std::optional<std::string> obstacle(const Device& device) const override try {
    make_program(p_, device);
    return std::nullopt;
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
  std::vector<std::string> families(const Device&) const override { return {"mix"}; }
  Case as_convolution() const override { fail("computes convolutions, no spectral layers"); }

 private:
  Spectral p_;
};

}  // namespace

std::unique_ptr<const Subject> layer_subject(const Case& asked) {
  const auto* p = asked.as<Spectral>();
  return p ? std::make_unique<LayerSubject>(*p) : nullptr;
}

}  // namespace danaus

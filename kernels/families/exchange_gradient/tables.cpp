#include "kernels/families/exchange/family.hpp"
#include "kernels/families/exchange_gradient/family.hpp"

namespace danaus::exchange_gradient {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }
std::vector<std::unique_ptr<const Correlator>> correlators() { return correlators_of<Family>(); }

std::vector<std::int32_t> Family::spectrum_slots(const Layout& l) { return exchange::Family::spectrum_slots(l.steps); }
double Family::spectrum_scale(const Layout& l) { return exchange::Family::spectrum_scale(l.steps); }
std::vector<std::uint32_t> Family::make_tables(const Layout& l) { return exchange::Family::make_tables(l.steps); }
std::unique_ptr<const Variant> Family::convolution(const Layout& l) {
  return std::make_unique<VariantOf<exchange::Family>>(Instance<exchange::Family>{l.steps.key, l.steps.tuning}, 0, 0);
}
// Two transforms one way, of which a convolution has one each way.
int Family::roundings(const Layout& l) { return exchange::Family::roundings(l.steps); }

}  // namespace danaus::exchange_gradient

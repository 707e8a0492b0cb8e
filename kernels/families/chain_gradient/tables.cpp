#include "kernels/families/chain/family.hpp"
#include "kernels/families/chain_gradient/family.hpp"

namespace danaus::chain_gradient {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }
std::vector<std::unique_ptr<const Correlator>> correlators() { return correlators_of<Family>(); }

std::vector<std::int32_t> Family::spectrum_slots(const Layout& l) { return chain::Family::spectrum_slots(l.steps); }
double Family::spectrum_scale(const Layout& l) { return chain::Family::spectrum_scale(l.steps); }
std::vector<std::uint32_t> Family::make_tables(const Layout& l) { return chain::Family::make_tables(l.steps); }
std::unique_ptr<const Variant> Family::convolution(const Layout& l) {
  return std::make_unique<VariantOf<chain::Family>>(Instance<chain::Family>{l.steps.key, l.steps.tuning}, 0, 0);
}
// Two transforms one way, of which a convolution has one each way.
int Family::roundings(const Layout& l) { return chain::Family::roundings(l.steps); }

}  // namespace danaus::chain_gradient

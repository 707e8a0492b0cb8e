#include "kernels/families/correlate_exchange/family.hpp"
#include "kernels/families/exchange/family.hpp"
#include "kernels/middle/slots.hpp"

namespace danaus::correlate_exchange {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }
std::vector<std::unique_ptr<const Correlator>> correlators() { return correlators_of<Family>(); }

std::vector<std::int32_t> Family::spectrum_slots(const Layout& l) {
  constexpr std::int32_t kVector = spectrum_slot(1, 0, 0, 0);
  const std::vector<std::int32_t> all = exchange::Family::spectrum_slots(l.steps);
  std::vector<std::int32_t> slots(l.size / l.key.shares);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const std::int32_t slot = all[l.key.shares * k], vector = slot / kVector;
    slots[k] = l.sums.vector(vector / l.steps.slabs, vector % l.steps.slabs) * kVector + slot % kVector;
  }
  return slots;
}
double Family::spectrum_scale(const Layout& l) { return exchange::Family::spectrum_scale(l.steps); }
std::vector<std::uint32_t> Family::make_tables(const Layout& l) { return exchange::Family::make_tables(l.steps); }
// Two transforms one way, of which a convolution has one each way.
int Family::roundings(const Layout& l) { return exchange::Family::roundings(l.steps); }

}  // namespace danaus::correlate_exchange

#include "kernels/families/layer_gradient/family.hpp"

namespace danaus::layer_gradient {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::size_t instance_of(const Key& key) {
  const auto all = Family::instances(0);
  for (int i = 0; i < all.count; ++i)
    if (all.list[i].key == key) return static_cast<std::size_t>(i);
  fail("spectral: no kernel has ", name(key.dtype), " samples; f16, bf16 and f32 have some");
}

}  // namespace danaus::layer_gradient

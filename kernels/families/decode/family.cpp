#include "kernels/families/decode/family.hpp"

#include <algorithm>

namespace danaus::decode {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

std::size_t instance_of(const Key& key) {
  const auto all = Family::instances(0);
  const auto found = std::find_if(all.list.begin(), all.list.begin() + all.count,
                                  [&](const Instance<Family>& instance) { return instance.key == key; });
  if (found == all.list.begin() + all.count)
    fail("decode: no kernel has ", danaus::name(key.dtype), " samples; f16 and bf16 have some");
  return static_cast<std::size_t>(found - all.list.begin());
}

}  // namespace danaus::decode

#include "kernels/families/mask/family.hpp"

namespace danaus::mask {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::mask

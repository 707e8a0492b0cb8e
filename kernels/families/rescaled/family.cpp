#include "kernels/families/rescaled/family.hpp"

namespace danaus::rescaled {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::rescaled

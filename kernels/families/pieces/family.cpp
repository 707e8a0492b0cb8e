#include "kernels/families/pieces/family.hpp"

namespace danaus::pieces {

std::vector<std::unique_ptr<const Variant>> variants() { return {}; }

}  // namespace danaus::pieces

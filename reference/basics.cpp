#include "reference/basics.hpp"

namespace danaus {

std::string join(const std::vector<int>& list, std::string_view between) {
  std::string joined;
  for (int value : list) {
    if (!joined.empty()) joined += between;
    joined += std::to_string(value);
  }
  return joined;
}

std::string_view name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
    case Dtype::f32: return "f32";
    case Dtype::f64: return "f64";
  }
  fail("dtype: ", int(dtype), " is none of f16, bf16, f32, f64");
}

std::int64_t bytes(Dtype dtype) { return dtype == Dtype::f64 ? 8 : dtype == Dtype::f32 ? 4 : 2; }

double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 0x1p-11;
    case Dtype::bf16: return 0x1p-8;
    case Dtype::f32: return 0x1p-24;
    case Dtype::f64: return 0x1p-53;
  }
  fail("dtype: ", int(dtype), " is none of f16, bf16, f32, f64");
}

}  // namespace danaus

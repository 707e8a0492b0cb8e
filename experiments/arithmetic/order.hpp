// The instructions in the order of instructions(), for those who run them: visit.template operator()<value>().
#pragma once

#include <cstddef>

#include "experiments/arithmetic/apply.hpp"

namespace danaus::inline DANAUS_BACKEND {
namespace arithmetic {

inline constexpr Product kProducts[] = {
    Product::f16_to_f32,         Product::bf16_to_f32,       Product::f16_to_f16,     Product::f16_to_f32_depth8,
    Product::bf16_to_f32_depth8, Product::f16_to_f16_depth8, Product::tf32_to_f32,    Product::group_f16_64,
    Product::group_bf16_64,      Product::group_f16_128,     Product::group_bf16_128, Product::group_f16_64_alone};
inline constexpr int kProductCount = sizeof kProducts / sizeof kProducts[0];
inline constexpr int kScalarCount = static_cast<int>(Scalar::max_of_warp) + 1;

// Functions of a kind, one for each product and then for each single operation: Of<value>::function.
template <template <auto> class Of, class Function>
struct Functions {
  Function of[kProductCount + kScalarCount];
};
template <template <auto> class Of, class Function, std::size_t... product, std::size_t... scalar>
constexpr Functions<Of, Function> functions_of(std::index_sequence<product...>, std::index_sequence<scalar...>) {
  return {{Of<kProducts[product]>::function..., Of<static_cast<Scalar>(scalar)>::function...}};
}
template <template <auto> class Of, class Function>
inline constexpr Functions<Of, Function> kFunctions =
    functions_of<Of, Function>(std::make_index_sequence<kProductCount>(), std::make_index_sequence<kScalarCount>());

}  // namespace arithmetic
}  // namespace danaus::inline DANAUS_BACKEND

// Spectral layers of two axes whose planes are too few to keep a device busy: rows there, then columns and rows back.
#pragma once

#include <memory>
#include <string>

#include "kernels/plan/program.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus::spectral {

// What computes a layer, after its weights are prepared.
class LayerStep : public Step {
 public:
  virtual const Variant& variant() const = 0;
  virtual const std::string& description() const = 0;  // of case and kernel
};

// None where weights are not shared, or samples real, where X is no multiple of four, or y has more than
// layer::few_samples(); `u` and `y` are numbers of arrays of the case.
std::unique_ptr<LayerStep> make_layer_by_axes(const Case& asked, const Spectral& problem, int u, int y,
                                              const Device& device);

}  // namespace danaus::spectral

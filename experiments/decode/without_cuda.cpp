#include "experiments/decode/decoding.hpp"

namespace danaus {

Json timed(const DecodeCase&, const Device& device, int) {
  fail("decode: ", device.name, " is asked for, but this build has no CUDA");
}

}  // namespace danaus

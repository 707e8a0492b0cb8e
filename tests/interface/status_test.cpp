// Which status an exception becomes.
#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/danaus.hpp"

namespace danaus {
namespace {

template <class Error>
danaus_status status_of(const Error& error) {
  return guarded([&] { throw error; });
}

TEST(Status, EachErrorHasItsOwn) {
  EXPECT_EQ(guarded([] {}), DANAUS_OK);
  EXPECT_EQ(status_of(std::invalid_argument("")), DANAUS_BAD_INPUT);
  EXPECT_EQ(status_of(KernelNotBuilt("")), DANAUS_BAD_INPUT);
  EXPECT_EQ(status_of(NoDevice("")), DANAUS_NO_DEVICE);
  EXPECT_EQ(status_of(OutOfMemory("")), DANAUS_OUT_OF_MEMORY);
  EXPECT_EQ(status_of(std::bad_alloc()), DANAUS_OUT_OF_MEMORY);
  EXPECT_EQ(status_of(CudaError("")), DANAUS_CUDA_ERROR);
  EXPECT_EQ(status_of(std::runtime_error("")), DANAUS_INTERNAL);
  EXPECT_EQ(status_of(std::logic_error("")), DANAUS_INTERNAL);
  EXPECT_EQ(status_of(7), DANAUS_INTERNAL);
}

}  // namespace
}  // namespace danaus

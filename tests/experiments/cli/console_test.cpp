#include "experiments/cli/console.hpp"

#include <gtest/gtest.h>

namespace danaus {
namespace {

TEST(Console, ShowsControlCharactersByTheirCodes) {
  EXPECT_EQ(printable("plain, \xc3\xa9 and \xe2\x82\xac,\ntwo lines"), "plain, \xc3\xa9 and \xe2\x82\xac,\ntwo lines");
  EXPECT_EQ(printable("\x1b[2J\r\a\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b") << "the eight-bit form of escape and [";
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable("\xc2"), "\xc2");
}

}  // namespace
}  // namespace danaus

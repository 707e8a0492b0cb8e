#include "experiments/cli/console.hpp"

#include <gtest/gtest.h>

#include "experiments/cli/paragraph.hpp"
#include "experiments/cli/progress.hpp"

namespace danaus {
namespace {

TEST(Console, ShowsControlCharactersByTheirCodes) {
  EXPECT_EQ(printable("plain, \xc3\xa9 and \xe2\x82\xac,\ntwo lines"), "plain, \xc3\xa9 and \xe2\x82\xac,\ntwo lines");
  EXPECT_EQ(printable("\x1b[2J\r\a\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b") << "the eight-bit form of escape and [";
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable("\xc2"), "\xc2");
}

TEST(Progress, SaysDurationsInTheUnitThatFits) {
  EXPECT_EQ(duration_in_words(0), "0 s");
  EXPECT_EQ(duration_in_words(99), "99 s");
  EXPECT_EQ(duration_in_words(720), "12 min");
  EXPECT_EQ(duration_in_words(3 * 3600), "3 h");
}

TEST(Progress, CountsRoundsOfRowsThatAreComputedAtOnce) {
  EXPECT_EQ(seconds_left(60, 1, 25, 1), 24 * 60);
  EXPECT_EQ(seconds_left(60, 1, 25, 16), 2 * 60) << "the first round is about to end, a second one follows";
  EXPECT_EQ(seconds_left(60, 16, 25, 16), 60);
}

TEST(Paragraphs, FitTheScreen) {
  EXPECT_EQ(paragraph("one two", 2), "  one two\n");
  EXPECT_EQ(paragraph("one", 6, "name"), "name  one\n");
  EXPECT_EQ(paragraph("one", 4, "longname"), "longname\n    one\n") << "a long name has a line of its own";
  const std::string word(30, 'x');
  EXPECT_EQ(paragraph(word + ' ' + word + ' ' + word, 4), "    " + word + ' ' + word + "\n    " + word + '\n');
  const std::string longest(100, 'y');
  EXPECT_EQ(paragraph("a " + longest + " b", 1), " a\n " + longest + "\n b\n");
  EXPECT_EQ(paragraph("", 3), "   \n");
}

}  // namespace
}  // namespace danaus

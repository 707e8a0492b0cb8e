#include "experiments/io/mask_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/io/signal_file.hpp"
#include "reference/convolution/mask.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

class MaskFiles : public testing::Test {
 protected:
  std::string npy(const std::vector<double>& marks) {
    const std::string path = folder_ / "marks.npy";
    PendingFile file(path);
    write_npy(file, {Dtype::f64, {std::ssize(marks)}, marks});
    file.commit();
    return path;
  }
  std::string json(const std::string& words) {
    const std::string path = folder_ / "mask.json";
    write_file(path, words);
    return path;
  }
  static std::string refusal(const std::string& path, const std::string& token = "fftconv_f16_circular_l16_b2_h1") {
    try {
      with_mask(parse_convolution(token), read_mask(path));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  Folder folder_;
};

TEST_F(MaskFiles, AreReadAsTheyAreWritten) {
  for (const char* word :
       {"fftconv_f16_circular_l16_b2_h1_pair_keep0to2+5to6", "fftconv_f16_circular_l16_b2_h1_pair_r4x4_zero2x1",
        "fftconv_f16_circular_l16_b2_h1_pair_r4x4_zero2x1literal",
        "fftconv_f16_circular_l16_b2_h1_pair_r4x4_blocks4x1h9",
        "fftconv_f16_causal_l8_b2_h1_n16_pair_r4x4_blocks2x4hfb"}) {
    const Convolution problem = parse_convolution(word);
    const std::string path = folder_ / "written.json";
    PendingFile file(path);
    write_mask(file, problem);
    file.commit();
    Convolution asked = problem;
    asked.mask = {}, asked.factors.clear();
    EXPECT_EQ(token(with_mask(asked, read_mask(path))), word);
  }
}

TEST_F(MaskFiles, OfMarksAreTheMarks) {
  const std::vector<double> marks = {1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
  const Convolution masked = with_mask(parse_convolution("fftconv_f16_circular_l16_b2_h1"), read_mask(npy(marks)));
  const std::vector<std::uint8_t> kept = kept_frequencies(masked);
  EXPECT_EQ(std::vector<double>(kept.begin(), kept.end()), marks);
  EXPECT_EQ(token(masked), "fftconv_f16_circular_l16_b2_h1_pair_keep0to0+3to4+8to8");
  for (const std::string path : {folder_ / "marks.npy", json(R"({"fft_size": 16, "kept": [[0, 3]]})")}) {
    std::string capitals = path.substr(0, path.rfind('.'));
    for (char c : path.substr(path.rfind('.'))) capitals += static_cast<char>(std::toupper(c));
    std::filesystem::rename(path, capitals);
    EXPECT_FALSE(read_mask(capitals).mask.empty()) << capitals;
  }
}

TEST_F(MaskFiles, ThatMeanNothingAreRefused) {
  std::vector<double> marks(16, 1);
  EXPECT_THAT(refusal(npy(std::vector<double>(8, 1))), HasSubstr("has N=8 frequencies, fftconv"));
  EXPECT_THAT(refusal(npy(std::vector<double>(16, 0))), HasSubstr("removes everything"));
  EXPECT_THAT(refusal(npy({})), HasSubstr("is [0], must be [N]"));
  marks[3] = NAN;
  EXPECT_THAT(refusal(npy(marks)), HasSubstr("has nan at 3, must be 0 or 1"));
  marks[3] = 0.5;
  EXPECT_THAT(refusal(npy(marks)), HasSubstr("has 0.5 at 3, must be 0 or 1"));
  marks[3] = 0;
  EXPECT_THAT(refusal(npy(marks)), HasSubstr("at its mirror 13, must be alike"));

  const struct {
    const char *words, *message;
  } kWrong[] = {
      {"", "is no JSON object"},
      {"[1]", "is no JSON object"},
      {R"({"fft_size": 16})", "one of kept, zeroed and pieces"},
      {R"({"kept": [[0, 3]]})", "needs 'fft_size' or 'factors'"},
      {R"({"fft_size": 16, "kept": [[0, 9]]})", "must be from 0 to N/2=8"},
      {R"({"fft_size": 16, "kept": [[0]]})", "must be pairs [first, last]"},
      {R"({"fft_size": 32, "kept": [[0, 3]]})", "has N=32 frequencies"},
      {R"({"fft_size": 16, "kept": [[0, 3]], "colour": 1})", "knows no 'colour'"},
      {R"({"factors": [4, 4], "zeroed": [4, 0]})", "must be from 0 to 3"},
      {R"({"factors": [4, 4], "zeroed": [1]})", "one for each of the 2 factors"},
      {R"({"factors": [4, 4], "zeroed": [1, 0], "reading": "both"})", "must be literal or hermitian"},
      {R"({"factors": [4, 4], "pieces": [3, 1], "removed": [0]})", "must divide its 4 indices"},
      {R"({"factors": [4, 4], "pieces": [2, 1], "removed": [2]})", "must be numbers of blocks"},
      {R"({"factors": [4, 4], "pieces": [2, 1], "removed": [0, 1]})", "removes everything"},
      {R"({"factors": [4, 4], "pieces": [1, 4], "removed": [0, 1, 2]})", "mirror image remove everything"},
      {R"({"factors": [4, 4], "pieces": [2, -1], "removed": [0]})", "must be a list of whole numbers"},
      {R"({"factors": [4, 4], "fft_size": 8, "zeroed": [1, 0]})", "the product of the factors"},
  };
  for (const auto& [words, message] : kWrong) EXPECT_THAT(refusal(json(words)), HasSubstr(message)) << words;
  const std::string pattern = json(R"({"factors": [4, 4], "zeroed": [1, 0]})");
  EXPECT_THAT(refusal(pattern, "fftconv_f16_circular_l16_b2_h1_r2x8"), HasSubstr("is for the factors 4x4"));
  EXPECT_THAT(refusal(pattern, "fftconv_f16_circular_l16_b2_h1_keep0to3"), HasSubstr("has a mask already"));
  EXPECT_THAT(refusal(pattern, "fftconv_f16_causal_l16_b2_h1_n16_rightangle"), HasSubstr("right-angle fold"));
  EXPECT_THAT(refusal("mask.txt"), HasSubstr("must be a .npy or a .json file"));
  EXPECT_THAT(refusal(folder_ / "none.json"), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace danaus

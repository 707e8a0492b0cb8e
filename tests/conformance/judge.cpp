#include "tests/conformance/judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "experiments/operations/subject.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/plan/program.hpp"
#include "reference/bounds.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/token.hpp"

namespace danaus::conformance {
namespace {

// An axis whose indices are rows, as a case's letters tell it: B, H, and of layers the channels of u or of y.
struct Axis {
  char letter;  // B, H, I (C_in) or O (C_out)
  std::int64_t extent, stride;
};

// Axes of rows of an array, and the rest of it.
struct Layout {
  std::vector<Axis> rows;
  std::vector<Axis> others;
};

char letter_of(std::string_view array, std::string_view extent) {
  if (extent == "B" || extent == "H") return extent.front();
  if (extent == "C_in") return 'I';
  if (extent == "C_out") return 'O';
  if (extent == "C") return array == "u" || array == "du" ? 'I' : 'O';
  return 0;
}

Layout layout_of(const Array& array) {
  Layout layout;
  std::string_view names = array.shape;
  std::int64_t stride = array.size();
  for (std::int64_t extent : array.extents) {
    const std::string_view name = names.substr(0, names.find('*'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    stride /= extent;
    const char letter = letter_of(array.name, name);
    (letter ? layout.rows : layout.others).push_back({letter, extent, stride});
  }
  return layout;
}

// Of one row: an index for each letter.
using Row = std::map<char, std::int64_t>;

// The numbers of an array that a row has or reads.
std::vector<double> part_of(const Array& array, const std::vector<double>& values, const Row& row) {
  const Layout layout = layout_of(array);
  std::vector<std::int64_t> places = {0};
  const auto spread = [&](const Axis& axis) {
    std::vector<std::int64_t> more;
    for (std::int64_t place : places)
      for (std::int64_t i = 0; i < axis.extent; ++i) more.push_back(place + i * axis.stride);
    places = std::move(more);
  };
  // In the order of memory, which the case with fewer rows has too.
  std::vector<Axis> axes = layout.rows;
  axes.insert(axes.end(), layout.others.begin(), layout.others.end());
  std::ranges::sort(axes, std::greater(), &Axis::stride);
  for (const Axis& axis : axes) {
    const auto fixed = axis.letter ? row.find(axis.letter) : row.end();
    if (fixed == row.end())
      spread(axis);
    else
      for (std::int64_t& place : places) place += fixed->second * axis.stride;
  }
  std::vector<double> part;
  for (std::int64_t place : places) part.push_back(values.at(static_cast<std::size_t>(place)));
  return part;
}

// A field of the token, as c3x5, with another list of numbers.
std::string with_list(const std::string& token, char name, std::int64_t first, std::int64_t second) {
  std::size_t begin = 0;
  do begin = token.find(name, begin) + 1;
  while (token[begin - 2] != '_' || !std::isdigit(static_cast<unsigned char>(token[begin])));
  return token.substr(0, begin) + text(first, 'x', second) + token.substr(token.find('_', begin));
}

// The same case with this row alone.
Case alone(const Case& asked, const Row& row) {
  std::string token = asked.token();
  std::int64_t inputs = 0, outputs = 0;
  for (const Array& array : asked.arrays())
    for (const Axis& axis : layout_of(array).rows) {
      if (axis.letter == 'I') inputs = axis.extent;
      if (axis.letter == 'O') outputs = axis.extent;
    }
  if (inputs > 0) token = with_list(token, 'c', row.contains('I') ? 1 : inputs, row.contains('O') ? 1 : outputs);
  if (row.contains('B')) token = with_number(token, "b", 1);
  if (row.contains('H')) token = with_number(token, "h", 1);
  return parse_case(token);
}

// The same where a kernel computes it, for what was summed: of f16 samples, in another fold, with the mirror images of
// what a mask keeps.
Case with_kernels(const Case& asked) {
  std::string token = asked.token();
  for (const auto& [word, other] :
       {std::pair("_tf32", ""), {"_f32", "_f16"}, {"_f64", "_f16"}, {"_half", ""}, {"literal", ""}})
    if (const std::size_t at = token.find(word); at != token.npos) token.replace(at, std::strlen(word), other);
  return parse_case(token);
}

// That the executor stands for.
const Device& device() {
  static const Device kDevice = executor_machine()->device();
  return kDevice;
}

Program program_of(const Case& asked) { return make_program(asked, device(), marks_of(asked)); }

bool has_kernel(const Case& asked) {
  try {
    program_of(asked);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<OutputBound> bounds_by(const Case& asked, const Values& inputs, const Variant& kernel) {
  return subject_of(asked, "conformance")->bounds(inputs, kernel, device());
}

double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.));
}

// How many of them err independently, if errors are in proportion to them.
double independent(const std::vector<double>& values) {
  double squares = 0, fourth_powers = 0;
  for (double value : values) squares += value * value, fourth_powers += std::pow(value, 4);
  return fourth_powers > 0 ? squares * squares / fourth_powers : 1;
}

// The share of its bound that a row takes: of its L2 error, and of its largest one. Below the smallest normal
// number of f16 a rounding errs by up to half of the least number.
double share_of(const std::vector<double>& right, const std::vector<double>& given, double bound, double summed,
                bool is_f16) {
  constexpr double kMostRoundings = 64, kLeastOfF16 = 0x1p-25;
  const double count = static_cast<double>(right.size());
  double square = 0, largest = 0, largest_right = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double error = std::abs(given[i] - right[i]);
    if (!std::isfinite(error)) return INFINITY;
    square += error * error, largest = std::max(largest, error);
    largest_right = std::max(largest_right, std::abs(right[i]));
  }
  if (square == 0) return 0;
  const double excess = excess_of_few(independent(right)), floor = is_f16 ? kLeastOfF16 * std::sqrt(kMostRoundings) : 0;
  const double of_l2 = std::sqrt(square) / (bound * excess * summed + floor * std::sqrt(count));
  const double scale = std::max(largest_right, summed / std::sqrt(count));
  const double of_largest =
      largest / (bound_max(bound, std::ssize(right)) * excess * scale + floor * bound_max(1, std::ssize(right)));
  return std::max(of_l2, of_largest);
}

}  // namespace

Bounds bounds_of_kernel(const Case& asked, const Values& inputs) {
  Bounds bounds;
  for (const OutputBound& bound : bounds_by(asked, inputs, *program_of(asked).variant))
    bounds.emplace(bound.name, bound.l2);
  return bounds;
}

Bounds bounds_of_double(const Case& asked) {
  const double own = 2 * subject_of(asked, "conformance")->bound_of_truth();
  Bounds bounds;
  for (const Array& array : asked.arrays())
    if (array.role == Role::output)
      bounds.emplace(array.name, own + (array.dtype == Dtype::f64 ? 0 : bound_l2_of_roundings(array.dtype, 1)));
  return bounds;
}

Bounds bounds_of_samples_type(const Case& asked) {
  constexpr int kRoundings = 16;  // of transforms there and back, and the products
  const Dtype samples = asked.arrays().front().dtype;
  Bounds bounds = bounds_of_double(asked);
  for (auto& [output, bound] : bounds)
    bound += bound_l2_of_roundings(samples == Dtype::f64 ? Dtype::f64 : Dtype::f32, kRoundings);
  return bounds;
}

Bounds rounded_as_inputs(const Case& asked, Bounds bounds) {
  for (const Array& input : asked.arrays())
    if (const auto gradient = bounds.find(text('d', input.name)); gradient != bounds.end())
      gradient->second += bound_l2_of_roundings(input.dtype, 1);
  return bounds;
}

std::string complaint(const Case& asked, const Values& inputs, const Values& outputs, const Bounds& bounds) {
  const auto subject = subject_of(asked, "conformance");
  const Values right = subject->compared(inputs, truth(asked, inputs)), given = subject->compared(inputs, outputs);
  const Case with = has_kernel(asked) ? asked : with_kernels(asked);
  const Program program = program_of(with);
  const std::vector<Array> arrays = asked.arrays();
  double worst = 0;
  std::string words;
  for (const Array& output : arrays) {
    if (output.role != Role::output) continue;
    const auto found = given.find(output.name);
    if (found == given.end()) fail("conformance: ", asked.token(), " has a ", output.name, ", but none is given");
    if (std::ssize(found->second) != output.size())
      fail("conformance: ", output.name, " has ", found->second.size(), " numbers, must be ", output.size());
    std::vector<Row> rows = {{}};
    for (const Axis& axis : layout_of(output).rows) {
      std::vector<Row> more;
      for (const Row& row : rows)
        for (std::int64_t i = 0; i < axis.extent; ++i) {
          more.push_back(row);
          more.back()[axis.letter] = i;
        }
      rows = std::move(more);
    }
    for (const Row& row : rows) {
      Values read;
      for (const Array& array : arrays)
        if (array.role != Role::output)
          read[std::string(array.name)] = part_of(array, inputs.at(std::string(array.name)), row);
      const std::vector<OutputBound> of_row = bounds_by(alone(with, row), read, *program.variant);
      const double summed = std::ranges::find(of_row, output.name, &OutputBound::name)->summed;
      const std::vector<double> expected = part_of(output, right.at(std::string(output.name)), row);
      const std::vector<double> actual = part_of(output, found->second, row);
      const double share =
          share_of(expected, actual, bounds.find(output.name)->second, summed, output.dtype == Dtype::f16);
      if (share <= std::max(worst, 1.)) continue;
      worst = share;
      std::string place;
      for (const auto& [letter, index] : row)
        place += text(letter == 'I' ? ", c_in=" : letter == 'O' ? ", c_out=" : letter == 'B' ? ", b=" : ", h=", index);
      words = text(asked.token(), ": ", output.name, place, ": the error takes ", share, " of its bound, of |",
                   output.name, "|=", norm(expected), " with |u||k|=", summed);
    }
  }
  return words;
}

}  // namespace danaus::conformance

// The .npy format, by hand: a header that is a Python dictionary, then the values.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "experiments/cli/memory.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied between file and memory as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kChunk = std::size_t{1} << 16;  // values converted at a time
constexpr std::uint32_t kLongestHeader = 1 << 16;     // bytes; only structured types need more
constexpr const char* kBf16 = "<V2";                  // as ml_dtypes saves it; NumPy itself has no bf16
constexpr const char* kTypes = "'<f2', '<V2', '<f4' or '<f8' (fp16, bf16 of ml_dtypes, fp32, fp64)";

struct Header {
  Dtype dtype;
  std::vector<std::int64_t> shape;
};

Dtype dtype_of(const std::string& descriptor, const std::string& path) {
  if (descriptor == "<f2") return Dtype::f16;
  if (descriptor == kBf16) return Dtype::bf16;
  if (descriptor == "<f4") return Dtype::f32;
  if (descriptor == "<f8") return Dtype::f64;
  if (descriptor == ">f2" || descriptor == ">f4" || descriptor == ">f8")
    fail(path, ": type '", descriptor, "' is big-endian, must be little-endian; array.astype('<", descriptor.substr(1),
         "') converts it");
  if (descriptor == "|V2")
    fail(path, ": type '|V2' is two bytes of no stated type, must be ", kTypes,
         "; where they are bf16, save array.view(ml_dtypes.bfloat16)");
  fail(path, ": unsupported type '", descriptor, "', must be ", kTypes, "; array.astype('<f4') converts real numbers");
}

std::string descriptor_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return "<f2";
    case Dtype::f32: return "<f4";
    case Dtype::f64: return "<f8";
    case Dtype::bf16: return kBf16;
  }
  fail("npy: dtype ", int(dtype), " is none of f16, bf16, f32, f64");
}

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// What stands after "'key':".
std::string_view value_of(std::string_view text, const std::string& key, const std::string& path) {
  const std::size_t found = std::min(text.find('\'' + key + '\''), text.find('"' + key + '"'));
  const std::size_t colon = found == text.npos ? text.npos : text.find_first_not_of(' ', found + key.size() + 2);
  const std::size_t value =
      colon == text.npos || text[colon] != ':' ? text.npos : text.find_first_not_of(' ', colon + 1);
  if (value == text.npos) fail(path, ": the .npy header has no '", key, "'");
  return text.substr(value);
}

// The text between the first character, which must be `opening`, and the next `closing`.
std::string enclosed(std::string_view value, char opening, char closing, const std::string& path) {
  const std::size_t end = value.find(closing, 1);
  if (value[0] != opening || end == value.npos) fail(path, ": the .npy header is malformed at ", value.substr(0, 40));
  return std::string(value.substr(1, end - 1));
}

// "3, 4" or "3,", as Python writes a tuple between its parentheses; Python 2 writes "3L,".
std::vector<std::int64_t> parse_shape(std::string_view tuple, const std::string& path) {
  const auto without_blanks = [](std::string_view text) {
    const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
    return text.substr(first, text.find_last_not_of(' ') + 1 - first);
  };
  std::vector<std::int64_t> shape;
  for (std::string_view rest = without_blanks(tuple); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    std::string_view word = without_blanks(rest.substr(0, comma));
    if (word.ends_with('L')) word.remove_suffix(1);
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
    if (error != std::errc() || end != word.data() + word.size() || extent < 0)
      fail(path, ": the .npy header has shape (", tuple, "), must be whole numbers with commas between them");
    shape.push_back(extent);
    rest = comma == rest.npos ? "" : without_blanks(rest.substr(comma + 1));
  }
  return shape;
}

Header parse_header(const std::string& text, const std::string& path) {
  const std::string_view descriptor = value_of(text, "descr", path);
  if (descriptor[0] == '[') fail(path, ": a structured type, must be ", kTypes, "; save one of its fields");
  const char quote = descriptor[0] == '"' ? '"' : '\'';
  Header header;
  header.dtype = dtype_of(enclosed(descriptor, quote, quote, path), path);
  const std::string shape = enclosed(value_of(text, "shape", path), '(', ')', path);
  header.shape = parse_shape(shape, path);
  if (header.shape.empty() || header.shape.size() > 3)
    fail(path, ": shape (", shape, ") has rank ", header.shape.size(), ", must be from 1 to 3");
  // Without two axes of more than one sample both orders are the same.
  const bool has_orders = std::ranges::count_if(header.shape, [](std::int64_t extent) { return extent > 1; }) > 1;
  if (has_orders && !value_of(text, "fortran_order", path).starts_with("False"))
    fail(path, ": the array is in Fortran order, must be in C order; numpy.ascontiguousarray converts it");
  return header;
}

template <class Stored>
void read_values(std::ifstream& file, std::vector<double>& values) {
  std::vector<Stored> chunk(kChunk);
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t count = std::min(chunk.size(), values.size() - done);
    file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(count * sizeof(Stored)));
    for (std::size_t i = 0; i < count; ++i) values[done++] = static_cast<double>(chunk[i]);
  }
}

template <class Stored>
void write_values(PendingFile& file, const Signal& signal) {
  const std::vector<double>& values = signal.values;
  std::vector<Stored> chunk;
  for (std::size_t done = 0; done < values.size(); done += chunk.size()) {
    chunk.resize(std::min(kChunk, values.size() - done));
    for (std::size_t i = 0; i < chunk.size(); ++i)
      chunk[i] = static_cast<Stored>(round_to(signal.dtype, values[done + i]));
    file.write({reinterpret_cast<const char*>(chunk.data()), chunk.size() * sizeof(Stored)});
  }
}

}  // namespace

Signal read_npy(const std::string& path) {
  require_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read ", path, ": ", std::strerror(errno));
  const auto file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));

  std::array<char, 8> start{};
  file.read(start.data(), start.size());
  if (std::string_view(start.data(), kMagic.size()) != kMagic)
    fail(path, ": not a .npy file (no \\x93NUMPY at its start)");
  const int version = start[6];
  if (version < 1 || version > 3) fail(path, ": .npy version ", version, ", must be from 1 to 3");
  std::uint32_t header_bytes = 0;  // two bytes in version 1, four after
  file.read(reinterpret_cast<char*>(&header_bytes), version == 1 ? 2 : 4);
  if (!file || file.tellg() + std::int64_t{header_bytes} > file_bytes)
    fail(path, ": truncated, the file ends inside its .npy header");
  if (header_bytes > kLongestHeader)
    fail(path, ": a .npy header of ", header_bytes, " bytes, must be at most ", kLongestHeader);
  std::string text(header_bytes, ' ');
  file.read(text.data(), header_bytes);
  const Header header = parse_header(text, path);

  double count = 1;  // in double: a hostile shape must not wrap around
  for (std::int64_t extent : header.shape) count *= static_cast<double>(extent);
  const double data_bytes = count * static_cast<double>(bytes(header.dtype));
  const double found = static_cast<double>(file_bytes - file.tellg());
  if (found != data_bytes) {
    std::ostringstream message;
    message.precision(0);
    message << std::fixed << path << ": " << (found < data_bytes ? "truncated, " : "longer than its header says, ")
            << found << " bytes of data, must be " << data_bytes;
    fail(message.str());
  }
  require_memory("reading " + path, count * sizeof(double));

  Signal signal{header.dtype, header.shape, std::vector<double>(static_cast<std::size_t>(count))};
  switch (header.dtype) {
    case Dtype::f16: read_values<Eigen::half>(file, signal.values); break;
    case Dtype::bf16: read_values<Eigen::bfloat16>(file, signal.values); break;
    case Dtype::f32: read_values<float>(file, signal.values); break;
    default: read_values<double>(file, signal.values); break;
  }
  if (!file) fail("cannot read ", path, ": ", std::strerror(errno));
  return signal;
}

void write_npy(PendingFile& file, const Signal& signal) {
  std::string shape;
  for (std::int64_t extent : signal.shape) shape += std::to_string(extent) + ", ";
  if (signal.shape.size() > 1) shape.resize(shape.size() - 2);
  if (signal.shape.size() == 1) shape.pop_back();  // (3,) has its comma, (3, 4) has none at its end
  std::string text =
      "{'descr': '" + descriptor_of(signal.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t kAlignment = 64, kBeforeText = 10;
  text.resize((kBeforeText + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBeforeText, ' ');
  text.back() = '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  file.write(std::string(kMagic) + std::string("\x01\x00", 2) + static_cast<char>(length & 0xff) +
             static_cast<char>(length >> 8) + text);
  switch (signal.dtype) {
    case Dtype::f16: return write_values<Eigen::half>(file, signal);
    case Dtype::bf16: return write_values<Eigen::bfloat16>(file, signal);
    case Dtype::f32: return write_values<float>(file, signal);
    default: return write_values<double>(file, signal);
  }
}

}  // namespace danaus

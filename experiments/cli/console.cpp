#include "experiments/cli/console.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iomanip>

namespace danaus {

void print_configuration(Console& console, std::string_view command, const Settings& settings) {
  std::size_t width = 0;
  for (const auto& [name, value] : settings) width = std::max(width, name.size());
  console.err << "danaus " << command << '\n';
  for (const auto& [name, value] : settings)
    console.err << "  " << std::left << std::setw(static_cast<int>(width) + 2) << name << value << '\n';
  console.err.flush();
}

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // In UTF-8 the control characters from 0x80 on are this byte and theirs.
    const bool second_set = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7f || second_set;
    if (!control) {
      shown += text[i];
      continue;
    }
    std::array<char, 8> code;
    std::snprintf(code.data(), code.size(), "\\x%02x", second_set ? static_cast<unsigned char>(text[++i]) : byte);
    shown += code.data();
  }
  return shown;
}

}  // namespace danaus

#include "experiments/cli/progress.hpp"

#include <string>

namespace danaus {

void Progress::show(std::size_t done, std::string_view current) {
  if (!console_.err_is_terminal) return;
  constexpr std::size_t kWidth = 24;
  const std::size_t filled = total_ == 0 ? kWidth : kWidth * done / total_;
  console_.err << "\r\033[K[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] " << done << '/'
               << total_;
  if (done > 0 && done < total_) {
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    console_.err << "  " << static_cast<int>(elapsed / done * (total_ - done) + 0.5) << " s left";
  }
  console_.err << "  " << current << std::flush;
}

void Progress::clear() {
  if (console_.err_is_terminal) console_.err << "\r\033[K" << std::flush;
}

}  // namespace danaus

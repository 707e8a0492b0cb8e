#include "experiments/cli/progress.hpp"

#include <cmath>

#include "reference/basics.hpp"

namespace danaus {

std::string duration_in_words(double seconds) {
  if (seconds < 99.5) return text(std::lround(seconds), " s");
  if (seconds < 99.5 * 60) return text(std::lround(seconds / 60), " min");
  return text(std::lround(seconds / 3600), " h");
}

double seconds_left(double elapsed, std::size_t done, std::size_t total, unsigned at_once) {
  const auto rounds = [&](std::size_t rows) { return std::ceil(static_cast<double>(rows) / at_once); };
  return elapsed / rounds(done) * rounds(total - done);
}

void Progress::show(std::size_t done, std::string_view current) {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const bool is_between = done > 0 && done < total_;
  const double left = is_between ? seconds_left(elapsed, done, total_, at_once_) : 0;
  if (!console_.err_is_terminal) {
    constexpr double kEarly = 5, kLong = 60;  // seconds
    if (has_warned_ || elapsed < kEarly || left < kLong) return;
    has_warned_ = true;
    console_.err << "about " << duration_in_words(left) << " to go: " << done << " of " << total_ << " rows took "
                 << duration_in_words(elapsed) << std::endl;
    return;
  }
  constexpr std::size_t kWidth = 24;
  const std::size_t filled = total_ == 0 ? kWidth : kWidth * done / total_;
  console_.err << "\r\033[K[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] " << done << '/'
               << total_;
  if (is_between) console_.err << "  " << duration_in_words(left) << " left";
  console_.err << "  " << current << std::flush;
}

void Progress::clear() {
  if (console_.err_is_terminal) console_.err << "\r\033[K" << std::flush;
}

}  // namespace danaus

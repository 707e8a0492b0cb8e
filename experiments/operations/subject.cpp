#include "experiments/operations/subject.hpp"

#include "experiments/operations/study.hpp"
#include "kernels/plan/program.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/token.hpp"

namespace danaus {

std::unique_ptr<const Subject> subject_of(const Case& asked, std::string_view who) {
  for (const Study& study : studies())
    if (auto subject = study.subject(asked)) return subject;
  fail(who, ": ", asked.token(), " is of an operation that is not timed");
}

void require_kernel(const Case& asked, const Device& device) { make_program(asked, device, marks_of(asked)); }

bool has_kernel_for(const Case& asked, const Device& device) {
  try {
    require_kernel(asked, device);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

Shape shape_of(const Case& asked) { return subject_of(asked, "danaus")->shape(); }

Case with_batch(const Case& asked, std::int64_t batch) { return parse_case(with_number(asked.token(), "b", batch)); }

}  // namespace danaus

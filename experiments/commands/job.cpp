#include "experiments/commands/job.hpp"

#include <filesystem>

#include "experiments/cli/in_order.hpp"
#include "experiments/cli/interrupt.hpp"
#include "reference/basics.hpp"
#include "reference/file_name.hpp"

namespace danaus {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(a, ignored) && fs::exists(b, ignored))
    return fs::is_regular_file(a, ignored) && fs::equivalent(a, b, ignored);  // also by a link
  const auto place = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path), ignored); };
  return place(a) == place(b);
}

}  // namespace

std::string typed(const std::string& option, const std::string& value) {
  return value.empty() ? "" : option + ' ' + value;
}

std::string typed(const std::string& option, const std::vector<std::string>& values) {
  return values.empty() ? "" : option + ' ' + values.front() + (values.size() > 1 ? " ..." : "");
}

Job::Job(Console& console, const std::string& command, const std::string& description)
    : line(command, description), console_(console), command_(command) {}

bool Job::parse(std::span<const std::string> words, const std::string& help) {
  line.option("json", json_, "FILE", help);
  if (!line.parse(words, console_)) return false;
  prints_ = json_ != "-";
  if (prints_) writes("--json", json_);
  return true;
}

void Job::reads(const std::string& what, const std::string& path) { name({what, path, false}); }

void Job::writes(const std::string& what, const std::string& path) { name({what, path, true}); }

void Job::name(const NamedFile& file) {
  if (file.path.empty()) return;
  for (const NamedFile& other : files_)
    if ((file.written || other.written) && is_same_file(file.path, other.path))
      fail(command_, ": ", file.what, ' ', file.path, " is the file of ", other.what, ", must be another one");
  files_.push_back(file);
}

void Job::exclude(const std::vector<std::string>& options) const {
  const std::string* first = nullptr;
  for (const std::string& option : options) {
    if (option.empty()) continue;
    if (first) fail(command_, ": ", *first, " and ", option, " were both given, must be one of them; leave one out");
    first = &option;
  }
}

void Job::add_kernel_option() {
  line.option("kernel", kernel_, "NAME", "the kernel to take instead of the plan's choice; see danaus list kernels");
}

void Job::ask_for_kernel(const std::vector<Case>& cases, const Device& device) {
  if (kernel_.empty()) return;
  if (cases.empty()) fail(command_, ": --kernel is for the cases given by --case");
  try {
    named_ = std::make_unique<NamedKernel>(kernel_);
    for (const Case& asked : cases) named_->require(asked, device);
  } catch (const std::invalid_argument& refusal) {
    fail(command_, ": ", refusal.what());
  }
}

HardwareProfile Job::profile(const std::string& name_or_path) {
  if (has_ending(name_or_path, ".json")) reads("--profile", name_or_path);
  return load_profile(name_or_path);
}

void Job::configure(Settings settings) const {
  settings.emplace_back("rows kept", json_.empty() ? "no (--json FILE keeps them)" : json_);
  print_configuration(console_, command_, settings);
}

std::string Job::interrupted(std::size_t done, std::size_t of) const {
  const bool has_file = prints_ && !json_.empty();
  return text(command_, ": interrupted after ", done, " of ", of, " rows",
              has_file ? ", they stand in " + json_ + "; the same command goes on with the rest" : "");
}

void Job::make(const RowsToMake& rows) {
  std::vector<std::string> identities;
  for (const Json& asked : rows.asked) identities.push_back(identity(asked));
  ResultFile results(console_, json_, rows.kind, {identities.begin(), identities.end()}, rows.is_current);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < identities.size(); ++i)
    if (!results.standing(identities[i])) missing.push_back(i);
  if (missing.size() < identities.size())
    console_.err << identities.size() - missing.size() << " rows stand in " << json_ << ", " << missing.size()
                 << " to go\n";

  Progress progress(console_, identities.size(), rows.threads);
  std::size_t done = 0;
  const auto show = [&](const Json& row) {
    progress.clear();
    if (rows.show) rows.show(done, row);
    progress.show(++done, row.value("case", rows.kind));
  };
  const auto show_standing = [&](std::size_t until) {
    while (done < until) show(*results.standing(identities[done]));
  };
  const auto make_row = [&](std::size_t i) {
    Json row = rows.asked[missing[i]];
    row.update(rows.make(missing[i]));
    return row;
  };
  try {
    compute_in_order(missing.size(), rows.threads, make_row, [&](std::size_t i, const Json& row) {
      show_standing(missing[i]);
      show(results.append(row));
    });
  } catch (const Interrupted&) {
    progress.clear();
    throw Interrupted(interrupted(done, identities.size()));
  }
  show_standing(identities.size());
}

ResultFile Job::log(const std::string& kind) const { return {console_, json_, kind, {}}; }

}  // namespace danaus

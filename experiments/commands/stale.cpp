// danaus stale: which rows are of the code as it is now?
#include <boost/crc.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "experiments/cli/command_line.hpp"
#include "experiments/cli/in_order.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/pending_file.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Says which rows of FOLDER/*.jsonl were measured with today's kernels, baselines and stopwatch, and writes\n"
    "FOLDER/verdicts.json, which plots read. A row is current if its kernels are the same machine code, launched\n"
    "in the same way, even if their sources changed. A row is unknown if sources changed after machine_code.py\n"
    "last ran. Older rows get the digest of the machine code instead of the digest of sources. --check writes\n"
    "nothing; exit 1 if verdicts.json would change.";

constexpr const char* kVerdicts = "verdicts.json";

struct RowsFile {
  std::filesystem::path path;
  std::vector<std::string> lines;
  std::vector<Standing> standings;  // of each line; none where rows of the kind have none

  std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line + '\n';
    return all;
  }
  Json numbers(Standing of) const {  // of lines, from 1
    Json list = Json::array();
    for (std::size_t i = 0; i < standings.size(); ++i)
      if (standings[i] == of) list.push_back(i + 1);
    return list;
  }
};

RowsFile read(const std::filesystem::path& path) {
  RowsFile file{path, {}, {}};
  std::ifstream text(path);
  for (std::string line; std::getline(text, line);) file.lines.push_back(line);
  compute_in_order(
      file.lines.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) -> Json {
        const Json row = Json::parse(file.lines[i], nullptr, false);
        if (!row.is_object() || !row.contains("kind")) fail("stale: ", path.string(), ", line ", i + 1, ": is no row");
        const auto now = code_of(row);
        if (!now) return Json();
        const auto words = row.contains("compiler") ? now->words(row.at("compiler").get<std::string>()) : now->words();
        return {{"standing", standing_of(row, *now)}, {"code", row.at("code")}, {"now", words}};
      },
      [&](std::size_t i, const Json& said) {
        if (said.is_null()) return;
        file.standings.resize(file.lines.size(), Standing::current);
        file.standings[i] = said.at("standing");
        if (file.standings[i] != Standing::current || said.at("code") == said.at("now")) return;
        const auto field = [](const Json& code) { return "\"code\":" + code.dump(); };
        std::string& line = file.lines[i];
        line.replace(line.find(field(said.at("code"))), field(said.at("code")).size(), field(said.at("now")));
      });
  return file;
}

void write(const std::filesystem::path& path, const std::string& text) {
  PendingFile file(path.string());
  file.write(text);
  file.commit();
}

}  // namespace

int run_stale(std::span<const std::string> words, Console& console) {
  CommandLine line("stale", kDescription);
  std::string folder;
  bool check = false;
  line.argument("folder", folder, true, "the folder of result files");
  line.flag("check", check, "only compares with FOLDER/verdicts.json");
  if (!line.parse(words, console)) return kExitOk;
  if (!std::filesystem::is_directory(folder)) fail("stale: ", folder, " is no folder");

  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
  if (paths.empty()) fail("stale: ", folder, " has no result files, .jsonl");
  std::ranges::sort(paths);
  std::string verdicts;
  std::vector<std::vector<std::string>> cells;
  for (const auto& path : paths) {
    const RowsFile file = read(path);
    if (file.standings.empty()) continue;
    const std::string text = file.text();
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    const Json stale = file.numbers(Standing::stale), unknown = file.numbers(Standing::unknown);
    verdicts += (verdicts.empty() ? "{" : ",\n ") + Json(path.filename().string()).dump() + ": " +
                Json{{"crc32", crc.checksum()}, {"stale", stale}, {"unknown", unknown}}.dump();
    const std::size_t rows = file.lines.size();
    cells.push_back({path.filename().string(), std::to_string(rows - stale.size() - unknown.size()),
                     std::to_string(stale.size()), std::to_string(unknown.size())});
    if (!check) write(path, text);
  }
  verdicts += verdicts.empty() ? "{}\n" : "}\n";
  using enum Column::Align;
  print_table(console.out, {{"rows", 0, left}, {"current", 0, right}, {"stale", 0, right}, {"unknown", 0, right}},
              cells);
  const std::filesystem::path path = std::filesystem::path(folder) / kVerdicts;
  if (!check) {
    write(path, verdicts);
    return kExitOk;
  }
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  if (written.str() == verdicts) return kExitOk;
  console.err << "stale: " << path.string() << " is not of these rows and kernels; danaus stale " << folder
              << " writes it anew\n";
  return kExitCheckFailed;
}

}  // namespace danaus

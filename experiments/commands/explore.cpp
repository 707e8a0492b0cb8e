// danaus explore: what does a frequency mask save, and what does it do to the answer?
#include <algorithm>
#include <cmath>
#include <thread>

#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/explore/exploration.hpp"
#include "experiments/io/mask_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/file_name.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Removes parts of a filter's spectrum by many patterns. For each: the blocks of the transforms that remain,\n"
    "the time that the plan's kernel saves, and the error of the output in double, on noise and on real input.\n"
    "Takes minutes for large cases. --best-above-snr prints one line: the fastest pattern with at least this SNR.\n"
    "--partial cuts filters to their first taps instead, as in Table 7 of Fu et al. 2023. Needs no GPU.";

// Beyond this N only patterns that are quickly made are tried unasked.
constexpr std::int64_t kLongest = 32768;

struct Options {
  ExploredCaseWords subject;
  PatternRequest request;
  std::vector<std::string> masks, measured;
  std::string profile = "H200", pieces, output;
  std::optional<double> best_above;
  bool partial = false;
};

std::vector<int> read_pieces(const std::string& words) {
  std::vector<int> pieces;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, 'x');) {
    if (word.empty() || word.size() > 6 || word.find_first_not_of("0123456789") != word.npos || std::stoi(word) < 1)
      fail("explore: blocks '", words, "', must be as 8x4x1x1");
    pieces.push_back(std::stoi(word));
  }
  return pieces;
}

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::vector<std::string> kinds;
  std::optional<int> count, seed;
  CommandLine& line = job.line;
  line.option("case", options.subject.token, "TOKEN",
              "a case without a mask (default: fp16, circular, L=4096, B=64, H=768, or of the filters' file)");
  line.option("filters", options.subject.filters, "KIND|FILE",
              names_in(kFilterKinds) + ", or a .npy or .wav, [K] or [H, K] (default: hyena)");
  line.option("inputs", options.subject.inputs, "KIND|FILE",
              "beside Gaussian noise: " + names_in(kDataKinds) + ", or a .npy or .wav (default: recording)");
  line.option("pattern", kinds, "NAME",
              names_in(kPatternKinds) + " (default: all that N allows; file: that of --mask); may be repeated");
  line.option("blocks", options.pieces, "LIST",
              "pieces of each dimension, the most significant first, as in 8x4x1x1 (default: bands, and lines)");
  line.option("count", count, "NUMBER", "patterns of low, high, band and random (default 64)");
  line.option("mask", options.masks, "FILE", "a mask of your own, .npy [N] of 0 and 1 or .json; may be repeated");
  line.option("best-above-snr", options.best_above, "DB",
              "answers in one line: the fastest pattern with at least this SNR");
  line.option("output,o", options.output, "FILE", "the best pattern as a .json for --mask of other commands");
  line.flag("partial", options.partial, "filters cut to their first 256, 512, ... taps, without masks");
  line.option("measured", options.measured, "FILE", "rows of danaus bench, to stand beside; may be repeated");
  line.option("profile", options.profile, "NAME", "the device that times are predicted for (default: H200)");
  line.option("seed", seed, "NUMBER", "other random data and patterns (default 0)");
  if (!job.parse(words)) return false;

  if (count.value_or(1) < 1 || count.value_or(1) > 100000)
    fail("explore: count=", *count, ", must be from 1 to 100000");
  if (seed.value_or(0) < 0) fail("explore: seed=", *seed, ", must not be negative");
  if (options.best_above && !std::isfinite(*options.best_above))
    fail("explore: best-above-snr=", *options.best_above, ", must be a number of decibels");
  if (!options.output.empty() && !options.best_above) fail("explore: --output is for the best, name --best-above-snr");
  if (!options.output.empty() && !has_ending(options.output, ".json"))
    fail("explore: output ", options.output, ", must be a .json file");
  if (options.partial && (options.best_above || !kinds.empty() || !options.masks.empty() || !options.pieces.empty()))
    fail("explore: --partial has no masks; leave patterns, blocks, masks and --best-above-snr out");
  if (is_signal_file(options.subject.filters)) job.reads("--filters", options.subject.filters);
  if (is_signal_file(options.subject.inputs)) job.reads("--inputs", options.subject.inputs);
  for (const std::string& file : options.masks) job.reads("--mask", file);
  for (const std::string& file : options.measured) job.reads("--measured", file);
  job.writes("--output", options.output);
  for (const std::string& kind : kinds)
    options.request.kinds.push_back(parse_in(kPatternKinds, "explore: pattern", kind));
  if (std::ranges::count(options.request.kinds, PatternKind::file) > 0 && options.masks.empty())
    fail("explore: pattern 'file', must have a mask; --mask FILE names one");
  options.request.count = count.value_or(options.request.count);
  options.request.seed = options.subject.seed = static_cast<std::uint64_t>(seed.value_or(0));
  options.request.least_snr_db = options.best_above.value_or(0);
  return true;
}

std::string decibels(const Json& row) {
  const double snr = snr_of(row);
  return std::isinf(snr) ? "no loss" : fixed(snr, 1);
}

double share(const Json& row, const char* field, const char* of) {
  return row.contains(field) ? row.at(field).get<double>() / row.at(of).get<double>() : NAN;
}

std::string shortened(const std::string& word) { return word.size() <= 44 ? word : word.substr(0, 41) + "..."; }

void print_front(std::ostream& out, const std::vector<Json>& front) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : front)
    cells.push_back({row["pattern"], shortened(row["mask"]), fixed(100 * row["zeros"].get<double>(), 1),
                     fixed(100 * row["energy_kept"].get<double>(), 2), decibels(row), fixed(row["us"], 1),
                     fixed(row["dense_us"].get<double>() / row["us"].get<double>(), 3),
                     fixed(100 * share(row, "matrix_instructions", "dense_matrix_instructions"), 1),
                     fixed(100 * share(row, "bytes", "dense_bytes"), 1)});
  using enum Column::Align;
  print_table(out,
              {{"pattern", 0, left},
               {"mask", 0, left},
               {"zeros, %", 0, right},
               {"energy kept, %", 0, right},
               {"SNR, dB", 0, right},
               {"would take, us", 0, right},
               {"times as fast", 0, right},
               {"matrix instr., %", 0, right},
               {"bytes, %", 0, right}},
              cells);
}

// Of fewer rows, which are enough to see that a mask is right.
std::string to_verify(const Json& row, const char* field) {
  Convolution problem = parse_convolution(row[field].get<std::string>());
  problem.batch = std::min<std::int64_t>(problem.batch, 2),
  problem.channels = std::min<std::int64_t>(problem.channels, 4);
  return token(problem);
}

std::string times_of(const Json& row) {
  const double us = row["us"], dense = row["dense_us"];
  if (!saves_time(row))
    return text("would take ", fixed(us, 1), " us, all of it ", fixed(dense, 1), ": no mask of this SNR saves time");
  return text("would take ", fixed(us, 1), " us where all of it takes ", fixed(dense, 1), ", ", fixed(dense / us, 3),
              " times as fast");
}

void print_best(std::ostream& out, const Json& row, const std::string& output) {
  out << row["pattern"].get<std::string>() << ' ' << shortened(row["mask"]) << ": "
      << fixed(100 * row["zeros"].get<double>(), 1) << " % of the spectrum removed, " << times_of(row) << " (by "
      << row["predicted_by"].get<std::string>() << " on " << row["profile"].get<std::string>() << "), "
      << (std::isinf(snr_of(row)) ? "without loss" : "at " + decibels(row) + " dB") << "; danaus verify --case "
      << (output.empty() ? to_verify(row, "case") : to_verify(row, "dense_case") + " --mask " + output) << '\n';
}

std::vector<Pattern> patterns_of(Options& options, const Exploration& exploration) {
  PatternRequest& request = options.request;
  const Convolution& problem = exploration.problem();
  std::vector<Pattern> list;
  for (const std::string& path : options.masks) {
    list.push_back({PatternKind::file, with_mask(problem, read_mask(path))});
    if (list.back().problem.factors != problem.factors) fail("explore: mask ", path, ": is for other factors");
  }
  if (request.kinds.empty() && options.masks.empty()) {
    using enum PatternKind;
    request.kinds = {paper, low, high, band};
    if (problem.fft_size <= kLongest) request.kinds.insert(request.kinds.end(), {grid, random, energy, greedy});
  }
  request.pieces = {band_pieces(problem.factors), line_pieces(problem.factors)};
  if (!options.pieces.empty()) request.pieces = {read_pieces(options.pieces)};
  for (const Pattern& pattern : patterns(problem, request, exploration.effect(), exploration.savings()))
    list.push_back(pattern);
  if (list.empty()) fail("explore: no pattern of those asked for removes anything from ", token(problem));
  return list;
}

int explore_masks(Options& options, const HardwareProfile& profile, Job& job) {
  std::unique_ptr<PendingFile> output;
  if (!options.output.empty()) output = std::make_unique<PendingFile>(options.output);
  const Exploration exploration(read_explored_case(options.subject, Mode::circular, 4096, job.console().err), profile,
                                measured_times(options.measured, profile));
  const std::vector<Pattern> list = patterns_of(options, exploration);
  std::vector<Json> asked, rows;
  for (const Pattern& pattern : list) asked.push_back(exploration.describe(pattern));
  job.configure({{"case", token(exploration.problem())},
                 {"patterns", std::to_string(list.size())},
                 {"filters", asked.front()["data"]["filters"]["name"]},
                 {"inputs", join([&] {
                    std::vector<std::string> names;
                    for (const Json& input : asked.front()["data"]["inputs"]) names.push_back(input["name"]);
                    return names;
                  }())},
                 {"times", text("predicted by ", exploration.savings().model(), " on ", profile.name)}});
  job.make({.kind = "explore",
            .asked = asked,
            .make = [&](std::size_t i) { return exploration.explored(list[i]); },
            .show = [&](std::size_t, const Json& row) { rows.push_back(row); },
            .threads = std::max(1u, std::thread::hardware_concurrency())});
  if (!options.best_above) {
    print_front(job.out(), thinned(pareto_front(rows)));
    if (std::ranges::none_of(rows, saves_time)) job.out() << "no mask of these saves time\n";
    return kExitOk;
  }
  const Json& best = best_above(rows, *options.best_above);
  print_best(job.out(), best, options.output);
  if (!output) return kExitOk;
  write_mask(*output, parse_convolution(best["case"].get<std::string>()));
  output->commit();
  return kExitOk;
}

int explore_partial(const Options& options, const HardwareProfile& profile, Job& job) {
  const ExploredCase subject = read_explored_case(options.subject, Mode::causal, 8192, job.console().err);
  const std::vector<PartialFilter> list = partial_filters(subject);
  const std::map<std::string, double> measured = measured_times(options.measured, profile);
  std::vector<Json> asked;
  for (const PartialFilter& partial : list) asked.push_back(describe(partial, subject, profile));
  job.configure({{"case", token(subject.problem)},
                 {"filters", asked.front()["data"]["filters"]["name"]},
                 {"rows", std::to_string(list.size())}});
  std::vector<std::vector<std::string>> cells;
  job.make({.kind = "partial",
            .asked = asked,
            .make = [&](std::size_t i) { return partial_row(list[i], subject, profile, measured); },
            .show =
                [&](std::size_t, const Json& row) {
                  cells.push_back({row["k"].dump(), fixed(row["total_bytes"].get<double>() / 1e6, 1),
                                   fixed(row.value("us", NAN), 1)});
                  for (const Json& error : row["errors"]) cells.back().push_back(decibels(error));
                }});
  using enum Column::Align;
  std::vector<Column> columns = {{"K", 0, right}, {"memory, MB", 0, right}, {"us", 0, right}};
  for (const ProbeInput& input : subject.inputs) columns.push_back({input.name + ", dB", 0, right});
  print_table(job.out(), columns, cells);
  return kExitOk;
}

}  // namespace

int run_explore(std::span<const std::string> words, Console& console) {
  Job job(console, "explore", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  const HardwareProfile profile = job.profile(options.profile);
  return options.partial ? explore_partial(options, profile, job) : explore_masks(options, profile, job);
}

}  // namespace danaus

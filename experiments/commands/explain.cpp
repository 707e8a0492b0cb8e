// danaus explain: in sentences, what a token asks for, and what a plan would do on a GPU.
#include <algorithm>
#include <array>

#include "experiments/cli/paragraph.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/count/footprint.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/operations/work.hpp"
#include "experiments/predict/predictions.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/plan/choice.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/grammar.hpp"
#include "reference/names.hpp"
#include "reference/operation.hpp"
#include "reference/step/step.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Says in sentences what a token asks for, and what a plan would do on a GPU: kernel, launches, memory, floor, and\n"
    "the predicted time. Needs no GPU. danaus help tokens lists the fields of a token.";

constexpr std::array kFoldsInWords = {
    Named{Fold::plain, "plain", "One real row is a complex row without imaginary part; half of its spectrum is kept."},
    Named{Fold::pair, "pair",
          "Two batch rows form one complex row: the first is its real part, the second its "
          "imaginary part."},
    Named{Fold::half, "half", "The even samples of a row are the real part, the odd ones the imaginary part."},
    Named{Fold::right_angle, "right angle",
          "Each row is multiplied by exp(i pi n / 2N), so that the circular result has the first N samples of the "
          "linear convolution as its real part. No padding is needed."},
};

std::string_view fold_in_words(Fold fold) {
  for (const auto& entry : kFoldsInWords)
    if (entry.value == fold) return entry.summary;
  return "";
}

std::string plural(std::int64_t count, std::string_view noun) { return text(count, ' ', noun, count == 1 ? "" : "s"); }

class Explanation {
 public:
  Explanation(Case asked, HardwareProfile profile, std::ostream& out)
      : asked_(std::move(asked)), profile_(std::move(profile)), device_(imitation(profile_)), out_(out) {}

  void print_case() const {
    const std::string token = asked_.token();
    const Grammar& grammar = *find_grammar(operation_word(token));
    out_ << token << "\n\nThe case\n";
    for (const Operation& operation : operations())
      if (operation.word == grammar.operation) say(text(operation.word, ": ", operation.summary));
    std::string_view rest = token;
    for (std::size_t end = rest.find('_'); end != rest.npos;) {
      rest.remove_prefix(end + 1);
      end = rest.find('_');
      const std::string_view field = rest.substr(0, end);
      say(text(field, ": ", grammar.field_of(field)->meaning));
    }
    out_ << '\n';
    if (const Convolution* p = convolution_of(asked_)) print_convolution(*p);
    for (const Array& array : asked_.arrays()) {
      std::string extents;
      for (std::int64_t extent : array.extents) extents += text(extents.empty() ? "" : ", ", extent);
      const char* role = array.role == Role::input ? "input" : array.role == Role::filter ? "filter" : "output";
      say(text(array.name, " [", extents, "] (", array.shape, "), ", name(array.dtype), ", ", role));
    }
  }

  void print_plan() const {
    out_ << "\nThe plan on " << profile_.name << '\n';
    std::string kernel;
    try {
      kernel = make_program(asked_, device_, marks_of(asked_)).variant->name;
    } catch (const std::invalid_argument& refusal) {
      say(text("No plan: ", refusal.what()));
      return;
    }
    if (const Convolution* p = convolution_of(asked_))
      print_choice(*p);
    else
      say(text("The kernel with most of the work is ", kernel, "."));
    print_launches();
    print_memory();
    print_time();
  }

 private:
  void print_convolution(const Convolution& p) const {
    say(text("Each of ", plural(p.batch, "batch row"), " has ", plural(p.channels, "channel"), " of ",
             plural(p.length, "sample"), ". Each channel has a filter of ", plural(p.filter_length, "tap"), "."));
    if (p.mode == Mode::causal) {
      say(text("An output sample is a sum over the current and earlier samples. The first ", p.length,
               " samples of the linear convolution are kept."));
      if (p.filter_length > p.length) say("Taps beyond L have no effect.");
    } else {
      say(text("Indices wrap around at L=", p.length, "."));
      if (p.filter_length > p.length) say("Taps beyond L wrap around too.");
    }
    if (p.pregate || p.postgate)
      say(text("Gates: ", p.pregate ? "u is multiplied by the pregate" : "", p.pregate && p.postgate ? ", and " : "",
               p.postgate ? "the result is multiplied by the postgate" : "", "."));
    if (!p.mask.empty()) {
      const std::vector<std::uint8_t> marks = marks_of(asked_);
      say(text("The mask ", token(p.mask), " keeps ", std::count(marks.begin(), marks.end(), 1), " of ", marks.size(),
               " frequencies of the filter's spectrum."));
    }
  }

  void print_choice(const Convolution& p) const {
    const Variant& v = choose(p, device_, marks_of(asked_));
    say(text("The kernel is ", v.name, ": ", v.threads, " threads and ", human_bytes(v.shared_bytes),
             " of shared memory a block."));
    if (v.size == 0) {
      say("It needs no FFT: the filter is short enough for a direct sum.");
    } else {
      say(text("It computes FFTs of N=", v.size, " = ", join(v.factors, " x "), ", in the ",
               name_in(kFoldsInWords, v.fold), " fold. ", fold_in_words(v.fold)));
      if (v.size < p.length) say(text("Rows are cut into overlapping pieces of ", v.size, " samples."));
    }
    if (!v.compiled) say("This build lacks the kernel; one with DANAUS_ALL=ON has it.");
  }

  void print_launches() const {
    struct Line {
      std::string kernel;
      std::int64_t times, blocks;
      int threads, shared_bytes;
    };
    std::vector<Line> lines;
    visit_launches(asked_, device_, [&](const Launch& launch, std::span<const std::uint32_t>) {
      const bool again = !lines.empty() && lines.back().kernel == launch.kernel.family &&
                         lines.back().blocks == launch.blocks && lines.back().threads == launch.threads;
      if (again)
        ++lines.back().times;
      else
        lines.push_back({std::string(launch.kernel.family), 1, launch.blocks, launch.threads, launch.shared_bytes});
    });
    std::int64_t count = 0;
    std::vector<std::vector<std::string>> cells;
    for (const Line& line : lines) {
      count += line.times;
      cells.push_back({"  " + line.kernel, std::to_string(line.times), std::to_string(line.blocks),
                       std::to_string(line.threads), human_bytes(line.shared_bytes)});
    }
    say(text("A whole call, which also prepares the filter, makes ", count, count == 1 ? " launch:" : " launches:"));
    using enum Column::Align;
    print_table(out_,
                {{"  kernels of family", 0, left},
                 {"launches", 0, right},
                 {"blocks", 0, right},
                 {"threads", 0, right},
                 {"shared memory", 0, right}},
                cells);
  }

  void print_memory() const {
    const Json row = footprint(asked_, profile_);
    double of_arrays = row.at("total_bytes").get<double>();
    const char* prepared = row.contains("spectrum_bytes") ? "spectrum_bytes" : "prepared_bytes";
    for (const char* field : {prepared, "tables_bytes", "workspace_bytes"}) of_arrays -= row.at(field).get<double>();
    say(text("Device memory: ", human_bytes(of_arrays), " of arrays, ", human_bytes(row.at(prepared)),
             " of prepared filters, ", human_bytes(row.at("tables_bytes")), " of constants, ",
             human_bytes(row.at("workspace_bytes")), " of workspace."));
    if (row.contains("largest_batch")) say(text("The largest batch that fits is ", row["largest_batch"].dump(), "."));
  }

  void print_time() const {
    const double bytes = moved_bytes(asked_), rate = profile_.hbm_bandwidth.value;
    const auto in_us = [](double us) { return fixed(us, us < 10 ? 2 : 1); };
    say(text("Floor: ", in_us(bytes / rate / (kTera * kMicro)),
             " us, to read the inputs and write the outputs once at ", fixed(rate, 2), " TB/s (", human_bytes(bytes),
             ")."));
    const auto predicted = for_roofline(asked_.token(), profile_, {});
    if (!predicted) {
      say("No prediction: this build lacks a kernel of the plan, so its work cannot be counted.");
      return;
    }
    const Json row = prediction(*predicted);
    say(text("The roofline over counted work predicts ", in_us(row.at("total_us")), " us for a call",
             row.contains("prepare_us") ? text(", and ", in_us(row["prepare_us"]), " us for preparing the filter") : "",
             ". The limit is ", row.at("limit").get<std::string>(), "."));
    say(text("More: danaus count, danaus model or danaus memory, each with --case ", asked_.token()));
  }

  void say(std::string_view sentence) const { out_ << paragraph(sentence, 2); }

  Case asked_;
  HardwareProfile profile_;
  Device device_;
  std::ostream& out_;
};

}  // namespace

int run_explain(std::span<const std::string> words, Console& console) {
  CommandLine line("explain", kDescription);
  std::string token, profile = "H200";
  line.argument("TOKEN", token, true, "a case, as fftconv_f16_causal_l1024_b64_h768");
  line.option("profile", profile, "NAME", "the GPU: " + join(profile_names()) + ", or a .json file (default: H200)");
  if (!line.parse(words, console)) return kExitOk;
  const Explanation explanation(parse_case(token), load_profile(profile), console.out);
  explanation.print_case();
  explanation.print_plan();
  return kExitOk;
}

}  // namespace danaus

// The one judge: outputs of a case against the truth in double, over all rows and each row by itself.
//
//   const auto judge = judge_of(asked);
//   const Verdict verdict = verdict_on(*judge, inputs, outputs, judge->expected(inputs), judge->terms(inputs,
//   promise));
//
// A row is what an output has for one index of each of batch and channels: L samples, the K taps of dk, one number of
// dbias. Errors of a row are relative to what was summed to it: |u| |k| of the row, with its gates. An error over all
// rows hides a quiet row beside loud ones, and one wrong row among many.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/bounds.hpp"
#include "reference/compare.hpp"
#include "reference/promise.hpp"
#include "reference/truth.hpp"

namespace danaus {

// The rows of an output. Number n of row o * inner + i stands at (o * length + n) * inner + i.
struct RowOrder {
  struct Axis {
    std::string_view name;
    std::int64_t extent;
  };
  std::vector<Axis> axes;  // of the rows, the last one fastest
  std::int64_t length;     // numbers of a row
  std::int64_t inner = 1;  // rows whose numbers lie interleaved

  std::int64_t rows() const;
  // Number n of a row is `inner` n after its first.
  std::int64_t first(std::int64_t row) const { return row / inner * length * inner + row % inner; }
  std::string place(std::int64_t row) const;  // "b=1, h=2"
};

// What errors of an output are relative to, and their bounds.
struct OutputTerms {
  std::string_view name;
  Dtype dtype;
  RowOrder order;
  // Of each row the norm that it would have if nothing cancelled, and the bound on its L2 error relative to that norm.
  std::vector<double> summed, bounds;
  // The same for each number, squared; empty where only the whole row's is known.
  std::vector<double> squares;
  // In how many samples, and at how many frequencies, each row has its errors, as far as the inputs tell. A gate with
  // one spike leaves one sample, and a filter of one frequency leaves one number. Infinite where nothing is known.
  std::vector<double> samples, frequencies;
  // Rows that read NaN or infinity. Their `summed` leaves those out.
  std::vector<bool> is_spoiled;
  // Where rows share a transform: whether they show each other's NaN and infinities, and by what factor the error of a
  // single row may be larger. The factor is kPairExcess in pairs that are kept apart.
  bool shares_nonfinite = false;
  double excess = 1;
  std::int64_t nonfinite_reach = kWholeRow;  // as promised (promise.hpp)
  double floor = 0;                          // of the rms error of a row, however small the row is
  // Samples of time or space, of which a row with one frequency errs as one number.
  bool has_frequencies = true;

  double summed_to_all() const;  // over rows that are not spoiled
  double bound() const;          // the largest
};

// Powers of two leave the norms of two rows that share a transform within 1.46 of each other. The quieter row then errs
// by 1.25 times as much as beside an equal row.
inline constexpr double kPairExcess = 1.25;

// Bounds on relative L2 errors by name, in place of those of a promise.
using Bounds = std::map<std::string, double, std::less<>>;

// Of outputs of which a machine executed some blocks only, which numbers it computed.
using KnownNumbers = std::map<std::string, std::vector<bool>, std::less<>>;

// The truth, what it was computed by ("fftw" or "direct"), and the bound on its own error.
struct Expected {
  Values outputs;
  std::string_view by;
  double bound;
};

// What an output takes, whatever computes it (claim.hpp).
struct RowWork {
  int roundings;     // of FFTs of radix 2 there and back: twiddle and sum in each stage, the product between, and gates
  double products;   // in a sum by the definition
  double steps = 0;  // for which an error of a pole's powers repeats
};

// <y, dy> in double, and the bias's part of it.
struct AdjointProduct {
  double whole, of_bias = 0;
};

// Of one operation: a case of it.
class Judge {
 public:
  explicit Judge(Case asked) : asked_(std::move(asked)) {}
  virtual ~Judge() = default;

  // Of every output. Throws where an array is missing or of another size.
  std::vector<OutputTerms> terms(const Values& inputs, const Promise& promise) const;
  // The bound that terms() has for every row, where inputs are not known yet.
  virtual double bound(std::string_view output, const Roundings& roundings) const = 0;
  virtual RowWork work(std::string_view output, const Values& inputs) const = 0;
  // Outputs in the units in which they are compared: as they are, but for what would hide behind larger numbers.
  virtual Values compared(const Values& inputs, Values outputs) const { return static_cast<void>(inputs), outputs; }
  // What <y, dy> is; nothing where there are no gradients.
  virtual std::optional<AdjointProduct> product(const Values& inputs) const {
    return static_cast<void>(inputs), std::nullopt;
  }
  // By the definition where that takes moments, or is the only way; else by FFTs. `of_fftw`: FFTW is judged, so that
  // the definition is asked where it takes less than minutes.
  virtual Expected expected(const Values& inputs, bool of_fftw = false) const {
    return static_cast<void>(of_fftw), Expected{danaus::truth(asked_, inputs), truth(), bound_of_truth()};
  }
  // As expected() has them, of any inputs.
  virtual std::string_view truth() const = 0;
  virtual double bound_of_truth() const = 0;

 protected:
  Array array(std::string_view name) const;  // of the case. Throws where there is none

 private:
  // terms() but for what follows from the promise alone.
  virtual std::vector<OutputTerms> row_terms(const Values& inputs, const Promise& promise) const = 0;

  Case asked_;
};

// Throws std::invalid_argument for an operation without a judge.
std::unique_ptr<const Judge> judge_of(const Case& asked);

// What a folder's judge.cpp provides as <folder>_judge().
struct JudgeEntry {
  std::string_view word;  // of the operation
  std::unique_ptr<const Judge> (*make)(const Case& asked);
};
template <class Asked, class JudgeOfAsked>
JudgeEntry judge_entry(std::string_view word) {
  return {word, [](const Case& asked) -> std::unique_ptr<const Judge> {
            return std::make_unique<JudgeOfAsked>(*asked.as<Asked>());
          }};
}

// Of a computation in double whose outputs are rounded once to their types.
Bounds double_bounds(const Case& asked);

struct RowVerdict {
  std::int64_t row = 0;
  std::string place;     // "b=1, h=2"
  double error = 0;      // L2, relative to what was summed to the row, or to the row itself where that is more
  double bound = 0;      // of it
  double clearance = 0;  // the largest share of its bound that an error of the row takes: L2, largest, gain
  std::string reason;    // what is wrong beyond errors
};

struct OutputVerdict {
  std::string output;
  Comparison all = {};       // over all rows; `worst` is an index into the output
  std::int64_t samples = 0;  // that were compared
  double bound = 0;          // of all.rel_l2
  double clearance = 0;      // the largest share of its bound that an error takes, of a row too
  RowVerdict row;            // the one that takes most of its bound
  bool passed = false;
  std::string reason;  // why it failed beyond bounds, or which samples overflow
};

struct Verdict {
  std::vector<OutputVerdict> outputs;  // without those of which nothing is known
  double known = 1;                    // the share of all numbers that were compared
  const OutputVerdict* worst() const;  // null without outputs
  bool passed() const { return worst() && worst()->passed; }
};

struct JudgeOptions {
  Bounds bounds = {};       // in place of those in `terms`
  double usual_share = 1;   // of the bound over all rows that such data take (bounds.hpp)
  KnownNumbers known = {};  // of outputs that are known in part only
  Values tolerances = {};   // of outputs: what each number may err beside the bounds of its row
};

// Every output over all rows and row by row. Rows that read NaN or infinity must show it, and are judged where they may
// not (Promise::nonfinite_reach). Throws where outputs are missing or of another size.
Verdict verdict_on(const Judge& judge, const Values& inputs, const Values& outputs, const Expected& expected,
                   const std::vector<OutputTerms>& terms, const JudgeOptions& options = {});

// The same of outputs that were made as the promise says, against the truth.
Verdict verdict_on(const Case& asked, const Values& inputs, const Values& outputs, const Promise& promise,
                   const JudgeOptions& options = {});

// <y, dy> = <du, u> = <dk, k> = <dw, w> = <dpregate, pregate> = <dpostgate, postgate>, for any data: what each product
// of an output with its input is off by. Where a bias is added behind the filter, its part of <y, dy> is <dbias, bias>,
// and in those with u, k and pregate it is not. Errors that know nothing of that input add up as a random walk does;
// the bound is four times its rms. Numbers that are too small for their type may all become zero.
struct AdjointError {
  std::string_view output;
  double error, bound;
};
// Of those `outputs` that are there.
std::vector<AdjointError> adjoint_errors(const Values& inputs, const Values& outputs, const AdjointProduct& product,
                                         const std::vector<OutputTerms>& terms);

// The array of a case; empty where it has none.
const std::vector<double>& array_in(const Values& values, std::string_view name);

}  // namespace danaus

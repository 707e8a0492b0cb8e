#include "model/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace danaus {
namespace {

constexpr double kMega = 1e6;

// Work is done at rates of the profile; what it has not is taken from what every GPU of its kind has.
class Rates {
 public:
  explicit Rates(const HardwareProfile& profile)
      : p_(profile), clock_(profile.load_clock.value_or(profile.clock).value) {}

  // A second, of a quantity that is bound to the SM clock.
  double of(const Quantity& q) const { return at_load_clock(q, p_) * kTera; }
  double of(const std::optional<Quantity>& wanted, const Quantity& otherwise, const char* name) {
    if (!wanted) note(std::string(name) + " at the matrix rate");
    return of(wanted ? *wanted : otherwise);
  }
  // So many in a clock of an SM.
  double a_clock(double count) const { return count * p_.sms.value * clock_ * kMega; }
  double operations(const std::optional<Quantity>& wanted, double count, const char* name) {
    if (wanted) return of(*wanted);
    std::ostringstream text;
    text << name << " at " << count << " a clock an SM";
    note(text.str());
    return a_clock(count);
  }
  double packed(Dtype dtype) {
    constexpr double kFlops = 4;
    const auto& wanted = dtype == Dtype::bf16 && p_.half2_bf16_rate ? p_.half2_bf16_rate : p_.half2_rate;
    if (wanted) return of(*wanted) / kFlops;
    note("packed arithmetic at the instruction rate of fp32");
    return of(p_.general_rate) / 2;
  }

  // Operands of 32 bits move at the rate that halves have.
  double tf32() {
    note("mma of TF32 at half the matrix rate");
    return of(p_.matrix_rate) / 2;
  }

  // Of 128 bytes, through L1 and shared memory.
  double wavefronts() {
    constexpr double kBytes = 128;
    if (p_.shared_load_bandwidth) return of(*p_.shared_load_bandwidth) / kBytes;
    note("shared memory at 128 bytes a clock an SM");
    return a_clock(1);
  }
  // A second, or nothing: then what needs it is left out.
  std::optional<double> l2_bytes() {
    if (p_.l2_bandwidth) return p_.l2_bandwidth->value * kTera;
    note("L2 is left out");
    return std::nullopt;
  }
  std::optional<double> remote_bytes() {
    if (p_.remote_store_bandwidth) return of(*p_.remote_store_bandwidth);
    note("what blocks of a cluster give each other is left out");
    return std::nullopt;
  }
  double launch_us() {
    if (p_.launch_interval) return p_.launch_interval->value;
    note("the launch is left out");
    return 0;
  }

  double clock() const { return clock_; }
  std::vector<std::string> notes;

 private:
  void note(std::string text) {
    text = "not in the profile: " + text;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }
  const HardwareProfile& p_;
  double clock_;
};

double norm(const std::vector<double>& times, double p) {
  const double longest = std::ranges::max(times);
  if (longest == 0) return 0;
  double sum = 0;
  for (double each : times) sum += std::pow(each / longest, p);
  return longest * std::pow(sum, 1 / p);
}

constexpr const char* kCluster = "cluster";

// Of all resources. Barriers of the cluster stand before and behind what its blocks give each other, so nothing else
// goes on meanwhile.
double at_once(const std::vector<ResourceTime>& times, const KernelWork& work, const Concurrency& concurrency) {
  std::vector<double> of_memory, of_sms;
  double alone = 0;
  for (const ResourceTime& each : times)
    if (each.name == kCluster)
      alone += each.us;
    else
      (each.name == "hbm" || each.name == "l2" ? of_memory : of_sms).push_back(each.us);
  const double overlap = concurrency.overlap_of(work), tail = 1 + concurrency.last_wave * (work.last_wave - 1);
  of_memory.push_back(norm(of_sms, overlap));
  return tail * norm(of_memory, work.in_phases() ? overlap : 2 * overlap - 1) + alone;
}

std::string in_words(double amount, const char* unit, double rate) {
  std::ostringstream text;
  text.precision(3);
  text << amount << ' ' << unit << " at " << rate << " a second";
  return text.str();
}

// At the rate that they had on average.
std::string in_words_of_all(double amount, const char* unit, double seconds) {
  return in_words(amount, unit, seconds > 0 ? amount / seconds : 0);
}

// What is to be said of a fit where its GPU is not that of the profile; else nothing.
std::string fit_of_another_gpu(const Concurrency& concurrency, const HardwareProfile& p) {
  if (concurrency.fitted_to.empty() || concurrency.fitted_to == p.name) return "";
  std::ostringstream text;
  text << "overlap " << concurrency.overlap << ", warp rate " << concurrency.warp_rate << ", wait "
       << concurrency.wait_us << " us and the other numbers of the model were fitted to kernels on the "
       << concurrency.fitted_to << ", none of them on the " << p.name;
  return text.str();
}

// A cluster's blocks lie side by side, which not all SMs have a place for.
double busiest(const KernelWork& work, const HardwareProfile& p) {
  constexpr int kLarge = 8;
  const bool is_large = work.cluster >= kLarge && p.cluster8_sms;
  return is_large ? std::max(work.imbalance, p.sms.value / p.cluster8_sms->value) : work.imbalance;
}

// What a reader should know of the prediction.
std::vector<std::string> notes_on(const KernelWork& w, const HardwareProfile& p, const Concurrency& concurrency,
                                  const Rates& rates) {
  std::vector<std::string> notes = rates.notes;
  if (!w.local_is_known) notes.push_back("no report of the compiler: registers that do not suffice are left out");
  std::ostringstream clock;
  clock << "SM clock " << rates.clock() << " MHz" << (p.load_clock ? ", the profile's under load" : "");
  notes.push_back(clock.str());
  notes.insert(notes.end(), p.notes.begin(), p.notes.end());
  if (const std::string other = fit_of_another_gpu(concurrency, p); !other.empty()) notes.push_back(other);
  if (w.meets) {
    constexpr const char* kWhere[] = {"in shared memory", "in L2", "not asked for"};
    std::ostringstream barriers;
    barriers << "warps meet at barriers, their next rows " << kWhere[static_cast<std::size_t>(w.prefetch)]
             << ": overlap " << concurrency.overlap_of(w);
    notes.push_back(barriers.str());
  }
  return notes;
}

}  // namespace

double Concurrency::overlap_of(const KernelWork& work) const {
  if (!work.meets) return overlap;
  const double others = work.resident_blocks / (work.resident_blocks + half[static_cast<std::size_t>(work.prefetch)]);
  return 1 + (overlap - 1) * others;
}

double Concurrency::latencies_us(const KernelWork& work) const {
  return work.waits * wait_us + work.starts * start_us + fill_us + (work.in_phases() ? phase_fill_us : 0) +
         (work.follows ? follow_us : 0);
}

RooflinePrediction predict_roofline(const KernelWork& w, const HardwareProfile& p, const Concurrency& concurrency) {
  if (!(concurrency.overlap >= 1)) fail("roofline: overlap ", concurrency.overlap, ", must be at least 1");
  if (!(concurrency.warp_rate > 0)) fail("roofline: warp rate ", concurrency.warp_rate, ", must be positive");
  if (!(concurrency.wait_us >= 0)) fail("roofline: wait ", concurrency.wait_us, " us, must be at least 0");
  constexpr double kDeepFlops = 2. * 16 * 8 * 16, kShallowFlops = 2. * 16 * 8 * 8;
  constexpr double kSchedulers = 4, kPlainOperations = 64;
  const bool bf16 = w.dtype == Dtype::bf16;
  Rates rates(p);

  RooflinePrediction prediction;
  prediction.profile = p.name;
  const auto add = [&](const char* name, double seconds, std::string what) {
    prediction.resources.push_back({name, seconds / kMicro, std::move(what)});
  };
  add("hbm", w.hbm_bytes / (p.hbm_bandwidth.value * kTera),
      in_words(w.hbm_bytes, "bytes", p.hbm_bandwidth.value * kTera));
  if (const auto rate = rates.l2_bytes()) add("l2", w.l2_bytes / *rate, in_words(w.l2_bytes, "bytes", *rate));

  // What SMs do takes as long as on the one that does most.
  const double imbalance = busiest(w, p);
  const auto add_on_chip = [&](const char* name, double seconds, std::string what) {
    add(name, imbalance * seconds, std::move(what));
  };
  const double wavefronts = rates.wavefronts(), through_l1 = w.l1_wavefronts + w.local_accesses;
  add_on_chip("l1", through_l1 / wavefronts, in_words(through_l1, "wavefronts", wavefronts));

  if (w.remote_bytes > 0)
    if (const auto rate = rates.remote_bytes())
      add_on_chip(kCluster, w.remote_bytes / *rate, in_words(w.remote_bytes, "bytes", *rate));

  const auto products = [&](double count, double flops, const std::optional<Quantity>& rate, const char* name) {
    return count == 0 ? 0 : count * flops / rates.of(rate, p.matrix_rate, name);
  };
  const double tensor =
      products(w.mma_f16acc, kDeepFlops, p.mma_f16acc_rate, "mma with fp16 accumulators") +
      products(w.mma_f32acc, kDeepFlops, bf16 ? p.mma_bf16_rate : p.mma_f32acc_rate, "mma with fp32 accumulators") +
      products(w.mma_depth8, kShallowFlops, bf16 ? p.mma_depth8_bf16_rate : p.mma_depth8_f16acc_rate, "mma m16n8k8") +
      products(w.mma_group, kDeepFlops, p.wgmma_rate, "wgmma") +
      (w.mma_tf32 == 0 ? 0 : w.mma_tf32 * kShallowFlops / rates.tf32());
  const double flops =
      kDeepFlops * (w.mma_f16acc + w.mma_f32acc + w.mma_group) + kShallowFlops * (w.mma_depth8 + w.mma_tf32);
  add_on_chip("tensor", tensor, in_words_of_all(flops, "flops", tensor));

  const double packed = rates.packed(w.dtype), fp32 = rates.of(p.general_rate) / 2;
  const double fma = w.packed_operations / packed + w.fp32_operations / fp32;
  add_on_chip("fma", fma, in_words_of_all(w.packed_operations + w.fp32_operations, "packed and fp32 operations", fma));

  const double permutes = w.byte_permutes > 0 ? rates.operations(p.permute_rate, kPlainOperations, "byte permutes") : 1;
  const double conversions = w.conversions > 0 ? rates.operations(bf16 ? p.conversion_bf16_rate : p.conversion_rate,
                                                                  kPlainOperations, "conversions")
                                               : 1;
  const double alu = w.byte_permutes / permutes + w.conversions / conversions;
  add_on_chip("alu", alu, in_words_of_all(w.byte_permutes + w.conversions, "permutes and conversions", alu));

  const double issued = w.warp_instructions + w.local_accesses, instructions = imbalance * issued;
  prediction.schedulers_us = instructions / rates.a_clock(kSchedulers) / kMicro;
  prediction.warps_us = instructions / rates.a_clock(w.resident_warps) / kMicro;
  const double issue = std::max(prediction.schedulers_us, prediction.warps_us / concurrency.warp_rate) * kMicro;
  add(kIssue, issue, in_words(issued, "instructions of warps", issue > 0 ? instructions / issue : 0));

  prediction.launch_us = rates.launch_us();
  const ResourceTime& most =
      *std::max_element(prediction.resources.begin(), prediction.resources.end(),
                        [](const ResourceTime& a, const ResourceTime& b) { return a.us < b.us; });
  prediction.limit = most.name;
  prediction.waits = w.waits, prediction.latencies_us = concurrency.latencies_us(w);
  prediction.concurrency = concurrency;
  prediction.total_us = at_once(prediction.resources, w, concurrency) + prediction.latencies_us + prediction.launch_us;
  prediction.notes = notes_on(w, p, concurrency, rates);
  return prediction;
}

RooflinePrediction predict_launches(const std::vector<RepeatedWork>& launches, const HardwareProfile& profile,
                                    const Concurrency& concurrency) {
  if (launches.empty()) fail("roofline: 0 launches, must be at least 1");
  RooflinePrediction sum;
  for (const auto& [work, times] : launches) {
    const RooflinePrediction one = predict_roofline(work, profile, concurrency);
    if (launches.size() == 1 && times == 1) return one;
    sum.profile = one.profile, sum.concurrency = concurrency;
    sum.schedulers_us += times * one.schedulers_us, sum.warps_us += times * one.warps_us;
    sum.waits += times * one.waits, sum.latencies_us += times * one.latencies_us;
    sum.launch_us += times * one.launch_us, sum.total_us += times * one.total_us;
    for (const ResourceTime& resource : one.resources) {
      auto known = std::ranges::find(sum.resources, resource.name, &ResourceTime::name);
      if (known == sum.resources.end()) known = sum.resources.insert(known, {resource.name, 0, "of all launches"});
      known->us += times * resource.us;
    }
    for (const std::string& note : one.notes)
      if (std::ranges::find(sum.notes, note) == sum.notes.end()) sum.notes.push_back(note);
  }
  sum.limit = std::ranges::max_element(sum.resources, {}, &ResourceTime::us)->name;
  return sum;
}

}  // namespace danaus

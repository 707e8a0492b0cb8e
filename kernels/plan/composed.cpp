#include "kernels/plan/composed.hpp"

#include "kernels/plan/machine.hpp"

namespace danaus {
namespace {

class Inner final : public Step {
 public:
  Inner(std::unique_ptr<Step> step, const Case& inner, std::span<const Source> sources, const Scratch& scratch,
        std::int64_t prepared)
      : step_(std::move(step)), scratch_(scratch), prepared_(prepared) {
    const std::vector<Array> arrays = inner.arrays();
    for (const Source& source : sources) arrays_.push_back({array_of(arrays, source.name), source});
  }

  std::string_view name() const override { return step_->name(); }
  std::vector<std::uint32_t> constants() const override { return step_->constants(); }
  void fit(const Machine& machine) override { step_->fit(machine); }
  bool reads_filters_on_host() const override { return step_->reads_filters_on_host(); }
  void check_filters(const Call& call, const Machine& machine) const override {
    step_->check_filters(inner(call), machine);
  }
  std::int64_t workspace_bytes(std::int64_t batch) const override {
    return scratch_.bytes(batch) + step_->workspace_bytes(batch);
  }
  void bind(const Call& call, const Machine& machine, std::span<const std::uint32_t> constants,
            const LaunchTo& to) const override {
    step_->bind(inner(call), machine, constants, to);
  }

 private:
  Call inner(const Call& call) const {
    Call of{.batch = call.batch};
    if (call.prepared) of.prepared = static_cast<std::byte*>(call.prepared) + prepared_;
    if (call.workspace) of.workspace = static_cast<std::byte*>(call.workspace) + scratch_.bytes(call.batch);
    for (const auto& [number, source] : arrays_) {
      if (source.place >= 0) {
        of.arrays[number] = static_cast<std::byte*>(call.workspace) + scratch_.begin(source.place, call.batch);
      } else if (call.arrays[source.array]) {
        of.arrays[number] = static_cast<std::byte*>(call.arrays[source.array]) + source.skipped;
        of.strides[number] = call.strides[source.array];
      }
    }
    return of;
  }

  struct Placed {
    int number;  // of the inner case's array
    Source source;
  };
  std::unique_ptr<Step> step_;
  Scratch scratch_;
  std::int64_t prepared_;
  std::vector<Placed> arrays_;
};

}  // namespace

int Scratch::add(std::int64_t bytes, bool batched) {
  places_.push_back({bytes, batched});
  return static_cast<int>(places_.size()) - 1;
}

std::int64_t Scratch::begin(std::int64_t place, std::int64_t batch) const {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < place; ++i) at += aligned(places_[i].bytes * (places_[i].batched ? batch : 1));
  return at;
}

std::unique_ptr<Step> make_inner(std::unique_ptr<Step> step, const Case& inner, std::span<const Source> sources,
                                 const Scratch& scratch, std::int64_t prepared) {
  return std::make_unique<Inner>(std::move(step), inner, sources, scratch, prepared);
}

void append(Program& to, Program&& program, const Case& inner, std::span<const Source> sources,
            const Scratch& preparing, const Scratch& executing) {
  if (program.prepared_is_filter) throw std::logic_error("plan: no composition of a program that prepares nothing");
  const std::vector<Array> arrays = inner.arrays();
  std::vector<Source> filters, others;
  for (const Source& source : sources) {
    const bool is_filter = arrays.at(array_of(arrays, source.name)).role == Role::filter;
    (is_filter ? filters : others).push_back(source);
  }
  const std::int64_t prepared = aligned(to.prepared_bytes);
  for (auto& step : program.prepare)
    to.prepare.push_back(make_inner(std::move(step), inner, filters, preparing, prepared));
  for (auto& step : program.execute)
    to.execute.push_back(make_inner(std::move(step), inner, others, executing, prepared));
  to.prepared_bytes = prepared + program.prepared_bytes;
  to.layout += (to.layout.empty() ? "" : "+") + program.layout;
}

}  // namespace danaus

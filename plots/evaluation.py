"""The cost models against the clock: fitted to some of the kernels that were measured, judged by the others.

A row of kind "prediction" holds what the models say of a kernel that danaus bench timed. Eq. 2 says a time. Counted
work says what time each resource needs, of which one time is made as in model/roofline.hpp:

  T = (t_1^p + t_2^p + ...)^(1/p) + launch

The overlap p is fitted, and so is the warp rate, of which the time of instruction issue follows: that of the
schedulers, or that of the warps over their rate where this is longer.

An error is predicted over measured time, minus 1. Regret is what a model's choice of factors costs: the measured time
of what it calls fastest over that of the fastest, minus 1.
"""

from dataclasses import dataclass

import numpy as np
from results import Refusal, case_fields
from style import DTYPE

# In the order in which they are shown. Eq. 2 is of the kernel's own factors; with the paper's rates it is about another
# device: only its choice counts.
MODELS = {"eq2_paper": "Eq. 2, the paper's A100 rates", "eq2_profile": "Eq. 2, this GPU's rates",
          "counted": "counted work"}
COUNTED = "counted"
ISSUE = "issue"

STEP = 1.02  # of the search for the best fit
OVERLAPS, WARP_RATES = (1, 16), (0.05, 1)  # from, to


@dataclass(frozen=True)
class Concurrency:
    """What of counted work is fitted."""
    overlap: float
    warp_rate: float  # instructions, of those that are counted, that one warp can issue in a clock


@dataclass(frozen=True)
class Prediction:
    us: float
    limit: str  # what needs most of it


@dataclass(frozen=True)
class Kernel:
    """A kernel that was measured, and what each model says of it."""
    row: dict
    held_out: bool  # took no part in fitting
    models: dict  # of MODELS: its Prediction
    resources: dict  # the microseconds that each needs, by counted work

    def error(self, model):
        """Signed, relative."""
        return self.models[model].us / self.row["measured_us"] - 1


@dataclass(frozen=True)
class Choice:
    """A case that was measured with different factors."""
    held_out: bool
    fastest: Kernel  # by the clock
    chosen: dict  # of MODELS: the Kernel that it calls fastest

    def regret(self, model):
        return self.chosen[model].row["measured_us"] / self.fastest.row["measured_us"] - 1


@dataclass(frozen=True)
class Summary:
    """Of one model, over the kernels and the choices that took no part in fitting. None where there are none."""
    model: str
    kind: "tuple | None"  # type, mode and gating; None: all kernels
    rows: int
    held_out_rows: int
    stale_rows: int
    choices: int
    median: "float | None"  # of the absolute error, and likewise p90
    p90: "float | None"
    bias: "float | None"  # median of the signed error
    mean_regret: "float | None"
    worst_regret: "float | None"


@dataclass(frozen=True)
class Evaluation:
    profile: str
    concurrency: Concurrency
    fitted_to: int  # kernels; 0: there were none to fit to, and it is the one that the rows were made with
    kernels: list
    choices: list
    summaries: list  # each model over all kernels, then over those of each kind


def off_powers_of_two(row):
    """The kernels that the models are fitted to unless said otherwise: the others judge them."""
    return row["n"] & (row["n"] - 1) != 0


def evaluate(rows, takes_part=off_powers_of_two):
    """Rows of one profile, fitted to those that take part."""
    profile = the_only(rows, "profiles", lambda row: row["profile"])
    fitted_to = [row for row in rows if takes_part(row)]
    concurrency = fit(fitted_to) if fitted_to else the_only(rows, "fits", lambda row: Concurrency(
        row["counted"]["overlap"], row["counted"]["warp_rate"]))
    work = CountedWork(rows)
    kernels = [Kernel(row, not takes_part(row), predictions(row, us, resources), resources) for row, us, resources in
               zip(rows, work.total_us(concurrency), work.resource_times(concurrency))]
    choices = factor_choices(kernels)
    return Evaluation(profile, concurrency, len(fitted_to), kernels, choices, summaries(kernels, choices))


def the_only(rows, what, of):
    found = list(dict.fromkeys(map(of, rows)))
    if len(found) != 1:
        raise Refusal(f"evaluation: predictions of {len(found)} {what}, {', '.join(map(str, found))}; "
                      "must be of one device, as one command made them")
    return found[0]


class CountedWork:
    """Of some kernels, as arrays: a line for each resource but instruction issue, a column for each kernel."""

    def __init__(self, rows):
        counted = [row["counted"] for row in rows]
        self.names = list(dict.fromkeys(name for each in counted for name in each["resources_us"]))
        self.resources = np.array([[each["resources_us"].get(name, 0) for each in counted] for name in self.names])
        self.schedulers, self.warps, self.launch = (
            np.array([each[field] for each in counted]) for field in ("schedulers_us", "warps_us", "launch_us"))
        self.scale = np.maximum(self.resources.max(axis=0), self.schedulers)  # what powers are taken over

    def issue(self, warp_rate):
        return np.maximum(self.schedulers, self.warps / warp_rate)

    def total(self, overlap, issue):
        """`issue` as issue() has it, or several lines of such."""
        powers = ((self.resources / self.scale) ** overlap).sum(axis=0) + (issue / self.scale) ** overlap
        return self.scale * powers ** (1 / overlap) + self.launch

    def total_us(self, concurrency):
        """Of each kernel."""
        return self.total(concurrency.overlap, self.issue(concurrency.warp_rate)).tolist()

    def resource_times(self, concurrency):
        """{resource: us} of each kernel."""
        times = np.vstack([self.resources, self.issue(concurrency.warp_rate)])
        return [dict(zip([*self.names, ISSUE], column)) for column in times.T.tolist()]


def fit(rows):
    """What has the smallest mean square of log(predicted / measured), in steps of 2 %."""
    if not rows:
        raise Refusal("evaluation: 0 kernels to fit to, must be some")
    work = CountedWork(rows)
    measured = np.array([row["measured_us"] for row in rows])
    rates = steps(*WARP_RATES)
    issue = work.issue(np.array(rates)[:, np.newaxis])  # a line for each rate
    best = []
    for overlap in steps(*OVERLAPS):
        squares = (np.log(work.total(overlap, issue) / measured) ** 2).sum(axis=1)
        best.append((squares.min(), overlap, rates[squares.argmin()]))
    return Concurrency(*min(best)[1:])


def steps(first, last):
    made = [first]
    while made[-1] * STEP <= last:
        made.append(made[-1] * STEP)
    return made


def predictions(row, counted_us, resources):
    said = {model: Prediction(**row[model]) for model in MODELS if model != COUNTED}
    return {**said, COUNTED: Prediction(counted_us, max(resources, key=resources.get))}


def kind_of(row):
    return row["dtype"], row["mode"], row["gated"]


def place_of(kind):
    """fp16, circular and ungated first."""
    dtype, mode, gated = kind
    return list(DTYPE).index(dtype), mode != "circular", gated


def factor_choices(kernels):
    """Of the kernels that were asked for by their factors."""
    cases = {}
    for kernel in kernels:
        if kernel.row["asked_by_factors"]:
            cases.setdefault(but_for_factors(kernel.row), []).append(kernel)
    choices = [Choice(all(kernel.held_out for kernel in candidates),
                      min(candidates, key=lambda kernel: kernel.row["measured_us"]),
                      {model: min(candidates, key=lambda kernel: kernel.models[model].us) for model in MODELS})
               for candidates in cases.values() if len(candidates) > 1]
    return sorted(choices, key=lambda choice: (place_of(kind_of(choice.fastest.row)), choice.fastest.row["n"]))


def but_for_factors(row):
    """What a row's case asks for, with any factors."""
    asked = {**case_fields(row["case"]), "n": row["n"], "fold": row["fold"], "factors": None}
    return tuple(sorted((field, str(value)) for field, value in asked.items()))


def summaries(kernels, choices):
    kinds = sorted({kind_of(kernel.row) for kernel in kernels}, key=place_of)
    return [summary(model, kind, kernels, choices) for kind in (None, *kinds) for model in MODELS]


def summary(model, kind, kernels, choices):
    here = [kernel for kernel in kernels if kind in (None, kind_of(kernel.row))]
    errors = np.array([kernel.error(model) for kernel in here if kernel.held_out])
    regrets = np.array([choice.regret(model) for choice in choices
                        if choice.held_out and kind in (None, kind_of(choice.fastest.row))])
    return Summary(model, kind, len(here), len(errors), sum(kernel.row["stale"] for kernel in here), len(regrets),
                   quantile(abs(errors), 0.5), quantile(abs(errors), 0.9), quantile(errors, 0.5),
                   float(regrets.mean()) if len(regrets) else None, float(regrets.max()) if len(regrets) else None)


def quantile(values, share):
    """Between two neighbours by linear interpolation."""
    return float(np.quantile(values, share)) if len(values) else None


def fastest(kernels, *fields, dtype="f16", mode="circular", gated=False):
    """Of those for B=64, H=768 and L = N in this type and mode, the fastest by the clock of each value of the fields of
    a row, by value."""
    found = {}
    for kernel in kernels:
        row = kernel.row
        asked = (*kind_of(row), row["batch"], row["channels"], case_fields(row["case"])["l"])
        if asked == (dtype, mode, gated, 64, 768, row["n"]):
            found.setdefault(tuple(row[field] for field in fields), []).append(kernel)
    return [min(found[place], key=lambda kernel: kernel.row["measured_us"]) for place in sorted(found)]

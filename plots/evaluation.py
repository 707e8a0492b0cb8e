"""The cost models against the clock: each kernel is judged by a fit that has seen none of its group.

A row of kind "prediction" holds what the models say of a kernel that danaus bench timed. Eq. 2 says a time; of counted
work roofline.py makes one. Its three free numbers are fitted to all groups of kernels but one, and judged by that one;
what a group is says a split: a length, an algorithm, a type, a mode or a GPU. Beside every figure stand those of null
models, which know less than any model should: what does not beat them has not been shown to be good for anything.

An error is predicted over measured time, minus 1. Regret is what a model's choice of factors costs: the measured time
of what it calls fastest over that of the fastest, minus 1. Where it calls several equally fast it has not chosen: its
regret is the mean over them. Rows are stale where the kernel had changed between the clock and the prediction; they
are shown, and are part of no fit, no figure and no choice.
"""

from dataclasses import dataclass, field

import numpy as np
from intervals import Bootstrap, quantile
from results import Refusal, case_fields
from roofline import FREE, Concurrency, CountedWork, fits
from style import DTYPE

# In the order in which they are shown. Eq. 2 is of the kernel's own factors. With the paper's rates it is about the
# paper's GPU: elsewhere only its choice counts.
MODELS = {"eq2_paper": "Eq. 2, the paper's A100 rates", "eq2_profile": "Eq. 2, this GPU's rates",
          "counted": "counted work"}
NULLS = {"floor": "a constant times the floor", "sum": "sum of the resources", "longest": "longest of the resources",
         "table": "the table's order", "random": "any factors"}
COUNTED, PAPERS = "counted", "eq2_paper"
PAPERS_PROFILE = "A100-40GB"
TIE = 1e-9  # times that differ by less, relatively, are equal

SPLITS = {"length": lambda row: row["n"], "algorithm": lambda row: (row["kernel"].split("_")[0], row["order"]),
          "type": lambda row: row["dtype"], "mode": lambda row: row["mode"], "GPU": lambda row: row["profile"]}
MAIN = "length"  # the split of figures and tables that name none

QUANTILES = {"median": 0.5, "p90": 0.9}  # of absolute errors
FIGURES = ("median", "p90", "mean_regret", "worst_regret")  # by which a model is compared with nulls
FAR, COSTLY = 0.16, 0.10  # errors and costs of a choice above these are listed one by one


@dataclass(frozen=True)
class Prediction:
    us: float
    limit: str  # what needs most of it


@dataclass(frozen=True)
class Kernel:
    """A kernel that was measured, and what each model says of it that was fitted without its group."""
    row: dict
    models: dict  # of MODELS: its Prediction
    resources: dict  # the microseconds that each needs, by counted work

    def error(self, model):
        """Signed, relative. None where the model is about another GPU."""
        if model == PAPERS and self.row["profile"] != PAPERS_PROFILE:
            return None
        return self.models[model].us / self.row["measured_us"] - 1


@dataclass(frozen=True)
class Choice:
    """A case that was measured with different factors, at least two of them in rows that are not stale."""
    candidates: list  # Kernels
    chosen: dict  # of MODELS and NULLS: the Kernels that it calls fastest, one unless they tie

    @property
    def fastest(self):
        """By the clock."""
        return min(self.candidates, key=lambda kernel: kernel.row["measured_us"])

    def regret(self, model):
        times = [kernel.row["measured_us"] for kernel in self.chosen[model]]
        return sum(times) / len(times) / self.fastest.row["measured_us"] - 1

    def is_tie(self, model):
        return len(self.chosen[model]) > 1


@dataclass(frozen=True)
class Summary:
    """Of one model or null over some kernels and choices. None where there are none, or where it says no times."""
    model: str
    part: str  # of the kernels, in words; empty: all
    rows: int  # that count
    choices: int
    ties: int  # of them
    median: "float | None"  # of the absolute error, and likewise p90
    p90: "float | None"
    bias: "float | None"  # median of the signed error
    mean_regret: "float | None"
    p90_regret: "float | None"
    worst_regret: "float | None"
    intervals: dict = field(default_factory=dict)  # {"median", "p90", "mean_regret": (from, to)}, where there are cases


@dataclass(frozen=True)
class Judgement:
    """By one split of the kernels."""
    split: str
    fits: dict  # {group of the rows that count: the Concurrency that was fitted to the others}
    fitted: bool  # else there was one group only, and the numbers are those that the rows were made with
    kernels: list
    choices: list
    errors: dict = field(repr=False)  # {what says times: its signed errors of all kernels; NaN where it has none}

    @property
    def counting(self):
        return [kernel for kernel in self.kernels if not kernel.row["stale"]]

    @property
    def stale_rows(self):
        return len(self.kernels) - len(self.counting)

    def summaries(self):
        """Of each model and null over all kernels; then of the models over those of each GPU, where there are several,
        and of each type, mode and gating."""
        return [self.summary(model) for model in (*MODELS, *NULLS)] + [
            self.summary(model, *part) for part in parts(self.counting) for model in MODELS]

    def summary(self, model, part="", includes=lambda row: True):
        counted = [i for i, kernel in enumerate(self.kernels) if not kernel.row["stale"] and includes(kernel.row)]
        said = [i for i in counted if model in self.errors and np.isfinite(self.errors[model][i])]
        errors = self.errors[model][said] if said else np.array([])
        chosen = [choice for choice in self.choices if includes(choice.fastest.row)]
        regrets = np.array([choice.regret(model) for choice in chosen])
        intervals = interval_of_errors(abs(errors), [str(case_of(self.kernels[i].row)) for i in said])
        if len(regrets) > 1:
            intervals["mean_regret"] = Bootstrap(range(len(regrets))).of_mean(regrets)
        return Summary(model, part, len(counted), len(chosen), sum(choice.is_tie(model) for choice in chosen),
                       *(quantile(abs(errors), share) for share in QUANTILES.values()), quantile(errors, 0.5),
                       float(regrets.mean()) if chosen else None, quantile(regrets, 0.9),
                       float(regrets.max()) if chosen else None, intervals)

    def beaten(self, model=COUNTED):
        """{figure of FIGURES: [the Summaries of nulls that are better in it, best first]}, where there are such."""
        own, nulls = self.summary(model), [self.summary(null) for null in NULLS]
        better = {}
        for name in FIGURES:
            known = [null for null in nulls if None not in (getattr(null, name), getattr(own, name))]
            those = [null for null in known if getattr(null, name) < getattr(own, name)]
            if those:
                better[name] = sorted(those, key=lambda null: getattr(null, name))
        return better

    def failures(self, model=COUNTED):
        """The kernels whose error is larger than a tenth of them may have, the largest first."""
        far = [kernel for kernel in self.counting if abs(kernel.error(model) or 0) > FAR]
        return sorted(far, key=lambda kernel: -abs(kernel.error(model)))


def interval_of_errors(errors, cases):
    if len(set(cases)) < 2:
        return {}
    bootstrap = Bootstrap(cases)
    return {name: bootstrap.of_quantile(errors, share) for name, share in QUANTILES.items()}


def evaluate(rows, split=MAIN):
    """The Judgement of rows of kind "prediction" by a split."""
    require_one_device_each(rows)
    work, measured = CountedWork(rows), np.array([row["measured_us"] for row in rows])
    group_of = [SPLITS[split](row) for row in rows]
    groups = sorted({group for group, row in zip(group_of, rows) if not row["stale"]})
    fitted = len(groups) > 1
    taken = np.array([[group != each and not row["stale"] for each in groups] for group, row in zip(group_of, rows)])
    found = fits(work, measured, taken.astype(float)) if fitted else [rows_own(rows)]
    # A stale row may be the only one of its group; it is in no fit, and any serves to show it.
    place = [groups.index(group) if fitted and group in groups else 0 for group in group_of]

    us = {model: np.array([row[model]["us"] for row in rows]) for model in MODELS if model != COUNTED}
    us[COUNTED] = each_at(place, [work.total_us(fit) for fit in found])
    us |= {"sum": work.sum(), "longest": work.longest()}
    if fitted:
        us["floor"] = work.floor * each_at(place, constants(measured / work.floor, taken)[:, np.newaxis])
    resources = [work.resource_times(fit) for fit in found]
    kernels = [kernel(row, us[COUNTED][i], resources[place[i]][i]) for i, row in enumerate(rows)]
    errors = {name: times / measured - 1 for name, times in us.items()}
    errors[PAPERS][[row["profile"] != PAPERS_PROFILE for row in rows]] = np.nan
    choices = factor_choices(kernels, us | {"floor": work.floor, "table": places_in_table(rows),
                                            "random": np.zeros(len(rows))})
    return Judgement(split, dict(zip(groups, found)) if fitted else {}, fitted, kernels, choices, errors)


def of_calls(rows):
    """{profile: {part: signed errors}} of "filter", its transform, and of "call", this and the convolution; of rows that
    say them and are not stale, by the numbers that the program predicted with: nothing is fitted here."""
    found = {}
    for row in rows:
        if row["stale"] or not row.get("filter"):
            continue
        filter_us, convolution_us = (float(CountedWork([each]).total_us(rows_own([each]))[0]) for each in (row["filter"], row))
        parts = found.setdefault(row["profile"], {"filter": [], "call": []})
        parts["filter"].append(filter_us / row["filter"]["measured_us"] - 1)
        if row["call_measured_us"]:
            parts["call"].append((filter_us + convolution_us) / row["call_measured_us"] - 1)
    return found


def each_at(place, lines):
    """Of column i the element of line place[i]; a line of one element stands for all columns."""
    return np.broadcast_to(lines, (len(lines), len(place)))[place, np.arange(len(place))]


def kernel(row, counted_us, resources):
    said = {model: Prediction(**row[model]) for model in MODELS if model != COUNTED}
    return Kernel(row, {**said, COUNTED: Prediction(float(counted_us), max(resources, key=resources.get))}, resources)


def constants(ratios, taken):
    """The geometric mean of the ratios of what is taken, for each column of it."""
    return np.exp(np.log(ratios) @ taken / taken.sum(axis=0))


def rows_own(rows):
    """The fit that the program had as it made the rows."""
    return the_only(rows, "fits", lambda row: Concurrency(
        *(row["counted"][number] for number in FREE)))


def the_only(rows, what, of):
    found = list(dict.fromkeys(map(of, rows)))
    if len(found) != 1:
        raise Refusal(f"evaluation: predictions of {len(found)} {what}, {', '.join(map(str, found))}; "
                      "must be of one, as one command made them")
    return found[0]


def require_one_device_each(rows):
    devices = {}
    for row in rows:
        if "device" in row:  # older rows do not say it
            devices.setdefault(row["profile"], set()).add(row["device"])
    for profile, names in devices.items():
        if len(names) > 1:
            raise Refusal(f"evaluation: profile {profile} predicts rows of {len(names)} devices, "
                          f"{', '.join(sorted(names))}; must be of one")


def places_in_table(rows):
    """Of each row's kernel, as the table of kernels has them: the preferred one first, then in their order. A row says
    whether its kernel is preferred; of older rows those say it that leave the factors to the plan."""
    preferred = {(kin_of(row), row["kernel"]) for row in rows
                 if row.get("preferred", not row["asked_by_factors"])}
    return np.array([0 if (kin_of(row), row["kernel"]) in preferred else 1 + i for i, row in enumerate(rows)])


def kin_of(row):
    """What kernels to choose from have in common."""
    return row["profile"], row["dtype"], row["fold"], row["gated"], row["n"]


def factor_choices(kernels, scores):
    """Of the kernels that were asked for by their factors. `scores`: {model or null: of each kernel; the least of a
    case is chosen}."""
    cases = {}
    for i, kernel in enumerate(kernels):
        if kernel.row["asked_by_factors"] and not kernel.row["stale"]:
            cases.setdefault(case_of(kernel.row), []).append(i)
    choices = [Choice([kernels[i] for i in candidates],
                      {name: [kernels[candidates[j]] for j in least(score[candidates])]
                       for name, score in scores.items()})
               for candidates in cases.values() if len(candidates) > 1]
    return sorted(choices, key=lambda choice: (place_of(kind_of(choice.fastest.row)), choice.fastest.row["n"],
                                               choice.fastest.row["profile"]))


def least(scores):
    """The places of the least, which are several where they tie."""
    return np.flatnonzero(scores <= scores.min() * (1 + TIE)).tolist()


def case_of(row):
    """What a row's case asks for, with any factors, of its device."""
    asked = {**case_fields(row["case"]), "n": row["n"], "fold": row["fold"], "factors": None,
             "profile": row["profile"]}
    return tuple(sorted((field, str(value)) for field, value in asked.items()))


def kind_of(row):
    return row["dtype"], row["mode"], row["gated"]


def place_of(kind):
    """fp16, circular and ungated first."""
    dtype, mode, gated = kind
    return list(DTYPE).index(dtype), mode != "circular", gated


def parts(kernels):
    """(words, whether a row is of it) of each part of the kernels that has figures of its own."""
    profiles = sorted({kernel.row["profile"] for kernel in kernels})
    of_gpus = [(f"on the {profile}", lambda row, it=profile: row["profile"] == it) for profile in profiles]
    kinds = sorted({kind_of(kernel.row) for kernel in kernels}, key=place_of)
    return (of_gpus if len(profiles) > 1 else []) + [
        (words_of(kind), lambda row, it=kind: kind_of(row) == it) for kind in kinds]


def words_of(kind):
    dtype, mode, gated = kind
    return f"{DTYPE[dtype]}, {mode}, {'gated' if gated else 'without gates'}"


def profiles_of(kernels):
    """Those that kernels were predicted by, the one of most first."""
    profiles = [kernel.row["profile"] for kernel in kernels]
    return sorted(dict.fromkeys(profiles), key=lambda profile: -profiles.count(profile))


def fastest(kernels, *fields, profile=None, dtype="f16", mode="circular", gated=False):
    """Of those for B=64, H=768 and L = N in this type and mode, on the profile's GPU, or that most kernels were timed on,
    the fastest by the clock of each value of the fields of a row, by value."""
    profile, found = profile or profiles_of(kernels)[0], {}
    for kernel in kernels:
        row = kernel.row
        asked = (*kind_of(row), row["batch"], row["channels"], case_fields(row["case"])["l"], row["profile"])
        if asked == (dtype, mode, gated, 64, 768, row["n"], profile):
            found.setdefault(tuple(row[field] for field in fields), []).append(kernel)
    return [min(found[place], key=lambda kernel: kernel.row["measured_us"]) for place in sorted(found)]

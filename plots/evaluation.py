"""The cost models against the clock: each kernel is judged by a fit that has seen none of its group.

A row of kind "prediction" holds what the models say of a kernel that danaus bench timed. Eq. 2 says a time; of counted
work roofline.py makes one. Its free numbers are fitted to all groups of kernels but one, and judged by that one; what a
group is says a split: a length, an algorithm, a type, a mode, an operation, a batch or a GPU. Beside every figure stand
those of null models, which know less than any model should: what does not beat them has not been shown to be good for
anything.

Every class of kernels has figures of its own, and the same weight in a fit, however many rows it has.

An error is predicted over measured time, minus 1. Regret is what a model's choice of factors costs: the measured time
of what it calls fastest over that of the fastest, minus 1. Where it calls several equally fast it has not chosen: its
regret is the mean over them. Rows are stale where the kernel had changed between the clock and the prediction; they
are shown, and are part of no fit, no figure and no choice.
"""

import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from intervals import Bootstrap, quantile
from measurements import device_of
from results import Refusal, case_fields
from roofline import Concurrency, CountedWork, fitted
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

SPLITS = {"length": lambda row: length_of(row), "algorithm": lambda row: (row["kernel"].split("_")[0], row.get("order", 0)),
          "type": lambda row: row["dtype"], "mode": lambda row: mode_of(row),
          "operation": lambda row: row["asked"]["operation"], "batch": lambda row: row["batch"],
          "GPU": lambda row: row["profile"]}
MAIN = "length"  # the split of figures and tables that name none

# Classes: the last name whose FFT size is not above a fused kernel's, and names of all else.
BANDS = {512: "to 512", 4096: "to 4K", 16384: "to 16K", 1 << 30: "above 16K"}
LONG = {"outer": "forward, outer passes", "cluster": "forward, clusters", "pieces": "forward, pieces"}
FILTERS, CALLS = "filter's transform", "whole calls"
OTHERS = {"fftconvgrad": "gradients", "fftconvstep": "training steps", "shortconvgrad": "short filters' gradients",
          "spectralgrad": "layers' gradients", "ssmconv": "states"}
FEW = 132  # items of a layer: not more than SMs

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
    kernels: list  # convolutions in one launch
    choices: list
    errors: dict = field(repr=False)  # {what says times: its signed errors of all kernels; NaN where it has none}
    every: list = field(repr=False)  # what is judged: the rows of all classes, those that count
    errors_of_every: dict = field(repr=False)

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

    def of_class(self, name, model=COUNTED):
        """The Summary over the rows of a class, on every GPU; of all classes but whole calls, which are sums of others,
        where it is None."""
        return self.of_rows([i for i, row in enumerate(self.every)
                             if row["class"] == name or (name is None and row["class"] != CALLS)], model, name or "")

    def of_rows(self, places, model, part=""):
        known = [i for i in places if np.isfinite(self.errors_of_every[model][i])]
        errors = self.errors_of_every[model][known]
        return Summary(model, part, len(places), 0, 0, *(quantile(abs(errors), share) for share in QUANTILES.values()),
                       quantile(errors, 0.5), None, None, None,
                       interval_of_errors(abs(errors), [str(case_of(self.every[i])) for i in known]))

    def classes(self):
        return sorted({row["class"] for row in self.every})

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


_JUDGED = {}  # tables and figures ask for the same again, and a fit takes seconds


def evaluate(rows, split=MAIN):
    """The Judgement of rows of kind "prediction" by a split."""
    asked = split, hash(json.dumps(rows))
    if asked not in _JUDGED:
        _JUDGED[asked] = judged(rows, split)
    return _JUDGED[asked]


def judged(rows, split=MAIN):
    require_one_device_each(rows)
    own, every = rows_own(rows), with_filters(rows)
    work, measured = CountedWork(every), np.array([row["measured_us"] for row in every])
    counts = np.array([not row["stale"] for row in every])
    group_of = [SPLITS[split](row) for row in every]
    groups = sorted({group for group, counted in zip(group_of, counts) if counted})
    is_fitted = len(groups) > 1
    taken = np.array([counts & [group != each for group in group_of] for each in groups]).T
    found = [fitted(work, measured, weights_of(every, column), own) for column in taken.T] if is_fitted else [own]
    # A stale row may be the only one of its group; it is in no fit, and any serves to show it.
    place = [groups.index(group) if is_fitted and group in groups else 0 for group in group_of]

    us = {model: np.array([row[model]["us"] if row.get(model) else np.nan for row in every])
          for model in MODELS if model != COUNTED}
    us[COUNTED] = each_at(place, np.array([work.total_us(fit) for fit in found]))
    us |= {"sum": work.sum(), "longest": work.longest()}
    if is_fitted:
        us["floor"] = work.floor * constants(measured / work.floor, taken, every, place)
    resources = [work.resource_times(fit) for fit in found]
    errors = {name: times / measured - 1 for name, times in us.items()}
    errors[PAPERS][[row["profile"] != PAPERS_PROFILE for row in every]] = np.nan

    fused = [i for i, row in enumerate(every) if "factors" in row and row["class"] != FILTERS]
    kernels = [kernel(every[i], us[COUNTED][i], resources[place[i]][i]) for i in fused]
    of_fused = [row.row for row in kernels]
    scores = {name: times[fused] for name, times in (us | {"floor": work.floor}).items()}
    choices = factor_choices(kernels, scores | {"table": places_in_table(of_fused), "random": np.zeros(len(fused))})
    every, errors_of_every = with_calls(every, us[COUNTED], errors)
    counting = [i for i, row in enumerate(every) if not row["stale"]]
    return Judgement(split, dict(zip(groups, found)) if is_fitted else {}, is_fitted, kernels, choices,
                     {name: of_all[fused] for name, of_all in errors.items()}, [every[i] for i in counting],
                     {name: of_all[counting] for name, of_all in errors_of_every.items()})


def class_of(row):
    """In words."""
    operation, family = row["asked"]["operation"], row["kernel"].split("_")[0]
    if operation == "fftconv":
        if "factors" not in row:
            return LONG[family]
        return f"forward, {family}, {next(words for most, words in BANDS.items() if row['n'] <= most)}"
    if operation == "shortconv":
        return f"short filters, {family}"
    if operation == "spectral":
        axes = row["asked"]["l"]
        return "layers of few items" if row["batch"] <= FEW and (not isinstance(axes, list) or len(axes) == 1) else "layers"
    return OTHERS[operation]


def length_of(row):
    """FFT size; of what has none the length of a row, or of its last axis."""
    length = row.get("n") or row["asked"]["l"]
    return length[-1] if isinstance(length, list) else length


def mode_of(row):
    return row.get("mode") or row["asked"].get("mode") or row["asked"].get("padding") or ""


def with_filters(rows):
    """The rows with their classes, and of each transform of filters that was timed one: many rows have the same."""
    every, known = [{**row, "class": class_of(row)} for row in rows], set()
    for row in rows:
        said = row.get("filter")
        what = said and json.dumps([row["profile"], row["stale"], said["counted"]["launches"]])
        if said and what not in known:
            known.add(what)
            every.append({**row, "class": FILTERS, "counted": said["counted"], "measured_us": said["measured_us"],
                          "eq2_paper": None, "eq2_profile": None, "asked_by_factors": False})
    return every


def with_calls(every, counted_us, errors):
    """The whole calls too: the transform of a filter and what it is for."""
    filters = {json.dumps([row["profile"], row["counted"]["launches"]]): us for row, us in zip(every, counted_us)
               if row["class"] == FILTERS}
    calls = [({**row, "class": CALLS}, (us + filters[what]) / row["call_measured_us"] - 1)
             for row, us in zip(every, counted_us) if row["class"] != FILTERS and row.get("filter")
             and row.get("call_measured_us")
             and (what := json.dumps([row["profile"], row["filter"]["counted"]["launches"]])) in filters]
    nothing = np.full(len(calls), np.nan)
    added = {name: np.append(of_all, [error for _, error in calls] if name == COUNTED else nothing)
             for name, of_all in errors.items()}
    return every + [row for row, _ in calls], added


def decoding_errors(rows):
    """Of rows of danaus decode: signed errors of every span of positions that was measured, and predicted for its GPU by
    the program's own numbers."""
    said = {(row["case"], row["method"], row.get("states"), device_of(row["profile"])): row["positions"]
            for row in rows if row["source"] == "predicted"}
    errors = []
    for row in rows:
        if row["source"] == "measured" and "positions" in row:
            spans = said.get((row["case"], row["method"], row.get("states"), row["device"]["name"]), [])
            took = {(span["from"], span["to"]): span["us"] for span in row["positions"]}
            errors += [span["us"] / took[span["from"], span["to"]] - 1 for span in spans
                       if (span["from"], span["to"]) in took]
    return errors


def weights_of(rows, taken):
    """Of each row that is taken, so that every class has the same, though none of a few rows more than those."""
    LEAST_ROWS = 20
    count = Counter(row["class"] for row, seen in zip(rows, taken) if seen)
    return np.array([1 / max(count[row["class"]], LEAST_ROWS) if seen else 0. for row, seen in zip(rows, taken)])


def each_at(place, lines):
    """Of column i the element of line place[i]; a line of one element stands for all columns."""
    return np.broadcast_to(lines, (len(lines), len(place)))[place, np.arange(len(place))]


def kernel(row, counted_us, resources):
    said = {model: Prediction(**row[model]) for model in MODELS if model != COUNTED}
    return Kernel(row, {**said, COUNTED: Prediction(float(counted_us), max(resources, key=resources.get))}, resources)


def constants(ratios, taken, rows, place):
    """For each row the geometric mean of the ratios of its kin that its fit has seen: convolutions in one launch, or its
    class. NaN where there are none."""
    kin = np.array(["" if "factors" in row and row["class"] != FILTERS else row["class"] for row in rows])
    found = np.full(len(rows), np.nan)
    for i in range(len(rows)):
        seen = taken[:, place[i]] & (kin == kin[i])
        if seen.any():
            found[i] = np.exp(np.log(ratios[seen]).mean())
    return found


def rows_own(rows):
    """The fit that the program had as it made the rows."""
    return the_only(rows, "fits", lambda row: Concurrency(**row["counted"]["fit"]))


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
    asked = {**case_fields(row["case"]), "n": row.get("n"), "fold": row.get("fold"), "factors": None,
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

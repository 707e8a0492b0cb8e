"""How well the cost models predict, what their choices cost, where they fail, and every prediction."""

from evaluation import (COSTLY, COUNTED, FAR, FIGURES, MODELS, NULLS, PAPERS, QUANTILES, SPLITS, decoding_errors,
                        evaluate)
from intervals import quantile
from report import Group, Table
from roofline import FREE
from style import DTYPE, length
from tables.speed import number

TITLES = MODELS | NULLS
WORDS = {"median": "median error", "p90": "90th percentile", "mean_regret": "its choice costs on average",
         "worst_regret": "at worst"}
COLUMNS = ["kernels", "median", "95 %", "90th percentile", "95 %", "bias", "choices", "ties", "mean", "95 %",
           "90th percentile", "worst"]
GROUPS = [Group("error of the prediction, %", 6), Group("cost of its choice, %", 6)]
TIMING_NULLS = ("floor", "sum", "longest")  # those that say times
BEST_NULL = ["best null model", "median", "90th percentile"]
NOT_ITS_GPU = "about another GPU"


def summary(rows, decoding=None):
    """Each class by itself, beside the best null; then convolutions in one launch: each model, the nulls, the models by
    kind. Every prediction behind a click."""
    judgement = evaluate(rows)
    lines, part = class_lines(judgement, decoding.rows if decoding else []), ""
    lines.append(["convolutions in one launch"])
    for each in judgement.summaries():
        if each.part != part:
            part = each.part
            lines.append([f"only {part}" if " on the " not in f" {part}" else part])
        elif each.model == next(iter(NULLS)):
            lines.append(["null models: what does not beat them has shown nothing"])
        lines.append([title_of(each), *summary_cells(each), *[""] * len(BEST_NULL)])
    return Table(["", *COLUMNS, *BEST_NULL], lines, [Group("", 1), *GROUPS, Group("", 3)], verdict=sentence(judgement),
                 details=every_prediction(judgement.kernels),
                 details_title=f"All {len(rows)} predictions, with signed errors")


def class_lines(judgement, decoding=()):
    """Counted work on all classes and on each, by a fit to other groups; on decoding by the program's own numbers."""
    lines = []
    for name in (None, *judgement.classes()):
        best = min((judgement.of_class(name, null) for null in TIMING_NULLS if null in judgement.errors_of_every),
                   key=lambda each: 1e9 if each.median is None else each.median)
        lines.append([name or "all classes", *summary_cells(judgement.of_class(name)),
                      NULLS[best.model] if best.median is not None else "", percent(best.median), percent(best.p90)])
    errors = decoding_errors(decoding)
    if errors:
        half, most = (percent(quantile(list(map(abs, errors)), share)) for share in QUANTILES.values())
        lines.append(["decoding (not fitted)", len(errors), half, "", most, "", percent(quantile(errors, 0.5), signed=True),
                      *[""] * (len(COLUMNS) - 6 + len(BEST_NULL))])
    return lines


def title_of(summary):
    other = summary.model == PAPERS and summary.median is None and summary.rows > 0
    return TITLES[summary.model] + (f" ({NOT_ITS_GPU}: only its choice counts)" if other else "")


def summary_cells(of):
    def interval(name):
        return " to ".join(percent(end) for end in of.intervals[name]) if name in of.intervals else ""
    return [of.rows, percent(of.median), interval("median"), percent(of.p90), interval("p90"),
            percent(of.bias, signed=True), of.choices or "", of.ties or "", percent(of.mean_regret), interval("mean_regret"),
            percent(of.p90_regret), percent(of.worst_regret)]


def percent(share, signed=False):
    if share is None:
        return ""
    return f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"


def sentence(judgement):
    counted = judgement.summary(COUNTED)
    said = ", ".join(f"{WORDS[name]} {percent(getattr(counted, name))} %"
                     for name in FIGURES if getattr(counted, name) is not None)
    how = "fitted without the length that it predicts" if judgement.fitted else "not fitted"
    return f"Counted work, {how}, predicts with {said}. {beaten_words(judgement)}{stale_words(judgement)}"


def beaten_words(judgement):
    beaten = judgement.beaten()
    if not beaten:
        return "No null model does better."
    words = (f"{WORDS[name]}: {best_of(nulls, name)}" for name, nulls in beaten.items())
    return f"A null model does better: {'; '.join(words)}."


def best_of(nulls, name):
    """The best, with its figure, and how many others."""
    others = f" and {len(nulls) - 1} more" if len(nulls) > 1 else ""
    return f"{NULLS[nulls[0].model]} ({percent(getattr(nulls[0], name))} %){others}"


def stale_words(judgement):
    stale = judgement.stale_rows
    return f" {stale} of {len(judgement.kernels)} rows are stale and are left out." if stale else ""


def splits(rows):
    """Counted work and nulls, fitted to all groups but one and judged by that one, for every way to group: on all
    classes, and on convolutions in one launch."""
    lines, not_possible = [], []
    for name in SPLITS:
        judgement = evaluate(rows, name)
        if not judgement.fitted:
            not_possible.append(name)
            continue
        lines.append([f"one {name} left out: {', '.join(map(group_words, judgement.fits))}"])
        lines.append(["counted work, all classes", *summary_cells(judgement.of_class(None))])
        lines += [[f"{TITLES[null]}, all classes", *summary_cells(judgement.of_class(None, null))] for null in TIMING_NULLS]
        lines += [[TITLES[model], *summary_cells(judgement.summary(model))] for model in (COUNTED, *NULLS)]
    verdict = f"No {in_words(not_possible)} can be left out: the rows are of one." if not_possible else ""
    return Table(["model", *COLUMNS], lines, [Group("", 1), *GROUPS], verdict=verdict, good=not not_possible,
                 details=fits(rows), details_title="The numbers that were fitted")


def fits(rows):
    """From the least to the most over the groups of each split."""
    lines = []
    for name in SPLITS:
        found = evaluate(rows, name).fits.values()
        if found:
            lines.append([f"one {name} left out", *(f"{min(values):.2f} to {max(values):.2f}" for values in
                                                    ([getattr(fit, what) for fit in found] for what in FREE))])
    return Table(["fit", *(what.replace("_us", ", us").replace("_", " ") for what in FREE)], lines)


def in_words(names):
    return " or ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def group_words(group):
    if isinstance(group, tuple):
        return f"{group[0]} {group[1]} factors" if group[1] else group[0]
    return str(DTYPE.get(group, group) or "without")


def failures(rows):
    """Every kernel whose error is larger than a tenth of them may have, and every choice that costs more than any may.
    """
    judgement = evaluate(rows)
    found, counting = judgement.failures(), judgement.counting
    costly = sorted((choice for choice in judgement.choices if choice.regret(COUNTED) > COSTLY),
                    key=lambda choice: -choice.regret(COUNTED))
    lines = [[f"predicted times off by more than {FAR:.0%}"]] if found else []
    for kernel in found:
        lines.append([*of_failure(kernel), ""])
    lines += [[f"choices that cost more than {COSTLY:.0%}"]] if costly else []
    for choice in costly:
        fastest = choice.fastest.row
        for kernel in choice.chosen[COUNTED]:
            lines.append([*of_failure(kernel),
                          f"of {len(choice.candidates)} the fastest is {times(fastest['factors'])}, "
                          f"{number(fastest['measured_us'])} us: costs {percent(choice.regret(COUNTED))} %"])
    far = len(found) / len(counting) if counting else 0
    verdict = (f"{len(found)} of {len(counting)} kernels ({percent(far)} %) are off by more than {FAR:.0%}; "
               f"{len(costly)} of {len(judgement.choices)} choices cost more than {COSTLY:.0%}.")
    columns = ["GPU", "case", "kernel", "local, bytes", "measured, us", "predicted, us", "error, %", "bound by", "choice"]
    return Table(columns, lines, verdict=verdict)


def of_failure(kernel):
    """Its cells but for the choice; a thread's local memory where the compiler's report is known."""
    row, said = kernel.row, kernel.row.get("compiled")
    return [row["profile"], row["case"], row["kernel"], said["local_bytes"] if said else "", number(row["measured_us"]),
            number(kernel.models[COUNTED].us), percent(kernel.error(COUNTED), signed=True), kernel.models[COUNTED].limit]


def every_prediction(kernels):
    lines = []
    for words, group in grouped(kernels, lambda kernel: kernel.row).items():
        lines.append([words])
        for kernel in sorted(group, key=lambda kernel: (kernel.row["n"], kernel.row["measured_us"])):
            row = kernel.row
            cells = [length(row["n"]), times(row["factors"]), row["order"], number(row["measured_us"])]
            for model in MODELS:
                cells += [number(kernel.models[model].us), percent(kernel.error(model), signed=True)]
            lines.append([*cells, kernel.models[COUNTED].limit, remarks(kernel)])
    columns = ["N", "factors", "p", "us"] + ["us", "error, %"] * len(MODELS) + ["bound by", "notes"]
    groups = [Group("kernel", 3), Group("measured", 1, "measured"),
              *(Group(title, 2, "model") for title in MODELS.values()), Group("", 2)]
    return Table(columns, lines, groups)


def remarks(kernel):
    return "; ".join((["stale"] if kernel.row["stale"] else []) + kernel.row["notes"])


def choices(rows):
    """The fastest factors of each N by the clock and by each model, and what the model's cost."""
    found = evaluate(rows).choices
    if not found:
        return Table(verdict="No case was measured with different factors.", good=False)
    made = []
    for words, group in grouped(found, lambda choice: choice.fastest.row).items():
        lines = [[words]]
        made.append(lines)
        for choice in sorted(group, key=lambda choice: choice.fastest.row["n"]):
            fastest = choice.fastest.row
            cells = [length(fastest["n"]), len(choice.candidates), times(fastest["factors"]),
                     number(fastest["measured_us"])]
            for model in (*MODELS, "table"):
                cells += [" or ".join(times(kernel.row["factors"]) for kernel in choice.chosen[model]),
                          percent(choice.regret(model))]
            lines.append([*cells, percent(choice.regret("random"))])
    columns = ["N", "candidates", "factors", "us"] + ["factors", "cost, %"] * (len(MODELS) + 1) + ["cost, %"]
    groups = [Group("", 2), Group("fastest by the clock", 2, "measured"),
              *(Group(f"chosen by {title}", 2, "model") for title in MODELS.values()),
              Group(NULLS["table"], 2), Group(NULLS["random"], 1)]
    first, rest = made[0], [line for lines in made[1:] for line in lines]
    return Table(columns, first, groups, details=Table(columns, rest, groups) if rest else None,
                 details_title=f"The same in {len(made) - 1} other types and modes")


def grouped(items, row_of):
    """{type, mode and gating in words: items}, fp16, circular and ungated first; each has a row."""
    order = list(DTYPE)

    def place(item):
        row = row_of(item)
        return row["profile"], -row["batch"], row["gated"], row["mode"] != "circular", order.index(row["dtype"])

    groups, several = {}, len({row_of(item)["profile"] for item in items}) > 1
    for item in sorted(items, key=place):
        row = row_of(item)
        words = f"{DTYPE[row['dtype']]}, {row['mode']}" + (", gated" if row["gated"] else "")
        words += f", B={row['batch']}, H={row['channels']}" + (f", on the {row['profile']}" if several else "")
        groups.setdefault(words, []).append(item)
    return groups


def times(factors):
    return " × ".join(map(str, factors))

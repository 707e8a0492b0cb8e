"""How well the cost models predict, what their choices cost, and every prediction."""

from evaluation import COUNTED, MODELS, evaluate
from report import Group, Table
from style import DTYPE, length
from tables.speed import number

TARGET = {"median": 0.15, "p90": 0.30, "mean_regret": 0.03, "worst_regret": 0.10}  # of the counted work
WORDS = {"median": "median error", "p90": "90th percentile", "mean_regret": "its choice costs on average",
         "worst_regret": "at worst"}


def summary(rows):
    """Two numbers of each model: how well it predicts, and what its choice costs; every prediction behind a click."""
    evaluation = evaluate(rows)
    lines, kind = [], None
    for each in evaluation.summaries:
        if each.kind != kind:
            kind = each.kind
            lines.append([f"only {words_of(kind)}"])
        lines.append(summary_cells(each))
    columns = ["model", "kernels", "median", "90th percentile", "bias", "N", "mean", "worst"]
    groups = [Group("", 1), Group("error of the prediction, %", 4), Group("cost of its choice, %", 3)]
    counted = next(each for each in evaluation.summaries if each.model == COUNTED)
    return Table(columns, lines, groups, verdict=sentence(counted, evaluation), good=meets_targets(counted),
                 details=every_prediction(evaluation.kernels),
                 details_title=f"All {len(rows)} predictions, with signed errors")


def summary_cells(of):
    median, p90, mean, worst = (percent(getattr(of, field)) for field in TARGET)
    return [MODELS[of.model], of.held_out_rows, median, p90, percent(of.bias, signed=True), of.choices, mean, worst]


def words_of(kind):
    dtype, mode, gated = kind
    return f"{DTYPE[dtype]}, {mode}, {'gated' if gated else 'without gates'}"


def percent(share, signed=False):
    if share is None:
        return ""
    return f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"


def sentence(counted, evaluation):
    said = ", ".join(f"{WORDS[field]} {percent(getattr(counted, field))} % (target {100 * target:.0f})"
                     for field, target in TARGET.items() if getattr(counted, field) is not None)
    fitted = (f"fitted to {evaluation.fitted_to} kernels that do not judge it" if evaluation.fitted_to else
              "not fitted")
    return f"Counted work predicts with {said}; its overlap is {evaluation.concurrency.overlap:.2f}, {fitted}."


def meets_targets(counted):
    return all(getattr(counted, field) <= target for field, target in TARGET.items()
               if getattr(counted, field) is not None)


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
    said = ["stale"] if kernel.row["stale"] else []
    said += [] if kernel.held_out else ["took part in fitting"]
    return "; ".join(said + kernel.row["notes"])


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
            cells = [length(fastest["n"]), times(fastest["factors"]), number(fastest["measured_us"])]
            for model in MODELS:
                cells += [times(choice.chosen[model].row["factors"]), percent(choice.regret(model))]
            lines.append(cells)
    columns = ["N", "factors", "us"] + ["factors", "cost, %"] * len(MODELS)
    groups = [Group("", 1), Group("fastest by the clock", 2, "measured"),
              *(Group(f"chosen by {title}", 2, "model") for title in MODELS.values())]
    first, rest = made[0], [line for lines in made[1:] for line in lines]
    return Table(columns, first, groups, details=Table(columns, rest, groups) if rest else None,
                 details_title=f"The same in {len(made) - 1} other types and modes")


def grouped(items, row_of):
    """{type, mode and gating in words: items}, fp16, circular and ungated first; each has a row."""
    order = list(DTYPE)

    def place(item):
        row = row_of(item)
        return -row["batch"], row["gated"], row["mode"] != "circular", order.index(row["dtype"])

    groups = {}
    for item in sorted(items, key=place):
        row = row_of(item)
        words = f"{DTYPE[row['dtype']]}, {row['mode']}" + (", gated" if row["gated"] else "")
        words += f", B={row['batch']}, H={row['channels']}"
        groups.setdefault(words, []).append(item)
    return groups


def times(factors):
    return " × ".join(map(str, factors))

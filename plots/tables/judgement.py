"""How well the cost models predict, what their choices cost, and every prediction."""

from judged import models_of, of_kind, of_model, title
from report import Group, Table
from style import DTYPE, length
from tables.speed import number

TARGET = {"median": 0.15, "p90": 0.30, "mean_regret": 0.03, "worst_regret": 0.10}  # of the counted work
JUDGED = "counted"
SUBSET = ("dtype", "mode", "gated", "n")  # fields that a summary of some of the rows only has
WORDS = {"median": "median error", "p90": "90th percentile", "mean_regret": "its choice costs on average",
         "worst_regret": "at worst"}


def summary(rows):
    """Two numbers of each model: how well it predicts, and what its choice costs; every prediction behind a click."""
    summaries = of_kind(rows, "summary")
    lines, overall = [], [row for row in summaries if not subset(row)]
    for row in overall:
        lines.append(summary_cells(row))
    for words in dict.fromkeys(subset(row) for row in summaries if subset(row)):
        lines.append([f"only {words}"])
        lines += [summary_cells(row) for row in summaries if subset(row) == words]
    columns = ["model", "kernels", "median", "90th percentile", "bias", "N", "mean", "worst"]
    groups = [Group("", 1), Group("error of the prediction, %", 4), Group("cost of its choice, %", 3)]
    predictions = of_kind(rows, "prediction")
    table = Table(columns, lines, groups, details=every_prediction(predictions),
                  details_title=f"All {len(predictions)} predictions, with signed errors")
    for row in overall:
        if row["model"] == JUDGED:
            table.verdict, table.good = sentence(row), meets_targets(row)
    return table


def summary_cells(row):
    median, p90, mean, worst = (percent(row[field]) for field in TARGET)
    bias = percent(row["bias"], signed=True)
    return [title(row["model"]), row["held_out_rows"], median, p90, bias, row["choices"], mean, worst]


def subset(row):
    """What a summary is restricted to, in words; nothing where it is over all rows."""
    said = [words_of(field, row[field]) for field in SUBSET if row.get(field) is not None]
    return ", ".join(said)


def words_of(field, value):
    if field == "gated":
        return "gated" if value else "without gates"
    return DTYPE.get(value, str(value)) if field != "n" else f"N = {length(value)}"


def percent(share, signed=False):
    if share is None:
        return ""
    return f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"


def sentence(row):
    said = ", ".join(f"{WORDS[field]} {percent(row[field])} % (target {100 * target:.0f})"
                     for field, target in TARGET.items() if row[field] is not None)
    fitted = f"fitted to {row['fitted_to']} kernels that do not judge it" if row["fitted_to"] else "not fitted"
    return f"Counted work predicts with {said}; its overlap is {row['overlap']:.2f}, {fitted}."


def meets_targets(row):
    return all(row[field] <= target for field, target in TARGET.items() if row[field] is not None)


def every_prediction(rows):
    models = models_of(rows)
    lines = []
    for words, group in grouped(rows).items():
        lines.append([words])
        for row in sorted(group, key=lambda row: (row["n"], row["measured_us"])):
            cells = [length(row["n"]), times(row["factors"]), row["order"], number(row["measured_us"])]
            for model in models:
                entry = of_model(row, model)
                cells += [number(entry["us"]), percent(entry["error"], signed=True)] if entry else ["", ""]
            counted = of_model(row, JUDGED)
            lines.append([*cells, counted["limit"] if counted else "", remarks(row)])
    columns = ["N", "factors", "p", "us"] + ["us", "error, %"] * len(models) + ["bound by", "notes"]
    groups = [Group("kernel", 3), Group("measured", 1, "measured"),
              *(Group(title(model), 2, "model") for model in models), Group("", 2)]
    return Table(columns, lines, groups)


def remarks(row):
    said = ["stale"] if row["stale"] else []
    said += [] if row["held_out"] else ["took part in fitting"]
    return "; ".join(said + row.get("notes", []))


def choices(rows):
    """The fastest factors of each N by the clock and by each model, and what the model's cost."""
    rows = of_kind(rows, "choice")
    if not rows:
        return Table(verdict="No case was measured with different factors.", good=False)
    models = models_of(rows)
    made = []
    for words, group in grouped(rows).items():
        lines = [[words]]
        made.append(lines)
        for row in sorted(group, key=lambda row: row["n"]):
            cells = [length(row["n"]), times(row["clock"]["factors"]), number(row["clock"]["us"])]
            for model in models:
                entry = of_model(row, model)
                cells += [times(entry["factors"]), percent(entry["regret"])] if entry else ["", ""]
            lines.append(cells)
    columns = ["N", "factors", "us"] + ["factors", "cost, %"] * len(models)
    groups = [Group("", 1), Group("fastest by the clock", 2, "measured"),
              *(Group(f"chosen by {title(model)}", 2, "model") for model in models)]
    first, rest = made[0], [line for lines in made[1:] for line in lines]
    return Table(columns, first, groups, details=Table(columns, rest, groups) if rest else None,
                 details_title=f"The same in {len(made) - 1} other types and modes")


def grouped(rows):
    """{type, mode and gating in words: rows}, fp16, circular and ungated first."""
    order = list(DTYPE)
    groups = {}
    for row in sorted(rows, key=lambda row: (-row["batch"], row["gated"], row["mode"] != "circular",
                                             order.index(row["dtype"]))):
        words = f"{DTYPE[row['dtype']]}, {row['mode']}" + (", gated" if row["gated"] else "")
        words += f", B={row['batch']}, H={row['channels']}"
        groups.setdefault(words, []).append(row)
    return groups


def times(factors):
    return " × ".join(map(str, factors))

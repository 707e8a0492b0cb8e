"""danaus.judge_model: a cost model of anybody's against measured rows, group by group, beside models that know less."""

import copy
import csv
import json
from pathlib import Path

import numpy as np

from danaus.rows import asked

def _last(length):
    """Of a row, or of its last axis."""
    return length[-1] if isinstance(length, list) else length


# Ways to split rows into groups. Each group is judged by itself, and fitted models have not seen it.
SPLITS = {
    "operation": lambda row: row["asked"]["operation"],
    "length": lambda row: _last(row.get("n") or row.get("fft_size") or row["asked"]["l"]),
    "algorithm": lambda row: (row.get("kernel") or row.get("variant") or "").split("_")[0],
    "type": lambda row: row["asked"]["dtype"],
    "mode": lambda row: row["asked"].get("mode") or row["asked"].get("padding") or "",
    "batch": lambda row: row["asked"].get("b"),
    "GPU": lambda row: row.get("profile") or row.get("device", {}).get("name", ""),
}
# Fields of rows that a model must not see.
MEASURED = {"measured_us", "call_measured_us", "clock_mhz", "time_us", "call_us", "filter_us", "ratios", "load",
            "verify", "memory", "notes"}
_DRAWS, _INSIDE = 1000, (2.5, 97.5)
_CHOSEN = ("n", "fold", "r")  # fields of a token that say how, and not what


def judge_model(predict, rows, *, fit=None, name=None):
    """Judges a model of kernels' times. Returns a danaus.judging.ModelReport.

    predict   a function of a row, without what was measured, to microseconds: a row of danaus model --measured has the
              case, kernel, FFT size, factors, batch, channels and counted work; a row of danaus bench the case and its
              bytes. Or the path of a .csv file with the columns case, kernel (may be missing) and us.
    rows      measured rows: dicts, or the path of a .jsonl file, or several paths
    fit       in place of predict: a function of rows with measured_us to a predict; each group of a split is then
              predicted by a fit to all others

    Raises ValueError where no row has a measured time, or a prediction is no positive number.
    """
    rows = [{"asked": row.get("asked") or asked(row["case"]), **row} for row in _rows_of(rows)
            if not row.get("stale") and _measured(row)]
    if not rows:
        raise ValueError("judge_model: no row has a measured time; danaus bench and danaus model --measured write such")
    if isinstance(predict, (str, Path)):
        name, predict = name or str(predict), _of_csv(predict)
    if (predict is None) == (fit is None):
        raise ValueError("judge_model: give predict or fit, not both")
    return ModelReport(name or getattr(predict or fit, "__qualname__", "a model"), rows, predict, fit)


def _rows_of(rows):
    if isinstance(rows, (str, Path)):
        return [json.loads(line) for line in Path(rows).read_text(encoding="utf-8").splitlines() if line.strip()]
    dicts = []
    for row in rows:
        dicts += [row] if isinstance(row, dict) else _rows_of(row)
    return dicts


def _of_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    if not lines or not {"case", "us"} <= set(lines[0]):
        raise ValueError(f"judge_model: {path} has columns {', '.join(lines[0]) if lines else 'none'}, must have case "
                         "and us")
    times = {(line["case"], line.get("kernel") or ""): float(line["us"]) for line in lines}

    def predict(row):
        kernel = row.get("kernel") or row.get("variant") or ""
        return times.get((row["case"], kernel), times.get((row["case"], ""), float("nan")))
    return predict


def _measured(row):
    if row.get("kind") == "bench":
        usable = row.get("method") == "kernel" and row.get("verify", {}).get("status") == "passed"
        return row["time_us"]["burst_cold"]["median"] if usable else None
    return row.get("measured_us")


def _hidden(row):
    """The row as a model sees it."""
    seen = copy.deepcopy({name: value for name, value in row.items() if name not in MEASURED})
    if isinstance(seen.get("filter"), dict):
        seen["filter"].pop("measured_us", None)
    return seen


def _resources(row):
    return row.get("counted", {}).get("resources_us", {})


def _floor(row):
    """Something in proportion to the bytes that must move."""
    return _resources(row).get("hbm") or row.get("work", {}).get("bytes")


class ModelReport:
    """rows: one dict for each model, split and group, as judge_model.schema.json of the sources says: median and p90
    of the absolute relative error, bias, the median of the signed one, with 95 % intervals over cases, and regrets."""

    def __init__(self, name, rows, predict, fit):
        self.name, self.kernels = name, rows
        self.measured = np.array([_measured(row) for row in rows], float)
        self.labels = [str([*((name, value) for name, value in row["asked"].items() if name not in _CHOSEN),
                            row.get("fold"), SPLITS["GPU"](row)]) for row in rows]
        self.seen = [_hidden(row) for row in rows]
        self.rows, self.errors = [], {}
        constant = self._times(predict) if predict else None
        for split, of in SPLITS.items():
            groups = [of(row) for row in rows]
            self._split(split, groups, constant if predict else self._fitted(fit, groups))

    def _times(self, predict, places=None):
        times = np.full(len(self.kernels), np.nan)
        for i in range(len(self.kernels)) if places is None else places:
            time = predict(self.seen[i])
            if not isinstance(time, (int, float, np.floating)) or not time > 0 or not np.isfinite(time):
                raise ValueError(f"judge_model: {self.name} predicts {time} us of {self.kernels[i]['case']}, must be a "
                                 "positive number")
            times[i] = time
        return times

    def _fitted(self, fit, groups):
        times, known = np.full(len(groups), np.nan), sorted(set(groups), key=str)
        for group in known:
            others = [{**seen, "measured_us": us} for seen, us, of in zip(self.seen, self.measured, groups)
                      if of != group or len(known) == 1]
            places = [i for i, of in enumerate(groups) if of == group]
            times[places] = self._times(fit(others), places)[places]
        return times

    def _nulls(self, groups):
        """Times of models that know less; constants are fitted without the group."""
        nulls, known = {}, sorted(set(groups), key=str)
        floors = [_floor(row) for row in self.kernels]
        if all(floors):
            ratio, times = np.log(self.measured / np.array(floors)), np.empty(len(groups))
            for group in known:
                own = np.array([of == group for of in groups])
                times[own] = np.exp(ratio[~own if len(known) > 1 else own].mean()) * np.array(floors)[own]
            nulls["a constant times the bytes"] = times
        if all(map(_resources, self.kernels)):
            nulls["sum of the resources"] = np.array([sum(_resources(row).values()) for row in self.kernels])
            nulls["longest of the resources"] = np.array([max(_resources(row).values()) for row in self.kernels])
        return nulls

    def _split(self, split, groups, times):
        models = {self.name: times, **self._nulls(groups)}
        for model, of_model in models.items():
            errors = of_model / self.measured - 1
            if model == self.name:
                self.errors[split] = errors
            self._add(model, split, "all", errors, of_model, range(len(groups)))
            if len(set(groups)) > 1:
                for group in sorted(set(groups), key=lambda each: (isinstance(each, str), each)):
                    places = [i for i, each in enumerate(groups) if each == group]
                    self._add(model, split, str(group), errors, of_model, places)

    def _add(self, model, split, group, errors, times, places):
        places = np.array(list(places))
        own = errors[places]
        row = {"schema": 1, "kind": "judge_model", "model": model, "split": split, "group": group, "rows": len(places),
               **{name: float(value) for name, value in _figures(own).items()}}
        intervals = _intervals(own, [self.labels[i] for i in places])
        if intervals:
            row["intervals"] = intervals
        regrets = self._regrets(times, set(places.tolist()))
        if regrets:
            row["choices"], row["mean_regret"] = len(regrets), float(np.mean(regrets))
            row["worst_regret"] = float(max(regrets))
        self.rows.append(row)

    def _regrets(self, times, places):
        """Of each case with several kernels: the chosen one's measured time over the fastest one's, minus 1."""
        cases = {}
        for i in places:
            if self.kernels[i].get("asked_by_factors", True):
                cases.setdefault(self.labels[i], []).append(i)
        return [float(self.measured[min(kin, key=lambda i: times[i])] / self.measured[kin].min() - 1)
                for kin in cases.values() if len(kin) > 1]

    def row(self, model=None, split="length", group="all"):
        return next(row for row in self.rows
                    if (row["model"], row["split"], row["group"]) == (model or self.name, split, group))

    @property
    def worst(self):
        """The five rows whose error is largest: (case, kernel, relative error)."""
        errors = next(iter(self.errors.values()))
        return [(self.kernels[i]["case"], self.kernels[i].get("kernel") or self.kernels[i].get("variant", ""),
                 float(errors[i])) for i in np.argsort(-np.abs(errors))[:5]]

    @property
    def beaten_by(self):
        """Models that know less and have a smaller median error."""
        own = self.row()
        return [row["model"] for row in self.rows if row["split"] == "length" and row["group"] == "all"
                and row["median"] < own["median"]]

    def text(self):
        lines = [f"{self.name}: {len(self.kernels)} kernels, errors in %, medians of absolute errors, 95 % over cases",
                 f"  {'model':28} {'median':>16} {'p90':>7} {'bias':>7} {'regret':>7}"]
        for row in self.rows:
            if row["split"] == "length" and row["group"] == "all":
                lines.append(f"  {row['model'][:28]:28} {_percent(row)}")
        for split in self.errors:
            groups = [row for row in self.rows if row["model"] == self.name and row["split"] == split
                      and row["group"] != "all"]
            if groups:
                lines.append(f"  by {split}")
            lines += [f"    {row['group'][:26]:26} {_percent(row)}  {row['rows']} rows" for row in groups]
        lines.append("  beaten by " + (", ".join(self.beaten_by) or "no model that knows less"))
        lines += [f"  {100 * error:+.0f} %  {case} {kernel}" for case, kernel, error in self.worst]
        return "\n".join(lines)

    __str__ = text

    def write(self, path):
        """A .jsonl file of the rows, or the text."""
        path = Path(path)
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows) if path.suffix == ".jsonl"
                        else self.text() + "\n", encoding="utf-8")


def _figures(errors):
    return {"median": np.median(np.abs(errors)), "p90": np.quantile(np.abs(errors), 0.9), "bias": np.median(errors)}


def _intervals(errors, labels):
    """figure -> [from, to], by drawing cases with all of their rows."""
    cases, of_row = np.unique(labels, return_inverse=True)
    if len(cases) < 3:
        return {}
    drawn = np.random.default_rng(1).multinomial(len(cases), np.full(len(cases), 1 / len(cases)), size=_DRAWS)
    intervals = {}
    for name, values, share in (("median", np.abs(errors), 0.5), ("p90", np.abs(errors), 0.9), ("bias", errors, 0.5)):
        order = np.argsort(values)
        counts = np.cumsum(drawn[:, of_row[order]], axis=1)
        places = (counts < share * counts[:, -1:]).sum(axis=1).clip(max=len(order) - 1)
        intervals[name] = [float(each) for each in np.percentile(values[order][places], _INSIDE)]
    return intervals


def _percent(row):
    low, high = row.get("intervals", {}).get("median", (float("nan"),) * 2)
    between = f" ({100 * low:.1f}-{100 * high:.1f})" if low == low else ""
    regret = f"{100 * row['mean_regret']:7.1f}" if "mean_regret" in row else "       "
    return f"{100 * row['median']:6.1f}{between:>12}{100 * row['p90']:8.1f}{100 * row['bias']:+8.1f}{regret}"

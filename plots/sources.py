"""Where the rows of a figure come from: the reader's own results, those of the repository, and what stands beside."""

import measurements
import results
from paper import Paper
from peers import Layers, Peers

CHECKS = ["check", "random"]
TIMED = ("bench", "counters")  # kinds whose rows a change of what they timed makes stale


def predictions(data, committed):
    """What the models say of the kernels that were measured, beside the measured rows; no rows where there are none.
    Predictions of which none counts, since the kernels have changed since they were timed, give way to committed ones,
    which were made with the kernels that were timed."""
    found = measurements.read_either(data / "predictions.jsonl", committed, ["prediction"])
    if found and all(row["stale"] for row in found.rows):
        found = measurements.read_either(None, committed, ["prediction"]) or found
    timed = measurements.timed(data / "bench.jsonl", committed)
    return found.beside([timed] if timed else []) if found else results.Results([], [])


def long_ones(data, committed):
    """Measured rows of long convolutions; none where there are none."""
    found = measurements.timed(data / "bench.jsonl", committed, accept=measurements.VERDICTS)
    rows = [row for row in found.rows if measurements.length_of(row) >= measurements.LONG] if found else []
    return results.Results(found.sources if rows else [], rows)


def checks(data, committed):
    """Rows of tests, tools and random cases, each saying whether it is stale: the reader's own and the repository's.
    None where there are none."""
    found = [measurements.read_either(path, committed, [kind]) for path, kind in
             ((data / "checks.jsonl", "check"), (data / "random.jsonl", "random"))]
    found = [each for each in found if each]
    if not found:
        return None
    rows = [{**row, "stale": row.get("code") != measurements.all_kernels()} for each in found for row in each.rows]
    return results.Results([source for each in found for source in each.sources], rows)


# What a function may be given beside its rows.
BESIDE = {"paper": lambda data, committed: Paper(committed), "peers": lambda data, committed: Peers(committed),
          "layers": lambda data, committed: Layers(committed), "predictions": predictions, "long": long_ones}


def rows_of(entry, data, committed):
    """Of the kinds of an entry of figures.toml, from the folders of the reader's results and of the repository's. None
    where there are none."""
    kinds, accept = entry["kinds"], entry.get("accept", ["passed"])
    if kinds == ["prediction"]:
        found = predictions(data, committed)
        return found if found.rows else None
    if kinds == CHECKS:
        return checks(data, committed)
    if kinds == ["bench"]:
        return measurements.timed(data / entry["data"], committed, entry.get("operations", ["fftconv"]), accept)
    if kinds[0] in TIMED:
        return measurements.read_all(data / entry["data"], committed, kinds[0], accept)
    return measurements.read_either(data / entry["data"], committed, kinds, accept)


def beside(entry, data, committed):
    return [BESIDE[name](data, committed) for name in entry.get("beside", [])]

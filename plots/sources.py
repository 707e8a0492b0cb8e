"""Where the rows of a figure come from: the reader's own results, those of the repository, and what stands beside."""

import measurements
import results
from paper import Paper
from peers import Attentions, Layers, Peers, ShortPeers

CHECKS = ["check", "random"]
DECODE = "decode"
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
    """Rows of tests, tools and random cases, each saying its age: the reader's own and the repository's. None where
    there are none."""
    found = [measurements.read_either(path, committed, [kind], reader=measurements.read_judged) for path, kind in
             ((data / "checks.jsonl", "check"), (data / "random.jsonl", "random"))]
    return results.joined([each for each in found if each])


def decoding(own, committed):
    """Rows of danaus decode, predicted and measured, each saying its age: the reader's own and the repository's, of the
    same question the reader's. None where there are none."""
    kinds = (DECODE,)
    parts = [measurements.read_judged(path, kinds, committed=True) for path in measurements.files_of(kinds, committed)]
    if own.exists():
        parts.append(measurements.read_judged(own, kinds))
    latest = {}
    for row in (row for part in parts for row in part.rows):
        asked = row["case"], row["method"], row.get("states"), row["source"], row.get("profile") or row["device"]["name"]
        latest[asked] = row
    return results.joined(parts, latest.values())


def all_timed(data, committed):
    """Measured rows of danaus bench as they are; none where there are none."""
    return measurements.read_all(data / "bench.jsonl", committed, "bench", measurements.VERDICTS) or results.Results([], [])


def timed_of(*operations):
    """Measured rows of these operations, that passed; none where there are none."""
    def rows(data, committed):
        found = measurements.timed(data / "bench.jsonl", committed, operations, measurements.VERDICTS)
        passed = [row for row in found.rows if measurements.passed(row)] if found else []
        return results.Results(found.sources if passed else [], passed)
    return rows


def own_of(name, kind):
    """Rows of a file that the reader's study makes, and the repository has not; none where there are none."""
    def rows(data, committed):
        own = data / name
        return results.read(own, (kind,)) if own.exists() else results.Results([], [])
    return rows


# What a function may be given beside its rows.
BESIDE = {"paper": lambda data, committed: Paper(committed), "peers": lambda data, committed: Peers(committed),
          "layers": lambda data, committed: Layers(committed), "predictions": predictions, "long": long_ones,
          "short_peers": lambda data, committed: ShortPeers(committed), "short": timed_of("shortconv"),
          "spectral": timed_of("spectral"), "attention": lambda data, committed: Attentions(committed),
          "state": timed_of("ssmconv"), "convolutions": timed_of("fftconv"),
          "decoding": lambda data, committed: decoding(data / "decode.jsonl", committed) or results.Results([], []),
          "extension_memory": own_of("extension_memory.jsonl", "memory"),
          "predicted_layers": own_of("spectral.jsonl", "model"), "bench": all_timed,
          "answers": lambda data, committed: measurements.answering(committed)}


def rows_of(entry, data, committed):
    """Of the kinds of an entry of figures.toml, from the folders of the reader's results and of the repository's. None
    where there are none."""
    kinds, accept = entry["kinds"], entry.get("accept", ["passed"])
    if kinds == ["prediction"]:
        found = predictions(data, committed)
        return found if found.rows else None
    if kinds == CHECKS:
        return checks(data, committed)
    if kinds == [DECODE]:
        return decoding(data / entry["data"], committed)
    if kinds == ["bench"]:
        return measurements.timed(data / entry["data"], committed, entry.get("operations", ["fftconv"]), accept)
    if kinds[0] in TIMED:
        return measurements.read_all(data / entry["data"], committed, kinds[0], accept)
    return measurements.read_either(data / entry["data"], committed, kinds, accept)


def beside(entry, data, committed):
    return [BESIDE[name](data, committed) for name in entry.get("beside", [])]

"""Measured rows: the repository's and the reader's own, and of which age they are."""

import functools
import json
import re
import zlib
from collections import Counter
from pathlib import Path

from results import CONVOLUTIONS, Results, case_fields, contents, joined, learn, read

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "experiments" / "results"
VERDICTS = ("passed", "failed", "skipped")
BATCH, CHANNELS = 64, 768  # what long convolutions are brought to, of which as many do not fit
LONG = 1 << 16  # samples
ANSWERS = "answers"  # the folder of rows that answered forecasts
CUFFT = ("cufft_f32", "cufft_pairs")  # its two ways
STALE = "stale"


def read_all(own, committed, kind, accept):
    """Rows of `kind` in the files of the folder `committed`, and in the file `own`, which take their place where they
    ask the same of the same device; a row of another age takes no fresh one's place. Each row says its age, as
    read_judged() does. None where there are no rows."""
    kinds, accept = (kind,), tuple(accept)
    parts = [read_judged(path, kinds, accept, committed=True) for path in files_of(kinds, committed)]
    if own and own.exists():
        parts.append(read_judged(own, kinds, accept))
    latest = {}
    for row in (row for part in parts for row in part.rows):
        place = row["case"], row["method"], row["device"]["name"]
        if not row["age"] or latest.get(place, row)["age"]:
            latest[place] = row
    return joined(parts, latest.values())


def timed(own, committed, operations=("fftconv",), accept=VERDICTS):
    """Rows of danaus bench, as read_all() has them, of these operations; long ones brought to B=64, H=768, where no row
    of such a case is. None where there are none."""
    found = read_all(own, committed, "bench", accept)
    rows = [row for row in found.rows if case_fields(row["case"])["operation"] in operations] if found else []
    whole = {(row["case"], row["method"], row["device"]["name"]) for row in rows}
    made = {}
    for row in map(brought, rows):
        place = row["case"], row["method"], row["device"]["name"]
        if "scaled_from" not in row or place not in whole:
            made[place] = row
    return Results(found.sources, list(made.values())) if made else None


def brought(row):
    """A row of a long convolution at B=64, H=768: times and floor grow with both, those of the filter with H alone. It
    says from what it was scaled; other rows are as they are."""
    fields = case_fields(row["case"])
    if fields["operation"] not in CONVOLUTIONS or fields["l"] < LONG:
        return row
    if (fields["b"], fields["h"]) == (BATCH, CHANNELS):
        return row
    learn(brought_case(row["case"]), {**row["asked"], "b": BATCH, "h": CHANNELS})
    channels = CHANNELS / fields["h"]
    rows = channels * BATCH / fields["b"]
    floor = {name: value * (1 if name == "copy_bytes_per_s" else rows) for name, value in row["floor"].items()}
    made = {**row, "case": brought_case(row["case"]), "floor": floor,
            "scaled_from": f"B={fields['b']}, H={fields['h']}"}
    for name, times in (("time_us", rows), ("call_us", rows)):
        if name in row:
            made[name] = {key: longer(series, times) for key, series in row[name].items()}
    if "filter_us" in row:
        made["filter_us"] = longer(row["filter_us"], channels)
    if "parts_us" in row:
        made["parts_us"] = {name: longer(series, channels if name == "filter" else rows)
                            for name, series in row["parts_us"].items()}
    return made


def brought_case(case):
    """The case at B=64, H=768."""
    return re.sub(r"_b\d+_h\d+", f"_b{BATCH}_h{CHANNELS}", case)


def scale_of(fields):
    """What makes the time of a case's rows that of B=64, H=768, where times grow with both."""
    return BATCH * CHANNELS / (fields["b"] * fields["h"])


def longer(series, times):
    return {**series, **{name: series[name] * times for name in ("median", "q1", "q3")}}


def read_either(own, committed, kinds, accept=(), reader=read):
    """The rows of the file `own`; where it is not there those of `committed`. None where there are none."""
    kinds, accept = tuple(kinds), tuple(accept)
    if own and own.exists():
        return reader(own, kinds, accept)
    parts = [reader(path, kinds, accept, committed=True) for path in files_of(kinds, committed)]
    return joined(parts)


def answering(committed):
    """Rows of danaus bench that answered forecasts, as they were then: kernels may have changed since."""
    return read_either(None, committed / ANSWERS, ["bench"], VERDICTS) or Results([], [])


def files_of(kinds, committed):
    return [path for path in sorted(committed.glob("*.jsonl")) if kind_of(path) in kinds]


def kind_of(path):
    """Of the first row; a file that holds no row has none."""
    try:
        return json.loads(contents(path).split(b"\n", 1)[0]).get("kind")
    except (ValueError, AttributeError):
        return None


def read_judged(path, kinds, accept=("passed",), committed=False):
    """The rows of a file, each with what danaus stale says of it in the verdicts.json beside: "age" in words, nothing
    where what made it is as it was; and "stale", whether the reader could measure it anew: no committed row."""
    found, said = read(path, kinds, accept, committed), verdicts(path)
    rows = []
    for number, row in enumerate(found.rows, 1):
        age = age_of(number, row, said, committed)
        rows.append({**row, "age": age, "stale": age == STALE})
    return Results(found.sources, rows)


def verdicts(path):
    """What danaus stale wrote of a file; None where it has not seen the file as it is."""
    try:
        said = json.loads((path.parent / "verdicts.json").read_bytes())[path.name]
        return said if said["crc32"] == zlib.crc32(contents(path)) else None
    except (OSError, ValueError, KeyError):
        return None


def age_of(number, row, said, committed):
    if said is None or number in said["unknown"]:
        return "of unknown age"
    if number not in said["stale"]:
        return ""
    return f"of revision {row['git']}" if committed else STALE


def age_words(rows):
    """Of some rows together; nothing where all are of the code as it is."""
    return "; ".join(sorted({row["age"] for row in rows if row.get("age")}))


def ages(rows):
    """How many rows are of which other age, likewise; of many ages together."""
    counts = Counter(row["age"] for row in rows if row.get("age"))
    if len(counts) > 3:
        return f"{counts.total()} of {len(counts)} revisions"
    return ", ".join(f"{count} {age}" for age, count in sorted(counts.items()))


def left_to_the_plan(case):
    """Whether the case says what is to be computed, and nothing about how."""
    fields = case_fields(case)
    return not (fields["fold"] or fields["zero"] or fields["factors"] or fields["n"])


def length_of(row):
    return case_fields(row["case"])["l"]


def at_fft_sizes(rows):
    """Those of lengths that are a power of two or three times one, with filters as long; other lengths are in the figure
    of lengths, other filters in Table 8."""
    def is_power(n):
        return n & (n - 1) == 0
    return [row for row in rows if (is_power(n := length_of(row)) or n % 3 == 0 and is_power(n // 3))
            and case_fields(row["case"])["k"] == n]


def by_device(rows):
    """{name: rows} of each device that has some, by name."""
    found = {}
    for row in sorted(rows, key=lambda row: row["device"]["name"]):
        found.setdefault(row["device"]["name"], []).append(row)
    return found


def short_name(device):
    """H200 of NVIDIA H200, H100 of NVIDIA H100 80GB HBM3."""
    return device.removeprefix("NVIDIA ").split()[0]


@functools.cache
def device_of(profile):
    """A profile of the repository says of which device it is; one that is not there is named as its device."""
    path = ROOT / "model" / "profiles" / f"{profile}.json"
    said = json.loads(path.read_text(encoding="utf-8"))["device"] if path.exists() else profile
    return re.split("[,;]", said)[0]


def by_case_and_device(predicted):
    """{(case, name of the profile's device): us} of rows of kind "model"."""
    return {(row["case"], device_of(row["profile"])): row["total_us"] for row in predicted}


def of_profiles(measured, predicted):
    """Of measured rows those of the devices that predicted ones are about."""
    about = {device_of(row["profile"]) for row in predicted}
    return [row for row in measured if row["device"]["name"] in about]


def us(row):
    """The median time in bursts."""
    return row["time_us"]["burst_cold"]["median"]


def floor_with_spectrum(row):
    """The time of a copy of all that a kernel must move: u, gates, y and its spectrum, [H, N] complex numbers of 16
    bits, which older rows do not say."""
    if "with_spectrum_us" in row["floor"]:
        return row["floor"]["with_spectrum_us"]
    spectrum_bytes = 4 * row.get("fft_size", 0) * case_fields(row["case"])["h"]
    return row["floor"]["us"] + 1e6 * spectrum_bytes / row["floor"]["copy_bytes_per_s"]


def passed(row):
    return row["verify"]["status"] == "passed"

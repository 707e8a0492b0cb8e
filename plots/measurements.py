"""Measured rows: the repository's and the reader's own, and which of them are stale."""

import functools
import hashlib
import json
import re
from pathlib import Path

from results import CONVOLUTIONS, Results, case_fields, contents, digest, joined, read

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "experiments" / "results"
VERDICTS = ("passed", "failed", "skipped")
BATCH, CHANNELS = 64, 768  # what long convolutions are brought to, of which as many do not fit
LONG = 1 << 16  # samples
ANSWERS = "answers"  # the folder of rows that answered forecasts
CUFFT = ("cufft_f32", "cufft_pairs")  # its two ways
OF_PLANS = ("kernel", "full_fft", "chunked_fft")  # methods that are kernels of this repository
# Older rows have one code of all baselines; this is what those that have not changed since were then.
ONE_CODE_OF_BASELINES = {"b4d689d65158": {
    "copy": "23f6a6c5ad50", "cufft_f32": "3b965fcee8fd", "cufft_pairs": "4108a353f9f3"}}


def read_all(own, committed, kind, accept):
    """Rows of `kind` in the files of the folder `committed`, and in the file `own`, which take their place where they
    ask the same of the same device; a stale row takes no fresh one's place. Each row says whether it is stale. None
    where there are no rows."""
    kinds, accept = (kind,), tuple(accept)
    parts = [read(path, kinds, accept, committed=True) for path in files_of(kinds, committed)]
    if own and own.exists():
        parts.append(read(own, kinds, accept))
    latest = {}
    for row in (row for part in parts for row in part.rows):
        row = {**row, "stale": is_stale(row)}
        place = row["case"], row["method"], row["device"]["name"]
        if not row["stale"] or latest.get(place, row)["stale"]:
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


def read_either(own, committed, kinds, accept=()):
    """The rows of the file `own`; where it is not there those of `committed`. None where there are none."""
    kinds, accept = tuple(kinds), tuple(accept)
    if own and own.exists():
        return read(own, kinds, accept)
    parts = [read(path, kinds, accept, committed=True) for path in files_of(kinds, committed)]
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


def is_stale(row):
    """Whether what was timed has changed since, or what timed it; of the latter rows from before they said it are
    silent, and only the former counts. A row of several families of kernels names them and has the code of each."""
    if row["method"] in OF_PLANS:
        code = code_of_families(row.get("families", [row.get("variant", "")]))
    else:
        code = code_of(row["method"], "")
    said = ONE_CODE_OF_BASELINES.get(row["code"], {}).get(row["method"], row["code"])
    return said != code or row.get("stopwatch", stopwatch()) != stopwatch()


def code_of_families(families):
    """What a row's field "code" is where the kernels of some families are as they were."""
    return "+".join(code_of("kernel", family) for family in families)


def stopwatch():
    """What a row's field "stopwatch" is where what times is as it was, likewise."""
    others = ("as_convolution|baselines/|bencher|checked_rows|contenders|every_row|judged_rows|parts|plan_runner"
              "|rearranged|runners|sweeps|timings|without_cuda|work")
    return digest_of("experiments/bench", "cmake",
                     but_for=f"experiments/bench/({others})|cmake/(danaus|dependencies|package)")


def all_kernels():
    """What a row's field "code" is where it is of all kernels that a GPU runs and these are as they were, likewise."""
    return digest_of("kernels", but_for="kernels/(executor|cpu)/")


@functools.cache
def code_of(method, variant):
    """What a row's field "code" is where its kernel, or its baseline, is as it was: the digest of
    experiments/revision.cmake. A variant's name begins with its family's, a baseline's with that of its file."""
    if method != "kernel":
        baseline = longest_beginning(method, baselines())
        return (digest_of_files(with_includes("experiments/bench/baselines", None, [baselines()[baseline]])) if baseline
                else "no baseline")
    family = longest_beginning(variant, families())
    return digest_of_files(what_runs(family)) if family else "no kernel"


def longest_beginning(word, names):
    """The longest of the names that `word` is, or begins with before an underscore."""
    return max((name for name in names if word == name or word.startswith(f"{name}_")), key=len, default=None)


def what_runs(family):
    """The names of the sources that run where kernels of a family are timed: its own, those of the filter's transform,
    what launches them, and all that these include, but for the executor and the host's side of a plan."""
    kernels = ROOT / "kernels"
    return with_includes("kernels", "kernels/(executor|plan)/", (
        *kernels.glob(f"families/{family}/*.[ch]pp"), *kernels.glob("families/spectrum/*.[ch]pp"),
        *kernels.glob("cuda/*")))


def with_includes(folder, but_for, paths):
    """The names of some files and of all that these include of a folder but for what `but_for` matches, with the
    sources beside."""
    pending = [path.relative_to(ROOT).as_posix() for path in paths]
    known = set()
    while pending:
        name = pending.pop()
        if name in known or not (ROOT / name).is_file():
            continue
        known.add(name)
        for header in re.findall(rf'^#include "({folder}/.*)"', (ROOT / name).read_text(), re.M):
            if not (but_for and re.match(but_for, header)):
                pending += [header, re.sub(r"[.][a-z]+$", ".cpp", header)]
    return known


@functools.cache
def families():
    return frozenset(path.parent.name for path in (ROOT / "kernels" / "families").glob("*/family.hpp"))


@functools.cache
def baselines():
    """The files of the baselines by their names."""
    folder = ROOT / "experiments" / "bench" / "baselines"
    return {path.stem: path for pattern in ("*.cpp", "*.cu") for path in folder.glob(pattern)}


@functools.cache
def digest_of(*folders, but_for=None):
    """Of the sources in some folders, without comments, blanks, tests, and files whose names `but_for` matches."""
    names = [path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*")
             if re.search(r"\.([ch]pp|cuh?|in|json|cmake)$", path.name)]
    return digest_of_files(name for name in names if not (but_for and re.match(but_for, name)))


def digest_of_files(names):
    lines = [f"{name} {hashlib.sha256(essence(ROOT / name)).hexdigest()}\n" for name in sorted(names)
             if not name.endswith("_test.cpp")]
    return digest("".join(lines).encode())


def essence(path):
    text = path.read_bytes()
    return re.sub(rb"[ \t\n]+", b"", text if path.suffix == ".json" else re.sub(rb"//[^\n]*", b"", text))


def left_to_the_plan(case):
    """Whether the case says what is to be computed, and nothing about how."""
    fields = case_fields(case)
    said = fields["fold"] or fields["zero"] or "factors" in fields or re.search(r"_n\d", case)
    return not said


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

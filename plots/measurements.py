"""Measured rows: the repository's and the reader's own, which of them are stale, and what others' programs take."""

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

from results import Refusal, Results, Source, case_fields, contents, digest, read

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "experiments" / "results"


def read_all(own, committed, kind, accept):
    """Rows of `kind` in the files of the folder `committed`, and in the file `own`, which take their place where they
    ask the same of the same device. None where there are none. Each row says whether it is stale."""
    parts = [read(path, kind, accept) for path in sorted(committed.glob("*.jsonl")) if kind_of(path) == kind]
    if own and own.exists():
        parts.append(read(own, kind, accept))
    latest = {}
    for row in (row for part in parts for row in part.rows):
        latest[row["case"], row["method"], row["device"]["name"]] = row
    code = {True: digest_of("kernels", "kernels/host"), False: digest_of("experiments/baselines")}
    rows = [{**row, "stale": row["code"] != code[row["method"] == "kernel"]} for row in latest.values()]
    return Results([source for part in parts for source in part.sources], rows) if rows else None


def kind_of(path):
    """Of the first row; a file that holds no row has none."""
    try:
        return json.loads(contents(path).split(b"\n", 1)[0]).get("kind")
    except (ValueError, AttributeError):
        return None


def digest_of(folder, but_for=None):
    """Of the sources in a folder: the same as experiments/revision.cmake, and so as the field "code" of a row."""
    names = (path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*")
             if re.search(r"\.([ch]pp|cuh?|in|json)$", path.name))
    lines = [f"{name} {hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}\n" for name in sorted(names)
             if not (but_for and name.startswith(but_for + "/"))]
    return digest("".join(lines).encode())


@dataclass(frozen=True)
class Peer:
    """A time that another program takes for a forward convolution, its filter's transform not included."""
    name: str
    dtype: str
    us: float
    scaled: bool  # brought linearly to B=64, H=768 from fewer rows
    note: str

    def label(self):
        return self.name if "fp" in self.name else f"{self.name} ({'fp16' if self.dtype == 'f16' else self.dtype})"


class Peers:
    """The file of peers, all measured on one kind of device: lines of comment, then a table."""

    DEVICE = "H200"

    def __init__(self, path):
        raw = contents(path)
        lines = [line for line in raw.decode().splitlines() if not line.startswith("#")]
        self.source = Source(path, digest(raw), [])
        self.times = {}
        try:
            for row in csv.DictReader(io.StringIO("\n".join(lines))):
                if (row["pass"], row["filter"], row["status"]) == ("fwd", "not timed", "ok") and row["scaled_us"]:
                    place = row["mode"], row["gated"] == "1", int(row["length"])
                    scaled = (row["batch"], row["channels"]) != ("64", "768")
                    peer = Peer(row["peer"], row["dtype"], float(row["scaled_us"]), scaled, row["note"])
                    self.times.setdefault(place, []).append(peer)
        except (KeyError, ValueError) as error:
            raise Refusal(f"{path}: is no table of peers: {error}") from error

    def of(self, row):
        """The fastest time of each peer and type for a row's case on its device; there are such for B=64, H=768, with
        both gates or none."""
        fields = case_fields(row["case"])
        here = self.DEVICE in row["device"]["name"] and fields["k"] == fields["l"]
        fastest = {}
        if here and (fields["b"], fields["h"]) == (64, 768) and len(fields["gates"]) != 1:
            for peer in self.times.get((fields["mode"], bool(fields["gates"]), fields["l"]), []):
                name = peer.name, peer.dtype
                fastest[name] = min(peer, fastest.get(name, peer), key=lambda each: each.us)
        return list(fastest.values())

    def best(self, row):
        """The fastest of all, in either 16-bit type; none where none did the case."""
        return min(self.of(row), key=lambda peer: peer.us, default=None)


def left_to_the_plan(case):
    """Whether the case says what is to be computed, and nothing about how."""
    fields = case_fields(case)
    said = fields["fold"] or fields["zero"] or "factors" in fields or re.search(r"_n\d", case)
    return not said


def passed(row):
    return row["verify"]["status"] == "passed"

"""Result files: one JSON object a line. A row that cannot be trusted is refused, not left out."""

import csv
import functools
import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from jsonschema import Draft202012Validator

SCHEMA = 1
SCHEMAS = Path(__file__).resolve().parents[1] / "experiments" / "results" / "schemas"


class Refusal(Exception):
    """A result file that must not be drawn, and why, in one line."""


@dataclass(frozen=True)
class Source:
    """A file, and what of it is shown."""
    path: Path
    digest: str  # first 12 hexadecimal digits of its SHA-256
    rows: list = field(compare=False, repr=False)
    committed: bool = False  # part of the repository, not made by the reader


@dataclass(frozen=True)
class Results:
    sources: list
    rows: list
    others: tuple = ()  # what is shown beside the rows

    def distinct(self, field):
        """The different values of a field over all rows, in order of appearance; rows without it do not count."""
        return list({json.dumps(row[field]): row[field] for row in self.rows if field in row}.values())

    def beside(self, others):
        """The same rows; where others come from is named too."""
        return Results(self.sources, self.rows, tuple(others))

    def revision(self):
        """The sources that the rows were made from, in words."""
        revisions = {(row["git"], row.get("dirty", False)) for row in self.rows if "git" in row}
        if len(revisions) > 1:
            return f"{len(revisions)} git revisions"
        for git, dirty in revisions:
            return f"git {git[:12]}" + (" with changes" if dirty else "")
        return "git unknown"

    def machine(self):
        """The device that timed the rows, else the host that computed them."""
        for block, key in (("device", "name"), ("host", "cpu")):
            names = [value if isinstance(value, str) else value.get(key, "unknown") for value in self.distinct(block) if value]
            if names:
                return names_of(names)
        return "machine unknown"

    def dates(self):
        """The day, or the first and the last, on which rows were made; nothing where no row says."""
        days = sorted({row["date"] for row in self.rows if "date" in row})
        return [f"{days[0]} to {days[-1]}" if days[0] != days[-1] else days[0]] if days else []

    def made_by(self):
        """Machine, day and revision, and whether any of it comes with the repository."""
        profiles = [name for name in self.distinct("profile") if isinstance(name, str)]
        about = [f"predicted for {names_of(profiles)}"] if profiles else []
        words = ", ".join([self.machine(), *about, *self.dates(), self.revision()])
        committed = any(source.committed and source.rows for source in self.sources)
        return f"committed rows of {words}" if committed else words

    def all_sources(self):
        beside = (other.all_sources() if isinstance(other, Results) else other.sources for other in self.others)
        return list(dict.fromkeys([*self.sources, *(source for sources in beside for source in sources)]))

    def all_made_by(self):
        beside = (words for other in self.others if isinstance(other, Results) for words in other.all_made_by())
        return list(dict.fromkeys([*([self.made_by()] if self.rows else []), *beside]))

    def caption(self):
        """Of a figure: what made its rows."""
        return "; ".join(self.all_made_by())

    def footer(self):
        files = (f"{source.path.name}, sha256 {source.digest}" for source in self.all_sources())
        return f"{self.caption()}  |  {'; '.join(files)}"


def names_of(names):
    """Up to three different ones, else how many."""
    names = sorted(set(names))
    return " and ".join(names) if len(names) <= 3 else f"{len(names)} machines"


def joined(parts, rows=None):
    """All rows of several results, or those made of them, with the sources of all. None where there are no parts."""
    if not parts:
        return None
    every = [row for part in parts for row in part.rows] if rows is None else list(rows)
    return Results([source for part in parts for source in part.sources], every)


@functools.cache
def read(path, kinds, accept=("passed",), committed=False):
    """All rows of a file, each of this schema, one of `kinds` and as the schema of its kind says, and with a verdict in
    `accept` where it has one."""
    raw = contents(path)
    rows = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            rows.append(checked(json_object(line), kinds, accept))
        except ValueError as error:
            raise Refusal(f"{path}, line {number}: {error}") from None
    if not rows:
        raise Refusal(f"{path}: has no rows")
    return Results([Source(path, digest(raw), rows, committed)], rows)


def json_object(line):
    """Raises ValueError, as all below, where it is none; NaN and infinities are no JSON."""
    try:
        row = json.loads(line, parse_constant=not_finite, parse_float=finite)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object")
    return row


def not_finite(word):
    raise ValueError(f"holds {word}, must be a finite number or null")


def finite(word):
    number = float(word)
    return number if math.isfinite(number) else not_finite(word)


def checked(row, kinds, accept):
    if row.get("schema") != SCHEMA:
        raise ValueError(f"schema {row.get('schema')}, must be {SCHEMA}")
    kind = row.get("kind")
    if kind not in kinds:
        raise ValueError(f"kind {kind!r}, must be {' or '.join(map(repr, kinds))}")
    for error in validator(kind).iter_errors(row):
        raise ValueError(complaint(cause(error)))
    if kind == "bench" and row["method"] == "kernel" and row["verify"]["status"] == "passed" and "variant" not in row:
        raise ValueError(f"{row['case']} lacks the field 'variant', the kernel that was timed")
    if "case" in row:
        learn(row["case"], row["asked"])
    if "verify" in row and row["verify"]["status"] not in accept:
        raise ValueError(f"{row.get('case')} is {row['verify']['status']}, must be {' or '.join(accept)}")
    return row


@functools.cache
def validator(kind):
    path = SCHEMAS / f"{kind}.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


RULES = {"type": "of type {}", "enum": "one of {}", "const": "{}", "minimum": "at least {}",
         "exclusiveMinimum": "above {}", "maximum": "at most {}", "minItems": "a list of {} or more",
         "minLength": "a string of {} or more", "pattern": "as {}"}


def cause(error):
    """Of a value that is none of several, what keeps it from being the one that it says it is."""
    while error.context:
        others = {}  # by the one that it might be
        for each in error.context:
            others.setdefault(each.schema_path[0], []).append(each)
        error = min(others.values(), key=lambda those: sum(1 + 9 * (each.validator in ("const", "enum", "type"))
                                                           for each in those))[0]
    return error


def complaint(error):
    """What a validator found wrong, with the name of the field."""
    place = [str(part) for part in error.absolute_path]
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"lacks the field '{'.'.join([*place, missing])}'"
    if error.validator == "additionalProperties" and error.validator_value is False:
        unknown = next(name for name in error.instance if name not in error.schema["properties"])
        return f"has a field '{'.'.join([*place, unknown])}' that such rows have not"
    said, wanted = json.dumps(error.instance), error.validator_value
    if isinstance(wanted, list):
        wanted = " or ".join(value if isinstance(value, str) else json.dumps(value) for value in wanted)
    rule = RULES.get(error.validator, f"as its schema says ({error.validator} {{}})").format(wanted)
    return f"'{'.'.join(place)}' is {said if len(said) <= 40 else said[:37] + '...'}, must be {rule}"


@functools.cache
def read_table(path, columns, made_from):
    """A committed .csv: lines of comment, then a table. Its source, and made_from(row) of every row."""
    raw = contents(path)
    table = csv.DictReader((line for line in text(path).splitlines() if not line.startswith("#")), strict=True)
    rows = []
    try:
        lacking = [column for column in columns if column not in (table.fieldnames or [])]
        if lacking:
            raise Refusal(f"{path}: lacks the column '{lacking[0]}'")
        for row in table:
            if None in row or None in row.values():
                raise ValueError(f"has not the {len(table.fieldnames)} columns that the table has")
            rows.append(made_from(row))
    except (ValueError, ArithmeticError, csv.Error) as error:
        raise Refusal(f"{path}, row {len(rows) + 1} of the table: {error}") from error
    return Source(path, digest(raw), [], committed=True), rows


def number(word, kind=float):
    """Of a cell. Raises ValueError where it is no number, or none that is finite."""
    value = kind(word)
    if not math.isfinite(value):
        not_finite(word)
    return value


def contents(path):
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None


def text(path):
    try:
        return contents(path).decode()
    except UnicodeDecodeError as error:
        raise Refusal(f"{path}: is no text in UTF-8: {error.reason} at byte {error.start}") from None


def digest(raw):
    return hashlib.sha256(raw).hexdigest()[:12]


CONVOLUTIONS = ("fftconv", "fftconvgrad", "fftconvstep")  # the operation itself, its gradients, both
GATES = ("pregate", "postgate")
LISTS = {"c": "channels", "l": "lengths", "m": "modes", "r": "factors"}
MASKS = {"zero": "", "keep": "keep", "blocks": "blocks"}  # fields of a mask, and what their words begin with here


class Asked(dict):
    """What a case asks: the fields that its rows carry, and what follows from them. None of what is left out.

    Lists have names of their own: channels, lengths, modes, factors. "gates" lists the gates, "zero" is the mask. K is L
    where the row has none.
    """

    def __init__(self, asked):
        for name, value in asked.items():
            if isinstance(value, list):
                self[LISTS[name]] = tuple(value)
            else:
                self[name] = value
        self["gates"] = [gate for gate in GATES if gate in asked]
        self["zero"] = next((word + asked[name] for name, word in MASKS.items() if name in asked), None)
        self.setdefault("l", (self["lengths"] or (None,))[0])
        self.setdefault("k", self["l"])

    def __missing__(self, name):
        return None

    def fft_size(self):
        """As the case has it, or the product of its factors (twice that for the half fold), or L."""
        if self["n"] or not self["factors"]:
            return self["n"] or self["l"]
        return math.prod(self["factors"]) * (2 if self["fold"] == "half" else 1)


_ASKED = {}  # by the token


def learn(case, fields):
    """What the token asks, of a row that carries it."""
    if case not in _ASKED:
        _ASKED[case] = Asked(fields)


def case_fields(case):
    """What the case of a row asks. Raises ValueError where no row with this token was read."""
    if case not in _ASKED:
        raise ValueError(f"case '{case}' is of no row")
    return _ASKED[case]

"""Result files: one JSON object a line. A row that cannot be trusted is refused, not left out."""

import csv
import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = 1


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
            names = [value.get(key, "unknown") for value in self.distinct(block) if value]
            if names:
                return names[0] if len(set(names)) == 1 else f"{len(set(names))} machines"
        return "machine unknown"

    def dates(self):
        """The day, or the first and the last, on which rows were made; nothing where no row says."""
        days = sorted({row["date"] for row in self.rows if "date" in row})
        return [f"{days[0]} to {days[-1]}" if days[0] != days[-1] else days[0]] if days else []

    def made_by(self):
        """Machine, day and revision, and whether any of it comes with the repository."""
        words = ", ".join([self.machine(), *self.dates(), self.revision()])
        committed = any(source.committed and source.rows for source in self.sources)
        return f"committed rows of {words}" if committed else words

    def all_sources(self):
        beside = (other.all_sources() if isinstance(other, Results) else other.sources for other in self.others)
        return list(dict.fromkeys([*self.sources, *(source for sources in beside for source in sources)]))

    def all_made_by(self):
        beside = (words for other in self.others if isinstance(other, Results) for words in other.all_made_by())
        return list(dict.fromkeys([*([self.made_by()] if self.rows else []), *beside]))

    def footer(self):
        files = (f"{source.path.name}, sha256 {source.digest}" for source in self.all_sources())
        return f"{'; '.join(self.all_made_by())}  |  {'; '.join(files)}"


def read(path, kinds, accept=("passed",), committed=False):
    """All rows of a file, each of this schema and one of `kinds`, and with a verdict in `accept` where it has one."""
    raw = contents(path)
    rows = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise Refusal(f"{path}, line {number}: is not a JSON object")
        if row.get("schema") != SCHEMA:
            raise Refusal(f"{path}, line {number}: schema {row.get('schema')}, must be {SCHEMA}")
        if row.get("kind") not in kinds:
            expected = " or ".join(map(repr, kinds))
            raise Refusal(f"{path}, line {number}: kind {row.get('kind')!r}, must be {expected}")
        status = row.get("verify", {}).get("status")
        if status is not None and status not in accept:
            raise Refusal(f"{path}, line {number}: {row.get('case')} is {status}, must be {' or '.join(accept)}")
        rows.append(row)
    if not rows:
        raise Refusal(f"{path}: has no rows")
    return Results([Source(path, digest(raw), rows, committed)], rows)


def read_table(path, columns, made_from):
    """A committed .csv: lines of comment, then a table. Its source, and made_from(row) of every row."""
    raw = contents(path)
    lines = [line for line in raw.decode().splitlines() if not line.startswith("#")]
    table = csv.DictReader(io.StringIO("\n".join(lines)))
    lacking = [column for column in columns if column not in (table.fieldnames or [])]
    if lacking:
        raise Refusal(f"{path}: lacks the column '{lacking[0]}'")
    rows = []
    for number, row in enumerate(table, start=1):
        try:
            rows.append(made_from(row))
        except (TypeError, ValueError) as error:
            raise Refusal(f"{path}, row {number} of the table: {error}") from error
    return Source(path, digest(raw), [], committed=True), rows


def contents(path):
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None


def digest(raw):
    return hashlib.sha256(raw).hexdigest()[:12]


def case_fields(token):
    """What a drawing needs of a case token: {"dtype", "mode", "l", "k", "b", "h", "n", "fold", "factors", ...}.

    K is L where the token has none. N is spelled in it, or is the product of its factors (twice that for the half
    fold), or is L.
    """
    fields = {"gates": [], "fold": None, "zero": None}
    for word in token.split("_")[1:]:
        if word in ("f16", "bf16", "f32", "f64"):
            fields["dtype"] = word
        elif word in ("circular", "causal"):
            fields["mode"] = word
        elif word in ("plain", "pair", "half", "rightangle"):
            fields["fold"] = word
        elif word in ("pregate", "postgate"):
            fields["gates"].append(word)
        elif word.startswith("zero"):
            fields["zero"] = word[4:]
        elif word[0] == "r":
            fields["factors"] = [int(factor) for factor in word[1:].split("x")]
        else:
            fields[word[0]] = int(word[1:])
    fields.setdefault("k", fields["l"])
    if "n" not in fields:
        fields["n"] = fields["l"]
        if "factors" in fields:
            fields["n"] = 2 if fields["fold"] == "half" else 1
            for factor in fields["factors"]:
                fields["n"] *= factor
    return fields

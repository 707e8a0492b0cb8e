"""What a judge says: rows, a short text, a page, an exit code."""

import datetime
import html
import json
import platform
from pathlib import Path

from danaus._version import __version__
from danaus.rows import asked

# Checks in the order of the report, and what each asks.
CHECKS = {
    "values": "values by row, ordinary data",
    "loudness": "values by row, each row of its own loudness and kind",
    "impulse": "values by row, one sample in a row",
    "class": "arithmetic inside",
    "gradients": "gradients by row and channel",
    "causality": "outputs before a change",
    "rows": "rows by themselves",
    "channels": "channels by themselves",
    "linearity": "sums and multiples",
    "shift": "shifted samples",
    "not_finite": "NaN and infinity",
    "repeatability": "bits of repeated calls",
    "finished": "results that are complete and stay",
    "threads": "calls from several threads",
    "streams": "calls on two streams",
    "load": "calls under load",
    "after": "calls after other kernels",
    "filters": "filters that change",
    "views": "inputs that are views",
    "inputs": "inputs left unchanged",
    "outputs": "shape, type and memory of outputs",
    "writes": "writes beside its arrays",
    "raises": "errors",
    "hangs": "time limit",
    "crashes": "its process",
    "memory": "memory at its peak and kept",
}
STATUSES = ("passed", "failed", "skipped")


class Rejected(AssertionError):
    """A candidate failed a check; report has everything."""

    def __init__(self, report):
        super().__init__(report.text())
        self.report = report


class Report:
    """The findings of a judge.

    rows      dicts, one for each check and one for each measured time, as experiments/results/schemas/judge.schema.json
              of the sources says
    passed    whether no check failed, and at least one case was right
    """

    def __init__(self, candidate, operation, arrays):
        self.candidate, self.operation, self.arrays = candidate, operation, arrays
        self.rows, self.notes = [], []
        self.date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.versions = {"danaus": __version__, "python": platform.python_version()}

    def add(self, check, status, text, **fields):
        row = {"schema": 1, "kind": "judge", "candidate": self.candidate, "operation": self.operation,
               "arrays": self.arrays, "check": check, "status": status, "text": text, **fields,
               "date": self.date, "versions": self.versions}
        if row.get("case"):
            row["asked"] = asked(row["case"])
        self.rows.append({name: value for name, value in row.items() if value is not None})

    @property
    def checks(self):
        return {row["check"]: row for row in self.rows if row["check"] != "time"}

    @property
    def times(self):
        return [row for row in self.rows if row["check"] == "time"]

    @property
    def failed(self):
        """Names of the checks that failed."""
        return [check for check, row in self.checks.items() if row["status"] == "failed"]

    @property
    def passed(self):
        right = any(row["status"] == "passed" for check, row in self.checks.items() if check != "memory")
        return right and not self.failed

    @property
    def exit_code(self):
        return 0 if self.passed else 1

    def raise_if_failed(self):
        """Raises Rejected where a check failed."""
        if not self.passed:
            raise Rejected(self)

    def text(self):
        """A few lines: the verdict, each check, the smallest failing case with lines that repeat it."""
        verdict = "passed" if self.passed else "failed: " + ", ".join(self.failed) if self.failed else "failed"
        lines = [f"{self.candidate}: {self.operation}, {self.arrays}: {verdict}"]
        width = max(map(len, CHECKS))
        lines += [f"  {check:{width}}  {row['status']:7}  {row['text']}" for check, row in self.checks.items()]
        for row in self.times:
            lines.append(f"  {'time':{width}}  {row['us']:9.1f} us  {row['text']}")
        lines += [f"  {note}" for note in self.notes]
        for row in self._shown():
            lines += ["", f"{row['check']}, smallest case {row['case']}:", *(f"  {line}" for line in row["repeat"])]
        return "\n".join(lines)

    __str__ = text

    def _shown(self):
        """At most three failures with lines that repeat them."""
        return [row for row in self.checks.values() if row["status"] == "failed" and row.get("repeat")][:3]

    def markdown(self):
        """A page."""
        cell = "| {} | {} | {} |".format
        lines = [f"# {self.candidate}", "", f"Operation `{self.operation}`, arrays of {self.arrays}, {self.date}. "
                 f"{'Passed.' if self.passed else 'Failed.'}", "", cell("check", "verdict", "what was seen"),
                 "| --- | --- | --- |"]
        for check, row in self.checks.items():
            lines.append(cell(CHECKS[check], row["status"], row["text"].replace("|", "\\|")))
        if self.times:
            lines += ["", cell("method", "microseconds", "case"), "| --- | --- | --- |"]
            lines += [cell(row["method"], f"{row['us']:.1f}", f"`{row['case']}`") for row in self.times]
        for note in self.notes:
            lines += ["", note]
        for row in self._shown():
            lines += ["", f"## {CHECKS[row['check']]}", "", f"Smallest case: `{row['case']}`.", "", "```python",
                      *row["repeat"], "```"]
        return "\n".join(lines) + "\n"

    def html(self):
        """The same page for a browser."""
        def table(head, rows):
            cells = ["".join(f"<{tag}>{html.escape(str(each))}</{tag}>" for each in row)
                     for tag, row in [("th", head), *(("td", row) for row in rows)]]
            return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"

        parts = [f"<h1>{html.escape(self.candidate)}</h1>",
                 f"<p>{html.escape(self.operation)}, {html.escape(self.arrays)}, {self.date}: "
                 f"{'passed' if self.passed else 'failed'}</p>",
                 table(("check", "verdict", "what was seen"),
                       [(CHECKS[check], row["status"], row["text"]) for check, row in self.checks.items()])]
        if self.times:
            parts.append(table(("method", "microseconds", "case"),
                               [(row["method"], f"{row['us']:.1f}", row["case"]) for row in self.times]))
        parts += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        for row in self._shown():
            parts.append(f"<h2>{html.escape(CHECKS[row['check']])}</h2><p>{html.escape(row['case'])}</p>"
                         f"<pre>{html.escape(chr(10).join(row['repeat']))}</pre>")
        return ("<!doctype html><meta charset=utf-8><title>danaus.judge</title><style>body{font:16px sans-serif;"
                "max-width:60em;margin:2em auto}td,th{text-align:left;padding:2px 1em 2px 0;vertical-align:top}"
                "</style>" + "\n".join(parts) + "\n")

    def write(self, path):
        """By the end of the name: .jsonl rows, .md and .html a page, anything else the text."""
        path = Path(path)
        contents = {".jsonl": lambda: "".join(json.dumps(row) + "\n" for row in self.rows), ".md": self.markdown,
                    ".html": self.html}.get(path.suffix, lambda: self.text() + "\n")()
        path.write_text(contents, encoding="utf-8")

"""Result files with one thing wrong: one line that says what and where, exit code 2, and nothing drawn."""

import contextlib
import copy
import io
import json
import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
from rows import (bench_row, check_row, counters_row, explore_rows, factors_row, field_rows, forecast_row, good_rows,
                  measured_rows, memory_row, model_row, partial_row, prediction_rows, verify_row, ways_rows,
                  what_if_rows)

import make
import measurements
import results

MISSING = object()
REPLACEMENTS = {"null": None, "a list": [], "a string": "text", "a number": 7, "NaN": math.nan, "missing": MISSING}
CASE = "fftconv_f16_circular_l256_b1_h1_r16x16"

# What reads rows of a kind, and good ones; the last of them is damaged.
READERS = {
    "prediction": (["judgement", "resources"], "predictions.jsonl", prediction_rows()),
    "verify": (["error"], "error.jsonl", [verify_row(CASE), verify_row(CASE)]),
    "model": (["figure4"], "model.jsonl", [model_row("A100-40GB", 1024, [32, 32], "sram"),
                                           model_row("H200", 1024, [32, 32], "sram")]),
    "factors": (["factors"], "factors.jsonl", [factors_row()]),
    "bench": (["time-over-floor"], "bench.jsonl", measured_rows()[:3]),
    "what_if": (["what-if"], "what_if.jsonl", what_if_rows()[::-1]),
    "field": (["fields"], "fields.jsonl", field_rows()),
    "explore": (["sparsity-spectrum"], "explore.jsonl", explore_rows()[:2]),
}
# Of these there are tables only.
TABLES = {
    "counters": ("counters.jsonl", [counters_row()]),
    "check": ("checks.jsonl", [check_row("memcheck"), check_row()]),
    "memory": ("memory.jsonl", [memory_row(1024, True), memory_row(1024, False)]),
    "forecast": ("forecast.jsonl", [forecast_row(12), forecast_row(11)]),
    "ways": ("ways.jsonl", ways_rows()),
    "partial": ("partial.jsonl", [partial_row(512, 560, 20), partial_row(256, 550, 12.5)]),
}


def places(value, path=()):
    """The paths to all fields of a row; of a list to its first element."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, each in inside:
        yield (*path, name)
        yield from places(each, (*path, name))


def damaged(row, path, replacement):
    row = copy.deepcopy(row)
    block = row
    for name in path[:-1]:
        block = block[name]
    if replacement is MISSING:
        del block[path[-1]]
    else:
        block[path[-1]] = replacement
    return row


class DamagedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        self.committed = self.data / "committed"
        self.committed.mkdir()
        for table in measurements.COMMITTED.glob("*.csv"):
            (self.committed / table.name).write_bytes(table.read_bytes())
        self.addCleanup(results.read.cache_clear)
        results.read_table.cache_clear()

    def run_on(self, file, rows, words):
        """The exit code, the complaint and the figures of make.py, which are not saved."""
        results.read.cache_clear()
        (self.data / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
        said, figures = io.StringIO(), []
        with mock.patch("make.write_figures", lambda sections, _: figures.extend(
                figure for section in sections for figure in section.figures.values())), \
                mock.patch("make.report.FORMS", ("wide",)), \
                contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = make.run(["--data", str(self.data), "--committed", str(self.committed), "--out",
                             str(self.data / "out"), *words])
        (self.data / file).unlink()
        return code, said.getvalue(), figures

    def every_damage(self, kind, file, rows, words):
        has_schema = (results.SCHEMAS / f"{kind}.schema.json").exists()
        code, said, _ = self.run_on(file, rows, words)
        self.assertEqual(code, 0, said)
        for path in places(rows[-1]):
            for name, replacement in REPLACEMENTS.items():
                field = ".".join(map(str, path))
                with self.subTest(kind=kind, field=field, replacement=name):
                    row = damaged(rows[-1], path, replacement)
                    allowed = name != "NaN" and results.validator(kind).is_valid(row)
                    code, said, figures = self.run_on(file, [*rows[:-1], row], words)
                    if code == 0:
                        self.assertTrue(allowed or not has_schema)
                        self.assertNotEqual(name, "NaN")
                    else:
                        self.assertEqual((code, said.splitlines()[:-1]), (2, []))
                    if has_schema and not allowed:
                        self.assertIn(f"{file}, line {len(rows)}: ", said)
                        named = [part for part in path if isinstance(part, str)][-1]
                        self.assertIn("holds NaN" if name == "NaN" else named, said)
                    if kind == "prediction":
                        self.assert_finite(figures)

    def assert_finite(self, figures):
        for figure in figures:
            for line in (line for axes in figure.axes for line in axes.lines):
                self.assertTrue(np.isfinite(line.get_xydata()).all(), line)

    def test_a_damaged_field_is_named(self):
        for kind, (entries, file, rows) in READERS.items():
            self.every_damage(kind, file, rows, entries)

    def test_a_damaged_field_of_a_table_s_row_is_named(self):
        for kind, (file, rows) in TABLES.items():
            self.every_damage(kind, file, rows, ["--report", str(self.data / "report.html")])

    def refusal(self, rows, words, file="predictions.jsonl"):
        code, said, _ = self.run_on(file, rows, words)
        self.assertEqual(code, 2)
        return said

    def test_says_what_is_wrong_and_what_must_be(self):
        rows = prediction_rows()

        def said_of(path, value):
            return self.refusal([rows[0], damaged(rows[1], path, value)], ["judgement"])
        self.assertIn("predictions.jsonl, line 2: lacks the field 'counted.resources_us.hbm'",
                      said_of(("counted", "resources_us", "hbm"), MISSING))
        self.assertIn("line 2: 'measured_us' is null, must be of type number", said_of(("measured_us",), None))
        self.assertIn("line 2: 'measured_us' is -1, must be at least 1e-06", said_of(("measured_us",), -1))
        self.assertIn("line 2: 'clock_mhz' is true, must be of type number or null", said_of(("clock_mhz",), True))
        self.assertIn("line 2: 'dtype' is \"f64\", must be one of f16 or bf16", said_of(("dtype",), "f64"))
        self.assertIn("line 2: 'factors.1' is 2.5, must be of type integer", said_of(("factors", 1), 2.5))
        self.assertIn("line 2: has a field 'eq2_paper.error' that such rows have not",
                      said_of(("eq2_paper", "error"), 1))
        self.assertIn("line 2: lacks the field 'asked.operation'", said_of(("asked", "operation"), MISSING))
        self.assertIn("line 2: holds NaN, must be a finite number or null", said_of(("measured_us",), math.nan))
        self.assertIn("line 2: holds -Infinity, must be", said_of(("measured_us",), -math.inf))

    def test_a_number_that_is_no_double_is_refused(self):
        (self.data / "predictions.jsonl").write_text(
            json.dumps(prediction_rows()[0]).replace('"measured_us": 50', '"measured_us": 1e999') + "\n")
        with self.assertRaisesRegex(results.Refusal, "holds 1e999, must be a finite number"):
            results.read(self.data / "predictions.jsonl", ("prediction",))

    def test_a_kind_that_is_no_word_is_refused(self):
        for kind in ([], {}, None, 7, "../prediction"):
            row = {**prediction_rows()[0], "kind": kind}
            self.assertIn("must be 'prediction'", self.refusal([row], ["judgement"]))

    def test_an_element_outside_its_matrix_is_refused(self):
        for place in (-1, 2):
            row = damaged(factors_row(), ("matrices", 0, "nonzeros", 0, 1), place)
            self.assertRegex(self.refusal([row], ["factors"], "factors.jsonl"),
                             f"at 0, {place}, must be within 2 x 2|nonzeros.0.1' is {place}, must be at least 0")
        row = damaged(factors_row(), ("matrices", 0, "rows"), 10 ** 9)
        self.assertIn("stage 1 has 1000000000 x 2 elements, must be", self.refusal([row], ["factors"], "factors.jsonl"))

    def test_every_schema_takes_the_committed_rows_and_those_of_these_tests(self):
        for path in results.SCHEMAS.glob("*.schema.json"):
            kind = path.name.split(".")[0]
            results.Draft202012Validator.check_schema(json.loads(path.read_text()))
            for file in measurements.files_of([kind], measurements.COMMITTED):
                results.read(file, (kind,), measurements.VERDICTS, committed=True)
        for rows in (*good_rows().values(), measured_rows(), [counters_row()], [bench_row(CASE, "kernel", 1)]):
            for row in rows:
                self.assertEqual([], [error.message for error in results.validator(row["kind"]).iter_errors(row)])

    def test_a_table_that_is_damaged_is_refused(self):
        good = (self.committed / "h200_peers.csv").read_text()
        header = next(line for line in good.splitlines() if not line.startswith("#"))
        fields = header.split(",")
        first = next(line for line in good.splitlines() if ",fwd," in line and line.endswith(",ok,"))
        for damage, words in (
                (first.replace(",64,768,", ",0,768,"), "row 1 of the table: "),
                (first + ",more", "row 1 of the table: has not the"),
                (first.rsplit(",", 3)[0], f"row 1 of the table: has not the {len(fields)} columns"),
                ('"' + first, "row 1 of the table: ")):
            (self.committed / "h200_peers.csv").write_text(f"{header}\n{damage}\n")
            results.read_table.cache_clear()
            self.assertIn(words, self.refusal(measured_rows(), ["time-over-floor"], "bench.jsonl"), damage)
        (self.committed / "h200_peers.csv").write_bytes(b"\xff\xfe")
        results.read_table.cache_clear()
        self.assertIn("is no text in UTF-8", self.refusal(measured_rows(), ["time-over-floor"], "bench.jsonl"))
        paper = self.committed / "paper_tables.csv"
        paper.write_text(paper.read_text().replace("11,256,,0.43", "11,256,,nan"))
        results.read_table.cache_clear()
        self.assertIn("row 19 of the table: holds nan, must be a finite number",
                      self.refusal(good_rows()["model.jsonl"], ["figure4"], "model.jsonl"))


if __name__ == "__main__":
    unittest.main()

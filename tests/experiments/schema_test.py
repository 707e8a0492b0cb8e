"""Every kind of row that the program writes, and every committed row, against its JSON Schema.

  schema_test.py PROGRAM [unittest's own arguments]
"""

import copy
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results"
SCHEMAS = RESULTS / "schemas"
KERNEL_CASE = "fftconv_f16_circular_l512_b3_h2"
OTHER_CASES = ["--case", "fftconvgrad_f16_circular_l512_b3_h2_postgate", "--case", "fftconv_f16_causal_l40000_b1_h1",
               "--case", "spectral_f32_tf32_b2_c5x4_l32_m8", "--case", "shortconv_f16_causal_k40_l600_b2_h3",
               "--case", "shortconvgrad_bf16_same_k4_l64_b2_h9_bias_channelslast", "--case",
               "ssmconv_f16_s8_l600_b2_h3_final"]
WRITTEN_WITHOUT_A_GPU = {"verify", "count", "model", "forecast", "memory", "what_if", "factors", "convolve", "list",
                         "info", "random", "check", "explore", "partial", "decode", "ways", "field"}
# What models are judged by is written by the plots' side.
OF_OTHERS = {"prediction", "choice", "summary"}
# tests/python/ holds what writes them to these: judge_*_test.py, and where PyTorch is examples_test.py.
OF_PYTHON = {"host_cost", "training", "masked_model", "judge", "judge_model"}


def schema_of(kind):
    return json.loads((SCHEMAS / f"{kind}.schema.json").read_text())


def kinds():
    return {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")} - OF_OTHERS


def errors(row, kind=None):
    validator = jsonschema.Draft202012Validator(schema_of(kind or row["kind"]))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(row)]


def npy(values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def rows_of(*words):
    ran = subprocess.run([PROGRAM, *words, "--json", "-"], capture_output=True, text=True)
    assert ran.returncode == 0, f"{words}: exit code {ran.returncode}: {ran.stderr}"
    return [json.loads(line) for line in ran.stdout.splitlines()]


def written_rows():
    """Some of every kind that needs no GPU, with as different fields as a kind has."""
    rows = [
        *rows_of("verify", "--case", KERNEL_CASE, "--case", "fftconv_f16_causal_l64_b1_h1", "--scaling", "one_side"),
        *rows_of("verify", "--case", KERNEL_CASE),
        *rows_of("verify", *OTHER_CASES),
        *rows_of("decode", "--case", "fftconv_f16_causal_l300_b1_h8"), *rows_of("random", "--count", "3"), *rows_of("random", "--operation", "fftconvgrad", "--count", "2"),
        *rows_of("count", "--case", KERNEL_CASE, "--case", "fftconv_bf16_causal_l512_b1_h1"),
        *rows_of("count", *OTHER_CASES),
        *rows_of("model", "--case", KERNEL_CASE), *rows_of("model", *OTHER_CASES, "--profile", "H200"),
        *rows_of("model", "--forecast", "--profile", "H100", "--case", KERNEL_CASE, "--case", OTHER_CASES[3]),
        *rows_of("memory", "--case", KERNEL_CASE), *rows_of("memory", *OTHER_CASES),
        *rows_of("what-if", "--case", "fftconv_f16_circular_l32768_b2_h1"), *rows_of("what-if", *OTHER_CASES),
        *rows_of("what-if", "--ways", "--profile", "H200", "--case", "fftconv_f16_causal_l8192_k100_b2_h1"),
        *rows_of("what-if", "--ways", "--profile", "H200", "--case", "fftconv_f16_causal_l16384_k256_b64_h768"),
        *rows_of("explore", "--case", KERNEL_CASE, "--count", "2", "--pattern", "low", "--pattern", "random"),
        *rows_of("explore", "--case", "fftconv_f16_circular_l64_b2_h1_plain_r16x4", "--pattern", "paper"),
        *rows_of("explore", "--partial", "--case", "fftconv_f16_causal_l512_b2_h1"),
        *rows_of("factors", "--case", "fftconv_f64_circular_l8_b1_h1_plain_r2x4"),
        *rows_of("fields"), *rows_of("list"), *rows_of("list", "kernels"), *rows_of("info"),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results, log = folder / "results.json", folder / "log.txt"
        results.write_text(json.dumps({"testsuites": [{"name": "A", "testsuite": [
            {"name": "B", "result": "COMPLETED"}]}]}))
        log.write_text("========= ERROR SUMMARY: 0 errors")
        rows += rows_of("record", "--program", "tests", "--results", results)
        rows += rows_of("record", "--program", "tests", "--results", results, "--tool", "memcheck", "--log", log)
        rows += rows_of("verify", "--case", KERNEL_CASE, "--data", "recording", "--recording", name)  # skipped
        (folder / "u.npy").write_bytes(npy([1, 2, 3]))
        (folder / "nan.npy").write_bytes(npy([1, float("nan")]))
        (folder / "big.npy").write_bytes(npy([3e38, 1]))  # whose square overflows
        convolve = ["convolve", folder / "u.npy"]
        for words in ([folder / "u.npy", "--method", "direct"], [folder / "nan.npy", "--allow-nonfinite"]):
            rows += rows_of(*convolve, *words, "-o", folder / "y.npy")
        rows += rows_of("convolve", folder / "big.npy", folder / "big.npy", "-o", folder / "y.npy")
    return rows


def damaged(row):
    """The row with one of its fields, or of those inside, another way than it may be."""
    for field in row:
        for value in ({"damaged": [True]}, None):
            yield field, value, {**row, field: value}
        if isinstance(row[field], dict) and field != "info":
            for inner in row[field]:
                broken = copy.deepcopy(row)
                broken[field][inner] = {"damaged": [True]}
                yield f"{field}.{inner}", "an object", broken
    yield "verdict", "new", {**row, "verdict": ["new"]}


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.written = written_rows()
        cls.committed = [(path.name, number, json.loads(line)) for path in sorted(RESULTS.rglob("*.jsonl"))
                         for number, line in enumerate(path.read_text().splitlines(), start=1)]

    def test_are_schemas(self):
        for kind in kinds():
            schema = schema_of(kind)
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["properties"]["kind"]["const"], kind)

    def test_describe_what_commands_write(self):
        for row in self.written:
            self.assertEqual(errors(row), [], row.get("case"))
        self.assertEqual({row["kind"] for row in self.written}, WRITTEN_WITHOUT_A_GPU)

    def test_describe_committed_rows(self):
        for name, number, row in self.committed:
            if row["kind"] not in OF_OTHERS:
                self.assertEqual(errors(row), [], f"{name}, line {number}")

    def test_every_kind_is_seen(self):
        seen = {row["kind"] for row in self.written} | {row["kind"] for _, _, row in self.committed}
        # tests/experiments/io/schema_test.cpp makes one of each.
        self.assertEqual(kinds() - seen - OF_PYTHON, {"calibration"})

    def test_refuse_damaged_rows(self):
        tried = set()
        for row in [*self.written, *(row for _, _, row in self.committed if row["kind"] not in OF_OTHERS)]:
            if row["kind"] in tried:
                continue
            tried.add(row["kind"])
            for field, value, broken in damaged(row):
                self.assertNotEqual(errors(broken, row["kind"]), [], f"{row['kind']}: {field} is {value}")
            for field in schema_of(row["kind"])["required"]:
                broken = {name: value for name, value in row.items() if name != field}
                self.assertNotEqual(errors(broken, row["kind"]), [], f"{row['kind']}: {field} is missing")
        self.assertLessEqual(WRITTEN_WITHOUT_A_GPU, tried)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()

"""The suite by the program: danaus verify of every case, danaus convolve of arrays in files, and the other commands of
a case of each operation.

  PYTHONPATH=BUILD/python program_test.py CONFORMANCE_LIBRARY PROGRAM [unittest's own arguments]
"""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import danaus
from conformance import CASES, DECLARED, PROGRAM, cases_of, main, operations, tests_of

LONG = 10000  # samples from which on sums by definition take too long


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def rows_of(ran):
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


class Verify(unittest.TestCase):
    """danaus verify"""

    def test_each_case_by_its_kernel(self):
        cases = list(cases_of("danaus verify"))
        planned = [case for case in cases if not case.refused]
        words = [word for case in planned for word in ("--case", case)]
        ran = run("verify", "--method", "kernel", *words, "--json", "-")
        rows = {row["case"]: row for row in rows_of(ran)}
        for case in planned:
            with self.subTest(case=case):
                row = rows[case.token]
                self.assertEqual((row["method"], row["verify"]["status"]), ("kernel", "passed"), row)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_each_convolution_by_every_method(self):
        words = [word for case in cases_of("danaus verify") if case.operation == "fftconv" and case.number("l") < LONG
                 for word in ("--case", case)]
        ran = run("verify", *words, "--json", "-")
        self.assertEqual({row["method"] for row in rows_of(ran)}, {"fftw", "monarch", "rounded", "kernel"})
        self.assertEqual([row for row in rows_of(ran) if row["verify"]["status"] != "passed"], [])

    def test_what_no_kernel_computes_is_said(self):
        for case in cases_of("danaus verify"):
            if case.refused:
                with self.subTest(case=case):
                    ran = run("verify", "--method", "kernel", "--case", case)
                    self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
                    self.assertRegex(ran.stderr, r"^danaus: .*" + re.escape(case.refused) + r".*\n$")


@tests_of("danaus convolve")
class Convolve(unittest.TestCase):
    def check(self, case):
        with tempfile.TemporaryDirectory() as folder:
            for name, array in case.inputs("input", "filter").items():
                np.save(Path(folder, name), array)
            others = [word for name in ("pregate", "postgate") if case.has(name)
                     for word in ("--" + name, Path(folder, name + ".npy"))]
            if any(word.startswith(("zero", "keep", "blocks")) for word in case.words):
                np.save(Path(folder, "kept"), danaus.Plan(case.token).kept.astype(np.float32))
                others += ["--mask", Path(folder, "kept.npy")]
            for method in ("fftw", "monarch", "direct") if case.number("l") < LONG else ("fftw",):
                y = Path(folder, "y.npy")
                mode = "circular" if case.has("circular") else "causal"
                ran = run("convolve", Path(folder, "u.npy"), Path(folder, "k.npy"), "-o", y, "--method", method,
                          "--mode", mode, *others)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(case.complaint("double", {"y": np.load(y)}), "", method)


class Commands(unittest.TestCase):
    """Those that are no door: what they take is declared."""

    def test_of_each_operation(self):
        for command, declared in DECLARED["commands"].items():
            taken = {"any": list(operations()), "none": [], "sweeps": []}.get(str(declared["by"]), declared["by"])
            if declared["by"] in ("none", "sweeps"):
                self.assertEqual(run(command, "--help").returncode, 0, command)
                continue
            for operation in operations():
                with self.subTest(command=command, operation=operation):
                    ran = run(*self.words(command, operation))
                    self.assertEqual(ran.returncode, 0 if operation in taken else 2, ran.stderr)
                    if operation not in taken:
                        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)

    def words(self, command, operation):
        if command == "random":
            return command, "--operation", operation, "--count", 2
        case = next(case for case in CASES if case.operation == operation and not case.refused)
        if operation == "fftconv":
            case = {"factors": "fftconv_f16_circular_l16_b1_h1_r4x4",
                    "explore": "fftconv_f16_circular_l256_b2_h2_n256_r16x16",
                    "decode": "fftconv_f16_causal_l256_b1_h8"}.get(command, case)
        option = [] if command == "explain" else ["--case"]
        return (command, *option, case, *(["--count", 2] if command == "explore" else []))


if __name__ == "__main__":
    main()

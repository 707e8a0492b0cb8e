"""The parts of the judge: truth and bounds by row, shrinking, reports, the candidate's process, libraries, the command.

  PYTHONPATH=BUILD/python judge_parts_test.py [unittest's own arguments]
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import danaus
from danaus import judging
from danaus.judging import data, verdicts
from danaus.judging.__main__ import main
from danaus.judging.cases import ARRAY_FLAGS, GRADIENT, KEYWORDS, Case, Drawing
from judge_candidates import convolve, like, valid
from judge_wrong import a_tap_off, gradient_of_the_filter_in_fp16, scales_by_one_percent

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python/examples/judge"


def right(u, k):
    return like(u, convolve(u, k))


class Cases(unittest.TestCase):
    def test_random_ones_are_of_their_operation_and_come_back_from_their_tokens(self):
        for operation in (*GRADIENT, *GRADIENT.values(), "fftconvstep", "ssmconv"):
            drawing = Drawing(Case.parse(operation), set(KEYWORDS) | set(ARRAY_FLAGS), ("f16", "bf16", "f32", "f64"))
            cases = [drawing.case(number) for number in range(60)]
            for case in cases:
                self.assertEqual(Case.parse(case.token), case)
                self.assertTrue(case.inputs and case.outputs, case)
            self.assertGreater(len(set(cases)), 50)
            lengths = [np.prod(case["L"]) for case in cases]
            self.assertEqual({int(length % 8) for length in lengths}, set(range(8)), operation)
            self.assertTrue(any(case["B"] % 2 and case["B"] > 1 for case in cases))
            if case["H"] and operation != "ssmconv":
                self.assertTrue(any(case["H"] > 132 for case in cases), operation)

    def test_fixed_fields_stay(self):
        drawing = Drawing(Case.parse("fftconv_bf16_circular_l24_b3_pregate"), set(), ("f32",))
        for number in range(20):
            case = drawing.case(number)
            self.assertEqual((case["dtype"], case["mode"], case["L"], case["B"]), ("bf16", "circular", 24, 3))
            self.assertTrue(case["pregate"] and not case["postgate"])

    def test_what_is_refused(self):
        for words, message in (("conv", "token 'conv': a case begins with its operation, one of fftconv"),
                               ("fftconv_f32_gated", "fftconv_f32_gated: unknown field 'gated'"),
                               ("ssmconv_f32_causal", "ssmconv_f32_causal: unknown field 'causal'")):
            with self.assertRaisesRegex(ValueError, message):
                danaus.judge(right, words)
        for options, message in (({"claim": "exact"}, "claim 'exact', must be one of rounding"),
                                 ({"arrays": "jax"}, "arrays 'jax', must be one of numpy"),
                                 ({"without": ["speed"]}, "check 'speed', must be one of values"),
                                 ({"gradient": "magic"}, "gradient 'magic'"),
                                 ({"dtypes": ["f8"]}, "dtype f8, must be one of f16")):
            with self.assertRaisesRegex(ValueError, message):
                danaus.judge(right, **options)


class Verdicts(unittest.TestCase):
    """The library judges (tests/reference/claim_test.cpp); here is what it is given."""

    def judged(self, token, kind, change, only="y"):
        case = Case.parse(token)
        values, truth = data.make_within_range(case, "rows", 3, verdicts.truth)
        outputs = {name: data.round_to(array, case.outputs[name][0]) for name, array in truth.items()}
        change(outputs)
        return verdicts.judge_rows(case, values, outputs, {only: truth[only]}, kind)

    def test_a_rounded_truth_is_right_by_every_class(self):
        for token in ("fftconv_f16_causal_l200_k50_b3_h4", "fftconv_f32_circular_l200_b3_h4_pregate_postgate",
                      "shortconv_bf16_same_k4_l64_b2_h3_bias_channelslast", "ssmconv_f32_s4_l100_b2_h3_initial_final",
                      "spectral_f32_b3_c2x3_l20x18_m3x4_twosided", "spectralgrad_f32_complex_b3_c2x3_l20_m3",
                      "fftconvgrad_f16_causal_l100_k30_b3_h2_pregate_postgate"):
            for only in Case.parse(token).outputs:
                for kind in verdicts.CLASSES:
                    self.assertLess(self.judged(token, kind, lambda outputs: None, only=only).share, 0.1, token)

    def test_one_row_is_enough(self):
        token = "fftconv_f32_causal_l256_b8_h4"

        def scale(outputs):
            outputs["y"][5, 2] *= 1.0001

        def swap(outputs):
            outputs["y"][[2, 3]] = outputs["y"][[3, 2]]

        def sample(outputs):
            outputs["y"][1, 1, 7] = np.nan

        def zero(outputs):
            outputs["y"][...] = 0

        for change, where in ((scale, "y at b=5, h=2"), (swap, "y"), (sample, "y at b=1, h=1"), (zero, "y")):
            verdict = self.judged(token, "fp32", change)
            self.assertGreater(verdict.share, 1)
            self.assertIn(where, verdict.text)

    def test_a_gradient_in_the_type_of_the_filter(self):
        token = "fftconvgrad_f16_causal_l64_kf16_b3_h4"
        case = Case.parse(token)
        values, truth = data.make_within_range(case, "plain", 3, verdicts.truth)
        rounded = {"dk": data.round_to(truth["dk"], "f16")}
        for types, fits in (({"dk": "f16"}, True), ({}, False)):
            verdict = verdicts.judge_rows(case, values, rounded, {"dk": truth["dk"]}, "fp32", types=types)
            self.assertEqual(verdict.share <= 1, fits, verdict)

    def test_half_a_unit_in_the_last_place(self):
        for dtype, numpy in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
            values = np.array([1.0, -3.7, 0.0, 1e-7, 65000.0], numpy)
            np.testing.assert_array_equal(data.half_ulp(values.astype(float), dtype),
                                          np.abs(np.spacing(values)).astype(float) / 2)
        self.assertEqual(data.half_ulp(np.array(1.5), "bf16"), 2.0**-8)

    def test_short_truth_is_the_library_s(self):
        u = np.random.default_rng(0).standard_normal((2, 9, 3)).astype(np.float16)
        k = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
        bias = np.ones(3, np.float32)
        y = danaus.short_conv(u, k, bias, "same", channels_last=True)
        truth = judging.truth("shortconv_f16_same_k4_l9_b2_h3_bias_channelslast", u, k, bias)["y"]
        np.testing.assert_array_equal(truth.astype(np.float16), y)

    def test_a_cast_is_told_from_fp32(self):
        case = Case.parse("fftconv_f32_causal_l1000_b2_h2")
        values = data.make(case, "plain", 1)
        self.assertTrue(verdicts.one_precision_lower(case, values, verdicts.truth(case, values), "fp32"))


class Shrinking(unittest.TestCase):
    def test_the_smallest_case_and_its_lines(self):
        report = danaus.judge(a_tap_off, "fftconv_f32", only="values")
        row = report.checks["values"]
        self.assertEqual(row["case"], "fftconv_f32_causal_l1_k2_b1_h1")
        self.assertLessEqual(len(row["repeat"]), 5)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("\n".join(row["repeat"]), {})
        given, truth = (float(re.sub(r"[][]", "", line)) for line in printed.getvalue().splitlines())
        self.assertNotAlmostEqual(given, truth, 3)

    def test_of_a_fault_that_needs_rows_and_length(self):
        def wrong(u, k):
            y = right(u, k)
            if u.shape[0] >= 3 and u.shape[-1] >= 7:
                y[2, :, 6] = 1e9
            return y

        row = danaus.judge(wrong, "fftconv_f32", only="values").checks["values"]
        self.assertEqual(Case.parse(row["case"]), Case.parse("fftconv_f32_causal_l7_k1_b3_h1"))

    def test_lines_of_a_gradient(self):
        gradient = gradient_of_the_filter_in_fp16
        for function, options in ((gradient, {}), (right, {"gradient": gradient})):
            report = danaus.judge(function, "fftconv_f32" if options else "fftconvgrad_f32", **options)
            row = report.checks["gradients" if options else "values"]
            self.assertIn("import gradient_of_the_filter_in_fp16 as candidate", row["repeat"][0])
            self.assertTrue(row["repeat"][-1].endswith("['dk'])"), row["repeat"])
            with contextlib.redirect_stdout(io.StringIO()):
                exec("\n".join(row["repeat"]), {})

    def test_lines_ask_for_a_property_again(self):
        def wrong(u, k):
            return like(u, convolve(np.clip(u, -2, 2), k))

        row = danaus.judge(wrong, "fftconv_f32", only="linearity").checks["linearity"]
        lines = [line for line in row["repeat"] if not line.startswith("candidate = ")]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("\n".join(lines), {"candidate": wrong})
        self.assertRegex(printed.getvalue(), r"linearity +failed")


class Reports(unittest.TestCase):
    def test_rows_pages_and_errors(self):
        wrong = danaus.judge(scales_by_one_percent, "fftconv_f32", count=8)
        passed = danaus.judge(right, "fftconv_f32", count=8, timed=True)
        valid(wrong.rows + passed.rows)
        self.assertEqual({row["method"] for row in passed.times}, {"candidate", "copy", "numpy.fft", "danaus"})
        self.assertEqual(wrong.times, [])
        self.assertTrue(passed.passed and not wrong.passed)
        self.assertIn("values", wrong.failed)
        for page in (wrong.text(), wrong.markdown(), wrong.html()):
            self.assertIn("failed", page)
            self.assertIn(wrong.checks["values"]["case"], page)
        with self.assertRaises(judging.Rejected) as caught:
            danaus.judge(scales_by_one_percent, "fftconv_f32", count=8, raises=True)
        self.assertIn("values", caught.exception.report.failed)
        danaus.judge(right, "fftconv_f32", count=8, raises=True)
        with tempfile.TemporaryDirectory() as folder:
            for end, word in ((".jsonl", '"check": "values"'), (".md", "| check |"), (".html", "<table>"),
                              (".txt", "values")):
                path = Path(folder, "page" + end)
                wrong.write(path)
                self.assertIn(word, path.read_text())

    def test_what_is_left_out_is_not_made(self):
        report = danaus.judge(right, "fftconv_f32", count=5, without=["threads", "memory"])
        self.assertEqual(set(judging.CHECKS) - set(report.checks), {"threads", "memory"})
        self.assertEqual(report.checks["streams"]["status"], "skipped")
        self.assertIn("needs a GPU", report.checks["streams"]["text"])
        self.assertEqual(set(danaus.judge(right, "fftconv_f32", count=5, only="shift").checks), {"shift"})

    def test_the_arithmetic_that_is_met(self):
        def in_fp32(u, k):
            return by_sums(u, k.astype(np.float32), np.float32).astype(u.dtype)

        def by_sums(u, k, dtype):
            y = np.zeros(u.shape, dtype)
            for tap in range(min(k.shape[1], u.shape[-1])):
                y[..., tap:] += k[:, tap, None].astype(dtype) * u[..., :u.shape[-1] - tap].astype(dtype)
            return y

        for function, words in ((right, "f32: output rounding alone"), (in_fp32, "f32: fp32 inside")):
            report = danaus.judge(function, "fftconv_f32", only="class")
            self.assertIn(words, report.checks["class"]["text"])
            self.assertIn("a cast to f16 inside would fail 8 of 8 cases", report.checks["class"]["text"])
        failed = danaus.judge(in_fp32, "fftconv_f32", claim="rounding", only="class")
        self.assertIn("claims output rounding alone, meets fp32 inside", failed.checks["class"]["text"])


class Processes(unittest.TestCase):
    def test_a_named_candidate(self):
        name = f"{Path(__file__).with_name('judge_wrong.py')}:a_tap_off"
        report = danaus.judge(name, "fftconv_f32", count=6)
        self.assertIn("values", report.failed)
        self.assertEqual(report.checks["values"]["repeat"][0], "from judge_wrong import a_tap_off as candidate")
        missing = danaus.judge("no_such_module:f", "fftconv_f32", count=6)
        self.assertEqual(missing.failed, ["raises"])
        self.assertIn("ModuleNotFoundError", missing.checks["raises"]["text"])

    def test_ends_are_verdicts(self):
        def leaves(u, k):
            raise SystemExit(3)

        def ends(u, k):
            os._exit(5)

        self.assertIn("SystemExit", danaus.judge(leaves, "fftconv_f32", count=3).checks["raises"]["text"])
        self.assertIn("exit code 5", danaus.judge(ends, "fftconv_f32", count=3).checks["crashes"]["text"])

    def test_a_call_has_a_limit(self):
        begin = time.perf_counter()
        report = danaus.judge(lambda u, k: time.sleep(60), "fftconv_f32", limit_s=0.3, count=5)
        self.assertEqual(report.failed, ["hangs"])
        self.assertLess(time.perf_counter() - begin, 30)

    def test_refusals_are_counted(self):
        def even(u, k):
            if u.shape[-1] % 2:
                raise ValueError("L must be even")
            return right(u, k)

        report = danaus.judge(even, "fftconv_f32", count=10)
        self.assertTrue(report.passed, report)
        self.assertGreater(report.checks["values"]["refused"], 0)
        self.assertIn("L must be even", report.text())

    def test_what_a_candidate_prints_is_not_ours(self):
        def prints(u, k):
            print("noise")
            return right(u, k)

        program = ("import sys; sys.path[:0] = {!r}; import danaus, judge_candidates as j;"
                   "f = lambda u, k: print('noise') or j.like(u, j.convolve(u, k));"
                   "print(danaus.judge(f, 'fftconv_f32', count=2, only='values').passed)").format(sys.path)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.stdout, "True\n")


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
class Libraries(unittest.TestCase):
    def built(self, folder, change=lambda text: text):
        source, library = Path(folder, "conv.c"), Path(folder, "conv.so")
        source.write_text(change((EXAMPLES / "conv.c").read_text()))
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-std=c11", "-O2", "-shared", "-fPIC",
                        f"-I{Path(judging.__file__).parent}", source, "-o", library], check=True)
        return str(library)

    def test_the_example_passes_and_a_write_too_far_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            report = danaus.judge(self.built(folder), "fftconv_f32_causal", count=10)
            self.assertTrue(report.passed, report)
            self.assertEqual(report.checks["writes"]["status"], "passed")
        with tempfile.TemporaryDirectory() as folder:
            beyond = "if (n == length - 1) result[length] = 1;\n      result[n] ="
            far = self.built(folder, lambda text: text.replace("result[n] =", beyond))
            report = danaus.judge(far, "fftconv_f32_causal", count=10)
            self.assertEqual(report.failed, ["writes"], report)
            self.assertIn("--library", "".join(report.checks["writes"]["repeat"]))

    def test_a_library_of_something_else(self):
        report = danaus.judge(str(Path(judging.__file__).parents[1] / "libdanaus_python.so"), "fftconv_f32", count=3)
        self.assertIn("has no function danaus_candidate", report.checks["raises"]["text"])


class Command(unittest.TestCase):
    def run_command(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(word) for word in words])
        return code, out.getvalue(), err.getvalue()

    def test_exit_codes_and_rows(self):
        place, of_right = (Path(__file__).with_name(f"judge_{which}.py") for which in ("wrong", "right"))
        code, out, _ = self.run_command(f"{place}:zero", "fftconv_f32", "--count", 5, "--json", "-")
        self.assertEqual(code, 1)
        valid([json.loads(line) for line in out.splitlines()])
        with tempfile.TemporaryDirectory() as folder:
            code, out, _ = self.run_command(f"{of_right}:by_halves", "fftconv_f64", "--count", 5, "--only", "values",
                                            "shift", "--page", Path(folder, "page.md"))
            self.assertEqual(code, 0, out)
            self.assertIn("Passed.", Path(folder, "page.md").read_text())
        for words, message in (((), "give one candidate"), ((f"{place}:zero", "conv"), "token 'conv'"),
                               (("--model", "m.csv"), "--measured")):
            code, _, err = self.run_command(*words)
            self.assertEqual((code, err[:8], err.count("\n")), (2, "danaus: ", 1))
            self.assertIn(message, err)


if __name__ == "__main__":
    unittest.main()

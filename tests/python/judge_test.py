"""The judge judged: every wrong candidate of judge_wrong*.py fails a check that it must fail, every right one of
judge_right.py passes all, each within a minute. Each check is failed by a candidate.

  PYTHONPATH=BUILD/python judge_test.py [unittest's own arguments]
"""

import time
import unittest

import danaus
import judge_right
import judge_wrong
import judge_wrong_calls
from danaus.judging import CHECKS
from judge_candidates import RIGHT, WRONG, convolve, gradients, like, typed

assert judge_right and judge_wrong and judge_wrong_calls  # which fill both tables

LONGEST_S = 60
# What no candidate fails: a stream that is ignored takes a GPU (judge_torch_test.py).
OF_A_GPU = {"streams"}


def judged(function, operation, options):
    begin = time.perf_counter()
    report = danaus.judge(function, operation, **options)
    return report, time.perf_counter() - begin


class Candidates(unittest.TestCase):
    failed = set()

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(WRONG), 40)
        self.assertGreaterEqual(len(RIGHT), 10)

    def test_wrong_ones_are_caught(self):
        for name, (function, operation, checks, options) in WRONG.items():
            with self.subTest(name):
                report, seconds = judged(function, operation, {"only": checks, **options})
                self.failed.update(report.failed)
                self.assertFalse(report.passed)
                self.assertEqual(report.exit_code, 1)
                self.assertTrue(set(checks) & set(report.failed), f"must fail {' or '.join(checks)}\n{report}")
                self.assertLess(seconds, LONGEST_S)
        gradient = danaus.judge(right_forward, "fftconv_f64", gradient=wrong_backward, count=10)
        self.assertEqual(gradient.failed, ["gradients"], gradient)
        self.failed.update(gradient.failed)
        self.assertEqual(set(CHECKS) - self.failed - OF_A_GPU, set(), "no candidate fails these checks")

    def test_right_ones_are_not(self):
        for name, (function, operation, options) in RIGHT.items():
            with self.subTest(name):
                report, seconds = judged(function, operation, options)
                self.assertTrue(report.passed, report)
                self.assertEqual(report.exit_code, 0)
                self.assertLess(seconds, LONGEST_S)

    def test_ours_is_right(self):
        for function, operation in ((danaus.conv, "fftconv"), (danaus.short_conv, "shortconv_f16"),
                                    (danaus.ssm_conv, "ssmconv")):
            report = danaus.judge(function, operation, claim="rounding")
            self.assertTrue(report.passed, report)


def right_forward(u, k):
    return like(u, convolve(u, k))


def wrong_backward(u, k, dy):
    du, dk = gradients(u, k, dy)
    return typed(u, k, (du, 1.001 * dk))


if __name__ == "__main__":
    unittest.main()

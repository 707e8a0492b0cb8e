"""The judge judged: every wrong candidate of judge_wrong*.py fails a check that it must fail. Each check is failed by a
candidate.

  PYTHONPATH=BUILD/python judge_wrong_test.py [unittest's own arguments]
"""

import unittest

import danaus
import judge_wrong
import judge_wrong_calls
from danaus.judging import CHECKS
from judge_candidates import WRONG, convolve, gradients, like, typed

assert judge_wrong and judge_wrong_calls  # which fill the table

# What no candidate fails: a stream that is ignored takes a GPU (judge_torch_test.py).
OF_A_GPU = {"streams"}


class Candidates(unittest.TestCase):
    failed = set()

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(WRONG), 40)

    def test_wrong_ones_are_caught(self):
        for name, (function, operation, checks, options) in WRONG.items():
            with self.subTest(name):
                report = danaus.judge(function, operation, **options)
                self.failed.update(report.failed)
                self.assertFalse(report.passed)
                self.assertEqual(report.exit_code, 1)
                self.assertTrue(set(checks) & set(report.failed), f"must fail {' or '.join(checks)}\n{report}")
        gradient = danaus.judge(right_forward, "fftconv_f64", gradient=wrong_backward, count=10)
        self.assertEqual(gradient.failed, ["gradients"], gradient)
        self.failed.update(gradient.failed)
        self.assertEqual(set(CHECKS) - self.failed - OF_A_GPU, set(), "no candidate fails these checks")


def right_forward(u, k):
    return like(u, convolve(u, k))


def wrong_backward(u, k, dy):
    du, dk = gradients(u, k, dy)
    return typed(u, k, (du, 1.001 * dk))


if __name__ == "__main__":
    unittest.main()

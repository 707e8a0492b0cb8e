"""The judge judged: every right candidate of judge_right.py passes all checks, and so does what danaus computes.

  PYTHONPATH=BUILD/python judge_right_test.py [unittest's own arguments]
"""

import unittest

import danaus
import judge_right
from judge_candidates import RIGHT

assert judge_right  # which fills the table


class Candidates(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(RIGHT), 10)

    def test_right_ones_are_not(self):
        for name, (function, operation, options) in RIGHT.items():
            with self.subTest(name):
                report = danaus.judge(function, operation, **options)
                self.assertTrue(report.passed, report)
                self.assertEqual(report.exit_code, 0)

    def test_ours_is_right(self):
        for function, operation in ((danaus.conv, "fftconv"), (danaus.short_conv, "shortconv_f16"),
                                    (danaus.ssm_conv, "ssmconv")):
            report = danaus.judge(function, operation, claim="rounding")
            self.assertTrue(report.passed, report)


if __name__ == "__main__":
    unittest.main()

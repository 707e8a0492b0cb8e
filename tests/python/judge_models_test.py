"""The judge of cost models.

  PYTHONPATH=BUILD/python judge_models_test.py [unittest's own arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import danaus
from judge_candidates import valid

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python/examples/judge"
MEASURED = ROOT / "experiments/results/h200_predictions.jsonl"


class Models(unittest.TestCase):
    ROWS = [{"kind": "prediction", "n": length,
             "case": f"fftconv_{dtype}_circular_l{length}_b{batch}_h8_r{length // factor}x{factor}",
             "kernel": f"chain_{factor}", "profile": "A GPU", "asked_by_factors": True,
             "counted": {"resources_us": {"hbm": length * batch / 100, "tensor": 1.0}},
             "measured_us": length * batch / 50 * (1 + 0.1 * (factor == 4))}
            for dtype in ("f16", "bf16") for length in (256, 512, 1024) for batch in (1, 3, 8) for factor in (4, 8)]

    def test_a_perfect_model_and_one_that_is_off(self):
        def perfect(row):
            factor = 1.1 if row["kernel"] == "chain_4" else 1.0
            return 2 * factor * row["counted"]["resources_us"]["hbm"]

        report = danaus.judge_model(perfect, self.ROWS)
        valid(report.rows)
        self.assertLess(report.row()["p90"], 1e-12)
        self.assertEqual(report.row()["worst_regret"], 0)
        self.assertEqual(report.beaten_by, [])
        off = danaus.judge_model(lambda row: 1.2 * perfect(row), self.ROWS, name="off")
        self.assertAlmostEqual(off.row()["bias"], 0.2)
        self.assertEqual(off.beaten_by, ["a constant times the bytes"])
        backward = danaus.judge_model(lambda row: 1 / perfect(row), self.ROWS)
        self.assertAlmostEqual(backward.row()["mean_regret"], 0.1)
        self.assertIn("by length", off.text())

    def test_nothing_measured_is_seen(self):
        seen = []
        danaus.judge_model(lambda row: seen.append(row) or 1.0, self.ROWS)
        self.assertFalse(any("measured" in name for row in seen for name in row))

    def test_a_fit_does_not_see_its_group(self):
        def memory(rows):
            known = {row["case"].split("_", 2)[2]: row["measured_us"] for row in rows}
            return lambda row: known.get(row["case"].split("_", 2)[2], 1e-3)

        report = danaus.judge_model(None, self.ROWS, fit=memory)
        self.assertGreater(report.row(split="length")["median"], 0.99)
        self.assertEqual(report.row(split="type")["p90"], 0)  # the other type has the same times

    def test_intervals_hold_the_figure(self):
        rows = [json.loads(line) for line in MEASURED.read_text().splitlines()][:80]
        report = danaus.judge_model(lambda row: 1.5 * row["counted"]["resources_us"]["hbm"], rows)
        own = report.row()
        for name in ("median", "p90", "bias"):
            low, high = own["intervals"][name]
            self.assertLessEqual(low, own[name] + 1e-9)
            self.assertGreaterEqual(high, own[name] - 1e-9)
            self.assertLess(low, high)

    def test_a_table_of_another_language(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "times.csv")
            path.write_text("case,kernel,us\n" + "".join(f"{row['case']},{row['kernel']},{row['measured_us']}\n"
                                                         for row in self.ROWS))
            self.assertEqual(danaus.judge_model(path, self.ROWS).row()["p90"], 0)
            path.write_text("token,us\nx,1\n")
            with self.assertRaisesRegex(ValueError, "has columns token, us, must have case and us"):
                danaus.judge_model(path, self.ROWS)
            path.write_text("case,us\nx,1\n")
            with self.assertRaisesRegex(ValueError, "predicts nan us of fftconv_f16_circular_l256_b1_h8_r64x4"):
                danaus.judge_model(path, self.ROWS)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no row has a measured time"):
            danaus.judge_model(lambda row: 1.0, [{"kind": "verify", "case": "x"}])
        with self.assertRaisesRegex(ValueError, "predicts -1 us"):
            danaus.judge_model(lambda row: -1, self.ROWS)
        with self.assertRaisesRegex(ValueError, "give predict or fit"):
            danaus.judge_model(None, self.ROWS)

    def test_the_examples(self):
        done = subprocess.run([sys.executable, "-B", EXAMPLES / "models.py", MEASURED], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("roofline: ", done.stdout)
        self.assertIn("ecm: ", done.stdout)


if __name__ == "__main__":
    unittest.main()

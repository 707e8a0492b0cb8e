"""python/examples and the costs of a call in their smallest, on the CPU: that they run, learn the same both ways, and
write rows as their schemas say.

  PYTHONPATH=BUILD/python PYTHON tests/python/examples_test.py
"""

import contextlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from torch_or_skip import torch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python/examples"
sys.path.insert(0, str(EXAMPLES))

import language_model  # noqa: E402
import train  # noqa: E402

SMALL = ["--length", "32", "--batch", "4", "--channels", "8", "--layers", "1", "--steps", "8",
         "--rate", "0.01"]  # so that it falls on any text


def schema_of(kind):
    return json.loads((ROOT / f"experiments/results/schemas/{kind}.schema.json").read_text())


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.rows = self.folder / "rows.jsonl"

    def train(self, *words):
        with contextlib.redirect_stderr(io.StringIO()):
            train.main([*SMALL, "--json", str(self.rows), "--save", str(self.folder), *words])
        return self.read()

    def read(self):
        rows = [json.loads(line) for line in self.rows.read_text().splitlines()]
        for row in rows:
            self.assertEqual(list(row), list(schema_of(row["kind"])["properties"]))
        return rows

    def test_the_curves_lie_on_each_other(self):
        rows = self.train()
        self.assertEqual([(row["task"], row["method"]) for row in rows],
                         [(task, method) for task in ("recall", "text") for method in ("torch.fft", "danaus")])
        for by_fft, by_danaus in (rows[:2], rows[2:]):
            self.assertEqual(len(by_fft["losses"]), 8)
            for one, other in zip(by_fft["losses"], by_danaus["losses"]):
                self.assertAlmostEqual(one, other, delta=2e-4)
        text = rows[-1]["losses"]
        self.assertLess(text[-1], text[0] - 0.1)

    def test_a_masked_model(self):
        self.train("--task", "text", "--method", "danaus")
        for words in (["--filters", self.folder / "k.npy"], ["--mask", "zero10x0", "zero12x0"]):
            subprocess.run([sys.executable, "-B", EXAMPLES / "masks.py", self.folder / "text_danaus.pt", "--rows", "2",
                            "--json", self.rows, *words], check=True, capture_output=True)
        rows = [row for row in self.read() if row["kind"] == "masked_model"]
        plain, *masked, _, _, _ = rows
        self.assertEqual([row["pattern"] for row in rows[-3:]], ["none", "given", "given"])
        self.assertEqual([row["loss"] for row in rows[-2:]],
                         [row["loss"] for row in masked if row["mask"] in ("zero10x0", "zero12x0")])
        self.assertEqual(np.load(self.folder / "k.npy").shape, (8, 32))
        self.assertEqual((plain["pattern"], plain["zeros"]), ("none", 0))
        for pattern in ("halves", "low"):
            zeros = [row["zeros"] for row in masked if row["pattern"] == pattern]
            self.assertEqual(zeros, sorted(zeros))
            self.assertGreater(zeros[-1], 0.5)
        zeros = [row["zeros"] for row in masked if row["pattern"] == "explored"]
        self.assertEqual(len(zeros), 3)
        self.assertGreater(min(zeros), 0)
        # By the kernels in bf16 the model is what it was by torch.fft in float32, but for their rounding.
        saved = torch.load(self.folder / "text_danaus.pt")
        data = language_model.Text()
        model = language_model.LanguageModel(256, 32, 8, 1)
        model.load_state_dict(saved["weights"])
        with torch.no_grad():
            exact = model.loss(*data.batch(2, 32, torch.Generator().manual_seed(10**6))).item()
        self.assertAlmostEqual(plain["loss"], exact, delta=0.02)
        self.assertTrue(any(row["loss"] != plain["loss"] for row in masked))

    def test_host_costs(self):
        program = "import host_cost; host_cost.CALLS = host_cost.SERIES = 1; host_cost.main()"
        subprocess.run([sys.executable, "-B", "-c", program, "--json", self.rows], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python/tools"), *sys.path])})
        self.assertGreater(len(self.read()), 10)

    def test_row_errors(self):
        program = ("import row_errors; row_errors.LENGTH, row_errors.CHANNELS = 256, 1; "
                   "row_errors.SWEEPS = {'partner': [1e4], 'offset': [10.], 'scale': [1e-3]}; row_errors.main()")
        subprocess.run([sys.executable, "-B", "-c", program, "--json", self.rows], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python/tools"), *sys.path])})
        rows = self.read()
        self.assertEqual(len(rows), 2 * 2 * 3)
        self.assertLess(max(row["error"] for row in rows), 6e-3)

    def test_public_kernels(self):
        tool = [sys.executable, "-B", ROOT / "python/tools/public_kernels.py"]
        there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        listed = subprocess.run([*tool, "--list"], check=True, capture_output=True, text=True).stdout
        self.assertIn("torch_conv1d", listed)
        asked = ["torch_conv1d", "fla_causal_conv1d", "--device", "cpu", "--json", self.rows, "--only", "values"]
        subprocess.run([*tool, *asked], check=True, capture_output=True, env=there)
        written = self.rows.read_text()
        rows = [json.loads(line) for line in written.splitlines()]
        self.assertEqual({(row["candidate"], row["package"]) for row in rows},
                         {("torch_conv1d", f"torch {importlib.metadata.version('torch')}")})
        self.assertEqual([row["status"] for row in rows if row["check"] == "values"], ["passed"])
        subprocess.run([*tool, *asked], check=True, capture_output=True, env=there)
        self.assertEqual(self.rows.read_text(), written)  # its rows stand

    def test_recall_asks_for_what_stood_before(self):
        data = language_model.Recall()
        tokens, targets = data.batch(3, 64, torch.Generator().manual_seed(1))
        for row, asked in zip(tokens.tolist(), targets.tolist()):
            values = {}
            for place in range(0, 64, 2):
                key, value = row[place], row[place + 1]
                self.assertEqual(asked[place], values.get(key, language_model.IGNORED))
                self.assertEqual(asked[place + 1], language_model.IGNORED)
                self.assertEqual(values.setdefault(key, value), value)

    def test_what_is_refused(self):
        for words in (["--length", "31"], ["--steps", "3"], ["--device", "cuda", "--dtype", "float32"],
                      ["--graph"]):
            errors = io.StringIO()
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(errors):
                train.main(words)
            self.assertIn(words[0] if words[0] != "--device" else "--dtype float32", errors.getvalue())


if __name__ == "__main__":
    unittest.main()

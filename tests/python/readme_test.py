"""The examples of docs/python.md, docs/flashfftconv.md and README.md, in their order; those for PyTorch and for a GPU where there is one."""

import contextlib
import importlib.util
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import danaus

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/python.md").read_text()
EXAMPLES = "".join([PAGE, *((ROOT / page).read_text() for page in ("docs/flashfftconv.md", "README.md", "python/README.md"))])


def is_possible(block):
    if "# on a GPU" in block:
        return danaus.device_count() > 0 and importlib.util.find_spec("cupy") is not None
    return "torch" not in block or importlib.util.find_spec("torch") is not None


class Readme(unittest.TestCase):
    def test_examples_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", EXAMPLES, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 6)
        names, printed = {}, io.StringIO()
        for block in filter(is_possible, blocks):
            with self.subTest(block=block), contextlib.redirect_stdout(printed):
                exec(compile(block, "a page", "exec"), names)
        self.assertIn("passed", printed.getvalue())
        self.assertNotIn("failed", printed.getvalue())

    def test_every_public_name_is_on_it(self):
        for name in set(danaus.__all__) - {"__version__"}:
            self.assertRegex(PAGE, rf"danaus\.{name}\b")


@unittest.skipIf(importlib.util.find_spec("jsonschema") is None, "jsonschema is not installed")
class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(ROOT / "python/tools"))
        import tables
        cls.tables = tables

    def rows(self, **changed):
        first = {"schema": 1, "date": "2026-01-02", "git": "0123456789abcdef", "dirty": False, "torch": "2.11",
                 "device": {"name": "A GPU"}}
        trained = {**first, "kind": "training", "task": "text", "data": "drawn", "length": 1024, "batch": 64,
                   "channels": 8, "layers": 2, "steps": 100, "rate": 0.1, "seed": 1, "dtype": "bfloat16",
                   "memory_bytes": 2 * 10**9, "step_ms": {"q1": 1, "median": 2, "q3": 3}}
        masked = {**first, "kind": "masked_model", "task": "text", "data": "drawn", "steps": 9,
                  "case": (case := "fftconv_bf16_causal_l1024_b2_h8_pregate_postgate_pair_n2048_r8x8x4x8"),
                  "asked": danaus.asked(case)}
        return {"host_cost": [{**first, "kind": "host_cost", "call": "a call", "us": 9.87, **changed}],
                "training": [{**trained, "method": "danaus", "losses": [5.0] * 98 + [3.5, 4.0]},
                             {**trained, "method": "danaus", "graph": True, "losses": [5.0] * 98 + [3.0, 3.0]},
                             {**trained, "method": "torch.fft", "losses": [5.0] * 98 + [3.0, 4.0]}],
                "masked_model": [{**masked, "pattern": "none", "mask": "", "zeros": 0.0, "loss": 1.5},
                                 {**masked, "pattern": "low", "mask": "zero6x0x0x0", "zeros": 0.5, "loss": 1.75}]}

    def page(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            for kind, of in rows.items():
                Path(folder, kind + ".jsonl").write_text("".join(json.dumps(row) + "\n" for row in of))
            return self.tables.with_tables(PAGE, Path(folder))

    def test_are_those_of_the_committed_rows(self):
        self.assertEqual(self.tables.with_tables(PAGE, self.tables.COMMITTED), PAGE)

    def test_say_what_rows_say(self):
        page = self.page(self.rows())
        for line in ("A GPU, PyTorch 2.11, 2026-01-02, git 0123456789ab:", "| a call | 9.9 |",
                     "| 1024 | 64 | text | launched | torch.fft | 2.00 | 2.00 | 3.5000 |  |",
                     "| 1024 | 64 | text | launched | danaus | 2.00 | 2.00 | 3.7500 | 0.2500 |",
                     "| 1024 | 64 | text | a graph | danaus | 2.00 | 2.00 | 3.0000 |  |",
                     "| text | 1024 | none |  | 0.0 % | 1.5000 |  |",
                     "| text | 1024 | low | zero6x0x0x0 | 50.0 % | 1.7500 | +0.2500 |"):
            self.assertIn(line + "\n", page)
        self.assertNotIn("No rows yet", page)
        self.assertIn("with changes:", self.page(self.rows(dirty=True)))
        self.assertEqual(self.page({}).count("No rows yet."), 3)

    def test_refuse_rows_that_are_none(self):
        for changed in ({"us": 0}, {"us": "fast"}, {"other": 1}, {"schema": 2}):
            with self.assertRaises(self.tables.Refusal):
                self.page(self.rows(**changed))


if __name__ == "__main__":
    unittest.main()

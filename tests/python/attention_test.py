"""python/tools/attention.py without a GPU: what it refuses, what it leaves out, and that the plots read what it writes."""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "python/tools/attention.py"
sys.path[:0] = [str(ROOT / "python/tools"), str(ROOT / "plots")]
sys.dont_write_bytecode = True

import attention  # noqa: E402

OPTIONS = ["--backends", "cudnn", "--lengths", "1024", "256"]


class Pretended:
    """A device whose launches take L^2 B / 1000 us."""
    about = {"torch": "2.11", "device": "a test H200"}
    obstacle = None
    rel_l2 = 1e-4

    def __init__(self):
        self.asked = []

    def times(self, backend, batch, samples):
        self.asked.append((backend, batch, samples))
        us = samples**2 * batch / 1000
        return {"us": us, "q1_us": us, "q3_us": us, "launches": 10, "bursts": 5, "rel_l2": self.rel_l2}


class Attention(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name) / "h200_attention.csv"
        self.device = Pretended()

    def run_tool(self, *words, device=None):
        """(exit code, what was printed, complaints) with a device that is pretended."""
        printed, complaints = io.StringIO(), io.StringIO()
        real, attention.Device = attention.Device, lambda: device or self.device
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
                code = attention.main([*OPTIONS, "--csv", str(self.file), *words])
        finally:
            attention.Device = real
        return code, printed.getvalue(), complaints.getvalue()

    @unittest.skipIf(importlib.util.find_spec("jsonschema") is None, "jsonschema is not installed")
    def test_plots_read_what_it_writes(self):
        from peers import Attentions
        self.assertEqual(self.run_tool()[0], 0)
        found = Attentions(Path(self.folder.name)).all
        self.assertEqual([(each.peer, each.dtype, each.length, each.batch, each.channels, each.us) for each in found],
                         [("torch SDPA (cuDNN)", "f16", 256, 64, 768, 4194), ("torch SDPA (cuDNN)", "f16", 1024, 64, 768,
                                                                             67110)])

    def test_goes_on_where_it_was(self):
        self.run_tool("--lengths", "256")
        code, printed, _ = self.run_tool()
        self.assertEqual((code, self.device.asked), (0, [("cudnn", 64, 256), ("cudnn", 64, 1024)]))
        self.assertIn("L=256, B=64: is in ", printed)
        self.assertEqual(len(self.file.read_text().splitlines()), attention.ABOUT.count("\n") + 3)

    def test_leaves_out_what_takes_long(self):
        code, printed, _ = self.run_tool("--seconds", "0.01")
        self.assertEqual((code, self.device.asked), (0, [("cudnn", 64, 256)]))
        self.assertIn("L=1024, B=64: left out, would take 0.067 s a launch", printed)

    def test_a_wrong_result_is_no_row(self):
        for error in (3e-3, float("nan")):
            self.device.rel_l2 = error
            code, _, complaints = self.run_tool()
            self.assertEqual(code, 1)
            self.assertIn("must be below 0.002", complaints)
            self.assertFalse(self.file.exists())

    def test_what_a_backend_does_not_take_is_left_out(self):
        class Unable(Pretended):
            def times(self, backend, batch, samples):
                raise attention.Unable("no kernel")
        code, printed, _ = self.run_tool(device=Unable())
        self.assertEqual((code, printed.count("left out, no kernel")), (0, 2))

    def test_refuses_a_file_of_another_kind(self):
        self.run_tool()
        good = self.file.read_text()
        for text, complaint in (("peer,us\na,1\n", "is no table of attention's times"), ("{}\n", "is no table"),
                                (good[:-3], "its last line is cut short"),
                                (good + "torch SDPA (cuDNN),f16\n", "row 3 of the table: has not 15 columns"),
                                (good.replace("a test H200", "another GPU"), "its times are of device another GPU, here it"),
                                (good.replace("2.11", "2.10"), "its times are of torch 2.10, here it is 2.11")):
            self.file.write_text(text)
            code, _, complaints = self.run_tool()
            self.assertEqual(code, 2, text)
            self.assertIn(complaint, complaints)
            self.assertEqual(complaints.count("\n"), 1)
            self.assertEqual(self.file.read_text(), text)
        self.file.write_bytes(b"\xff")
        self.assertIn("is no text in UTF-8", self.run_tool()[2])

    def test_refuses_lengths_that_are_none(self):
        for word in ("0", "-1", "1048577", "a"):
            with self.assertRaises(SystemExit) as stopped:
                self.run_tool("--lengths", word)
            self.assertEqual(stopped.exception.code, 2)

    def test_rows_and_launches(self):
        self.assertEqual([attention.batch_of(1 << e) for e in (8, 14, 15, 20)], [64, 64, 32, 1])
        self.assertEqual([attention.protocol(us) for us in (10, 5e4, 4e5, 4e6)],
                         [(3, 10, 5), (2, 2, 5), (1, 1, 5), (1, 1, 3)])

    def test_stops_without_pytorch_or_a_gpu(self):
        """By modules in place of PyTorch, one that is none and one that sees no GPU."""
        for text, complaint in (("raise ImportError('none here')", "needs PyTorch 2.3 or later: none here"),
                                ("class cuda:\n    is_available = staticmethod(lambda: False)\n", "no GPU")):
            package = Path(self.folder.name) / "torch"
            (package / "nn" / "attention").mkdir(parents=True, exist_ok=True)
            (package / "__init__.py").write_text(text)
            done = subprocess.run([sys.executable, "-B", TOOL, "--csv", self.file], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": self.folder.name})
            self.assertEqual(done.returncode, attention.NO_GPU, done.stderr)
            self.assertIn(complaint, done.stderr)
            self.assertFalse(self.file.exists())

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "PyTorch is not installed")
    def test_knows_right_from_wrong(self):
        import torch
        generator = torch.Generator().manual_seed(1)
        q, k, v = (torch.randn(2, 3, 50, 8, generator=generator) for _ in range(3))
        y = attention.attention(torch, q, k, v)
        self.assertLess(attention.relative_error(torch, q, k, v, y), 1e-6)
        self.assertGreater(attention.relative_error(torch, q, k, v, y.roll(1, 2)), 0.1)
        every = torch.nn.functional.scaled_dot_product_attention(q, k, v)  # not causal
        self.assertGreater(attention.relative_error(torch, q, k, v, every), 0.1)


if __name__ == "__main__":
    unittest.main()

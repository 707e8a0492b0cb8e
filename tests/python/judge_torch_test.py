"""The judge on tensors of PyTorch: gradients by autograd, views, types.

  PYTHONPATH=BUILD/python judge_torch_test.py [unittest's own arguments]
"""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from torch_or_skip import torch

import danaus
import danaus.torch


def by_fft(u, k, mode="causal", pregate=None, postgate=None):
    x = u if pregate is None else u * pregate
    length, size = u.shape[-1], u.shape[-1] + k.shape[-1] - 1
    if mode == "circular":
        size = length
        k = torch.nn.functional.pad(k, (0, -k.shape[-1] % length)).reshape(len(k), -1, length).sum(1)
    y = torch.fft.irfft(torch.fft.rfft(x, n=size) * torch.fft.rfft(k, n=size), n=size)[..., :length]
    return y if postgate is None else y * postgate


def by_conv1d(u, k, bias=None, padding="causal"):
    ahead = k.shape[1] // 2 if padding == "same" else 0
    x = torch.nn.functional.pad(u, (k.shape[1] - 1 - ahead, ahead))
    return torch.nn.functional.conv1d(x, k.flip(1)[:, None], bias, groups=u.shape[1])


def layer(u, w):
    axes = tuple(range(2, u.ndim))
    spectrum = torch.fft.rfftn(u, dim=axes)
    kept = (slice(None), slice(None), *(slice(0, extent) for extent in w.shape[2:]))
    mixed = torch.zeros(len(u), w.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype)
    mixed[kept] = torch.einsum("bi...,io...->bo...", spectrum[kept], w)
    return torch.fft.irfftn(mixed, s=u.shape[2:], dim=axes)


class WithoutConjugation(torch.autograd.Function):
    @staticmethod
    def forward(context, u, k):
        context.save_for_backward(u, k)
        return by_fft(u, k)

    @staticmethod
    def backward(context, dy):
        u, k = context.saved_tensors
        dk = torch.autograd.functional.vjp(lambda k: by_fft(u, k), k, dy)[1]
        return by_fft(dy, k), dk


class WithoutTheLastRow(WithoutConjugation):
    @staticmethod
    def backward(context, dy):
        u, k = context.saved_tensors
        du = torch.autograd.functional.vjp(lambda u: by_fft(u, k), u, dy)[1]
        rows = max(1, len(u) - 1)
        return du, torch.autograd.functional.vjp(lambda k: by_fft(u[:rows], k), k, dy[:rows])[1]


class Gradients(unittest.TestCase):
    def expect_failed(self, function, operation, *checks, **options):
        report = danaus.judge(function, operation, arrays="torch", **options)
        self.assertEqual(report.failed, list(checks), report)
        return report

    def expect_passed(self, function, operation, gradients="passed", **options):
        report = danaus.judge(function, operation, arrays="torch", **options)
        self.assertTrue(report.passed, report)
        self.assertEqual(report.checks["gradients"]["status"], gradients)

    def test_right_ones(self):
        self.expect_passed(by_fft, "fftconv", dtypes=["f32", "f64"])
        self.expect_passed(by_conv1d, "shortconv_f32")
        self.expect_passed(layer, "spectral", dtypes=["f32", "f64"])
        self.expect_passed(danaus.torch.conv, "fftconv")
        self.expect_passed(lambda u, k: by_fft(u.detach(), k.detach()), "fftconv_f32", "skipped", count=6)

    def test_wrong_ones(self):
        self.expect_failed(lambda u, k: WithoutConjugation.apply(u, k), "fftconv_f32", "gradients")
        report = self.expect_failed(lambda u, k: WithoutTheLastRow.apply(u, k), "fftconv_f32", "gradients")
        lines, printed = report.checks["gradients"]["repeat"], io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("\n".join(lines[1:]), {"candidate": WithoutTheLastRow.apply})
        self.assertEqual(len(lines), 5)
        wrong, right = ([float(each) for each in re.findall(r"-?\d+\.\d*(?:e-?\d+)?", line)]
                        for line in printed.getvalue().splitlines())
        self.assertNotAlmostEqual(wrong[0], right[0], 3)
        report = self.expect_failed(lambda u, k: by_fft(u, k.detach()), "fftconv_f32", "gradients")
        self.assertIn("k has no gradient", report.checks["gradients"]["text"])

    def test_a_second_callable(self):
        def backward(u, k, dy):
            return torch.autograd.functional.vjp(by_fft, (u, k), dy)[1]

        self.expect_passed(by_fft, "fftconv_f32_causal", gradient=backward, count=10)
        self.expect_failed(by_fft, "fftconv_f32_causal", "gradients", count=10,
                           gradient=lambda u, k, dy: [2 * each for each in backward(u, k, dy)])


class Candidates(unittest.TestCase):
    def failed(self, function, operation="fftconv_f32", **options):
        return danaus.judge(function, operation, arrays="torch", count=12, **options).failed

    def test_16_bits(self):
        def in_fp32(u, k):
            return by_fft(u.float(), k.float()).to(u.dtype)

        self.assertEqual(self.failed(in_fp32, "fftconv_bf16", claim="fp32"), [])
        self.assertEqual(self.failed(in_fp32, "fftconv_f16", claim="fp32"), [])
        self.assertIn("class", self.failed(lambda u, k: in_fp32(u, k.to(u.dtype)), "fftconv_f16", claim="fp32"))

    def test_what_tensors_may_do(self):
        def frees(u, k):
            y = by_fft(u, k)
            u.untyped_storage().resize_(0)
            return y

        def grows(u, k):
            return by_fft(u, k).double()

        def in_place(u, k):
            return u.mul_(k[:, :1])

        self.assertTrue({"inputs", "crashes", "raises"} & set(self.failed(frees)))
        self.assertEqual(self.failed(grows), ["outputs"])
        self.assertIn("inputs", self.failed(in_place))
        self.assertIn("outputs", self.failed(lambda u, k: u.view(u.shape)))


def on_the_default_stream(u, k):
    with torch.cuda.stream(torch.cuda.default_stream(u.device)):
        return by_fft(u, k)


@unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
class Streams(unittest.TestCase):
    def test_a_stream_that_is_ignored(self):
        for name, failed in (("by_fft", []), ("on_the_default_stream", ["streams"])):
            report = danaus.judge(f"{__file__}:{name}", "fftconv_f32_causal", arrays="torch", device="cuda", count=6,
                                  only=["streams", "load", "after"])
            self.assertEqual(report.failed, failed, report)
            self.assertNotEqual(report.checks["streams"]["status"], "skipped")


@unittest.skipIf(importlib.util.find_spec("triton") is None, "Triton is not installed")
class Triton(unittest.TestCase):
    """The example by Triton's interpreter, which takes one thread at a time."""

    SOURCE = Path(__file__).resolve().parents[2] / "python/examples/judge/conv_triton.py"

    def judged(self, change=lambda text: text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "conv_triton.py")
            path.write_text(change(self.SOURCE.read_text()))
            return subprocess.run([sys.executable, "-B", "-m", "danaus.judging", f"{path}:convolution",
                                   "fftconv_causal", "--arrays", "torch", "--count", "6", "--samples", "512",
                                   "--budget", "200", "--without", "threads", "memory"], capture_output=True, text=True,
                                  env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)})

    def test_it_passes(self):
        done = self.judged()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for check in ("values", "causality", "repeatability", "views"):
            self.assertRegex(done.stdout, rf"{check} +passed")

    def test_without_its_first_tap_it_does_not(self):
        done = self.judged(lambda text: text.replace("tap = begin + ", "tap = begin + 1 + "))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"values +failed")


if __name__ == "__main__":
    unittest.main()

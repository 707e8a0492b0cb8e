"""danaus.flashfftconv.FlashFFTConv on tensors of the CPU; its short convolution is in torch_short_test.py.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_dropin_test.py
"""

import copy
import pickle
import unittest
import warnings
from unittest import mock

from torch_or_skip import torch

import numpy as np
from torch.autograd import gradcheck

from danaus import flashfftconv
from danaus.flashfftconv import FlashFFTConv
from danaus.torch import Filter, conv
from support import direct, relative
from torch_support import long_operands as operands

ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 1e-6, torch.float64: 1e-14}


def setUpModule():
    warnings.filterwarnings("ignore", "FlashFFTConv: seqlen")  # most of these are circular


class DropIn(unittest.TestCase):
    """Against the sum circular at seqlen, of rows that zeros make so long."""

    def expected(self, size, u, k, pregate, postgate):
        def padded(x, whole):
            if x is None:
                return None
            x = x.detach().double().numpy()
            return np.concatenate([x, np.zeros((*x.shape[:-1], whole - x.shape[-1]))], -1) if whole > x.shape[-1] else x

        y = direct(padded(u, size), k.detach().double().numpy()[:, :size], "circular", padded(pregate, size),
                   padded(postgate, size))
        return y[..., :u.shape[-1]]

    def test_forward(self):
        size = 32
        for dtype, bound in ROUNDING.items():
            layer = FlashFFTConv(size, dtype=dtype)
            for length in (1, 16, 17, 31, 32):
                for taps in (1, 8, 16, 17, 32, 40):  # 16 and 32: causal and bidirectional models; 40 is cut
                    for gates in (0, 1, 2):
                        u, k, pregate, postgate = operands(length=length, taps=taps, dtype=dtype, gates=gates)
                        y = layer(u, k, pregate, postgate)
                        self.assertEqual((y.shape, y.dtype, y.is_contiguous()), (u.shape, dtype, True))
                        self.assertLess(relative(y.double(), self.expected(size, u, k, pregate, postgate)), bound)

    def test_one_gate_either_way(self):
        u, k, pregate, postgate = operands(length=16, taps=32)
        layer = FlashFFTConv(32, torch.float64)
        self.assertLess(relative(layer(u, k, postgate=postgate), self.expected(32, u, k, None, postgate)), 1e-14)
        self.assertLess(relative(layer(u, k, pregate=pregate), self.expected(32, u, k, pregate, None)), 1e-14)

    def test_gradients(self):
        layer = FlashFFTConv(8, torch.float64)
        for training in (True, False):  # the old class had none after eval()
            layer.train(training)
            for length, taps in ((8, 8), (4, 4), (4, 8), (5, 10)):
                tensors = operands(length=length, taps=taps, grad=True)
                self.assertTrue(gradcheck(layer, tensors))

    def test_autocast(self):
        u, k, _, _ = operands(dtype=torch.float32)
        layer = FlashFFTConv(12, torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertTrue(torch.equal(layer(u, k), conv(u, k, "circular")))
        with self.assertRaisesRegex(TypeError, "u is torch.float32"):
            layer(u, k)

    def test_state_of_the_old_class_loads(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k = torch.nn.Parameter(torch.ones(3, 8))
                self.conv = FlashFFTConv(8, torch.float64)

        tables = ("conv.f_32_fft", "conv.twiddle_factors_fft_32_32")
        old = {"k": torch.zeros(3, 8), **{name: torch.zeros(4) for name in tables}}
        model = Model()
        self.assertEqual(list(model.state_dict()), ["k"])
        model.load_state_dict(old)  # strict
        self.assertEqual(model.k.sum(), 0)
        model.load_state_dict(model.state_dict())
        with self.assertRaisesRegex(RuntimeError, "other"):
            model.load_state_dict({**old, "other": torch.zeros(1)})

    def test_compiles(self):
        layer = FlashFFTConv(16, torch.float32)
        fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
        for length, taps in ((16, 16), (8, 8), (8, 16)):
            tensors = operands(length=length, taps=taps, dtype=torch.float32)
            torch.testing.assert_close(fast(*tensors), layer(*tensors))

    def test_what_is_refused(self):
        layer = FlashFFTConv(8)
        u, k, _, _ = operands(length=8, taps=8, dtype=torch.float16)
        for error, words, call in (
                (TypeError, "u is torch.float32, must be torch.float16", lambda: layer(u.float(), k)),
                (ValueError, "u has 16 samples, must have at most seqlen=8", lambda: layer(u.repeat(1, 1, 2), k)),
                (ValueError, "must be .B, H, L.", lambda: layer(u[0], k)),
                (ValueError, "seqlen=0", lambda: FlashFFTConv(0)),
                (ValueError, "seqlen=8.0", lambda: FlashFFTConv(8.0)),
                (ValueError, "seqlen=True", lambda: FlashFFTConv(True)),
                (ValueError, r"FlashFFTConv: pregate has shape \(2, 3, 3\), must be \(2, 3, 5\) as u",
                 lambda: layer(u[..., :5], k, u[..., :3])),
                (TypeError, "FlashFFTConv: k is a NoneType, must be a torch.Tensor$", lambda: layer(u, None)),
                (TypeError, "FlashFFTConv: u is a ndarray, must be a torch.Tensor$", lambda: layer(u.numpy(), k)),
                (TypeError, "FlashFFTConv: k is a Filter, .*; danaus.torch.conv takes a", lambda: layer(u, Filter(k))),
                (TypeError, "dtype torch.int8", lambda: FlashFFTConv(8, torch.int8))):
            with self.assertRaisesRegex(error, words):
                call()

    def test_filters_of_public_models(self):
        u, k, pregate, _ = operands(length=16, taps=16)
        layer = FlashFFTConv(32, torch.float64)
        for length in (16, 8):
            rows, gate = u[..., :length], pregate[..., :length]
            torch.testing.assert_close(layer(rows, k[None], gate), layer(rows, k, gate), rtol=0, atol=0)
        with self.assertRaisesRegex(ValueError, r"k \(2, 3, 16\), must be .B, H, L. and .H, K. or .1, H, K."):
            layer(u, torch.stack([k, k]))

    def test_one_row_and_one_filter_broadcast(self):
        u, k, _, _ = operands(length=16, taps=16)
        layer = FlashFFTConv(32, torch.float64)
        torch.testing.assert_close(layer(u, k[:1]), layer(u, k[:1].expand(3, 16)), rtol=0, atol=0)
        torch.testing.assert_close(layer(u[:, :1], k), layer(u[:, :1].expand(2, 3, 16), k), rtol=0, atol=0)
        for length in (10, 17):  # with padding, and without
            x = u[..., :1].repeat(1, 1, length)
            for taps in (16, 32):
                filters = k.repeat(1, 2)[:, :taps]
                torch.testing.assert_close(layer(x, filters, x[0], x[:, :1]),
                                           layer(x, filters, x[[0, 0]], x[:, [0, 0, 0]]), rtol=0, atol=0)
        self.assertEqual(FlashFFTConv(np.int64(32)).seqlen, 32)

    def test_empty_batches_and_meta_tensors(self):
        u, k, pregate, postgate = operands(length=16, taps=32)
        layer = FlashFFTConv(32, torch.float64)
        self.assertEqual(layer(u[:0], k, pregate[:0], postgate[:0]).shape, (0, 3, 16))
        y = layer(*(x.to("meta") for x in (u, k, pregate, postgate)))
        self.assertEqual((y.shape, y.device.type), (u.shape, "meta"))

    def test_a_leak_of_the_future_is_said_once(self):
        u, k, _, _ = operands(length=16, taps=17)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            layer = FlashFFTConv(32, torch.float64)
            layer(u, k)  # L + K - 1 = 32
            self.assertEqual(caught, [])
            layer = FlashFFTConv(31, torch.float64)
            for _ in range(2):
                leaked = layer(u, k)
            FlashFFTConv(31, torch.float64)(u, k)
        self.assertEqual(len(caught), 2)
        self.assertIn("seqlen=31 is less than L + K - 1 = 32: y is circular, and the end of a row reaches its first 1 "
                      "samples", str(caught[0].message))
        self.assertFalse(torch.equal(leaked[..., :1], conv(u, k)[..., :1]))
        torch.testing.assert_close(leaked[..., 1:], conv(u, k)[..., 1:])

    def test_what_a_subclass_keeps_is_loaded(self):
        class Own(FlashFFTConv):
            def __init__(self, value):
                super().__init__(32, torch.float32)
                self.k = torch.nn.Parameter(torch.full((2, 8), value))
                self.register_buffer("scale", torch.full((2,), value))
                self.f_own_fft = torch.nn.Parameter(torch.full((2,), value))  # as the tables of the old class are named
                self.inner = torch.nn.Linear(2, 2)

        saved, other = Own(3.0).state_dict(), Own(0.0)
        self.assertEqual(set(saved), {"k", "scale", "f_own_fft", "inner.weight", "inner.bias"})
        tables = {"f_32_fft": torch.zeros(4), "twiddle_factors_ifft_32_1K": torch.zeros(4), "f_sqrt_N_ifft":
                  torch.zeros(4), "f_16_fft_real": torch.zeros(4), "twiddle_factors_fft": torch.zeros(4), "twid":
                  torch.zeros(4)}
        other.load_state_dict({**saved, **tables})  # strict
        self.assertTrue(all((x == 3).all() for x in (other.k, other.scale, other.f_own_fft)))
        torch.testing.assert_close(other.inner.weight, saved["inner.weight"])
        for words, state in (("Missing key.*\"k\"", {name: x for name, x in saved.items() if name != "k"}),
                             ("Unexpected key.*\"kk\"", {**saved, "kk": saved["k"]}),
                             ("size mismatch for k", {**saved, "k": torch.zeros(3)})):
            with self.assertRaisesRegex(RuntimeError, words):
                other.load_state_dict(state)
        attached = FlashFFTConv(32)
        attached.bias = torch.nn.Parameter(torch.zeros(3))
        attached.load_state_dict({"bias": torch.ones(3)})
        self.assertTrue(attached.bias.all())


class Unchanged(unittest.TestCase):
    """Filters that do not change, on tensors that are taken for those of a GPU."""

    def setUp(self):
        self.given = []

        def noting(u, k, *others):
            self.given.append(k)
            return conv(u, k, *others)

        for patch in (mock.patch.object(flashfftconv, "conv", noting),
                      mock.patch.object(flashfftconv, "_may_stay", lambda k, u: True)):
            patch.start()
            self.addCleanup(patch.stop)
        self.u, self.k, _, _ = operands(length=16, taps=16)
        self.layer = FlashFFTConv(32, torch.float64)

    def expect(self, kept, k, u=None):
        """Whether the filter was one that had been transformed before."""
        u = self.u if u is None else u
        before = list(self.given)
        torch.testing.assert_close(self.layer(u, k), conv(u, k.reshape(k.shape[-2:])), rtol=0, atol=0)
        given = self.given[-1]
        self.assertEqual(isinstance(given, Filter) and any(given is one for one in before), kept)
        return given

    def test_from_the_third_call_on_it_is_transformed_no_more(self):
        self.assertIs(self.expect(False, self.k), self.k)
        first = self.expect(False, self.k)
        self.assertIsInstance(first, Filter)
        self.assertIsNot(first.k, self.k)
        for k in (self.k, self.k.clone(), self.k[None], torch.cat([self.k, self.k])[3:]):
            self.assertIs(self.expect(True, k), first)

    def test_every_change_is_seen(self):
        for change in (lambda: self.k.mul_(2), lambda: self.k.data.mul_(2), lambda: self.k.data[1, 3].add_(1),
                       lambda: self.k.numpy().fill(3)):
            self.expect(False, self.k)
            self.expect(False, self.k)
            self.expect(True, self.k)
            change()
            self.expect(False, self.k)
            self.layer._seen.clear()
        self.k[0, 5] = float("nan")
        self.layer(self.u, self.k), self.layer(self.u, self.k)
        first = self.given[-1]
        self.layer(self.u, self.k)
        self.assertIsNot(self.given[-1], first)

    def test_several_layers_and_a_filter_that_always_changes(self):
        for i in range(3):
            for scale in (1, 2, 3):
                self.expect(i == 2, scale * self.k)
        for i in range(100):
            self.expect(False, torch.full_like(self.k, i + 0.5))
        kept = [kept for _, kept in self.layer._seen.values() if kept is not None]
        self.assertLessEqual(len(self.layer._seen), flashfftconv._MOST_KEPT)
        self.assertEqual(kept, [])

    def test_what_came_long_ago_is_dropped(self):
        for _ in range(3):
            self.layer(self.u, self.k)
        other = 2 * self.k
        for _ in range(flashfftconv._KEPT_CALLS + 2):
            self.layer(self.u, other)
        self.assertEqual(len(self.layer._seen), 1)

    def test_a_gradient_to_come_drops_them(self):
        for _ in range(3):
            self.layer(self.u, self.k)
        learnt = self.k.clone().requires_grad_()
        self.layer(self.u, learnt).sum().backward()
        self.assertIsNotNone(learnt.grad)
        self.assertEqual(self.layer._seen, {})

    def test_under_autocast(self):
        layer = FlashFFTConv(32, torch.bfloat16)
        u, k = self.u.float(), self.k.float()
        for _ in range(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = layer(u, k)
        self.assertIsInstance(self.given[-1], Filter)
        self.assertTrue(torch.equal(y, conv(u.bfloat16(), k)))

    def test_copies_and_pickles_have_none(self):
        for _ in range(3):
            self.layer(self.u, self.k)
        for other in (copy.deepcopy(self.layer), pickle.loads(pickle.dumps(self.layer))):
            self.assertEqual(other._seen, {})
            torch.testing.assert_close(other(self.u, self.k), conv(self.u, self.k), rtol=0, atol=0)

    def test_where_it_does_not_pay_it_is_not_looked_at(self):
        mock.patch.stopall()
        with mock.patch.object(flashfftconv, "is_capturing", lambda _: False):
            k = mock.Mock(is_cuda=True, numel=lambda: 1 << 23, get_device=lambda: 0)
            self.assertTrue(flashfftconv._may_stay(k, self.u.half()))
            self.assertFalse(flashfftconv._may_stay(k, self.u))
            k.numel = lambda: (1 << 23) - 1
            self.assertFalse(flashfftconv._may_stay(k, self.u.half()))
            self.assertFalse(flashfftconv._may_stay(self.k, self.u.half()))


if __name__ == "__main__":
    unittest.main()

"""Which way the tensors of danaus.torch's operators go, and the plans that they go to: types, sizes, empty batches,
rows and filters that broadcast, meta tensors, how many plans are kept.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_plans_test.py
"""

import gc
import threading
import unittest
import weakref
from unittest import mock

from torch_or_skip import torch

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import opcheck

from danaus import _tensors, _torch_short
from danaus import torch as danaus_torch
from danaus.torch import Filter, clear_plans, conv, short_conv
from torch_support import PretendedGpu, long_operands as operands, relative, short_truth

LONG, SHORT = torch.ops.danaus.conv, torch.ops.danaus.short_conv


def short_operands(dtype=torch.float64, batch=2, channels=3, last=False, grad=False):
    """u, k, bias, padding, pregate, postgate, channels_last."""
    u, k, pregate, postgate = operands(batch, channels, 40, 4, dtype)
    tensors = [x.mT.contiguous() if last else x for x in (u, pregate, postgate)]
    tensors = [x.requires_grad_(grad) for x in (tensors[0], k, k[:, 0].clone(), *tensors[1:])]
    return *tensors[:3], "causal", *tensors[3:], last


class Plans(PretendedGpu):
    """Executed is none of them: what is kept and freed is the same."""

    def setUp(self):
        super().setUp()
        noted = self.noted()
        noted.__enter__()
        self.addCleanup(noted.__exit__, None, None, None)
        patch = mock.patch.object(_tensors, "MOST_PLANS", 4)
        patch.start()
        self.addCleanup(patch.stop)

    def call(self, length):
        u, k, _, _ = operands(2, 1, length, 8, torch.float16, gates=0)
        danaus_torch._conv_cuda(u, k, "causal", None, None)
        return weakref.ref(_tensors.plans[f"fftconv_f16_causal_l{length}_k8_b2_h1", -1])

    def lengths(self):
        return sorted(int(token.split("_")[3][1:]) for token, _ in _tensors.plans)

    def test_those_that_were_used_longest_ago_make_room(self):
        plans = {length: self.call(length) for length in (16, 24, 32, 40)}
        self.call(16)
        self.call(48)
        gc.collect()
        self.assertEqual(self.lengths(), [16, 32, 40, 48])
        self.assertEqual([length for length, plan in plans.items() if plan() is None], [24])
        torch.cuda.synchronize.assert_called_with(-1)  # kernels may still read their constants
        self.assertEqual({entry.plan for entry in _tensors.entries.values()}, set(_tensors.plans.values()))
        for length in range(56, 256, 8):
            self.call(length)
            self.assertLessEqual(len(_tensors.plans), 4)
            self.assertLessEqual(len(_tensors.entries), 4)
        with mock.patch.object(_tensors, "MOST_PLANS", 2):
            self.call(24)
        self.assertEqual(len(_tensors.plans), 2)
        clear_plans()
        with mock.patch.object(_tensors, "MOST_PLANS", 16):
            for length in range(16, 144, 8):
                self.call(length)
            self.assertEqual(len(_tensors.plans), 16)
            self.call(144)
            self.assertEqual(self.lengths(), list(range(32, 152, 8)))

    def test_slices_of_any_width_make_room(self):
        u, k, _, _ = operands(2, 3, 64, 8, torch.float16, gates=0)
        with mock.patch.object(_tensors, "MOST_ENTRIES", 16):
            for width in range(64, 128):
                z = torch.zeros(2, 3, width, dtype=torch.float16)
                danaus_torch._conv_cuda(z[..., :64], k, "causal", None, None)
                self.assertLessEqual(len(_tensors.entries), 16)

    def test_what_a_graph_reads_stays(self):
        plan = self.call(16)
        with self.capturing():
            self.call(16)
        for length in range(24, 200, 8):
            self.call(length)
        before = self.lengths()
        self.assertIn(16, before)
        self.assertEqual(clear_plans(), len(before) - 1)
        self.assertEqual(self.lengths(), [16])
        self.assertEqual(clear_plans(), 0)
        self.assertEqual(clear_plans(captured=True), 1)
        gc.collect()
        self.assertIsNone(plan())

    def test_what_a_graph_reads_stays_though_another_thread_frees_meanwhile(self):
        plan = self.call(16)
        take = _tensors._Entry.take

        def cleared(entry):
            clearing = threading.Thread(target=lambda: results.append(clear_plans()))
            self.is_capturing = False  # of that thread
            clearing.start()
            clearing.join()
            return take(entry)

        results = []
        with self.capturing(), mock.patch.object(_tensors._Entry, "take", cleared):
            self.call_again(16)
        gc.collect()
        self.assertIsNotNone(plan())

    def call_again(self, length):
        u, k, _, _ = operands(2, 1, length, 8, torch.float16, gates=0)
        danaus_torch._conv_cuda(u, k, "causal", None, None)

    def test_cleared(self):
        plans = [self.call(16), self.call(24)]
        words = "clear_plans: the current stream is being captured"
        with self.capturing(), self.assertRaisesRegex(RuntimeError, words):
            clear_plans()
        self.assertEqual(len(_tensors.plans), 2)
        self.assertEqual(clear_plans(), 2)
        gc.collect()
        self.assertEqual([plan() for plan in plans], [None, None])
        self.assertEqual((_tensors.plans, _tensors.entries), ({}, {}))
        self.call(16)

    def test_both_plans_of_a_step_are_there(self):
        for length in (16, 24, 32, 40):
            self.call(length)
        u, k, _, _ = operands(2, 1, 256, 256, torch.float16, gates=0)
        danaus_torch._conv_cuda(u, k, "causal", None, None, trains=True)
        self.assertLessEqual({("fftconv_f16_causal_l256_b2_h1", -1), ("fftconvgrad_f16_causal_l256_b2_h1", -1)},
                             set(_tensors.plans))

    def test_a_filter_keeps_the_plan_that_it_refreshes_by(self):
        u, k, _, _ = operands(2, 1, 256, 8, torch.float16, gates=0)
        kept = Filter(k)
        danaus_torch._forward_of(kept, u, "causal", None, None)
        self.assertEqual(clear_plans(), 1)
        kept.refresh()
        self.assertTrue(kept.is_current())


class PlansAndThreads(PretendedGpu):
    def test_calls_are_right_while_plans_are_freed(self):
        cases, right = [], []
        for length in (16, 24, 32, 40):
            u, k, _, _ = operands(2, 1, length, 8, torch.float16, gates=0)
            cases.append((u, k, danaus_torch._conv_cuda(u, k, "causal", None, None)[0]))

        def work(thread):
            for turn in range(16):
                u, k, expected = cases[(3 * thread + turn) % 4]
                right.append(torch.equal(danaus_torch._conv_cuda(u, k, "causal", None, None)[0], expected))
                if turn % 8 == 0:
                    clear_plans()

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        with mock.patch.object(_tensors, "MOST_PLANS", 2):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(right, [True] * 64)  # no call raised
        self.assertGreater(len(self.tokens), 4)


class Sizes(PretendedGpu):
    def test_what_is_prepared_is_never_too_small(self):
        u, k, _, _ = operands(4, 2, 256, 256, torch.float16)
        danaus_torch._conv_cuda(u, k, "causal", None, None)
        (entry,) = _tensors.entries.values()
        y = torch.full_like(u, 3)
        short = torch.zeros(entry.prepared_bytes - 256, dtype=torch.uint8)
        for is_prepared in (False, True):
            with self.assertRaisesRegex(ValueError, f"prepared has {short.nbytes} bytes, the plan needs"):
                _tensors.run(entry, short, is_prepared, [k, u, y])
        with self.assertRaisesRegex(ValueError, "prepared has"):
            _tensors.prepare(entry, short, [k])
        self.assertTrue((y == 3).all() and not short.any())

    def test_a_spectrum_that_is_none(self):
        u, k, _, _ = operands(2, 2, 256, 256, torch.float16)
        y, spectrum = danaus_torch._conv_cuda(u, k, "causal", None, None, trains=True)
        for other in (spectrum[:16], spectrum.repeat(2), spectrum.view(torch.int16), spectrum.repeat(2)[::2]):
            with self.assertRaisesRegex(ValueError, "conv_backward: spectrum is .*, must be what conv.. returned"):
                danaus_torch._conv_backward_cuda(y, u, k, other, "causal", None, None, [True] * 4)
        u, k, _, _ = operands()
        y, spectrum = LONG(u, k, "causal", None, None, True)
        for other in (spectrum[:1], spectrum[:, :1], spectrum.real, spectrum.flatten()):
            with self.assertRaisesRegex(ValueError, "conv_backward: spectrum is .*, must be what conv.. returned"):
                torch.ops.danaus.conv_backward(y, u, k, other, "causal", None, None, [True] * 4)

    def test_backward_operators_of_the_cpu_refuse_other_gradients(self):
        u, k, _, _ = operands()
        with self.assertRaisesRegex(ValueError, "conv_backward: dy is"):
            torch.ops.danaus.conv_backward(u[:1], u, k, u.new_empty(0), "causal", None, None, [True] * 4)
        with self.assertRaisesRegex(ValueError, "short_conv_backward: dy is"):
            torch.ops.danaus.short_conv_backward(u[:1], u, k, None, "causal", None, None, False, [True] * 5)


class Types(PretendedGpu):
    """What float32 and float64 tensors of a GPU get is what those of the CPU get."""

    def test_long(self):
        for dtype in (torch.float32, torch.float64):
            u, k, pregate, postgate = operands(dtype=dtype)
            y, spectrum = danaus_torch._conv_cuda(u, k, "causal", pregate, postgate, True)
            expected, same = LONG(u, k, "causal", pregate, postgate, True)
            torch.testing.assert_close((y, spectrum), (expected, same), rtol=0, atol=0)
            arguments = u, u, k, spectrum, "causal", pregate, postgate, [True] * 4
            torch.testing.assert_close(danaus_torch._conv_backward_cuda(*arguments),
                                       torch.ops.danaus.conv_backward(*arguments), rtol=0, atol=0)
        self.assertEqual(self.tokens, [])

    def test_short_and_one_tap(self):
        for dtype in (torch.float32, torch.float64):
            arguments = short_operands(dtype)
            torch.testing.assert_close(_torch_short._short_conv_cuda(*arguments), SHORT(*arguments), rtol=0, atol=0)
            torch.testing.assert_close(
                _torch_short._short_conv_backward_cuda(arguments[0], *arguments, [True] * 5),
                torch.ops.danaus.short_conv_backward(arguments[0], *arguments, [True] * 5), rtol=0, atol=0)
        for last in (False, True):
            u, k, bias, _, pregate, postgate, _ = short_operands(torch.float16, last=last)
            for padding in ("causal", "same"):
                y = _torch_short._short_conv_cuda(u, k[:, :1], bias, padding, pregate, postgate, last)
                self.assertLess(relative(y, short_truth(u, k[:, :1], bias, padding, pregate, postgate, last)), 2e-3)
                gradients = _torch_short._short_conv_backward_cuda(
                    u, u, k[:, :1], bias, padding, pregate, postgate, last, [True] * 5)
                self.assertEqual(gradients[1].shape, (3, 1))
        self.assertEqual(self.tokens, [])

    def test_fake_tensors(self):
        with FakeTensorMode():
            u, k = torch.empty(2, 3, 1000, device="cuda"), torch.empty(3, 700, device="cuda")
            y = conv(u, k)
            self.assertEqual((y.shape, y.dtype, y.device), (u.shape, u.dtype, u.device))
            _, spectrum = LONG(u, k, "causal", None, None, True)
            self.assertEqual((spectrum.shape, spectrum.dtype), ((3, 2048 // 2 + 1), torch.complex64))
            gradients = torch.ops.danaus.conv_backward(y, u, k, spectrum, "causal", None, None,
                                                       [True, True, False, False])
            self.assertEqual([x.shape for x in gradients], [u.shape, k.shape, (0,), (0,)])
            y = short_conv(u, k[:, :4])
            self.assertEqual((y.shape, y.dtype, y.device), (u.shape, u.dtype, u.device))

    def test_a_bias_gradient_with_a_postgate_sums_products_of_float32(self):
        for dtype in (torch.float16, torch.bfloat16):
            for last in (False, True):
                u, k, bias, padding, pregate, postgate, _ = short_operands(dtype, last=last)
                dy = postgate.flip(0)
                _, _, dbias, _, _ = _torch_short._short_conv_backward_cuda(
                    dy, u, k, bias, padding, pregate, postgate, last, [True] * 5)
                exact = (dy.double() * postgate.double()).sum((0, 1) if last else (0, 2))
                self.assertEqual(dbias.dtype, torch.float32)
                self.assertLess(relative(dbias, exact), 1e-6)


class Rows(PretendedGpu):
    """One row and several filters, several rows and one filter, and no rows."""

    def test_broadcast(self):
        u, k, pregate, postgate = operands(grad=True)
        for rows, filters, gates in ((u, k[:1], (pregate, postgate)), (u[:, :1], k, (pregate[:, :1], postgate)),
                                     (u[:, :1], k, (pregate, postgate[:, :1]))):
            whole = [x.expand(2, 3, 12) for x in (rows, *gates)]
            y = conv(rows, filters, "circular", *gates)
            expected = conv(whole[0], filters.expand(3, 12), "circular", *whole[1:])
            torch.testing.assert_close(y, expected, rtol=0, atol=0)
            torch.testing.assert_close(*(torch.autograd.grad(z.square().sum(), (u, k, pregate, postgate))
                                         for z in (y, expected)))
        with self.assertRaisesRegex(ValueError, r"k has shape \(2, 12\), must be \[H, K\], H=3"):
            conv(u, k[:2])

    def test_broadcast_short(self):
        for last in (False, True):
            u, k, bias, padding, pregate, postgate, _ = short_operands(last=last, grad=True)
            one = slice(None), slice(None), slice(1)
            one = one if last else (slice(None), slice(1))
            for rows, filters, of_bias, gates in ((u, k[:1], bias, (pregate, postgate)),
                                                  (u, k, bias[:1], (pregate, postgate)),
                                                  (u[one], k, bias, (pregate[one], postgate))):
                y = short_conv(rows, filters, of_bias, padding, *gates, last)
                expected = short_conv(rows.expand(u.shape), filters.expand(3, 4), of_bias.expand(3), padding,
                                      *(gate.expand(u.shape) for gate in gates), last)
                torch.testing.assert_close(y, expected, rtol=0, atol=0)
                torch.testing.assert_close(*(torch.autograd.grad(z.square().sum(), (u, k, bias, pregate, postgate))
                                             for z in (y, expected)))

    def test_gates_broadcast(self):
        u, k, pregate, _ = operands(grad=True)
        shapes = (slice(None), slice(1)), (0, 0), (0,), (slice(1),), (..., slice(1))
        for operation, last in ((conv, False), (short_conv, False), (short_conv, True)):
            x, options = u.mT if last else u, {"channels_last": last} if last else {}
            for place in shapes:
                gate = (pregate.mT if last else pregate)[place].detach().requires_grad_()
                whole = gate.expand(x.shape)
                y, expected = (operation(x, k, pregate=each, postgate=each, **options) for each in (gate, whole))
                torch.testing.assert_close(y, expected, rtol=0, atol=0)
                torch.testing.assert_close(*(torch.autograd.grad(z.square().sum(), (u, k, gate))
                                             for z in (y, expected)))

    def test_no_channels(self):
        for dtype in (torch.float16, torch.float64):
            for rows, filters in ((torch.ones(2, 0, 12), torch.ones(1, 5)), (torch.ones(2, 0, 12), torch.ones(0, 5)),
                                  (torch.ones(2, 1, 12), torch.ones(0, 5)), (torch.ones(0, 0, 12), torch.ones(1, 5))):
                u, k = (x.to(dtype).requires_grad_() for x in (rows, filters))
                for y in (conv(u, k, "circular", u[:1]), short_conv(u, k), short_conv(u.mT, k, channels_last=True).mT):
                    self.assertEqual((y.shape, y.dtype), ((len(rows), 0, 12), dtype))
                    gradients = torch.autograd.grad(y.sum(), (u, k))
                    self.assertEqual([x.shape for x in gradients], [u.shape, k.shape])
                    self.assertFalse(any(x.any() for x in gradients))
        u, k = torch.ones(2, 0, 12, dtype=torch.float16), torch.ones(0, 5)
        y, spectrum = danaus_torch._conv_cuda(u, k, "causal", None, None, True)
        gradients = danaus_torch._conv_backward_cuda(y, u, k, spectrum, "causal", None, None, [True] * 2 + [False] * 2)
        self.assertEqual([x.shape for x in gradients], [u.shape, k.shape, (0,), (0,)])
        opcheck(LONG.default, (u.float(), k, "causal", None, None, True))

    def test_none(self):
        for dtype in (torch.float16, torch.float64):
            tensors = [x.requires_grad_() for x in operands(0, dtype=dtype)]
            y = conv(*tensors[:2], "causal", *tensors[2:])
            self.assertEqual((y.shape, y.dtype), ((0, 3, 12), dtype))
            y.sum().backward()
            for x in tensors:
                self.assertEqual((x.grad.shape, x.grad.any()), (x.shape, False))
            for last in (False, True):
                arguments = short_operands(dtype, 0, last=last, grad=True)
                y = short_conv(*arguments)
                self.assertEqual((y.shape, y.dtype), (arguments[0].shape, dtype))
                y.sum().backward()
                for x in arguments:
                    if isinstance(x, torch.Tensor):
                        self.assertEqual((x.grad.shape, x.grad.any()), (x.shape, False))

    def test_none_where_a_gpus_go(self):
        u, k, pregate, postgate = operands(0, dtype=torch.float16)
        y, spectrum = danaus_torch._conv_cuda(u, k, "causal", pregate, None, True)
        self.assertEqual((y.shape, spectrum.shape), (u.shape, (0,)))
        gradients = danaus_torch._conv_backward_cuda(y, u, k, spectrum, "causal", pregate, None, [True] * 3 + [False])
        self.assertEqual([x.shape for x in gradients], [u.shape, k.shape, u.shape, (0,)])
        self.assertFalse(gradients[1].any())
        arguments = short_operands(torch.float16, 0)
        y = _torch_short._short_conv_cuda(*arguments)
        gradients = _torch_short._short_conv_backward_cuda(y, *arguments, [True] * 5)
        self.assertEqual([x.shape for x in gradients], [u.shape[:2] + (40,), (3, 4), (3,)] + [y.shape] * 2)
        self.assertEqual(self.tokens, [])
        with self.assertRaisesRegex(ValueError, "mode 'full'"):
            danaus_torch._conv_cuda(u, k, "full", None, None)

    def test_none_in_a_graph(self):
        u, k, _, _ = operands(0, dtype=torch.float32)
        fast = torch.compile(lambda u, k: conv(2 * u, k), fullgraph=True, backend="aot_eager")
        self.assertEqual(fast(u, k).shape, u.shape)
        opcheck(LONG.default, (u, k, "causal", None, None, True))

    def test_meta(self):
        for dtype in (torch.float16, torch.float32):
            tensors = [x.to("meta").requires_grad_() for x in operands(dtype=dtype)]
            y = conv(*tensors[:2], "circular", *tensors[2:])
            self.assertEqual((y.shape, y.dtype, y.device.type), (tensors[0].shape, dtype, "meta"))
            y.sum().backward()
            arguments = [x.to("meta") if isinstance(x, torch.Tensor) else x for x in short_operands(dtype)]
            self.assertEqual(short_conv(*arguments).device.type, "meta")
            for x in tensors:
                self.assertEqual(x.grad.shape, x.shape)
        with torch.device("meta"):
            self.assertEqual(conv(torch.empty(2, 3, 8), Filter(torch.empty(3, 4))).device.type, "meta")


if __name__ == "__main__":
    unittest.main()

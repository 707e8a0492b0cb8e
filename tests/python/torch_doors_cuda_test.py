"""danaus.torch and danaus.Plan on a GPU: types without kernels, Filters and plans beyond one call, streams and graphs
that outlive them, rows that broadcast, filters that the drop-in keeps.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_doors_cuda_test.py
"""

import threading
import unittest
import warnings
from unittest import mock

from torch_or_skip import need_gpu, torch

import danaus

need_gpu()

from torch.library import opcheck

from danaus import _tensors
from danaus.flashfftconv import FlashDepthWiseConv1d, FlashFFTConv
from danaus.torch import Filter, clear_plans, conv, short_conv
from torch_support import relative, short_truth

WIDE = {torch.float32: 2e-6, torch.float64: 1e-14}
SLEEP = 200_000_000  # cycles, a tenth of a second


def operands(batch=4, channels=6, length=1024, taps=1024, dtype=torch.float16, gates=2, seed=1):
    generator = torch.Generator("cuda").manual_seed(seed)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator, device="cuda").to(dtype)

    of_filter = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    return (draw(batch, channels, length), draw(channels, taps, dtype=of_filter) / taps**0.5,
            *(draw(batch, channels, length) if i < gates else None for i in range(2)))


def causal(u, k, pregate=None, postgate=None):
    """In double by torch.fft; gradients go through it."""
    x = u.double() if pregate is None else u.double() * pregate.double()
    points = u.shape[-1] + k.shape[-1]
    y = torch.fft.irfft(torch.fft.rfft(x, points) * torch.fft.rfft(k.double(), points), points)[..., :u.shape[-1]]
    return y if postgate is None else y * postgate.double()


class Types(unittest.TestCase):
    def test_long(self):
        for dtype, bound in WIDE.items():
            for length, taps in ((1000, 1000), (4096, 300), (65536, 65536)):
                tensors = [x.requires_grad_() for x in operands(3, 4, length, taps, dtype)]
                y, expected = conv(*tensors[:2], "causal", *tensors[2:]), causal(*tensors)
                self.assertEqual((y.dtype, y.device), (dtype, tensors[0].device))
                self.assertLess(relative(y, expected.detach()), bound)
                dy = torch.randn_like(y)
                for actual, exact in zip(torch.autograd.grad(y, tensors, dy),
                                         torch.autograd.grad(expected, tensors, dy.double())):
                    self.assertLess(relative(actual, exact.double()), 2 * bound)

    def test_short(self):
        for dtype, bound in WIDE.items():
            for taps in (1, 4, 100):
                for last in (False, True):
                    u, k, pregate, postgate = operands(3, 24, 500, taps, dtype)
                    u, pregate, postgate = (x.mT.contiguous() if last else x for x in (u, pregate, postgate))
                    tensors = [x.requires_grad_() for x in (u, k, k[:, 0].clone(), pregate, postgate)]
                    y = short_conv(*tensors[:3], "same", *tensors[3:], last)
                    expected = short_truth(*tensors[:3], "same", *tensors[3:], last)
                    self.assertLess(relative(y, expected.detach()), bound, (dtype, taps, last))
                    dy = torch.randn_like(y)
                    for actual, exact in zip(torch.autograd.grad(y, tensors, dy),
                                             torch.autograd.grad(expected, tensors, dy.double())):
                        self.assertLess(relative(actual, exact.double()), 4 * bound, (dtype, taps, last))

    def test_one_tap_of_16_bits(self):
        u, k, pregate, postgate = operands(taps=1)
        y = short_conv(u, k, k[:, 0], "causal", pregate, postgate)
        self.assertLess(relative(y, short_truth(u, k, k[:, 0], "causal", pregate, postgate, False)), 1e-3)

    def test_a_bias_gradient_with_a_postgate(self):
        for dtype in (torch.float16, torch.bfloat16):
            for last in (False, True):
                u, k, pregate, postgate = operands(4, 24, 1000, 4, dtype)
                u, pregate, postgate = (x.mT.contiguous() if last else x for x in (u, pregate, postgate))
                bias = torch.zeros(24, device="cuda", requires_grad=True)
                dy = torch.randn_like(u)
                short_conv(u, k, bias, "causal", pregate, postgate, last).backward(dy)
                exact = (dy.double() * postgate.double()).sum((0, 1) if last else (0, 2))
                self.assertLess(relative(bias.grad, exact), 2e-6)

    def test_drop_ins_and_compiled_graphs(self):
        u, k, _, _ = operands(length=512, taps=512, dtype=torch.float32)
        self.assertLess(relative(FlashFFTConv(1024, torch.float32)(u, k[None]), causal(u, k)), 2e-6)
        layer = FlashDepthWiseConv1d(6, 3, 1, k[:, None, :3], k[:, 0])
        self.assertEqual(layer(u).dtype, torch.float32)
        fast = torch.compile(lambda u, k: conv(2 * u, k), fullgraph=True)
        self.assertLess(relative(fast(u, k), causal(2 * u, k)), 2e-6)
        opcheck(torch.ops.danaus.conv.default, (u, k, "causal", None, None, True))
        opcheck(torch.ops.danaus.short_conv.default, (u, k[:, :4], None, "causal", None, None, False))


class Rows(unittest.TestCase):
    def test_broadcast(self):
        u, k, _, _ = operands(taps=500)
        for rows, filters in ((u, k[:1]), (u[:, :1], k)):
            expected = conv(rows.expand(u.shape).contiguous(), filters.expand(6, 500).contiguous())
            self.assertTrue(torch.equal(conv(rows, filters), expected))
            kept = Filter(filters.contiguous())
            for _ in range(2):
                self.assertTrue(torch.equal(conv(rows, kept), expected))
            learnt = filters.clone().requires_grad_()
            conv(rows, learnt).sum().backward()
            self.assertEqual(learnt.grad.shape, filters.shape)
        self.assertEqual(short_conv(u[:, :1], k[:, :4]).shape, u.shape)

    def test_none(self):
        u, k, pregate, postgate = operands(0)
        learnt = k.requires_grad_()
        y = conv(u, learnt, "causal", pregate, postgate)
        y.sum().backward()
        self.assertEqual((y.shape, learnt.grad.any().item()), (u.shape, False))
        self.assertEqual(short_conv(u, k[:, :4].detach()).shape, u.shape)
        self.assertEqual(conv(u, Filter(k.detach())).shape, u.shape)


class Filters(unittest.TestCase):
    def test_one_row_and_then_several(self):
        u, k, _, _ = operands(2, 16, 100000, 2048, torch.bfloat16)
        for order in ((u[:1], u), (u, u[:1])):
            kept = Filter(k)
            for rows in (*order, *order):
                self.assertTrue(torch.equal(conv(rows, kept), conv(rows, k)))

    def test_changes_that_nobody_counts(self):
        u, k, _, _ = operands()
        kept = Filter(torch.nn.Parameter(k.clone(), requires_grad=False))
        conv(u, kept)
        self.assertTrue(kept.is_current())
        kept.k.data.mul_(2)
        self.assertFalse(kept.is_current())
        kept.refresh()
        self.assertTrue(kept.is_current())
        self.assertTrue(torch.equal(conv(u, kept), conv(u, 2 * k)))

    def test_a_graph_that_trains_k(self):
        u, k, _, _ = operands()
        kept = Filter(k)
        conv(u, kept)
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            conv(u, kept), kept.refresh()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            k.data.mul_(-0.5)
            kept.refresh()
            y = conv(u, kept)
        for _ in range(3):
            graph.replay()
            torch.cuda.synchronize()
            self.assertTrue(torch.equal(y, conv(u, k)))
            self.assertTrue(torch.equal(conv(u, kept), conv(u, k)))
            self.assertTrue(kept.is_current())

    def test_dropped_while_a_stream_reads_it(self):
        u, k, _, _ = operands(8, 256, 4096, 4096)
        expected, kept = conv(u, k), Filter(k)
        conv(u, kept)
        torch.cuda.synchronize()
        size = next(iter(kept._spectra.values()))[0].nbytes
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP)
            y = conv(u, kept)
        del kept
        others = [torch.full((size,), 255, dtype=torch.uint8, device="cuda") for _ in range(8)]
        self.assertFalse(side.query())
        side.synchronize()
        self.assertTrue(torch.equal(y, expected))
        del others

    def test_changed_while_a_stream_reads_it(self):
        u, k, _, _ = operands(8, 256, 4096, 4096)
        expected, kept = conv(u, k), Filter(k)
        conv(u, kept)
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP)
            y = conv(u, kept)
        k.zero_()
        self.assertFalse(conv(u, kept).any())  # waits for the other stream
        side.synchronize()
        self.assertTrue(torch.equal(y, expected))

    def test_first_calls_of_many_threads(self):
        u, k, _, _ = operands()
        expected = conv(u, k)
        torch.cuda.synchronize()
        for _ in range(20):
            kept, wrong, start = Filter(k), [], threading.Barrier(8)

            def work():
                with torch.cuda.stream(torch.cuda.Stream()):
                    start.wait()
                    if not torch.equal(conv(u, kept), expected):
                        wrong.append(None)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((wrong, len(kept._spectra)), ([], 1))


class Plans(unittest.TestCase):
    def test_cleared(self):
        u, k, _, _ = operands(length=65536, taps=65536)
        expected = conv(u, k)
        self.assertGreater(clear_plans(), 0)
        self.assertEqual(clear_plans(), 0)  # graphs read those that are left
        self.assertTrue(torch.equal(conv(u, k), expected))

    def test_a_graph_outlives_them(self):
        u, k, _, _ = operands(length=4096, taps=4096)
        conv(u, k)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = conv(u, k)
        with self.assertRaisesRegex(RuntimeError, "clear_plans: the current stream is being captured"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                clear_plans()
        clear_plans()
        with mock.patch.object(_tensors, "MOST_PLANS", 4):
            for length in range(256, 1024, 32):
                others = operands(length=length, taps=64)
                conv(*others[:2])
        memory = [torch.full((1 << 20,), float("nan"), device="cuda") for _ in range(64)]
        graph.replay()
        self.assertTrue(torch.equal(y, conv(u, k)))
        del memory

    def test_bounded(self):
        with mock.patch.object(_tensors, "MOST_PLANS", 8):
            for _ in range(2):
                for length in range(256, 1024, 64):
                    u, k, _, _ = operands(length=length, taps=64)
                    self.assertLess(relative(conv(u, k), causal(u, k)), 8e-3)
                    self.assertLessEqual(len(_tensors.plans), 8)

    def test_a_plan_by_dlpack_on_the_current_stream(self):
        u, k, _, _ = operands(64, 64, 4096, 4096)
        plan = danaus.Plan("fftconv_f16_causal_l4096_b64_h64", device="cuda")
        expected = conv(2 * u, 2 * k)
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP)
            doubled, filters = 2 * u, 2 * k
            plan.prepare(k=filters)
            filters.zero_()
            y = plan.execute(u=doubled)
            doubled.zero_()
            same = y.clone()
        stream.synchronize()
        self.assertTrue(torch.equal(same, expected))


class DropIn(unittest.TestCase):
    def test_an_unchanged_filter_is_transformed_once(self):
        u, k, _, _ = operands(1, 256, 32768, 32768, torch.bfloat16)
        layer = FlashFFTConv(65536, torch.bfloat16)
        expected = conv(u, k)
        library, names = _tensors.library, []

        def noting(name):
            return lambda *arguments: names.append(name) or getattr(library, name)(*arguments)

        calls = ("danaus_prepare", "danaus_execute", "danaus_whole_call")
        with mock.patch.object(_tensors, "library", mock.Mock(**{name: noting(name) for name in calls})):
            for _ in range(4):
                self.assertTrue(torch.equal(layer(u, k.clone()[None]), expected))
            with torch.autocast("cuda", dtype=torch.bfloat16):
                self.assertTrue(torch.equal(layer(u.float(), k), expected))
        self.assertEqual(names, ["danaus_whole_call", "danaus_prepare"] + ["danaus_execute"] * 4)
        k.data.mul_(-1)
        self.assertTrue(torch.equal(layer(u, k), conv(u, k)))
        conv(u, k)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(u, k)
        k.data.mul_(0.5)
        graph.replay()
        self.assertTrue(torch.equal(y, conv(u, k)))

    def test_a_leak_of_the_future_is_said(self):
        u, k, _, _ = operands(length=1024, taps=1024)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            FlashFFTConv(1024)(u, k)
        self.assertIn("seqlen=1024 is less than L + K - 1 = 2047", str(caught[0].message))


if __name__ == "__main__":
    unittest.main()

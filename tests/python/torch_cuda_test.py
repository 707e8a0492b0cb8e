"""danaus.torch and danaus.flashfftconv on a GPU: against torch.fft in double, on streams, in graphs, from threads.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_cuda_test.py
"""

import threading
import unittest

from torch_or_skip import need_gpu, torch

import danaus

need_gpu()

from torch.library import opcheck

from danaus.flashfftconv import FlashFFTConv
from danaus.torch import Filter, conv, gated_conv
from torch_support import gated_operands, gated_truth, memory_taken, relative

# More than the bounds of the kernels by their counts of roundings, 51 in fp16 at N = 32K (3.5e-3) and some more beyond;
# bf16 is rounded by y and gates besides.
BOUNDS = {torch.float16: 8e-3, torch.bfloat16: 1.6e-2}
OPERATOR = torch.ops.danaus.conv.default


def operands(batch=4, channels=6, length=1024, taps=1024, dtype=torch.float16, gates=0, device="cuda", seed=1):
    generator = torch.Generator(device).manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, device=device)

    u, k = draw(batch, channels, length).to(dtype), draw(channels, taps) / taps**0.5
    return u, k, *(draw(batch, channels, length).to(dtype) if i < gates else None for i in range(2))


def by_fft(u, k, mode, pregate=None, postgate=None):
    """In double by torch.fft."""
    length, taps = u.shape[-1], k.shape[-1]
    x = u.double() if pregate is None else u.double() * pregate.double()
    k = k.double()
    if mode == "causal":
        points = 2 * length
        k = k[:, :length]
    else:
        points = length
        k = torch.stack([torch.nn.functional.pad(k[:, i:i + length], (0, max(0, i + length - taps)))
                         for i in range(0, taps, length)]).sum(0)
    y = torch.fft.irfft(torch.fft.rfft(x, points) * torch.fft.rfft(k, points), points)[..., :length]
    return y if postgate is None else y * postgate.double()


class Values(unittest.TestCase):
    def test_are_those_of_torch_fft(self):
        for dtype, bound in BOUNDS.items():
            for mode in ("causal", "circular"):
                for length, taps in ((256, 256), (300, 100), (1000, 3000), (1024, 1024), (4096, 4096), (32768, 32768),
                                     (65536, 65536), (100000, 3)):
                    for gates in (0, 1, 2):
                        for batch in (1, 4, 5):
                            u, k, pregate, postgate = operands(batch, 3, length, taps, dtype, gates)
                            y = conv(u, k, mode, pregate, postgate)
                            self.assertEqual((y.dtype, y.shape, y.device), (u.dtype, u.shape, u.device))
                            self.assertLess(relative(y, by_fft(u, k, mode, pregate, postgate)), bound,
                                            (dtype, mode, length, taps, gates, batch))

    def test_filters_of_16_bits_and_strides(self):
        u, k, _, _ = operands()
        self.assertLess(relative(conv(u, k.half()), by_fft(u, k.half(), "causal")), 8e-3)
        view = u.transpose(0, 1).contiguous().transpose(0, 1)
        self.assertTrue(torch.equal(conv(view, k), conv(u, k)))

    def test_of_a_projection_are_those_of_the_sums(self):
        for dtype, bound in BOUNDS.items():
            for mode in ("causal", "circular", "bidirectional"):
                for length, interleaved in ((256, False), (1001, True)):
                    given = gated_operands(channels=5, batch=3, length=length, mode=mode, dtype=dtype, grad=True,
                                           device="cuda")
                    y = gated_conv(*given, mode=mode, interleaved=interleaved)
                    right = gated_truth(*given, mode=mode, interleaved=interleaved)
                    self.assertLess(relative(y, right), 2 * bound, (dtype, mode, length))
                    dy = torch.randn(y.shape, device="cuda").to(dtype)
                    made = torch.autograd.grad(y, given, dy)
                    for name, one, other in zip(("z", "k", "taps", "bias", "skip"), made,
                                                torch.autograd.grad(right, given, dy.double())):
                        self.assertLess(relative(one, other), 2 * bound, (dtype, mode, length, name))

    def test_slices_of_a_projection_are_not_copied(self):
        u, k, pregate, postgate = operands(gates=2)
        z = torch.cat([pregate, u, postgate], dim=1)  # [B, 3 H, L]
        expected = conv(u, k, "causal", pregate, postgate)
        parts = z.chunk(3, dim=1)
        self.assertFalse(parts[1].is_contiguous())
        conv(parts[1], k, "causal", parts[0], parts[2])  # makes its plan
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        y = conv(parts[1], k, "causal", parts[0], parts[2])
        peak = torch.cuda.max_memory_allocated() - before
        self.assertLess(peak, 2 * y.nbytes + 4 * k.nbytes + (1 << 20))
        self.assertTrue(torch.equal(y, expected))
        interleaved = torch.stack([pregate, u, postgate], dim=2)  # [B, H, 3, L]
        self.assertTrue(torch.equal(conv(*(interleaved[:, :, 1], k), "causal", interleaved[:, :, 0],
                                         interleaved[:, :, 2]), expected))
        dy = torch.randn_like(u)
        gradients = []
        for tensors in ((u, pregate, postgate), (parts[1], parts[0], parts[2])):
            leaves = [x.detach().requires_grad_() for x in tensors]
            y = conv(leaves[0], k.detach().requires_grad_(), "causal", leaves[1], leaves[2])
            gradients.append(torch.autograd.grad(y, leaves, dy))
        for contiguous, strided in zip(*gradients):
            self.assertTrue(torch.equal(contiguous, strided))

    def test_rows_of_any_alignment(self):
        u, k, _, _ = operands(length=1023)
        expected = by_fft(u, k, "causal")
        memory = torch.zeros(u.numel() + 8, dtype=u.dtype, device="cuda")
        for offset in range(1, 8):
            shifted = memory[offset:offset + u.numel()].view(u.shape)
            shifted.copy_(u)
            self.assertLess(relative(conv(shifted, k), expected), 8e-3)

    def test_autocast(self):
        u, k, pregate, _ = operands(gates=1, dtype=torch.float32)
        for dtype in BOUNDS:
            with torch.autocast("cuda", dtype=dtype):
                y = conv(u, k, "causal", pregate)
            self.assertTrue(torch.equal(y, conv(u.to(dtype), k, "causal", pregate.to(dtype))))

    def test_the_error_is_stated(self):
        u, k, _, _ = operands()
        y, error = danaus.conv(u, k, return_error=True)  # the same tensors where NumPy's arrays go
        self.assertTrue(torch.equal(y, conv(u, k)))
        self.assertEqual(error["status"], "passed")
        self.assertAlmostEqual(error["rel_l2"], relative(y, by_fft(u, k, "causal")), delta=1e-9)
        host = danaus.conv(u.cpu().numpy(), k.cpu().numpy(), device="cuda")
        self.assertTrue(torch.equal(torch.from_numpy(host), y.cpu()))


class Gradients(unittest.TestCase):
    def right(self, inputs, mode, dy):
        """Of the sum of y * dy, in double by torch.fft."""
        exact = [None if x is None else x.detach().double().requires_grad_() for x in inputs]
        by_fft(exact[0], exact[1], mode, *exact[2:]).backward(dy.double())
        return [None if x is None else x.grad for x in exact]

    def learnt(self, *arguments, **options):
        return [None if x is None else x.requires_grad_() for x in operands(*arguments, **options)]

    def expect_right(self, inputs, mode, dy, bound):
        for x, gradient in zip(inputs, self.right(inputs, mode, dy)):
            if x is not None:
                self.assertEqual(x.grad.dtype, x.dtype)
                self.assertLess(relative(x.grad, gradient), bound)

    def test_are_those_of_torch_fft(self):
        for dtype, bound in BOUNDS.items():
            for mode in ("causal", "circular"):
                for length, taps in ((256, 256), (1000, 3000), (4096, 4096), (32768, 32768), (65536, 65536)):
                    for gates in (0, 1, 2):
                        for batch in (1, 4, 5):
                            with self.subTest(dtype=dtype, mode=mode, length=length, gates=gates, batch=batch):
                                inputs = self.learnt(batch, 3, length, taps, dtype, gates)
                                dy = operands(batch, 3, length, taps, dtype, seed=2)[0]
                                conv(inputs[0], inputs[1], mode, *inputs[2:]).backward(dy)
                                self.expect_right(inputs, mode, dy, bound)

    def test_what_is_kept_changes_no_bit(self):
        u, k, pregate, postgate = operands(gates=2, dtype=torch.bfloat16)
        y, spectrum = OPERATOR(u, k, "causal", pregate, postgate, True)
        alone, nothing = OPERATOR(u, k, "causal", pregate, postgate, False)
        self.assertGreaterEqual(spectrum.numel(), 2 * 4 * k.shape[0] * u.shape[2])
        self.assertEqual(nothing.numel(), 0)
        passes = [torch.ops.danaus.conv_backward(u, u, k, kept, "causal", pregate, postgate, [True] * 4)
                  for kept in (spectrum, nothing)]
        for one, other in zip((y, *passes[0]), (alone, *passes[1])):
            self.assertTrue(torch.equal(one, other))

    def test_of_a_row_of_dy_for_all(self):
        inputs = self.learnt()
        y = conv(*inputs[:2])
        dy = torch.ones_like(y[0, 0]).expand(y.shape)  # without memory of its own
        y.backward(dy)
        self.expect_right(inputs, "causal", dy, 8e-3)

    def test_on_a_stream_of_its_own(self):
        inputs = self.learnt(gates=2)
        dy = operands(seed=2)[0]
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(50_000_000)
            conv(*inputs[:2], "causal", *inputs[2:]).backward(dy)
        torch.cuda.synchronize()
        self.expect_right(inputs, "causal", dy, 8e-3)

    def test_in_a_graph(self):
        inputs = self.learnt(gates=2)
        dy = operands(seed=2)[0]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):  # as PyTorch asks: once before, where it is captured
            conv(*inputs[:2], "causal", *inputs[2:]).backward(dy)
        torch.cuda.synchronize()
        for x in inputs:
            x.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            conv(*inputs[:2], "causal", *inputs[2:]).backward(dy)
        with torch.no_grad():
            for to, of in zip(inputs, operands(gates=2, seed=3)):
                to.copy_(of)
        graph.replay()
        torch.cuda.synchronize()
        self.expect_right(inputs, "causal", dy, 8e-3)

    def test_compiled(self):
        fast = torch.compile(lambda u, k, *gates: conv(u, k, "causal", *gates), fullgraph=True)
        for batch in (4, 6, 7):
            inputs = self.learnt(batch, gates=2)
            dy = operands(batch, seed=2)[0]
            fast(*inputs).backward(dy)
            self.expect_right(inputs, "causal", dy, 8e-3)

    def test_where_there_is_no_kernel_for_them(self):
        u, k, _, _ = self.learnt(1, 1, 6_000_000, 64)
        y = conv(u, k)
        self.assertLess(relative(y.detach(), by_fft(u.detach(), k.detach(), "causal")), 8e-3)
        with self.assertRaisesRegex(ValueError, "kernels for gradients of filters have room for"):
            y.sum().backward()


class Filters(unittest.TestCase):
    def test_stay(self):
        for length in (1000, 1024, 65536):
            u, k, pregate, _ = operands(length=length, taps=length, gates=1)
            kept = Filter(k)
            for mode in ("causal", "circular"):
                for rows in (u, u[:3], u[:1]):
                    for gate in (None, pregate[:len(rows)]):
                        expected = conv(rows, k, mode, gate)
                        for _ in range(2):
                            self.assertTrue(torch.equal(conv(rows, kept, mode, gate), expected))
            k.mul_(2)
            self.assertTrue(torch.equal(conv(u, kept), conv(u, k)))

    def test_on_streams(self):
        u, k, _, _ = operands(64, 64, 4096, 4096)
        expected, kept = conv(u, k), Filter(k)
        torch.cuda.synchronize()
        first, second = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(first):
            torch.cuda._sleep(200_000_000)
            conv(u, kept)
        with torch.cuda.stream(second):
            y = conv(u, kept)
        second.synchronize()
        self.assertTrue(torch.equal(y, expected))

    def test_in_a_graph(self):
        u, k, _, _ = operands()
        kept = Filter(k)
        conv(u, kept)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = conv(u, kept)
        for _ in range(2):  # of the filter as it was, and after a change that a call has seen
            graph.replay()
            self.assertTrue(torch.equal(y, conv(u, k)))
            k.mul_(-0.5)
            conv(u, kept)


class Streams(unittest.TestCase):
    def test_the_current_one(self):
        u, k, _, _ = operands(64, 64, 4096, 4096)
        expected = conv(u, k)
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)  # a tenth of a second: work on another stream would be done before
            late = u.clone()
            u.zero_()
            late_y = conv(late, k)
        self.assertFalse(stream.query())
        stream.synchronize()
        self.assertTrue(torch.equal(late_y, expected))

    def test_threads_share_plans_and_no_filter(self):
        u, k, _, _ = operands()
        expected = [conv(u, k * (i + 1)) for i in range(8)]
        torch.cuda.synchronize()
        wrong = []

        def work(i):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    if not torch.equal(conv(u, k * (i + 1)), expected[i]):
                        wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_plan_by_dlpack(self):
        u, k, _, _ = operands()
        plan = danaus.Plan("fftconv_f16_causal_l1024_b4_h6", device="cuda")
        stream = torch.cuda.Stream()
        plan.prepare(k=k)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            doubled = 2 * u
            y = plan.execute(u=doubled, stream=stream)
        stream.synchronize()
        self.assertTrue(torch.equal(y, conv(2 * u, k)))
        with self.assertRaisesRegex(ValueError, "u is in host memory"):
            plan.execute(u=u.cpu().numpy())

    @unittest.skipIf(torch.cuda.device_count() < 2, "there is one device")
    def test_several_devices(self):
        for device in range(torch.cuda.device_count()):
            u, k, _, _ = operands(device=f"cuda:{device}")
            with torch.cuda.device(0):
                self.assertLess(relative(conv(u, k), by_fft(u, k, "causal")), 8e-3)
            self.assertEqual(torch.cuda.current_device(), 0)
        with self.assertRaisesRegex(ValueError, "k is on cuda:0, u on cuda:1"):
            conv(operands(device="cuda:1")[0], operands(device="cuda:0")[1])


class Graphs(unittest.TestCase):
    def test_captured_and_replayed(self):
        for length in (1024, 65536):  # in one launch, and in several with memory between them
            u, k, pregate, postgate = operands(length=length, gates=2)
            conv(u, k, "causal", pregate, postgate)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = conv(u, k, "causal", pregate, postgate)
            for seed in (2, 3):
                other = operands(length=length, gates=2, seed=seed)
                for to, of in zip((u, k, pregate, postgate), other):
                    to.copy_(of)
                graph.replay()
                self.assertTrue(torch.equal(y, conv(*other[:2], "causal", *other[2:])))

    def test_captured_too_early(self):
        u, k, _, _ = operands(length=768, taps=7)
        stream = torch.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        with self.assertRaisesRegex(RuntimeError, "captured before it ever ran"):
            with torch.cuda.stream(stream):
                graph.capture_begin()
                try:
                    conv(u, k)
                finally:
                    graph.capture_end()
        self.assertLess(relative(conv(u, k), by_fft(u, k, "causal")), 8e-3)  # nothing is spoiled

    def test_compiled(self):
        for mode in ("default", "reduce-overhead"):
            fast = torch.compile(lambda u, k: conv(2 * u, k, "circular").sin(), fullgraph=True, mode=mode)
            for batch in (4, 4, 6, 7):
                u, k, _, _ = operands(batch)
                expected = by_fft(2 * u, k, "circular").sin()
                self.assertLess(relative(fast(u, k), expected), 1.6e-2)

    def test_opcheck(self):
        for dtype in BOUNDS:
            for batch in (1, 4):
                u, k, pregate, postgate = operands(batch, dtype=dtype, gates=2)
                for trains in (False, True):
                    opcheck(OPERATOR, (u, k, "causal", pregate, postgate, trains))

    def test_memory_is_torchs(self):
        u, k, _, _ = operands(64, 64)
        conv(u, k)
        self.assertEqual(memory_taken(lambda: conv(u, k)), 0)


class Refused(unittest.TestCase):
    def test_devices_types_and_lengths(self):
        u, k, pregate, _ = operands(gates=1)
        for error, words, call in (
                (ValueError, "k is on cpu, u on cuda:0", lambda: conv(u, k.cpu())),
                (ValueError, "pregate is on cpu", lambda: conv(u, k, "causal", pregate.cpu())),
                (TypeError, "k is torch.float64", lambda: conv(u, k.double())),
                (ValueError, "the largest kernel has",
                 lambda: conv(u[:1, :1].repeat(1, 1, 1 << 14), k[:1].repeat(1, 1 << 14))),
                (ValueError, "k has shape", lambda: conv(u, k[:3]))):
            with self.assertRaisesRegex(error, words):
                call()
            torch.cuda.synchronize()


class DropIn(unittest.TestCase):
    def test_forward(self):
        for dtype, bound in BOUNDS.items():
            layer = FlashFFTConv(2048, dtype=dtype).cuda()
            for length, taps in ((2048, 2048), (1024, 1024), (1024, 2048), (700, 2048)):
                u, k, pregate, postgate = operands(4, 3, length, taps, dtype, 2)
                pad = [torch.nn.functional.pad(x, (0, 2048 - length)) for x in (u, pregate, postgate)]
                expected = by_fft(pad[0], k, "circular", pad[1], pad[2])[..., :length]
                self.assertLess(relative(layer(u, k, pregate, postgate), expected), bound)


if __name__ == "__main__":
    unittest.main()

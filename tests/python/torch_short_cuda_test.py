"""danaus.torch.short_conv and the class of flashfftconv over it on a GPU: against the sum in double.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_short_cuda_test.py
"""

import copy
import threading
import unittest

from torch_or_skip import need_gpu, torch

import danaus

need_gpu()

from torch.library import opcheck

from danaus.flashfftconv import FlashDepthWiseConv1d
from danaus.torch import short_conv
from torch_support import memory_taken, relative, short_truth

# More than the bounds of the kernels by their counts of roundings; y and gates are rounded besides.
BOUNDS = {torch.float16: 3e-3, torch.bfloat16: 1.6e-2}
OPERATOR = torch.ops.danaus.short_conv.default


def operands(batch=4, channels=24, length=1024, taps=4, dtype=torch.float16, gates=2, last=False, device="cuda",
             seed=1, grad=False):
    """u, k, bias, pregate, postgate."""
    generator = torch.Generator(device).manual_seed(seed)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator, device=device).to(dtype).requires_grad_(grad)

    rows = (batch, length, channels) if last else (batch, channels, length)
    return (draw(*rows), draw(channels, taps, dtype=torch.float32), draw(channels, dtype=torch.float32),
            *(draw(*rows) if i < gates else None for i in range(2)))


def exact(tensors, padding, last, dy=None):
    """y in double by the sum; with dy the gradients too."""
    tensors = [None if x is None else x.detach().double().requires_grad_(dy is not None) for x in tensors]
    y = short_truth(*tensors[:3], padding, *tensors[3:], last)
    if dy is None:
        return y
    y.backward(dy.double())
    return [None if x is None else x.grad for x in tensors]


class Values(unittest.TestCase):
    def test_and_gradients_are_those_of_pytorch(self):
        for dtype, bound in BOUNDS.items():
            for padding in ("causal", "same"):
                for last in (False, True):
                    for taps, length, gates in ((2, 1, 0), (3, 1000, 2), (4, 1024, 0), (9, 777, 1), (64, 4096, 2),
                                                (256, 5000, 0)):
                        for batch, channels in ((1, 24), (5, 13)):
                            case = (dtype, padding, last, taps, length, gates, batch)
                            tensors = operands(batch, channels, length, taps, dtype, gates, last, grad=True)
                            y = short_conv(*tensors[:3], padding, *tensors[3:], last)
                            self.assertEqual((y.dtype, y.shape, y.device), (dtype, tensors[0].shape, tensors[0].device))
                            self.assertLess(relative(y, exact(tensors, padding, last)), bound, case)
                            dy = torch.randn_like(y)
                            y.backward(dy)
                            for x, gradient in zip(tensors, exact(tensors, padding, last, dy)):
                                if x is not None:
                                    self.assertEqual(x.grad.dtype, x.dtype)
                                    self.assertLess(relative(x.grad, gradient), bound, case)

    def test_strides_alignments_and_types_of_filters(self):
        u, k, bias, _, _ = operands(length=1023)
        expected = exact((u, k, bias, None, None), "causal", False)
        self.assertTrue(torch.equal(short_conv(u.mT.contiguous().mT, k.T.contiguous().T, bias), short_conv(u, k, bias)))
        memory = torch.zeros(u.numel() + 8, dtype=u.dtype, device="cuda")
        for offset in range(1, 8):
            shifted = memory[offset:offset + u.numel()].view(u.shape)
            shifted.copy_(u)
            self.assertLess(relative(short_conv(shifted, k, bias), expected), 3e-3)
        self.assertLess(relative(short_conv(u, k.half(), bias.half()),
                                 exact((u, k.half(), bias.half(), None, None), "causal", False)), 3e-3)

    def test_autocast(self):
        tensors = operands(dtype=torch.float32)
        for dtype in BOUNDS:
            with torch.autocast("cuda", dtype=dtype):
                y = short_conv(*tensors[:3], "same", *tensors[3:])
            u, pregate, postgate = (tensors[i].to(dtype) for i in (0, 3, 4))
            self.assertTrue(torch.equal(y, short_conv(u, *tensors[1:3], "same", pregate, postgate)))

    def test_of_arrays(self):
        u, k, bias, _, _ = operands()
        y, error = danaus.short_conv(u, k, bias, return_error=True)
        self.assertTrue(torch.equal(y, short_conv(u, k, bias)))
        self.assertEqual(error["status"], "passed")
        host = danaus.short_conv(u.cpu().numpy(), k.cpu().numpy(), bias.cpu().numpy(), device="cuda")
        self.assertTrue(torch.equal(torch.from_numpy(host), y.cpu()))

    def test_state_space_models_of_arrays(self):
        u = operands(length=5000)[0].cpu().numpy()
        angles = torch.rand(24, 16, generator=torch.Generator().manual_seed(1)) * 3
        a = torch.polar(torch.full_like(angles, 0.99), angles).numpy()
        ones = torch.ones_like(angles).to(torch.complex64).numpy()
        expected, x = danaus.ssm_conv(u, a, ones, ones, return_state=True)
        y, there = danaus.ssm_conv(u, a, ones, ones, return_state=True, device="cuda")
        self.assertLess(relative(torch.from_numpy(y), torch.from_numpy(expected).double()), 5e-3)
        self.assertLess(relative(torch.view_as_real(torch.from_numpy(there)),
                                 torch.view_as_real(torch.from_numpy(x)).double()), 5e-3)


class StreamsAndGraphs(unittest.TestCase):
    def test_the_current_stream(self):
        u, k, bias, _, _ = operands(64, 64, 4096)
        expected = short_conv(u, k, bias)
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            late = u.clone()
            u.zero_()
            y = short_conv(late, k, bias)
        self.assertFalse(stream.query())
        stream.synchronize()
        self.assertTrue(torch.equal(y, expected))

    def test_threads(self):
        u, k, bias, _, _ = operands()
        expected = [short_conv(u, k * (i + 1), bias) for i in range(8)]
        torch.cuda.synchronize()
        wrong = []

        def work(i):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    if not torch.equal(short_conv(u, k * (i + 1), bias), expected[i]):
                        wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_step_in_a_graph(self):
        tensors = operands(grad=True)
        dy = operands(seed=2)[0]
        stream = torch.cuda.Stream()

        def step():
            y = short_conv(*tensors[:3], "causal", *tensors[3:])
            y.backward(dy)
            return y

        with torch.cuda.stream(stream):
            step()
        torch.cuda.synchronize()
        for x in tensors:
            x.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            y = step()
        with torch.no_grad():
            for to, of in zip(tensors, operands(seed=3)):
                to.copy_(of)
        graph.replay()
        torch.cuda.synchronize()
        self.assertLess(relative(y, exact(tensors, "causal", False)), 3e-3)
        for x, gradient in zip(tensors, exact(tensors, "causal", False, dy)):
            self.assertLess(relative(x.grad, gradient), 3e-3)

    def test_captured_too_early(self):
        u, k, _, _, _ = operands(length=72, taps=7)
        graph = torch.cuda.CUDAGraph()
        with self.assertRaisesRegex(RuntimeError, "short_conv: .* captured before it ever ran"):
            with torch.cuda.stream(torch.cuda.Stream()):
                graph.capture_begin()
                try:
                    short_conv(u, k)
                finally:
                    graph.capture_end()
        self.assertLess(relative(short_conv(u, k), exact((u, k, None, None, None), "causal", False)), 3e-3)

    def test_compiled(self):
        for mode in ("default", "reduce-overhead"):
            fast = torch.compile(lambda u, k, bias, *gates: short_conv(2 * u, k, bias, "same", *gates),
                                 fullgraph=True, mode=mode)
            learns = mode == "default"
            for batch in (4, 4, 6, 7):
                tensors = operands(batch, grad=learns)
                y, dy = fast(*tensors), operands(batch, seed=2)[0]
                double = (2 * tensors[0], *tensors[1:])
                self.assertLess(relative(y, exact(double, "same", False)), 4e-3)
                if not learns:
                    continue
                y.backward(dy)
                for i, (x, gradient) in enumerate(zip(tensors, exact(double, "same", False, dy))):
                    self.assertLess(relative(x.grad, (2 if i == 0 else 1) * gradient), 4e-3)

    def test_opcheck(self):
        for dtype in BOUNDS:
            for last in (False, True):
                for grad in (False, True):
                    tensors = operands(dtype=dtype, last=last, grad=grad)
                    opcheck(OPERATOR, (*tensors[:3], "same", *tensors[3:], last))

    def test_memory_is_torchs(self):
        tensors = operands(64, 64, grad=True)
        dy = torch.ones_like(tensors[0])

        def step():
            short_conv(*tensors[:3], "same", *tensors[3:]).backward(dy)

        step()
        step()  # to gradients that are there
        self.assertEqual(memory_taken(step), 0)

    @unittest.skipIf(torch.cuda.device_count() < 2, "there is one device")
    def test_several_devices(self):
        for device in range(torch.cuda.device_count()):
            tensors = operands(device=f"cuda:{device}")
            with torch.cuda.device(0):
                y = short_conv(*tensors[:3], "same", *tensors[3:])
            self.assertLess(relative(y, exact(tensors, "same", False)), 3e-3)
        with self.assertRaisesRegex(ValueError, "k is on cuda:0, u on cuda:1"):
            short_conv(operands(device="cuda:1")[0], operands(device="cuda:0")[1])


class Refused(unittest.TestCase):
    def test_devices_and_types(self):
        u, k, bias, pregate, _ = operands()
        for error, words, call in (
                (ValueError, "k is on cpu, u on cuda:0", lambda: short_conv(u, k.cpu())),
                (ValueError, "bias is on cpu", lambda: short_conv(u, k, bias.cpu())),
                (ValueError, "pregate is on cpu", lambda: short_conv(u, k, bias, "same", pregate.cpu()))):
            with self.assertRaisesRegex(error, words):
                call()
            torch.cuda.synchronize()


class DropIn(unittest.TestCase):
    def test_is_conv1d(self):
        for taps in (1, 3, 4, 64, 300):
            for padding in sorted({0, (taps - 1) // 2, taps - 1}):
                of_pytorch = torch.nn.Conv1d(24, 24, taps, padding=padding, groups=24, device="cuda")
                double = copy.deepcopy(of_pytorch).double()
                for is_bhl in (True, False):
                    layer = FlashDepthWiseConv1d(24, taps, padding, of_pytorch.weight, of_pytorch.bias, is_bhl)
                    for dtype in (torch.float16, torch.bfloat16, torch.float32):
                        case = (taps, padding, is_bhl, dtype)
                        bound = BOUNDS.get(dtype, 3e-3)  # cuDNN may take TF32
                        u = operands(3, length=1000, dtype=dtype)[0]
                        x = u.double().requires_grad_()
                        given = (u if is_bhl else u.mT).clone().requires_grad_()
                        double.zero_grad()
                        layer.zero_grad()
                        expected, y = double(x), layer(given)
                        dy = torch.randn_like(expected)
                        expected.backward(dy)
                        y.backward((dy if is_bhl else dy.mT).to(dtype))
                        self.assertEqual(y.dtype, dtype)
                        y, du = (z if is_bhl else z.mT for z in (y, given.grad))
                        dw = layer.weights.grad if is_bhl else layer.weights.grad.T
                        for actual, of in ((y, expected), (du, x.grad), (dw, double.weight.grad[:, 0]),
                                           (layer.bias.grad, double.bias.grad)):
                            self.assertEqual(actual.shape, of.shape)
                            self.assertLess(relative(actual, of.detach()), bound, case)


if __name__ == "__main__":
    unittest.main()

"""danaus.torch.short_conv and the class of flashfftconv over it on tensors of the CPU, against torch.nn.Conv1d.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_short_test.py
"""

import unittest
import warnings
from unittest import mock

from torch_or_skip import torch

import numpy as np

import torch._dynamo.testing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad, gradcheck
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck

from danaus import _tensors, _torch_short
from danaus.flashfftconv import FlashDepthWiseConv1d
from danaus.torch import Filter, short_conv
from support import relative
from torch_support import PretendedGpu, short_truth

ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 1e-6, torch.float64: 1e-14}
# Of the executed kernels, more than the bounds of their roundings; bf16 is rounded by y and gates besides.
BOUNDS = {torch.float16: 2e-3, torch.bfloat16: 1.2e-2}
OPERATOR = torch.ops.danaus.short_conv.default
BACKWARD = torch.ops.danaus.short_conv_backward.default


def operands(batch=2, channels=3, length=12, taps=4, dtype=torch.float64, bias=True, gates=2, last=False, grad=False):
    """u, k, bias, pregate, postgate."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)

    of_filter = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    rows = (batch, length, channels) if last else (batch, channels, length)
    u, k = draw(*rows), draw(channels, taps, dtype=of_filter)
    return (u, k, draw(channels, dtype=of_filter) if bias else None,
            *(draw(*rows) if i < gates else None for i in range(2)))


def cases(**options):
    """operands of all kinds, with padding and layout, as short_conv takes them."""
    for taps, gates, bias in ((1, 2, True), (2, 0, False), (4, 2, True), (17, 1, True)):
        for padding in ("causal", "same"):
            for last in (False, True):
                u, k, b, *of_gates = operands(taps=taps, bias=bias, gates=gates, last=last, **options)
                yield u, k, b, padding, *of_gates, last


class Values(unittest.TestCase):
    def test_are_those_of_the_sum(self):
        for dtype, bound in ROUNDING.items():
            for case in cases(dtype=dtype):
                y = short_conv(*case)
                self.assertEqual((y.dtype, y.shape, y.is_contiguous()), (dtype, case[0].shape, True))
                self.assertLess(relative(y.double(), short_truth(*case)), bound)

    def test_weights_of_pytorch_are_the_filter_from_its_end_on(self):
        u, k, bias, _, _ = operands(taps=5)
        expected = torch.nn.functional.conv1d(u, k[:, None], bias, padding="same", groups=3)
        torch.testing.assert_close(short_conv(u, k.flip(1), bias, "same"), expected)

    def test_strides_are_no_matter(self):
        u, k, bias, pregate, _ = operands()
        self.assertTrue(torch.equal(short_conv(u.mT.contiguous().mT, k.T.contiguous().T, bias, "same", pregate),
                                    short_conv(u, k, bias, "same", pregate)))

    def test_autocast(self):
        u, k, bias, pregate, _ = operands(dtype=torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = short_conv(u, k, bias, "causal", pregate)
            torch.testing.assert_close(y, short_conv(u, k.half(), bias.half(), "causal", pregate), rtol=.02, atol=.02)
            self.assertTrue(torch.equal(short_conv(u, k, bias.half()), short_conv(u, k, bias.half().float())))
            self.assertTrue(torch.equal(short_conv(u, k.bfloat16(), bias),
                                        short_conv(u, k.bfloat16().float(), bias)))
        self.assertTrue(torch.equal(y, short_conv(u.bfloat16(), k, bias, "causal", pregate.bfloat16())))


class Gradients(unittest.TestCase):
    def test_gradcheck(self):
        for case in cases(length=5, grad=True):
            at = [i for i, x in enumerate(case) if isinstance(x, torch.Tensor)]

            def of(*tensors):
                arguments = list(case)
                for i, tensor in zip(at, tensors):
                    arguments[i] = tensor
                return short_conv(*arguments)

            self.assertTrue(gradcheck(of, [case[i] for i in at]))

    def test_each_alone(self):
        expected = list(operands(grad=True))
        short_conv(*expected[:3], "same", *expected[3:]).square().sum().backward()
        for needed in range(5):
            tensors = list(operands())
            tensors[needed].requires_grad_()
            short_conv(*tensors[:3], "same", *tensors[3:]).square().sum().backward()
            self.assertEqual([x.grad is not None for x in tensors], [i == needed for i in range(5)])
            torch.testing.assert_close(tensors[needed].grad, expected[needed].grad)

    def test_what_is_not_there(self):
        u, k, bias, _, _ = operands(grad=True)
        gradient, = torch.autograd.grad(short_conv(u, k, bias).square().sum(), k, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "short_conv_backward: second derivatives"):
            gradient.sum().backward()
        with self.assertRaisesRegex(NotImplementedError, "short_conv: no forward-mode"):
            torch.func.jvp(lambda k: short_conv(u.detach(), k), (k.detach(),), (k.detach(),))
        with forward_ad.dual_level():
            short_conv(u, k)


class PathOfGpu(PretendedGpu):
    def test_values_and_gradients(self):
        for dtype, bound in BOUNDS.items():
            for case in cases(batch=3, length=40, dtype=dtype):
                inputs = [x.double().requires_grad_() if isinstance(x, torch.Tensor) else x for x in case]
                expected = short_truth(*inputs)
                self.assertLess(relative(_torch_short._short_conv_cuda(*case).double(), expected.detach()), bound)
                dy = case[0].flip(0)
                expected.backward(dy.double())
                needed = [isinstance(case[i], torch.Tensor) for i in (0, 1, 2, 4, 5)]
                gradients = _torch_short._short_conv_backward_cuda(dy, *case, needed)
                for gradient, i, is_needed in zip(gradients, (0, 1, 2, 4, 5), needed):
                    if is_needed:
                        self.assertEqual((gradient.shape, gradient.dtype), (case[i].shape, case[i].dtype))
                        self.assertLess(relative(gradient.double(), inputs[i].grad), bound)
                    else:
                        self.assertEqual(gradient.numel(), 0)
        self.assertIn("shortconvgrad_bf16_same_k4_l40_b4_h3_bias_pregate_postgate_channelslast", self.tokens)

    def test_gradients_past_the_dispatcher(self):
        for case in cases(batch=3, length=40, dtype=torch.float16):
            learnt = [x.clone().requires_grad_() if isinstance(x, torch.Tensor) else x for x in case]
            with mock.patch.object(torch.ops.danaus, "short_conv_backward", side_effect=AssertionError("seen")):
                y = _torch_short._Trained.apply(*learnt)
                y.backward(case[0])
                with self.assertRaisesRegex(AssertionError, "seen"):  # which refuses second derivatives
                    torch.autograd.grad(_torch_short._Trained.apply(*learnt), learnt[1], case[0], create_graph=True)
            needed = [isinstance(case[i], torch.Tensor) for i in (0, 1, 2, 4, 5)]
            expected = _torch_short._short_conv_backward_cuda(case[0], *case, needed)
            torch.testing.assert_close(y.detach(), _torch_short._short_conv_cuda(*case), rtol=0, atol=0)
            for gradient, i, is_needed in zip(expected, (0, 1, 2, 4, 5), needed):
                if is_needed:
                    torch.testing.assert_close(learnt[i].grad, gradient, rtol=0, atol=0)
        with self.assertRaisesRegex(ValueError, "short_conv_backward: dy is"):
            _torch_short._short_conv_backward_cuda(case[0][:2], *case, needed)

    def test_filters_of_16_bits_have_gradients_of_their_type(self):
        u, k, bias, _, _ = operands(dtype=torch.float16)
        k, bias = k.half(), bias.half()
        _, dk, dbias, _, _ = _torch_short._short_conv_backward_cuda(u, u, k, bias, "causal", None, None, False,
                                                                    [True] * 3 + [False] * 2)
        self.assertEqual((dk.dtype, dbias.dtype), (torch.float16, torch.float16))

    def test_plans_are_shared_and_filters_are_not(self):
        u, k, bias, _, _ = operands(batch=4, length=64, dtype=torch.float16)
        first = _torch_short._short_conv_cuda(u, k, bias, "causal", None, None, False)
        second = _torch_short._short_conv_cuda(u[:3], 2 * k, 2 * bias, "causal", None, None, False)
        torch.testing.assert_close(second, 2 * first[:3], rtol=1e-3, atol=1e-3)
        self.assertEqual(self.tokens, ["shortconv_f16_causal_k4_l64_b4_h3_bias"])

    def test_a_capture_makes_no_plan(self):
        u, k, _, _, _ = operands(dtype=torch.float16)
        words = "short_conv: shortconv_f16_causal_k4_l12_b2_h3 is captured before"
        with self.capturing(), self.assertRaisesRegex(RuntimeError, words):
            _torch_short._short_conv_cuda(u, k, None, "causal", None, None, False)
        self.assertEqual(_tensors.entries, {})


class Compiled(unittest.TestCase):
    def test_opcheck(self):
        for dtype in (torch.float16, torch.float32):
            for grad in (False, True):
                for case in list(cases(dtype=dtype, grad=grad))[::3]:
                    opcheck(OPERATOR, case)
        u, k, bias, pregate, postgate = operands()
        opcheck(OPERATOR, (u.transpose(0, 1), k[:2], None, "causal", None, None, False))
        for needed in ([True] * 5, [False, True, False, False, False]):
            opcheck(BACKWARD, (u, u, k, bias, "same", pregate, postgate, False, needed))
        opcheck(BACKWARD, (u, u, k, None, "causal", None, None, False, [True, True, False, False, False]))

    def test_fullgraph(self):
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        fast = torch.compile(lambda u, k, b, v, w: short_conv(2 * u, k, b, "same", v, w).sin(), fullgraph=True,
                             backend=counter)
        for batch in (2, 3, 5):
            tensors = operands(batch, dtype=torch.float32, grad=True)
            expected = short_conv(2 * tensors[0], *tensors[1:3], "same", *tensors[3:]).sin()
            y = fast(*tensors)
            torch.testing.assert_close(y, expected)
            torch.testing.assert_close(torch.autograd.grad(y.sum(), tensors),
                                       torch.autograd.grad(expected.sum(), tensors), rtol=1e-4, atol=1e-4)
        self.assertEqual(counter.frame_count, 2)  # the first batch, and any

    def test_fake_tensors_of_a_gpu(self):
        with FakeTensorMode():
            u = torch.empty(2, 3, 1000, dtype=torch.float16, device="cuda")
            y = OPERATOR(u.transpose(0, 1), torch.empty(2, 4, device="cuda"), None, "causal", None, None, False)
            self.assertEqual((y.shape, y.dtype, y.device, y.is_contiguous()), ((3, 2, 1000), u.dtype, u.device, True))

    def test_a_graph_for_a_gpu_is_free_in_the_batch(self):
        def traced(like, filters):
            return OPERATOR(torch.empty(like.shape, dtype=torch.float16, device="cuda"),
                            torch.empty(filters.shape, device="cuda"), None, "causal", None, None, False)

        graph = make_fx(traced, tracing_mode="symbolic")(torch.empty(4, 3, 1000), torch.empty(3, 7))
        self.assertEqual(sorted(graph.shape_env.replacements.values()), [3, 7, 1000])  # and no 4


class Refused(unittest.TestCase):
    def test_what_does_not_go_together(self):
        u, k, bias, pregate, _ = operands()
        for error, words, arguments in (
                (ValueError, "padding 'valid', must be one of causal, same", (u, k, bias, "valid")),
                (TypeError, "u is torch.int64", (u.long(), k)),
                (TypeError, "k is torch.float64, with u of torch.float16", (u.half(), k)),
                (ValueError, r"u has shape \(3, 12\), must be \[B, H, L\]", (u[0], k)),
                (ValueError, r"must be \[B, L, H\]", (u[0], k, None, "causal", None, None, True)),
                (ValueError, r"k has shape \(3, 4\), must be \[H, K\], H=12", (u, k, None, "causal", None, None, True)),
                (ValueError, r"k has shape \(3, 0\)", (u, k[:, :0])),
                (ValueError, r"k has shape \(3, 260\), must have 1 to 256", (u, k.repeat(1, 65))),
                (TypeError, "bias is torch.float32, must be torch.float64 as k", (u, k, bias.float())),
                (ValueError, r"bias has shape \(2,\), must be \(3,\)", (u, k, bias[:2])),
                (ValueError, "bias is on meta", (u, k, bias.to("meta"))),
                (ValueError, r"pregate has shape \(2, 2, 12\)", (u, k, bias, "same", pregate[:, :2])),
                (TypeError, "k is a Filter, must be a torch.Tensor; danaus.torch.conv takes a Filter", (u, Filter(k))),
                (TypeError, "bias is a list, must be a torch.Tensor", (u, k, bias.tolist())),
                (TypeError, "k is a NoneType", (u, None))):
            with self.assertRaisesRegex(error, "short_conv: .*" + words):
                short_conv(*arguments)


class DropIn(unittest.TestCase):
    """Against torch.nn.Conv1d in double."""

    def layers(self, taps, padding, dtype=torch.float32, bias=True, **options):
        torch.manual_seed(1)
        of_pytorch = torch.nn.Conv1d(3, 3, taps, padding=padding, groups=3, bias=bias, dtype=dtype)
        return of_pytorch, FlashDepthWiseConv1d(3, taps, padding, of_pytorch.weight, of_pytorch.bias, **options)

    def test_forward_and_gradients(self):
        for taps in (1, 3, 4, 300):
            for padding in sorted({0, (taps - 1) // 2, taps - 1, taps + 2}):
                for is_bhl in (True, False):
                    for dtype, bound in ROUNDING.items():
                        of_pytorch, layer = self.layers(taps, padding, is_bhl=is_bhl, bias=taps != 4)
                        length = 310 if taps == 300 else 12
                        u = operands(length=length, dtype=dtype)[0]
                        x = u.to(torch.float64, copy=True).requires_grad_()
                        expected = of_pytorch.double()(x)
                        given = (u if is_bhl else u.mT).clone().requires_grad_()
                        y = layer(given)
                        self.assertEqual((y.dtype, y.is_contiguous()), (dtype, True))
                        y = y if is_bhl else y.mT
                        bound = 1e-6 if dtype == torch.float64 else bound
                        self.assertEqual(y.shape, expected.shape)
                        self.assertLess(relative(y.detach().double(), expected.detach()), 3 * bound)
                        dy = torch.ones_like(expected)
                        expected.backward(dy)
                        y.backward(dy.to(dtype))
                        self.assertLess(relative(given.grad.double() if is_bhl else given.grad.double().mT, x.grad),
                                        3 * bound)
                        weights = layer.weights.grad if is_bhl else layer.weights.grad.T
                        self.assertLess(relative(weights, of_pytorch.weight.grad[:, 0]), 8 * bound)

    def test_types_of_weights(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            _, layer = self.layers(3, 1, dtype)
            for of_input in (torch.float16, torch.bfloat16, torch.float32):
                u = operands()[0].to(of_input)
                expected = torch.nn.functional.conv1d(u.double(), layer.weights.double()[:, None], layer.bias.double(),
                                                      padding=1, groups=3)
                y = layer(u)
                self.assertEqual(y.dtype, of_input)
                self.assertLess(relative(y.detach().double(), expected.detach()), 4 * ROUNDING[of_input])
        _, layer = self.layers(3, 1, dtype=torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(layer(operands(dtype=torch.float32)[0]).dtype, torch.bfloat16)
        weights = torch.ones(3, 1, 3)
        layer = FlashDepthWiseConv1d(3, 3, 1, weights, torch.zeros(3), dtype=torch.float16, device="cpu")
        self.assertEqual(layer.weights.dtype, torch.float16)
        weights.zero_()
        self.assertTrue(layer.weights.all())  # a copy

    def test_state_dicts(self):
        for is_bhl in (True, False):
            of_pytorch, layer = self.layers(3, 1, is_bhl=is_bhl)
            other = FlashDepthWiseConv1d(3, 3, 1, torch.zeros(3, 1, 3), torch.zeros(3), is_bhl)
            self.assertEqual(list(layer.state_dict()), ["weights", "bias"])  # as the old class has them
            for state in (layer.state_dict(), of_pytorch.state_dict()):
                model, saved = torch.nn.Sequential(other), {"0." + name: x for name, x in state.items()}
                model.load_state_dict(saved)  # strict
                self.assertTrue(torch.equal(other.weights, layer.weights))
                self.assertTrue(torch.equal(other.bias, layer.bias))
                torch.nn.init.zeros_(other.weights)
            self.assertEqual(list(of_pytorch.state_dict()), ["weight", "bias"])
            turned = FlashDepthWiseConv1d(3, 3, 1, torch.zeros(3, 1, 3), torch.zeros(3), not is_bhl)
            turned.load_state_dict(layer.state_dict())  # C = K, so no shape tells
            self.assertTrue(torch.equal(turned.weights, layer.weights.T))
            model = torch.nn.Sequential(turned)
            model.load_state_dict(torch.nn.Sequential(layer).state_dict())
            self.assertTrue(torch.equal(turned.weights, layer.weights.T))
            with self.assertRaisesRegex(RuntimeError, "size mismatch"):
                other.load_state_dict({"weights": torch.zeros(4, 4), "bias": torch.zeros(3)})

    def test_meta_tensors_and_empty_batches(self):
        for taps in (1, 4):
            for padding in (0, 1, taps - 1):
                for is_bhl in (True, False):
                    for dtype in ROUNDING:
                        _, layer = self.layers(taps, padding, is_bhl=is_bhl)
                        u = operands(dtype=dtype, last=not is_bhl)[0]
                        expected = layer(u)
                        empty = layer(u[:0])
                        self.assertEqual((empty.shape, empty.dtype), ((0, *expected.shape[1:]), dtype))
                        y = layer.to("meta")(u.to("meta"))
                        self.assertEqual((y.shape, y.dtype, y.device.type), (expected.shape, dtype, "meta"))

    def test_compiles(self):
        _, layer = self.layers(4, 3)
        u = operands(dtype=torch.float16)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(fast(u), layer(u))

    def test_what_is_refused(self):
        _, layer = self.layers(3, 0)
        weights, bias = torch.ones(3, 1, 3), torch.ones(3)
        for words, call in (
                (r"input has shape \(2, 4, 12\), must be \[B, C, L\], C=3", lambda: layer(torch.ones(2, 4, 12))),
                ("input has 2 samples, with padding=0 must have at least 3", lambda: layer(torch.ones(2, 3, 2))),
                ("padding='same'", lambda: FlashDepthWiseConv1d(3, 3, "same", weights, bias)),
                ("padding=-1", lambda: FlashDepthWiseConv1d(3, 3, -1, weights, bias)),
                ("kernel_size=0", lambda: FlashDepthWiseConv1d(3, 0, 1, weights, bias)),
                (r"weights have shape \(3, 1, 3\), must be \(3, 1, 5\)",
                 lambda: FlashDepthWiseConv1d(3, 5, 1, weights, bias)),
                (r"bias has shape \(2,\)", lambda: FlashDepthWiseConv1d(3, 3, 1, weights, bias[:2]))):
            with self.assertRaisesRegex(ValueError, "FlashDepthWiseConv1d: " + words):
                call()
        u = operands()[0]
        for words, call in (
                ("input is torch.int64, must be one of torch.float16", lambda: layer(torch.ones(2, 3, 12, dtype=int))),
                ("input is torch.bool", lambda: layer(u > 0)),
                ("input is torch.complex128", lambda: layer(u.to(torch.complex128))),
                ("input is a ndarray, must be a torch.Tensor", lambda: layer(u.numpy())),
                ("weights is a NoneType", lambda: FlashDepthWiseConv1d(3, 3, 1, None, None)),
                ("bias is a ndarray", lambda: FlashDepthWiseConv1d(3, 3, 1, weights, bias.numpy()))):
            with self.assertRaisesRegex(TypeError, "FlashDepthWiseConv1d: " + words):
                call()

    def test_whole_numbers_of_numpy(self):
        layer = FlashDepthWiseConv1d(*np.array([3, 3, 1]), torch.ones(3, 1, 3), None)
        self.assertEqual([type(x) for x in (layer.d, layer.k, layer.padding)], [int] * 3)


if __name__ == "__main__":
    unittest.main()

"""danaus.torch on tensors of the CPU, and on fake ones; torch_cuda_test.py is for a GPU.

  PYTHONPATH=BUILD/python PYTHON tests/python/torch_test.py
"""

import threading
import unittest
import warnings
from unittest import mock

from torch_or_skip import torch

from torch.autograd import forward_ad, gradcheck
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck

import danaus
from danaus import _tensors
from danaus import torch as danaus_torch
from danaus.torch import Filter, conv
from support import relative
from torch_support import PretendedGpu, long_operands as operands, long_truth as truth

ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 1e-6, torch.float64: 1e-14}
OPERATOR = torch.ops.danaus.conv.default
BACKWARD = torch.ops.danaus.conv_backward.default
TAPS = (1, 5, 12, 17, 30)  # of rows of 12 samples: less, as many, more, and more than twice as many


class Values(unittest.TestCase):
    def test_are_those_of_the_sum(self):
        for dtype, bound in ROUNDING.items():
            for mode in ("causal", "circular"):
                for taps in TAPS:
                    for gates in (0, 1, 2):
                        u, k, pregate, postgate = operands(taps=taps, dtype=dtype, gates=gates)
                        y = conv(u, k, mode, pregate, postgate)
                        self.assertEqual((y.dtype, y.shape, y.is_contiguous()), (dtype, u.shape, True))
                        self.assertLess(relative(y.double(), truth(u, k, mode, pregate, postgate)), bound)

    def test_of_a_filter_that_stays(self):
        u, k, pregate, _ = operands(taps=17)
        kept = Filter(k)
        for mode in ("causal", "circular"):
            torch.testing.assert_close(conv(u, kept, mode, pregate), conv(u, k, mode, pregate), rtol=0, atol=0)
        fast = torch.compile(lambda u: conv(u, kept), fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(fast(u), conv(u, k), rtol=0, atol=0)
        learnt = k.clone().requires_grad_()
        conv(u, Filter(learnt)).sum().backward()
        self.assertEqual(learnt.grad.shape, k.shape)

    def test_long_rows(self):
        for length, taps in ((1000, 1000), (1024, 300), (4097, 4097)):
            u, k, _, _ = operands(1, 2, length, taps, gates=0)
            for mode in ("causal", "circular"):
                self.assertLess(relative(conv(u, k, mode), truth(u, k, mode)), 1e-14)

    def test_strides_are_no_matter(self):
        u, k, pregate, _ = operands(4, 6)
        expected = conv(u, k, "causal", pregate)
        for view in (u.transpose(0, 1).contiguous().transpose(0, 1), u.repeat_interleave(2, -1)[..., ::2]):
            self.assertFalse(view.is_contiguous())
            torch.testing.assert_close(conv(view, k.T.contiguous().T, "causal", pregate), expected, rtol=0, atol=0)

    def test_autocast(self):
        u, k, pregate, _ = operands(dtype=torch.float32, gates=1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = conv(u, k, "causal", pregate)
            self.assertEqual(y.dtype, torch.bfloat16)
            torch.testing.assert_close(y, conv(u, k.half(), "causal", pregate), rtol=0.02, atol=0.02)
            self.assertEqual(conv(*operands()[:2]).dtype, torch.float64)
            with self.assertRaisesRegex(TypeError, "u is torch.int64"):
                conv(u.long(), k)
        torch.testing.assert_close(y, conv(u.bfloat16(), k, "causal", pregate.bfloat16()), rtol=0, atol=0)

    def test_from_many_threads(self):
        u, k, _, _ = operands(dtype=torch.float32)
        expected = [conv(u, k * i) for i in range(8)]
        results = [None] * 8

        def work(i):
            results[i] = conv(u, k * i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y, same in zip(results, expected):
            torch.testing.assert_close(y, same, rtol=0, atol=0)


class NotDense(unittest.TestCase):
    def test_tensors_that_are_not_dense(self):
        u, k = torch.randn(2, 3, 50), torch.randn(3, 4)
        for tensor, words in ((u.to_sparse(), r"sparse, must be dense numbers; u.to_dense\(\) makes them"),
                              (torch.quantize_per_tensor(u, .1, 0, torch.qint8), r"quantized, .* u.dequantize\(\)"),
                              (torch.nested.nested_tensor([u[0], u[1, :, :9]]), r"nested, .* u.to_padded_tensor")):
            for operation in (conv, danaus_torch.short_conv):
                with self.assertRaisesRegex(TypeError, rf"{operation.__name__}: u is {words}"):
                    operation(tensor, k)

    def test_nothing(self):
        for operation in (conv, danaus_torch.short_conv):
            with self.assertRaisesRegex(TypeError, f"{operation.__name__}: u is a NoneType, must be a torch.Tensor"):
                operation(None, torch.ones(3, 4))

    def test_a_filter_of_no_taps(self):
        for operation in (conv, danaus_torch.short_conv):
            with self.assertRaisesRegex(ValueError, "must be \\[H, K\\], H=3 as in u, K at least 1"):
                operation(torch.randn(2, 3, 50), torch.empty(3, 0))


class Gradients(unittest.TestCase):
    def test_gradcheck(self):
        for mode in ("causal", "circular"):
            for taps in TAPS:
                for gates in (0, 1, 2):
                    tensors = [x for x in operands(taps=taps, gates=gates, grad=True) if x is not None]
                    self.assertTrue(gradcheck(lambda u, k, *g: conv(u, k, mode, *g), tensors))

    def test_each_alone(self):
        for needed in range(4):
            tensors = operands()
            tensors[needed].requires_grad_()
            y = conv(tensors[0], tensors[1], "causal", *tensors[2:])
            y.square().sum().backward()
            expected = [x.detach().clone().requires_grad_() for x in tensors]
            conv(expected[0], expected[1], "causal", *expected[2:]).square().sum().backward()
            for i, (one, all_of_them) in enumerate(zip(tensors, expected)):
                if i != needed:
                    self.assertIsNone(one.grad)
            torch.testing.assert_close(tensors[needed].grad, expected[needed].grad, rtol=0, atol=0)

    def test_of_16_bits_are_those_of_double(self):
        for dtype, bound in ((torch.float16, 1e-3), (torch.bfloat16, 8e-3)):
            tensors = operands(taps=17, dtype=dtype, grad=True)
            exact = [x.detach().double().requires_grad_() for x in tensors]
            for of in (tensors, exact):
                conv(of[0], of[1], "causal", *of[2:]).sum().backward()
            for x, e in zip(tensors, exact):
                self.assertEqual(x.grad.dtype, x.dtype)
                self.assertLess(relative(x.grad.double(), e.grad), bound)

    def test_a_plan_is_no_layers_own(self):
        u, k, _, _ = operands(gates=0, grad=True)
        other = (2 * k).detach().requires_grad_()
        first, second = conv(u, k), conv(u, other)  # of one shape, with filters of their own
        (first + second).sum().backward()
        torch.testing.assert_close(k.grad, other.grad)

    def test_the_spectrum_has_none(self):
        u, k, _, _ = operands(gates=0, grad=True)
        y, spectrum = OPERATOR(u, k, "causal", None, None, True)
        self.assertEqual((y.requires_grad, spectrum.requires_grad), (True, False))

    def test_an_operator_that_kept_nothing(self):
        u, k, _, _ = operands(grad=True)
        y, spectrum = OPERATOR(u, k, "causal", None, None)
        self.assertEqual(spectrum.numel(), 0)
        torch.testing.assert_close(torch.autograd.grad(y.square().sum(), (u, k)),
                                   torch.autograd.grad(conv(u, k).square().sum(), (u, k)), rtol=0, atol=0)

    def test_no_forward_mode(self):
        u, k, _, _ = operands(gates=0)
        with self.assertRaisesRegex(NotImplementedError, "forward-mode"):
            torch.func.jvp(lambda k: conv(u, k), (k,), (k,))
        with forward_ad.dual_level():
            torch.testing.assert_close(conv(u, k), conv(u.clone(), k))  # without tangents

    def test_no_gradient_by_a_transform(self):
        u, k, _, _ = operands(gates=0)
        for operation in (conv, danaus_torch.short_conv):
            for of in (lambda x: operation(x, k).sum(),
                       lambda x: torch.func.vmap(lambda u: operation(u[None], k))(x).sum()):
                for transform in (torch.func.grad, torch.func.jacrev, lambda f: lambda x: torch.func.vjp(f, x)):
                    with self.assertRaisesRegex(NotImplementedError, f"{operation.__name__}: no torch.func.grad"):
                        transform(of)(u)
            learnt = k.clone().requires_grad_()
            gradient = torch.func.grad(lambda x: (x.sum() * operation(u, learnt).sum()))(u)  # of a constant
            self.assertAlmostEqual(gradient[0, 0, 0].item(), operation(u, k).sum().item())

    def test_no_second_derivative(self):
        u, k, _, _ = operands(gates=0, grad=True)
        gradient, = torch.autograd.grad(conv(u, k).square().sum(), k, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "second derivatives"):
            gradient.sum().backward()


class PathOfGpu(PretendedGpu):
    def test_values(self):
        for dtype, bound in ((torch.float16, 4e-3), (torch.bfloat16, 1e-2)):
            for batch, length, taps in ((1, 256, 256), (3, 300, 100), (4, 256, 700)):
                for mode in ("causal", "circular"):
                    for pregate, postgate in ((0, 0), (1, 0), (0, 1), (1, 1)):
                        u, k, *gates = operands(batch, 2, length, taps, dtype)
                        gates = [gate if is_there else None for gate, is_there in zip(gates, (pregate, postgate))]
                        self.expect_right(bound, u, k, mode, *gates)

    def expect_right(self, bound, u, k, mode, pregate=None, postgate=None):
        y, spectrum = danaus_torch._conv_cuda(u, k, mode, pregate, postgate)
        self.assertLess(relative(y.double(), truth(u, k, mode, pregate, postgate)), bound)
        self.assertEqual(spectrum.shape, (0,))

    def test_gradients(self):
        for dtype, bound in ((torch.float16, 4e-3), (torch.bfloat16, 1e-2)):
            for batch, length, taps in ((1, 256, 256), (3, 300, 100), (4, 256, 700)):
                for mode in ("causal", "circular"):
                    for pregate, postgate in ((0, 0), (1, 0), (0, 1), (1, 1)):
                        u, k, *gates = operands(batch, 2, length, taps, dtype)
                        dy = u.flip(-1)
                        gates = [gate if is_there else None for gate, is_there in zip(gates, (pregate, postgate))]
                        needed = [True, True, pregate == 1, postgate == 1]
                        inputs = [None if x is None else x.double().requires_grad_() for x in (u, k, *gates)]
                        danaus_torch.conv(inputs[0], inputs[1], mode, *inputs[2:]).backward(dy.double())
                        y, spectrum = danaus_torch._conv_cuda(u, k, mode, *gates, trains=True)
                        gradients = danaus_torch._conv_backward_cuda(dy, u, k, spectrum, mode, *gates, needed)
                        for gradient, x in zip(gradients, inputs):
                            if x is None:
                                self.assertEqual(gradient.numel(), 0)
                            else:
                                self.assertLess(relative(gradient.double(), x.grad), bound)
                        # What is kept, which fake tensors of another batch say too, changes neither pass by a bit.
                        token = self.tokens[0].replace("_b4_", "_b2_")
                        self.assertEqual(spectrum.shape, (danaus_torch._kept_bytes(token, None),))
                        alone, nothing = danaus_torch._conv_cuda(u, k, mode, *gates)
                        again = danaus_torch._conv_backward_cuda(dy, u, k, nothing, mode, *gates, needed)
                        torch.testing.assert_close((y, *gradients), (alone, *again), rtol=0, atol=0)
                        self.tokens.clear()

    def test_gradients_past_the_dispatcher(self):
        u, k, pregate, postgate = operands(3, 2, 256, 256, torch.float16)
        dy = u.flip(-1)
        for gates, learnt in (((None, None), (0, 1)), ((pregate, postgate), (0, 1, 2, 3)), ((pregate, None), (1,)),
                              ((None, postgate), (0, 3))):
            tensors = [u, k, *gates]
            for i in learnt:
                tensors[i] = tensors[i].clone().requires_grad_()
            with mock.patch.object(torch.ops.danaus, "conv_backward", side_effect=AssertionError):
                y = danaus_torch._Trained.apply(*tensors[:2], "causal", *tensors[2:])
                y.backward(dy)
            right, spectrum = danaus_torch._conv_cuda(u, k, "causal", *gates, trains=True)
            gradients = danaus_torch._conv_backward_cuda(dy, u, k, spectrum, "causal", *gates,
                                                         [i in learnt for i in range(4)])
            torch.testing.assert_close(y.detach(), right, rtol=0, atol=0)
            for i in learnt:
                torch.testing.assert_close(tensors[i].grad, gradients[i], rtol=0, atol=0)
        # What autograd would have to differentiate, or others to see, goes by the operator.
        learnt = k.clone().requires_grad_()
        for seen in (torch.enable_grad, torch.profiler.profile, lambda: torch.autocast("cpu")):
            y = danaus_torch._Trained.apply(u, learnt, "causal", None, None)
            with mock.patch.object(torch.ops.danaus, "conv_backward", side_effect=AssertionError("seen")), seen():
                with self.assertRaisesRegex(AssertionError, "seen"):
                    torch.autograd.grad(y, learnt, dy, create_graph=seen is torch.enable_grad)

    def test_backward_operators_refuse_other_gradients(self):
        u, k, _, _ = operands(3, 2, 256, 256, torch.float16)
        nothing, needed = u.new_empty(0), [True, True, False, False]
        for dy in (u[:2], u.float(), u.to("meta")):
            with self.assertRaisesRegex(ValueError, "conv_backward: dy is"):
                danaus_torch._conv_backward_cuda(dy, u, k, nothing, "causal", None, None, needed)
        with self.assertRaisesRegex(ValueError, "conv_backward: spectrum is on meta"):
            danaus_torch._conv_backward_cuda(u, u, k, nothing.to("meta"), "causal", None, None, needed)

    def test_a_step_transforms_the_filter_once(self):
        u, k, pregate, _ = operands(4, 2, 256, 256, torch.float16)
        with self.called() as names:
            y, spectrum = danaus_torch._conv_cuda(u, k, "causal", pregate, None, trains=True)
            danaus_torch._conv_backward_cuda(y, u, k, spectrum, "causal", pregate, None, [True] * 3 + [False])
        self.assertEqual(names, ["danaus_prepare", "danaus_execute", "danaus_execute"])

    def test_where_gradients_have_another_kernel_or_none(self):
        u, k, _, _ = operands(2, 1, 256, 256, torch.float16)
        with mock.patch.object(danaus_torch, "layout_of", lambda token, _: token):
            danaus_torch._kept_bytes.cache_clear()
            y, spectrum = danaus_torch._conv_cuda(u, k, "causal", None, None, trains=True)
        danaus_torch._kept_bytes.cache_clear()
        self.assertEqual(spectrum.numel(), 0)
        self.assertLess(relative(y.double(), truth(u, k, "causal")), 4e-3)
        self.assertEqual(danaus_torch._kept_bytes("fftconv_f16_causal_l6000000_b1_h1", None), 0)
        with self.assertRaisesRegex(ValueError, "kernels for gradients of filters have room for"):
            danaus.Plan("fftconvgrad_f16_causal_l6000000_b1_h1")

    def test_several_launches(self):
        u, k, _, postgate = operands(3, 1, 40000, 30, torch.float16)
        self.expect_right(4e-3, u, k, "causal", None, postgate)
        (entry,) = _tensors.entries.values()
        self.assertGreater(entry.workspace_bytes, 0)

    def test_plans_are_shared_and_filters_are_not(self):
        u, k, _, _ = operands(4, 2, 256, 256, torch.float16)
        expected = [danaus_torch._conv_cuda(u, k * i, "causal", None, None)[0] for i in range(1, 9)]
        results = [None] * 8

        def work(i):
            results[i] = danaus_torch._conv_cuda(u, k * (i + 1), "causal", None, None)[0]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y, same in zip(results, expected):
            torch.testing.assert_close(y, same, rtol=0, atol=0)
        danaus_torch._conv_cuda(u[:3], k, "causal", None, None)
        self.assertEqual(self.tokens, ["fftconv_f16_causal_l256_b4_h2"])

    def test_calls_at_the_same_time_have_slots_of_their_own(self):
        u, k, _, _ = operands(4, 2, 256, 256, torch.float16)
        expected = [danaus_torch._conv_cuda(x, k, "causal", None, None)[0] for x in (u, -u)]
        library, within = _tensors.library, []

        def whole_call(*arguments):
            if not within:
                within.append(None)
                within.append(danaus_torch._conv_cuda(-u, k, "causal", None, None)[0])
            return library.danaus_whole_call(*arguments)

        with mock.patch.object(_tensors, "library", mock.Mock(danaus_whole_call=whole_call)):
            y, _ = danaus_torch._conv_cuda(u, k, "causal", None, None)
        torch.testing.assert_close([y, within[1]], expected, rtol=0, atol=0)

    def test_strides_are_no_matter(self):
        u, k, pregate, _ = operands(4, 4, 256, 256, torch.float16)
        expected, _ = danaus_torch._conv_cuda(u, k, "causal", pregate, None)
        turned = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (u, k, pregate)]
        self.assertFalse(any(x.is_contiguous() for x in turned))
        y, _ = danaus_torch._conv_cuda(turned[0], turned[1], "causal", turned[2], None)
        torch.testing.assert_close(y, expected, rtol=0, atol=0)
        self.assertTrue(y.is_contiguous())

    def test_a_capture_makes_no_plan(self):
        u, k, _, _ = operands(4, 2, 256, 256, torch.float16)
        with self.capturing():
            with self.assertRaisesRegex(RuntimeError, "fftconv_f16_causal_l256_b4_h2 is captured before it ever ran"):
                danaus_torch._conv_cuda(u, k, "causal", None, None)
        danaus_torch._conv_cuda(u, k, "causal", None, None)
        with self.capturing():
            danaus_torch._conv_cuda(u, k, "causal", None, None)

    def test_what_is_refused(self):
        u, k, pregate, _ = operands(2, 2, 256, 256, torch.float16)
        danaus_torch._conv_cuda(u, k, "causal", pregate, None)
        with self.assertRaisesRegex(ValueError, "pregate has shape"):  # though such a plan is there
            danaus_torch._conv_cuda(u, k, "causal", pregate[:1], None)
        _tensors.entries.clear()
        for error, words, arguments in ((ValueError, "the largest kernel has",
                                         (u.repeat(1, 1, 1 << 16), k.repeat(1, 1 << 16))),
                                        (TypeError, "k is torch.float64", (u, k.double())),
                                        (ValueError, "k has shape", (u, k[:1]))):
            with self.assertRaisesRegex(error, words):
                danaus_torch._conv_cuda(*arguments, "causal", None, None)
        self.assertEqual(_tensors.entries, {})


class Subclass(torch.Tensor):
    pass


class PlainCalls(unittest.TestCase):
    """Which calls of a GPU's tensors go past the dispatcher: those that nobody else has to see."""

    def test_what_is_plain(self):
        u, k, pregate, postgate = operands()

        def plain(*tensors):
            return _tensors.way_of(*tensors) == _tensors.PLAIN

        self.assertTrue(plain(u, k, None, None))
        self.assertTrue(plain(u, torch.nn.Parameter(k, requires_grad=False), pregate, postgate))
        learnt = k.clone().requires_grad_()
        with torch.no_grad():
            self.assertTrue(plain(u, learnt, None, None))
        with torch.inference_mode():
            self.assertTrue(plain(u, learnt, None, None))
        for tensors in ((u, learnt, None, None), (learnt, k, None, None), (u, k, learnt, None), (u, k, None, learnt)):
            self.assertEqual(_tensors.way_of(*tensors), _tensors.TRAINED)
        for tensors in ((u.as_subclass(Subclass), k, None, None), (u, torch._neg_view(k), None, None),
                        (learnt, k, u.as_subclass(Subclass), None), (learnt, torch._neg_view(k), None, None)):
            self.assertEqual(_tensors.way_of(*tensors), _tensors.DISPATCHED)
        self.assertFalse(conv(u, k, "causal", learnt.new_zeros(u.shape), None).any())

    def test_nobody_is_passed_by(self):
        u, k, _, _ = operands()
        answers = []

        def ask(x):
            answers.append(_tensors.way_of(x, k, None, None))
            return x.sum()

        torch.func.vmap(ask)(u)
        torch.func.grad(ask)(u)
        torch.func.jvp(ask, (u,), (u,))
        torch.func.functionalize(ask)(u)
        make_fx(ask)(u)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.trace(ask, u, check_trace=False)
        with FakeTensorMode(allow_non_fake_inputs=True):
            ask(u)
        with torch.device("cpu"):
            ask(u)
        with torch.autocast("cpu"):
            ask(u)
        with torch.profiler.profile():
            ask(u)
        with forward_ad.dual_level():
            ask(u)
        self.assertEqual(answers, [_tensors.DISPATCHED] * 11)
        ask(u)
        self.assertEqual(answers[-1], _tensors.PLAIN)


class Compiled(unittest.TestCase):
    def test_opcheck(self):
        for mode in ("causal", "circular"):
            for gates in (0, 1, 2):
                for dtype in (torch.float16, torch.float32):
                    for grad in (False, True):
                        u, k, pregate, postgate = operands(taps=17, gates=gates, grad=grad, dtype=dtype)
                        opcheck(OPERATOR, (u, k, mode, pregate, postgate, grad))
                u, k, pregate, postgate = operands(taps=17, gates=gates)
                y, spectrum = OPERATOR(u, k, mode, pregate, postgate, True)
                turned = None if pregate is None else pregate.transpose(0, 1)
                opcheck(OPERATOR, (u.transpose(0, 1), k[:2], mode, turned, None))
                opcheck(OPERATOR, (u[:1, :1], k[:1], mode, None, None))
                for needed in ([True] * 2 + [pregate is not None, postgate is not None], [False, True, False, False]):
                    opcheck(BACKWARD, (y, u, k, spectrum, mode, pregate, postgate, needed))

    def compiled(self, backend, **options):
        def layer(u, k, pregate, postgate):
            return conv(2 * u, k, "causal", pregate, postgate).sin()

        fast = torch.compile(layer, fullgraph=True, backend=backend, **options)
        for batch in (2, 5, 6):
            tensors = operands(batch=batch, dtype=torch.float32, grad=True)
            y, expected = fast(*tensors), layer(*tensors)
            torch.testing.assert_close(y, expected)
            torch.testing.assert_close(torch.autograd.grad(y.sum(), tensors),
                                       torch.autograd.grad(expected.sum(), tensors), rtol=1e-4, atol=1e-4)
            with torch.no_grad():
                torch.testing.assert_close(fast(*tensors), expected)

    def test_fullgraph(self):
        self.compiled("aot_eager")

    def test_the_batch_stays_free(self):
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        fast = torch.compile(lambda u, k: conv(u, k), fullgraph=True, backend=counter)
        _, k, _, _ = operands(dtype=torch.float32)
        for batch in (2, 3, 4, 5, 6, 7):
            fast(operands(batch=batch, dtype=torch.float32)[0], k)
        self.assertEqual(counter.frame_count, 2)  # the first batch, and any

    def test_inductor(self):
        self.compiled("inductor", dynamic=True)

    def test_autocast_in_a_graph(self):
        u, k, _, _ = operands(dtype=torch.float32)

        def layer(u, k):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return conv(u, k)

        fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(fast(u, k), layer(u, k), rtol=0, atol=0)
        self.assertEqual(fast(u, k).dtype, torch.bfloat16)

    def test_fake_tensors_of_a_gpu(self):
        # The kernel's spectrum and its conjugate have N complex numbers of 16 bits a channel. A factor of 4 bytes a
        # channel stands behind each, of float16 at the next 8 bytes a range of 8 bytes too. The conjugate begins at the
        # next 256 bytes.
        for dtype, batch, factors in ((torch.float16, 2, 256 + 40), (torch.bfloat16, 2, 256 + 12),
                                      (torch.float16, 1, 256 + 40)):
            for trains in (False, True):
                with FakeTensorMode():
                    u = torch.empty(batch, 3, 1000, dtype=dtype, device="cuda")
                    y, spectrum = OPERATOR(u, torch.empty(3, 700, device="cuda"), "causal", u, None, trains)
                self.assertEqual((y.shape, y.dtype, y.device), (u.shape, dtype, u.device))
                self.assertEqual((spectrum.shape, spectrum.dtype, spectrum.device),
                                 ((2 * 3 * 4 * 1024 + factors if trains else 0,), torch.uint8, u.device))

    def test_a_graph_for_a_gpu_is_free_in_the_batch(self):
        def traced(like, filters):
            return OPERATOR(torch.empty(like.shape, dtype=torch.float16, device="cuda"),
                            torch.empty(filters.shape, device="cuda"), "causal", None, None)

        graph = make_fx(traced, tracing_mode="symbolic")(torch.empty(4, 3, 1000), torch.empty(3, 700))
        symbols = {str(symbol): value for symbol, value in graph.shape_env.replacements.items()}
        self.assertEqual(sorted(symbols.values()), [3, 700, 1000])  # and no 4


class Refused(unittest.TestCase):
    def refused(self, error, words, *arguments):
        for call in (conv, OPERATOR):
            with self.assertRaisesRegex(error, "conv: " + words):
                call(*arguments, *[None] * (5 - len(arguments)))

    def test_what_does_not_go_together(self):
        u, k, pregate, _ = operands()
        self.refused(ValueError, "mode 'full', must be one of causal, circular", u, k, "full")
        self.refused(TypeError, "u is torch.int64", u.long(), k, "causal")
        self.refused(TypeError, "k is torch.float64, with u of torch.float16 it must be torch.float32 or torch.float16",
                     u.half(), k, "causal")
        self.refused(TypeError, "k is torch.bfloat16", u.half(), k.bfloat16(), "causal")
        self.refused(TypeError, "k is torch.float32, with u of torch.float64", u, k.float(), "causal")
        self.refused(ValueError, r"u has shape \(3, 12\)", u[0], k, "causal")
        self.refused(ValueError, r"u has shape \(2, 3, 0\)", u[..., :0], k, "causal")
        self.refused(ValueError, r"u has shape \(0, 3, 0\)", u[:0, :, :0], k, "causal")
        self.refused(ValueError, r"k has shape \(2, 12\).*H=3", u, k[:2], "causal")
        self.refused(ValueError, r"k has shape \(12,\)", u, k[0], "causal")
        self.refused(ValueError, r"k has shape \(3, 0\)", u, k[:, :0], "causal")
        self.refused(ValueError, r"pregate has shape \(2, 2, 12\), must be \(2, 3, 12\) as u, or broadcast", u, k,
                     "causal", pregate[:, :2])
        self.refused(ValueError, r"pregate has shape \(1, 2, 3, 12\), must be", u, k, "causal", pregate[None])
        self.refused(TypeError, "postgate is torch.float32", u, k, "causal", None, pregate.float())
        self.refused(ValueError, "k is on meta, u on cpu", u, k.to("meta"), "causal")
        self.refused(ValueError, "postgate is on meta", u, k, "causal", None, pregate.to("meta"))

    def test_what_is_no_tensor(self):
        u, k, _, _ = operands()
        for words, arguments in (("u is a ndarray", (u.numpy(), k)), ("k is a list", (u, k.tolist())),
                                 ("k is a NoneType", (u, None)), ("postgate is a float", (u, k, "causal", None, 1.0))):
            with self.assertRaisesRegex(TypeError, f"conv: {words}, must be a torch.Tensor; danaus.conv takes arrays"):
                conv(*arguments)
        with self.assertRaisesRegex(TypeError, "Filter: k is a ndarray, must be a torch.Tensor"):
            Filter(k.numpy())
        with self.assertRaisesRegex(ValueError, r"conv: k has shape \(2, 12\)"):
            conv(u, Filter(k[:2]))

    def test_a_long_row_of_a_gpu(self):
        with FakeTensorMode():
            u, k = (torch.empty(1, 1, 1 << 24, dtype=torch.float16, device="cuda"),
                    torch.empty(1, 1 << 24, device="cuda"))
            with self.assertRaisesRegex(ValueError, "the largest kernel has"):
                conv(u, k)


class OthersArrays(unittest.TestCase):
    """Tensors where NumPy's arrays go, by DLPack."""

    def test_conv(self):
        for dtype in ROUNDING:
            u, k, pregate, _ = operands(dtype=dtype)
            y = danaus.conv(u, k, pregate=pregate)
            self.assertIsInstance(y, torch.Tensor)
            self.assertEqual((y.dtype, y.shape), (u.dtype, u.shape))
            self.assertLess(relative(y.double(), truth(u, k, "causal", pregate)), ROUNDING[dtype])

    def test_plan(self):
        u, k, _, _ = operands(length=256, taps=256, dtype=torch.bfloat16)
        plan = danaus.Plan("fftconv_bf16_causal_l256_b2_h3")
        plan.prepare(k=k)
        y = plan.execute(u=u)
        self.assertEqual(y.dtype, torch.bfloat16)
        self.assertLess(relative(y.double(), truth(u, k, "causal")), 1e-2)

    def test_a_tensor_that_needs_gradients(self):
        u, k, _, _ = operands(grad=True)
        with self.assertRaisesRegex(ValueError, "conv: u, a Tensor, does not give its memory.*gradient"):
            danaus.conv(u, k)

    def test_strides_and_lazy_tensors(self):
        u, k, _, _ = operands()
        with self.assertRaisesRegex(ValueError, r"conv: u has strides \(36, 1, 3\), must be contiguous"):
            danaus.conv(u.transpose(1, 2).contiguous().transpose(1, 2), k)
        with self.assertRaisesRegex(ValueError, r"conv: u is a negation .* resolve_neg\(\)"):
            danaus.conv(torch._neg_view(u), k)
        with self.assertRaisesRegex(ValueError, "conv: u"):
            danaus.conv(u.to("meta"), k)


if __name__ == "__main__":
    unittest.main()

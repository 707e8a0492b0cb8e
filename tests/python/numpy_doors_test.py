"""What arrays of NumPy meet at the doors: types that are refused with a way out, values that are not finite, results
beyond their type, rows and filters that broadcast, empty batches, one tap, and whose stream goes first.

  PYTHONPATH=BUILD/python PYTHON tests/python/numpy_doors_test.py
"""

import contextlib
import copy
import pickle
import sys
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import danaus
from danaus import plans
from support import direct, from_bits, to_bits

STATES = [np.full((2, 3), value, np.complex64) for value in (0.5, 1, 1)]


def drawn(*shape, dtype=np.float64):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


class Types(unittest.TestCase):
    def refused(self, words, call, *arguments, **options):
        with self.assertRaises(TypeError) as caught:
            call(*arguments, **options)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_masked_arrays_are_refused_by_name(self):
        u, k = drawn(2, 16), drawn(2, 4)
        masked = np.ma.masked_less(u, 0)
        rule = "is a masked array", ".filled(0)"
        self.refused(("conv: u", *rule), danaus.conv, masked, k)
        self.refused(("conv: k", *rule), danaus.conv, u, np.ma.array(k))
        self.refused(("conv: pregate", *rule), danaus.conv, u, k, pregate=masked)
        self.refused(("conv: out", *rule), danaus.conv, u, k, out=np.ma.empty_like(masked))
        self.refused(("conv: mask", *rule), danaus.conv, u, k, "circular", mask=np.ma.ones(16))
        self.refused(("short_conv: u", *rule), danaus.short_conv, masked.astype(np.float16), k.astype(np.float32))
        self.refused(("ssm_conv: a", *rule), danaus.ssm_conv, u.astype(np.float16), np.ma.array(STATES[0]), *STATES[1:])
        self.refused(("explore: filters", *rule), danaus.explore, np.ma.array(drawn(2, 256)))
        plan = danaus.Plan("fftconv_f16_causal_l256_b2_h3")
        self.refused(("execute: u", *rule), plan.execute, u=np.ma.ones((2, 3, 256), np.float16))
        np.testing.assert_array_equal(danaus.conv(masked.filled(0), k), danaus.conv(np.where(u < 0, 0, u), k))

    def test_other_types_are_refused_with_a_conversion_that_works(self):
        u = np.arange(16)
        for array, words in ((u.astype(np.int16), ("u is int16", "u.astype(np.float32)")),
                             (u.astype(np.int64), ("u is int64", "u.astype(np.float32)")),
                             (u.astype(np.uint8), ("u is uint8", "u.astype(np.float32)")),
                             (u > 3, ("u is bool", "u.astype(np.float32)")),
                             (u.astype(">f4"), ("u is >f4", "big-endian", "u.astype(u.dtype.newbyteorder('='))")),
                             (u.astype(">i4"), ("u is >i4", "u.astype(np.float32)")),
                             (u.astype(np.longdouble), ("u is", "u.astype(np.float64)")),
                             (u.astype(object), ("u is object", "u.astype(np.float64)"))):
            self.refused(("conv: ", "must be one of float16, bfloat16", *words), danaus.conv, array, np.ones(2))
            converted = eval(words[-1], {"u": array, "np": np})
            y = danaus.conv(converted, np.ones(2, converted.dtype), method="direct")
            np.testing.assert_array_equal(y, direct(array.astype(float)[None], np.ones((1, 2)), "causal")[0])
        self.refused(("u is complex64", "u.real and u.imag"), danaus.conv, u.astype(np.complex64), np.ones(2))
        self.refused(("u is str",), danaus.conv, u.astype(str), np.ones(2))

    def test_a_type_of_bits_is_of_bits_alone(self):
        for array in (np.ones(8, np.float16), np.ones(8, np.float32), np.ones(8)):
            self.refused((f"conv: u is {array.dtype}, with dtype=\"bfloat16\" it must be uint16",), danaus.conv, array,
                         np.ones(2, np.float32), dtype="bfloat16")

    def test_bits_of_bfloat16_as_numpy_reads_them(self):
        bits = to_bits(drawn(16))
        void = bits.view("V2")
        way = "u.view(np.uint16) with dtype=\"bfloat16\""
        self.refused(("u is void16", way), danaus.conv, void, np.ones(2, np.float32))
        self.refused(("u is uint16", "u with dtype=\"bfloat16\"", "u.astype(np.float32)"), danaus.conv, bits,
                     np.ones(2, np.float32))
        np.testing.assert_array_equal(danaus.conv(void.view(np.uint16), np.ones(1, np.float32), dtype="bfloat16"), bits)


class Words(unittest.TestCase):
    """What ctypes would cut short, wrap around or share unasked."""

    TOKEN = "fftconv_f16_causal_l50_k10_b2_h3"

    def setUp(self):
        self.plan = danaus.Plan(self.TOKEN)

    def test_of_tokens(self):
        for token in (None, 5, self.TOKEN.encode(), [self.TOKEN]):
            with self.assertRaisesRegex(TypeError, f"plan: token is a {type(token).__name__}, must be a str"):
                danaus.Plan(token)
        for token in (self.TOKEN + "\0_pregate", "\0", self.TOKEN + "\udcff"):
            with self.assertRaisesRegex(ValueError, "plan: token .* has a character that no word has"):
                danaus.Plan(token)
            with self.assertRaisesRegex(ValueError, "run: word .* has a character that no word has"):
                danaus.run("count", "--case", token)

    def test_of_numbers_beyond_theirs(self):
        u = np.ones((2, 3, 50), np.float16)
        self.plan.prepare(k=np.ones((3, 10), np.float32))
        for stream in (2**64, 2**70, -1):
            with self.assertRaisesRegex(ValueError, f"execute: stream={stream}, must be from 0 to "):
                self.plan.execute(u=u, stream=stream)
        self.assertIsNone(danaus.Plan(self.TOKEN, "cpu").device)
        with self.assertRaises(danaus.NoDevice):
            danaus.Plan(self.TOKEN, np.int64(10000))
        for device in (True, np.bool_(True), 1.0, -1, np.int64(-1)):
            with self.assertRaisesRegex(ValueError, "plan: device .*, must be 'cpu', 'cuda', 'cuda:N' or N"):
                danaus.Plan(self.TOKEN, device)
        for device in (2**31, 2**32, 2**40, f"cuda:{2**32}"):
            with self.assertRaisesRegex(ValueError, "plan: device=[0-9]+, must be from 0 to 2147483647"):
                danaus.Plan(self.TOKEN, device)
        for batch in (2**64, 2**64 + 1, -2**64):
            with self.assertRaisesRegex(ValueError, f"plan_bytes: batch={batch}, must be "):
                self.plan.bytes(batch)

    def test_a_plan_is_its_owners_alone(self):
        for take in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "plan: a plan is neither copied nor pickled; make another"):
                take(self.plan)
        self.assertIn("prepared", self.plan.bytes())  # and is still there

    def test_of_owners_that_give_no_memory(self):
        class Owner:
            def __init__(self, memory, device=(1, 0)):
                self.memory, self.device = memory, device

            def __dlpack__(self, **_):
                return self.memory

            def __dlpack_device__(self):
                return self.device

        k = np.ones(2)
        used = np.ones(4).__dlpack__()
        np.from_dlpack(Owner(used))
        for owner, words in ((Owner(5), "conv: u gives a int for its memory, must be a capsule of DLPack"),
                             (Owner(used), "conv: u gives a PyCapsule for its memory, must be a capsule of DLPack"),
                             (Owner(None, "x"), "conv: u says that its device is 'x', must be DLPack's kind and num"),
                             (Owner(None, 1), "conv: u says that its device is 1, must be")):
            with self.assertRaisesRegex(ValueError, words):
                danaus.conv(owner, k)


class NotFinite(unittest.TestCase):
    def expect_warning(self, words, call, *arguments, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = call(*arguments, **options)
        self.assertEqual(len(caught), 0 if words is None else 1)
        for warning in caught:
            self.assertEqual((warning.category, warning.filename), (RuntimeWarning, __file__))
            self.assertIn(words, str(warning.message))
        return y

    def test_what_spreads_is_said(self):
        u, k = np.array([1, np.inf, 2, 3]), np.array([2.0])
        self.expect_warning("conv: u has samples that are NaN or infinite, which spread over whole rows by "
                            "method='fftw'; method='direct' keeps them", danaus.conv, u, k)
        y = self.expect_warning(None, danaus.conv, u, k, method="direct")
        np.testing.assert_array_equal(y, [2, np.inf, 4, 6])
        self.expect_warning("conv: k has", danaus.conv, k, np.array([np.nan]), method="monarch")
        self.expect_warning("conv: pregate has", danaus.conv, np.ones(4), k, pregate=u)
        self.expect_warning(None, danaus.conv, np.ones(4), k)
        half = np.full((2, 1, 40), np.inf, np.float16)
        taps = np.array([1, 1, np.nan, 1], np.float32)
        for method, words in (("kernel", "short_conv: k has samples"), ("definition", None)):
            self.expect_warning(words, danaus.short_conv, half, taps, method=method)
        self.expect_warning(None, danaus.ssm_conv, half[0], *(x[:1] for x in STATES))
        bits = np.full(8, 0x7f80, np.uint16)
        self.expect_warning("conv: u has", danaus.conv, bits, np.ones(1, np.float32), dtype="bfloat16")
        self.expect_warning(None, danaus.conv, bits - 1, np.full(1, 0.5, np.float32), dtype="bfloat16")

    def test_what_does_not_spread_is_not(self):
        nan = np.array([1, np.nan, 1, 1])
        y = self.expect_warning(None, danaus.conv, np.ones(4), np.ones(2), postgate=nan)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(nan))
        beyond = np.array([1, 2, 3, 4, np.nan])  # of L = 4
        self.assertTrue(np.isfinite(self.expect_warning(None, danaus.conv, np.ones(4), beyond)).all())
        y = self.expect_warning("conv: k has", danaus.conv, np.ones(4), beyond, "circular")
        self.assertTrue(np.isnan(y).all())
        u = np.zeros((1, 256), np.float16)
        u[0, 100] = np.nan
        y = self.expect_warning(None, danaus.short_conv, u, np.ones(5, np.float32), postgate=np.ones_like(u),
                                method="kernel")
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(y)), range(100, 105))
        y = self.expect_warning(None, danaus.ssm_conv, u, *(x[:1] for x in STATES), method="kernel")
        self.assertEqual(np.flatnonzero(np.isnan(y))[0], 100)

    def test_the_default_method_is_right_by_norm_and_direct_in_each_sample(self):
        powers = 10.0**(9 * np.arange(10))
        u = np.concatenate([powers, np.zeros(9)])
        self.assertEqual(danaus.conv(u, powers, method="direct")[0], 1)
        self.assertNotAlmostEqual(danaus.conv(u, powers)[0], 1)
        for word in ("by norm", "\"direct\" sums each sample", "RuntimeWarning"):
            self.assertIn(word, " ".join(danaus.conv.__doc__.split()))


class Overflow(unittest.TestCase):
    def test_of_a_truth_beyond_the_type(self):
        for dtype, name, value in ((np.float16, "f16", 6e4), (np.float32, "f32", 3e38), (np.float64, "f64", 1.7e308)):
            u = np.full((2, 8), value, dtype)
            k = np.array([1, 1], dtype)
            with np.errstate(over="ignore"):
                y, error = danaus.conv(u, k, method="direct", return_error=True)
            self.assertEqual((np.isinf(y).sum(), error["status"]), (14, "passed"))
            if dtype != np.float64:  # whose truth is infinite too
                self.assertEqual(error["reason"], f"14 of 16 samples are not finite; of 14 the truth is too large for {name}")
        bits = to_bits(np.full(8, 3e38))
        y, error = danaus.conv(bits, np.ones(2, np.float32), dtype="bfloat16", return_error=True)
        self.assertEqual((error["status"], error["reason"]),
                         ("passed", "7 of 8 samples are not finite; of 7 the truth is too large for bf16"))
        self.assertTrue(np.isinf(from_bits(y)[1:]).all())
        y, error = danaus.short_conv(np.full((1, 8), 6e4, np.float16), np.ones(2, np.float32), np.ones(1, np.float32),
                                     return_error=True)
        self.assertEqual((error["status"], error["reason"]),
                         ("passed", "7 of 8 samples are not finite; of 7 the truth is too large for f16"))

    def test_of_a_kernel_alone_is_a_fault(self):
        one = np.ones((1, 1, 256), np.float16)
        for wrong, words in ((np.full_like(one, np.inf), "a number is inf"),
                             (np.where(np.arange(256) < 128, np.nan, one), "a number is nan")):
            error = self.judged(one, wrong.astype(np.float16))
            self.assertEqual(error["status"], "failed")
            self.assertIn(words, error["reason"])
        large = np.full_like(one, 6e4)
        wrong = np.full_like(one, np.inf)
        wrong[..., 0] = 1
        error = self.judged(large, wrong)
        self.assertEqual(error["status"], "failed")
        self.assertGreater(error["rel_l2"], error["bound"])
        for wrong, words in ((np.nan, "a number is nan"), (-np.inf, "a number is -inf")):
            wrong = np.full_like(one, wrong)
            wrong[..., 0] = 6e4
            error = self.judged(large, wrong)
            self.assertEqual(error["status"], "failed")
            self.assertIn(words, error["reason"])

    def judged(self, u, y):
        with mock.patch("danaus._operands.Operands._in_double", lambda self, *_: None):
            _, error = danaus.conv(u, np.ones(2, np.float32), out=y, return_error=True)
        return error


class Rows(unittest.TestCase):
    def test_broadcast_as_numpy_does(self):
        u, k, gate = drawn(2, 3, 16), drawn(3, 4), drawn(2, 3, 16)
        expected = danaus.conv(u, np.repeat(k[:1], 3, 0))
        for filters in (k[:1], k[0]):
            np.testing.assert_array_equal(danaus.conv(u, filters), expected)
        for rows in (u[0, :1], u[0, 0], u[:, :1]):
            y = danaus.conv(rows, k)
            whole = np.broadcast_to(rows, (*rows.shape[:-2], 3, 16))
            self.assertEqual(y.shape, whole.shape)
            np.testing.assert_array_equal(y, danaus.conv(whole, k))
        expected = danaus.conv(np.repeat(u[:, :1], 3, 1), k, "circular", np.repeat(gate[:, :1], 3, 1), gate)
        out = np.empty_like(expected)
        y, error = danaus.conv(u[:, :1], k, "circular", gate[:, :1], gate, out=out, return_error=True)
        self.assertIs(y, out)
        np.testing.assert_array_equal(y, expected)
        self.assertEqual(error["status"], "passed")
        bits = to_bits(u[:, :1])
        np.testing.assert_array_equal(danaus.conv(bits, k.astype(np.float32), dtype="bfloat16"),
                                      danaus.conv(np.repeat(bits, 3, 1), k.astype(np.float32), dtype="bfloat16"))
        with self.assertRaisesRegex(ValueError, r"conv: k has shape \(2, 4\), must be \[K\] or \[H, K\], H=3"):
            danaus.conv(u, k[:2])

    def test_gates_broadcast_to_u(self):
        u, k, whole = drawn(2, 3, 16, dtype=np.float16), drawn(3, 4, dtype=np.float32), np.ones((2, 3, 16), np.float16)
        for method in ("fftw", "kernel"):
            for gate in (drawn(16), drawn(3, 16), drawn(2, 1, 16), drawn(1, 3, 16), drawn(2, 3, 1)):
                gate = gate.astype(np.float16)
                np.testing.assert_array_equal(danaus.conv(u, k, "causal", gate, gate, method=method),
                                              danaus.conv(u, k, "causal", gate * whole, gate * whole, method=method))
        np.testing.assert_array_equal(danaus.short_conv(u, k, pregate=u[0]), danaus.short_conv(u, k, pregate=u[[0, 0]]))
        for rows, gate in ((u, whole[:, :2]), (u[:, :1], whole), (u[0, 0], whole[0, :1])):
            with self.assertRaisesRegex(ValueError, r"pregate has shape .*, must be \(.*\) as u, or broadcast to it"):
                danaus.conv(rows, k if rows is u else k[:1], pregate=gate)

    def test_an_output_that_overlaps(self):
        u, k = drawn(3, 256, dtype=np.float16), drawn(3, 4, dtype=np.float32)
        for method in ("fftw", "kernel"):
            memory = np.concatenate([u.ravel(), np.zeros(8, np.float16)])
            expected = danaus.conv(u, k, method=method)
            danaus.conv(memory[:-8].reshape(u.shape), k, method=method, out=memory[8:].reshape(u.shape))
            np.testing.assert_array_equal(memory[8:].reshape(u.shape), expected)

    def test_broadcast_of_short_ones_and_states(self):
        u, k, bias = drawn(2, 3, 40, dtype=np.float16), drawn(3, 4, dtype=np.float32), np.arange(3, dtype=np.float32)
        for method in ("definition", "kernel"):
            for last in (False, True):
                turned = (lambda x: x.swapaxes(1, 2)) if last else (lambda x: x)
                options = {"channels_last": last, "method": method}
                for rows, filters, of_bias in ((u, k[:1], bias), (u[:, :1], k, bias), (u, k, bias[1:2])):
                    y = danaus.short_conv(turned(rows), filters, of_bias, **options)
                    np.testing.assert_array_equal(
                        y, danaus.short_conv(turned(np.broadcast_to(rows, u.shape)), np.broadcast_to(filters, k.shape),
                                             np.broadcast_to(of_bias, 3), **options))
        a, b, c = STATES
        whole = danaus.ssm_conv(np.repeat(u[:, :1], 2, 1), a, b, c)
        np.testing.assert_array_equal(danaus.ssm_conv(u[:, :1], a, b, c), whole)
        np.testing.assert_array_equal(danaus.ssm_conv(u[:, :2], a[:1], b[:1], c[:1]),
                                      danaus.ssm_conv(u[:, :2], a, b, c))

    def test_no_channels(self):
        u, k = np.empty((2, 0, 16), np.float16), drawn(3, 4, dtype=np.float32)
        skipped = {"status": "skipped", "reason": "there are no channels"}
        for rows, filters in ((u, k[0]), (u, k[:1]), (u, k[:0]), (u[:0], k[0]),
                              (np.empty((2, 1, 16), np.float16), k[:0])):
            self.assertEqual(danaus.conv(rows, filters).shape, (len(rows), 0, 16))
            self.assertEqual(danaus.short_conv(rows, filters, pregate=rows[:1]).shape, (len(rows), 0, 16))
        self.assertEqual(danaus.conv(u, k[0], method="kernel", return_error=True)[1], skipped)
        self.assertEqual(danaus.short_conv(u.swapaxes(1, 2), k[0, :1], channels_last=True).shape, (2, 16, 0))
        y, x = danaus.ssm_conv(u, *(x[:1] for x in STATES), return_state=True)
        self.assertEqual((y.shape, x.shape), (u.shape, (2, 0, 3)))
        for filters, words in ((k, r"k has shape \(3, 4\), must be .* H=0"), (k[0, :0], "K=0|k0")):
            with self.assertRaisesRegex(ValueError, words):
                danaus.conv(u, filters)

    def test_empty_batches(self):
        u, k = np.empty((0, 3, 16), np.float16), drawn(3, 4, dtype=np.float32)
        for method in ("fftw", "direct", "monarch", "kernel"):
            y, error = danaus.conv(u, k, pregate=u, method=method, return_error=True)
            self.assertEqual((y.shape, y.dtype), (u.shape, u.dtype))
            self.assertEqual(error, {"status": "skipped", "reason": "the batch is empty"})
        self.assertEqual(danaus.conv(u[:, :1], k).shape, u.shape)
        self.assertEqual(danaus.short_conv(u, k).shape, u.shape)
        self.assertEqual(danaus.short_conv(u, k[:, :1], channels_last=False).shape, u.shape)
        y, x = danaus.ssm_conv(u[:, :2], *STATES, return_state=True)
        self.assertEqual((y.shape, x.shape), ((0, 2, 16), (0, 2, 3)))
        out = np.empty_like(u)
        self.assertIs(danaus.conv(u, k, out=out), out)
        for words, call in (("L=0", lambda: danaus.conv(u[..., :0], k)),
                            ("'fast'", lambda: danaus.conv(u, k, method="fast")),
                            ("out has shape", lambda: danaus.conv(u, k, out=np.empty((1, 3, 16), np.float16)))):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_empty_batches_of_plans(self):
        u = np.empty((0, 3, 40), np.float16)
        plan = danaus.Plan("shortconvgrad_f16_causal_k5_l40_b2_h3")
        plan.prepare(k=drawn(3, 5, dtype=np.float32))
        dk = np.full((3, 5), np.nan, np.float32)
        for given in ({}, {"dk": dk}):
            gradients = plan.execute(u=u, dy=u, **given)
            self.assertEqual((gradients["du"].shape, gradients["dk"].any()), ((0, 3, 40), False))
        self.assertFalse(dk.any())
        for words, arrays in (("arrays have batches of several sizes, must have the same: u 0, dy 1", {"u": u, "dy": np.empty((1, 3, 40), np.float16)}),
                              ("has a dy, but none is given", {"u": u}),
                              ("a v is given", {"u": u, "dy": u, "v": u})):
            with self.assertRaisesRegex(ValueError, "execute: .*" + words):
                plan.execute(**arrays)

    def test_one_tap(self):
        u, gate = drawn(2, 3, 40, dtype=np.float16), drawn(2, 3, 40, dtype=np.float16)
        k, bias = np.array([[2], [0.5], [-1]], np.float32), np.arange(3, dtype=np.float32)
        truth = (k * (u.astype(float) * gate) + bias[:, None]) * gate
        for padding in ("causal", "same"):
            for method, bound in (("definition", 2.0**-11), ("kernel", 2e-3)):
                y, error = danaus.short_conv(u, k, bias, padding, gate, gate, method=method, return_error=True)
                self.assertEqual(error["status"], "passed")
                self.assertLess(np.linalg.norm(y - truth) / np.linalg.norm(truth), bound)
                last = danaus.short_conv(u.swapaxes(1, 2), k, bias, padding, gate.swapaxes(1, 2), gate.swapaxes(1, 2),
                                         channels_last=True, method=method)
                np.testing.assert_array_equal(last.swapaxes(1, 2), y)
        np.testing.assert_array_equal(danaus.short_conv(np.array([1, np.inf, 2], np.float16), k[0]), [2, np.inf, 4])
        bits = to_bits(u[0, 0])
        np.testing.assert_array_equal(danaus.short_conv(bits, np.ones(1, np.float32), dtype="bfloat16"), bits)


class Library(types.ModuleType):
    """One of arrays of a GPU, whose streams note who waits for whom."""

    def __init__(self, name, current, **others):
        super().__init__(name)
        self.cuda = types.SimpleNamespace(**current, **others)

        class Tensor:
            __module__ = name

            def __init__(self, array):
                self.array = array
                self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "strides": None}

            def __setitem__(self, *of):
                self.array.__setitem__(*of)

        self.Tensor = Tensor
        self.empty_like = lambda x, **_: Tensor(np.empty_like(x.array))


class Streams(unittest.TestCase):
    """Without stream= a plan runs on the default stream, for which that of the arrays' library then waits."""

    def setUp(self):
        def on_executor(token, device, kept, count, plan):
            return plans.library.danaus_plan_create_on_executor(token, plan)

        library, self.order = plans.library, []
        stub = mock.Mock(wraps=library)
        stub.danaus_plan_create = on_executor
        stub.danaus_execute = lambda *of: self.order.append("executed") or library.danaus_execute(*of)
        stub.danaus_prepare = lambda *of: self.order.append("prepared") or library.danaus_prepare(*of)
        stub.danaus_plan_create_on_executor = library.danaus_plan_create_on_executor
        patch = mock.patch.object(plans, "library", stub)
        patch.start()
        self.addCleanup(patch.stop)
        self.plan = danaus.Plan("fftconv_f16_causal_l256_b2_h3", "cuda:1")
        self.u, self.k = drawn(2, 3, 256, dtype=np.float16), drawn(3, 256, dtype=np.float32)
        self.plan.prepare(k=self.k)
        self.order.clear()

    def expect_waits(self, library, *waits):
        with mock.patch.dict(sys.modules, {library.__name__: library}):
            self.plan.prepare(k=library.Tensor(self.k))
            y = self.plan.execute(u=library.Tensor(self.u))
            self.assertEqual(self.order[:1 + len(waits)], ["prepared", *waits])
            self.assertEqual(self.order[1 + len(waits):2 + 2 * len(waits)], ["executed", *waits])
            np.testing.assert_array_equal(y.array, danaus.conv(self.u, self.k, method="kernel"))
            self.order.clear()
            self.plan.execute(u=library.Tensor(self.u), y=y, stream=1)  # which the caller orders
            self.assertEqual(self.order, ["executed"])
            self.order.clear()
            subclass = type("Subclass", (library.Tensor,), {"__module__": "another"})
            self.plan.execute(u=subclass(self.u), y=np.empty_like(self.u))
            self.assertEqual(self.order, ["executed", waits[0]])

    def test_of_pytorch(self):
        current = mock.Mock(wait_stream=lambda of: self.order.append(f"current waits for {of}"))
        self.expect_waits(Library("likepytorch", {"current_stream": lambda device: current,
                                                  "default_stream": lambda device: "the default one"}),
                          "current waits for the default one")

    def test_of_cupy(self):
        current = mock.Mock(wait_event=lambda event: self.order.append(f"current waits for {event}"))
        null = types.SimpleNamespace(record=lambda: "the default one's event")
        self.expect_waits(Library("likecupy", {"get_current_stream": lambda: current},
                                  Stream=types.SimpleNamespace(null=null), Device=lambda _: contextlib.nullcontext()),
                          "current waits for the default one's event")


if __name__ == "__main__":
    unittest.main()

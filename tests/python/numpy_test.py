"""danaus.conv and danaus.Plan on NumPy arrays and on arrays of other libraries, against the defining sum."""

import ctypes
import gc
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import danaus
from danaus import _operands, convolution, plans
from support import UNIT_ROUNDOFF, direct, from_bits, relative, to_bits

CASE = "fftconv_f16_causal_l256_b2_h3"


def operands(dtype=np.float16, batch=2, channels=3, length=256, taps=256, filter_dtype=None):
    draw = np.random.default_rng(1).standard_normal
    if filter_dtype is None:
        filter_dtype = np.float32 if np.dtype(dtype).itemsize == 2 else dtype
    arrays = [draw((batch, channels, length)).astype(dtype) for _ in range(3)]
    return (arrays[0], (draw((channels, taps)) / np.sqrt(taps)).astype(filter_dtype), *arrays[1:])


class Conv(unittest.TestCase):
    def test_in_double_rounded_once(self):
        for dtype, rounding in UNIT_ROUNDOFF.items():
            for mode in ("causal", "circular"):
                for taps in (1, 100, 256, 300):
                    u, k, pregate, postgate = operands(dtype, taps=taps)
                    for gates in ({}, {"pregate": pregate}, {"pregate": pregate, "postgate": postgate}):
                        for method in ("fftw", "direct", "monarch"):
                            y = danaus.conv(u, k, mode, method=method, **gates)
                            self.assertEqual((y.dtype, y.shape), (u.dtype, u.shape))
                            # Errors spread evenly over half a unit in the last place, 0.43 u over all
                            # mantissas; truncated ones would be twice that. In float64 what transforms add.
                            bound = 0.5 * rounding if dtype != np.float64 else 1e-14
                            self.assertLess(relative(y, direct(u, k, mode, **gates)), bound)

    def test_the_kernel_keeps_its_bound_and_states_its_error(self):
        for mode in ("causal", "circular"):
            for filter_dtype in (np.float32, np.float16):
                u, k, pregate, postgate = operands(length=300, taps=100, filter_dtype=filter_dtype)
                y, error = danaus.conv(u, k, mode, pregate, postgate, method="kernel", return_error=True)
                truth = direct(u, k, mode, pregate, postgate)
                self.assertEqual((error["status"], error["truth"]), ("passed", "direct"))
                self.assertAlmostEqual(error["rel_l2"], relative(y, truth), delta=1e-12)
                self.assertLess(error["rel_l2"], error["bound"])
                self.assertGreater(error["rel_l2"], 1e-4)  # it computes in 16 bits

    def test_a_wrong_result_is_stated(self):
        u, k, _, _ = operands()
        y, good = danaus.conv(u, k, method="fftw", return_error=True)
        self.assertEqual(good["status"], "passed")
        self.assertLess(good["rel_l2"], UNIT_ROUNDOFF[y.dtype])
        self.assertAlmostEqual(good["bound"] / UNIT_ROUNDOFF[y.dtype], 1, delta=0.02)  # of one rounding
        asked, token = convolution._long(u, k, "causal", None, None, None, None)
        for wrong in (1.01 * y, -y, 0 * y, np.roll(y, 1, -1)):
            asked.outputs = [asked.target(wrong.astype(np.float16))]
            stated = asked.judged(token, "fftw")
            self.assertEqual(stated["status"], "failed")
        quiet = u.copy()
        quiet[0] *= np.float16(0.01)
        asked, token = convolution._long(quiet, k, "causal", None, None, None, None)
        wrong = danaus.conv(quiet, k)
        wrong[0, 1] *= np.float16(1.02)
        asked.outputs = [asked.target(wrong)]
        stated = asked.judged(token, "fftw")
        self.assertEqual((stated["status"], stated["row"]["place"]), ("failed", "b=0, h=1"))
        self.assertLess(stated["rel_l2"], stated["bound"])  # of all rows

    def test_rows_beside_one_with_a_nan_are_judged(self):
        u, k, _, _ = operands()
        u[0, 0, 0] = np.nan
        y, error = danaus.conv(u, k, method="direct", return_error=True)
        self.assertEqual((error["status"], error["samples"]), ("passed", u.size - u.shape[2]))
        y[1, 1, 5] += 1
        asked, token = convolution._long(u, k, "causal", None, None, None, None)
        asked.outputs = [asked.target(y)]
        self.assertEqual(asked.judged(token, "direct")["status"], "failed")
        u[...] = np.inf
        self.assertEqual(danaus.conv(u, k, method="direct", return_error=True)[1]["status"], "skipped")

    def test_bfloat16_by_its_bits(self):
        u, k, pregate, _ = operands()
        bits, gate = to_bits(u), to_bits(pregate)
        truth = direct(from_bits(bits), k, "causal", from_bits(gate))
        for method, bound in (("fftw", 0.5 * 2.0**-8), ("kernel", 1e-2)):
            y, error = danaus.conv(bits, k, pregate=gate, method=method, dtype="bfloat16", return_error=True)
            self.assertEqual((y.dtype, error["status"]), (np.uint16, "passed"))
            self.assertLess(relative(from_bits(y), truth), bound)
        same = danaus.conv(bits, to_bits(k), pregate=gate, dtype="bfloat16")  # a filter of 16 bits too
        self.assertLess(relative(from_bits(same), direct(from_bits(bits), from_bits(to_bits(k)), "causal",
                                                         from_bits(gate))), 0.5 * 2.0**-8)

    def test_bfloat16_of_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        u, k, _, _ = operands()
        short = u.astype(ml_dtypes.bfloat16)
        y = danaus.conv(short, k)
        self.assertEqual(y.dtype, short.dtype)
        np.testing.assert_array_equal(y.view(np.uint16), danaus.conv(short.view(np.uint16), k, dtype="bfloat16"))

    def test_shapes(self):
        u, k, _, _ = operands()
        whole = danaus.conv(u, k)
        np.testing.assert_array_equal(danaus.conv(u[1], k), whole[1])
        np.testing.assert_array_equal(danaus.conv(u[0, 2], k[2]), whole[0, 2])
        shared = danaus.conv(u, k[0])  # one filter for every channel
        np.testing.assert_array_equal(shared, danaus.conv(u, np.repeat(k[:1], 3, 0)))

    def test_masks(self):
        u, k, pregate, _ = operands()
        kept = np.abs(np.fft.fftfreq(256)) < 0.2
        truth = np.fft.ifft(np.fft.fft(u.astype(float) * pregate) * np.fft.fft(k) * kept).real
        words = "pair_n256_r16x16_keep0to51"
        case = "fftconv_f16_circular_l256_b64_h7_" + words
        for mask in (kept, kept.astype(int), words, case, {"case": case}):
            y = danaus.conv(u, k, "circular", pregate, mask=mask)
            self.assertLess(relative(y, truth), UNIT_ROUNDOFF[y.dtype])
            y, error = danaus.conv(u, k, "circular", pregate, mask=mask, method="kernel", return_error=True)
            self.assertEqual(error["status"], "passed")
            self.assertLess(relative(y, truth), 3e-3)
        for wrong, words in (("keep0to1_foo", "'foo' is no word"), ("foo_keep0to1", "'foo' is no word"),
                             (case + "_foo", "foo"), ("pair_n256", "must have a word")):
            with self.assertRaisesRegex(ValueError, words):
                danaus.conv(u, k, "circular", mask=wrong)
        kept = np.abs(np.fft.fftfreq(512)) < 0.2  # of a causal one beyond its end
        wide = np.fft.ifft(np.fft.fft(u.astype(float), 512) * np.fft.fft(k, 512) * kept).real[..., :256]
        self.assertLess(relative(danaus.conv(u, k, mask=kept), wide), UNIT_ROUNDOFF[u.dtype])

    def test_strides_are_no_matter(self):
        u, k, _, _ = operands()
        expected = danaus.conv(u, k)
        np.testing.assert_array_equal(danaus.conv(np.asfortranarray(u), np.asfortranarray(k)), expected)
        wide = np.zeros((2, 3, 512), np.float16)
        wide[..., ::2] = u
        np.testing.assert_array_equal(danaus.conv(wide[..., ::2], k), expected)
        u.flags.writeable = False
        out = np.empty_like(expected)
        self.assertIs(danaus.conv(u, k, out=out), out)
        np.testing.assert_array_equal(out, expected)

    def refused(self, error, *words, **changed):
        u, k, pregate, _ = operands()
        with self.assertRaises(error) as caught:
            danaus.conv(**{"u": u, "k": k, "pregate": pregate, **changed})
        for word in ("conv", *words):
            self.assertIn(word, str(caught.exception))

    def test_what_is_refused(self):
        u, k, pregate, _ = operands()
        self.refused(ValueError, "'linear'", "causal, circular", mode="linear")
        self.refused(ValueError, "'fast'", "fftw, monarch, direct, kernel", method="fast")
        self.refused(TypeError, "list", u=u.tolist())
        self.refused(TypeError, "complex128", u=u.astype(complex))
        self.refused(TypeError, ">f2", u=u.astype(">f2"))
        self.refused(TypeError, "uint16", "bfloat16", u=to_bits(u))
        self.refused(ValueError, "'half'", dtype="half")
        self.refused(TypeError, "k is float64", "float32 or float16", k=k.astype(np.float64))
        self.refused(TypeError, "k is float32", u=u.astype(np.float64), pregate=None)
        self.refused(ValueError, "(1, 2, 3, 256)", u=u[None])
        self.refused(ValueError, "k has shape (2, 256)", "H=3", k=k[:2])
        self.refused(ValueError, "k has shape (3, 1, 256)", k=k[:, None])
        self.refused(ValueError, "pregate has shape (2, 2, 256)", pregate=pregate[:, :2])
        self.refused(TypeError, "pregate is float32", pregate=pregate.astype(np.float32))
        self.refused(ValueError, "out", "(2, 3, 256)", out=np.empty((2, 3, 255), np.float16))
        self.refused(TypeError, "out is float32", out=np.empty((2, 3, 256), np.float32))
        self.refused(ValueError, "strides", out=np.empty((2, 3, 512), np.float16)[..., ::2])
        self.refused(ValueError, "'gpu'", device="gpu")
        self.refused(ValueError, "L=0", u=u[..., :0], pregate=None)
        self.refused(ValueError, "mask of conv", "N=128 frequencies", mode="circular", mask=np.ones(128))
        self.refused(ValueError, "must be alike for a real filter", mode="circular", mask=np.arange(256) < 9)
        self.refused(ValueError, "must be 0 or 1", mode="circular", mask=np.full(256, 0.5))
        self.refused(ValueError, "removes everything", mode="circular", mask=np.zeros(256))
        self.refused(ValueError, "mask 'half'", "zero, keep or blocks", mode="circular", mask="half")
        self.refused(ValueError, "<U1", mode="circular", mask=["a"])
        self.refused(ValueError, "needs N >= 511", mask=np.ones(256))
        locked = np.empty_like(u)
        locked.flags.writeable = False
        self.refused(ValueError, "read-only", out=locked)

    def test_what_has_no_kernel(self):
        u, k, _, _ = operands(np.float32)
        with self.assertRaisesRegex(ValueError, "f32 has no kernel"):
            danaus.conv(u, k, method="kernel")
        with self.assertRaisesRegex(ValueError, "the largest kernel has"):
            danaus.conv(np.zeros(1 << 24, np.float16), np.zeros(1 << 24, np.float32), method="kernel")

    @unittest.skipIf(danaus.device_count(), "there is a CUDA device")
    def test_without_a_device(self):
        u, k, _, _ = operands()
        with self.assertRaisesRegex(danaus.NoDevice, "CUDA device 0"):
            danaus.conv(u, k, device="cuda")
        with self.assertRaises(danaus.NoDevice):
            danaus.Plan(CASE, "cuda:3")


def short_sum(u, k, bias, padding, pregate, postgate):
    """y [B, H, L] in double by the sum that defines it."""
    ahead = k.shape[1] // 2 if padding == "same" else 0
    x = np.pad(u.astype(float) * pregate, ((0, 0), (0, 0), (k.shape[1] - 1, ahead)))
    y = sum(k[:, tap, None].astype(float) * np.roll(x, tap - ahead, -1) for tap in range(k.shape[1]))
    return (y[..., k.shape[1] - 1:k.shape[1] - 1 + u.shape[2]] + bias[:, None]) * postgate.astype(float)


class ShortConv(unittest.TestCase):
    def operands(self, taps=5):
        u, k, pregate, postgate = operands(length=40, taps=taps)
        return u, k, np.array([1, 2, 3], np.float32), pregate, postgate

    def test_by_definition_and_by_the_kernel(self):
        for padding in convolution.PADDINGS:
            for taps in (2, 5, 33):
                u, k, bias, pregate, postgate = self.operands(taps)
                truth = short_sum(u, k, bias, padding, pregate, postgate)
                for method, bound in (("definition", 0.5 * 2.0**-11), ("kernel", 2e-3)):
                    y, error = danaus.short_conv(u, k, bias, padding, pregate, postgate, method=method,
                                                 return_error=True)
                    self.assertEqual((error["status"], error["truth"], y.dtype), ("passed", "direct", u.dtype))
                    self.assertLess(relative(y, truth), bound)
                    self.assertLess(relative(y, truth), error["bound"])
                    last = danaus.short_conv(u.swapaxes(1, 2), k, bias, padding, pregate.swapaxes(1, 2),
                                             postgate.swapaxes(1, 2), channels_last=True, method=method)
                    self.assertLess(relative(last.swapaxes(1, 2), truth), bound)

    def test_a_wrong_result_is_stated(self):
        u, k, _, _, _ = self.operands()
        with mock.patch.object(_operands.Operands, "_in_double", lambda self, *_: None):
            _, error = danaus.short_conv(u, k, out=np.ones_like(u), return_error=True)
        self.assertEqual(error["status"], "failed")

    def test_shapes_and_bits(self):
        u, k, bias, _, _ = self.operands()
        whole = danaus.short_conv(u, k, bias)
        np.testing.assert_array_equal(danaus.short_conv(u[1], k, bias), whole[1])
        np.testing.assert_array_equal(danaus.short_conv(u[1, 2], k[2], bias[2:]), whole[1, 2])
        bits = to_bits(u)
        y = danaus.short_conv(bits, to_bits(k), to_bits(bias), dtype="bfloat16")
        ones = np.ones_like(u)
        truth = short_sum(from_bits(bits), from_bits(to_bits(k)), from_bits(to_bits(bias)), "causal", ones, ones)
        self.assertLess(relative(from_bits(y), truth), 0.5 * 2.0**-8)

    def test_float32_and_float64_by_the_definition(self):
        for dtype, most in ((np.float32, 2.0**-23), (np.float64, 2.0**-50)):
            u, k, bias, pregate, postgate = (array.astype(dtype) for array in self.operands())
            y = danaus.short_conv(u, k, bias, pregate=pregate, postgate=postgate)
            self.assertEqual(y.dtype, dtype)
            self.assertLess(relative(y, short_sum(u, k, bias, "causal", pregate, postgate)), most)

    def test_what_is_refused(self):
        u, k, bias, _, _ = self.operands()
        for error, words, changed in (
                (ValueError, "padding 'valid', must be one of causal, same", {"padding": "valid"}),
                (ValueError, "dtype f32 has no kernel", {"u": u.astype(np.float32), "method": "kernel"}),
                (TypeError, "k is float64", {"k": k.astype(float)}),
                (ValueError, "K=0, must be from", {"k": k[:, :0]}),
                (TypeError, "bias is float16, must be float32 as k", {"bias": bias.astype(np.float16)}),
                (ValueError, r"bias has shape \(2,\), must be \(3,\)", {"bias": bias[:2]}),
                (ValueError, r"k has shape \(3, 5\), .*H=40", {"channels_last": True}),
                (ValueError, "method 'fftw', must be one of definition, kernel", {"method": "fftw"})):
            with self.assertRaisesRegex(error, words):
                danaus.short_conv(**{"u": u, "k": k, "bias": bias, **changed})


class SsmConv(unittest.TestCase):
    def operands(self, dtype=np.float16, states=3, length=80):
        random = np.random.default_rng(1)
        a = 0.9 * np.exp(1j * random.uniform(0, 3, (2, states)))
        b, c = random.standard_normal((2, 2, states, 2)) @ [1, 1j]
        of_states = np.complex128 if dtype == np.float64 else np.complex64
        return (random.standard_normal((3, 2, length)).astype(dtype), *(x.astype(of_states) for x in (a, b, c)))

    def test_is_the_convolution_by_its_filter(self):
        for dtype, rounding in UNIT_ROUNDOFF.items():
            u, a, b, c = self.operands(dtype)
            k = (c[..., None] * a[..., None].astype(complex)**np.arange(80) * b[..., None]).sum(1).real
            truth = direct(u, k, "causal")
            y = danaus.ssm_conv(u, a, b, c)
            self.assertEqual((y.dtype, y.shape), (u.dtype, u.shape))
            self.assertLess(relative(y, truth), rounding if dtype != np.float64 else 1e-14)
        u, a, b, c = self.operands()
        self.assertLess(relative(danaus.ssm_conv(u, a, b, c, method="kernel"), direct(u, k, "causal")), 4e-3)
        np.testing.assert_array_equal(danaus.ssm_conv(u[0], *(x.view(np.float32).reshape(2, 3, 2) for x in (a, b, c))),
                                      danaus.ssm_conv(u, a, b, c)[0])

    def test_a_sequence_may_be_cut(self):
        for method in ("definition", "kernel"):
            u, a, b, c = self.operands()
            y, x = danaus.ssm_conv(u, a, b, c, return_state=True, method=method)
            first, between = danaus.ssm_conv(u[..., :64], a, b, c, return_state=True, method=method)
            second, end = danaus.ssm_conv(u[..., 64:], a, b, c, between, return_state=True, method=method)
            self.assertEqual((x.shape, x.dtype), ((3, 2, 3), np.complex64))
            self.assertLess(relative(np.concatenate([first, second], -1), y), 1e-3)
            self.assertLess(relative(end.view(np.float32), x.view(np.float32)), 1e-3)

    def test_results_are_judged(self):
        u, a, b, c = self.operands()
        for method in ("definition", "kernel"):
            y, x, error = danaus.ssm_conv(u, a, b, c, return_state=True, method=method, return_error=True)
            self.assertEqual((error["status"], error["truth"]), ("passed", "direct"))
            self.assertLess(error["row"]["error"], error["row"]["bound"])
            self.assertEqual(danaus.ssm_conv(u, a, b, c, method=method, return_error=True)[1]["status"], "passed")
        plan = danaus.Plan("spectral_f16_b2_c3x4_l32_m8")
        rng = np.random.default_rng(0)
        field = rng.standard_normal((2, 3, 32)).astype(np.float16)
        weights = rng.standard_normal((3, 4, 8, 2)).astype(np.float32)
        plan.prepare(w=weights)
        y = plan.execute(u=field)
        self.assertEqual(plan.judge(u=field, w=weights, y=y)["status"], "passed")
        y[1, 2] *= np.float16(1.02)
        wrong = plan.judge(u=field, w=weights, y=y)
        self.assertEqual((wrong["status"], wrong["row"]["place"]), ("failed", "b=1, c=2"))
        with self.assertRaisesRegex(ValueError, "has a y, but none is given"):
            plan.judge(u=field, w=weights)

    def test_what_is_refused(self):
        u, a, b, c = self.operands()
        for error, words, call in (
                (ValueError, r"\|A\|=1.8 .*at most 1; 'unstable'", lambda: danaus.ssm_conv(u, 2 * a, b, c)),
                (ValueError, r"b has shape \(2, 2\), must be \(2, 3\) of complex",
                 lambda: danaus.ssm_conv(u, a, b[:, :2], c)),
                (ValueError, r"a has shape \(3,\), must be \[H, S\]", lambda: danaus.ssm_conv(u, a[0], b, c)),
                (TypeError, "c is complex128, with u of float16 it must be complex64 or float32",
                 lambda: danaus.ssm_conv(u, a, b, c.astype(complex))),
                (TypeError, "x_initial is a list", lambda: danaus.ssm_conv(u, a, b, c, [0])),
                (ValueError, "no kernel has f32 samples",
                 lambda: danaus.ssm_conv(u.astype(np.float32), a, b, c, method="kernel"))):
            with self.assertRaisesRegex(error, words):
                call()
        self.assertEqual(danaus.ssm_conv(u[..., :4], 2 * a, b, c, unstable=True).shape, (3, 2, 4))


class Plan(unittest.TestCase):
    def test_outputs_have_shapes_and_types_of_their_own(self):
        u, k, _, _ = operands(length=40, taps=5)
        plan = danaus.Plan("shortconvgrad_f16_causal_k5_l40_b2_h3")
        plan.prepare(k=k)
        gradients = plan.execute(u=u, dy=u[:, ::-1].copy())
        self.assertEqual({name: (x.shape, x.dtype) for name, x in gradients.items()},
                         {"du": ((2, 3, 40), np.float16), "dk": ((3, 5), np.float32)})
        one = plan.execute(u=u[:1], dy=u[:1, ::-1].copy())
        self.assertEqual(one["du"].shape, (1, 3, 40))
        np.testing.assert_array_equal(one["du"], gradients["du"][:1])

    def test_one_filter_for_many_calls(self):
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE)
        self.assertEqual(plan.arrays, {"u": ("float16", (2, 3, 256)), "k": ("float32", (3, 256)),
                                       "y": ("float16", (2, 3, 256))})
        self.assertIn(plan.kernel, plan.description)
        self.assertGreaterEqual(plan.bytes()["prepared"], 4 * 3 * 256)
        with self.assertRaisesRegex(ValueError, "has no filter yet"):
            plan.execute(u=u)
        plan.prepare(k=k)
        np.testing.assert_array_equal(plan.execute(u=u), danaus.conv(u, k, method="kernel"))
        np.testing.assert_array_equal(plan.execute(u=u[:1]), plan.execute(u=u)[:1])  # fewer rows
        y = np.empty_like(u)
        self.assertIs(plan.execute(u=u, y=y), y)
        plan.prepare(k=-k)
        np.testing.assert_array_equal(plan.execute(u=u), -y)

    def test_a_mask_is_that_of_the_case(self):
        u, k, _, _ = operands()
        token = "fftconv_f16_circular_l256_b2_h3_pair_n256_r16x16_zero8x0"
        plan = danaus.Plan(token)
        plan.prepare(k=k)
        self.assertTrue(0 < plan.kept.sum() < 256)
        self.assertIsNone(danaus.Plan(CASE).kept)
        truth = np.fft.ifft(np.fft.fft(u.astype(float)) * np.fft.fft(k) * plan.kept).real
        self.assertLess(relative(plan.execute(u=u), truth), 3e-3)
        self.assertGreater(relative(direct(u, k, "circular"), truth), 3e-2)  # what is removed shows

    def test_gates_and_bfloat16(self):
        u, k, pregate, postgate = map(to_bits, operands())
        plan = danaus.Plan("fftconv_bf16_causal_l256_kbf16_b2_h3_pregate_postgate")
        plan.prepare(k=k)
        y = plan.execute(u=u, pregate=pregate, postgate=postgate)
        truth = direct(from_bits(u), from_bits(k), "causal", from_bits(pregate), from_bits(postgate))
        self.assertLess(relative(from_bits(y), truth), 1e-2)

    def test_from_many_threads(self):
        # Gradients have a workspace, which a thread must not share.
        u, k, dy, _ = operands(channels=2)
        plan = danaus.Plan("fftconvgrad_f16_causal_l256_b2_h2")
        plan.prepare(k=k)
        given = [{"u": np.roll(u, i, axis=-1), "dy": np.roll(dy, -i, axis=-1)} for i in range(8)]
        expected, results = [plan.execute(**arrays) for arrays in given], [None] * 8

        def work(i):
            results[i] = plan.execute(**given[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for made, right in zip(results, expected):
            for name in right:
                np.testing.assert_array_equal(made[name], right[name])

    def test_rows_are_slices_of_a_larger_array(self):
        u, k, pregate, _ = operands()
        plan = danaus.Plan(CASE + "_pregate")
        plan.prepare(k=k)
        expected = plan.execute(u=u, pregate=pregate)
        z = np.concatenate([pregate, u], axis=1)  # [B, 2 H, L]
        wide = np.full((2, 3, 264), np.nan, np.float16)
        y = plan.execute(u=z[:, 3:], pregate=z[:, :3], y=wide[..., :256])
        np.testing.assert_array_equal(y, expected)
        self.assertTrue(np.isnan(wide[..., 256:]).all())
        self.assertEqual(plan.judge(u=z[:, 3:], k=k, pregate=z[:, :3], y=y)["status"], "passed")
        channels_between = np.stack([u, pregate], axis=2)  # [B, H, 2, L]
        np.testing.assert_array_equal(
            plan.execute(u=channels_between[:, :, 0], pregate=channels_between[:, :, 1]), expected)
        for wrong, words in ((z[:, 3:][..., ::-1], "contiguous"), (z[:, 3:][::-1], "one after the other"),
                             (z[:, 2::-1], "one after the other"), (u.swapaxes(1, 2).copy().swapaxes(1, 2), "strides")):
            with self.assertRaisesRegex(ValueError, words):
                plan.execute(u=wrong, pregate=pregate)
        with self.assertRaisesRegex(ValueError, "y overlaps u"):
            plan.execute(u=z[:, 3:], pregate=pregate, y=z[:, 2:5])

    def test_outputs_between_rows_of_inputs(self):
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE)
        plan.prepare(k=k)
        z = np.concatenate([u, np.zeros_like(u)], axis=1)
        plan.execute(u=z[:, :3], y=z[:, 3:])
        np.testing.assert_array_equal(z[:, 3:], plan.execute(u=u))

    def test_batches_of_several_sizes_are_refused(self):
        u, k, _, _ = operands(batch=4)
        plan = danaus.Plan(CASE.replace("b2", "b4"))
        plan.prepare(k=k)
        z, y = np.concatenate([u, u], axis=1), np.zeros((4, 6, 256), np.float16)
        for given, made in ((z[:2, :3], y[:, :3]), (z[:, :3], y[:2, :3]), (u[:2], y[:, :3]), (u[:2], np.empty_like(u))):
            for arrays in ({"u": given, "y": made}, {"y": made, "u": given}):
                with self.assertRaisesRegex(ValueError, "arrays have batches of several sizes"):
                    plan.execute(**arrays)
        with self.assertRaisesRegex(ValueError, r"judge: u has shape \(2, 3, 256\), must be \(4, 3, 256\)"):
            plan.judge(u=u[:2], k=k, y=u[:2])
        with self.assertRaisesRegex(TypeError, "stream is a bool"):
            plan.execute(stream=True, u=u)

    def test_what_is_refused(self):
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE)
        plan.prepare(k=k)
        for arrays, error, words in (
                ({"u": u.astype(np.float32)}, TypeError, "u is float32, must be float16"),
                ({"u": u[:, :2].copy()}, ValueError, r"u has shape \(2, 2, 256\), must be \(2, 3, 256\)"),
                ({"u": u[..., ::-1]}, ValueError, "must be contiguous"),
                ({"u": u, "y": u}, ValueError, "y overlaps u"),
                ({"u": u, "pregate": u}, ValueError, "a pregate is given, but the plan has none"),
                ({"u": np.concatenate([u, u])}, ValueError, "batch=4"),
                ({}, ValueError, "none is given"),
                ({"u": u, "stream": "main"}, TypeError, "stream is a str"),
                ({"u": u, "stream": 77}, ValueError, "a CUDA stream is given")):
            with self.assertRaisesRegex(error, words):
                plan.execute(**arrays)
        y = np.empty_like(u)
        y.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "y is read-only"):
            plan.execute(u=u, y=y)
        with self.assertRaisesRegex(ValueError, "unknown field"):
            danaus.Plan("fftconv_f16_causal_l256_b2_h3_x9")
        with self.assertRaisesRegex(ValueError, "'tpu'"):
            danaus.Plan(CASE, "tpu")


class Owner:
    """An array of a library that knows DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        assert stream is None  # which the host has none of
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice:
    """An array of a library that knows CUDA's interface, by default of memory that nothing may touch."""

    def __init__(self, array, strides=None, stream=None, data=4096):
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (data, False),
                                         "strides": strides, "stream": stream, "version": 3}


class OthersArrays(unittest.TestCase):
    def test_by_dlpack(self):
        u, k, _, _ = operands()
        y = np.empty_like(u)
        danaus.conv(Owner(u), Owner(k), out=Owner(y))
        np.testing.assert_array_equal(y, danaus.conv(u, k))
        with self.assertRaisesRegex(TypeError, "give out="):
            danaus.conv(Owner(u), k)
        with self.assertRaisesRegex(ValueError, "must be contiguous"):
            danaus.conv(Owner(u[..., ::2]), k, out=y)
        with self.assertRaisesRegex(TypeError, "conv: u is int64, must be one of .*; convert it"):
            danaus.conv(Owner(u.astype(np.int64)), k, out=y)

    def test_what_gives_no_memory(self):
        u, k, _, _ = operands()
        for error, words, changed in (
                (ValueError, "conv: u is on a device of DLPack's kind 10", {"__dlpack_device__": lambda self: (10, 0)}),
                (ValueError, "conv: u, a Other, does not give its memory: busy",
                 {"__dlpack__": mock.Mock(side_effect=BufferError("busy"))}),
                (ValueError, "conv: u gives a NoneType for its memory", {"__dlpack__": lambda self: None})):
            with self.assertRaisesRegex(error, words):
                danaus.conv(type("Other", (Owner,), changed)(u), k, out=np.empty_like(u))

    def test_what_was_taken_is_given_back(self):
        u, k, _, _ = operands()
        before = sys.getrefcount(u)
        for _ in range(3):
            danaus.conv(Owner(u), k, out=np.empty_like(u))
        gc.collect()
        self.assertEqual(sys.getrefcount(u), before)

    def test_of_a_device(self):
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE)
        plan.prepare(k=k)
        with self.assertRaisesRegex(ValueError, "u is on CUDA device 0, the plan is for the CPU"):
            plan.execute(u=OnDevice(u), y=np.empty_like(u))
        with self.assertRaisesRegex(ValueError, "must be contiguous"):
            plan.execute(u=OnDevice(u, strides=(2, 4, 12)), y=np.empty_like(u))
        for dtype, word in ((np.int64, "int64"), (">f2", ">f2")):
            with self.assertRaisesRegex(TypeError, word):
                plan.execute(u=OnDevice(u.astype(dtype)), y=np.empty_like(u))
        with self.assertRaisesRegex(ValueError, "u is on CUDA device 0, device is 'cpu'"):
            danaus.conv(OnDevice(u), k, device="cpu")
        with self.assertRaisesRegex(ValueError, "out and u are on different devices"):
            danaus.conv(OnDevice(u), k, out=np.empty_like(u))


class PretendedDevice:
    """The library with a device whose memory is the host's, and whose plans the executor runs."""

    def __init__(self, library):
        self.library, self.memory = library, {}

    def __getattr__(self, name):
        return getattr(self.library, name)

    def danaus_plan_create(self, token, device, kept, count, plan):
        return self.library.danaus_plan_create_on_executor(token, plan)

    def danaus_allocate(self, device, size, pointer):
        buffer = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(buffer)] = buffer
        pointer._obj.value = ctypes.addressof(buffer)
        return 0

    def danaus_copy_to_device(self, device, to, of, size):
        ctypes.memmove(to, of, size)
        return 0

    danaus_copy_to_host = danaus_copy_to_device


class PathOfGpu(unittest.TestCase):
    def setUp(self):
        self.device = PretendedDevice(_operands.library)
        for module in (_operands, plans):
            patch = mock.patch.object(module, "library", self.device)
            patch.start()
            self.addCleanup(patch.stop)

    def test_there_and_back(self):
        u, k, pregate, postgate = operands()
        expected = danaus.conv(u, k, "causal", pregate, postgate, method="kernel")
        for operand in (u, u[:, ::-1]):
            y, error = danaus.conv(operand, k, "causal", pregate, postgate, device="cuda:1", return_error=True)
            self.assertEqual(error["status"], "passed")
        np.testing.assert_array_equal(danaus.conv(u, k, "causal", pregate, postgate, device=1), expected)
        self.assertGreaterEqual(len(self.device.memory), 4)
        short = (u, k[:, :5].copy(), None, "same", pregate)
        np.testing.assert_array_equal(danaus.short_conv(*short, device="cuda"),
                                      danaus.short_conv(*short, method="kernel"))
        states = np.full((3, 2), 0.5 + 0.5j, np.complex64)
        for here, there in zip(*(danaus.ssm_conv(u, states, states, states, return_state=True, **options)
                                 for options in ({"method": "kernel"}, {"device": "cuda"}))):
            np.testing.assert_array_equal(here, there)
        with self.assertRaisesRegex(ValueError, "must be one of kernel on a GPU"):
            danaus.conv(u, k, device="cuda", method="fftw")

    def test_arrays_of_the_device(self):
        u, k, _, _ = operands()
        y = np.empty_like(u)
        on_device = [OnDevice(array, data=array.ctypes.data) for array in (u, k, y)]
        result, error = danaus.conv(*on_device[:2], out=on_device[2], return_error=True)
        self.assertIs(result, on_device[2])
        self.assertEqual(error["status"], "passed")
        np.testing.assert_array_equal(y, danaus.conv(u, k, method="kernel"))
        with self.assertRaisesRegex(ValueError, "k is on CUDA device 0, u is on the CPU"):
            danaus.conv(u, on_device[1])
        with self.assertRaisesRegex(ValueError, "must be .H, K., H=3"):
            danaus.conv(on_device[0], OnDevice(k[0]))

    def test_the_stream_is_the_owners_or_the_callers(self):
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE, "cuda")
        plan.prepare(k=k)

        def on(stream):
            return OnDevice(u, stream=stream, data=u.ctypes.data)

        y = np.empty_like(u)
        plan.execute(u=on(1), y=y)  # the default one; any other the executor refuses
        for stream, of in ((None, 77), (77, None), (mock.Mock(spec=["ptr"], ptr=77), 1),
                           (mock.Mock(spec=["cuda_stream"], cuda_stream=77), None)):
            with self.assertRaisesRegex(ValueError, "a CUDA stream is given"):
                plan.execute(u=on(of), y=y, stream=stream)
        with self.assertRaisesRegex(ValueError, "on 2 streams"):
            plan.execute(u=on(7), y=OnDevice(y, stream=8, data=y.ctypes.data))


if __name__ == "__main__":
    unittest.main()

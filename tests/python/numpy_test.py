"""danaus.conv and danaus.Plan on NumPy arrays and on arrays of other libraries, against the defining sum."""

import ctypes
import gc
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import danaus
from danaus import convolution, plans
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
        self.assertAlmostEqual(good["bound"], UNIT_ROUNDOFF[y.dtype], delta=1e-9)  # of one rounding
        asked = convolution._Operands(u, k, "causal", None, None, None)
        for wrong in (1.01 * y, -y, 0 * y, np.roll(y, 1, -1)):
            stated = convolution._judged(asked, "fftw", None, asked.target(wrong.astype(np.float16)))
            self.assertEqual(stated["status"], "failed")
        u[0, 0, 0] = np.nan
        _, nonfinite = danaus.conv(u, k, return_error=True)
        self.assertEqual(nonfinite["status"], "skipped")

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
        self.refused(ValueError, "pregate has shape (1, 3, 256)", pregate=pregate[:1])
        self.refused(TypeError, "pregate is float32", pregate=pregate.astype(np.float32))
        self.refused(ValueError, "out", "(2, 3, 256)", out=np.empty((2, 3, 255), np.float16))
        self.refused(TypeError, "out is float32", out=np.empty((2, 3, 256), np.float32))
        self.refused(ValueError, "strides", out=np.empty((2, 3, 512), np.float16)[..., ::2])
        self.refused(ValueError, "'gpu'", device="gpu")
        self.refused(ValueError, "L=0", u=u[..., :0], pregate=None)
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


class Plan(unittest.TestCase):
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
        u, k, _, _ = operands()
        plan = danaus.Plan(CASE)
        plan.prepare(k=k)
        expected, results = plan.execute(u=u), [None] * 8

        def work(i):
            results[i] = plan.execute(u=u)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y in results:
            np.testing.assert_array_equal(y, expected)

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
                ({"u": u[:0]}, ValueError, "0 samples"),
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
        with self.assertRaisesRegex(TypeError, "DLPack's type 0 of 64 bits"):
            danaus.conv(Owner(u.astype(np.int64)), k, out=y)

    def test_what_gives_no_memory(self):
        u, k, _, _ = operands()
        for error, words, changed in (
                (ValueError, "conv: u is on a device of DLPack's kind 10", {"__dlpack_device__": lambda self: (10, 0)}),
                (ValueError, "conv: u, a Other, does not give its memory: busy",
                 {"__dlpack__": mock.Mock(side_effect=BufferError("busy"))}),
                (ValueError, "PyCapsule", {"__dlpack__": lambda self: None})):
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
        with self.assertRaisesRegex(TypeError, "int64"):
            plan.execute(u=OnDevice(u.astype(np.int64)), y=np.empty_like(u))
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
        self.device = PretendedDevice(convolution.library)
        for module in (convolution, plans):
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

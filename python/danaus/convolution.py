"""One convolution of arrays, with its error where it is asked for: of long filters, and of short ones."""

import re
from ctypes import byref, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import arrays_of, check, encoded, library, text_of
from danaus._operands import Operands

MODES = ("causal", "circular")
PADDINGS = ("causal", "same")
_IN_DOUBLE = ("fftw", "monarch", "direct")
# Words of a token that say what a mask removes, and what it is laid out by.
_MASKING = re.compile(r"(zero|keep|blocks)\w.*|n\d+|r\d+(x\d+)*|plain|pair|half|rightangle")


def conv(u, k, mode="causal", pregate=None, postgate=None, *, mask=None, method=None, device=None, dtype=None, out=None,
         return_error=False):
    """y = postgate * conv(pregate * u, k), of the shape and type of u.

    u          [L], [H, L] or [B, H, L]: float16, bfloat16 (ml_dtypes', or its bits as uint16 with dtype="bfloat16"),
               float32 or float64. Of NumPy, or of any library with DLPack or __cuda_array_interface__; then y is of
               that library too. B = 0 and H = 0 give an empty y.
    gates      of the type and shape of u, or broadcast to its shape as in NumPy, after one row of u is as many as k.
    k          [K] or [1, K], the same filter for every channel, or [H, K]: of the type of u, or float32 where that has
               16 bits. One row [L], [1, L] or [B, 1, L] goes with several filters: y then has a row for each.
               k[0] multiplies the current sample. Samples beyond L are cut (causal) or wrap (circular).
    mode       "causal": y[n] = sum of k[m] u[n - m] over m <= n; "circular": over all m, indices modulo L.
    mask       removes part of the filters' spectrum: [N] of True where a frequency stays, its own mirror image; a row
               of danaus.explore; or words of a token, as "pair_n256_r16x16_zero8x0". N is L of a circular convolution,
               of a causal one at least L + K - 1.
    method     "fftw" (default on the CPU), "direct" or "monarch": computed in double and rounded once; "kernel": the
               fused kernel, float16 and bfloat16 alone: on a GPU, or executed on the CPU, rounding by rounding, slowly.
               All but "direct" are by transforms, whose error is small by norm: 1e-16 (kernels 1e-3 to 9e-3) of the
               whole row's, so that samples much smaller than the largest may be wrong, and one NaN or infinity spreads
               over the row, with a RuntimeWarning. "direct" sums each sample by itself: it is right in each. By
               "monarch" two rows of a circular convolution share a transform: errors are relative to the louder one,
               and a NaN spreads over both.
    device     "cpu", "cuda" or "cuda:N" (default: where u is); arrays of the CPU are copied to a GPU and back.
    out        a contiguous array for y.

    With return_error (y, error), error a dict: rel_l2, the relative L2 error of all rows against the truth in double;
    bound, which it must not exceed; row, the worst row by itself: its place ("b=1, h=2"), its error relative to |u| |k|
    of the row, bound and clearance; clearance, the largest share of its bound that an error takes, of all rows and of
    each row; status, "passed" or "failed"; truth, the method that the truth is by. Rows that read NaN or infinity must
    show it, and the others are judged; status is "skipped", with a reason, where every row does or the batch is empty.
    Where y overflows its type, an infinity is right where its truth overflows too; reason counts both.

    It makes a plan, executes it and waits: for many calls danaus.Plan, for training danaus.torch.
    Raises ValueError or TypeError for what is wrong with an argument, danaus.NoDevice without the GPU.
    """
    operands, token = _long(u, k, mode, pregate, postgate, mask, dtype)
    return operands.call(token, _IN_DOUBLE, method, device, out, return_error)


def short_conv(u, k, bias=None, padding="causal", pregate=None, postgate=None, *, channels_last=False, method=None,
               device=None, dtype=None, out=None, return_error=False):
    """y = postgate * (conv(pregate * u, k) + bias), of the shape and type of u, by a filter of 1 to 256 taps.

    u, gates   [L], [H, L] or [B, H, L], with channels_last [L, H] or [B, L, H]: of types as of danaus.conv. Gates
               broadcast to the shape of u.
    k          [K], [1, K] or [H, K], as of danaus.conv, float32 or of the type of u. Samples outside of 0 to L - 1 are
               zero.
    bias       [H] or [1], of the type of k.
    padding    "causal": y[n] = sum of k[m] u[n - m]; "same": of k[m] u[n + K // 2 - m], centred. PyTorch's weights are
               k from its end on: k = weight[:, 0, ::-1].
    method     "definition" (default on the CPU): the sum in double, rounded once; "kernel": as of danaus.conv,
               float16 and bfloat16 alone.

    The other arguments, return_error and what is raised are as of danaus.conv.
    """
    if padding not in PADDINGS:
        raise ValueError(f"short_conv: padding {padding!r}, must be one of {', '.join(PADDINGS)}")
    operands = Operands("short_conv", u, dtype, bool(channels_last))
    filters = operands.add_filter(k)
    if filters.shape[1] == 1:
        filters, padding = operands.pad_one_tap(), "causal"  # as any other of one tap
    words = ["shortconv", operands.u.dtype, padding, f"k{filters.shape[1]}"]
    if operands.u.dtype in ("f16", "bf16") and filters.dtype != "f32":
        words.append(f"k{filters.dtype}")
    words += operands.size_words()
    if bias is not None:
        operands.add_bias(bias, filters)
        words.append("bias")
    operands.add_gates(pregate=pregate, postgate=postgate)
    token = "_".join(words + operands.gate_words() + ["channelslast"] * bool(channels_last))
    return operands.call(token, ("definition",), method, device, out, return_error)


def _long(u, k, mode, pregate, postgate, mask, dtype):
    """Operands of conv(), and the token of their case."""
    if mode not in MODES:
        raise ValueError(f"conv: mode {mode!r}, must be one of {', '.join(MODES)}")
    operands = Operands("conv", u, dtype)
    filters = operands.add_filter(k)
    operands.add_gates(pregate=pregate, postgate=postgate)
    words = ["fftconv", operands.u.dtype, mode, f"l{operands.length}"]
    if filters.shape[1] != operands.length:
        words.append(f"k{filters.shape[1]}")
    if operands.u.dtype in ("f16", "bf16") and filters.dtype != "f32":
        words.append(f"k{filters.dtype}")
    words += [*operands.size_words()[1:], *operands.gate_words()]
    if mode == "causal" and mask is None:
        operands.taps = operands.length
    return operands, _masked("_".join(words), mask)


def _masked(token, mask):
    """The case under a mask, which is None for none."""
    if mask is None:
        return token
    if isinstance(mask, dict):
        mask = mask.get("case", "")
    if isinstance(mask, str):
        words, others = [], []
        for word in mask.split("_"):
            (words if _MASKING.fullmatch(word) else others).append(word)
        if others and not mask.startswith("fftconv"):
            raise ValueError(f"conv: mask {mask!r}, {others[0]!r} is no word of a mask")
        if others:
            arrays_of(encoded("conv", "mask", mask).decode())  # which refuses what is no token
        if not any(word.startswith(("zero", "keep", "blocks")) for word in words):
            raise ValueError(f"conv: mask {mask!r}, must have a word of a token that begins with zero, keep or blocks")
        return "_".join([token, *words])
    _arrays.refuse_masked("conv", "mask", mask)
    kept = np.asarray(mask)
    if kept.ndim != 1 or kept.dtype.kind not in "biuf":
        raise ValueError(f"conv: mask is {kept.dtype} {kept.shape}, must be [N] of True and False, a row of "
                         "danaus.explore or words of a token")
    kept = np.ascontiguousarray(kept, np.float64)
    masked = c_void_p()
    check(library.danaus_case_masked(token.encode(), kept.ctypes.data_as(c_void_p), kept.size, byref(masked)))
    return text_of(masked)

"""One convolution of arrays, with its error where it is asked for."""

import json
from ctypes import byref, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import check, library, text_of
from danaus.plans import Plan, call_arrays, ordinal_of

MODES = ("causal", "circular")
METHODS = ("fftw", "monarch", "direct", "kernel")


def conv(u, k, mode="causal", pregate=None, postgate=None, *, method=None, device=None, dtype=None, out=None,
         return_error=False):
    """y = postgate * conv(pregate * u, k), of the shape and type of u.

    u, gates   [L], [H, L] or [B, H, L], all alike: float16, bfloat16 (ml_dtypes', or its bits as uint16 with
               dtype="bfloat16"), float32 or float64. Of NumPy, or of any library with DLPack or
               __cuda_array_interface__; then y is of that library too.
    k          [K], the same filter for every channel, or [H, K]: of the type of u, or float32 where that has 16 bits.
               k[0] multiplies the current sample. Samples beyond L are cut (causal) or wrap (circular).
    mode       "causal": y[n] = sum of k[m] u[n - m] over m <= n; "circular": over all m, indices modulo L.
    method     "fftw" (default on the CPU), "direct" or "monarch": computed in double and rounded once; "kernel": the
               fused kernel, float16 and bfloat16 alone: on a GPU, or executed on the CPU, rounding by rounding, slowly.
    device     "cpu", "cuda" or "cuda:N" (default: where u is); arrays of the CPU are copied to a GPU and back.
    out        a contiguous array for y.

    With return_error (y, error), error a dict: rel_l2, the relative L2 error against the truth in double; bound, which
    it must not exceed; clearance, the share of its bound that the worst of its errors takes; status, "passed" or
    "failed"; truth, the method that the truth is by. status is "skipped" where values are not finite.

    It makes a plan, executes it and waits: for many calls danaus.Plan, for training danaus.torch.
    Raises ValueError or TypeError for what is wrong with an argument, danaus.NoDevice without the GPU.
    """
    operands = _Operands(u, k, mode, pregate, postgate, dtype)
    ordinal = operands.device if device is None else ordinal_of("conv", device)
    if operands.device not in (None, ordinal):
        raise ValueError(f"conv: u is on CUDA device {operands.device}, device is {device!r}; leave it out")
    known = METHODS if ordinal is None else ("kernel",)
    if method is None:
        method = known[0]
    if method not in known:
        raise ValueError(f"conv: method {method!r}, must be one of {', '.join(known)} on "
                         f"{'the CPU' if ordinal is None else 'a GPU'}")
    y = _arrays.empty_like("conv", u) if out is None else out
    target = operands.target(y)
    plan = None
    if method == "kernel":
        plan = Plan(operands.token, "cpu" if ordinal is None else ordinal)
        _by_plan(plan, operands, target)
    else:
        _in_double(operands, method, target)
    return (y, _judged(operands, method, plan, target)) if return_error else y


class _Operands:
    """u, k and gates as views that go together, and the token of their case."""

    def __init__(self, u, k, mode, pregate, postgate, dtype):
        if mode not in MODES:
            raise ValueError(f"conv: mode {mode!r}, must be one of {', '.join(MODES)}")
        if dtype not in (None, "bfloat16"):
            raise ValueError(f"conv: dtype {dtype!r}, must be \"bfloat16\", as what uint16 are taken, or left out")
        self.dtype_of_bits = dtype
        self.u = _arrays.view("conv", "u", u, dtype)
        if not 1 <= len(self.u.shape) <= 3:
            raise ValueError(f"conv: u has shape {self.u.shape}, must be [L], [H, L] or [B, H, L]")
        self.device = self.u.device
        self.batch, self.channels, self.length = (1,) * (3 - len(self.u.shape)) + self.u.shape
        self.k = self._filter(k)
        self.gates = []
        for name, gate in (("pregate", pregate), ("postgate", postgate)):
            if gate is not None:
                self.gates.append(_arrays.view("conv", name, gate, dtype))
                self._require_like_u(self.gates[-1])
        self.token = self._token(mode)

    def _filter(self, k):
        view = _arrays.view("conv", "k", k, self.dtype_of_bits)
        if len(view.shape) == 1:
            if view.device is not None and self.channels > 1:
                raise ValueError(f"conv: k has shape {view.shape}, on a GPU must be [H, K], H={self.channels} as in u")
            if self.channels > 1:
                view = _arrays.view("conv", "k", np.repeat(view.numpy()[None], self.channels, 0),
                                    "bfloat16" if view.dtype == "bf16" else None)
            else:
                view.shape = (1, *view.shape)
        if len(view.shape) != 2 or view.shape[0] != self.channels:
            raise ValueError(f"conv: k has shape {view.shape}, must be [K] or [H, K], H={self.channels} as in u "
                             f"{self.u.shape}")
        sixteen = self.u.dtype in ("f16", "bf16")
        if view.dtype != self.u.dtype and not (sixteen and view.dtype == "f32"):
            of = _arrays.NAMES
            raise TypeError(f"conv: k is {of[view.dtype]}, with u of {of[self.u.dtype]} it must be "
                            f"{'float32 or ' if sixteen else ''}{of[self.u.dtype]}")
        if view.device not in (None, self.device):
            raise ValueError(f"conv: k is on CUDA device {view.device}, u is on "
                             f"{'the CPU' if self.device is None else self.device}")
        return view

    def _require_like_u(self, view):
        if view.shape != self.u.shape:
            raise ValueError(f"conv: {view.name} has shape {view.shape}, must be {self.u.shape} as u")
        if view.dtype != self.u.dtype:
            raise TypeError(f"conv: {view.name} is {_arrays.NAMES[view.dtype]}, must be "
                            f"{_arrays.NAMES[self.u.dtype]} as u")
        if view.device != self.device:
            raise ValueError(f"conv: {view.name} and u are on different devices")

    def _token(self, mode):
        words = ["fftconv", self.u.dtype, mode, f"l{self.length}"]
        if self.k.shape[1] != self.length:
            words.append(f"k{self.k.shape[1]}")
        if self.u.dtype in ("f16", "bf16") and self.k.dtype != "f32":
            words.append(f"k{self.k.dtype}")
        words += [f"b{self.batch}", f"h{self.channels}", *[gate.name for gate in self.gates]]
        return "_".join(words)

    def target(self, y):
        """A view of the array that y goes to, named as in the case."""
        view = _arrays.view("conv", "out", y, self.dtype_of_bits, copy=False)
        self._require_like_u(view)
        if view.readonly:
            raise ValueError("conv: out is read-only")
        view.name = "y"
        return view

    def doubles(self):
        """Every input as doubles of the host, by name."""
        return {view.name: _arrays.doubles(_of_host(view), view.dtype) for view in (self.u, *self.gates, self.k)}


class _DeviceMemory:
    """Memory of a device; a copy of an array of the host, or as much room."""

    def __init__(self, ordinal, view, copy):
        self._pointer = c_void_p()
        check(library.danaus_allocate(ordinal, view.bytes, byref(self._pointer)))
        self.view = _arrays.View(view.name, self._pointer.value, view.dtype, view.shape, ordinal, self)
        if copy:
            check(library.danaus_copy_to_device(ordinal, self._pointer, view.data, view.bytes))

    def __del__(self, free=library.danaus_free):
        if self._pointer:
            free(self._pointer)


def _of_host(view):
    """The samples of a view as an array of the host; bits of bfloat16. Waits for the device."""
    if view.device is None:
        return view.numpy()
    copy = np.empty(view.bytes, np.uint8)
    check(library.danaus_copy_to_host(view.device, copy.ctypes.data, view.data, view.bytes))
    return _arrays.View(view.name, copy.ctypes.data, view.dtype, view.shape, None, copy).numpy().copy()


def _in_double(operands, method, target):
    values = operands.doubles()
    values["y"] = np.empty(target.shape)
    views = [_arrays.view("conv", name, array) for name, array in values.items()]
    check(library.danaus_convolve(operands.token.encode(), method.encode(), call_arrays(views), len(views)))
    target.numpy()[...] = _arrays.from_doubles(values["y"], target.dtype)


def _by_plan(plan, operands, target):
    inputs = [operands.u, *operands.gates]
    kept = []
    if plan.device is not None and operands.device is None:
        kept = [_DeviceMemory(plan.device, view, copy=True) for view in inputs]
        kept.append(_DeviceMemory(plan.device, target, copy=False))
        inputs, on_device = [memory.view for memory in kept[:-1]], kept[-1].view
    else:
        on_device = target
    plan._call("whole_call", [*inputs, operands.k, on_device])
    if plan.device is not None:  # a plan must outlive its calls: a copy, of one byte at least, waits for the device
        one = np.empty(1, np.uint8)
        to, count = (target.data, target.bytes) if kept else (one.ctypes.data, 1)
        check(library.danaus_copy_to_host(plan.device, to, on_device.data, count))


def _judged(operands, method, plan, target):
    values = operands.doubles()
    values["y"] = _arrays.doubles(_of_host(target), target.dtype)
    views = [_arrays.view("conv", name, array) for name, array in values.items()]
    verdict = c_void_p()
    check(library.danaus_judge(operands.token.encode(), method.encode(), plan.handle if plan else None,
                               call_arrays(views), len(views), byref(verdict)))
    return json.loads(text_of(verdict))

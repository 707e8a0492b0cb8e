"""What one call of a case is given: views of arrays that go together, computed in double or by a plan, and judged."""

import json
from ctypes import byref, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import check, library, text_of
from danaus.plans import Plan, call_arrays, ordinal_of

_SHAPES = {False: "[L], [H, L] or [B, H, L]", True: "[L, H] or [B, L, H]"}  # of u, by whether channels are last


class Operands:
    """u first; what is added must be as u is. operation stands before every message."""

    def __init__(self, operation, u, dtype, channels_last=False):
        if dtype not in (None, "bfloat16"):
            raise ValueError(f"{operation}: dtype {dtype!r}, must be \"bfloat16\", as what uint16 are taken, or left "
                             "out")
        self.operation, self._dtype_of_bits, self._given = operation, dtype, u
        self.u = self.view("u", u)
        self.device, rank = self.u.device, len(self.u.shape)
        if not 1 + channels_last <= rank <= 3:
            raise ValueError(f"{operation}: u has shape {self.u.shape}, must be {_SHAPES[channels_last]}")
        self.batch, *extents = (1,) * (3 - rank) + self.u.shape
        self.channels, self.length = reversed(extents) if channels_last else extents
        self.inputs, self.filters, self.outputs = [self.u], [], []

    def view(self, name, array, copy=True):
        return _arrays.view(self.operation, name, array, self._dtype_of_bits, copy)

    def add_gates(self, **gates):
        """Those that are not None."""
        for name, gate in gates.items():
            if gate is not None:
                view = self.view(name, gate)
                self._require_like_u(view)
                self.inputs.append(view)

    def gate_words(self):
        return [view.name for view in self.inputs if view.name in ("pregate", "postgate")]

    def add_filter(self, k):
        """k [K], the same for every channel, or [H, K]."""
        view = self.view("k", k)
        if len(view.shape) == 1 and self.channels == 1:
            view.shape = (1, *view.shape)
        elif len(view.shape) == 1 and view.device is not None:
            self.refuse(view, f"on a GPU must be [H, K], H={self.channels} as in u")
        elif len(view.shape) == 1:
            view = _arrays.view(self.operation, "k", np.repeat(view.numpy()[None], self.channels, 0),
                                "bfloat16" if view.dtype == "bf16" else None)
        if len(view.shape) != 2 or view.shape[0] != self.channels:
            self.refuse(view, f"must be [K] or [H, K], H={self.channels} as in u {self.u.shape}")
        sixteen = self.u.dtype in ("f16", "bf16")
        if view.dtype != self.u.dtype and not (sixteen and view.dtype == "f32"):
            self.refuse_type(view, f"with u of {_arrays.NAMES[self.u.dtype]} it must be "
                                   f"{'float32 or ' if sixteen else ''}{_arrays.NAMES[self.u.dtype]}")
        self._require_near(view)
        self.filters.append(view)
        return view

    def add_bias(self, bias, filters):
        """[H], of the type of the filters."""
        view = self.view("bias", bias)
        if view.shape != (self.channels,):
            self.refuse(view, f"must be ({self.channels},), H as in u {self.u.shape}")
        if view.dtype != filters.dtype:
            self.refuse_type(view, f"must be {_arrays.NAMES[filters.dtype]} as k")
        self._require_near(view)
        self.filters.append(view)

    def refuse(self, view, rule):
        raise ValueError(f"{self.operation}: {view.name} has shape {view.shape}, {rule}")

    def refuse_type(self, view, rule):
        raise TypeError(f"{self.operation}: {view.name} is {_arrays.NAMES[view.dtype]}, {rule}")

    def _require_near(self, view):
        """A filter may be of the host."""
        if view.device not in (None, self.device):
            raise ValueError(f"{self.operation}: {view.name} is on CUDA device {view.device}, u is on "
                             f"{'the CPU' if self.device is None else self.device}")

    def _require_like_u(self, view):
        if view.shape != self.u.shape:
            self.refuse(view, f"must be {self.u.shape} as u")
        if view.dtype != self.u.dtype:
            self.refuse_type(view, f"must be {_arrays.NAMES[self.u.dtype]} as u")
        if view.device != self.device:
            raise ValueError(f"{self.operation}: {view.name} and u are on different devices")

    def target(self, y):
        """A view of the array that y goes to, named as in the case."""
        view = self.view("out", y, copy=False)
        self._require_like_u(view)
        if view.readonly:
            raise ValueError(f"{self.operation}: out is read-only")
        view.name = "y"
        return view

    def call(self, token, in_double, method, device, out, return_error=False):
        """y, to which the words of danaus.conv apply; in_double: methods of the CPU besides "kernel"."""
        ordinal = self.device if device is None else ordinal_of(self.operation, device)
        if self.device not in (None, ordinal):
            raise ValueError(f"{self.operation}: u is on CUDA device {self.device}, device is {device!r}; leave it out")
        known = (*in_double, "kernel") if ordinal is None else ("kernel",)
        if method is None:
            method = known[0]
        if method not in known:
            raise ValueError(f"{self.operation}: method {method!r}, must be one of {', '.join(known)} on "
                             f"{'the CPU' if ordinal is None else 'a GPU'}")
        y = _arrays.empty_like(self.operation, self._given) if out is None else out
        self.outputs.insert(0, self.target(y))
        plan = None
        if method == "kernel":
            plan = Plan(token, "cpu" if ordinal is None else ordinal)
            self._by_plan(plan)
        else:
            self._in_double(token, method)
        return (y, self.judged(token, method, plan)) if return_error else y

    def _doubles(self):
        """Every input and filter as doubles of the host, by name."""
        return {view.name: _arrays.doubles(of_host(view), view.dtype) for view in (*self.inputs, *self.filters)}

    def _in_double(self, token, method):
        values = {**self._doubles(), **{view.name: np.empty(view.shape) for view in self.outputs}}
        views = [_arrays.view(self.operation, name, array) for name, array in values.items()]
        check(library.danaus_compute(token.encode(), method.encode(), call_arrays(views), len(views)))
        for view in self.outputs:
            view.numpy()[...] = _arrays.from_doubles(values[view.name], view.dtype)

    def _by_plan(self, plan):
        memory = []

        def placed(view, copy):
            if plan.device is None or view.device is not None:
                return view
            memory.append(_DeviceMemory(plan.device, view, copy))
            return memory[-1].view

        inputs = [placed(view, True) for view in self.inputs]
        outputs = [placed(view, False) for view in self.outputs]
        plan._call("whole_call", [*inputs, *self.filters, *outputs])
        if plan.device is not None:  # a plan must outlive its calls: a copy, of one byte at least, waits for the device
            one = np.empty(1, np.uint8)
            for view, computed in zip(self.outputs, outputs):
                to, count = (one.ctypes.data, 1) if computed is view else (view.data, view.bytes)
                check(library.danaus_copy_to_host(plan.device, to, computed.data, count))

    def judged(self, token, method, plan=None):
        """How far the outputs are from the truth, and how far they may be."""
        values = {**self._doubles(),
                  **{view.name: _arrays.doubles(of_host(view), view.dtype) for view in self.outputs}}
        views = [_arrays.view(self.operation, name, array) for name, array in values.items()]
        verdict = c_void_p()
        check(library.danaus_judge(token.encode(), method.encode(), plan.handle if plan else None, call_arrays(views),
                                   len(views), byref(verdict)))
        return json.loads(text_of(verdict))


class _DeviceMemory:
    """Memory of a device; a copy of an array of the host, or as much room."""

    def __init__(self, ordinal, view, copy):
        self._pointer = c_void_p()
        check(library.danaus_allocate(ordinal, view.bytes, byref(self._pointer)))
        self.view = _arrays.View(view.name, self._pointer.value, view.dtype, view.shape, ordinal, None)
        if copy:
            check(library.danaus_copy_to_device(ordinal, self._pointer, view.data, view.bytes))

    def __del__(self, free=library.danaus_free):
        if self._pointer:
            free(self._pointer)


def of_host(view):
    """The samples of a view as an array of the host; bits of bfloat16. Waits for the device."""
    if view.device is None:
        return view.numpy()
    copy = np.empty(view.bytes, np.uint8)
    check(library.danaus_copy_to_host(view.device, copy.ctypes.data, view.data, view.bytes))
    return _arrays.View(view.name, copy.ctypes.data, view.dtype, view.shape, None, copy).numpy().copy()

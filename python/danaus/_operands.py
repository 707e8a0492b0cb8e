"""What one call of a case is given: views of arrays that go together, computed in double or by a plan, and judged."""

import warnings
from ctypes import byref, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import arrays_of, check, library
from danaus.plans import Plan, call_arrays, of_host, ordinal_of, verdict_on

# Operation -> operands whose NaN or infinity shows beyond the sums that it enters, and how far; but by direct sums.
_SPREADING = {"conv": (("u", "pregate", "k"), "spread over whole rows"),
              "short_conv": (("k",), "spread over whole rows"), "ssm_conv": ((), "")}
_SHAPES = {False: "[L], [H, L] or [B, H, L]", True: "[L, H] or [B, L, H]"}  # of u, by whether channels are last


class Operands:
    """u first; what is added must be as u is. operation stands before every message."""

    def __init__(self, operation, u, dtype, channels_last=False):
        if dtype not in (None, "bfloat16"):
            raise ValueError(f"{operation}: dtype {dtype!r}, must be \"bfloat16\", as what uint16 are taken, or left "
                             "out")
        self.operation, self._dtype_of_bits, self._given = operation, dtype, u
        self.u, self._of_one_row, self._channels_last = self.view("u", u), None, channels_last
        if dtype is not None and self.u.dtype != "bf16":
            self.refuse_type(self.u, f'with dtype="{dtype}" it must be uint16, the bits')
        self.device, rank = self.u.device, len(self.u.shape)
        if not 1 + channels_last <= rank <= 3:
            raise ValueError(f"{operation}: u has shape {self.u.shape}, must be {_SHAPES[channels_last]}")
        self.batch, *extents = (1,) * (3 - rank) + self.u.shape
        self.channels, self.length = reversed(extents) if channels_last else extents
        self.inputs, self.filters, self.outputs = [self.u], [], []
        self.taps = None  # of k that enter y, where the others are cut
        self._is_product = False  # of one tap

    def view(self, name, array, copy=True):
        return _arrays.view(self.operation, name, array, self._dtype_of_bits, copy)

    def size_words(self):
        """Of a token, which knows no empty y: call() computes nothing then."""
        return [f"l{self.length}", f"b{max(1, self.batch)}", f"h{max(1, self.channels)}"]

    def add_gates(self, **gates):
        """Those that are not None, broadcast to the shape of u; on a GPU they have it."""
        for name, gate in gates.items():
            if gate is not None:
                view = self.view(name, gate)
                if view.device is None and view.shape != self.u.shape and _broadcasts(view.shape, self.u.shape):
                    view = self._spread(view, self.u.shape)
                self._require_like_u(view, " as u, or broadcast to it" if view.device is None else " as u")
                self.inputs.append(view)

    def gate_words(self):
        return [view.name for view in self.inputs if view.name in ("pregate", "postgate")]

    def add_filter(self, k):
        """k [K] or [1, K], the same for every channel, or [H, K], also for one row of u, which is then as many."""
        view = self.view("k", k)
        if len(view.shape) == 1:
            view.shape = (1, *view.shape)
        if len(view.shape) != 2 or (view.shape[0] != self.channels and 1 not in (view.shape[0], self.channels)):
            self.refuse(view, f"must be [K] or [H, K], H={self.channels} as in u {self.u.shape}")
        if view.shape[0] != self.channels and view.device is not None:
            self.refuse(view, f"on a GPU must be [H, K], H={self.channels} as in u")
        if view.shape[0] == 1 != self.channels:
            view = self._spread(view, (self.channels, view.shape[1]))
        self.broadcast(view.shape[0])
        sixteen = self.u.dtype in ("f16", "bf16")
        if view.dtype != self.u.dtype and not (sixteen and view.dtype == "f32"):
            self.refuse_type(view, f"with u of {_arrays.NAMES[self.u.dtype]} it must be "
                                   f"{'float32 or ' if sixteen else ''}{_arrays.NAMES[self.u.dtype]}")
        self._require_near(view)
        self.filters.append(view)
        return view

    def broadcast(self, channels):
        """Makes so many rows of u, where it has one."""
        if channels == self.channels:
            return
        if self.device is not None:
            self.refuse(self.u, f"on a GPU must have {channels} rows, as many as there are filters")
        self._of_one_row, shape = self.u.shape, list(self.u.shape)
        if len(shape) == 1:
            shape.insert(0, 1)
        shape[-1 if self._channels_last else -2] = self.channels = channels
        self.u = self.inputs[0] = self._spread(self.u, tuple(shape))

    def _spread(self, view, shape):
        """A copy of the host under NumPy's broadcasting."""
        return _arrays.view(self.operation, view.name, np.array(np.broadcast_to(view.numpy(), shape), order="C"),
                            "bfloat16" if view.dtype == "bf16" else None)

    def pad_one_tap(self):
        """The filter of one tap with a second, which is zero, as cases and kernels have it."""
        view = self.filters[-1]
        if view.device is not None:
            self.refuse(view, "one tap must be of the host")
        padded = np.zeros((self.channels, 2), view.numpy().dtype)
        padded[:, :1] = view.numpy()
        self.filters[-1] = _arrays.view(self.operation, "k", padded, "bfloat16" if view.dtype == "bf16" else None)
        self._is_product = True
        return self.filters[-1]

    def add_bias(self, bias, filters):
        """[H] or [1], of the type of the filters."""
        view = self.view("bias", bias)
        if view.shape == (1,) and view.device is None:
            view = self._spread(view, (self.channels,))
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

    def _require_like_u(self, view, rule=" as u"):
        if view.shape != self.u.shape:
            self.refuse(view, f"must be {self.u.shape}{rule}")
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
        if out is None:
            shape = None if self._of_one_row is None else self.u.shape
            y = _arrays.empty_like(self.operation, self._given, shape)
        else:
            y = out
        self.outputs.insert(0, self.target(y))
        if 0 in (self.batch, self.channels):
            arrays_of(token)  # which refuses what is wrong of the case
            reason = "the batch is empty" if self.batch == 0 else "there are no channels"
            return (y, {"status": "skipped", "reason": reason}) if return_error else y
        self._warn_of_what_spreads(method, in_double)
        plan = None
        if method == "kernel":
            plan = Plan(token, "cpu" if ordinal is None else ordinal)
            self._by_plan(plan)
        else:
            self._in_double(token, method)
        return (y, self.judged(token, method, plan)) if return_error else y

    def _warn_of_what_spreads(self, method, in_double):
        """Of the host alone."""
        exact = next((name for name in ("direct", "definition") if name in in_double), None)
        if method == exact:
            return
        names, reach = _SPREADING[self.operation]
        for view in (*self.inputs, *self.filters):
            columns = self.taps if view.name == "k" else None
            if view.name in names and view.device is None and not view.is_finite(columns):
                warnings.warn(f"{self.operation}: {view.name} has samples that are NaN or infinite, which {reach} by "
                              f"method={method!r}; method={exact!r} keeps them to the sums that they enter",
                              RuntimeWarning, stacklevel=4)

    def _doubles(self):
        """Every input and filter as doubles of the host, by name."""
        return {view.name: _arrays.doubles(of_host(view), view.dtype) for view in (*self.inputs, *self.filters)}

    def _in_double(self, token, method):
        values = {**self._doubles(), **{view.name: np.empty(view.shape) for view in self.outputs}}
        views = [_arrays.view(self.operation, name, array) for name, array in values.items()]
        if self._is_product:  # the zero beside the tap makes a NaN of an infinity
            values["y"] = self._product(**values)
        else:
            check(library.danaus_compute(token.encode(), method.encode(), call_arrays(views), len(views)))
        for view in self.outputs:
            view.numpy()[...] = _arrays.from_doubles(values[view.name], view.dtype)

    def _product(self, u, k, bias=0.0, pregate=1.0, postgate=1.0, **_):
        last = (lambda x: x) if self._channels_last else (lambda x: np.reshape(x, (-1, 1)))
        return postgate * (u * pregate * last(k[:, 0]) + (last(bias) if np.ndim(bias) else bias))

    def _apart(self, output, plan):
        """The output, or room for it where it overlaps what the plan reads."""
        overlapped = next((view for view in (*self.inputs, *self.filters) if output.overlaps(view)), None)
        if overlapped is None or (plan.device is not None and output.device is None):  # which is copied there and back
            return output
        if output.device is not None:
            raise ValueError(f"{self.operation}: out overlaps {overlapped.name}, on a GPU must be memory of its own")
        return _arrays.view(self.operation, output.name, np.empty_like(output.numpy()),
                            "bfloat16" if output.dtype == "bf16" else None)

    def _by_plan(self, plan):
        memory = []

        def placed(view, copy):
            if plan.device is None or view.device is not None:
                return view
            memory.append(_DeviceMemory(plan.device, view, copy))
            return memory[-1].view

        inputs = [placed(view, True) for view in self.inputs]
        outputs = [placed(self._apart(view, plan), False) for view in self.outputs]
        plan._call("whole_call", [*inputs, *self.filters, *outputs])
        if plan.device is None:
            for view, computed in zip(self.outputs, outputs):
                if computed is not view:
                    view.numpy()[...] = computed.numpy()
        if plan.device is not None:  # a plan must outlive its calls: a copy, of one byte at least, waits for the device
            one = np.empty(1, np.uint8)
            for view, computed in zip(self.outputs, outputs):
                to, count = (one.ctypes.data, 1) if computed is view else (view.data, view.bytes)
                check(library.danaus_copy_to_host(plan.device, to, computed.data, count))

    def judged(self, token, method, plan=None):
        """How far the outputs are from the truth, and how far they may be."""
        return verdict_on(token, method, plan, (*self.inputs, *self.filters, *self.outputs))


def _broadcasts(shape, to):
    return len(shape) <= len(to) and all(extent in (1, other) for extent, other in zip(shape[::-1], to[::-1]))


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

"""Plans, in the manner of FFTW and cuFFT: made once for a case, given a filter, executed any number of times."""

import json
from ctypes import byref, c_int64, c_void_p

import numpy as np

from danaus import _arrays
from danaus._library import (INPUT, OUTPUT, Array, Bytes, Call, Strides, arrays_of, check, encoded, is_whole, library,
                             mask_of, text_of, whole)


_MOST_DEVICE, _MOST_ROWS, _MOST_STREAM = 2**31 - 1, 2**63 - 1, 2**64 - 1


def ordinal_of(operation, device):
    """None for the host ("cpu"), or the ordinal of a CUDA device: 1, "cuda:1", "cuda" for the first."""
    if device == "cpu":
        return None
    if is_whole(device) and device >= 0:
        return whole(operation, "device", device, 0, _MOST_DEVICE)
    kind, _, number = str(device).partition(":")
    if kind == "cuda" and (number.isdecimal() or not number and ":" not in str(device)):
        return whole(operation, "device", int(number or 0), 0, _MOST_DEVICE)
    raise ValueError(f"{operation}: device {device!r}, must be 'cpu', 'cuda', 'cuda:N' or N")


def _stream_of(operation, stream):
    """The cudaStream_t of a stream: a number, or an object of CUDA's own protocol, PyTorch or CuPy."""
    if stream is None:
        return None
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return (protocol() if callable(protocol) else protocol)[1]
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return 0 if stream == 1 else whole(operation, "stream", stream, 0, _MOST_STREAM)  # 1: the default, as in DLPack
    raise TypeError(f"{operation}: stream is a {type(stream).__name__}, must be a cudaStream_t, a number or an object")


def call_arrays(views):
    """danaus_array[] of views, whose names are those of the case."""
    return (Array * len(views))(*[(view.name.encode(), view.data, view.bytes) for view in views])


def of_host(view):
    """The samples of a view as an array of the host; bits of bfloat16. Waits for the device."""
    if view.device is None:
        return view.numpy()
    copy = np.empty(view.bytes, np.uint8)
    check(library.danaus_copy_to_host(view.device, copy.ctypes.data, view.data, view.bytes))
    return _arrays.View(view.name, copy.ctypes.data, view.dtype, view.shape, None, copy).numpy().copy()


def verdict_on(token, method, plan, views):
    """The judge's verdict on all arrays of a case; plan is that which computed the outputs by method "kernel"."""
    doubles = {view.name: _arrays.doubles(of_host(view), view.dtype) for view in views}
    given = [_arrays.view("judge", name, array) for name, array in doubles.items()]
    verdict = c_void_p()
    check(library.danaus_judge(token.encode(), method.encode(), plan.handle if plan else None, call_arrays(given),
                               len(given), byref(verdict)))
    return json.loads(text_of(verdict))


class Plan:
    """A plan for a case on a device.

        plan = danaus.Plan("fftconv_f16_causal_l1024_b64_h768", device="cuda")
        plan.prepare(k=k)             # [H, K], of the host or the device; transformed once
        y = plan.execute(u=u)         # [B, H, L]; or y=array for the memory that it goes to

    token: the case as one word, as docs/tokens.md of the sources has it. device: "cpu" executes the kernel of an H100 or
    H200 operation by operation, checked, with the roundings that it has there, and slowly; "cuda", "cuda:N" or N is a
    GPU. Arrays are NumPy's or of any library with DLPack or __cuda_array_interface__, contiguous, of the type and shape
    in `arrays`; bfloat16 is ml_dtypes' or its bits as uint16. Rows [B, H, L] of long convolutions, of their gradients
    and of steps may also be slices of a larger array. On a GPU calls are asynchronous: what they read and write, and
    the plan, must stay until the stream has got there. Any thread may call, any number at once.

    stream: of prepare() and execute(), a number or an object. Without one a call runs on CUDA's default stream, between
    what the current streams of PyTorch and CuPy have been asked before and after it, where its arrays are of these.
    With one the caller orders the streams.

    Raises ValueError for what the case or an array has wrong, TypeError for an array of another type,
    danaus.NoDevice where the device is not there, MemoryError where it has too little memory.
    """

    def __init__(self, token, device="cpu"):
        self.handle = c_void_p()
        encoded("plan", "token", token)
        self.token, self.device = str(token), ordinal_of("plan", device)
        infos = arrays_of(self.token)
        kept, count = mask_of(self.token)
        #: [N] whether the case's mask keeps a frequency; None without a mask
        self.kept = np.array(kept, bool) if count else None
        if self.device is None:
            check(library.danaus_plan_create_on_executor(self.token.encode(), byref(self.handle)))
        else:
            check(library.danaus_plan_create(self.token.encode(), self.device, kept, count, byref(self.handle)))
        self._roles = {info.name.decode(): info.role for info in infos}
        self._batched = {info.name.decode() for info in infos if info.batched}
        #: name -> (dtype, shape) of every array of the case
        self.arrays = {info.name.decode(): (_arrays.NAMES[info.dtype.decode()], tuple(info.extents[:info.rank]))
                       for info in infos}

    def __reduce__(self):  # of copy and pickle
        raise TypeError("plan: a plan is neither copied nor pickled; make another, danaus.Plan(plan.token, "
                        "plan.device), and prepare it")

    def __del__(self, destroy=library.danaus_plan_destroy):  # bound: at the interpreter's end names are gone
        if getattr(self, "handle", None):
            destroy(self.handle)

    @property
    def description(self):
        """One line: kernel, N and its factors, threads, shared memory, device."""
        return library.danaus_plan_description(self.handle).decode()

    @property
    def kernel(self):
        """The kernel's name."""
        return library.danaus_plan_kernel(self.handle).decode()

    @property
    def layout(self):
        """One word: how what prepare() makes is laid out. Plans with the same word read what the other has prepared."""
        return library.danaus_plan_layout(self.handle).decode()

    def bytes(self, batch=0):
        """{"prepared", "workspace", "constants"}: what the plan takes of the device's memory for so many rows, or for
        the case's."""
        found = Bytes()
        batch = whole("plan_bytes", "batch", batch, -_MOST_ROWS, _MOST_ROWS)
        check(library.danaus_plan_bytes(self.handle, c_int64(batch), byref(found)))
        return {"prepared": found.prepared, "workspace": found.workspace, "constants": found.constants}

    def prepare(self, stream=None, **filters):
        """Transforms the filters, which every execute() from now on takes. Of the device they are read by kernels on
        the stream, which the caller orders with other streams that execute."""
        stream = _stream_of("prepare", stream)
        self._call("prepare", [self._view("prepare", name, array, stream) for name, array in filters.items()], stream)

    def execute(self, stream=None, **arrays):
        """The outputs of the case: the array, or a dict by name where there are several. Batches may be smaller than
        the case's, also empty. An output that is not given is made by the library that the first input is of."""
        stream = _stream_of("execute", stream)
        views = {name: self._view("execute", name, array, stream) for name, array in arrays.items()}
        batch = next((views[name].shape[0] for name in views if name in self._batched and views[name].shape), 0)
        for name in views:
            if name in self._batched and views[name].shape[0] != batch:
                counts = ", ".join(f"{each} {views[each].shape[0]}" for each in views if each in self._batched)
                raise ValueError(f"execute: arrays have batches of several sizes, must have the same: {counts}")
        first = next((name for name in arrays if self._roles.get(name) == INPUT), None)
        outputs = {}
        for name, role in self._roles.items():
            if role == OUTPUT and name not in arrays and first is not None:
                dtype, shape = self.arrays[name]
                shape = (batch, *shape[1:]) if name in self._batched else shape
                arrays[name] = _arrays.empty_like("execute", arrays[first], shape,
                                                  None if dtype == self.arrays[first][0] else dtype)
                views[name] = self._view("execute", name, arrays[name], stream)
            if role == OUTPUT and name in arrays:
                outputs[name] = arrays[name]
                if views[name].readonly:
                    raise ValueError(f"execute: {name} is read-only")
        if any(name in self._batched and view.shape and view.shape[0] == 0 for name, view in views.items()):
            self._execute_nothing(views, outputs)
        else:
            self._call("execute", list(views.values()), stream, batch)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def judge(self, **arrays):
        """How far outputs of the plan are from the truth: a dict as danaus.conv has it with return_error, of the output
        that takes most of its bounds; "output" names it where there are several. `arrays` are all arrays of the case:
        filters and inputs as they were given, and outputs as the plan made them."""
        views = [self._view("judge", name, array, None) for name, array in arrays.items()]
        return verdict_on(self.token, "kernel", self, views)

    def _execute_nothing(self, views, outputs):
        """Of a batch of no rows: what is summed over rows is zero."""
        for name, role in self._roles.items():
            if role == INPUT and name not in views:
                raise ValueError(f"execute: {self.token} has a {name}, but none is given")
        for name, view in views.items():
            if name not in self.arrays:
                raise ValueError(f"execute: a {name} is given, but {self.token} has none")
        for name, array in outputs.items():
            if name not in self._batched:
                array[...] = 0

    def _view(self, operation, name, array, stream):
        expected = self.arrays.get(name)
        bits = expected is not None and expected[0] == "bfloat16"
        view = _arrays.view(operation, name, array, "bfloat16" if bits else None, copy=operation == "judge", stream=stream,
                            strided=True)
        if expected is None:
            return view  # the library says which there are
        dtype, shape = expected
        if _arrays.NAMES[view.dtype] != dtype:
            raise TypeError(f"{operation}: {name} is {_arrays.NAMES[view.dtype]}, must be {dtype}")
        free = 1 if name in self._batched and operation == "execute" else 0
        if len(view.shape) != len(shape) or view.shape[free:] != shape[free:]:
            raise ValueError(f"{operation}: {name} has shape {view.shape}, must be {shape}")
        return view

    def _call(self, operation, views, stream=None, batch=0):
        """prepare, execute or whole_call of the C interface with _arrays.View of the case's arrays."""
        for view in views:
            if self.device is None and view.device is not None:
                raise ValueError(f"{operation}: {view.name} is on CUDA device {view.device}, the plan is for the CPU")
        owners = {view.stream for view in views if view.stream is not None}  # which write there
        if stream is None and len(owners) > 1:
            raise ValueError(f"{operation}: arrays are written on {len(owners)} streams; order them, and give stream=")
        if stream is None and owners:
            stream = _stream_of(operation, owners.pop())
        given = [(view.name.encode(), *view.strides) for view in views if view.strides]
        strides = (Strides * len(given))(*given)  # as long as the call
        call = Call(stream=stream, batch=batch, strides=strides, stride_count=len(given))
        function = getattr(library, f"danaus_{operation}")
        check(function(self.handle, call_arrays(views), len(views), byref(call)))
        if stream is None:
            for view in views:
                _arrays.follow_default_stream(view)

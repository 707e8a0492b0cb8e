"""What the operators of PyTorch share: whose calls need the dispatcher, autocast, and plans that tensors go to.

Each line of way_of(), take() and run() is at most a microsecond of every call; tools/host_cost.py measures their sum.
"""

import functools
import itertools
import threading
from ctypes import addressof, c_size_t, c_void_p

import torch
from torch import Tensor, is_grad_enabled
from torch._C import (_functorch, _get_tracing_state, _is_any_autocast_enabled, _is_torch_function_mode_enabled,
                      _len_torch_dispatch_stack)
from torch.autograd import _profiler_enabled, forward_ad
from torch.nn import Parameter

from danaus._library import Array, Call, Strides, check, library
from danaus.plans import Plan

WORDS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
SIXTEEN = (torch.float16, torch.bfloat16)

operators = torch.library.Library("danaus", "DEF")


TYPES = (Tensor, Parameter)
DISPATCHED, PLAIN, TRAINED = range(3)


def way_of(*tensors):
    """PLAIN where nobody but the kernel has to see the call, whose host time the dispatcher would double: there is
    neither gradient nor tangent, transform, mode, tracer, profiler, autocast, subclass or lazy negation; TRAINED where
    autograd has to, and nobody else; else DISPATCHED."""
    learns, way = is_grad_enabled(), PLAIN
    for tensor in tensors:
        if tensor is not None:
            if type(tensor) not in TYPES or tensor.is_neg():
                return DISPATCHED
            if learns and tensor.requires_grad:
                way = TRAINED
    if (_len_torch_dispatch_stack() or _is_torch_function_mode_enabled()
            or _functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0
            or _get_tracing_state() is not None or _profiler_enabled() or _is_any_autocast_enabled()):
        return DISPATCHED
    return way


_DENSE = {"quantized": "dequantize()", "nested": "to_padded_tensor(0.0)", "sparse": "to_dense()"}


def _kind_of(tensor):
    return "quantized" if tensor.is_quantized else "nested" if tensor.is_nested else "sparse"


def require_tensors(operation, needed, **arguments):
    for name, value in arguments.items():
        if isinstance(value, Tensor) or (value is None and name not in needed):
            continue
        from danaus._torch_filter import Filter  # which needs this module
        way = ("; danaus.torch.conv takes a Filter" if isinstance(value, Filter) else
               f"; danaus.{operation} takes arrays" if operation in ("conv", "short_conv") else "")
        raise TypeError(f"{operation}: {name} is a {type(value).__name__}, must be a torch.Tensor{way}")


def _learns_by_transform(tensor):
    """Whether a transform of torch.func is to differentiate by it, perhaps around a vmap."""
    while tensor is not None and _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_gradtrackingtensor(tensor) and tensor.requires_grad:
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


def require_plain_tensors(operation, needed, **arguments):
    """needed: names of those that may not be None. PyTorch drops tangents of operators like these without a word."""
    require_tensors(operation, needed, **arguments)
    for name, value in arguments.items():
        if value is not None and (value.layout != torch.strided or value.is_quantized or value.is_nested):
            raise TypeError(f"{operation}: {name} is {_kind_of(value)}, must be dense numbers; "
                            f"{name}.{_DENSE[_kind_of(value)]} makes them")
    if forward_ad._current_level >= 0:
        for tensor in arguments.values():
            if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
                raise NotImplementedError(f"{operation}: no forward-mode derivatives; those of backward() are there")
    if _functorch.peek_interpreter_stack() is not None and any(map(_learns_by_transform, arguments.values())):
        raise NotImplementedError(f"{operation}: no torch.func.grad, vjp or jacrev; gradients of backward() are there")


def autocast_type(device_type):
    """That which autocast changes to, None where it is off."""
    if device_type == "meta" or not torch.is_autocast_enabled(device_type):
        return None
    return torch.get_autocast_dtype(device_type)


def autocast(device_type, rows, filters):
    """Both as autocast to its type changes them: u and what is like it takes that, filters keep theirs where it is one
    that goes with it, and become float32 where not."""
    dtype = autocast_type(device_type)
    if dtype is None:
        return rows, filters
    changed = (*SIXTEEN, torch.float32)  # others autocast leaves alone everywhere
    if rows[0].dtype in changed:
        types = {k.dtype for k in filters if k is not None}
        if types not in ({dtype}, {torch.float32}) and types <= {*changed}:
            filters = [None if k is None else k.float() for k in filters]
    return [x if x is None or x.dtype not in changed else x.to(dtype) for x in rows], filters


def needs_gradient(*tensors):
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def check_tensors(operation, shape, u, k, **gates):
    """What no operator takes. shape: of u, as messages have it, with H where its channels are."""
    if u.dtype not in WORDS:
        raise TypeError(f"{operation}: u is {u.dtype}, must be one of {', '.join(map(str, WORDS))}")
    if k.dtype != u.dtype and not (u.dtype in SIXTEEN and k.dtype == torch.float32):
        raise TypeError(f"{operation}: k is {k.dtype}, with u of {u.dtype} it must be "
                        f"{'torch.float32 or ' if u.dtype in SIXTEEN else ''}{u.dtype}")
    axis = 2 if shape.endswith("H]") else 1
    if u.ndim != 3 or u.shape[3 - axis] == 0:
        raise ValueError(f"{operation}: u has shape {tuple(u.shape)}, must be {shape}, L at least 1")
    channels = u.shape[axis]
    if k.ndim != 2 or k.shape[0] != channels or k.shape[1] == 0:
        least = ", K at least 1" if k.ndim == 2 and k.shape[1] == 0 else ""
        raise ValueError(f"{operation}: k has shape {tuple(k.shape)}, must be [H, K], H={channels} as in u{least}")
    require_near(operation, u, k=k)
    for name, gate in gates.items():
        if gate is None:
            continue
        if gate.dtype != u.dtype:
            raise TypeError(f"{operation}: {name} is {gate.dtype}, must be {u.dtype} as u")
        if gate.shape != u.shape:
            raise ValueError(f"{operation}: {name} has shape {tuple(gate.shape)}, must be {tuple(u.shape)} as u, or "
                             "broadcast to it")
        require_near(operation, u, **{name: gate})


def broadcast(axis, u, k, *gates):
    """u, k and gates as NumPy broadcasts: one row with several filters, or several rows with one filter, H being u's
    axis; then gates to the shape of u. What does not go together is left to check_tensors()."""
    if u.ndim != 3 or k.ndim != 2:
        return u, k, *gates
    if u.shape[axis] != k.shape[0]:
        if k.shape[0] == 1:
            k = k.expand(u.shape[axis], -1)
        elif u.shape[axis] == 1:
            shape = list(u.shape)
            shape[axis] = k.shape[0]
            u = u.expand(shape)
    return u, k, *(gate if gate is None or gate.shape == u.shape else _expanded(gate, u.shape) for gate in gates)


def _expanded(gate, shape):
    fits = gate.ndim <= len(shape) and all(extent in (1, whole) for extent, whole in zip(gate.shape[::-1], shape[::-1]))
    return gate.expand(shape) if fits else gate


def require_near(operation, u, **tensors):
    for name, tensor in tensors.items():
        if tensor.device != u.device:
            raise ValueError(f"{operation}: {name} is on {tensor.device}, u on {u.device}; they must be on one device")


def require_like(operation, u, dy):
    """What nobody says of a gradient who calls a backward operator by hand: it is no part of a signature."""
    if dy.shape != u.shape or dy.dtype != u.dtype:
        raise ValueError(f"{operation}: dy is {dy.dtype} {tuple(dy.shape)}, must be {u.dtype} {tuple(u.shape)} as u")
    require_near(operation, u, dy=dy)


def working(tensor):
    """What the CPU computes in: 16 bits in float32."""
    return tensor.float() if tensor.dtype in SIXTEEN else tensor


def gated(x, gate):
    return x if gate is None else x * working(gate)


def contiguous(*tensors):
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


def rows(*tensors):
    """Rows [B, H, L] as the kernels take them: slices of a larger tensor as they are, others contiguous."""
    return [tensor if tensor is None or tensor.is_contiguous() or strides_of(tensor) else tensor.contiguous()
            for tensor in tensors]


def strides_of(tensor):
    """Samples to the next batch row's row, and to the next channel's; None where rows are not contiguous, or do not
    follow one another. An axis of one index may have any stride."""
    (batch, channels, length), (row, channel, sample) = tensor.shape, tensor.stride()
    channel = channel if channels > 1 else length
    row = row if batch > 1 else channels * channel
    return (row, channel) if (sample == 1 or length == 1) and row > 0 and channel > 0 else None


def reach_of(x):
    """Bytes from the first sample of rows to behind the last one."""
    if x.is_contiguous():
        return x.nbytes
    row, channel = strides_of(x)
    return x.element_size() * ((x.shape[0] - 1) * row + (x.shape[1] - 1) * channel + x.shape[2])


def like(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def gradients_of_nothing(tensors, needed):
    """Of a batch of no rows: zeros like each that needs one."""
    return tuple(x.new_zeros(x.shape) if is_needed else x.new_empty(0) for x, is_needed in zip(tensors, needed))


def second_derivative(operation):
    """For register_autograd of its backward operator."""
    def refuse(ctx, *_):
        raise NotImplementedError(f"danaus::{operation}_backward: second derivatives are not there; leave create_graph "
                                  "out")
    return refuse


# Plans, one for each case and device, that all calls share.

ALIGNMENT = 256   # bytes, of the parts of what is prepared
MOST_PLANS = 512  # beyond it the eighth that was used longest ago is freed
MOST_ENTRIES = 8 * MOST_PLANS  # likewise; a plan has one for each size of batch and for each stride of slices


class _Slots:
    """What one call of the C interface is told, but for the pointers."""

    def __init__(self, entry, batch, filters, sizes, strides):
        # Vouched: what is prepared and the stream are of the first tensor's device, which all others share.
        self.strides = (Strides * len(strides))(*strides)
        self.call = Call(batch=batch, workspace_bytes=entry.workspace_bytes, vouched=1, strides=self.strides,
                         stride_count=len(strides))
        self.arrays = (Array * len(sizes))(*[(name, None, size) for name, size in sizes])
        self.items = list(self.arrays)
        # Arguments as ctypes has them, which saves it their conversion at every call. Filters are the first arrays.
        call, first, other = (c_void_p(addressof(each)) for each in (self.call, self.items[0], self.items[filters]))
        self.whole_call = entry.plan.handle, first, c_size_t(len(sizes)), call
        self.prepare = entry.preparing.handle, first, c_size_t(filters), call
        self.execute = entry.plan.handle, other, c_size_t(len(sizes) - filters), call


class _Entry:
    """Calls with tensors of one shape and type: the plan that executes them, the one that prepares their filters, and
    slots that no thread uses at the moment."""

    def __init__(self, plan, preparing, batch, filters, sizes, strides):
        self.plan, self.preparing, self.layout = plan, preparing, plan.layout
        self.prepared_bytes = preparing.bytes(batch)["prepared"]
        self.workspace_bytes = plan.bytes(batch)["workspace"]
        self.is_kept = preparing is not plan
        self.used = next(_ticks)
        self.unwritten = None
        if self.is_kept:  # up to the alignment of what is prepared for the backward pass
            end = plan.bytes(batch)["prepared"]
            self.unwritten = slice(end, -(-end // ALIGNMENT) * ALIGNMENT) if end % ALIGNMENT else None
        self._slots = batch, filters, sizes, strides
        self.idle = [_Slots(self, *self._slots)]

    def take(self):
        try:
            return self.idle.pop()  # which no two threads get
        except IndexError:
            return _Slots(self, *self._slots)


entries = {}  # what tensors are like -> _Entry
plans = {}    # token, device -> Plan
_making = threading.Lock()
_captured = set()  # entries that graphs were captured with, which read the constants of their plans
_ticks = itertools.count()  # the order of calls


def _uses():
    """plan -> when it was used last; those that graphs read are left out."""
    uses = dict.fromkeys(plans.values(), -1)
    for entry in list(entries.values()):
        for plan in (entry.plan, entry.preparing):
            uses[plan] = max(uses.get(plan, -1), entry.used)
    for entry in list(_captured):
        uses.pop(entry.plan, None), uses.pop(entry.preparing, None)
    return uses


def _free(keys):
    """Plans, once the device is done with what it reads of theirs."""
    for device in {device for _, device in keys}:
        torch.cuda.synchronize(device)
    freed = {plans.pop(key) for key in keys}
    for signature, entry in list(entries.items()):
        if entry.plan in freed or entry.preparing in freed:
            entries.pop(signature, None)


def _make_room(needed, missing):
    """For plans of a call that are missing; it needs the others too."""
    uses = _uses()
    keys = [key for key, plan in plans.items() if key not in needed and plan in uses]
    count = len(plans) - MOST_PLANS + max(missing, MOST_PLANS // 8)
    _free(sorted(keys, key=lambda key: uses[plans[key]])[:count])


def clear_plans(captured: bool = False) -> int:
    """Frees the plans that conv() and short_conv() keep, and returns how many. A plan that a CUDA graph was captured
    with stays, since the graph reads its constants; captured=True frees it too, where all such graphs are gone.

    It waits for the devices. A later call makes its plan anew; a Filter keeps the plans that refresh() needs. Raises
    RuntimeError while the current stream is captured.
    """
    with _making:
        for device in {device for _, device in plans}:
            if is_capturing(device):
                raise RuntimeError("clear_plans: the current stream is being captured, where nothing can be freed; "
                                   "call it before or after the capture")
        if captured:
            _captured.clear()
        uses = _uses()
        keys = [key for key, plan in plans.items() if plan in uses]
        _free(keys)
    return len(keys)


def is_capturing(device):
    """Whether the device's current stream is being captured."""
    if _device_count() < 2 or torch.cuda.current_device() == device:
        return torch.cuda.is_current_stream_capturing()
    with torch.cuda.device(device):
        return torch.cuda.is_current_stream_capturing()


@functools.cache
def _device_count():
    return torch.cuda.device_count()


def require_no_capture(operation, device, what, why):
    if is_capturing(device):
        raise RuntimeError(f"{operation}: {what} is captured before it ever ran, and {why}; run it once before the "
                           "capture")


def make_entry(operation, signature, token, device, batch, filters, sizes, preparing=None, strides=()):
    """filters: how many of the arrays there are, which come first. preparing: the token of another plan that prepares
    them. strides: (name, row, channel) of arrays that are not contiguous."""
    needed = [(each, device) for each in (token, preparing or token)]
    with _making:
        missing = [key for key in dict.fromkeys(needed) if key not in plans]
        if missing:
            require_no_capture(operation, device, missing[0][0], "making its plan allocates")
            if len(plans) + len(missing) > MOST_PLANS:
                _make_room(needed, len(missing))
        for key in missing:
            plans[key] = Plan(*key)
        if len(entries) >= MOST_ENTRIES:
            for oldest in sorted(entries, key=lambda each: entries[each].used)[:MOST_ENTRIES // 8]:
                del entries[oldest]
        entry = entries[signature] = _Entry(*(plans[key] for key in needed), batch, filters, sizes, strides)
    return entry


def batch_word(batch):
    """Of a plan for batches up to a power of two: it takes smaller ones too, but for a single row, which has another
    kernel."""
    return f"b{1 << (int(batch) - 1).bit_length()}"


def run(entry, prepared, is_prepared, tensors):
    """One call with the tensors of an entry, in its order. What is prepared of the filters is written first where it is
    not there."""
    slots, workspace = _filled(entry, prepared, tensors)
    if is_prepared:
        status = library.danaus_execute(*slots.execute)
    elif entry.is_kept:
        if entry.unwritten:  # an operator's results repeat, bit by bit
            prepared[entry.unwritten].zero_()
        status = library.danaus_prepare(*slots.prepare) or library.danaus_execute(*slots.execute)
    else:
        status = library.danaus_whole_call(*slots.whole_call)
    _give_back(entry, slots, workspace, status)


def prepare(entry, prepared, filters):
    """What is prepared of the filters alone."""
    slots, workspace = _filled(entry, prepared, filters)
    _give_back(entry, slots, workspace, library.danaus_prepare(*slots.prepare))


def _filled(entry, prepared, tensors):
    """Slots with all pointers, and the workspace. The library compares the size of what is prepared with what the plan
    needs."""
    device = prepared.get_device()
    entry.used = next(_ticks)
    if entry not in _captured and is_capturing(device):
        _captured.add(entry)
    slots, workspace = entry.take(), None
    call = slots.call
    call.stream = torch._C._cuda_getCurrentRawStream(device)
    call.prepared, call.prepared_bytes = prepared.data_ptr(), prepared.nbytes
    if entry.workspace_bytes:
        workspace = prepared.new_empty(entry.workspace_bytes)
        call.workspace = workspace.data_ptr()
    for item, tensor in zip(slots.items, tensors):
        item.data = tensor.data_ptr()
    return slots, workspace


def _give_back(entry, slots, workspace, status):
    """workspace: of PyTorch's stream, which frees it in its order."""
    entry.idle.append(slots)
    if status:
        check(status)

"""What the operators of PyTorch share: whose calls need the dispatcher, autocast, and plans that tensors go to.

Each line of way_of(), take() and run() is at most a microsecond of every call; tools/host_cost.py measures their sum.
"""

import threading
from ctypes import addressof, c_size_t, c_void_p

import torch
from torch import Tensor, is_grad_enabled
from torch._C import (_functorch, _get_tracing_state, _is_any_autocast_enabled, _is_torch_function_mode_enabled,
                      _len_torch_dispatch_stack)
from torch.autograd import _profiler_enabled, forward_ad
from torch.nn import Parameter

from danaus._library import Array, Call, check, library
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


def require_plain_tensors(operation, needed, **arguments):
    """needed: names of those that may not be None. PyTorch drops tangents of operators like these without a word."""
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and (value is not None or name in needed):
            raise TypeError(f"{operation}: {name} is a {type(value).__name__}, must be a torch.Tensor; "
                            f"danaus.{operation} takes arrays")
    if forward_ad._current_level >= 0:
        for tensor in arguments.values():
            if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
                raise NotImplementedError(f"{operation}: no forward-mode derivatives; those of backward() are there")


def autocast(device_type, rows, filters):
    """Both as autocast to its type changes them: u and what is like it takes that, filters keep theirs, or are float32
    where they would have another type of 16 bits."""
    if not torch.is_autocast_enabled(device_type):
        return rows, filters
    dtype = torch.get_autocast_dtype(device_type)
    changed = (*SIXTEEN, torch.float32)  # others autocast leaves alone everywhere
    if rows[0].dtype in changed:
        filters = [k.float() if k is not None and k.dtype in SIXTEEN and k.dtype != dtype else k for k in filters]
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
    if u.ndim != 3 or 0 in u.shape:
        raise ValueError(f"{operation}: u has shape {tuple(u.shape)}, must be {shape}, each at least 1")
    channels = u.shape[2 if shape.endswith("H]") else 1]
    if k.ndim != 2 or k.shape[0] != channels or k.shape[1] == 0:
        raise ValueError(f"{operation}: k has shape {tuple(k.shape)}, must be [H, K], H={channels} as in u")
    require_near(operation, u, k=k)
    for name, gate in gates.items():
        if gate is None:
            continue
        if gate.dtype != u.dtype:
            raise TypeError(f"{operation}: {name} is {gate.dtype}, must be {u.dtype} as u")
        if gate.shape != u.shape:
            raise ValueError(f"{operation}: {name} has shape {tuple(gate.shape)}, must be {tuple(u.shape)} as u")
        require_near(operation, u, **{name: gate})


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


def second_derivative(operation):
    """For register_autograd of its backward operator."""
    def refuse(ctx, *_):
        raise NotImplementedError(f"danaus::{operation}_backward: second derivatives are not there; leave create_graph "
                                  "out")
    return refuse


# Plans, one for each case and device, that all calls share.

ALIGNMENT = 256  # bytes, of the parts of what is prepared


class _Slots:
    """What one call of the C interface is told, but for the pointers."""

    def __init__(self, entry, batch, filters, sizes):
        # Vouched: what is prepared and the stream are of the first tensor's device, which all others share.
        self.call = Call(batch=batch, workspace_bytes=entry.workspace_bytes, vouched=1)
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

    def __init__(self, plan, preparing, batch, filters, sizes):
        self.plan, self.preparing, self.layout = plan, preparing, plan.layout
        self.prepared_bytes = preparing.bytes(batch)["prepared"]
        self.workspace_bytes = plan.bytes(batch)["workspace"]
        self.is_kept = preparing is not plan
        self.unwritten = None
        if self.is_kept:  # up to the alignment of what is prepared for the backward pass
            end = plan.bytes(batch)["prepared"]
            self.unwritten = slice(end, -(-end // ALIGNMENT) * ALIGNMENT) if end % ALIGNMENT else None
        self._slots = batch, filters, sizes
        self.idle = [_Slots(self, *self._slots)]

    def take(self):
        try:
            return self.idle.pop()  # which no two threads get
        except IndexError:
            return _Slots(self, *self._slots)


entries = {}  # what tensors are like -> _Entry
plans = {}    # token, device -> Plan
_making = threading.Lock()


def _plan(operation, token, device):
    plan = plans.get((token, device))
    if plan is None:
        require_no_capture(operation, device, token, "making its plan allocates")
        plan = plans[token, device] = Plan(token, device)
    return plan


def require_no_capture(operation, device, what, why):
    with torch.cuda.device(device):
        capturing = torch.cuda.is_current_stream_capturing()
    if capturing:
        raise RuntimeError(f"{operation}: {what} is captured before it ever ran, and {why}; run it once before the "
                           "capture")


def make_entry(operation, signature, token, device, batch, filters, sizes, preparing=None):
    """filters: how many of the arrays there are, which come first. preparing: the token of another plan that prepares
    them."""
    with _making:
        plan = _plan(operation, token, device)
        other = plan if preparing is None else _plan(operation, preparing, device)
        entry = entries[signature] = _Entry(plan, other, batch, filters, sizes)
    return entry


def batch_word(batch):
    """Of a plan for batches up to a power of two: it takes smaller ones too, but for a single row, which has another
    kernel."""
    return f"b{1 << (int(batch) - 1).bit_length()}"


def run(entry, prepared, is_prepared, tensors):
    """One call with the tensors of an entry, in its order. What is prepared of the filters is written first where it is
    not there."""
    slots = entry.take()
    call = slots.call
    call.stream = torch._C._cuda_getCurrentRawStream(prepared.get_device())
    call.prepared, call.prepared_bytes = prepared.data_ptr(), prepared.nbytes
    if entry.workspace_bytes:
        workspace = prepared.new_empty(entry.workspace_bytes)
        call.workspace = workspace.data_ptr()
    for item, tensor in zip(slots.items, tensors):
        item.data = tensor.data_ptr()
    if is_prepared:
        status = library.danaus_execute(*slots.execute)
    elif entry.is_kept:
        if entry.unwritten:  # an operator's results repeat, bit by bit
            prepared[entry.unwritten].zero_()
        status = library.danaus_prepare(*slots.prepare) or library.danaus_execute(*slots.execute)
    else:
        status = library.danaus_whole_call(*slots.whole_call)
    entry.idle.append(slots)
    if status:
        check(status)

"""Long convolutions as an operator of PyTorch: danaus.torch.conv, and under it torch.ops.danaus.conv.

Works with autograd, torch.compile(fullgraph=True), CUDA graphs, autocast, any stream, several devices and threads.
Tensors of the CPU go through torch.fft, in their own precision (16 bits in float32); tensors of a GPU through the fused
kernels, float16 and bfloat16. Built against no version of PyTorch: the library is
called by its C interface.
"""

import functools
import threading
from ctypes import addressof, c_size_t, c_void_p

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from danaus._library import Array, Call, check, device_count, kernel_of, library, prepared_bytes_of
from danaus.convolution import MODES
from danaus.plans import Plan

__all__ = ["conv"]

_WORDS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
_SIXTEEN = (torch.float16, torch.bfloat16)


def conv(u: Tensor, k: Tensor, mode: str = "causal", pregate: Tensor = None, postgate: Tensor = None) -> Tensor:
    """y = postgate * conv(pregate * u, k) [B, H, L], of the type of u.

    u, gates   [B, H, L], all alike: float16 or bfloat16, on the CPU also float32 and float64. Under autocast they take
               its type. What is not contiguous is copied.
    k          [H, K], of the type of u, or float32 where that has 16 bits. k[..., 0] multiplies the current sample.
               Samples beyond L are cut (causal) or wrap (circular).
    mode       "causal": y[n] = sum of k[m] u[n - m] over m <= n; "circular": over all m, indices modulo L.

    On a GPU it runs on the current stream. The first call of a shape makes a plan, which all layers and threads share;
    while a graph is captured there must be one already. A compiled graph is specialised to H, L and K, not to B.
    Gradients with respect to all four; second derivatives and those of forward mode raise NotImplementedError. On a GPU
    that of k is summed over the batch in float32, in an order that the shapes fix; where one is to come, the filter's
    spectrum and its conjugate, 8 H N bytes, are kept for the backward pass.

    Raises ValueError for shapes, devices and a mode that do not go together or that no kernel computes, TypeError for
    types, RuntimeError where a graph is captured too early, danaus.CudaError, and MemoryError.
    """
    if not torch.compiler.is_compiling():
        if _is_plain(u, k, pregate, postgate) and u.is_cuda:
            return _forward(u, k, mode, pregate, postgate)[0]
        _require_tensors(u=u, k=k, pregate=pregate, postgate=postgate)
        if forward_ad._current_level >= 0:
            _refuse_tangents(u, k, pregate, postgate)
    if torch.is_autocast_enabled(u.device.type):
        u, k, pregate, postgate = _autocast(torch.get_autocast_dtype(u.device.type), u, k, pregate, postgate)
    trains = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (u, k, pregate, postgate))
    return torch.ops.danaus.conv.default(u, k, mode, pregate, postgate, trains)[0]


def _is_plain(*tensors):
    """Whether nobody but the kernel has to see the call, whose host time the dispatcher would double: there is neither
    gradient nor tangent, transform, mode, tracer, profiler, autocast, subclass or lazy negation."""
    is_grad_enabled = torch.is_grad_enabled()
    for tensor in tensors:
        if tensor is not None and (type(tensor) not in (Tensor, Parameter) or tensor.is_neg()
                                   or (is_grad_enabled and tensor.requires_grad)):
            return False
    return not (torch._C._len_torch_dispatch_stack() or torch._C._is_torch_function_mode_enabled()
                or torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0
                or torch._C._get_tracing_state() is not None or torch.autograd._profiler_enabled()
                or torch._C._is_any_autocast_enabled())


def _require_tensors(**arguments):
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and (value is not None or name in ("u", "k")):
            raise TypeError(f"conv: {name} is a {type(value).__name__}, must be a torch.Tensor; danaus.conv takes "
                            "arrays")


def _refuse_tangents(*tensors):
    """PyTorch drops tangents of operators like this one without a word."""
    for tensor in tensors:
        if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError("conv: no forward-mode derivatives; those of backward() are there")


def _autocast(dtype, u, k, pregate, postgate):
    changed = (*_SIXTEEN, torch.float32)  # others autocast leaves alone everywhere
    if k.dtype in _SIXTEEN and k.dtype != dtype and u.dtype in changed:
        k = k.float()
    u, pregate, postgate = (x if x is None or x.dtype not in changed else x.to(dtype) for x in (u, pregate, postgate))
    return u, k, pregate, postgate


# What an operator is given, in the order of its schema. The second result of conv is what the backward pass reads of
# the filter; it is empty where none is to come (trains=False), or where that needs another kernel. A backward pass that
# is given an empty one transforms the filter itself.

_library = torch.library.Library("danaus", "DEF")
_library.define("conv(Tensor u, Tensor k, str mode, Tensor? pregate, Tensor? postgate, bool trains=False) "
                "-> (Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,))
_library.define("conv_backward(Tensor dy, Tensor u, Tensor k, Tensor spectrum, str mode, Tensor? pregate, "
                "Tensor? postgate, bool[] needed) -> (Tensor, Tensor, Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,))


def _check(u, k, mode, pregate, postgate):
    if mode not in MODES:
        raise ValueError(f"conv: mode {mode!r}, must be one of {', '.join(MODES)}")
    if u.dtype not in _WORDS:
        raise TypeError(f"conv: u is {u.dtype}, must be one of {', '.join(map(str, _WORDS))}")
    if k.dtype != u.dtype and not (u.dtype in _SIXTEEN and k.dtype == torch.float32):
        raise TypeError(f"conv: k is {k.dtype}, with u of {u.dtype} it must be "
                        f"{'torch.float32 or ' if u.dtype in _SIXTEEN else ''}{u.dtype}")
    if u.ndim != 3 or 0 in u.shape:
        raise ValueError(f"conv: u has shape {tuple(u.shape)}, must be [B, H, L], each at least 1")
    if k.ndim != 2 or k.shape[0] != u.shape[1] or k.shape[1] == 0:
        raise ValueError(f"conv: k has shape {tuple(k.shape)}, must be [H, K], H={u.shape[1]} as in u")
    for name, gate in (("pregate", pregate), ("postgate", postgate)):
        if gate is None:
            continue
        if gate.dtype != u.dtype:
            raise TypeError(f"conv: {name} is {gate.dtype}, must be {u.dtype} as u")
        if gate.shape != u.shape:
            raise ValueError(f"conv: {name} has shape {tuple(gate.shape)}, must be {tuple(u.shape)} as u")
    for name, tensor in (("k", k), ("pregate", pregate), ("postgate", postgate)):
        if tensor is not None and tensor.device != u.device:
            raise ValueError(f"conv: {name} is on {tensor.device}, u on {u.device}; they must be on one device")


# The CPU: by torch.fft, at a size that the linear convolution fits into, or at L for the circular one. conj_physical():
# a lazy conj() is lost where a compiled graph calls the operator.

def _points(mode, length, taps):
    """Of the real FFT; causal the least of 2^n, 3 2^n and 5 2^n that hold all samples."""
    if mode == "circular":
        return length
    least = length + min(length, taps) - 1
    sizes = [factor << (-(-least // factor) - 1).bit_length() for factor in (1, 3, 5)]
    return max(2, min(sizes))


def _working(tensor):
    return tensor.float() if tensor.dtype in _SIXTEEN else tensor


def _folded(k, mode, length):
    """The filter's samples that matter, at most L: cut, or wrapped."""
    if k.shape[1] <= length:
        return k
    if mode == "causal":
        return k[:, :length]
    periods = -(-k.shape[1] // length)
    return torch.nn.functional.pad(k, (0, periods * length - k.shape[1])).view(-1, periods, length).sum(1)


def _transformed(x, points):
    return torch.fft.rfft(x, n=points)


def _back(spectrum, points, length):
    return torch.fft.irfft(spectrum, n=points)[..., :length]


def _gated(x, gate):
    return x if gate is None else x * _working(gate)


def _spectrum(k, mode, length, points):
    return _transformed(_folded(_working(k), mode, length), points)


def _conv_cpu(u, k, mode, pregate, postgate, trains=False):
    _check(u, k, mode, pregate, postgate)
    length = u.shape[2]
    points = _points(mode, length, k.shape[1])
    spectrum = _spectrum(k, mode, length, points)
    x = _transformed(_gated(_working(u), pregate), points)
    y = _gated(_back(x * spectrum, points, length), postgate)
    return y.to(u.dtype).contiguous(), spectrum if trains else spectrum.new_empty(0)


def _filter_gradient(of_taps, k, mode, length):
    """[H, K] from that of the samples that matter."""
    taps = k.shape[1]
    if taps > length and mode == "causal":
        of_taps = torch.nn.functional.pad(of_taps, (0, taps - length))
    elif taps > length:
        of_taps = of_taps.repeat(1, -(-taps // length))[:, :taps]
    return of_taps.to(k.dtype).contiguous()


def _conv_backward_cpu(dy, u, k, spectrum, mode, pregate, postgate, needed):
    length, taps = u.shape[2], k.shape[1]
    points = _points(mode, length, taps)
    if spectrum.numel() == 0:
        spectrum = _spectrum(k, mode, length, points)
    of_u, of_k, of_pregate, of_postgate = needed
    du, dk, dpregate, dpostgate = u.new_empty(0), k.new_empty(0), u.new_empty(0), u.new_empty(0)
    before = _transformed(_gated(_working(dy), postgate), points)  # of the gradient of what the postgate multiplies
    if of_u or of_pregate:
        dx = _back(before * torch.conj_physical(spectrum), points, length)
        du = _gated(dx, pregate).to(u.dtype).contiguous() if of_u else du
        dpregate = (dx * _working(u)).to(u.dtype).contiguous() if of_pregate else dpregate
    if of_k or of_postgate:
        x = _transformed(_gated(_working(u), pregate), points)
        if of_k:
            of_taps = _back((before * torch.conj_physical(x)).sum(0), points, min(length, taps))
            dk = _filter_gradient(of_taps, k, mode, length)
        if of_postgate:
            dpostgate = (_working(dy) * _back(x * spectrum, points, length)).to(u.dtype).contiguous()
    return du, dk, dpregate, dpostgate


# A GPU: by plans, one for each case and device, that all calls share.

class _Slots:
    """What one call of the C interface is told, but for the pointers."""

    def __init__(self, plan, preparing, sizes, batch, prepared_bytes, workspace_bytes):
        self.call = Call(batch=batch, prepared_bytes=prepared_bytes, workspace_bytes=workspace_bytes)
        self.arrays = (Array * len(sizes))(*[(name, None, size) for name, size in sizes])
        self.items = list(self.arrays)
        # Arguments as ctypes has them, which saves it their conversion at every call. The filter is the first array.
        call, first, second = (c_void_p(addressof(each)) for each in (self.call, self.items[0], self.items[1]))
        self.whole_call = plan.handle, first, c_size_t(len(sizes)), call
        self.prepare = preparing.handle, first, c_size_t(1), call
        self.execute = plan.handle, second, c_size_t(len(sizes) - 1), call


class _Entry:
    """Calls with tensors of one shape and type: the plan that executes them, the one that prepares their filter, and
    slots that no thread uses at the moment."""

    def __init__(self, plan, preparing, batch, sizes):
        self.plan, self.preparing = plan, preparing
        self.prepared_bytes = preparing.bytes(batch)["prepared"]
        self.workspace_bytes = plan.bytes(batch)["workspace"]
        self.is_kept = preparing is not plan
        self.new = functools.partial(_Slots, plan, preparing, sizes, batch, self.prepared_bytes, self.workspace_bytes)
        self.idle = [self.new()]

    def take(self):
        try:
            return self.idle.pop()  # which no two threads get
        except IndexError:
            return self.new()


_entries = {}  # what tensors are like -> _Entry
_plans = {}    # token, device -> Plan
_making = threading.Lock()


def _token(u, k, mode, pregate, postgate, operation="fftconv"):
    """The case of tensors, for batches up to a power of two: a plan takes smaller ones too, but for a single row, which
    has another kernel."""
    batch, channels, length = (int(extent) for extent in u.shape)
    words = [operation, _WORDS[u.dtype], mode, f"l{length}"]
    if k.shape[1] != length:
        words.append(f"k{int(k.shape[1])}")
    if k.dtype in _SIXTEEN:
        words.append(f"k{_WORDS[k.dtype]}")
    words += [f"b{1 << (batch - 1).bit_length()}", f"h{channels}"]
    words += ["pregate"] * (pregate is not None) + ["postgate"] * (postgate is not None)
    return "_".join(words)


def _gradients_of(token):
    return token.replace("fftconv", "fftconvgrad", 1)


@functools.lru_cache(maxsize=None)
def _kept_bytes(token, device):
    """What a plan of the gradients prepares of a convolution's filter, where the convolution's own plan can read it;
    else 0. The plans need not exist; where there is no such device, they are for an H100 or H200."""
    device = device if device is not None and device < device_count() else None
    kernel, gradients = kernel_of(token, device), _gradients_of(token)
    try:
        return prepared_bytes_of(gradients, device) if kernel_of(gradients, device) == kernel else 0
    except ValueError:  # no kernel computes the gradients; backward() says so
        return 0


def _plan(token, device):
    plan = _plans.get((token, device))
    if plan is None:
        with torch.cuda.device(device):
            capturing = torch.cuda.is_current_stream_capturing()
        if capturing:
            raise RuntimeError(f"conv: {token} is captured before it ever ran, and making its plan allocates; run it "
                               "once before the capture")
        plan = _plans[token, device] = Plan(token, device)
    return plan


def _make_entry(signature, is_backward, u, k, mode, pregate, postgate, trains=False):
    _check(u, k, mode, pregate, postgate)
    token, device = _token(u, k, mode, pregate, postgate), u.get_device()
    gates = [name for name, gate in ((b"pregate", pregate), (b"postgate", postgate)) if gate is not None]
    sizes = [(b"k", k.nbytes), (b"u", u.nbytes), *((name, u.nbytes) for name in gates)]
    if is_backward:
        sizes += [(b"dy", u.nbytes), (b"du", u.nbytes), (b"dk", 4 * k.numel())]
        sizes += [(b"d" + name, u.nbytes) for name in gates]
    else:
        sizes.append((b"y", u.nbytes))
    with _making:
        plan = preparing = _plan(_gradients_of(token) if is_backward else token, device)
        if trains and _kept_bytes(token, device):
            preparing = _plan(_gradients_of(token), device)
        entry = _entries[signature] = _Entry(plan, preparing, u.shape[0], sizes)
    return entry


# Each line of what follows is at most a microsecond of every call; tools/host_cost.py measures their sum.

def _signature(kind, mode, u, k, pregate, postgate):
    """All that _check() looks at; every tensor that is on no GPU has the device -1."""
    return (kind, mode, u.shape, u.dtype, u.get_device(), k.shape, k.dtype, k.get_device(),
            None if pregate is None else (pregate.shape, pregate.dtype, pregate.get_device()),
            None if postgate is None else (postgate.shape, postgate.dtype, postgate.get_device()))


def _run(entry, spectrum, is_prepared, tensors):
    """One call with the tensors of an entry, in its order. The spectrum is written first where it is not there."""
    slots = entry.take()
    call = slots.call
    call.stream = torch._C._cuda_getCurrentRawStream(spectrum.get_device())
    call.prepared = spectrum.data_ptr()
    if entry.workspace_bytes:
        workspace = spectrum.new_empty(entry.workspace_bytes)
        call.workspace = workspace.data_ptr()
    for item, tensor in zip(slots.items, tensors):
        item.data = tensor.data_ptr()
    if is_prepared:
        status = library.danaus_execute(*slots.execute)
    elif entry.is_kept:
        status = library.danaus_prepare(*slots.prepare) or library.danaus_execute(*slots.execute)
    else:
        status = library.danaus_whole_call(*slots.whole_call)
    entry.idle.append(slots)
    if status:
        check(status)


def _forward(u, k, mode, pregate, postgate, trains=False):
    """y, and the spectrum where the backward pass can read it, else None."""
    u, k = u.contiguous(), k.contiguous()
    pregate = None if pregate is None else pregate.contiguous()
    postgate = None if postgate is None else postgate.contiguous()
    signature = _signature(trains, mode, u, k, pregate, postgate)
    entry = _entries.get(signature) or _make_entry(signature, False, u, k, mode, pregate, postgate, trains)
    y = torch.empty_like(u)
    spectrum = u.new_empty(entry.prepared_bytes, dtype=torch.uint8)
    tensors = [k, u, y]
    if postgate is not None:
        tensors.insert(2, postgate)
    if pregate is not None:
        tensors.insert(2, pregate)
    _run(entry, spectrum, False, tensors)
    return y, spectrum if entry.is_kept else None


def _conv_cuda(u, k, mode, pregate, postgate, trains=False):
    y, spectrum = _forward(u, k, mode, pregate, postgate, trains)
    return y, u.new_empty(0, dtype=torch.uint8) if spectrum is None else spectrum


def _conv_backward_cuda(dy, u, k, spectrum, mode, pregate, postgate, needed):
    """By a plan of its own; all gradients come at once."""
    dy, u, k, pregate, postgate = (None if x is None else x.contiguous() for x in (dy, u, k, pregate, postgate))
    signature = _signature("backward", mode, u, k, pregate, postgate)
    entry = _entries.get(signature) or _make_entry(signature, True, u, k, mode, pregate, postgate)
    du, dk = torch.empty_like(u), torch.empty_like(k, dtype=torch.float32)
    of_gates = [None if gate is None else torch.empty_like(gate) for gate in (pregate, postgate)]
    is_prepared = spectrum.numel() > 0
    if not is_prepared:
        spectrum = u.new_empty(entry.prepared_bytes, dtype=torch.uint8)
    tensors = [k, u, pregate, postgate, dy, du, dk, *of_gates]
    _run(entry, spectrum, is_prepared, [tensor for tensor in tensors if tensor is not None])
    gradients = (du, dk.to(k.dtype), *of_gates)
    return tuple(gradient if is_needed else u.new_empty(0) for gradient, is_needed in zip(gradients, needed))


# Without data: shapes for torch.compile. H, L and K become constants of the graph, since kernels are made for them.

@torch.library.register_fake("danaus::conv", lib=_library)
def _conv_fake(u, k, mode, pregate, postgate, trains=False):
    _check(u, k, mode, pregate, postgate)
    y = torch.empty_like(u, memory_format=torch.contiguous_format)
    if u.device.type == "cuda":
        some = u.new_empty((1 if u.shape[0] == 1 else 2, *u.shape[1:]), device="meta")  # of any batch
        kept = _kept_bytes(_token(some, k, mode, pregate, postgate), u.device.index)
        return y, u.new_empty(kept if trains else 0, dtype=torch.uint8)
    points = _points(mode, int(u.shape[2]), int(k.shape[1]))
    complex_type = torch.complex128 if u.dtype == torch.float64 else torch.complex64
    return y, k.new_empty((k.shape[0], points // 2 + 1) if trains else 0, dtype=complex_type)


@torch.library.register_fake("danaus::conv_backward", lib=_library)
def _conv_backward_fake(dy, u, k, spectrum, mode, pregate, postgate, needed):
    def like(tensor, is_needed):
        return torch.empty_like(tensor, memory_format=torch.contiguous_format) if is_needed else tensor.new_empty(0)
    return like(u, needed[0]), like(k, needed[1]), like(u, needed[2]), like(u, needed[3])


_library.impl("conv", _conv_cpu, "CPU")
_library.impl("conv", _conv_cuda, "CUDA")
_library.impl("conv_backward", _conv_backward_cpu, "CPU")
_library.impl("conv_backward", _conv_backward_cuda, "CUDA")


# Gradients. The spectrum is of the call, not of the plan: one plan serves layers and threads with filters of their own.

def _setup_context(ctx, inputs, output):
    u, k, mode, pregate, postgate, _ = inputs
    spectrum = output[1]
    ctx.mark_non_differentiable(spectrum)
    ctx.save_for_backward(u, k, spectrum, pregate, postgate)
    ctx.mode = mode


def _backward(ctx, dy, _):
    u, k, spectrum, pregate, postgate = ctx.saved_tensors
    needed = [ctx.needs_input_grad[i] for i in (0, 1, 3, 4)]
    gradients = torch.ops.danaus.conv_backward(dy, u, k, spectrum, ctx.mode, pregate, postgate, needed)
    du, dk, dpregate, dpostgate = (gradient if is_needed else None for gradient, is_needed in zip(gradients, needed))
    return du, dk, None, dpregate, dpostgate, None


def _second_derivative(ctx, *_):
    raise NotImplementedError("danaus::conv_backward: second derivatives are not there; leave create_graph out")


torch.library.register_autograd("danaus::conv", _backward, setup_context=_setup_context, lib=_library)
torch.library.register_autograd("danaus::conv_backward", _second_derivative, lib=_library)

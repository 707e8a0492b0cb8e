"""Convolutions as operators of PyTorch: danaus.torch.conv, short_conv, gated_conv, and under them torch.ops.danaus.

They work with autograd, torch.compile(fullgraph=True), CUDA graphs, autocast, any stream, several devices and threads.
Tensors of the CPU, and float32 and float64 tensors of a GPU, go through PyTorch's own functions, in their own precision
(16 bits in float32); float16 and bfloat16 tensors of a GPU go through the fused kernels. Built against no version of
PyTorch: the library is called by its C interface. Long convolutions are here, short ones in _torch_short.py, both
together in _torch_gated.py, filters that stay in _torch_filter.py.
"""

import functools

import torch
from torch import Tensor

from danaus._library import device_count, layout_of, prepared_bytes_of
from danaus._tensors import (DISPATCHED, PLAIN, SIXTEEN, TRAINED, WORDS, autocast, batch_word, broadcast, check_tensors,
                             clear_plans, contiguous, entries, gated, gradients_of_nothing, like, make_entry,
                             needs_gradient, operators, reach_of, require_like, require_near, require_plain_tensors, rows, run,
                             second_derivative, strides_of, way_of, working)
from danaus._torch_filter import Filter
from danaus._torch_gated import gated_conv
from danaus._torch_short import short_conv
from danaus.convolution import MODES

__all__ = ["Filter", "clear_plans", "conv", "gated_conv", "short_conv"]


def conv(u: Tensor, k: Tensor | Filter, mode: str = "causal", pregate: Tensor = None,
         postgate: Tensor = None) -> Tensor:
    """y = postgate * conv(pregate * u, k) [B, H, L], of the type of u.

    u, gates   [B, H, L], of one type: float16, bfloat16, float32 or float64. Under autocast they take its type. Slices
               of a larger tensor, with L its last axis, are read where they are; others are copied.
    k          [H, K], of the type of u, or float32 where that has 16 bits, or a Filter of it. k[..., 0] multiplies the
               current sample. Samples beyond L are cut (causal) or wrap (circular).
    mode       "causal": y[n] = sum of k[m] u[n - m] over m <= n; "circular": over all m, indices modulo L.

    H broadcasts as in NumPy: one row [B, 1, L] goes with several filters, one filter [1, K] with several rows. Then
    gates broadcast to the shape of u, by a copy. B = 0 and H = 0 give an empty y.

    Relative L2 error: on a GPU float16 about 1e-3 and bfloat16 9e-3, by the fused kernels, more where few numbers are
    much larger than the others; float32 1e-6 and float64 1e-14 there and on the CPU, by torch.fft, which takes several
    times as long and more memory; 16 bits on the CPU are computed in float32 and rounded once.

    On a GPU it runs on the current stream. The first call of a shape in 16 bits makes a plan, which all layers and
    threads share; while a graph is captured there must be one already. The 512 plans that were used last are kept,
    clear_plans() frees them. A compiled graph is specialised to H, L and K, not to B. Gradients with respect to all
    four; second derivatives and those of forward mode raise NotImplementedError. On a GPU that of k is summed over the
    batch in float32, in an order that the shapes fix; where one is to come, the filter's spectrum and its conjugate,
    8 H N bytes, are kept for the backward pass.

    Raises ValueError for shapes, devices and a mode that do not go together or that no kernel computes, TypeError for
    types, RuntimeError where a graph is captured too early, danaus.CudaError, and MemoryError.
    """
    kept = None
    if isinstance(k, Filter):
        kept, k = k, k.k
    way = DISPATCHED if torch.compiler.is_compiling() else way_of(u, k, pregate, postgate)
    if (way == DISPATCHED or u is None or k is None or not u.is_cuda) and not torch.compiler.is_compiling():
        require_plain_tensors("conv", ("u", "k"), u=u, k=k, pregate=pregate, postgate=postgate)
    by_plans = way != DISPATCHED and u.is_cuda and u.dtype in SIXTEEN
    if by_plans and way == PLAIN and kept is not None:
        return _forward_of(kept, u, mode, pregate, postgate)
    u, k, pregate, postgate = broadcast(1, u, k, pregate, postgate)
    if by_plans and way == TRAINED:
        return _Trained.apply(u, k, mode, pregate, postgate)
    if by_plans:
        return _forward(u, k, mode, pregate, postgate)[0]
    (u, pregate, postgate), (k,) = autocast(u.device.type, (u, pregate, postgate), (k,))
    trains = needs_gradient(u, k, pregate, postgate)
    return torch.ops.danaus.conv.default(u, k, mode, pregate, postgate, trains)[0]


# What an operator is given, in the order of its schema. The second result of conv is what the backward pass reads of
# the filter; it is empty where none is to come (trains=False), or where that needs another kernel. A backward pass that
# is given an empty one transforms the filter itself.

operators.define("conv(Tensor u, Tensor k, str mode, Tensor? pregate, Tensor? postgate, bool trains=False) "
                 "-> (Tensor, Tensor)",
                 tags=(torch.Tag.pt2_compliant_tag,))
operators.define("conv_backward(Tensor dy, Tensor u, Tensor k, Tensor spectrum, str mode, Tensor? pregate, "
                 "Tensor? postgate, bool[] needed) -> (Tensor, Tensor, Tensor, Tensor)",
                 tags=(torch.Tag.pt2_compliant_tag,))


def _check(u, k, mode, pregate, postgate):
    if mode not in MODES:
        raise ValueError(f"conv: mode {mode!r}, must be one of {', '.join(MODES)}")
    check_tensors("conv", "[B, H, L]", u, k, pregate=pregate, postgate=postgate)


# By PyTorch: torch.fft at a size that the linear convolution fits into, or at L for the circular one. conj_physical():
# a lazy conj() is lost where a compiled graph calls the operator.

def _points(mode, length, taps):
    """Of the real FFT; causal the least of 2^n, 3 2^n and 5 2^n that hold all samples."""
    if mode == "circular":
        return length
    least = length + min(length, taps) - 1
    sizes = [factor << (-(-least // factor) - 1).bit_length() for factor in (1, 3, 5)]
    return max(2, min(sizes))


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


def _spectrum(k, mode, length, points):
    return _transformed(_folded(working(k), mode, length), points)


def _conv_by_fft(u, k, mode, pregate, postgate, trains=False):
    _check(u, k, mode, pregate, postgate)
    length = u.shape[2]
    points = _points(mode, length, k.shape[1])
    if k.shape[0] == 0:  # which no transform takes
        empty = torch.empty((0, points // 2 + 1), dtype=working(u).dtype.to_complex(), device=u.device)
        return like(u), empty if trains else empty[0:0, 0]
    spectrum = _spectrum(k, mode, length, points)
    if u.numel() == 0:
        return like(u), spectrum if trains else spectrum.new_empty(0)
    x = _transformed(gated(working(u), pregate), points)
    y = gated(_back(x * spectrum, points, length), postgate)
    return y.to(u.dtype).contiguous(), spectrum if trains else spectrum.new_empty(0)


def _filter_gradient(of_taps, k, mode, length):
    """[H, K] from that of the samples that matter."""
    taps = k.shape[1]
    if taps > length and mode == "causal":
        of_taps = torch.nn.functional.pad(of_taps, (0, taps - length))
    elif taps > length:
        of_taps = of_taps.repeat(1, -(-taps // length))[:, :taps]
    return of_taps.to(k.dtype).contiguous()


def _conv_backward_by_fft(dy, u, k, spectrum, mode, pregate, postgate, needed):
    _check_backward(dy, u, k, spectrum, mode, pregate, postgate)
    if u.numel() == 0:
        return gradients_of_nothing((u, k, u, u), needed)
    length, taps = u.shape[2], k.shape[1]
    points = _points(mode, length, taps)
    if spectrum.numel() == 0:
        spectrum = _spectrum(k, mode, length, points)
    elif spectrum.shape != (k.shape[0], points // 2 + 1) or not spectrum.is_complex():
        raise ValueError(f"conv_backward: spectrum is {spectrum.dtype} {tuple(spectrum.shape)}, must be what conv() "
                         f"returned for u and k, {(k.shape[0], points // 2 + 1)}, or empty")
    of_u, of_k, of_pregate, of_postgate = needed
    du, dk, dpregate, dpostgate = u.new_empty(0), k.new_empty(0), u.new_empty(0), u.new_empty(0)
    before = _transformed(gated(working(dy), postgate), points)  # of the gradient of what the postgate multiplies
    if of_u or of_pregate:
        dx = _back(before * torch.conj_physical(spectrum), points, length)
        du = gated(dx, pregate).to(u.dtype).contiguous() if of_u else du
        dpregate = (dx * working(u)).to(u.dtype).contiguous() if of_pregate else dpregate
    if of_k or of_postgate:
        x = _transformed(gated(working(u), pregate), points)
        if of_k:
            of_taps = _back((before * torch.conj_physical(x)).sum(0), points, min(length, taps))
            dk = _filter_gradient(of_taps, k, mode, length)
        if of_postgate:
            dpostgate = (working(dy) * _back(x * spectrum, points, length)).to(u.dtype).contiguous()
    return du, dk, dpregate, dpostgate


def _check_backward(dy, u, k, spectrum, mode, pregate, postgate):
    require_like("conv_backward", u, dy)
    require_near("conv_backward", u, spectrum=spectrum)
    _check(u, k, mode, pregate, postgate)


# A GPU: 16 bits by plans.

def _token(u, k, mode, pregate, postgate):
    batch, channels, length = (int(extent) for extent in u.shape)
    words = ["fftconv", WORDS[u.dtype], mode, f"l{length}"]
    if k.shape[1] != length:
        words.append(f"k{int(k.shape[1])}")
    if k.dtype in SIXTEEN:
        words.append(f"k{WORDS[k.dtype]}")
    words += [batch_word(batch), f"h{channels}"]
    words += ["pregate"] * (pregate is not None) + ["postgate"] * (postgate is not None)
    return "_".join(words)


def _gradients_of(token):
    return token.replace("fftconv", "fftconvgrad", 1)


@functools.lru_cache(maxsize=4096)
def _kept_bytes(token, device):
    """What a plan of the gradients prepares of a convolution's filter, where the convolution's own plan can read it;
    else 0. The plans need not exist; where there is no such device, they are for an H100 or H200."""
    device = device if device is not None and device < device_count() else None
    layout, gradients = layout_of(token, device), _gradients_of(token)
    try:
        return prepared_bytes_of(gradients, device) if layout_of(gradients, device) == layout else 0
    except ValueError:  # no kernel computes the gradients; backward() says so
        return 0


def _make_entry(signature, is_backward, u, k, mode, pregate, postgate, trains=False, dy=None):
    """None where there are no rows."""
    _check(u, k, mode, pregate, postgate)
    if u.numel() == 0:
        return None
    token, device = _token(u, k, mode, pregate, postgate), u.get_device()
    gates = [name for name, gate in ((b"pregate", pregate), (b"postgate", postgate)) if gate is not None]
    rows_read = [(b"u", u), *((name, gate) for name, gate in ((b"pregate", pregate), (b"postgate", postgate))
                              if gate is not None), *(((b"dy", dy),) if is_backward else ())]
    strides = [(name, *strides_of(x)) for name, x in rows_read if not x.is_contiguous()]
    reach = {name: reach_of(x) for name, x in rows_read}
    sizes = [(b"k", k.nbytes), (b"u", reach[b"u"]), *((name, reach[name]) for name in gates)]
    if is_backward:
        sizes += [(b"dy", reach[b"dy"]), (b"du", u.nbytes), (b"dk", 4 * k.numel())]
        sizes += [(b"d" + name, u.nbytes) for name in gates]
    else:
        sizes.append((b"y", u.nbytes))
    preparing = _gradients_of(token) if trains and _kept_bytes(token, device) else None
    return make_entry("conv", signature, _gradients_of(token) if is_backward else token, device, u.shape[0], 1, sizes,
                      preparing, strides)


def _signature(kind, mode, u, k, pregate, postgate, dy=None):
    """All that _check() looks at, and strides; every tensor that is on no GPU has the device -1."""
    return (kind, mode, u.shape, u.dtype, u.get_device(), u.stride(), k.shape, k.dtype, k.get_device(),
            None if pregate is None else (pregate.shape, pregate.dtype, pregate.get_device(), pregate.stride()),
            None if postgate is None else (postgate.shape, postgate.dtype, postgate.get_device(), postgate.stride()),
            None if dy is None else dy.stride())


def _forward(u, k, mode, pregate, postgate, trains=False):
    """y, and the spectrum where the backward pass can read it, else None."""
    (u, pregate, postgate), (k,) = rows(u, pregate, postgate), contiguous(k)
    signature = _signature(trains, mode, u, k, pregate, postgate)
    entry = entries.get(signature) or _make_entry(signature, False, u, k, mode, pregate, postgate, trains)
    if entry is None:
        return like(u), None
    spectrum = u.new_empty(entry.prepared_bytes, dtype=torch.uint8)
    return _convolve(entry, spectrum, False, u, k, pregate, postgate), spectrum if entry.is_kept else None


def _forward_of(kept, u, mode, pregate, postgate):
    """y, by the spectrum that a Filter keeps, or keeps from now on."""
    source = kept.k
    u, k, pregate, postgate = broadcast(1, u, source, pregate, postgate)
    u, pregate, postgate = rows(u, pregate, postgate)
    signature = _signature(False, mode, u, k, pregate, postgate)
    entry = entries.get(signature) or _make_entry(signature, False, u, k, mode, pregate, postgate)
    if entry is None:
        return like(u)
    with kept._lock:
        spectrum = kept._spectrum(entry, source, k, mode, u.shape[2])
        return _convolve(entry, spectrum, True, u, k, pregate, postgate)


def _convolve(entry, spectrum, is_prepared, u, k, pregate, postgate):
    y = like(u)
    tensors = [k, u, y]
    if postgate is not None:
        tensors.insert(2, postgate)
    if pregate is not None:
        tensors.insert(2, pregate)
    run(entry, spectrum, is_prepared, tensors)
    return y


def _conv_cuda(u, k, mode, pregate, postgate, trains=False):
    if u.dtype not in SIXTEEN:
        return _conv_by_fft(u, k, mode, pregate, postgate, trains)
    y, spectrum = _forward(u, k, mode, pregate, postgate, trains)
    return y, u.new_empty(0, dtype=torch.uint8) if spectrum is None else spectrum


def _conv_backward_cuda(dy, u, k, spectrum, mode, pregate, postgate, needed):
    """In 16 bits by a plan of its own; all gradients come at once."""
    if u.dtype not in SIXTEEN:
        return _conv_backward_by_fft(dy, u, k, spectrum, mode, pregate, postgate, needed)
    require_like("conv_backward", u, dy)
    require_near("conv_backward", u, spectrum=spectrum)
    (dy, u, pregate, postgate), (k,) = rows(dy, u, pregate, postgate), contiguous(k)
    signature = _signature("backward", mode, u, k, pregate, postgate, dy)
    entry = entries.get(signature) or _make_entry(signature, True, u, k, mode, pregate, postgate, dy=dy)
    if entry is None:
        return gradients_of_nothing((u, k, u, u), needed)
    if spectrum.numel() and (spectrum.nbytes != entry.prepared_bytes or spectrum.dtype != torch.uint8
                             or not spectrum.is_contiguous()):
        raise ValueError(f"conv_backward: spectrum is {spectrum.dtype} {tuple(spectrum.shape)}, must be what conv() "
                         f"returned for u and k, torch.uint8 ({entry.prepared_bytes},), or empty")
    du, dk = like(u), torch.empty_like(k, dtype=torch.float32)
    of_gates = [None if gate is None else like(gate) for gate in (pregate, postgate)]
    is_prepared = spectrum.numel() > 0
    if not is_prepared:
        spectrum = u.new_empty(entry.prepared_bytes, dtype=torch.uint8)
    tensors = [k, u, pregate, postgate, dy, du, dk, *of_gates]
    run(entry, spectrum, is_prepared, [tensor for tensor in tensors if tensor is not None])
    gradients = (du, dk.to(k.dtype), *of_gates)
    return tuple(gradient if is_needed else u.new_empty(0) for gradient, is_needed in zip(gradients, needed))


# Without data: shapes for torch.compile. H, L and K become constants of the graph, since kernels are made for them.

@torch.library.register_fake("danaus::conv", lib=operators)
def _conv_fake(u, k, mode, pregate, postgate, trains=False):
    _check(u, k, mode, pregate, postgate)
    if u.device.type == "cuda" and u.dtype in SIXTEEN:
        if u.numel() == 0:
            return like(u), u.new_empty(0, dtype=torch.uint8)
        some = u.new_empty((1 if u.shape[0] == 1 else 2, *u.shape[1:]), device="meta")  # of any batch
        kept = _kept_bytes(_token(some, k, mode, pregate, postgate), u.device.index)
        return like(u), u.new_empty(kept if trains else 0, dtype=torch.uint8)
    points = _points(mode, int(u.shape[2]), int(k.shape[1]))
    complex_type = torch.complex128 if u.dtype == torch.float64 else torch.complex64
    return like(u), k.new_empty((k.shape[0], points // 2 + 1) if trains else 0, dtype=complex_type)


@torch.library.register_fake("danaus::conv_backward", lib=operators)
def _conv_backward_fake(dy, u, k, spectrum, mode, pregate, postgate, needed):
    return tuple(like(x) if is_needed else x.new_empty(0) for x, is_needed in zip((u, k, u, u), needed))


operators.impl("conv", _conv_by_fft, "CPU")
operators.impl("conv", _conv_cuda, "CUDA")
operators.impl("conv_backward", _conv_backward_by_fft, "CPU")
operators.impl("conv_backward", _conv_backward_cuda, "CUDA")


# Gradients. The spectrum is of the call, not of the plan: one plan serves layers and threads with filters of their own.

def _setup_context(ctx, inputs, output):
    u, k, mode, pregate, postgate, _ = inputs
    spectrum = output[1]
    ctx.mark_non_differentiable(spectrum)
    ctx.save_for_backward(u, k, spectrum, pregate, postgate)
    ctx.mode = mode


def _backward(ctx, dy, _, backward=torch.ops.danaus.conv_backward):
    u, k, spectrum, pregate, postgate = ctx.saved_tensors
    needed = [ctx.needs_input_grad[i] for i in (0, 1, 3, 4)]
    gradients = backward(dy, u, k, spectrum, ctx.mode, pregate, postgate, needed)
    du, dk, dpregate, dpostgate = (gradient if is_needed else None for gradient, is_needed in zip(gradients, needed))
    return du, dk, None, dpregate, dpostgate, None


class _Trained(torch.autograd.Function):
    """On a GPU, of a call that autograd alone has to see: the same without the dispatcher, which would take several
    times as long on the host as all else."""

    @staticmethod
    def forward(ctx, u, k, mode, pregate, postgate):
        y, spectrum = _conv_cuda(u, k, mode, pregate, postgate, True)
        ctx.save_for_backward(u, k, spectrum, pregate, postgate)
        ctx.mode = mode
        return y

    @staticmethod
    def backward(ctx, dy):
        # Not where second derivatives are to come.
        is_plain = not torch.compiler.is_compiling() and way_of(dy, *ctx.saved_tensors) == PLAIN
        return _backward(ctx, dy, None, _conv_backward_cuda if is_plain else torch.ops.danaus.conv_backward)[:5]


torch.library.register_autograd("danaus::conv", _backward, setup_context=_setup_context, lib=operators)
torch.library.register_autograd("danaus::conv_backward", second_derivative("conv"), lib=operators)

"""What stands between the two matrix products of a Hyena or H3 layer: danaus.torch.gated_conv."""

import torch
from torch import Tensor
from torch.nn.functional import gelu, pad, sigmoid, silu

from danaus._tensors import (PLAIN, SIXTEEN, WORDS, autocast, batch_word, contiguous, entries, like, make_entry,
                             needs_gradient, operators, reach_of, require_plain_tensors, rows, run, strides_of, way_of)
from danaus._torch_filter import Filter
from danaus._torch_short import short_conv
from danaus.convolution import MODES

MOST_TAPS = 8
PARTS = ("postgate", "pregate", "u")  # in the order of Hyena's and H3's projections: x0, x1, v and q, k, v
ACTIVATIONS = {"gelu": gelu, "sigmoid": sigmoid, "silu": silu}


def gated_conv(z: Tensor, k: Tensor | Filter, taps: Tensor = None, bias: Tensor = None, skip: Tensor = None,
               mode: str = "causal", order: tuple[str, ...] = PARTS, interleaved: bool = False,
               gate_activation: str = None, activation: str = None) -> Tensor:
    """y = postgate * (conv(x, k) + skip * x), x = pregate * u, [B, H, L]: u and the gates are parts of a projection z.

    z          [B, P H, L], float16, bfloat16, float32 or float64; under autocast of its type. P parts of H channels, as
               order names them; of the type of z, where they are, if L is its last axis in memory: none is copied.
    k          [H, K] as conv() takes it, or a Filter of it. mode "bidirectional": [H, 2 L - 1], and k[..., L - 1]
               multiplies the current sample.
    taps       [P H, T] of 1 to 8 taps: each channel of z is convolved with its own first, as by short_conv(), of whose
               type it is. bias [P H] goes with it. Weights w of torch.nn.Conv1d are taps = w[:, 0].flip(1).
    skip       [H], the D of state-space models.
    order      which part stands where in z: "u", and "pregate" and "postgate" where there are such gates.
    interleaved  channel h of part p is z[:, P h + p], not z[:, H p + h].
    gate_activation, activation   "gelu", "sigmoid" or "silu" of the postgate, of y: an element-wise pass each.

    Errors, streams, plans, graphs, compiled graphs and gradients, with respect to all five tensors, are those of conv()
    and short_conv(). With 2 to 8 taps, in 16 bits on a GPU, where no gradient is to come, one kernel does all the work,
    up to 24K samples a row; longer rows are filtered by one kernel and convolved by others. Else short_conv() and
    conv() do it. The skip is added to k[:, 0]. A bidirectional convolution pads rows to 2 L.

    Raises ValueError for shapes and words that do not go together, TypeError for types, and what conv() raises.
    """
    filter_of = k.k if isinstance(k, Filter) else k
    if not torch.compiler.is_compiling():
        require_plain_tensors("gated_conv", ("z", "k"), z=z, k=filter_of, taps=taps, bias=bias, skip=skip)
    _check(z, filter_of, taps, bias, skip, mode, order, gate_activation, activation)
    if isinstance(k, Filter) and (skip is not None or mode == "bidirectional"):
        what = "a skip" if skip is not None else "mode='bidirectional'"
        raise TypeError(f"gated_conv: k is a Filter, with {what} it must be a torch.Tensor; a Filter of k whose "
                        "k[:, 0] has the skip added needs none")
    if not isinstance(k, Filter):
        (z,), (k, taps, bias) = autocast(z.device.type, (z,), (k, taps, bias))
        k = k if skip is None else _with_skip(k, skip, z.shape[2] - 1 if mode == "bidirectional" else 0)
    if _in_one(z, k, taps, bias, mode, gate_activation):
        y = _convolved(z, k, taps, bias, mode, order, interleaved)
        return ACTIVATIONS[activation](y) if activation else y
    if taps is not None:
        z = short_conv(z, taps, bias)
    parts = dict(zip(order, _parts_of(z, len(order), interleaved)))
    if gate_activation:
        parts["postgate"] = ACTIVATIONS[gate_activation](parts["postgate"])
    y = _bidirectional(k, **parts) if mode == "bidirectional" else _conv(k, mode, **parts)
    return ACTIVATIONS[activation](y) if activation else y


def _check(z, k, taps, bias, skip, mode, order, gate_activation, activation):
    if mode not in (*MODES, "bidirectional"):
        raise ValueError(f"gated_conv: mode {mode!r}, must be one of {', '.join(MODES)}, bidirectional")
    if "u" not in order or len(set(order)) < len(order) or not set(order) <= set(PARTS):
        raise ValueError(f"gated_conv: order {tuple(order)}, must have u, and pregate and postgate at most once")
    for name, word in (("gate_activation", gate_activation), ("activation", activation)):
        if word is not None and word not in ACTIVATIONS:
            raise ValueError(f"gated_conv: {name} {word!r}, must be one of {', '.join(ACTIVATIONS)}")
    if gate_activation is not None and "postgate" not in order:
        raise ValueError(f"gated_conv: gate_activation {gate_activation!r}, but order has no postgate")
    if k.ndim != 2:
        raise ValueError(f"gated_conv: k has shape {tuple(k.shape)}, must be [H, K]")
    channels = len(order) * k.shape[0]
    if z.ndim != 3 or z.shape[1] != channels:
        raise ValueError(f"gated_conv: z has shape {tuple(z.shape)}, must be [B, {channels}, L], {len(order)} parts of "
                         f"H={k.shape[0]} channels, as in k")
    both_ways = 2 * z.shape[2] - 1
    if mode == "bidirectional" and k.shape[1] != both_ways:
        raise ValueError(f"gated_conv: k has {k.shape[1]} taps, bidirectional it must have 2 L - 1 = {both_ways}")
    if taps is None and bias is not None:
        raise ValueError("gated_conv: bias without taps, whose convolution it is added to")
    if taps is not None and (taps.ndim != 2 or taps.shape[0] != channels or not 1 <= taps.shape[1] <= MOST_TAPS):
        raise ValueError(f"gated_conv: taps has shape {tuple(taps.shape)}, must be [{channels}, T], T from 1 to "
                         f"{MOST_TAPS}; short_conv takes more taps")
    if skip is None:
        return
    if skip.dtype not in (k.dtype, torch.float32):
        raise TypeError(f"gated_conv: skip is {skip.dtype}, must be {k.dtype} as k, or torch.float32")
    if skip.shape != k.shape[:1]:
        raise ValueError(f"gated_conv: skip has shape {tuple(skip.shape)}, must be ({k.shape[0]},), H of k")


def _with_skip(k, skip, current):
    """k with the skip added to the tap of the current sample, in float32 where either is."""
    dtype = torch.promote_types(k.dtype, skip.dtype)
    return torch.cat([k[:, :current], (k[:, current] + skip).to(dtype)[:, None], k[:, current + 1:]], 1).to(dtype)


def _parts_of(z, count, interleaved):
    """Views; their gradients are put together in one pass."""
    batch, channels, length = z.shape
    if interleaved:
        return z.view(batch, channels // count, count, length).unbind(2)
    return z.view(batch, count, channels // count, length).unbind(1)


# In one launch, or two where rows are long: by a plan of the operation gatedconv, without gradients.

operators.define("gated_conv(Tensor u, Tensor k, str mode, Tensor? pregate, Tensor? postgate, Tensor taps, "
                 "Tensor? bias) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))


def _in_one(z, k, taps, bias, mode, gate_activation):
    filter_of = k.k if isinstance(k, Filter) else k
    return (z.is_cuda and z.dtype in SIXTEEN and taps is not None and taps.shape[1] > 1 and mode in MODES
            and gate_activation is None and not needs_gradient(z, filter_of, taps, bias))


def _convolved(z, k, taps, bias, mode, order, interleaved):
    rows_of = dict(zip(order, _parts_of(z, len(order), interleaved)))
    names = [name for name in ("u", "pregate", "postgate") if name in order]

    def of_parts(filters):
        """[P, H, ...] in float32, in the order of names."""
        of = dict(zip(order, _parts_of(filters[None], len(order), interleaved)))
        return torch.cat([of[name] for name in names]).float()

    kept, k = (k, k.k) if isinstance(k, Filter) else (None, k)
    arguments = (rows_of["u"], k, mode, rows_of.get("pregate"), rows_of.get("postgate"), of_parts(taps),
                 None if bias is None else of_parts(bias[:, None])[..., 0])
    if not torch.compiler.is_compiling() and way_of(z, k, taps, bias) == PLAIN:
        return _gated_cuda(*arguments, kept)
    return torch.ops.danaus.gated_conv.default(*arguments)


def _gated_by_parts(u, k, mode, pregate, postgate, taps, bias):
    """By PyTorch, on a CPU."""
    parts, number = {"u": u, "pregate": pregate, "postgate": postgate}, 0
    for name, rows_of in parts.items():
        if rows_of is not None:
            parts[name] = short_conv(rows_of, taps[number].to(u.dtype), None if bias is None else bias[number].to(u.dtype))
            number += 1
    return _conv(k, mode, **parts)


def _gated_cuda(u, k, mode, pregate, postgate, taps, bias, kept=None):
    (u, pregate, postgate), (k, taps, bias) = rows(u, pregate, postgate), contiguous(k, taps, bias)
    tensors = [(b"k", k), (b"u", u), (b"pregate", pregate), (b"postgate", postgate), (b"taps", taps), (b"bias", bias)]
    tensors = [(name, tensor) for name, tensor in tensors if tensor is not None]
    y = like(u)
    signature = ("gated_conv", mode, *((name, x.shape, x.dtype, x.get_device(), x.stride()) for name, x in tensors))
    entry = entries.get(signature) or _make_entry(signature, mode, tensors, y)
    if entry is None:
        return y
    call = [tensor for _, tensor in tensors] + [y]
    if kept is None:
        run(entry, u.new_empty(entry.prepared_bytes, dtype=torch.uint8), False, call)
    else:
        with kept._lock:
            run(entry, kept._spectrum(entry, kept.k, k, mode, u.shape[2]), True, call)
    return y


def _make_entry(signature, mode, tensors, y):
    """None where there are no rows."""
    from danaus.torch import _check
    of = dict(tensors)
    u, k = of[b"u"], of[b"k"]
    _check(u, k, mode, of.get(b"pregate"), of.get(b"postgate"))
    if u.numel() == 0:
        return None
    batch, channels, length = (int(extent) for extent in u.shape)
    words = ["gatedconv", WORDS[u.dtype], mode, f"l{length}"]
    words += [f"k{int(k.shape[1])}"] * (k.shape[1] != length) + [f"k{WORDS[k.dtype]}"] * (k.dtype in SIXTEEN)
    words += [batch_word(batch), f"h{channels}", *(name.decode() for name in (b"pregate", b"postgate") if name in of)]
    words += [f"taps{int(of[b'taps'].shape[2])}", *(["bias"] * (b"bias" in of))]
    of_rows = {b"u", b"pregate", b"postgate"}
    sizes = [(name, reach_of(x) if name in of_rows else x.nbytes) for name, x in tensors] + [(b"y", y.nbytes)]
    strides = [(name, *strides_of(x)) for name, x in tensors if name in of_rows and not x.is_contiguous()]
    return make_entry("gated_conv", signature, "_".join(words), u.get_device(), batch, 1, sizes, None, strides)


operators.impl("gated_conv", _gated_by_parts, "CPU")
operators.impl("gated_conv", _gated_cuda, "CUDA")


@torch.library.register_fake("danaus::gated_conv", lib=operators)
def _gated_fake(u, k, mode, pregate, postgate, taps, bias):
    for extent in (*u.shape[1:], k.shape[1], taps.shape[2]):
        int(extent)  # a constant of the graph: plans are made for it
    return like(u)


def _conv(k, mode, u, pregate=None, postgate=None):
    from danaus.torch import conv  # which needs this module
    return conv(u, k, mode, pregate, postgate)


def _bidirectional(k, u, pregate=None, postgate=None):
    """Circular over 2 L samples, of which the second half of the rows is zero."""
    length = u.shape[2]
    x = pad(u if pregate is None else u * pregate, (0, length))
    ahead, behind = k[:, length - 1:], k[:, :length - 1]
    y = _conv(torch.cat([ahead, torch.zeros_like(k[:, :1]), behind], 1), "circular", x)[..., :length]
    return y.contiguous() if postgate is None else y * postgate

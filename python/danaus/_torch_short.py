"""Short depthwise convolutions as an operator of PyTorch: danaus.torch.short_conv, torch.ops.danaus.short_conv."""

import torch
from torch import Tensor
from torch.nn.functional import conv1d, pad

from danaus._tensors import (DISPATCHED, PLAIN, SIXTEEN, TRAINED, WORDS, autocast, batch_word, broadcast, check_tensors,
                             contiguous, entries, gated, gradients_of_nothing, like, make_entry, operators,
                             require_like, require_near, require_plain_tensors, run, second_derivative, way_of, working)
from danaus.convolution import PADDINGS

MOST_TAPS = 256


def short_conv(u: Tensor, k: Tensor, bias: Tensor = None, padding: str = "causal", pregate: Tensor = None,
               postgate: Tensor = None, channels_last: bool = False) -> Tensor:
    """y = postgate * (conv(pregate * u, k) + bias), of the shape and type of u, by a filter of 1 to 256 taps.

    u, gates   [B, H, L], with channels_last [B, L, H], all alike: float16, bfloat16, float32 or float64. Under autocast
               they take its type. What is not contiguous is copied.
    k          [H, K], of the type of u, or float32 where that has 16 bits. Samples outside of 0 to L - 1 are zero.
    bias       [H], of the type of k.
    padding    "causal": y[n] = sum of k[m] u[n - m]; "same": of k[m] u[n + K // 2 - m], centred. Weights w of
               torch.nn.Conv1d are k = w[:, 0].flip(1).

    Relative L2 error: float16 about 5e-4 and bfloat16 4e-3, of sums in float32 rounded once, after one rounding by each
    gate; float32 1e-6 and float64 1e-14, by torch.nn.functional.conv1d, as all filters of one tap and all tensors of
    the CPU. (Of one channel cuDNN takes TF32, 1e-3, where torch.backends.cudnn.allow_tf32 lets it.)

    H broadcasts, empty batches, streams, plans, graphs and compiled graphs, gradients with respect to all five, and
    what is raised, are as of danaus.torch.conv. For the backward pass nothing is kept but the arguments.
    """
    way = DISPATCHED if torch.compiler.is_compiling() else way_of(u, k, bias, pregate, postgate)
    if (way == DISPATCHED or u is None or k is None or not u.is_cuda) and not torch.compiler.is_compiling():
        require_plain_tensors("short_conv", ("u", "k"), u=u, k=k, bias=bias, pregate=pregate, postgate=postgate)
    u, k, pregate, postgate = broadcast(2 if channels_last else 1, u, k, pregate, postgate)
    if bias is not None and bias.shape == (1,) and k.ndim == 2:
        bias = bias.expand(k.shape[0])
    if way != DISPATCHED and u.is_cuda and _has_plan(u, k):
        call = _Trained.apply if way == TRAINED else _short_conv_cuda
        return call(u, k, bias, padding, pregate, postgate, channels_last)
    (u, pregate, postgate), (k, bias) = autocast(u.device.type, (u, pregate, postgate), (k, bias))
    return torch.ops.danaus.short_conv.default(u, k, bias, padding, pregate, postgate, channels_last)


operators.define("short_conv(Tensor u, Tensor k, Tensor? bias, str padding, Tensor? pregate, Tensor? postgate, "
                 "bool channels_last) -> Tensor",
                 tags=(torch.Tag.pt2_compliant_tag,))
operators.define("short_conv_backward(Tensor dy, Tensor u, Tensor k, Tensor? bias, str padding, Tensor? pregate, "
                 "Tensor? postgate, bool channels_last, bool[] needed) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
                 tags=(torch.Tag.pt2_compliant_tag,))


def _check(u, k, bias, padding, pregate, postgate, channels_last):
    if padding not in PADDINGS:
        raise ValueError(f"short_conv: padding {padding!r}, must be one of {', '.join(PADDINGS)}")
    check_tensors("short_conv", "[B, L, H]" if channels_last else "[B, H, L]", u, k, pregate=pregate, postgate=postgate)
    if k.shape[1] > MOST_TAPS:
        raise ValueError(f"short_conv: k has shape {tuple(k.shape)}, must have 1 to {MOST_TAPS} taps; conv takes more")
    if bias is None:
        return
    if bias.dtype != k.dtype:
        raise TypeError(f"short_conv: bias is {bias.dtype}, must be {k.dtype} as k")
    if bias.shape != k.shape[:1]:
        raise ValueError(f"short_conv: bias has shape {tuple(bias.shape)}, must be ({k.shape[0]},), H of k")
    require_near("short_conv", u, bias=bias)


def _has_plan(u, k):
    """On a GPU."""
    return u.dtype in SIXTEEN and k.shape[-1] > 1


# By PyTorch's own convolution, between zeros as far as the filter reaches.

def _reach(taps, padding):
    """Samples before the current one and after it."""
    ahead = taps // 2 if padding == "same" else 0
    return taps - 1 - ahead, ahead


def _operands(u, k, padding, pregate, channels_last):
    """Samples [B, H, L + K - 1] and weights [H, 1, K] as PyTorch has them."""
    x = gated(working(u), pregate)
    return pad(x.mT if channels_last else x, _reach(k.shape[1], padding)), working(k).flip(1)[:, None]


def _convolved(x, weights, bias):
    with torch.autocast(x.device.type, enabled=False):  # which would change it once more
        return conv1d(x, weights, None if bias is None else working(bias), groups=weights.shape[0])


def _short_conv_by_torch(u, k, bias, padding, pregate, postgate, channels_last):
    _check(u, k, bias, padding, pregate, postgate, channels_last)
    if u.numel() == 0:
        return like(u)
    x, weights = _operands(u, k, padding, pregate, channels_last)
    y = _convolved(x, weights, bias)
    return gated(y.mT if channels_last else y, postgate).to(u.dtype).contiguous()


def _short_conv_backward_by_torch(dy, u, k, bias, padding, pregate, postgate, channels_last, needed):
    require_like("short_conv_backward", u, dy)
    _check(u, k, bias, padding, pregate, postgate, channels_last)
    if u.numel() == 0:
        return gradients_of_nothing(_like_gradients(u, k, bias), needed)
    of_u, of_k, of_bias, of_pregate, of_postgate = needed
    x, weights = _operands(u, k, padding, pregate, channels_last)
    before = gated(working(dy), postgate)  # of the gradient of what the postgate multiplies
    dx, dweights, dbias = torch.ops.aten.convolution_backward(
        before.mT if channels_last else before, x, weights, [k.shape[0]], [1], [0], [1], False, [0], k.shape[0],
        [of_u or of_pregate, of_k, of_bias])
    du, dpregate, dpostgate = (u.new_empty(0) for _ in range(3))  # none of them another's memory
    if of_u or of_pregate:
        first, _ = _reach(k.shape[1], padding)
        dx = dx[..., first:first + before.shape[1 if channels_last else 2]]
        dx = dx.mT if channels_last else dx
        du = gated(dx, pregate).to(u.dtype).contiguous() if of_u else du
        dpregate = (dx * working(u)).to(u.dtype).contiguous() if of_pregate else dpregate
    if of_postgate:
        y = _convolved(x, weights, bias)
        dpostgate = (working(dy) * (y.mT if channels_last else y)).to(u.dtype).contiguous()
    return (du, dweights[:, 0].flip(1).to(k.dtype) if of_k else k.new_empty(0),
            dbias.to(k.dtype) if of_bias else k.new_empty(0), dpregate, dpostgate)


def _like_gradients(u, k, bias):
    return u, k, k if bias is None else bias, u, u


# A GPU: 16 bits by plans. What they prepare of a filter is a few bytes a tap, and made anew for each pass.

def _token(u, k, bias, padding, pregate, postgate, channels_last):
    batch, channels, length = (int(extent) for extent in (u.mT if channels_last else u).shape)
    words = ["shortconv", WORDS[u.dtype], padding, f"k{int(k.shape[1])}"]
    words += [f"k{WORDS[k.dtype]}"] * (k.dtype in SIXTEEN)
    words += [f"l{length}", batch_word(batch), f"h{channels}"]
    return "_".join(words + ["bias"] * (bias is not None) + ["pregate"] * (pregate is not None)
                    + ["postgate"] * (postgate is not None) + ["channelslast"] * channels_last)


def _make_entry(signature, is_backward, u, k, bias, padding, pregate, postgate, channels_last):
    """None where there are no rows."""
    _check(u, k, bias, padding, pregate, postgate, channels_last)
    if u.numel() == 0:
        return None
    token = _token(u, k, bias, padding, pregate, postgate, channels_last)
    filters = [(name, array) for name, array in ((b"k", k), (b"bias", bias)) if array is not None]
    gates = [name for name, gate in ((b"pregate", pregate), (b"postgate", postgate)) if gate is not None]
    sizes = [(name, array.nbytes) for name, array in filters] + [(name, u.nbytes) for name in (b"u", *gates)]
    if is_backward:
        token = token.replace("shortconv", "shortconvgrad", 1)
        sizes += [(name, u.nbytes) for name in (b"dy", b"du", *(b"d" + name for name in gates))]
        sizes += [(b"d" + name, 4 * array.numel()) for name, array in filters]
    else:
        sizes.append((b"y", u.nbytes))
    return make_entry("short_conv", signature, token, u.get_device(), u.shape[0], len(filters), sizes)


def _signature(*arguments):
    """All that _check() looks at."""
    return ("short_conv", *((x.shape, x.dtype, x.get_device()) if isinstance(x, Tensor) else x for x in arguments))


def _run(is_backward, arguments, others):
    """others: tensors of a call besides the inputs of the convolution, in the order of sizes. Whether there are rows to
    compute."""
    u, k, bias, _, pregate, postgate, _ = arguments
    signature = _signature(is_backward, *arguments)
    entry = entries.get(signature) or _make_entry(signature, is_backward, *arguments)
    if entry is None:
        return False
    prepared = u.new_empty(entry.prepared_bytes, dtype=torch.uint8)
    tensors = [k, bias, u, pregate, postgate, *others]
    run(entry, prepared, False, [tensor for tensor in tensors if tensor is not None])
    return True


def _short_conv_cuda(u, k, bias, padding, pregate, postgate, channels_last):
    if not _has_plan(u, k):
        return _short_conv_by_torch(u, k, bias, padding, pregate, postgate, channels_last)
    u, k, bias, pregate, postgate = contiguous(u, k, bias, pregate, postgate)
    y = torch.empty_like(u)
    _run(False, (u, k, bias, padding, pregate, postgate, channels_last), [y])
    return y


def _short_conv_backward_cuda(dy, u, k, bias, padding, pregate, postgate, channels_last, needed):
    """In 16 bits all gradients come at once."""
    if not _has_plan(u, k):
        return _short_conv_backward_by_torch(dy, u, k, bias, padding, pregate, postgate, channels_last, needed)
    require_like("short_conv_backward", u, dy)
    dy, u, k, bias, pregate, postgate = contiguous(dy, u, k, bias, pregate, postgate)
    du, dpregate, dpostgate = (None if x is None else torch.empty_like(u) for x in (u, pregate, postgate))
    dk, dbias = (None if x is None else torch.empty_like(x, dtype=torch.float32) for x in (k, bias))
    if not _run(True, (u, k, bias, padding, pregate, postgate, channels_last),
                [dy, du, dpregate, dpostgate, dk, dbias]):
        return gradients_of_nothing(_like_gradients(u, k, bias), needed)
    if needed[2] and postgate is not None:  # the kernel sums products that were rounded to 16 bits
        dbias = (dy.float() * postgate).sum((0, 1) if channels_last else (0, 2))
    gradients = du, dk.to(k.dtype), None if bias is None else dbias.to(k.dtype), dpregate, dpostgate
    return tuple(x if is_needed else u.new_empty(0) for x, is_needed in zip(gradients, needed))


@torch.library.register_fake("danaus::short_conv", lib=operators)
def _short_conv_fake(u, k, bias, padding, pregate, postgate, channels_last):
    _check(u, k, bias, padding, pregate, postgate, channels_last)
    if u.device.type == "cuda":
        for extent in (*u.shape[1:], k.shape[1]):
            int(extent)  # a constant of the graph: plans are made for it
    return like(u)


@torch.library.register_fake("danaus::short_conv_backward", lib=operators)
def _short_conv_backward_fake(dy, u, k, bias, padding, pregate, postgate, channels_last, needed):
    return tuple(like(x) if is_needed else x.new_empty(0)
                 for x, is_needed in zip(_like_gradients(u, k, bias), needed))


for name, of_cpu, of_cuda in (("short_conv", _short_conv_by_torch, _short_conv_cuda),
                              ("short_conv_backward", _short_conv_backward_by_torch, _short_conv_backward_cuda)):
    operators.impl(name, of_cpu, "CPU")
    operators.impl(name, of_cuda, "CUDA")


def _setup_context(ctx, inputs, output):
    u, k, bias, ctx.padding, pregate, postgate, ctx.channels_last = inputs
    ctx.save_for_backward(u, k, bias, pregate, postgate)


def _backward(ctx, dy, backward=torch.ops.danaus.short_conv_backward):
    u, k, bias, pregate, postgate = ctx.saved_tensors
    needed = [ctx.needs_input_grad[i] for i in (0, 1, 2, 4, 5)]
    gradients = backward(dy, u, k, bias, ctx.padding, pregate, postgate, ctx.channels_last, needed)
    du, dk, dbias, dpregate, dpostgate = (x if is_needed else None for x, is_needed in zip(gradients, needed))
    return du, dk, dbias, None, dpregate, dpostgate, None


class _Trained(torch.autograd.Function):
    """As that of a long convolution."""

    @staticmethod
    def forward(ctx, *arguments):
        _setup_context(ctx, arguments, None)
        return _short_conv_cuda(*arguments)

    @staticmethod
    def backward(ctx, dy):
        is_plain = not torch.compiler.is_compiling() and way_of(dy, *ctx.saved_tensors) == PLAIN
        return _backward(ctx, dy, _short_conv_backward_cuda if is_plain else torch.ops.danaus.short_conv_backward)


torch.library.register_autograd("danaus::short_conv", _backward, setup_context=_setup_context, lib=operators)
torch.library.register_autograd("danaus::short_conv_backward", second_derivative("short_conv"), lib=operators)

"""In place of the package flashfftconv: its classes, over danaus.torch.

    from danaus.flashfftconv import FlashDepthWiseConv1d, FlashFFTConv

What differs from flashfftconv is listed in docs/flashfftconv.md of the sources.
"""

import re
import threading
import warnings

import torch
from torch.nn.functional import conv1d, pad

from danaus._library import is_whole
from danaus._tensors import (PLAIN, SIXTEEN, WORDS, autocast, autocast_type, broadcast, check_tensors, is_capturing,
                             require_tensors, way_of)
from danaus._torch_short import MOST_TAPS
from danaus.torch import Filter, conv, short_conv

__all__ = ["FlashDepthWiseConv1d", "FlashFFTConv"]

_TABLES = re.compile(r"(f_\w+|twiddle_factors)_i?fft(_\w+)?|twid")  # that the old class kept
_LEAST_KEPT = 1 << 23  # samples of a filter whose transform takes longer than a look at all of it
_MOST_KEPT = 64        # filters, of which each has come within so many calls:
_KEPT_CALLS = 256
_looking = threading.Lock()


def _whole(operation, least, **numbers):
    for name, value in numbers.items():
        if not is_whole(value) or value < least:
            raise ValueError(f"{operation}: {name}={value!r}, must be a whole number of at least {least}")
    return map(int, numbers.values())


def _type_of_rows(u):
    """That of u, or what autocast makes of it."""
    changed = autocast_type(u.device.type)
    return changed if changed is not None and u.dtype in (*SIXTEEN, torch.float32) else u.dtype


def _may_stay(k, u):
    """Whether it pays to look whether a filter has changed, and can be done."""
    return k.is_cuda and u.dtype in SIXTEEN and k.numel() >= _LEAST_KEPT and not is_capturing(k.get_device())


class FlashFFTConv(torch.nn.Module):
    """y = postgate * conv(pregate * u, k), circular at seqlen; rows shorter than that are padded by zeros.

    seqlen: the FFT size N. dtype: of u and the gates, float16 or bfloat16, also float32 or float64 (see
    danaus.torch.conv for their errors). use_32_butterfly chose among kernels; here the plan does, and it is ignored.
    One object serves any number of layers, each with its own k. State dicts of the old class load: it kept tables in
    them, which are ignored.

    Where seqlen < L + K - 1 the end of a row wraps around to its beginning: the future leaks into the first K - 1 -
    (seqlen - L) samples. The object warns of that once; filters of bidirectional models mean it.

    A filter that does not change is transformed once: on a GPU, in 16 bits, without a gradient to come, in no compiled
    or captured graph, and from 2^23 samples on (H K), where it pays. The rule for "unchanged": all samples are equal to
    those of a copy, whichever tensor they are in. Each call compares them, which waits for the device. A copy and the
    spectrum are kept, 4 H K + 4 H N bytes, of a filter that has come twice, and again within 256 calls; of 64 filters
    at most. A call with a gradient to come drops them.
    """

    def __init__(self, seqlen, dtype=torch.float16, use_32_butterfly=True):
        super().__init__()
        seqlen, = _whole("FlashFFTConv", 1, seqlen=seqlen)
        if dtype not in (*SIXTEEN, torch.float32, torch.float64):
            raise TypeError(f"FlashFFTConv: dtype {dtype}, must be torch.float16, torch.bfloat16, torch.float32 or "
                            "torch.float64")
        self.seqlen, self.dtype, self.use_32_butterfly = seqlen, dtype, use_32_butterfly
        self._has_warned = False
        self._calls = 0
        self._seen = {}  # what a filter is like, and some samples -> its last call, a Filter of a copy if it came twice

    def forward(self, u, k, pregate=None, postgate=None):
        """u and gates [B, H, L], L up to seqlen, of dtype; k [H, K] or [1, H, K], float32 (or of dtype), samples beyond
        seqlen are cut. Returns [B, H, L]."""
        require_tensors("FlashFFTConv", ("u", "k"), u=u, k=k, pregate=pregate, postgate=postgate)
        dtype = _type_of_rows(u)
        if dtype != self.dtype:
            raise TypeError(f"FlashFFTConv: u is {dtype}, must be {self.dtype} as the object")
        if autocast_type(u.device.type) is not None and not torch.compiler.is_compiling():
            (u, pregate, postgate), (k,) = autocast(u.device.type, (u, pregate, postgate), (k,))
            with torch.autocast(u.device.type, enabled=False):
                return self.forward(u, k, pregate, postgate)
        if k.ndim == 3 and k.shape[0] == 1:
            k = k[0]
        if u.ndim != 3 or k.ndim != 2:
            raise ValueError(f"FlashFFTConv: u has shape {tuple(u.shape)} and k {tuple(k.shape)}, must be [B, H, L] "
                             "and [H, K] or [1, H, K]")
        length, size = u.shape[2], self.seqlen
        if length > size:
            raise ValueError(f"FlashFFTConv: u has {length} samples, must have at most seqlen={size}")
        if k.shape[1] > size:
            k = k[:, :size]
        leaking = length + k.shape[1] - 1 - size
        if leaking > 0 and not self._has_warned and not torch.compiler.is_compiling():
            self._has_warned = True
            warnings.warn(f"FlashFFTConv: seqlen={size} is less than L + K - 1 = {length + k.shape[1] - 1}: y is "
                          f"circular, and the end of a row reaches its first {leaking} samples; a causal layer takes "
                          "seqlen >= L + K - 1", stacklevel=4)
        if length < size and leaking > 0:  # as they are before they are padded
            u, k, pregate, postgate = broadcast(1, u, k, pregate, postgate)
            check_tensors("FlashFFTConv", "[B, H, L]", u, k, pregate=pregate, postgate=postgate)
        k = self._unchanged(k, u, pregate, postgate)
        if length == size:
            return conv(u, k, "circular", pregate, postgate)
        if leaking <= 0:
            return conv(u, k, "causal", pregate, postgate)
        whole = [None if x is None else pad(x, (0, size - length)) for x in (u, pregate, postgate)]
        return conv(whole[0], k, "circular", whole[1], whole[2])[..., :length].contiguous()

    def _unchanged(self, k, u, *gates):
        """k, or a Filter of a copy of it."""
        if torch.compiler.is_compiling() or not _may_stay(k, u):
            return k
        if way_of(u, k, *gates) != PLAIN:
            self._seen.clear()  # filters change now
            return k
        some = k[::max(1, k.shape[0] // 8), ::max(1, k.shape[1] // 8)]
        key = k.shape, k.dtype, k.device, tuple(some.double().flatten().tolist())
        with _looking:
            self._calls += 1
            has_come, (_, kept) = key in self._seen, self._seen.pop(key, (0, None))
        if has_come and (kept is None or not torch.equal(kept.k, k)):
            kept = Filter(k.clone(memory_format=torch.contiguous_format))
        with _looking:
            self._seen[key] = self._calls, kept
            oldest = next(iter(self._seen))
            if len(self._seen) > _MOST_KEPT or self._calls - self._seen[oldest][0] > _KEPT_CALLS:
                del self._seen[oldest]
        return k if kept is None else kept

    def __getstate__(self):
        return {**self.__dict__, "_seen": {}}

    def extra_repr(self):
        return f"seqlen={self.seqlen}, dtype={self.dtype}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """What the old class kept are tables, which are left out; what a subclass keeps is loaded."""
        own = {*self._parameters, *self._buffers}
        of_others = {name: value for name, value in state_dict.items()
                     if not name.startswith(prefix) or name[len(prefix):] in own
                     or not _TABLES.fullmatch(name[len(prefix):])}
        super()._load_from_state_dict(of_others, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                                      error_msgs)


class FlashDepthWiseConv1d(torch.nn.Module):
    """torch.nn.Conv1d(channels, channels, kernel_size, padding=padding, groups=channels), whose weights it takes.

    weights: [C, 1, K] or [C, K]; bias: [C], or None. Both are copied, to device and dtype where these are named. As in
    the old class they are the parameters weights, [C, K] or, where u is [B, L, C] (is_bhl=False), [K, C], and bias. Its
    state dicts load, and those of torch.nn.Conv1d.

    padding: any number of zeros on either side. (K - 1) / 2, which keeps L, takes no copy of u; with K - 1, which makes
    the first L samples causal, danaus.torch.short_conv(u, weights.flip(1), bias) takes none either.
    Inputs of 16 bits and 2 to 256 taps go by the short kernels, all others by torch.nn.functional.conv1d,
    in the wider of the types of input and weights.
    """

    def __init__(self, channels, kernel_size, padding, weights, bias, is_bhl=True, device=None, dtype=None):
        super().__init__()
        channels, kernel_size = _whole("FlashDepthWiseConv1d", 1, channels=channels, kernel_size=kernel_size)
        padding, = _whole("FlashDepthWiseConv1d", 0, padding=padding)
        require_tensors("FlashDepthWiseConv1d", ("weights",), weights=weights, bias=bias)
        if weights.shape not in ((channels, 1, kernel_size), (channels, kernel_size)):
            raise ValueError(f"FlashDepthWiseConv1d: weights have shape {tuple(weights.shape)}, must be "
                             f"({channels}, 1, {kernel_size}) or ({channels}, {kernel_size})")
        if bias is not None and bias.shape != (channels,):
            raise ValueError(f"FlashDepthWiseConv1d: bias has shape {tuple(bias.shape)}, must be ({channels},)")
        self.d, self.k, self.padding, self.is_bhl = channels, kernel_size, padding, is_bhl

        def parameter(tensor):
            return torch.nn.Parameter(tensor.detach().to(device=device, dtype=dtype, copy=True).contiguous())

        weights = weights.reshape(channels, kernel_size)
        self.weights = parameter(weights if is_bhl else weights.T)
        self.register_parameter("bias", None if bias is None else parameter(bias))

    def forward(self, input):
        """[B, C, L + 2 padding - K + 1], or channels last, of input's type; under autocast of its type."""
        operation, axis = "FlashDepthWiseConv1d", 2 if self.is_bhl else 1
        require_tensors(operation, ("input",), input=input)
        if input.dtype not in WORDS:
            raise TypeError(f"{operation}: input is {input.dtype}, must be one of {', '.join(map(str, WORDS))}")
        if input.ndim != 3 or input.shape[3 - axis] != self.d:
            raise ValueError(f"{operation}: input has shape {tuple(input.shape)}, must be "
                             f"{'[B, C, L]' if self.is_bhl else '[B, L, C]'}, C={self.d}")
        if input.shape[axis] + 2 * self.padding < self.k:
            raise ValueError(f"{operation}: input has {input.shape[axis]} samples, with padding={self.padding} must "
                             f"have at least {self.k - 2 * self.padding} for {self.k} taps")
        input = input.to(_type_of_rows(input))
        weights, bias = self.weights if self.is_bhl else self.weights.T, self.bias
        if input.dtype in SIXTEEN and 2 <= self.k <= MOST_TAPS:
            if weights.dtype != input.dtype:
                weights, bias = weights.float(), None if bias is None else bias.float()
            return self._by_kernels(input, weights.flip(1), bias)
        wide = torch.promote_types(input.dtype, weights.dtype)
        x = (input if self.is_bhl else input.mT).to(wide)
        y = conv1d(x, weights.to(wide)[:, None], None if bias is None else bias.to(wide), padding=self.padding,
                   groups=self.d).to(input.dtype)
        return y if self.is_bhl else y.mT.contiguous()

    def _by_kernels(self, u, k, bias):
        options = {"channels_last": not self.is_bhl}
        if 2 * self.padding == self.k - 1:
            return short_conv(u, k, bias, "same", **options)
        # Causal, between zeros that let it run on, from the sample on that all of its taps have seen.
        ahead = self.k - 1 - self.padding
        zeros = (max(0, -ahead), self.padding)
        u = pad(u, zeros if self.is_bhl else (0, 0, *zeros)) if self.padding else u
        y = short_conv(u, k, bias, "causal", **options)
        if ahead <= 0:
            return y
        return (y[..., ahead:] if self.is_bhl else y[:, ahead:]).contiguous()

    def extra_repr(self):
        return f"{self.d}, kernel_size={self.k}, padding={self.padding}, is_bhl={self.is_bhl}"

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """With the layout of u, which the shape of weights does not tell where C = K."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        metadata = getattr(destination, "_metadata", {})
        metadata.get(prefix[:-1], {})["is_bhl"] = self.is_bhl

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *arguments):
        """Of torch.nn.Conv1d too, as weight [C, 1, K], and of this class with the other layout."""
        weight = state_dict.get(prefix + "weight")
        if weight is not None and prefix + "weights" not in state_dict and weight.shape == (self.d, 1, self.k):
            del state_dict[prefix + "weight"]
            state_dict[prefix + "weights"] = weight[:, 0] if self.is_bhl else weight[:, 0].T
        elif local_metadata.get("is_bhl", self.is_bhl) != self.is_bhl and prefix + "weights" in state_dict:
            state_dict[prefix + "weights"] = state_dict[prefix + "weights"].T
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *arguments)

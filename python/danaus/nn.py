"""Layers of PyTorch over danaus.torch.gated_conv: HyenaOperator and GatedLongConv, and HyenaFilter.

Parameters have the names and shapes of the published implementations, so that their state dicts load.
"""

import math

import torch
from torch import Tensor, nn

from danaus.torch import gated_conv

__all__ = ["GatedLongConv", "HyenaFilter", "HyenaOperator"]


class GatedLongConv(nn.Module):
    """y = x0 * (conv(x, k) + D x), x = x1 * v [B, H, L], of z [B, 3 H, L] = (x0, x1, v), each channel of which is
    convolved with a short filter first.

    channels   H. length: K, the taps of k; rows may be shorter or longer, as conv() takes them.
    taps       of the short filters, 1 to 8; 0: none. bias: whether they have one.
    mode       "causal" or "circular".

    Parameters: k [H, K], D [H], and of torch.nn.Conv1d short_filter.weight [3 H, 1, T] and short_filter.bias [3 H].
    """

    def __init__(self, channels: int, length: int, taps: int = 3, bias: bool = True, mode: str = "causal"):
        super().__init__()
        self.mode = mode
        self.k = nn.Parameter(torch.randn(channels, length) / math.sqrt(length))
        self.D = nn.Parameter(torch.randn(channels))
        self.short_filter = _short_filter(3 * channels, taps, bias) if taps else None

    def forward(self, z: Tensor) -> Tensor:
        return gated_conv(z, self.k, *_taps_of(self.short_filter), skip=self.D, mode=self.mode)


class HyenaOperator(nn.Module):
    """The operator of order 2 of Poli et al. 2023 (arXiv 2302.10866): [B, L, d_model] to the same.

    d_model, l_max        channels; the longest row, beyond which samples are cut as there
    filter_order, short_filter_order   width of the filter's network; taps of the short filters
    filter_args           of HyenaFilter

    Parameters: in_proj, out_proj, short_filter and filter_fn, as those of the published HyenaOperator.
    """

    def __init__(self, d_model: int, l_max: int, order: int = 2, filter_order: int = 64, short_filter_order: int = 3,
                 **filter_args):
        super().__init__()
        if order != 2:
            raise ValueError(f"HyenaOperator: order {order}, must be 2")
        self.l_max = l_max
        self.in_proj, self.out_proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.short_filter = _short_filter(3 * d_model, short_filter_order, True)
        self.filter_fn = HyenaFilter(d_model, order=filter_order, seq_len=l_max, **filter_args)

    def forward(self, u: Tensor) -> Tensor:
        u = u[:, :self.l_max]
        z = _projected(self.in_proj, u.mT)
        y = gated_conv(z, self.filter_fn.filter(u.shape[1])[0].mT, *_taps_of(self.short_filter),
                       skip=self.filter_fn.bias)
        return torch.baddbmm(self.out_proj.bias, y.mT, self.out_proj.weight.mT.expand(len(y), -1, -1))


class HyenaFilter(nn.Module):
    """A filter as a network of the position, times a window that decays: filter(L) is [1, L, d_model] in float32.

    order, num_inner_mlps   width and number of the inner layers
    emb_dim                 numbers that a position is given to the network as: odd, 3 and more
    w                       frequency of its sines at the beginning
    fast_decay_pct, slow_decay_pct, target, shift   of the window, exp(-t |delta|) + shift

    bias [d_model] is the skip of the convolution.
    """

    def __init__(self, d_model: int, emb_dim: int = 3, order: int = 16, seq_len: int = 1024, w: float = 1,
                 num_inner_mlps: int = 2, normalized: bool = False, fast_decay_pct: float = 0.3,
                 slow_decay_pct: float = 1.5, target: float = 1e-2, shift: float = 0.0, modulate: bool = True):
        super().__init__()
        if emb_dim < 3 or emb_dim % 2 == 0:
            raise ValueError(f"HyenaFilter: emb_dim {emb_dim}, must be odd, and at least 3")
        self.normalized = normalized
        self.bias = nn.Parameter(torch.randn(d_model))
        self.pos_emb = _Positions(emb_dim, seq_len)
        sine = _Sine(order, w)
        layers = [nn.Linear(emb_dim, order), sine]
        for _ in range(num_inner_mlps):
            layers += [nn.Linear(order, order), sine]
        self.implicit_filter = nn.Sequential(*layers, nn.Linear(order, d_model, bias=False))
        self.modulation = _Window(d_model, fast_decay_pct, slow_decay_pct, target, shift, modulate)

    def filter(self, length: int) -> Tensor:
        with torch.autocast(self.bias.device.type, enabled=False):
            z, t = self.pos_emb.z[:, :length], self.pos_emb.t[:, :length]
            h = self.modulation(t, self.implicit_filter(z))
            return h / h.norm(p=1, dim=-1, keepdim=True) if self.normalized else h


class _Positions(nn.Module):
    def __init__(self, emb_dim, seq_len):
        super().__init__()
        t = torch.linspace(0, 1, seq_len)[None, :, None]
        bands = (emb_dim - 1) // 2
        angles = torch.linspace(1e-4, bands - 1, bands) * (2 * math.pi / seq_len * torch.arange(seq_len))[:, None]
        self.z = nn.Parameter(torch.cat([t, angles.cos()[None], -angles.sin()[None]], -1))
        self.register_buffer("t", t)


class _Sine(nn.Module):
    def __init__(self, width, w):
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, width))

    def forward(self, x):
        return torch.sin(self.freq * x)


class _Window(nn.Module):
    def __init__(self, d_model, fast_decay_pct, slow_decay_pct, target, shift, modulate):
        super().__init__()
        self.shift, self.modulate = shift, modulate
        slowest, fastest = (math.log(target) / share for share in (slow_decay_pct, fast_decay_pct))
        self.register_buffer("deltas", torch.linspace(slowest, fastest, d_model)[None, None])

    def forward(self, t, h):
        return h * (torch.exp(-t * self.deltas.abs()) + self.shift) if self.modulate else h


def _short_filter(channels, taps, bias):
    return nn.Conv1d(channels, channels, taps, padding=taps - 1, groups=channels, bias=bias)


def _taps_of(conv1d):
    """taps and bias as gated_conv() has them."""
    return (None, None) if conv1d is None else (conv1d.weight[:, 0].flip(1), conv1d.bias)


def _projected(linear, x):
    """Of x [B, d, L]: [B, P d, L], by one product, without a transpose."""
    return torch.baddbmm(linear.bias[:, None], linear.weight.expand(len(x), -1, -1), x)

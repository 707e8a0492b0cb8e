"""A small language model of gated long convolutions, after Hyena (Poli et al. 2023), and two tasks that it learns.

The convolution is a function of the model, convolution(u, k, pregate, postgate) -> y: by_fft and by_danaus are the same
one, so that a model can be trained by either, or looked at through another.
"""

import hashlib
import math
import sysconfig
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import danaus.torch

IGNORED = -100  # a target that no loss is taken of


def by_fft(u, k, pregate, postgate):
    """postgate * (k causally convolved with pregate * u) [B, H, L] by torch.fft, in float32."""
    length = u.shape[-1]
    x = torch.fft.rfft((pregate * u).float(), 2 * length) * torch.fft.rfft(k, 2 * length)
    return postgate * torch.fft.irfft(x, 2 * length)[..., :length].to(u.dtype)


def by_danaus(u, k, pregate, postgate):
    return danaus.torch.conv(u, k, "causal", pregate, postgate)


CONVOLUTIONS = {"torch.fft": by_fft, "danaus": by_danaus}


class Filter(nn.Module):
    """k [H, L], float32: a network of the position under windows that decay, each channel's by a rate of its own; of
    absolute sum 1, so that it amplifies nothing, and beside it the sample itself."""

    def __init__(self, channels, length, frequencies=16, hidden=64):
        super().__init__()
        t = torch.arange(length) / length
        angles = 2 * math.pi * t[:, None] * torch.logspace(0, math.log10(length / 4), frequencies)
        self.register_buffer("position", torch.cat([t[:, None], angles.sin(), angles.cos()], 1), persistent=False)
        rates = torch.logspace(math.log10(2), math.log10(length / 4), channels)
        self.register_buffer("window", torch.exp(-rates[:, None] * t), persistent=False)
        self.layers = nn.Sequential(nn.Linear(1 + 2 * frequencies, hidden), nn.GELU(), nn.Linear(hidden, channels))
        self.skip = nn.Parameter(torch.ones(channels))

    def forward(self):
        with torch.autocast(self.window.device.type, enabled=False):
            k = self.layers(self.position).T * self.window
            k = k / k.abs().sum(1, keepdim=True)
            return torch.cat([k[:, :1] + self.skip[:, None], k[:, 1:]], 1)


class Mixer(nn.Module):
    """Of x [B, L, H] three projections, each convolved with a few taps: one goes through the long convolution, the
    others gate it."""

    TAPS = 3

    def __init__(self, channels, length):
        super().__init__()
        self.projections = nn.ParameterList(torch.randn(channels, channels) / channels**0.5 for _ in range(3))
        self.taps = nn.ParameterList(torch.randn(channels, 1, self.TAPS) / self.TAPS**0.5 for _ in range(3))
        self.filter = Filter(channels, length)
        self.outward = nn.Linear(channels, channels)
        self.convolution = by_fft

    def forward(self, x):
        x = x.transpose(1, 2)
        u, pregate, postgate = (  # [B, H, L], contiguous
            functional.conv1d(functional.pad(projection @ x, (self.TAPS - 1, 0)), taps, groups=len(taps))
            for projection, taps in zip(self.projections, self.taps))
        y = self.convolution(u, self.filter(), pregate, postgate)
        return self.outward(y.transpose(1, 2))


class Block(nn.Module):
    def __init__(self, channels, length):
        super().__init__()
        self.before_mixer, self.before_network = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.mixer = Mixer(channels, length)
        self.network = nn.Sequential(nn.Linear(channels, 2 * channels), nn.GELU(), nn.Linear(2 * channels, channels))

    def forward(self, x):
        x = x + self.mixer(self.before_mixer(x))
        return x + self.network(self.before_network(x))


class LanguageModel(nn.Module):
    """Logits [B, L, vocabulary] of tokens [B, L]."""

    def __init__(self, vocabulary, length, channels=64, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, channels)
        self.blocks = nn.Sequential(*(Block(channels, length) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(channels), nn.Linear(channels, vocabulary)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embedding(tokens))))

    def convolve_by(self, convolution):
        for block in self.blocks:
            block.mixer.convolution = convolution

    def loss(self, tokens, targets):
        """The mean of -log p of the targets that are not IGNORED."""
        return functional.cross_entropy(self(tokens).float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


class Recall:
    """Pairs of a key and a value; in each row a key has one value, drawn anew. What is asked: the value of every key
    that has stood before."""

    KEYS = VALUES = 8
    vocabulary = KEYS + VALUES
    origin = "drawn"

    def batch(self, rows, length, generator):
        """Tokens and targets [rows, length]; length even."""
        pairs = length // 2
        values = torch.randint(self.VALUES, (rows, self.KEYS), generator=generator)
        keys = torch.randint(self.KEYS, (rows, pairs), generator=generator)
        places = torch.arange(pairs).expand(rows, pairs)
        first = torch.full((rows, self.KEYS), pairs).scatter_reduce(1, keys, places, "amin")
        answers = values.gather(1, keys)
        known = places > first.gather(1, keys)
        tokens = torch.stack([keys, self.KEYS + answers], 2).flatten(1)
        targets = torch.full((rows, pairs, 2), IGNORED)
        targets[..., 0] = torch.where(known, self.KEYS + answers, IGNORED)
        return tokens, targets.flatten(1)


class Text:
    """Bytes of the sources of Python's standard library, as it is installed; what is asked: the next byte."""

    vocabulary = 256

    def __init__(self):
        paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        text = b"".join(path.read_bytes() for path in paths)
        self.origin = f"sha256 {hashlib.sha256(text).hexdigest()[:12]}"
        self.bytes = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()

    def batch(self, rows, length, generator):
        starts = torch.randint(len(self.bytes) - length, (rows, 1), generator=generator)
        windows = self.bytes[starts + torch.arange(length + 1)]
        return windows[:, :-1], windows[:, 1:]


TASKS = {"recall": Recall, "text": Text}

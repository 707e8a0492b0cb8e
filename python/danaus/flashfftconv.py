"""In place of the package flashfftconv: its class, over danaus.torch.

    from danaus.flashfftconv import FlashFFTConv

What differs from flashfftconv is listed in README.md of the folder python/ in the sources.
"""

import torch
from torch.nn.functional import pad

from danaus.torch import conv

__all__ = ["FlashFFTConv"]


class FlashFFTConv(torch.nn.Module):
    """y = postgate * conv(pregate * u, k), circular at seqlen; rows shorter than that are padded by zeros.

    seqlen: the FFT size N. dtype: of u and the gates. use_32_butterfly chose among kernels; here the plan does, and it
    is ignored. One object serves any number of layers, each with its own k. State dicts of the old class load: it kept
    tables in them, which are ignored.
    """

    def __init__(self, seqlen, dtype=torch.float16, use_32_butterfly=True):
        super().__init__()
        if not isinstance(seqlen, int) or isinstance(seqlen, bool) or seqlen < 1:
            raise ValueError(f"FlashFFTConv: seqlen={seqlen!r}, must be a whole number of at least 1")
        if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            raise TypeError(f"FlashFFTConv: dtype {dtype}, must be torch.float16 or torch.bfloat16 (on the CPU also "
                            "torch.float32 or torch.float64)")
        self.seqlen, self.dtype, self.use_32_butterfly = seqlen, dtype, use_32_butterfly

    def forward(self, u, k, pregate=None, postgate=None):
        """u and gates [B, H, L], L up to seqlen, of dtype; k [H, K], float32 (or of dtype), samples beyond seqlen are
        cut. Returns [B, H, L]."""
        if u.dtype != self.dtype:
            raise TypeError(f"FlashFFTConv: u is {u.dtype}, must be {self.dtype} as the object")
        if u.ndim != 3 or k.ndim != 2:
            raise ValueError(f"FlashFFTConv: u has shape {tuple(u.shape)} and k {tuple(k.shape)}, must be [B, H, L] "
                             "and [H, K]")
        length, size = u.shape[2], self.seqlen
        if length > size:
            raise ValueError(f"FlashFFTConv: u has {length} samples, must have at most seqlen={size}")
        if k.shape[1] > size:
            k = k[:, :size]
        if length == size:
            return conv(u, k, "circular", pregate, postgate)
        if k.shape[1] <= size - length + 1:  # nothing wraps around into the first L samples
            return conv(u, k, "causal", pregate, postgate)
        whole = [None if x is None else pad(x, (0, size - length)) for x in (u, pregate, postgate)]
        return conv(whole[0], k, "circular", whole[1], whole[2])[..., :length].contiguous()

    def extra_repr(self):
        return f"seqlen={self.seqlen}, dtype={self.dtype}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        pass  # nothing is kept; what the old class kept are tables
